//! Exact-width unsigned bit vectors: the values of Loom C, of the step IR and of offload requests
//! and replies.
//!
//! A [`Bits`] has a width of 1 to [`MAX_WIDTH`] bits and a value below `2^width`. All arithmetic
//! wraps at the width; Loom C has no other arithmetic. Values of up to 128 bits are stored inline,
//! so the golden model does not allocate for the fields of common protocols. Wider values are
//! boxed.

mod known_bits;

use std::cmp::Ordering;
use std::fmt;

pub use known_bits::Known;

/// The widest bit vector of the IR. Loom C's own limit is `u1024`; a reply that carries such a
/// value together with its flags is a little wider.
pub const MAX_WIDTH: u32 = 4096;

const INLINE: u32 = 128;

#[derive(Clone, PartialEq, Eq, Hash)]
enum Repr {
    /// Width of at most 128.
    Inline(u128),
    /// Width above 128: little-endian 64-bit words, bits above the width are zero.
    Boxed(Box<[u64]>),
}

/// An unsigned value of an exact width; see the documentation of the crate.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Bits {
    width: u32,
    repr: Repr,
}

#[inline]
fn mask128(width: u32) -> u128 {
    if width >= 128 { u128::MAX } else { (1u128 << width) - 1 }
}

#[inline]
fn words_for(width: u32) -> usize {
    width.div_ceil(64) as usize
}

impl Bits {
    /// Creates a value, truncated to `width` bits.
    ///
    /// # Panics
    /// If `width` is 0 or above [`MAX_WIDTH`].
    #[inline]
    pub fn new(width: u32, value: u128) -> Self {
        assert!((1..=MAX_WIDTH).contains(&width), "bit vector of width {width}");
        if width <= INLINE {
            return Self { width, repr: Repr::Inline(value & mask128(width)) };
        }
        let mut words = vec![0u64; words_for(width)].into_boxed_slice();
        words[0] = value as u64;
        words[1] = (value >> 64) as u64;
        Self { width, repr: Repr::Boxed(words) }
    }

    /// Zero of the given width.
    #[inline]
    pub fn zero(width: u32) -> Self {
        Self::new(width, 0)
    }

    /// The value with all bits set.
    pub fn ones(width: u32) -> Self {
        Self::zero(width).not()
    }

    /// One bit: 1 for `true`.
    #[inline]
    pub fn bool(value: bool) -> Self {
        Self::new(1, u128::from(value))
    }

    /// Builds a value from little-endian 64-bit words. Missing words are zero; bits above `width`
    /// are cut.
    pub fn from_words(width: u32, words: &[u64]) -> Self {
        if width <= INLINE {
            let low = words.first().copied().unwrap_or(0);
            let high = words.get(1).copied().unwrap_or(0);
            return Self::new(width, u128::from(low) | u128::from(high) << 64);
        }
        let mut own = vec![0u64; words_for(width)].into_boxed_slice();
        for (to, from) in own.iter_mut().zip(words) {
            *to = *from;
        }
        let mut out = Self { width, repr: Repr::Boxed(own) };
        out.trim();
        out
    }

    /// Builds a value from bytes in network order (most significant first). The width is eight
    /// times the number of bytes.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let width = (bytes.len() * 8) as u32;
        if bytes.len() <= 16 {
            let value = bytes.iter().fold(0u128, |acc, &b| acc << 8 | u128::from(b));
            return Self::new(width, value);
        }
        let mut words = vec![0u64; words_for(width)];
        for (i, &byte) in bytes.iter().rev().enumerate() {
            words[i / 8] |= u64::from(byte) << (8 * (i % 8));
        }
        Self::from_words(width, &words)
    }

    /// The width in bits.
    #[inline]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Little-endian 64-bit word `index`, or zero past the end.
    #[inline]
    pub fn word(&self, index: usize) -> u64 {
        match &self.repr {
            Repr::Inline(v) => match index {
                0 => *v as u64,
                1 => (*v >> 64) as u64,
                _ => 0,
            },
            Repr::Boxed(words) => words.get(index).copied().unwrap_or(0),
        }
    }

    /// Up to 64 bits, starting at bit `lo`. Bits past the end are zero.
    #[inline]
    pub fn extract(&self, lo: u32, width: u32) -> u64 {
        let (index, shift) = ((lo / 64) as usize, lo % 64);
        let both = u128::from(self.word(index)) | u128::from(self.word(index + 1)) << 64;
        (both >> shift) as u64 & mask128(width) as u64
    }

    /// All little-endian 64-bit words: `ceil(width / 64)` of them.
    pub fn words(&self) -> impl Iterator<Item = u64> + '_ {
        (0..words_for(self.width)).map(|i| self.word(i))
    }

    /// The bytes in network order: `ceil(width / 8)` of them, padded with zero bits in front.
    pub fn to_bytes(&self) -> Vec<u8> {
        let count = self.width.div_ceil(8) as usize;
        (0..count).rev().map(|i| (self.word(i / 8) >> (8 * (i % 8))) as u8).collect()
    }

    /// The value, if it fits in 128 bits.
    #[inline]
    pub fn to_u128(&self) -> Option<u128> {
        match &self.repr {
            Repr::Inline(v) => Some(*v),
            Repr::Boxed(words) => words[2..]
                .iter()
                .all(|&w| w == 0)
                .then(|| u128::from(words[0]) | u128::from(words[1]) << 64),
        }
    }

    /// The value, if it fits in 64 bits.
    #[inline]
    pub fn to_u64(&self) -> Option<u64> {
        self.to_u128().and_then(|v| v.try_into().ok())
    }

    /// The lowest 64 bits of the value.
    #[inline]
    pub fn low_u64(&self) -> u64 {
        self.word(0)
    }

    /// Whether the value is zero.
    #[inline]
    pub fn is_zero(&self) -> bool {
        match &self.repr {
            Repr::Inline(v) => *v == 0,
            Repr::Boxed(words) => words.iter().all(|&w| w == 0),
        }
    }

    /// Whether every bit is set.
    pub fn is_ones(&self) -> bool {
        self.not().is_zero()
    }

    /// The number of bits that the value needs: 0 for zero, 1 for one, 8 for 255.
    pub fn significant(&self) -> u32 {
        (0..words_for(self.width))
            .rev()
            .find(|&i| self.word(i) != 0)
            .map_or(0, |i| i as u32 * 64 + 64 - self.word(i).leading_zeros())
    }

    /// The number of bits that are 1.
    pub fn popcount(&self) -> Self {
        let count = (0..words_for(self.width)).map(|i| self.word(i).count_ones()).sum::<u32>();
        Self::new(self.width, count.into())
    }

    /// The number of zeros above the highest bit that is 1: the width if there is none.
    pub fn clz(&self) -> Self {
        Self::new(self.width, (self.width - self.significant()).into())
    }

    #[inline]
    fn trim(&mut self) {
        let (width, extra) = (self.width, self.width % 64);
        match &mut self.repr {
            Repr::Inline(v) => *v &= mask128(width),
            Repr::Boxed(words) => {
                if extra != 0 {
                    *words.last_mut().expect("a boxed value has words") &= (1u64 << extra) - 1;
                }
            }
        }
    }

    #[inline]
    fn same_width(&self, other: &Self) {
        assert_eq!(self.width, other.width, "operands of one width");
    }

    #[inline]
    fn zip(
        &self,
        other: &Self,
        narrow: impl Fn(u128, u128) -> u128,
        wide: impl Fn(&[u64], &[u64], &mut [u64]),
    ) -> Self {
        self.same_width(other);
        let mut out = match (&self.repr, &other.repr) {
            (Repr::Inline(a), Repr::Inline(b)) => {
                Self { width: self.width, repr: Repr::Inline(narrow(*a, *b)) }
            }
            (Repr::Boxed(a), Repr::Boxed(b)) => {
                let mut words = vec![0u64; a.len()].into_boxed_slice();
                wide(a, b, &mut words);
                Self { width: self.width, repr: Repr::Boxed(words) }
            }
            _ => unreachable!("one width has one representation"),
        };
        out.trim();
        out
    }

    /// Sum, modulo `2^width`.
    #[inline]
    pub fn add(&self, other: &Self) -> Self {
        self.zip(other, u128::wrapping_add, |a, b, out| {
            let mut carry = false;
            for i in 0..out.len() {
                let (sum, c1) = a[i].overflowing_add(b[i]);
                let (sum, c2) = sum.overflowing_add(u64::from(carry));
                out[i] = sum;
                carry = c1 | c2;
            }
        })
    }

    /// Difference, modulo `2^width`.
    #[inline]
    pub fn sub(&self, other: &Self) -> Self {
        self.add(&other.neg())
    }

    /// Two's complement.
    pub fn neg(&self) -> Self {
        self.not().add(&Self::new(self.width, 1))
    }

    /// Product, modulo `2^width`.
    pub fn mul(&self, other: &Self) -> Self {
        self.zip(other, u128::wrapping_mul, |a, b, out| {
            for (i, &x) in a.iter().enumerate() {
                let mut carry = 0u128;
                for j in 0..out.len() - i {
                    let t = u128::from(x) * u128::from(b[j]) + u128::from(out[i + j]) + carry;
                    out[i + j] = t as u64;
                    carry = t >> 64;
                }
            }
        })
    }

    /// Quotient; division by zero gives all ones, as in SMT-LIB and RISC-V.
    pub fn udiv(&self, other: &Self) -> Self {
        if other.is_zero() { Self::ones(self.width) } else { self.divide(other).0 }
    }

    /// Remainder; the remainder of a division by zero is the dividend, as in SMT-LIB and RISC-V.
    pub fn urem(&self, other: &Self) -> Self {
        if other.is_zero() { self.clone() } else { self.divide(other).1 }
    }

    fn divide(&self, other: &Self) -> (Self, Self) {
        self.same_width(other);
        if let (Repr::Inline(a), Repr::Inline(b)) = (&self.repr, &other.repr) {
            return (Self::new(self.width, a / b), Self::new(self.width, a % b));
        }
        let (mut quotient, mut rest) = (Self::zero(self.width), Self::zero(self.width));
        for i in (0..self.significant()).rev() {
            let top = rest.bit(self.width - 1);
            rest = rest.shl(1);
            if self.bit(i) {
                rest = rest.or(&Self::new(self.width, 1));
            }
            if top || rest.cmp(other) != Ordering::Less {
                rest = rest.sub(other);
                quotient = quotient.or(&Self::new(self.width, 1).shl(i));
            }
        }
        (quotient, rest)
    }

    /// Bitwise and.
    #[inline]
    pub fn and(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a & b, |a, b, out| (0..out.len()).for_each(|i| out[i] = a[i] & b[i]))
    }

    /// Bitwise or.
    #[inline]
    pub fn or(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a | b, |a, b, out| (0..out.len()).for_each(|i| out[i] = a[i] | b[i]))
    }

    /// Bitwise exclusive or.
    #[inline]
    pub fn xor(&self, other: &Self) -> Self {
        self.zip(other, |a, b| a ^ b, |a, b, out| (0..out.len()).for_each(|i| out[i] = a[i] ^ b[i]))
    }

    /// Bitwise complement.
    #[allow(clippy::should_implement_trait)]
    #[inline]
    pub fn not(&self) -> Self {
        let mut out = match &self.repr {
            Repr::Inline(v) => Self { width: self.width, repr: Repr::Inline(!v) },
            Repr::Boxed(w) => {
                Self { width: self.width, repr: Repr::Boxed(w.iter().map(|w| !w).collect()) }
            }
        };
        out.trim();
        out
    }

    /// Shift left by `count`; a count of the width or more gives zero.
    #[inline]
    pub fn shl(&self, count: u32) -> Self {
        if count >= self.width {
            return Self::zero(self.width);
        }
        if let Repr::Inline(v) = &self.repr {
            return Self::new(self.width, v << count);
        }
        let (skip, bits) = ((count / 64) as usize, count % 64);
        let words: Vec<u64> = (0..words_for(self.width))
            .map(|i| {
                let at = |k: usize| if i >= k { self.word(i - k) } else { 0 };
                if bits == 0 { at(skip) } else { at(skip) << bits | at(skip + 1) >> (64 - bits) }
            })
            .collect();
        Self::from_words(self.width, &words)
    }

    /// Logical shift right by `count`; a count of the width or more gives zero.
    #[inline]
    pub fn lshr(&self, count: u32) -> Self {
        if count >= self.width {
            return Self::zero(self.width);
        }
        if let Repr::Inline(v) = &self.repr {
            return Self::new(self.width, v >> count);
        }
        let (skip, bits) = ((count / 64) as usize, count % 64);
        let words: Vec<u64> = (0..words_for(self.width))
            .map(|i| {
                let at = |k: usize| self.word(i + k);
                if bits == 0 { at(skip) } else { at(skip) >> bits | at(skip + 1) << (64 - bits) }
            })
            .collect();
        Self::from_words(self.width, &words)
    }

    /// The value as a shift count. Values of 2^32 or more saturate.
    #[inline]
    pub fn to_shift(&self) -> u32 {
        self.to_u64().and_then(|v| v.try_into().ok()).unwrap_or(u32::MAX)
    }

    /// Bit `index`, counted from the least significant; `false` past the end.
    pub fn bit(&self, index: u32) -> bool {
        self.word((index / 64) as usize) >> (index % 64) & 1 == 1
    }

    /// Returns the value at another width, zero-extended or truncated.
    #[inline]
    pub fn resize(&self, width: u32) -> Self {
        match &self.repr {
            Repr::Inline(v) => Self::new(width, *v),
            Repr::Boxed(words) => Self::from_words(width, words),
        }
    }

    /// Bits `lo .. lo + width`; positions past the end are zero.
    #[inline]
    pub fn slice(&self, lo: u32, width: u32) -> Self {
        match &self.repr {
            Repr::Boxed(_) if width <= INLINE => {
                let (skip, bits) = ((lo / 64) as usize, lo % 64);
                let word = |i: usize| u128::from(self.word(skip + i));
                let low = word(0) | word(1) << 64;
                let value = if bits == 0 { low } else { low >> bits | word(2) << (128 - bits) };
                Self::new(width, value)
            }
            _ => self.lshr(lo).resize(width),
        }
    }

    /// Joins `self` as the more significant part and `low` as the less significant part.
    #[inline]
    pub fn concat(&self, low: &Self) -> Self {
        let width = self.width + low.width;
        self.resize(width).shl(low.width).or(&low.resize(width))
    }

    /// Returns the value with bits `lo .. lo + part.width()` replaced by `part`. Bits of `part`
    /// outside of the value are cut.
    pub fn with_slice(&self, lo: u32, part: &Self) -> Self {
        let hole = Self::ones(part.width)
            .resize(self.width.max(part.width))
            .shl(lo)
            .resize(self.width)
            .not();
        let plug = part.resize(self.width.max(part.width)).shl(lo).resize(self.width);
        self.and(&hole).or(&plug)
    }
}

impl PartialOrd for Bits {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Values are ordered by value; equal values of different widths are ordered by width.
impl Ord for Bits {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Repr::Inline(a), Repr::Inline(b)) = (&self.repr, &other.repr) {
            return a.cmp(b).then(self.width.cmp(&other.width));
        }
        let count = words_for(self.width.max(other.width));
        (0..count)
            .rev()
            .map(|i| self.word(i).cmp(&other.word(i)))
            .find(|o| o.is_ne())
            .unwrap_or(self.width.cmp(&other.width))
    }
}

/// Formats as `16'0x800`: the width, then the value in hexadecimal.
impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}'{:#x}", self.width, self)
    }
}

/// Formats in decimal if the value fits in 64 bits, else in hexadecimal.
impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_u64() {
            Some(v) => write!(f, "{v}"),
            None => write!(f, "{self:#x}"),
        }
    }
}

impl fmt::LowerHex for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = String::new();
        for i in (0..self.width.div_ceil(4)).rev() {
            let digit = self.word((i / 16) as usize) >> (4 * (i % 16)) & 15;
            if digit != 0 || !digits.is_empty() || i == 0 {
                digits.push(char::from_digit(digit as u32, 16).expect("a nibble is a digit"));
            }
        }
        f.pad_integral(true, "0x", &digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(width: u32, seed: u64) -> Bits {
        let words: Vec<u64> = (0..words_for(width) as u64)
            .map(|i| (seed + i).wrapping_mul(0x9e37_79b9_7f4a_7c15))
            .collect();
        Bits::from_words(width, &words)
    }

    #[test]
    fn arithmetic_wraps_at_the_width() {
        assert_eq!(Bits::new(8, 200).add(&Bits::new(8, 100)), Bits::new(8, 44));
        assert_eq!(Bits::new(8, 1).sub(&Bits::new(8, 2)), Bits::new(8, 255));
        assert_eq!(Bits::ones(200).add(&Bits::new(200, 1)), Bits::zero(200));
        assert_eq!(Bits::new(1, 1).add(&Bits::new(1, 1)), Bits::zero(1));
    }

    #[test]
    fn wide_arithmetic_agrees_with_narrow() {
        for seed in 1..200 {
            let (a, b) = (pattern(100, seed), pattern(100, seed * 7 + 3));
            let (wa, wb) = (a.resize(300), b.resize(300));
            assert_eq!(wa.add(&wb).resize(100), a.add(&b));
            assert_eq!(wa.sub(&wb).resize(100), a.sub(&b));
            assert_eq!(wa.mul(&wb).resize(100), a.mul(&b));
            assert_eq!(wa.udiv(&wb).resize(100), a.udiv(&b));
            assert_eq!(wa.urem(&wb).resize(100), a.urem(&b));
        }
    }

    #[test]
    fn division_satisfies_its_identity() {
        for seed in 1..50 {
            let a = pattern(513, seed);
            let b = pattern(513, seed + 99).lshr(seed as u32 * 5);
            let back = a.udiv(&b).mul(&b).add(&a.urem(&b));
            assert_eq!(back, a);
            assert!(a.urem(&b) < b);
        }
        assert!(Bits::new(9, 5).udiv(&Bits::zero(9)).is_ones());
        assert_eq!(Bits::new(9, 5).urem(&Bits::zero(9)), Bits::new(9, 5));
    }

    #[test]
    fn shifts_slices_and_concatenation_round_trip() {
        for (seed, width) in [(1, 7), (2, 64), (3, 65), (4, 128), (5, 129), (6, 1000)] {
            let v = pattern(width, seed);
            for cut in [1, width / 3 + 1, width - 1] {
                let (high, low) = (v.slice(cut, width - cut), v.slice(0, cut));
                assert_eq!(high.concat(&low), v, "width {width} cut at {cut}");
                assert_eq!(v.with_slice(0, &low).with_slice(cut, &high), v);
                assert_eq!(Bits::zero(width).with_slice(cut, &high), v.lshr(cut).shl(cut));
            }
            assert!(v.shl(width).is_zero() && v.lshr(width).is_zero());
        }
        assert_eq!(Bits::zero(4).with_slice(2, &Bits::ones(8)), Bits::new(4, 12));
    }

    #[test]
    fn slices_of_wide_values_are_their_shifted_bits() {
        let v = pattern(300, 7);
        for lo in [0, 1, 63, 64, 65, 128, 171, 172, 299, 300, 1000] {
            for width in [1, 64, 65, 128, 129] {
                assert_eq!(v.slice(lo, width), v.lshr(lo).resize(width), "{width} bits from {lo}");
            }
            for width in [1, 32, 63, 64] {
                assert_eq!(
                    v.extract(lo, width),
                    v.slice(lo, width).low_u64(),
                    "{width} bits from {lo}"
                );
            }
        }
    }

    #[test]
    fn bytes_are_in_network_order() {
        let long: Vec<u8> = (0..40).collect();
        assert_eq!(Bits::from_bytes(&long).to_bytes(), long);
        assert_eq!(Bits::from_bytes(&[8, 0]), Bits::new(16, 0x0800));
        assert_eq!(Bits::new(12, 0xabc).to_bytes(), [0x0a, 0xbc]);
    }

    #[test]
    fn order_and_size_of_values() {
        assert!(Bits::new(200, 5) < Bits::ones(200));
        assert!(Bits::new(8, 5) < Bits::new(200, 5));
        assert_eq!(Bits::new(8, 255).significant(), 8);
        assert_eq!(Bits::zero(300).significant(), 0);
        assert_eq!(Bits::new(300, 1).shl(299).significant(), 300);
        assert_eq!(Bits::ones(300).to_u128(), None);
    }

    #[test]
    fn printing() {
        assert_eq!(format!("{:?}", Bits::new(16, 0x800)), "16'0x800");
        assert_eq!(format!("{}", Bits::new(16, 0x800)), "2048");
        assert_eq!(format!("{:x}", Bits::new(200, 1).shl(196)), format!("1{}", "0".repeat(49)));
        assert_eq!(format!("{:x}", Bits::zero(3)), "0");
    }
}
