//! Programs: statically linked executables for a simulated processor.

mod elf;
mod lines;
mod symbols;
mod text;

use std::fmt;
use std::path::Path;

use crate::Compiled;

pub use lines::{Lines, SourceLine};
pub use symbols::{Function, Symbols};
pub use text::{End, Runner, Text};

/// An executable, ready to be put into the memory of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub machine: Architecture,
    /// The address of the first instruction, in the executable segment.
    pub entry: u32,
    /// The segments in the order of their addresses, without overlaps. One of them is executable.
    pub segments: Vec<Segment>,
    pub symbols: Symbols,
    pub lines: Lines,
}

/// A range of memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    pub address: u32,
    /// The initial bytes. The remaining bytes are zeros.
    pub bytes: Vec<u8>,
    /// The size in bytes, including the zeros. The range ends at or before 2^32.
    pub size: u32,
    pub is_writable: bool,
    pub is_executable: bool,
}

/// The machines that a program can be compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Architecture {
    Arm,
    Riscv,
}

/// Why a file is not a program for a simulated processor.
#[derive(Debug)]
pub enum Error {
    /// The file cannot be read.
    Read(std::io::Error),
    Bad {
        place: Place,
        what: String,
    },
}

/// A place in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A byte by its offset, from 0.
    Byte(u64),
    /// The index of a segment's program header, from 0, and the offset of that header in the file.
    Segment { number: usize, header: u64 },
    /// The index of a section header, from 0.
    Section(usize),
}

/// Limit on the memory of all segments of a program, in bytes. No chip has more, so a file that
/// exceeds it is damaged.
pub const MOST_MEMORY: u64 = 64 << 20;

impl Program {
    /// Reads an executable.
    ///
    /// # Errors
    /// See [`Program::parse`], and errors of reading. The path is not in the message.
    pub fn read(path: &Path) -> Result<Self, Error> {
        Self::parse(&std::fs::read(path).map_err(Error::Read)?)
    }

    /// Parses a statically linked ELF executable of 32 bits, little-endian, for ARM (EABI 5, soft
    /// float) or RISC-V (no compressed instructions, soft float).
    ///
    /// # Errors
    /// If the file has another format or is damaged: the place in the file and the problem.
    pub fn parse(file: &[u8]) -> Result<Self, Error> {
        elf::parse(file)
    }

    /// Returns the executable segment.
    pub fn executable(&self) -> &Segment {
        self.segments.iter().find(|segment| segment.is_executable).expect("parsing has found one")
    }

    /// Decodes the executable segment once, for all processors of an instruction set.
    ///
    /// # Errors
    /// A sentence, if the program is for another machine.
    pub fn text<S: Compiled>(&self) -> Result<Text<S>, String> {
        if self.machine != S::MACHINE {
            return Err(format!(
                "the program was compiled for {}, not for {}",
                self.machine,
                S::MACHINE
            ));
        }
        let segment = self.executable();
        Ok(Text::new(segment.address, &segment.bytes))
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Architecture::Arm => "ARM",
            Architecture::Riscv => "RISC-V",
        })
    }
}

impl std::error::Error for Error {}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Read(error) => error.fmt(f),
            Error::Bad { place, what } => write!(f, "{place}: {what}"),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Byte(at) => write!(f, "byte 0x{at:x}"),
            Place::Segment { number, header } => {
                write!(f, "segment {number} (header at byte 0x{header:x})")
            }
            Place::Section(number) => write!(f, "section {number}"),
        }
    }
}

#[cfg(test)]
mod tests;
