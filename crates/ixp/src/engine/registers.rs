//! The register files of a microengine.

use wireloom_isa::microengine::{Bank, Destination, Index, Source, TransferFile, Version};

/// General-purpose registers of a context in a bank, in both versions.
const SHARE: usize = 16;
/// The most registers in a bank and in a file of transfer registers: those of version 2.
const MOST: usize = 128;

/// The register files.
#[derive(Clone, Debug)]
pub struct Registers {
    gpr: [[u32; MOST]; 2],
    /// What units push, SRAM and SDRAM.
    read: [[u32; MOST]; 2],
    /// What units pull.
    write: [[u32; MOST]; 2],
    /// Words that units pushed and pulled.
    pub moved: u64,
    /// Transfer registers in a file, and of a context.
    transfers: usize,
    share: usize,
}

impl Registers {
    /// Creates registers of zeros.
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

    /// Transfer registers in a file.
    pub fn transfers(&self) -> usize {
        self.transfers
    }

    /// Transfer registers of a context in a file.
    pub fn share(&self) -> usize {
        self.share
    }

    /// The number in its file of a transfer register of a context.
    pub fn transfer(&self, context: u8, register: u8) -> u16 {
        u16::from(context) * self.share as u16 + u16::from(register)
    }

    /// The value of an operand.
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

    /// A general-purpose register, for debuggers and tests.
    pub fn general(&self, bank: Bank, number: usize) -> u32 {
        self.gpr[bank as usize][number % MOST]
    }

    /// A transfer register that units push into, for debuggers and tests.
    pub fn pushed(&self, file: TransferFile, number: usize) -> u32 {
        self.read[file as usize][number % MOST]
    }

    /// A transfer register that units pull from, for debuggers and tests.
    pub fn to_pull(&self, file: TransferFile, number: usize) -> u32 {
        self.write[file as usize][number % MOST]
    }

    /// A unit pushes a word.
    #[inline]
    pub fn push(&mut self, file: TransferFile, register: u16, word: u32) {
        self.read[file as usize][usize::from(register) % MOST] = word;
        self.moved += 1;
    }

    /// A unit pulls a word.
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
