//! Routines that all steps share, so that long code is in the control store once.
//!
//! Arguments and results are in registers that the caller and the routine share by name, or in the
//! words [`ARGUMENTS`](super::frame::ARGUMENTS) of the frame. The address to return to is in a
//! register of the routine, so a routine does not call itself.

mod arithmetic;
mod clear;
mod packet;

use std::collections::BTreeMap;

use super::code::Code;
use super::frame::{self, State};
use super::lower::Written;

pub use arithmetic::{Divide, Multiply, give};
pub use clear::Clear;
pub use packet::Move;

/// A routine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Routine {
    /// [`Multiply`]
    Multiply,
    /// [`Divide`]
    Divide,
    /// [`Move`]
    Move,
    /// [`Clear`]
    Clear,
}

impl Routine {
    /// Its label.
    pub fn name(&self) -> String {
        match self {
            Self::Multiply => "multiply".into(),
            Self::Divide => "divide".into(),
            Self::Move => "move".into(),
            Self::Clear => "clear".into(),
        }
    }

    /// The routine in microcode. `number` tells its labels from those of others.
    pub fn written(&self, number: usize) -> Written {
        let mut code = Code::new(number, &frame::PINNED);
        let state = State::of(&code);
        code.line(&format!("; {self:?}"));
        code.line(&format!("{}#:", self.name()));
        match self {
            Self::Multiply => Multiply::of(&mut code).write(&mut code),
            Self::Divide => Divide::of(&mut code).write(&mut code),
            Self::Move => Move::of(&mut code).write(&mut code, state),
            Self::Clear => Clear::of(&mut code).write(&mut code, state),
        }
        code.go_back(self);
        Written::of(code)
    }
}

/// Routines in microcode, with those that they call, in order.
pub fn all(called: impl IntoIterator<Item = Routine>) -> BTreeMap<Routine, Written> {
    let mut open: Vec<Routine> = called.into_iter().collect();
    let mut all = BTreeMap::new();
    while let Some(routine) = open.pop() {
        if !all.contains_key(&routine) {
            let written = routine.written(FIRST_NUMBER + all.len());
            open.extend(written.routines.iter().cloned());
            all.insert(routine, written);
        }
    }
    all
}

/// Labels of routines have this number on: those of steps have less.
const FIRST_NUMBER: usize = 1_000_000;
