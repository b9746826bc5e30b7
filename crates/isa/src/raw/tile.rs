//! The tile processor: its table of instructions, and their results.

mod code;
mod compute;
mod table;

pub use code::{Instruction, Undefined, decode, disassemble, encode, operand_texts};
pub use compute::{branches, compute, hi_lo, loaded, stored};
pub use table::{InstructionRow, Op, SPECIAL, Slot, Special, TABLE, Timing};
