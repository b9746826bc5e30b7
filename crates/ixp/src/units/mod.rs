//! The units that serve commands: each has queues, a way to choose, and a time that it takes.

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

/// A command that a unit has begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Started {
    /// The command.
    pub handle: Handle,
    /// The cycle in which the first granule comes out, or, if nothing does, in which the unit is
    /// done.
    pub first: u64,
    /// Cycles between two granules.
    pub interval: u64,
    /// Words of a granule.
    pub granule: u8,
}

/// What a unit has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Commands.
    pub commands: u64,
    /// Words in either direction.
    pub words: u64,
    /// Cycles in which it was occupied.
    pub busy: u64,
}

impl Served {
    /// The same at a cycle, for a unit that is occupied until another one: cycles are counted when
    /// a command begins, and those that are still to come do not count yet.
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

/// Why a machine cannot go on: the program asks for something that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);
