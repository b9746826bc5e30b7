//! `bloom`: a set of keys that needs one or two bytes for each key. It may report a key that it
//! does not contain.
//!
//! A Bloom filter (Bloom: Space/Time Trade-offs in Hash Coding with Allowable Errors, CACM 13(7),
//! 1970) stores only bits. A key sets or tests one bit for each hash. The hashes are computed from
//! two CRCs of the key's bytes in network order, by double hashing (Kirsch, Mitzenmacher: Less
//! Hashing, Same Performance, ESA 2006): hash *i* is `crc32(key) + i * (crc32c(key) | 1)` modulo
//! 2^32. A hash *h* selects bit `h * size >> 32`, so `size` need not be a power of two. All
//! machines use the same bits, so they have the same false positives.

use std::any::Any;

use wireloom_bits::Bits;

use crate::kinds::check_value;
use crate::kinds::hash::crc32;
use crate::lanes::nothing;
use crate::memory::zeroed;
use crate::registry::{
    Delay, METHOD, Method, OffloadKind, ReplyType, StateUse, TableForm, TableKey, U32, ValueType,
    param,
};
use crate::{Config, Entry, EntryKey, Env, Instance, Layout, Refused, StateRow};

/// The maximum number of bits of a filter.
const MOST_BITS: u64 = 1 << 28;

/// The interface of `bloom`.
pub const KIND: OffloadKind = OffloadKind {
    name: "bloom",
    has_key: true,
    has_value: false,
    params: &[
        param("size", U32, None, (1, MOST_BITS), "Number of bits."),
        param("hashes", U32, Some(4), (1, 16), "Bits that a key sets."),
    ],
    methods: &[
        Method {
            name: "add",
            args: &[("key", ValueType::Key)],
            state: StateUse::Commuting,
            delay: Delay::Variable,
            doc: "Adds the key to the set.",
            ..METHOD
        },
        Method {
            name: "test",
            args: &[("key", ValueType::Key)],
            reply: ReplyType::One(ValueType::Bool),
            delay: Delay::Variable,
            doc: "Whether the key may be in the set: true for every key that was added, and for a \
                  few others (false positives).",
            ..METHOD
        },
    ],
    expiry: None,
    claim: None,
    doc: "A Bloom filter: a set of keys that stores bits instead of keys. Every key that was \
          added is found; some other keys are found too.",
    table: Some(TableForm {
        key: TableKey::Whole,
        value: |_| (Layout::scalar(1), Bits::bool(false)),
    }),
    make: |config| Ok(Box::new(Bloom::new(config)?)),
};

/// The number of bits of a word, the unit of reading and loading the state.
pub const WORD_BITS: u32 = 32;

/// Returns the CRC-32C (Castagnoli; RFC 3720, appendix B.4) of the bytes of `data` in network
/// order. Zero bits pad the front to a whole number of bytes.
pub fn crc32c(data: &Bits) -> u32 {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let step = |crc: u32, _| if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
    !data.to_bytes().iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), step))
}

/// Returns the numbers of the bits, from 0, that a key sets in a filter of `size` bits.
pub fn positions(key: &Bits, size: u64, hashes: u32) -> impl Iterator<Item = u64> {
    let (first, step) = (crc32(key), crc32c(key) | 1);
    (0..hashes).map(move |number| {
        let hash = first.wrapping_add(number.wrapping_mul(step));
        (u64::from(hash) * size) >> 32
    })
}

/// An instance of `bloom`.
#[derive(Clone)]
pub struct Bloom {
    key_bits: u32,
    size: u64,
    hashes: u32,
    words: Box<[u64]>,
}

impl Bloom {
    /// Creates an empty instance as declared.
    ///
    /// # Errors
    /// If there is no key type, or if there is not enough memory.
    pub fn new(config: &Config) -> Result<Self, Refused> {
        let key =
            config.key.as_ref().ok_or_else(|| Refused("a Bloom filter needs a key type".into()))?;
        let size = config.param("size").low_u64();
        let words = zeroed(size.div_ceil(u64::from(WORD_BITS)) as usize)?;
        Ok(Self {
            key_bits: key.width(),
            size,
            hashes: config.param("hashes").low_u64() as u32,
            words,
        })
    }

    fn add(&mut self, key: &Bits) {
        for position in positions(key, self.size, self.hashes) {
            self.words[(position / u64::from(WORD_BITS)) as usize] |=
                1 << (position % u64::from(WORD_BITS));
        }
    }

    fn test(&self, key: &Bits) -> bool {
        positions(key, self.size, self.hashes).all(|position| {
            let word = self.words[(position / u64::from(WORD_BITS)) as usize];
            word >> (position % u64::from(WORD_BITS)) & 1 == 1
        })
    }

    /// Returns a word by index.
    fn word(&mut self, number: u64) -> Result<&mut u64, Refused> {
        let count = self.words.len();
        self.words.get_mut(number as usize).ok_or_else(|| {
            Refused(format!(
                "word {number} is out of range: the filter has {count} words of {WORD_BITS} bits"
            ))
        })
    }
}

/// Refuses to remove a key.
fn stays<T>() -> Result<T, Refused> {
    Err(Refused(
        "a key cannot be taken out of a Bloom filter: its bits may be those of others too".into(),
    ))
}

impl Instance for Bloom {
    fn call(&mut self, method: usize, args: &[Bits], _env: &mut Env<'_>) -> Bits {
        match method {
            0 => {
                self.add(&args[0]);
                nothing()
            }
            1 => Bits::bool(self.test(&args[0])),
            _ => unreachable!("a Bloom filter has two methods"),
        }
    }

    /// Adds a key if the entry has a whole key and the value 1. Replaces a word if the entry has an
    /// index.
    fn load(&mut self, entry: Entry) -> Result<(), Refused> {
        match entry.key {
            EntryKey::Exact(key) if key.width() == self.key_bits => {
                check_value(&entry.value, 1)?;
                if entry.value.is_zero() {
                    return stays();
                }
                self.add(&key);
            }
            EntryKey::Exact(key) => {
                let (has, wants) = (key.width(), self.key_bits);
                return Err(Refused(format!(
                    "a key of {has} bits where the filter has keys of {wants}"
                )));
            }
            EntryKey::Index(number) => {
                check_value(&entry.value, WORD_BITS)?;
                *self.word(number)? = entry.value.low_u64();
            }
            _ => return Err(Refused("the key is not a whole key".into())),
        }
        Ok(())
    }

    fn unload(&mut self, key: &EntryKey) -> Result<bool, Refused> {
        match key {
            EntryKey::Index(number) => Ok(std::mem::take(self.word(*number)?) != 0),
            _ => stays(),
        }
    }

    fn absorb(&mut self, other: &mut dyn Instance) {
        let Some(other) = (other as &mut dyn Any).downcast_mut::<Self>() else { return };
        for (own, other) in self.words.iter_mut().zip(&mut other.words) {
            *own |= std::mem::take(other);
        }
    }

    /// Returns the words that are not zero. The keys themselves are not stored.
    fn rows(&self) -> Vec<StateRow> {
        let words = self.words.iter().enumerate().filter(|(_, word)| **word != 0);
        words
            .map(|(number, word)| StateRow {
                key: EntryKey::Index(number as u64),
                fields: vec![("bits".into(), Bits::new(WORD_BITS, u128::from(*word)))],
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::kinds::tests::Bench;

    fn key(number: u64) -> Bits {
        Bits::new(48, u128::from(number))
    }

    fn bench(size: u64, hashes: u64) -> Bench {
        Bench::new("bloom", Some(&[("", 48)]), None, &[("size", size), ("hashes", hashes)])
    }

    #[test]
    fn crc32c_is_that_of_rfc_3720() {
        // RFC 3720, appendix B.4, lists the CRCs of 32 bytes of zeros, of ones, and of 0 to 31. The
        // bytes of each CRC are in transmission order.
        let crc = |bytes: &[u8]| crc32c(&Bits::from_bytes(bytes)).to_le_bytes();
        assert_eq!(crc(&[0; 32]), [0xaa, 0x36, 0x91, 0x8a]);
        assert_eq!(crc(&[0xff; 32]), [0x43, 0xab, 0xa8, 0x62]);
        let counted: Vec<u8> = (0..32).collect();
        assert_eq!(crc(&counted), [0x4e, 0x79, 0xdd, 0x46]);
    }

    #[test]
    fn no_key_is_forgotten_and_as_many_strangers_are_mistaken_as_bloom_says() {
        let (size, hashes, members) = (8192u32, 4i32, 1000u64);
        let mut bench = bench(size.into(), hashes as u64);
        let mut reference = HashSet::new();
        for number in 0..members {
            bench.call("add", &[key(number * 7919)]);
            reference.insert(number * 7919);
        }
        let (mut mistaken, mut strangers) = (0, 0);
        for number in 0..20_000 {
            let found = bench.call("test", &[key(number)]).low_u64() == 1;
            if reference.contains(&number) {
                assert!(found, "{number} was added");
            } else {
                strangers += 1;
                mistaken += u32::from(found);
            }
        }
        // The formula (1 - e^(-k n / m))^k is from Bloom's paper.
        let expected =
            (1.0 - (-f64::from(hashes) * members as f64 / f64::from(size)).exp()).powi(hashes);
        let rate = f64::from(mistaken) / f64::from(strangers);
        assert!(
            (rate / expected - 1.0).abs() < 0.25,
            "{rate} of strangers, where {expected} is expected"
        );
    }

    #[test]
    fn the_bits_are_those_that_the_reference_states() {
        // The check values of CRC-32 and CRC-32C, their results for `123456789`, are 0xcbf43926 and
        // 0xe3069283.
        let digits = Bits::from_bytes(b"123456789");
        let expected = [0xcbf4_3926u64, 0xaefa_cba9, 0x9201_5e2c].map(|hash| (hash * 1000) >> 32);
        assert!(positions(&digits, 1000, 3).eq(expected));
        assert!(positions(&digits, 1, 16).all(|position| position == 0));
    }

    #[test]
    fn the_control_plane_adds_keys_and_moves_words() {
        let mut one = bench(100, 3);
        one.instance.load(Entry { key: EntryKey::Exact(key(5)), value: Bits::bool(true) }).unwrap();
        assert_eq!(one.call("test", &[key(5)]), Bits::bool(true));
        let mut other = bench(100, 3);
        for row in one.instance.rows() {
            other.instance.load(Entry { key: row.key, value: row.fields[0].1.clone() }).unwrap();
        }
        assert_eq!(other.instance.rows(), one.instance.rows());
        assert_eq!(other.call("test", &[key(5)]), Bits::bool(true));
        assert!(other.instance.unload(&EntryKey::Exact(key(5))).is_err(), "keys stay");
        let beyond = Entry { key: EntryKey::Index(4), value: Bits::zero(32) };
        assert!(other.instance.load(beyond).unwrap_err().0.contains("4 words"));
        let narrow = Entry { key: EntryKey::Exact(Bits::zero(8)), value: Bits::bool(true) };
        assert!(other.instance.load(narrow).unwrap_err().0.contains("keys of 48"));
        for row in one.instance.rows() {
            assert_eq!(other.instance.unload(&row.key), Ok(true));
        }
        assert!(other.instance.rows().is_empty());
    }
}
