//! Known bits: which bits of a value are certainly 0 or certainly 1.

use crate::Bits;

/// The known bits of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Bits that are certainly 0.
    pub zeros: Bits,
    /// Bits that are certainly 1.
    pub ones: Bits,
}

impl Known {
    /// Returns the fact that no bit of a value of `width` bits is known.
    pub fn nothing(width: u32) -> Self {
        Self { zeros: Bits::zero(width), ones: Bits::zero(width) }
    }

    /// Returns the fact that all bits of a constant are known.
    pub fn constant(bits: &Bits) -> Self {
        Self { zeros: bits.not(), ones: bits.clone() }
    }

    /// Describes a value of `width` bits that is at most `max`.
    pub fn at_most(max: &Bits, width: u32) -> Self {
        let low = Bits::ones(width).lshr(width - max.significant().min(width));
        Self { zeros: low.not(), ones: Bits::zero(width) }
    }

    /// Width of the value in bits.
    pub fn width(&self) -> u32 {
        self.zeros.width()
    }

    /// The largest possible value.
    pub fn max(&self) -> Bits {
        self.zeros.not()
    }

    /// The smallest possible value.
    pub fn min(&self) -> &Bits {
        &self.ones
    }

    /// Number of bits that the largest possible value needs.
    pub fn significant(&self) -> u32 {
        self.max().significant()
    }

    /// The bits in `mask`, if all of them are known; the other bits are 0.
    pub fn value_in(&self, mask: &Bits) -> Option<Bits> {
        mask.and(&self.zeros.or(&self.ones).not()).is_zero().then(|| self.ones.and(mask))
    }

    /// Returns the bits that both values have in common.
    pub fn either(&self, other: &Self) -> Self {
        Self { zeros: self.zeros.and(&other.zeros), ones: self.ones.and(&other.ones) }
    }

    /// Combines two facts about one value. If they contradict each other, the value never occurs.
    pub fn both(&self, other: &Self) -> Self {
        let (zeros, ones) = (self.zeros.or(&other.zeros), self.ones.or(&other.ones));
        if zeros.and(&ones).is_zero() { Self { zeros, ones } } else { self.clone() }
    }

    /// Returns the known bits of the bitwise complement.
    pub fn complement(&self) -> Self {
        Self { zeros: self.ones.clone(), ones: self.zeros.clone() }
    }

    /// Whether this fact implies everything that `other` states.
    pub fn implies(&self, other: &Self) -> bool {
        let missing = |own: &Bits, other: &Bits| own.not().and(other);
        missing(&self.zeros, &other.zeros).is_zero() && missing(&self.ones, &other.ones).is_zero()
    }
}
