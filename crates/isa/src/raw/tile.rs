//! The tile processor: the table of its instructions, and what they compute.

mod code;
mod compute;
mod table;

pub use code::{Instruction, Undefined, decode, disassemble, encode, operand_texts};
pub use compute::{branches, compute, hi_lo, loaded, stored};
pub use table::{Op, Row, SPECIAL, Slot, Special, TABLE, Timing};
