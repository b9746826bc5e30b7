//! The cycles of a tile processor by kind, as figures show them.

use std::ops::{Add, AddAssign, Sub};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use wireloom_isa::raw::Network;
use wireloom_raw::{Chip, TileCycles, Work};

/// What a tile does with its cycles: field, and in words.
pub const KINDS: [(&str, &str); 12] = [
    ("taken", "words taken from a network"),
    ("given", "words given to a network"),
    ("branches", "branches"),
    ("others", "other instructions"),
    ("wrong", "wrong predictions and interrupts"),
    ("operands", "results that are not ready"),
    ("misses", "cache"),
    ("static_empty", "static network empty"),
    ("static_full", "static network full"),
    ("general_empty", "general network empty"),
    ("general_full", "general network full"),
    ("memory_full", "memory network full"),
];
/// The kinds that are instructions come first.
const INSTRUCTIONS: usize = 4;
/// Then those that are no wait for a network.
const BUSY: usize = 7;

/// Cycles by kind, in the order of [`KINDS`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cycles(pub [f64; KINDS.len()]);

impl Cycles {
    /// The number of kinds before those of the dynamic networks.
    pub const GENERAL: usize = 9;

    /// The cycles of an account, whose instructions are these.
    pub fn new(work: &Work, spent: &TileCycles) -> Self {
        let counts = [
            work.taken,
            work.given,
            work.branches,
            work.others,
            spent.branches,
            spent.operands,
            spent.misses,
            spent.empty_of(Network::Static1),
            spent.full_of(Network::Static1),
            spent.empty_of(Network::General),
            spent.full_of(Network::General),
            spent.full_of(Network::Memory),
        ];
        Self(counts.map(|count| count as f64))
    }

    /// The cycles of a tile until now.
    pub fn of(chip: &Chip, place: (u8, u8)) -> Self {
        Self::new(&chip.work(place), &chip.spent(place).0)
    }

    /// All of them.
    pub fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    /// Those of instructions.
    pub fn instructions(&self) -> f64 {
        self.0[..INSTRUCTIONS].iter().sum()
    }

    /// Those of all kinds that are no instructions.
    pub fn waits(&self) -> impl Iterator<Item = f64> + use<> {
        self.0.into_iter().skip(INSTRUCTIONS)
    }

    /// Those in which the tile did not wait for a network.
    pub fn busy(&self) -> f64 {
        self.0[..BUSY].iter().sum()
    }

    /// The share of one of so many.
    pub fn per(self, count: u64) -> Self {
        Self(self.0.map(|cycles| cycles / count as f64))
    }
}

impl Add for Cycles {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl AddAssign for Cycles {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, cycles)| *sum += cycles);
    }
}

impl Sub for Cycles {
    type Output = Self;

    fn sub(mut self, other: Self) -> Self {
        self.0.iter_mut().zip(other.0).for_each(|(rest, cycles)| *rest -= cycles);
        self
    }
}

impl Serialize for Cycles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(KINDS.len()))?;
        for ((field, _), cycles) in KINDS.iter().zip(self.0) {
            map.serialize_entry(field, &cycles)?;
        }
        map.end()
    }
}
