//! The step IR: typed bit-vector SSA in steps, its printer, parser and verifier, and the golden model.
//!
//! A [`Program`] is a list of engines; an [`Engine`] a list of steps over shared context variables and offloads; a
//! [`Step`] straight code that ends by naming the next one. See docs/ir.md for the textual form.

pub mod builder;
mod golden;
pub mod outcome;
pub mod program;
mod store;
mod text;
mod verify;
mod visit;

pub use golden::{Golden, GoldenCalls, Origin};
pub use outcome::{Execute, MAX_BACKWARD_JUMPS, Output, Reason, Verdict};
pub use program::*;
pub use store::store;
pub use text::{MAX_NESTING, ParseError, parse, print, print_op};
pub use verify::{Problem, verify};
