//! The register files of a microengine.

use wireloom_isa::microengine::{Bank, Destination, Index, Source, TransferFile, Version};

/// General-purpose registers of a context in each bank. Both versions have the same number.
const SHARE: usize = 16;
/// The maximum number of registers in a bank and in a file of transfer registers, reached by
/// version 2.
const MOST: usize = 128;

#[derive(Clone, Debug)]
pub struct Registers {
    gpr: [[u32; MOST]; 2],
    /// Transfer registers into which SRAM and SDRAM push.
    read: [[u32; MOST]; 2],
    /// Transfer registers from which SRAM and SDRAM pull.
    write: [[u32; MOST]; 2],
    /// The count of words that units pushed and pulled.
    pub moved: u64,
    /// Transfer registers in a file, and how many of them each context has.
    transfers: usize,
    share: usize,
}

impl Registers {
    /// Creates registers that all hold zero.
    pub fn new(version: Version) -> Self {
        let sizes = version.sizes();
        Self {
            gpr: [[0; MOST]; 2],
            read: [[0; MOST]; 2],
            write: [[0; MOST]; 2],
            moved: 0,
            transfers: sizes.transfer,
            share: sizes.transfer / sizes.contexts,
        }
    }

    /// The number of transfer registers in a file.
    pub fn transfers(&self) -> usize {
        self.transfers
    }

    /// The number of a context's transfer registers in a file.
    pub fn share(&self) -> usize {
        self.share
    }

    /// The absolute number of a context's transfer register in its file.
    pub fn transfer(&self, context: u8, register: u8) -> u16 {
        u16::from(context) * self.share as u16 + u16::from(register)
    }

    /// Reads an operand.
    #[inline]
    pub fn value(&self, source: Source, context: u8) -> u32 {
        match source {
            Source::Gpr(bank, index) => self.gpr[bank as usize][gpr(index, context)],
            Source::Transfer(file, index) => self.read[file as usize][self.place(index, context)],
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
                let place = self.place(index, context);
                self.write[file as usize][place] = value;
            }
            _ => {}
        }
    }

    #[inline]
    fn place(&self, index: Index, context: u8) -> usize {
        index.absolute(context.into(), self.share) % MOST
    }

    /// Reads a general-purpose register, for debuggers and tests.
    pub fn general(&self, bank: Bank, number: usize) -> u32 {
        self.gpr[bank as usize][number % MOST]
    }

    /// Reads a transfer register that units push into, for debuggers and tests.
    pub fn pushed(&self, file: TransferFile, number: usize) -> u32 {
        self.read[file as usize][number % MOST]
    }

    /// Reads a transfer register that units pull from, for debuggers and tests.
    pub fn to_pull(&self, file: TransferFile, number: usize) -> u32 {
        self.write[file as usize][number % MOST]
    }

    /// Stores a word that a unit pushes.
    #[inline]
    pub fn push(&mut self, file: TransferFile, register: u16, word: u32) {
        self.read[file as usize][usize::from(register) % MOST] = word;
        self.moved += 1;
    }

    /// Reads a word that a unit pulls.
    #[inline]
    pub fn pull(&mut self, file: TransferFile, register: u16) -> u32 {
        self.moved += 1;
        self.write[file as usize][usize::from(register) % MOST]
    }
}

#[inline]
fn gpr(index: Index, context: u8) -> usize {
    index.absolute(context.into(), SHARE) % MOST
}
