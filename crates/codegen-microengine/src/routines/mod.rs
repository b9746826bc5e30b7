//! Routines that all steps share, so that long code is in the control store once.
//!
//! Arguments and results are in registers that the caller and the routine share by name, or in the
//! words [`ARGUMENTS`](super::frame::ARGUMENTS) of the frame. The address to return to is in a
//! register of the routine, so a routine does not call itself.

mod arithmetic;
mod checks;
mod clear;
mod fetch;
mod long;
pub mod meter;
mod near;
mod order;
mod packet;
pub mod park;
mod put;
mod scan;
pub mod table;

use std::collections::BTreeMap;

use super::code::{Code, Operand, Register, Shift};
use super::frame::{self, State};
use super::layout::Unit;
use super::lower::Written;
use super::words;

pub use arithmetic::{Divide, Mix, Multiply, give};
pub use checks::{Bucket, Crc, Reduce};
pub use clear::Clear;
pub use fetch::{Fetch, Gather, Sum};
pub use long::{Long, RESULT, SECOND};
pub use order::{Pass, Turn};
pub use packet::Move;
pub use put::Put;
pub use scan::Scan;

/// The granule of SDRAM at which the thread's buffer begins, after 0 to 3 rows of 2 KB that are left free
/// (receive.uc).
fn buffer(code: &mut Code) -> Register {
    let (buffer, thread) = (code.register(), code.pinned(0));
    code.alu(buffer, thread.into(), "AND", Operand::Number(3));
    code.shift(buffer, Operand::None, "B", buffer.into(), Shift::Left(8));
    code.shift(buffer, buffer.into(), "OR", thread.into(), Shift::Left(14));
    buffer
}

/// A routine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Routine {
    /// [`Multiply`]
    Multiply,
    /// [`Divide`]
    Divide,
    /// [`long::Product`]
    Product,
    /// [`long::Quotient`]
    Quotient,
    /// [`Move`]
    Move,
    /// [`Clear`]
    Clear,
    /// [`Clear`], in local memory.
    ClearNear,
    /// Moves the window from local memory to the frame.
    ToFrame,
    /// [`Crc`]
    Crc,
    /// [`Bucket`]
    Bucket,
    /// [`Fetch`]
    Fetch,
    /// [`Gather`]
    Gather,
    /// [`Sum`]
    Sum,
    /// [`Put`]
    Put,
    /// [`Scan`]
    Scan,
    /// [`Turn`]
    Turn,
    /// [`Pass`]
    Pass,
    /// [`Mix`]
    Mix,
    /// [`table::Find`]
    Find(Unit),
    /// [`table::Advance`]
    Advance(Unit),
    /// [`table::Touch`]
    Touch(Unit),
    /// [`table::Unlink`]
    Unlink(Unit),
    /// [`table::Enter`]
    Enter(Unit),
    /// [`table::Sweep`]
    Sweep(Unit),
    /// [`table::Sweep`] of parked packets.
    SweepParked,
    /// [`park::Enqueue`]
    Enqueue,
    /// [`park::Dequeue`]
    Dequeue,
    /// [`park::Keep`]
    Keep,
    /// [`park::Take`]
    Take,
    /// [`meter::Tokens`]
    Tokens,
    /// [`meter::Meter`] of one rate.
    MeterOne,
    /// [`meter::Meter`] of two rates.
    MeterTwo,
    /// [`Reduce`], modulo the generator of 48 bits.
    Reduce48,
    /// [`Reduce`], modulo the generator of 64 bits.
    Reduce64,
}

impl Routine {
    /// Its label.
    pub fn label(&self) -> String {
        format!("routine_{}", self.name())
    }

    /// Its name.
    pub fn name(&self) -> String {
        // Its memory is in parentheses.
        format!("{self:?}").to_lowercase().replace('(', "_").replace(')', "")
    }

    /// The routine in microcode. `number` tells its labels from those of others.
    pub fn written(&self, number: usize) -> Written {
        let mut code = Code::new(number, &frame::PINNED);
        let state = State::of(&code);
        code.line(&format!("; {self:?}"));
        code.line(&format!("{}#:", self.label()));
        match self {
            Self::Multiply => Multiply::of(&mut code).write(&mut code),
            Self::Divide => Divide::of(&mut code).write(&mut code),
            Self::Product => long::Product::write(&mut code, state),
            Self::Quotient => long::Quotient::write(&mut code, state),
            Self::Move => Move::of(&mut code).write(&mut code, state),
            Self::Clear => Clear::of(&mut code).write(&mut code, state),
            Self::ClearNear => Clear::of(&mut code).write_near(&mut code),
            Self::ToFrame => near::write_to_frame(&mut code, state),
            Self::Crc => Crc::of(&mut code).write(&mut code, state),
            Self::Bucket => Bucket::of(&mut code).write(&mut code, state),
            Self::Fetch => Fetch::of(&mut code).write(&mut code, state),
            Self::Gather => Gather::of(&mut code).write(&mut code, state),
            Self::Sum => Sum::of(&mut code).write(&mut code, state),
            Self::Put => Put::of(&mut code).write(&mut code, state),
            Self::Scan => Scan::of(&mut code).write(&mut code, state),
            Self::Turn => Turn::of(&mut code).write(&mut code),
            Self::Pass => Pass::of(&mut code).write(&mut code),
            Self::Mix => Mix::of(&mut code).write(&mut code, state),
            Self::Find(unit) => table::Find::of(&mut code).write(&mut code, state, *unit),
            Self::Advance(unit) => table::Advance::write(&mut code, state, *unit),
            Self::Touch(unit) => table::Touch::write(&mut code, *unit),
            Self::Unlink(unit) => table::Unlink::write(&mut code, *unit),
            Self::Enter(unit) => table::Enter::write(&mut code, state, *unit),
            Self::Sweep(unit) => table::Sweep::of(&mut code)
                .write(&mut code, *unit, |code| table::Unlink::write(code, *unit)),
            Self::SweepParked => {
                table::Sweep::of(&mut code).write(&mut code, Unit::Sdram, park::Dequeue::write)
            }
            Self::Enqueue => park::Enqueue::write(&mut code, state),
            Self::Dequeue => park::Dequeue::write(&mut code),
            Self::Keep => park::Keep::write(&mut code, state),
            Self::Take => park::Take::write(&mut code, state),
            Self::Tokens => meter::Tokens::of(&mut code).write(&mut code),
            Self::MeterOne => meter::Meter::of(&mut code).write_one(&mut code, state),
            Self::MeterTwo => meter::Meter::of(&mut code).write_two(&mut code, state),
            Self::Reduce48 => Reduce::of(&mut code, false).write(&mut code, state),
            Self::Reduce64 => Reduce::of(&mut code, true).write(&mut code, state),
        }
        code.go_back(self);
        Written::of(code)
    }
}

/// The words of the arguments in which a routine keeps its registers.
const KEPT: u32 = frame::ARGUMENTS + 72;

/// Calls a routine from another one, and keeps these registers in the frame meanwhile: all callers
/// together would have too many.
fn keep(code: &mut Code, state: State, kept: &[Register], called: &Routine) {
    state.store(code, Operand::Number(KEPT), &words::of(kept));
    code.call(called);
    let loaded = state.load(code, Operand::Number(KEPT), kept.len());
    for (register, word) in kept.iter().zip(loaded) {
        code.set(*register, word.into());
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
