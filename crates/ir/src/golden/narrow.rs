//! Operators on values of at most 128 bits, without the generality of
//! [`Bits`](wireloom_bits::Bits). Nearly all values of a packet engine are that narrow, and the
//! golden model has to keep up with long captures. The meaning is that of `Bits`; the test below
//! compares the two.

use crate::{BinaryOp, UnaryOp};

/// The widest value that counts as narrow.
pub(super) const NARROW: u32 = 128;

/// The lowest `width` (1 to 128) bits.
pub(super) fn cut(value: u128, width: u32) -> u128 {
    value & (u128::MAX >> (NARROW - width))
}

pub(super) fn unary(op: UnaryOp, a: u128, width: u32) -> u128 {
    match op {
        UnaryOp::Not => cut(!a, width),
        UnaryOp::Neg => cut(a.wrapping_neg(), width),
        UnaryOp::Popcount => a.count_ones().into(),
        UnaryOp::Clz => (width - (NARROW - a.leading_zeros())).into(),
    }
}

/// `width` is that of the first operand.
pub(super) fn binary(op: BinaryOp, a: u128, b: u128, width: u32) -> u128 {
    match op {
        BinaryOp::Add => cut(a.wrapping_add(b), width),
        BinaryOp::Sub => cut(a.wrapping_sub(b), width),
        BinaryOp::Mul => cut(a.wrapping_mul(b), width),
        BinaryOp::Udiv => a.checked_div(b).unwrap_or(cut(u128::MAX, width)),
        BinaryOp::Urem => a.checked_rem(b).unwrap_or(a),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl if b >= u128::from(width) => 0,
        BinaryOp::Shl => cut(a << b, width),
        BinaryOp::Lshr if b >= u128::from(width) => 0,
        BinaryOp::Lshr => a >> b,
        BinaryOp::Eq => u128::from(a == b),
        BinaryOp::Ne => u128::from(a != b),
        BinaryOp::Ult => u128::from(a < b),
        BinaryOp::Ule => u128::from(a <= b),
        BinaryOp::Umin => a.min(b),
        BinaryOp::Umax => a.max(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireloom_bits::Bits;

    #[test]
    fn narrow_operators_mean_what_bit_vectors_mean() {
        let mut state = 1u128;
        let mut draw = || {
            state = state
                .wrapping_mul(0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645)
                .wrapping_add(0xda3e_39cb);
            state ^ state >> 77
        };
        for round in 0..2_000u32 {
            let width = 1 + round % NARROW;
            let pattern = draw();
            // Zero, one, all ones, small and arbitrary operands.
            let operands = [
                0,
                1,
                u128::MAX,
                u128::from(width),
                u128::from(width) - 1,
                draw(),
                pattern,
                draw() % 200,
            ];
            for (a, b) in operands.iter().flat_map(|a| operands.iter().map(move |b| (*a, *b))) {
                let (a, b) = (cut(a, width), cut(b, width));
                let (wide_a, wide_b) = (Bits::new(width, a), Bits::new(width, b));
                for op in UnaryOp::ALL {
                    let expected = op.apply(&wide_a);
                    assert_eq!(expected.to_u128(), Some(unary(op, a, width)), "{op:?} {wide_a:?}");
                }
                for op in BinaryOp::ALL {
                    let expected = op.apply(&wide_a, &wide_b);
                    assert_eq!(
                        expected.to_u128(),
                        Some(binary(op, a, b, width)),
                        "{op:?} {wide_a:?} {wide_b:?}"
                    );
                }
            }
        }
    }
}
