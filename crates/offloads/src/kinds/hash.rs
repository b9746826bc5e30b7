//! `hash`: CRC-32 and the hash unit of Intel's IXP network processors.
//!
//! The hash unit treats its operand as a polynomial over GF(2). It multiplies the operand by a
//! programmable multiplier polynomial and divides the product by a fixed irreducible generator
//! polynomial; the remainder is the hash (Intel IXP2800 Network Processor Hardware Reference
//! Manual, section 7.1.3.2, equations 7 to 10). In hardware, operands are as wide as the hash. Here
//! a wider key is first reduced modulo the generator, and a narrower key is zero-extended.

use wireloom_bits::Bits;

use crate::kinds::no_table;
use crate::registry::{
    METHOD, Method, OffloadKind, ReplyType, StateUse, U32, U64, ValueType, param,
};
use crate::{Config, Entry, EntryKey, Env, Instance, Refused, StateRow};

/// The interface of `hash`.
pub const KIND: OffloadKind = OffloadKind {
    name: "hash",
    has_key: true,
    has_value: false,
    params: &[
        param(
            "multiplier48",
            ValueType::Bits(48),
            Some(0x1000_0100_01ab),
            (0, (1 << 48) - 1),
            "Multiplier polynomial of `hash48`.",
        ),
        param(
            "multiplier64",
            U64,
            Some(0x1000_0100_0001_01ab),
            (0, u64::MAX),
            "Multiplier polynomial of `hash64`.",
        ),
    ],
    methods: &[
        Method {
            name: "crc32",
            args: &[("data", ValueType::Key)],
            reply: ReplyType::One(U32),
            state: StateUse::Pure,
            doc: "CRC-32 of IEEE 802.3 over the data's bytes in network order.",
            ..METHOD
        },
        Method {
            name: "hash48",
            args: &[("data", ValueType::Key)],
            reply: ReplyType::One(ValueType::Bits(48)),
            state: StateUse::Pure,
            doc: "The IXP hash unit's 48-bit hash: data times multiplier, modulo its generator \
                  polynomial, over GF(2).",
            ..METHOD
        },
        Method {
            name: "hash64",
            args: &[("data", ValueType::Key)],
            reply: ReplyType::One(U64),
            state: StateUse::Pure,
            doc: "The IXP hash unit's 64-bit hash. A key wider than the hash is reduced modulo \
                  the generator first.",
            ..METHOD
        },
    ],
    expiry: None,
    claim: None,
    doc: "Hash functions over a key.",
    table: None,
    make: |config| Ok(Box::new(Hash::new(config))),
};

/// x^48 + x^36 + x^25 + x^10 + 1, without its leading term.
pub const GENERATOR_48: u64 = 1 << 36 | 1 << 25 | 1 << 10 | 1;
/// x^64 + x^54 + x^35 + x^17 + 1, without its leading term.
pub const GENERATOR_64: u64 = 1 << 54 | 1 << 35 | 1 << 17 | 1;

/// An instance of `hash`. It has no state.
#[derive(Clone)]
pub struct Hash {
    multiplier48: u64,
    multiplier64: u64,
}

impl Hash {
    /// Creates an instance as declared.
    pub fn new(config: &Config) -> Self {
        let [multiplier48, multiplier64] =
            ["multiplier48", "multiplier64"].map(|name| config.param(name).low_u64());
        Self { multiplier48, multiplier64 }
    }
}

/// Polynomials over GF(2) modulo a generator of degree 48 or 64.
#[derive(Clone, Copy)]
struct Field {
    degree: u32,
    /// The generator without its leading term.
    generator: u64,
}

impl Field {
    /// Returns `x` times the polynomial, plus 1 if `bit` is set.
    fn shift_in(self, value: u64, bit: bool) -> u64 {
        let carry = value >> (self.degree - 1) & 1 == 1;
        let shifted = (value << 1 | u64::from(bit)) & (u64::MAX >> (64 - self.degree));
        if carry { shifted ^ self.generator } else { shifted }
    }

    fn reduce(self, data: &Bits) -> u64 {
        (0..data.significant()).rev().fold(0, |rest, i| self.shift_in(rest, data.bit(i)))
    }

    fn multiply(self, a: u64, b: u64) -> u64 {
        (0..self.degree).rev().fold(0, |sum, i| {
            let doubled = self.shift_in(sum, false);
            if b >> i & 1 == 1 { doubled ^ a } else { doubled }
        })
    }
}

/// Returns the 48-bit hash of `data`, whose most significant bit is the highest coefficient.
pub fn hash48(data: &Bits, multiplier: u64) -> u64 {
    let field = Field { degree: 48, generator: GENERATOR_48 };
    field.multiply(field.reduce(data), multiplier)
}

/// Returns the 64-bit hash of `data`, whose most significant bit is the highest coefficient.
pub fn hash64(data: &Bits, multiplier: u64) -> u64 {
    let field = Field { degree: 64, generator: GENERATOR_64 };
    field.multiply(field.reduce(data), multiplier)
}

/// Returns the CRC-32 of IEEE 802.3 (reflected, with all ones as initial value and final inversion)
/// of the bytes of `data` in network order. Zero bits pad the front to a whole number of bytes.
pub fn crc32(data: &Bits) -> u32 {
    crc32fast::hash(&data.to_bytes())
}

impl Instance for Hash {
    fn call(&mut self, method: usize, args: &[Bits], _env: &mut Env<'_>) -> Bits {
        match method {
            0 => Bits::new(32, u128::from(crc32(&args[0]))),
            1 => Bits::new(48, u128::from(hash48(&args[0], self.multiplier48))),
            2 => Bits::new(64, u128::from(hash64(&args[0], self.multiplier64))),
            _ => unreachable!("hash has three methods"),
        }
    }

    fn load(&mut self, _entry: Entry) -> Result<(), Refused> {
        no_table("hash")
    }

    fn unload(&mut self, _key: &EntryKey) -> Result<bool, Refused> {
        no_table("hash")
    }

    fn rows(&self) -> Vec<StateRow> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::kinds::tests::Bench;

    /// Computes the hash as in the manual: the complete product first, then long division.
    fn reference(data: &Bits, multiplier: u64, degree: u32, exponents: &[u32]) -> Bits {
        let width = data.width() + 64 + degree + 1;
        let mut rest = Bits::zero(width);
        for i in (0..64).filter(|i| multiplier >> i & 1 == 1) {
            rest = rest.xor(&data.resize(width).shl(i));
        }
        let one = Bits::new(width, 1);
        let generator = exponents.iter().fold(Bits::zero(width), |g, &e| g.xor(&one.shl(e)));
        while rest.significant() > degree {
            let shift = rest.significant() - 1 - degree;
            rest = rest.xor(&generator.shl(shift));
        }
        rest.resize(degree)
    }

    /// Computes CRC-32 bit by bit from the most significant bit down, with explicit reflections.
    fn reference_crc(bytes: &[u8]) -> u32 {
        let mut crc = u32::MAX;
        for byte in bytes {
            crc ^= u32::from(byte.reverse_bits()) << 24;
            for _ in 0..8 {
                let top = crc >> 31 == 1;
                crc <<= 1;
                if top {
                    crc ^= 0x04c1_1db7;
                }
            }
        }
        !crc.reverse_bits()
    }

    #[test]
    fn known_crc_values() {
        assert_eq!(crc32(&Bits::from_bytes(b"123456789")), 0xcbf4_3926);
        assert_eq!(crc32(&Bits::new(32, 0)), 0x2144_df1c);
        assert_eq!(
            crc32(&Bits::new(12, 0xabc)),
            crc32(&Bits::new(16, 0x0abc)),
            "zero bits in front"
        );
    }

    #[test]
    fn multiplying_by_one_is_the_remainder_alone() {
        assert_eq!(hash48(&Bits::new(48, 0x1234_5678_9abc), 1), 0x1234_5678_9abc);
        assert_eq!(
            hash64(&Bits::new(64, 1 << 63), 2),
            GENERATOR_64,
            "x^64 is the rest of the generator"
        );
        assert_eq!(hash48(&Bits::new(64, 1 << 48), 1), GENERATOR_48);
        assert_eq!(hash48(&Bits::ones(48), 0), 0);
    }

    #[test]
    fn the_hash_is_one_to_one_on_its_own_width() {
        // The generators are irreducible, so x^(2^degree) = x (mod G), and a non-zero multiplier
        // loses no information.
        for (degree, generator) in [(48, GENERATOR_48), (64, GENERATOR_64)] {
            let field = Field { degree, generator };
            let frobenius = (0..degree).fold(2, |power, _| field.multiply(power, power));
            assert_eq!(frobenius, 2, "degree {degree}");
        }
    }

    #[test]
    fn methods_use_the_declared_multipliers() {
        let key = [("src", 32), ("dst", 32)];
        let mut bench =
            Bench::new("hash", Some(&key), None, &[("multiplier48", 3), ("multiplier64", 5)]);
        let data = Bits::new(64, 0x0a00_0001_c0a8_0102);
        assert_eq!(
            bench.call("crc32", std::slice::from_ref(&data)).low_u64(),
            u64::from(crc32(&data))
        );
        assert_eq!(bench.call("hash48", std::slice::from_ref(&data)).low_u64(), hash48(&data, 3));
        assert_eq!(bench.call("hash64", std::slice::from_ref(&data)).low_u64(), hash64(&data, 5));
    }

    proptest! {
        #[test]
        fn hashes_equal_their_bit_serial_references(
            words in prop::collection::vec(any::<u64>(), 1..17),
            cut in 0u32..64,
            multiplier in any::<u64>(),
        ) {
            let data = Bits::from_words(words.len() as u32 * 64 - cut, &words);
            let narrow = multiplier >> 16;
            let expected = reference(&data, narrow, 48, &[48, 36, 25, 10, 0]);
            prop_assert_eq!(hash48(&data, narrow), expected.low_u64());
            let expected = reference(&data, multiplier, 64, &[64, 54, 35, 17, 0]);
            prop_assert_eq!(hash64(&data, multiplier), expected.low_u64());
            prop_assert_eq!(crc32(&data), reference_crc(&data.to_bytes()));
        }
    }
}
