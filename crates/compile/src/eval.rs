//! Evaluates pure operations on constants.

use wireloom_bits::Bits;
use wireloom_ir::{OpKind, Value};

/// Returns the result, of `width` bits, of a pure operation, if `constant` knows its operands. A
/// select needs only the condition and the chosen side.
pub fn pure<'a>(
    kind: &OpKind,
    width: u32,
    constant: impl Fn(Value) -> Option<&'a Bits>,
) -> Option<Bits> {
    Some(match kind {
        OpKind::Const(bits) => bits.clone(),
        OpKind::Unary(op, a) => op.apply(constant(*a)?),
        OpKind::Binary(op, a, b) => op.apply(constant(*a)?, constant(*b)?),
        OpKind::Select(c, a, b) => constant(if constant(*c)?.is_zero() { *b } else { *a })?.clone(),
        OpKind::Extend(a) => constant(*a)?.resize(width),
        OpKind::Slice(a, lo) => constant(*a)?.slice(*lo, width),
        OpKind::Table { elements, index } => {
            let index = usize::try_from(constant(*index)?.to_u64()?).ok()?;
            elements.get(index).cloned().unwrap_or_else(|| Bits::zero(width))
        }
        OpKind::Concat(parts) => {
            let (first, rest) = parts.split_first()?;
            rest.iter()
                .try_fold(constant(*first)?.clone(), |high, v| Some(high.concat(constant(*v)?)))?
        }
        _ => return None,
    })
}
