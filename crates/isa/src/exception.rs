//! Exceptions: errors of programs.

use std::fmt;

use crate::{Fault, InstructionSet, Size, Symbols};

/// Why an instruction cannot be executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The word is not an instruction of the set, or the architecture leaves its effect undefined.
    Undefined,
    /// The address of an access is not a multiple of its size.
    Misaligned { direction: Direction, address: u32, size: Size },
    /// The bus cannot perform an access.
    Fault { direction: Direction, address: u32, size: Size, fault: Fault },
    /// The target of a jump is not a multiple of four.
    MisalignedTarget { target: u32 },
    /// There is no instruction: the program counter is outside the text, or not a multiple of four.
    OutsideText,
}

/// The direction of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    Load,
    Store,
    Swap,
}

/// An exception that a program has caused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exception {
    /// The address of the instruction.
    pub address: u32,
    /// The word of the instruction; none if the program counter is outside the text.
    pub word: Option<u32>,
    /// The instruction as assembly; empty without an instruction.
    pub disassembly: String,
    pub cause: Cause,
}

impl Exception {
    /// Returns the exception that the instruction at an address has caused.
    pub fn new<S: InstructionSet>(
        address: u32,
        instruction: &S::Instruction,
        cause: Cause,
    ) -> Self {
        let word = S::word(instruction);
        Self { address, word: Some(word), disassembly: S::disassemble(word, address), cause }
    }
}

impl Exception {
    /// Returns the exception with the function of its instruction, for display.
    pub fn within<'a>(&'a self, symbols: &'a Symbols) -> Within<'a> {
        Within { exception: self, symbols }
    }

    fn show(&self, f: &mut fmt::Formatter<'_>, symbols: Option<&Symbols>) -> fmt::Result {
        write!(f, "at 0x{:08x}", self.address)?;
        if let Some((function, offset)) = symbols.and_then(|symbols| symbols.at(self.address)) {
            write!(f, " ({}+0x{offset:x})", function.name)?;
        }
        if let Some(word) = self.word {
            write!(f, ", `{}` (0x{word:08x})", self.disassembly)?;
        }
        write!(f, ": {}", self.cause)
    }
}

impl std::error::Error for Exception {}

/// Writes a sentence without its full stop.
impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.show(f, None)
    }
}

/// The text of [`Exception::within`].
#[derive(Clone, Copy, Debug)]
pub struct Within<'a> {
    exception: &'a Exception,
    symbols: &'a Symbols,
}

impl fmt::Display for Within<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.exception.show(f, Some(self.symbols))
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cause::Undefined => write!(f, "undefined instruction"),
            Cause::Misaligned { direction, address, size } => {
                write!(
                    f,
                    "{direction} of {size} at 0x{address:08x}, which is no multiple of {}",
                    size.bytes()
                )
            }
            Cause::Fault { direction, address, size, fault } => {
                write!(f, "{direction} of {size} at 0x{address:08x}: {fault}")
            }
            Cause::MisalignedTarget { target } => {
                write!(f, "jump to 0x{target:08x}, which is no multiple of 4")
            }
            Cause::OutsideText => write!(f, "the program counter is outside the program's text"),
        }
    }
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Direction::Load => "load",
            Direction::Store => "store",
            Direction::Swap => "swap",
        })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Size::Byte => "a byte",
            Size::Half => "a half-word",
            Size::Word => "a word",
        })
    }
}
