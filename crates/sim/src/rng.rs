//! Random numbers, reproducible from run to run.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};

/// The random number generator of a part: ChaCha8, whose stream is specified.
#[derive(Clone, Debug)]
pub struct Rng(Box<ChaCha8Rng>);

impl Rng {
    /// Creates the generator of a part of a machine. Each name has its own stream, so that adding a
    /// part changes no other part's numbers.
    pub fn new(seed: u64, part: &str) -> Self {
        // FNV-1a: stable for all time, unlike the standard library's hashers.
        let stream = part.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut generator = ChaCha8Rng::seed_from_u64(seed);
        generator.set_stream(stream);
        Self(Box::new(generator))
    }

    /// Returns this number of other generators, each with its own stream.
    pub fn split(&self, count: u32) -> Vec<Self> {
        let own = |number: u32| {
            let mut generator = self.0.clone();
            generator.set_stream(self.0.get_stream().wrapping_add(u64::from(number) + 1));
            Self(generator)
        };
        (0..count).map(own).collect()
    }

    /// Returns a uniform whole number below `bound`; 0 if `bound` is 0. The bias of one part in
    /// 2^64 * `bound` is not removed.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns a uniform number from 0 (included) to 1 (excluded).
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns an exponential number with mean 1: the gaps of a Poisson process.
    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.uniform()).ln()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_belongs_to_a_seed_and_a_name() {
        let draw = |seed, part| {
            let mut rng = Rng::new(seed, part);
            [(); 4].map(|()| rng.below(1000))
        };
        assert_eq!(draw(1, "network"), draw(1, "network"));
        assert_ne!(draw(1, "network"), draw(2, "network"));
        assert_ne!(draw(1, "network"), draw(1, "cache"));
    }

    #[test]
    fn parts_of_a_stream_are_streams_of_their_own() {
        let rng = Rng::new(1, "network");
        let draw = |mut rng: Rng| [(); 4].map(|()| rng.below(1000));
        let drawn: Vec<_> = rng.split(3).into_iter().map(draw).collect();
        assert_eq!(drawn, rng.split(3).into_iter().map(draw).collect::<Vec<_>>());
        let all = [&drawn[..], &[draw(rng)]].concat();
        assert!((0..4).all(|one| (0..one).all(|other| all[one] != all[other])), "{all:?}");
    }

    #[test]
    fn means_are_those_of_the_distributions() {
        let mut rng = Rng::new(5, "test");
        let count = 100_000;
        let mean = |sum: f64| sum / f64::from(count);
        // Four standard errors of each mean: 1, 1/sqrt(12) and 10/sqrt(12), divided by the square
        // root of the count.
        let exponential = mean((0..count).map(|_| rng.exponential()).sum());
        assert!((exponential - 1.0).abs() < 0.013, "{exponential}");
        let uniform = mean((0..count).map(|_| rng.uniform()).sum());
        assert!((uniform - 0.5).abs() < 0.004, "{uniform}");
        let below = mean((0..count).map(|_| rng.below(11) as f64).sum());
        assert!((below - 5.0).abs() < 0.04, "{below}");
        assert_eq!(rng.below(0), 0);
    }
}
