//! Pure operations on constants, with the meaning that `wireloom-bits` gives them.

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, OpKind, UnaryOp, Value};

/// The result of a binary operator.
pub fn binary(op: BinaryOp, a: &Bits, b: &Bits) -> Bits {
    match op {
        BinaryOp::Add => a.add(b),
        BinaryOp::Sub => a.sub(b),
        BinaryOp::Mul => a.mul(b),
        BinaryOp::Udiv => a.udiv(b),
        BinaryOp::Urem => a.urem(b),
        BinaryOp::And => a.and(b),
        BinaryOp::Or => a.or(b),
        BinaryOp::Xor => a.xor(b),
        BinaryOp::Shl => a.shl(b.to_shift()),
        BinaryOp::Lshr => a.lshr(b.to_shift()),
        BinaryOp::Eq => Bits::bool(a == b),
        BinaryOp::Ne => Bits::bool(a != b),
        BinaryOp::Ult => Bits::bool(a < b),
        BinaryOp::Ule => Bits::bool(a <= b),
    }
}

/// The result of a pure operation of so many bits, if `constant` knows its operands. A select needs only the condition
/// and the side that it chooses.
pub fn pure<'a>(kind: &OpKind, width: u32, constant: impl Fn(Value) -> Option<&'a Bits>) -> Option<Bits> {
    Some(match kind {
        OpKind::Const(bits) => bits.clone(),
        OpKind::Unary(UnaryOp::Not, a) => constant(*a)?.not(),
        OpKind::Unary(UnaryOp::Neg, a) => constant(*a)?.neg(),
        OpKind::Binary(op, a, b) => binary(*op, constant(*a)?, constant(*b)?),
        OpKind::Select(c, a, b) => constant(if constant(*c)?.is_zero() { *b } else { *a })?.clone(),
        OpKind::Extend(a) => constant(*a)?.resize(width),
        OpKind::Slice(a, lo) => constant(*a)?.slice(*lo, width),
        OpKind::Concat(parts) => {
            let (first, rest) = parts.split_first()?;
            rest.iter().try_fold(constant(*first)?.clone(), |high, v| Some(high.concat(constant(*v)?)))?
        }
        _ => return None,
    })
}
