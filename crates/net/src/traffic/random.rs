//! Random numbers of generated traffic.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// A source of random numbers: a ChaCha8 stream, or a short stream derived from two words.
pub(super) enum Random {
    Stream(Box<ChaCha8Rng>),
    Scrambled(u64),
}

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self::Stream(Box::new(ChaCha8Rng::seed_from_u64(seed)))
    }

    /// Creates a short stream that depends only on two words: SplitMix64 (Steele, Lea and Flood,
    /// 2014).
    pub(super) fn scramble(salt: u64, word: u64) -> Self {
        Self::Scrambled(salt ^ word.wrapping_mul(0xd1b5_4a32_d192_ed03))
    }

    pub(super) fn next(&mut self) -> u64 {
        match self {
            Self::Stream(stream) => stream.next_u64(),
            Self::Scrambled(state) => {
                *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = *state;
                z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
                z ^ z >> 31
            }
        }
    }

    /// Draws 128 bits.
    pub(super) fn wide(&mut self) -> u128 {
        u128::from(self.next()) << 64 | u128::from(self.next())
    }

    /// Draws a number below `bound`, by multiplication. For bounds up to 2^32 the bias is below
    /// 2^-32.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}
