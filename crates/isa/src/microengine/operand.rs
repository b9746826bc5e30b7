//! Registers and operands of microengine instructions.

/// A bank of general-purpose registers. One instruction reads at most one register of each bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Bank {
    A,
    B,
}

impl Bank {
    /// Returns the other bank.
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// The number of a register, relative to the executing context or in the whole register file.
///
/// A file of `n` registers that `c` contexts share gives context `k` the registers
/// `k * n / c` and up: relative register `r` of context `k` is absolute register `k * n / c + r`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Index {
    /// A register of the executing context.
    Relative(u8),
    /// A register of the file, in any context.
    Absolute(u8),
}

impl Index {
    /// Returns the number within a file that gives each context `share` registers.
    #[inline]
    pub fn absolute(self, context: usize, share: usize) -> usize {
        match self {
            Self::Relative(number) => context * share + usize::from(number),
            Self::Absolute(number) => usize::from(number),
        }
    }
}

/// A file of transfer registers. Its units push into it, and pull from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TransferFile {
    /// `$name`: SRAM, scratchpad, hash unit, FBI or MSF.
    Sram,
    /// `$$name`: SDRAM.
    Sdram,
}

/// The change of the pointer after an access to local memory or by an index register (version 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Step {
    /// The pointer stays.
    None,
    /// The pointer moves on by one word after the access.
    Increment,
    /// The pointer moves back by one word after the access.
    Decrement,
}

/// A source operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// Nothing. The operation has no such operand, or it is left out (`--`) and counts as 0.
    None,
    /// A general-purpose register.
    Gpr(Bank, Index),
    /// A read transfer register.
    Transfer(TransferFile, Index),
    /// The read transfer register to which the context's `T_INDEX` points (version 2).
    TransferIndexed(Step),
    /// A next-neighbour register of the context (version 2).
    Neighbour(Index),
    /// The head of the next-neighbour ring, which the read removes (version 2).
    NeighbourRing,
    /// Local memory at the context's pointer 0 or 1 and an offset of 0 to 15 words (version 2).
    Local { pointer: u8, offset: u8, step: Step },
    /// A constant.
    Constant(u8),
}

/// A destination operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Destination {
    /// Nothing (`--`): only the condition codes matter.
    None,
    /// A general-purpose register.
    Gpr(Bank, Index),
    /// A write transfer register.
    Transfer(TransferFile, Index),
    /// The write transfer register to which the context's `T_INDEX` points (version 2).
    TransferIndexed(Step),
    /// A next-neighbour register: of the next engine, or of this one, as `CTX_ENABLES` says
    /// (version 2).
    Neighbour(Index),
    /// The tail of the next engine's ring (version 2).
    NeighbourRing,
    /// Local memory at the context's pointer 0 or 1 and an offset of 0 to 15 words (version 2).
    Local { pointer: u8, offset: u8, step: Step },
}

impl Source {
    /// Returns the bank of general-purpose registers that is read.
    pub fn bank(self) -> Option<Bank> {
        match self {
            Self::Gpr(bank, _) => Some(bank),
            _ => None,
        }
    }
}

impl Destination {
    /// Returns the bank of general-purpose registers that is written.
    pub fn bank(self) -> Option<Bank> {
        match self {
            Self::Gpr(bank, _) => Some(bank),
            _ => None,
        }
    }

    /// Returns the operand by which an instruction reads a destination that it changes in part
    /// (`ld_field`, `immed_b0`). A transfer register is read from the file of read registers, so
    /// such instructions cannot have one as their destination.
    pub fn as_source(self) -> Source {
        match self {
            Self::Gpr(bank, index) => Source::Gpr(bank, index),
            Self::Local { pointer, offset, step: _ } => {
                Source::Local { pointer, offset, step: Step::None }
            }
            _ => Source::None,
        }
    }
}

/// The shift of an operand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Shift {
    #[default]
    None,
    /// By 1 to 31 bits. Zeros enter at the right.
    Left(u8),
    /// By 1 to 31 bits. Zeros enter at the left.
    Right(u8),
    /// Rotation to the right by 1 to 31 bits.
    Rotate(u8),
    /// As `Left`, by the low five bits of operand A of the previous instruction.
    LeftIndirect,
    /// As `Right`, by the low five bits of operand A of the previous instruction.
    RightIndirect,
}

/// A hardware signal of a context.
///
/// Version 1 has one for each unit ([`Signal::SRAM`] and others). Version 2 has 15 that the program
/// names, numbered 1 to 15. A signal is one bit: a unit sets it, and the start of a context that
/// waits for it clears it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Signal(pub u8);

impl Signal {
    pub const SRAM: Self = Self(1);
    pub const SDRAM: Self = Self(2);
    /// Scratchpad, hash unit, FIFOs and CSRs of the FBI.
    pub const FBI: Self = Self(3);
    pub const INTER_THREAD: Self = Self(4);
    pub const START_RECEIVE: Self = Self(5);
    pub const SEQUENCE_1: Self = Self(6);
    pub const SEQUENCE_2: Self = Self(7);
    pub const AUTO_PUSH: Self = Self(8);
    pub const PCI_DMA: Self = Self(9);

    /// The names of version 1's signals, in the order of their numbers from 1.
    pub const NAMES: [&str; 9] = [
        "sram",
        "sdram",
        "fbi",
        "inter_thread",
        "start_receive",
        "seq_num1",
        "seq_num2",
        "auto_push",
        "pci_dma",
    ];

    /// Returns the signal's bit in a set of signals.
    pub fn bit(self) -> u16 {
        1 << (self.0 & 15)
    }
}
