//! The units that serve commands. Each has queues, a scheduling policy and service times.

pub mod fbi;
pub mod hash;
pub mod msf;
pub mod queue;
pub mod queue_array;
pub mod rings;
pub mod scratch;
pub mod sdram;
pub mod sram;

pub use fbi::Fbi;
pub use hash::HashUnit;
pub use msf::Msf;
pub use scratch::Scratch;
pub use sdram::Sdram;
pub use sram::Sram;

use crate::request::Handle;

/// A command that a unit has begun to serve.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started {
    pub handle: Handle,
    /// The cycle in which the first granule is ready. If there is none, the cycle in which the unit
    /// is done.
    pub first: u64,
    /// The number of cycles between two granules.
    pub interval: u64,
    /// The number of words in a granule.
    pub granule: u8,
}

/// Counts of a unit's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    pub commands: u64,
    /// Words in either direction.
    pub words: u64,
    /// Cycles in which the unit was occupied.
    pub busy: u64,
}

impl Served {
    /// Returns the counts at cycle `now` of a unit that is occupied until cycle `until`. A unit
    /// counts all cycles of a command when it begins, so this subtracts the future ones.
    #[must_use]
    pub(crate) fn at(self, now: u64, until: u64) -> Self {
        Self { busy: self.busy.saturating_sub(until.saturating_sub(now)), ..self }
    }
}

impl std::iter::Sum for Served {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            commands: sum.commands + one.commands,
            words: sum.words + one.words,
            busy: sum.busy + one.busy,
        })
    }
}

/// The error of a machine that cannot go on: the program accesses something that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);
