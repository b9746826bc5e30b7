//! Literals and constant expressions of literals, which are integers without a width.
//!
//! They are computed exactly (`~0` and `-1` are negative). They get a width only from the context.

use std::cmp::Ordering;

use wireloom_bits::Bits;

use crate::ast::BinaryOp;

/// The number of bits for the product of two signed 1024-bit numbers in two's complement.
const WIDTH: u32 = 2112;
/// The maximum magnitude of a literal expression in bits.
const MAX_SIGNIFICANT: u32 = 1024;

/// An exact integer of at most 1024 bits and a sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Literal(Bits);

impl Literal {
    pub(super) fn of(value: &Bits) -> Self {
        Self(value.resize(WIDTH))
    }

    pub(super) fn number(value: u64) -> Self {
        Self(Bits::new(WIDTH, value.into()))
    }

    pub(super) fn is_negative(&self) -> bool {
        self.0.bit(WIDTH - 1)
    }

    fn magnitude(&self) -> Bits {
        if self.is_negative() { self.0.neg() } else { self.0.clone() }
    }

    fn signed(negative: bool, magnitude: Bits) -> Self {
        Self(if negative { magnitude.neg() } else { magnitude })
    }

    /// Returns the value, unless it is too large for any type.
    fn bounded(self) -> Option<Self> {
        (self.magnitude().significant() <= MAX_SIGNIFICANT).then_some(self)
    }

    pub(super) fn negate(&self) -> Self {
        Self(self.0.neg())
    }

    pub(super) fn complement(&self) -> Self {
        Self(self.0.not())
    }

    /// Whether the value fits in `width` bits. A positive number fits if it has at most that many
    /// significant bits; a negative number fits if its bitwise complement does.
    pub(super) fn fits(&self, width: u32) -> bool {
        if self.is_negative() {
            self.0.not().significant() <= width
        } else {
            self.0.significant() <= width
        }
    }

    /// Returns the low `width` bits.
    pub(super) fn cut(&self, width: u32) -> Bits {
        self.0.resize(width)
    }

    /// Returns the number of bits of the magnitude.
    pub(super) fn significant(&self) -> u32 {
        self.magnitude().significant()
    }

    /// Applies an arithmetic operator. Returns `None` if the result needs more than 1024 bits. The
    /// caller handles division by zero.
    pub(super) fn binary(&self, op: BinaryOp, other: &Self) -> Option<Self> {
        let (a, b) = (&self.0, &other.0);
        let count = || if other.is_negative() { u32::MAX } else { b.to_shift() };
        match op {
            BinaryOp::Add => Self(a.add(b)).bounded(),
            BinaryOp::Sub => Self(a.sub(b)).bounded(),
            BinaryOp::Mul => {
                if self.significant() + other.significant() > MAX_SIGNIFICANT + 1 {
                    return None;
                }
                Self(a.mul(b)).bounded()
            }
            BinaryOp::Div => {
                let negative = self.is_negative() != other.is_negative();
                Some(Self::signed(negative, self.magnitude().udiv(&other.magnitude())))
            }
            BinaryOp::Rem => {
                Some(Self::signed(self.is_negative(), self.magnitude().urem(&other.magnitude())))
            }
            BinaryOp::And => Some(Self(a.and(b))),
            BinaryOp::Or => Some(Self(a.or(b))),
            BinaryOp::Xor => Some(Self(a.xor(b))),
            BinaryOp::Shl => {
                if self.0.is_zero() {
                    return Some(self.clone());
                }
                if count() > MAX_SIGNIFICANT {
                    return None;
                }
                Self(a.shl(count())).bounded()
            }
            BinaryOp::Shr if self.is_negative() => Some(Self(a.not().lshr(count()).not())),
            BinaryOp::Shr => Some(Self(a.lshr(count()))),
            _ => unreachable!("only arithmetic operators take literals"),
        }
    }
}

impl Ord for Literal {
    fn cmp(&self, other: &Self) -> Ordering {
        // Numbers of equal sign have the same order as their two's complements.
        other.is_negative().cmp(&self.is_negative()).then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Literal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Formats in decimal up to 64 bits, else in hexadecimal.
impl std::fmt::Display for Literal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_negative() {
            f.write_str("-")?;
        }
        self.magnitude().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn n(value: u64) -> Literal {
        Literal::number(value)
    }

    #[test]
    fn negative_numbers_fit_where_their_complement_does() {
        assert!(n(0).complement().fits(1));
        assert_eq!(n(0).complement().cut(8), Bits::new(8, 255));
        assert!(n(255).negate().fits(8));
        assert!(n(256).negate().fits(8));
        assert!(!n(257).negate().fits(8));
        assert!(!n(256).fits(8));
    }

    #[test]
    fn the_order_is_that_of_the_integers() {
        let mut numbers = [n(4), n(0), n(96).negate(), n(1).negate(), n(0).complement()];
        numbers.sort();
        assert_eq!(numbers.map(|l| l.to_string()), ["-96", "-1", "-1", "0", "4"]);
    }

    #[test]
    fn arithmetic_is_exact_and_bounded() {
        assert_eq!(n(3).binary(BinaryOp::Sub, &n(5)), Some(n(2).negate()));
        assert_eq!(n(7).negate().binary(BinaryOp::Div, &n(2)), Some(n(3).negate()));
        assert_eq!(n(1).binary(BinaryOp::Shl, &n(1023)).map(|l| l.significant()), Some(1024));
        assert_eq!(n(1).binary(BinaryOp::Shl, &n(1024)), None);
        assert_eq!(n(1).negate().binary(BinaryOp::Shr, &n(5)), Some(n(1).negate()));
        assert_eq!(n(12).negate().to_string(), "-12");
    }
}
