//! Routines that all steps share, so that the control store contains long code only once.
//!
//! Arguments and results are in registers that the caller and the routine share by name, or in the
//! words [`ARGUMENTS`](super::frame::ARGUMENTS) of the frame. The address to return to is in a
//! register of the routine, so a routine does not call itself.

mod arithmetic;
mod clear;
mod fetch;
mod local_window;
mod long;
mod order;
mod packet;

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::code::{Code, Operand, Register, Shift};
use super::frame::{self, State};
use super::layout::Unit;
use super::lower::Written;
use super::words;

pub use arithmetic::{Divide, Multiply, Pair, both, give, pair};
pub use clear::Clear;
pub use fetch::Fetch;
pub use local_window::TO_FRAME;
pub use long::{Long, Product, Quotient, RESULT, SECOND};
pub use order::{Pass, Turn};
pub use packet::Move;

/// Computes the quad word of SDRAM at which the thread's packet buffer begins. The first 0 to 3
/// rows of 2 KB in the granule stay free (receive.uc).
pub fn buffer(code: &mut Code) -> Register {
    let (buffer, thread) = (code.register(), code.pinned(0));
    code.alu(buffer, thread.into(), "AND", Operand::Number(3));
    code.shift(buffer, Operand::None, "B", buffer.into(), Shift::Left(8));
    code.shift(buffer, buffer.into(), "OR", thread.into(), Shift::Left(14));
    buffer
}

/// A routine in microcode.
#[derive(Clone, Copy, Debug)]
pub struct Routine {
    /// The position in the text of a program, relative to other routines: smaller numbers first. It
    /// has no other effect.
    order: u32,
    name: &'static str,
    body: Body,
}

/// Writes a routine after its label, up to the return.
#[derive(Clone, Copy, Debug)]
enum Body {
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

    fn unit(&self) -> Option<Unit> {
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

    /// Returns the routine in microcode. `number` distinguishes its labels from other labels.
    pub fn written(&self, number: usize) -> Written {
        let mut code = Code::new(number, &frame::PINNED);
        let state = State::of(&code);
        code.line(&match self.unit() {
            None => format!("; {}", self.name),
            Some(unit) => format!("; {}({unit:?})", self.name),
        });
        code.line(&format!("{}#:", self.label()));
        match self.body {
            Body::Plain(write) => write(&mut code, state),
            Body::In(unit, write) => write(&mut code, state, unit),
        }
        code.go_back(self);
        Written::of(code)
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

/// The words of the arguments in which a routine keeps its registers during a call.
const KEPT: u32 = frame::ARGUMENTS + 72;

/// Calls a routine from another routine, and keeps these registers in the frame during the call.
/// All callers together would need too many registers.
pub fn keep(code: &mut Code, state: State, kept: &[Register], called: &Routine) {
    state.store(code, Operand::Number(KEPT), &words::of(kept));
    code.call(called);
    let loaded = state.load(code, Operand::Number(KEPT), kept.len());
    for (register, word) in kept.iter().zip(loaded) {
        code.set(*register, word.into());
    }
}

/// Returns routines in microcode, with the routines that they call.
pub fn all(called: impl IntoIterator<Item = Routine>) -> BTreeMap<Routine, Written> {
    let mut open: Vec<Routine> = called.into_iter().collect();
    let mut all = BTreeMap::new();
    while let Some(routine) = open.pop() {
        if !all.contains_key(&routine) {
            let written = routine.written(FIRST_NUMBER + all.len());
            open.extend(&written.routines);
            all.insert(routine, written);
        }
    }
    all
}

/// The first number for labels of routines. Labels of steps have smaller numbers.
const FIRST_NUMBER: usize = 1_000_000;
