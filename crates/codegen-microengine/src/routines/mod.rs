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

use super::code::Code;
use super::frame;
use super::operand::{Operand, Register, Shift};
use super::routine::Routine;
use super::state::{State, THREAD};
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
    let (buffer, thread) = (code.register(), THREAD);
    code.alu(buffer, thread.into(), "AND", Operand::Number(3));
    code.shift(buffer, Operand::None, "B", buffer.into(), Shift::Left(8));
    code.shift(buffer, buffer.into(), "OR", thread.into(), Shift::Left(14));
    buffer
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
