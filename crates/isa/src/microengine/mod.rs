//! The instruction sets of microengines: version 1 (IXP1200) and version 2 (IXP2400, IXP2800).
//!
//! docs/machines/ixp-instructions.md lists what public documents say about them, and what is
//! assumed here where the documents are silent.

mod bits;
pub mod code;
pub mod command;
pub mod compute;
pub mod csr;
pub mod image;
pub mod instruction;
pub mod operand;
pub mod parts;
pub mod table;
pub mod text;
mod version1;
mod version2;

pub use code::{Unencodable, decode, encode};
pub use command::{
    BitOperation, Command, Completion, Operation, Order, Override, QueueOperation, Unit,
};
pub use compute::{Flags, Inputs, Outcome};
pub use image::{Image, Import, Register, RegisterName, SourceLine};
pub use instruction::{
    AluOperation, BranchClass, CamPointer, Check, Condition, InputState, Instruction, MultiplyStep,
    Polynomial, Wait,
};
pub use operand::{Bank, Destination, Index, Shift, Signal, Source, Step, TransferFile};
pub use text::disassemble;

/// A version of the microengine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Version {
    /// IXP1200.
    One,
    /// IXP2400 and IXP2800.
    Two,
}

/// The total sizes of a version's register files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Hardware contexts.
    pub contexts: usize,
    /// General-purpose registers in each of the two banks.
    pub bank: usize,
    /// Transfer registers in each of the four files (SRAM and SDRAM, reading and writing).
    pub transfer: usize,
    /// Next-neighbour registers.
    pub neighbour: usize,
    /// Words of local memory.
    pub local: usize,
    /// Entries of the CAM.
    pub cam: usize,
    /// The largest control store of the family, in words.
    pub control_store: usize,
}

impl Version {
    /// Returns the number of bits of an instruction.
    pub fn word_bits(self) -> u32 {
        match self {
            Self::One => 32,
            Self::Two => 40,
        }
    }

    /// Returns the sizes of the register files.
    pub fn sizes(self) -> Sizes {
        match self {
            Self::One => Sizes {
                contexts: 4,
                bank: 64,
                transfer: 32,
                neighbour: 0,
                local: 0,
                cam: 0,
                control_store: 2048,
            },
            Self::Two => Sizes {
                contexts: 8,
                bank: 128,
                transfer: 128,
                neighbour: 128,
                local: 640,
                cam: 16,
                control_store: 8192,
            },
        }
    }
}
