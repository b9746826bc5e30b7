//! The register files of a microengine of version 1.

use wireloom_isa::microengine::{Bank, Destination, Index, Source, TransferFile};

/// General-purpose registers of a context in a bank.
const SHARE: usize = 16;
/// Transfer registers of a context in a file.
const TRANSFER_SHARE: usize = 8;
/// Transfer registers in a file.
pub const TRANSFER: usize = 32;

/// The register files.
#[derive(Clone, Debug)]
pub struct Registers {
    gpr: [[u32; 64]; 2],
    /// What units push, SRAM and SDRAM.
    read: [[u32; TRANSFER]; 2],
    /// What units pull.
    write: [[u32; TRANSFER]; 2],
    /// Words that units pushed and pulled.
    pub moved: u64,
}

impl Registers {
    /// Creates registers of zeros.
    pub fn new() -> Self {
        Self { gpr: [[0; 64]; 2], read: [[0; TRANSFER]; 2], write: [[0; TRANSFER]; 2], moved: 0 }
    }

    /// The number in its file of a transfer register of a context.
    pub fn transfer(context: u8, register: u8) -> u16 {
        u16::from(context) * TRANSFER_SHARE as u16 + u16::from(register)
    }

    /// The value of an operand.
    #[inline]
    pub fn value(&self, source: Source, context: u8) -> u32 {
        match source {
            Source::Gpr(bank, index) => self.gpr[bank as usize][gpr(index, context)],
            Source::Transfer(file, index) => self.read[file as usize][transfer(index, context)],
            Source::Constant(value) => value.into(),
            _ => 0,
        }
    }

    /// Writes a result.
    #[inline]
    pub fn write(&mut self, destination: Destination, context: u8, value: u32) {
        match destination {
            Destination::Gpr(bank, index) => self.gpr[bank as usize][gpr(index, context)] = value,
            Destination::Transfer(file, index) => {
                self.write[file as usize][transfer(index, context)] = value;
            }
            _ => {}
        }
    }

    /// A general-purpose register, for debuggers and tests.
    pub fn general(&self, bank: Bank, number: usize) -> u32 {
        self.gpr[bank as usize][number % 64]
    }

    /// A unit pushes a word.
    #[inline]
    pub fn push(&mut self, file: TransferFile, register: u16, word: u32) {
        self.read[file as usize][usize::from(register) % TRANSFER] = word;
        self.moved += 1;
    }

    /// A unit pulls a word.
    #[inline]
    pub fn pull(&mut self, file: TransferFile, register: u16) -> u32 {
        self.moved += 1;
        self.write[file as usize][usize::from(register) % TRANSFER]
    }
}

impl Default for Registers {
    fn default() -> Self {
        Self::new()
    }
}

#[inline]
fn gpr(index: Index, context: u8) -> usize {
    index.absolute(context.into(), SHARE) % 64
}

#[inline]
fn transfer(index: Index, context: u8) -> usize {
    index.absolute(context.into(), TRANSFER_SHARE) % TRANSFER
}
