//! What instructions read and write.

/// A general-purpose register of a context. The assembler finds its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register(pub(super) usize);

impl Register {
    /// Returns one of the registers with fixed places, by its position in
    /// [`PINNED`](super::state::PINNED).
    pub const fn pinned(position: usize) -> Self {
        Self(position)
    }
}

/// What an instruction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Nothing.
    None,
    /// A constant.
    Number(u32),
    /// A register.
    Register(Register),
    /// A read transfer register of SRAM.
    Transfer(u8),
    /// A read transfer register of SDRAM.
    Wide(u8),
    /// A word of local memory, counted from pointer 1.
    Local(u8),
}

impl From<Register> for Operand {
    fn from(register: Register) -> Self {
        Self::Register(register)
    }
}

/// What an instruction writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Nothing but the condition codes.
    None,
    /// A register.
    Register(Register),
    /// A write transfer register of SRAM.
    Transfer(u8),
    /// A write transfer register of SDRAM.
    Wide(u8),
    /// A word of local memory, counted from pointer 1.
    Local(u8),
}

impl From<Register> for Target {
    fn from(register: Register) -> Self {
        Self::Register(register)
    }
}

/// A shift of operand B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    /// By a constant, 0 to 31.
    Left(u32),
    /// By a constant, 0 to 31.
    Right(u32),
    /// By the low five bits of operand A of the instruction before.
    LeftIndirect,
    /// By the low five bits of operand A of the instruction before.
    RightIndirect,
}
