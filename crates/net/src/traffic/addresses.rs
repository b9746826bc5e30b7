//! Draws addresses from prefixes.

use std::fmt;
use std::str::FromStr;

use super::error::{SpecError, serde_as_text};
use super::random::Random;
use crate::tables::{Family, Prefix};

/// How addresses are drawn from a list of prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub enum Pick {
    /// Every prefix is equally likely, and so is every address inside it.
    #[default]
    Uniform,
    /// The prefix of rank `k` has weight `1 / k^s`. Each prefix yields one address. The seed
    /// determines the ranks.
    Zipf(f64),
    /// Addresses repeat in the order of a capture's addresses. Each distinct one is mapped to an
    /// address drawn uniformly, so the trace's locality is kept.
    Trace,
}

/// Parses `uniform`, `zipf:1.1`, `trace`.
impl FromStr for Pick {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        match text.trim() {
            "uniform" => Ok(Self::Uniform),
            "trace" => Ok(Self::Trace),
            "zipf" => Ok(Self::Zipf(1.0)),
            text => text
                .strip_prefix("zipf:")
                .and_then(|s| s.parse().ok())
                .filter(|s: &f64| (0.0..=10.0).contains(s))
                .map(Self::Zipf)
                .ok_or_else(|| {
                    SpecError(format!(
                        "`{text}` is not a way to draw addresses; use `uniform`, `zipf:S` (S from 0 to 10) or `trace`"
                    ))
                }),
        }
    }
}

impl fmt::Display for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Uniform => f.write_str("uniform"),
            Self::Zipf(s) => write!(f, "zipf:{s}"),
            Self::Trace => f.write_str("trace"),
        }
    }
}

serde_as_text!(Pick);

/// The prefixes from which addresses are drawn, by family.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixPool {
    pub v4: Vec<Prefix>,
    pub v6: Vec<Prefix>,
}

impl FromIterator<Prefix> for PrefixPool {
    fn from_iter<I: IntoIterator<Item = Prefix>>(prefixes: I) -> Self {
        let mut pool = Self::default();
        for prefix in prefixes {
            match prefix.family() {
                Family::V4 => pool.v4.push(prefix),
                Family::V6 => pool.v6.push(prefix),
            }
        }
        pool
    }
}

/// The prefixes of one family, packed. Every packet looks up two of them at random, so a small size
/// makes this fast.
enum Packed {
    V4(Vec<(u32, u8)>),
    V6(Vec<Prefix>),
}

impl Packed {
    fn new(prefixes: Vec<Prefix>) -> Self {
        if prefixes.iter().all(|p| p.family() == Family::V4) {
            Self::V4(prefixes.iter().map(|p| (p.bits() as u32, p.length() as u8)).collect())
        } else {
            Self::V6(prefixes)
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::V4(prefixes) => prefixes.len(),
            Self::V6(prefixes) => prefixes.len(),
        }
    }

    /// Returns the address in prefix `index` that has the bits of `host` after the prefix's length.
    fn address(&self, index: usize, host: u128) -> u128 {
        match self {
            Self::V4(prefixes) => {
                let (bits, length) = prefixes[index];
                let free = u32::MAX.checked_shr(length.into()).unwrap_or(0);
                u128::from(bits | host as u32 & free)
            }
            Self::V6(prefixes) => prefixes[index].address(host),
        }
    }
}

/// Draws addresses of one family.
pub(super) struct Drawer {
    prefixes: Packed,
    pick: Pick,
    alias: Option<Alias>,
    /// Mixes the seed into values that otherwise depend only on a prefix or on a trace's address.
    salt: u64,
}

impl Drawer {
    /// # Panics
    /// If there are no prefixes, or more than 2^32.
    pub(super) fn new(mut prefixes: Vec<Prefix>, pick: Pick, random: &mut Random) -> Self {
        assert!(!prefixes.is_empty(), "the specification was checked");
        let alias = match pick {
            Pick::Zipf(s) => {
                // Fisher-Yates shuffle: ranks are random, independent of the prefixes' order.
                for i in (1..prefixes.len()).rev() {
                    prefixes.swap(i, random.below(i as u64 + 1) as usize);
                }
                let weights: Vec<f64> = (1..=prefixes.len()).map(|k| (k as f64).powf(-s)).collect();
                Some(Alias::new(&weights))
            }
            Pick::Uniform | Pick::Trace => None,
        };
        Self { prefixes: Packed::new(prefixes), pick, alias, salt: random.next() }
    }

    /// Draws an address. `identity` is the number of the trace's address, if there is a trace.
    pub(super) fn draw(&self, identity: Option<u32>, random: &mut Random) -> u128 {
        match (self.pick, &self.alias, identity) {
            (Pick::Zipf(_), Some(alias), _) => {
                let index = alias.draw(random);
                let mut host = Random::scramble(self.salt, index as u64);
                self.prefixes.address(index, host.wide())
            }
            (Pick::Trace, _, Some(identity)) => {
                let mut own = Random::scramble(self.salt, identity.into());
                let index = own.below(self.prefixes.len() as u64) as usize;
                self.prefixes.address(index, own.wide())
            }
            _ => {
                let index = random.below(self.prefixes.len() as u64) as usize;
                self.prefixes.address(index, random.wide())
            }
        }
    }
}

/// Draws an index by weight in constant time: Walker's alias method, built as in Vose, "A Linear
/// Algorithm For Generating Random Numbers With a Given Distribution" (1991).
pub(super) struct Alias {
    /// For each index, the probability (in units of 2^-32) of keeping it, and the alternative
    /// index.
    entries: Vec<(u32, u32)>,
}

impl Alias {
    /// # Panics
    /// If there are no weights, or their sum is zero.
    pub(super) fn new(weights: &[f64]) -> Self {
        let total: f64 = weights.iter().sum();
        assert!(total > 0.0, "an alias table needs weights");
        let mut scaled: Vec<f64> =
            weights.iter().map(|w| w / total * weights.len() as f64).collect();
        let mut entries: Vec<(u32, u32)> =
            (0..weights.len() as u32).map(|i| (u32::MAX, i)).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..weights.len()).partition(|&i| scaled[i] < 1.0);
        while let (Some(&low), Some(&high)) = (small.last(), large.last()) {
            small.pop();
            entries[low] = ((scaled[low] * 4_294_967_296.0) as u32, high as u32);
            scaled[high] -= 1.0 - scaled[low];
            if scaled[high] < 1.0 {
                large.pop();
                small.push(high);
            }
        }
        // Entries left over by rounding keep their own index, with certainty.
        for index in small.into_iter().chain(large) {
            entries[index] = (u32::MAX, index as u32);
        }
        Self { entries }
    }

    pub(super) fn draw(&self, random: &mut Random) -> usize {
        let index = random.below(self.entries.len() as u64) as usize;
        let (chance, other) = self.entries[index];
        if random.next() as u32 <= chance { index } else { other as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_alias_table_keeps_the_weights() {
        let weights = [5.0, 0.0, 2.0, 3.0];
        let alias = Alias::new(&weights);
        let mut random = Random::new(7);
        let mut counts = [0u32; 4];
        for _ in 0..100_000 {
            counts[alias.draw(&mut random)] += 1;
        }
        for (count, weight) in counts.into_iter().zip(weights) {
            assert!((f64::from(count) - weight * 10_000.0).abs() < 500.0, "{counts:?}");
        }
    }

    #[test]
    fn addresses_lie_in_their_prefixes() {
        let prefixes: Vec<Prefix> = ["10.0.0.0/8", "192.0.2.0/24", "1.2.3.4/32"]
            .iter()
            .map(|p| p.parse().expect(p))
            .collect();
        let mut random = Random::new(1);
        for pick in [Pick::Uniform, Pick::Zipf(1.0), Pick::Trace] {
            let drawer = Drawer::new(prefixes.clone(), pick, &mut random);
            let mut seen = [false; 3];
            for i in 0..1000 {
                let address = drawer.draw(Some(i), &mut random);
                let at =
                    prefixes.iter().position(|p| p.contains(address)).expect("inside a prefix");
                seen[at] = true;
            }
            assert_eq!(seen, [true; 3], "{pick}");
        }
    }

    #[test]
    fn a_zipf_draw_follows_the_law() {
        let prefixes: Vec<Prefix> =
            (0..100u128).filter_map(|i| Prefix::new(Family::V4, i << 8, 24)).collect();
        let mut random = Random::new(3);
        let drawer = Drawer::new(prefixes, Pick::Zipf(1.0), &mut random);
        let mut counts = std::collections::HashMap::new();
        for _ in 0..100_000 {
            *counts.entry(drawer.draw(None, &mut random)).or_insert(0u32) += 1;
        }
        let mut counts: Vec<_> = counts.into_values().collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        // The harmonic number of 100 is 5.187. So the first address has 19.3 %, twice the share of
        // the second.
        assert!((18_500..20_100).contains(&counts[0]), "{counts:?}");
        assert!((9_100..10_200).contains(&counts[1]), "{counts:?}");
        assert_eq!(counts.len(), 100, "one address for each prefix");
    }

    #[test]
    fn a_trace_keeps_its_repetitions() {
        let prefixes = vec!["2001:db8::/32".parse().expect("a prefix")];
        let mut random = Random::new(1);
        let drawer = Drawer::new(prefixes, Pick::Trace, &mut random);
        let mut draw = |id| drawer.draw(Some(id), &mut random);
        let (first, second) = (draw(0), draw(1));
        assert_ne!(first, second);
        assert_eq!(draw(0), first);
    }
}
