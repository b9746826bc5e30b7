//! Routines that all steps share, so that long code is in the control store once.
//!
//! Arguments and results are in registers that the caller and the routine share by name, or in the
//! words [`ARGUMENTS`](super::frame::ARGUMENTS) of the frame. The address to return to is in a
//! register of the routine, so a routine does not call itself.

mod arithmetic;
mod clear;
mod packet;

use super::code::Code;
use super::frame::State;

pub use arithmetic::{Divide, Multiply, give};
pub use clear::Clear;
pub use packet::Move;

/// A routine.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    /// The name of the register with the address to return to.
    pub fn back(&self) -> String {
        let name = match self {
            Self::Multiply => "multiply",
            Self::Divide => "divide",
            Self::Move => "move",
            Self::Clear => "clear",
        };
        format!("{name}_back")
    }

    fn write(&self, code: &mut Code, state: State) {
        match self {
            Self::Multiply => Multiply::of(code).write(code),
            Self::Divide => Divide::of(code).write(code),
            Self::Move => Move::of(code).write(code, state),
            Self::Clear => Clear::of(code).write(code, state),
        }
        code.go_back(self);
    }
}

/// Writes the routines that are called, and those that they call.
pub fn write(code: &mut Code, state: State) {
    let mut number = 0;
    while let Some((routine, label)) = code.routine(number) {
        code.line("");
        code.line(&format!("; {routine:?}"));
        code.place(label);
        routine.write(code, state);
        number += 1;
    }
}
