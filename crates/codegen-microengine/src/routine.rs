//! A routine: code that several places of a program call. A register of the routine has the address
//! to return to.

use std::cmp::Ordering;

use super::code::Code;
use super::state::State;
use super::unit::Unit;

/// A routine in microcode.
#[derive(Clone, Copy, Debug)]
pub struct Routine {
    /// The position in the text of a program, relative to other routines: smaller numbers first. It
    /// has no other effect.
    order: u32,
    pub(super) name: &'static str,
    pub(super) body: Body,
}

/// Writes a routine after its label, up to the return.
#[derive(Clone, Copy, Debug)]
pub(super) enum Body {
    Plain(fn(&mut Code, State)),
    /// For data in this memory. There is one copy of the routine for each memory.
    In(Unit, fn(&mut Code, State, Unit)),
}

impl Routine {
    /// Returns a routine whose instructions are the same in every program.
    pub const fn new(order: u32, name: &'static str, write: fn(&mut Code, State)) -> Self {
        Self { order, name, body: Body::Plain(write) }
    }

    /// Returns the copy of a routine for data in one memory.
    pub const fn in_memory(
        order: u32,
        name: &'static str,
        unit: Unit,
        write: fn(&mut Code, State, Unit),
    ) -> Self {
        Self { order, name, body: Body::In(unit, write) }
    }

    pub(super) fn unit(&self) -> Option<Unit> {
        match self.body {
            Body::Plain(_) => None,
            Body::In(unit, _) => Some(unit),
        }
    }

    fn key(&self) -> (u32, &'static str, Option<Unit>) {
        (self.order, self.name, self.unit())
    }

    /// Returns the label at which the routine begins.
    pub fn label(&self) -> String {
        format!("routine_{}", self.name())
    }

    /// Returns the name that labels and registers have: in lower case, with the memory.
    pub fn name(&self) -> String {
        let name = self.name.to_lowercase();
        match self.unit() {
            None => name,
            Some(unit) => format!("{name}_{}", unit.name()),
        }
    }
}

impl PartialEq for Routine {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Routine {}

impl PartialOrd for Routine {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Routine {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}
