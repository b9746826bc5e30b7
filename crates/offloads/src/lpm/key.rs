//! Keys in the form that lookups read: groups of bits from the most significant bit on.

use wireloom_bits::Bits;

/// A key. Bit 0 is its most significant bit.
pub(super) trait Key {
    /// Returns `count` (1 to 18) bits from bit `at` on. Bits past the end are zero.
    fn chunk(&self, at: u32, count: u32) -> usize;
}

/// Keys of up to 128 bits.
#[derive(Clone, Copy)]
pub(super) struct Narrow(u128);

/// Wider keys: left-aligned words, most significant first.
pub(super) struct Wide(Vec<u64>);

impl Narrow {
    /// # Panics
    /// If the key is wider than 128 bits.
    pub(super) fn new(key: &Bits) -> Self {
        let value = key.to_u128().expect("a key of at most 128 bits");
        Self(value << (128 - key.width()))
    }
}

impl Wide {
    pub(super) fn new(key: &Bits) -> Self {
        let padding = key.width().next_multiple_of(64) - key.width();
        let aligned = key.resize(key.width() + padding).shl(padding);
        let mut words: Vec<u64> = aligned.words().collect();
        words.reverse();
        Self(words)
    }
}

impl Key for Narrow {
    fn chunk(&self, at: u32, count: u32) -> usize {
        if at >= 128 { 0 } else { (self.0 << at >> (128 - count)) as usize }
    }
}

impl Key for Wide {
    fn chunk(&self, at: u32, count: u32) -> usize {
        let word = |index: usize| u128::from(self.0.get(index).copied().unwrap_or(0));
        let first = (at / 64) as usize;
        let pair = word(first) << 64 | word(first + 1);
        (pair << (at % 64) >> (128 - count)) as usize
    }
}

/// Evaluates an expression with a key in the representation for its width.
macro_rules! with_key {
    ($bits:expr, |$key:ident| $body:expr) => {
        if $bits.width() <= 128 {
            let $key = &$crate::lpm::key::Narrow::new($bits);
            $body
        } else {
            let $key = &$crate::lpm::key::Wide::new($bits);
            $body
        }
    };
}
pub(super) use with_key;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_the_keys_bits_from_the_top() {
        for width in [1, 17, 32, 128, 129, 200, 1024] {
            let words: Vec<u64> =
                (1..17).map(|i| 0x9e37_79b9_7f4a_7c15u64.wrapping_mul(i)).collect();
            let key = Bits::from_words(width, &words);
            for (at, count) in
                [(0, 18), (0, 1), (18, 6), (60, 6), (63, 18), (126, 6), (1020, 6), (1026, 6)]
            {
                let expected = (0..count).fold(0, |chunk, i| {
                    chunk << 1 | usize::from(at + i < width && key.bit(width - 1 - at - i))
                });
                let got = with_key!(&key, |k| k.chunk(at, count));
                assert_eq!(got, expected, "{count} bits at {at} of {width}");
            }
        }
    }
}
