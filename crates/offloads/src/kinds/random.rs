//! `random`: pseudo-random numbers that are the same on every machine.
//!
//! SplitMix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014) is
//! a counter whose values are mixed, so any output can be computed directly. The packet with
//! sequence number `n` gets output `n` of the generator seeded with `seed`. That output seeds a
//! second generator for the packet. The reply is the upper 32 bits of output `stream` of the second
//! generator.

use wireloom_bits::Bits;

use crate::kinds::no_table;
use crate::registry::{METHOD, Method, OffloadKind, ReplyType, StateUse, U32, U64, param};
use crate::{Config, Entry, EntryKey, Env, Instance, Refused, StateRow};

/// The interface of `random`.
pub const KIND: OffloadKind = OffloadKind {
    name: "random",
    has_key: false,
    has_value: false,
    params: &[param("seed", U64, Some(1), (0, u64::MAX), "Seed.")],
    methods: &[Method {
        name: "next",
        args: &[("stream", U32)],
        reply: ReplyType::One(U32),
        state: StateUse::Pure,
        reads_sequence: true,
        doc: "Returns a pseudo-random number that depends only on the seed, the packet's sequence \
              number and `stream`. It is the same on every machine.",
        ..METHOD
    }],
    expiry: None,
    claim: None,
    doc: "Pseudo-random numbers (SplitMix64 of seed, sequence number and stream).",
    table: None,
    make: |config| Ok(Box::new(Random::new(config))),
};

/// An instance of `random`. It has no state.
#[derive(Clone)]
pub struct Random {
    seed: u64,
}

/// Returns output `index`, from 0, of the SplitMix64 generator seeded with `seed`.
pub fn splitmix64(seed: u64, index: u64) -> u64 {
    let counter = seed.wrapping_add(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(index.wrapping_add(1)));
    let mixed = (counter ^ counter >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

/// Returns the reply of `random.next(stream)` for a packet.
pub fn draw(seed: u64, sequence: u64, stream: u32) -> u32 {
    (splitmix64(splitmix64(seed, sequence), u64::from(stream)) >> 32) as u32
}

impl Random {
    /// Creates an instance as declared.
    pub fn new(config: &Config) -> Self {
        Self { seed: config.param("seed").low_u64() }
    }
}

impl Instance for Random {
    fn call(&mut self, _method: usize, args: &[Bits], env: &mut Env<'_>) -> Bits {
        let stream = args[0].low_u64() as u32;
        Bits::new(32, u128::from(draw(self.seed, env.sequence, stream)))
    }

    fn load(&mut self, _entry: Entry) -> Result<(), Refused> {
        no_table("random")
    }

    fn unload(&mut self, _key: &EntryKey) -> Result<bool, Refused> {
        no_table("random")
    }

    fn rows(&self) -> Vec<StateRow> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::tests::Bench;

    #[test]
    fn splitmix64_gives_its_published_sequence() {
        // These outputs for seed 1234567 are commonly used to test implementations of SplitMix64.
        let expected =
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        for (index, value) in expected.into_iter().enumerate() {
            assert_eq!(splitmix64(1_234_567, index as u64), value);
        }
    }

    #[test]
    fn a_draw_depends_on_seed_sequence_and_stream_only() {
        let mut bench = Bench::new("random", None, None, &[("seed", 7)]);
        bench.sequence = 41;
        let first = bench.call("next", &[Bits::new(32, 3)]);
        assert_eq!(first, bench.call("next", &[Bits::new(32, 3)]));
        assert_ne!(first, bench.call("next", &[Bits::new(32, 4)]));
        bench.sequence = 42;
        assert_ne!(first, bench.call("next", &[Bits::new(32, 3)]));
        bench.sequence = 41;
        bench.now = 99;
        assert_eq!(first, bench.call("next", &[Bits::new(32, 3)]));
    }

    #[test]
    fn draws_spread_evenly() {
        let mut buckets = [0u32; 16];
        for n in 0..64_000 {
            buckets[(draw(1, n / 4, (n % 4) as u32) >> 28) as usize] += 1;
        }
        // Chi-squared with 15 degrees of freedom exceeds 37.7 with a probability of 0.1%.
        let chi: f64 = buckets.iter().map(|&n| (f64::from(n) - 4000.0).powi(2) / 4000.0).sum();
        assert!(chi < 37.7, "{chi}: {buckets:?}");
    }
}
