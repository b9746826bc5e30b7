//! Programs for one microengine.

use super::Version;

/// The contents of a control store, with information for debuggers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub version: Version,
    /// The words, from address 0. Each has [`Version::word_bits`] bits.
    pub words: Vec<u64>,
    /// The address at which all contexts start.
    pub entry: u16,
    /// The names of the source files.
    pub files: Vec<String>,
    /// The source of each word: the file (an index into `files`) and the line, from 1; none if
    /// unknown. Empty if nothing is known.
    pub lines: Vec<Option<SourceLine>>,
    /// Names of registers, with the range of words in which the name is valid. A name has several
    /// ranges if the register has another use between them.
    pub registers: Vec<RegisterName>,
    /// Labels, by address.
    pub labels: Vec<(String, u16)>,
    /// Values that the loader supplies before the start.
    pub imports: Vec<Import>,
}

/// A place in the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SourceLine {
    pub file: u16,
    pub line: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterName {
    pub name: String,
    pub register: Register,
    /// The words before which the register has this value: the first, and one past the last.
    pub range: (u16, u16),
}

/// The register of a name: general-purpose registers by bank, the others by file. A transfer
/// register is a pair, one for reading and one for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Register {
    Gpr(super::Bank, super::Index),
    Transfer(super::TransferFile, super::Index),
    Neighbour(super::Index),
    Signal(super::Signal),
}

/// A value that the loader supplies. It goes into `immed_w0` and `immed_w1` of these words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    pub name: String,
    /// Addresses of `immed_w0` words, which get the low half.
    pub low: Vec<u16>,
    /// Addresses of `immed_w1` words, which get the high half.
    pub high: Vec<u16>,
}
