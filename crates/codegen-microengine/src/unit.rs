//! The memories of a chip, and words in them.

/// A memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    Sram,
    Sdram,
    Scratch,
}

impl Unit {
    /// Returns the name in microcode.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sram => "sram",
            Self::Sdram => "sdram",
            Self::Scratch => "scratch",
        }
    }

    /// Returns the alignment of regions in words.
    pub fn aligned(self) -> u32 {
        if self == Self::Scratch { 1 } else { 16 }
    }
}

/// Words of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    pub unit: Unit,
    /// The address of the first word.
    pub first: u32,
    /// The number of words. Contents that grow may take fewer.
    pub words: u32,
}

/// Contents of a memory from an address on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub unit: Unit,
    /// The address of the first word.
    pub first: u32,
    pub words: Vec<u32>,
}
