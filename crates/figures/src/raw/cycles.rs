//! The cycles of a tile processor by kind, as figures show them.

use std::ops::{Add, AddAssign, Sub};

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use wireloom_isa::raw::Network;
use wireloom_raw::{Chip, TileCycles, Work};

/// The kinds of a tile's cycles: field, and description.
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
/// The number of kinds that are instructions; they are first.
const INSTRUCTIONS: usize = 4;
/// The number of kinds that are not waits for a network; they are before the others.
const BUSY: usize = 7;

/// Cycles by kind, in the order of [`KINDS`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cycles(pub [f64; KINDS.len()]);

impl Cycles {
    /// The number of kinds before the kinds of the dynamic networks.
    pub const GENERAL: usize = 9;

    /// Returns the cycles of an account with these instructions.
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

    /// Returns the cycles of a tile so far.
    pub fn of(chip: &Chip, place: (u8, u8)) -> Self {
        Self::new(&chip.work(place), &chip.spent(place).0)
    }

    /// The sum of all kinds.
    pub fn total(&self) -> f64 {
        self.0.iter().sum()
    }

    /// The sum of the instructions.
    pub fn instructions(&self) -> f64 {
        self.0[..INSTRUCTIONS].iter().sum()
    }

    /// The cycles of each kind that is not an instruction.
    pub fn waits(&self) -> impl Iterator<Item = f64> + use<> {
        self.0.into_iter().skip(INSTRUCTIONS)
    }

    /// The cycles in which the tile did not wait for a network.
    pub fn busy(&self) -> f64 {
        self.0[..BUSY].iter().sum()
    }

    /// Divides the cycles by `count`, for instance by a number of packets.
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
