//! The step IR: typed bit-vector SSA, organised in steps. The crate contains the printer, the
//! parser, the verifier and the golden model.
//!
//! A [`Program`] is a list of engines. An [`Engine`] is a list of steps over shared context
//! variables and offloads. A [`Step`] is straight-line code that ends by naming the next step.
//! docs/ir.md describes the textual form.

pub mod builder;
mod clock;
mod golden;
pub mod outcome;
pub mod program;
mod store;
mod text;
mod timers;
mod verify;
mod visit;

pub use clock::{Clock, Due, MOST_TICKS, TIMERS, Times};
pub use golden::{Golden, GoldenCalls, Moment, Observer, Origin};
pub use outcome::{Execute, MAX_BACKWARD_JUMPS, Output, Reason, Verdict};
pub use program::*;
pub use store::store;
pub use text::{MAX_NESTING, ParseError, parse, print, print_op};
pub use timers::Timers;
pub use verify::{Problem, verify};
