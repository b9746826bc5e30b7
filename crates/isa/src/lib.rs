//! Instruction sets as functional simulators, driven by a machine that keeps the time.
//!
//! An [`InstructionSet`] defines the semantics of instructions, not their timing: it decodes a word
//! once into an instruction, executes that on the state of a thread, and returns its [`Class`],
//! from which the machine derives its cycles. Loads and stores go over a [`Bus`] to one of several
//! memory spaces, and so do operands that are ports. The bus can make the thread wait; the
//! instruction then has had no effect, and is executed again.
//!
//! Microengines ([`microengine`]) differ: their instructions take effect over several cycles and
//! several units. So they have no `execute`, but tables of words and pure functions.
//!
//! [docs/instruction-sets.md] lists what is modelled, what is not, and the references that the
//! models are checked against.

pub mod arm;
pub mod bus;
pub mod class;
pub mod exception;
pub mod memory;
pub mod microengine;
pub mod operands;
pub mod program;
pub mod raw;
pub mod riscv;
pub mod set;
mod transfer;
pub mod uses;

pub use arm::Arm;
pub use bus::{Access, Bus, Fault, Replies, Size, Space, Stall};
pub use class::Class;
pub use exception::{Cause, Exception};
pub use memory::{Memory, Spaces};
pub use operands::{Operand, Operands, Ports};
pub use program::{Program, Symbols, Text};
pub use riscv::Riscv;
pub use set::{Compiled, Flow, InstructionSet, Meaning, Stop, Thread};
pub use uses::Uses;
