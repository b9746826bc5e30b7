//! Instruction sets as functional simulators, driven by a machine that keeps the time.
//!
//! An [`InstructionSet`] says what an instruction means and nothing about how long it takes: it decodes a word once into an
//! instruction, executes that on the state of a thread, and says of what [`Class`] it is, so that the machine can give it
//! its cycles. Loads and stores go over a [`Bus`], which may answer that the thread has to wait; the instruction then has
//! had no effect, and is executed again.
//!
//! [docs/instruction-sets.md] says what is modelled, what is not, and what it is checked against.

pub mod arm;
pub mod bus;
pub mod class;
pub mod exception;
pub mod memory;
pub mod program;
pub mod riscv;
pub mod set;
mod transfer;

pub use arm::Arm;
pub use bus::{Access, Bus, Fault, Replies, Size, Stall};
pub use class::Class;
pub use exception::{Cause, Exception};
pub use memory::Memory;
pub use program::{Program, Symbols, Text};
pub use riscv::Riscv;
pub use set::{Flow, InstructionSet, Meaning, Stop, Thread};
