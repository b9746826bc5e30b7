//! The bucket of a key: a hash by the hash unit, modulo the number of buckets.

use wireloom_bits::Bits;
use wireloom_ir::Value;
use wireloom_offloads::kinds::hash::hash64;

use super::routines::{Find, HEADER, key_words, padded};
use crate::code::Code;
use crate::frame::ARGUMENTS;
use crate::lower::Lower;
use crate::operand::{Operand, Register, Target};
use crate::routine::Routine;
use crate::state::State;
use crate::words::{self, is_wide};

/// Puts a key into the arguments, and the address of the head of its bucket into the register of
/// [`Find`]. The table begins at word `base` and has `buckets` buckets, a power of two. The thread
/// need not have its turn at the table.
pub fn bucket(lower: &mut Lower<'_>, key: Value, base: u32, buckets: u32) {
    let width = lower.width(key);
    let (own, all) = (words::count(width) as u32, padded(width));
    lower.store_value(ARGUMENTS, key);
    if own < all {
        lower.store(ARGUMENTS + own, &[Operand::Number(0)]);
    }
    let [low, high] = if is_wide(width) {
        let bucket = Bucket::of(lower.code);
        lower.code.set(bucket.words, Operand::Number(all));
        lower.code.call(&Bucket::ROUTINE);
        bucket.hash
    } else {
        let mut key = lower.get(key);
        key.resize(all as usize, Operand::Number(0));
        let code = &mut *lower.code;
        let pairs: Vec<[Operand; 2]> = key.chunks_exact(2).map(|two| [two[0], two[1]]).collect();
        let (last, rest) = pairs.split_last().expect("a key has words");
        rest.iter().rev().fold(code.hash(64, last), |hash, pair| {
            for (sum, word) in hash.iter().zip(pair) {
                code.alu(*sum, (*sum).into(), "XOR", *word);
            }
            code.hash(64, &hash.map(Operand::from))
        })
    };
    let code = &mut *lower.code;
    let find = Find::of(code);
    let number = Operand::Number;
    code.alu(find.head, low.into(), "+", high.into());
    code.alu(find.head, find.head.into(), "AND", number(buckets - 1));
    code.alu(find.head, find.head.into(), "+", number(base + HEADER));
    code.set(find.words, number(all));
}

/// Returns the hash of a key, of which the bucket is the remainder. From the highest pair of words
/// on, each pair is added to the hash, and the hash unit multiplies the sum. The hash is then the
/// sum of the two halves.
pub fn hash(multiplier: u64, key: &Bits) -> u32 {
    let pairs = key_words(key);
    let hash = pairs.rchunks_exact(2).fold(0, |hash, pair| {
        let sum = hash ^ (u64::from(pair[1]) << 32 | u64::from(pair[0]));
        hash64(&Bits::new(64, sum.into()), multiplier)
    });
    // A sum spreads consecutive keys better than XOR, which is linear like the hash unit.
    (hash as u32).wrapping_add((hash >> 32) as u32)
}

/// Hashes a wide key for its bucket. From the highest pair on, each pair of words in the arguments
/// is added to the hash, and the hash unit multiplies the sum.
struct Bucket {
    /// Words of the key, an even number.
    words: Register,
    /// The hash: the low word and the high word.
    hash: [Register; 2],
}

impl Bucket {
    const ROUTINE: Routine =
        Routine::new(21, "Bucket", |code, state| Self::of(code).write(code, state));

    fn of(code: &mut Code) -> Self {
        let words = code.shared("bucket_words", true);
        Self { words, hash: [code.shared("bucket_low", true), code.shared("bucket_high", false)] }
    }

    fn write(&self, code: &mut Code, state: State) {
        let Self { words, hash } = *self;
        let number = Operand::Number;
        let next = code.label();
        let place = code.register();
        let begin = code.copy(number(ARGUMENTS));
        hash.iter().for_each(|word| code.set(*word, number(0)));
        code.place(next);
        code.alu(words, words.into(), "-", number(2));
        code.alu(place, begin.into(), "+", words.into());
        let pair = state.load(code, place.into(), 2);
        for (sum, word) in hash.iter().zip(pair) {
            code.alu(*sum, (*sum).into(), "XOR", word.into());
        }
        let hashed = code.hash(64, &hash.map(Operand::from));
        hash.iter().zip(hashed).for_each(|(word, hashed)| code.set(*word, hashed.into()));
        code.alu(Target::None, words.into(), "-", number(0));
        code.branch("br!=0", next);
    }
}

#[cfg(test)]
mod tests {
    use super::hash;
    use wireloom_bits::Bits;

    /// Typical keys: consecutive ports, consecutive addresses, both, and every sixteenth address.
    #[test]
    fn keys_in_a_row_spread_over_the_buckets() {
        let endpoint = |address: u128, port: u128| 6 << 48 | (0x0a00_0000 + address) << 16 | port;
        let keys: [Box<dyn Fn(u128) -> u128>; 4] = [
            Box::new(move |number| endpoint(1, number)),
            Box::new(move |number| endpoint(number, 80)),
            Box::new(move |number| endpoint(number % 64, 1024 + number / 64)),
            Box::new(move |number| endpoint(16 * number, 443)),
        ];
        let [_, multiplier] = crate::kinds::hash::default_multipliers();
        for (which, key) in keys.iter().enumerate() {
            for width in [56, 104, 300] {
                let mut buckets = vec![0_u32; 4096];
                for number in 0..4096 {
                    let key = Bits::new(width, key(number));
                    buckets[hash(multiplier, &key) as usize % 4096] += 1;
                }
                // With random buckets a search meets 1.5 entries on average.
                let met: u32 = buckets.iter().map(|count| count * (count + 1) / 2).sum();
                assert!(met < 2 * 4096, "keys {which} of {width} bits: {met} for 4096");
            }
        }
    }
}
