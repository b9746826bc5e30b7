//! Commands to memories and to the hash unit, and the transfer registers that they read and write.

use super::code::{Code, Here};
use super::operand::{Operand, Register, Target};

/// The number of transfer registers of a context for reads, and for writes.
pub(super) const TRANSFERS: u32 = 8;

impl Code {
    /// Returns the first of some write transfer registers of SRAM, those that were used least
    /// recently. A pending command may still read the most recent ones.
    pub fn write_transfers(&mut self, count: u32) -> u8 {
        let first = if self.next_write + count > TRANSFERS { 0 } else { self.next_write };
        self.next_write = first + count;
        first as u8
    }

    /// Reads words of SRAM into the transfer registers that were used least recently. The command
    /// may begin early, while the contents of the most recent ones are still in use. Returns the
    /// first register.
    pub fn read_sram(&mut self, base: Operand, at: Operand, count: u32) -> u8 {
        self.read("sram", base, at, count)
    }

    /// Reads words of this unit in the same way.
    pub fn read(&mut self, unit: &str, base: Operand, at: Operand, count: u32) -> u8 {
        let first = if self.next_read + count > TRANSFERS { 0 } else { self.next_read };
        self.next_read = first + count;
        self.command(&format!("{unit}[read"), &format!("${first}"), base, at, count);
        first as u8
    }

    /// Reads words of the frame like [`Self::read_sram`], and records that they are there.
    pub fn read_frame(&mut self, frame: Operand, at: Operand, count: u32) -> u8 {
        let transfer = self.read_sram(frame, at, count);
        if let Operand::Number(first) = at {
            self.here = Some(Here { first, count, transfer });
        }
        transfer
    }

    /// Writes a command to a memory and waits for it: `sram[read, ...]`.
    pub fn command(&mut self, what: &str, transfer: &str, a: Operand, b: Operand, count: u32) {
        self.here = None;
        let (a, b) = self.together(a, b);
        let (a, b) = (self.operand(a), self.operand(b));
        self.instruction(&format!("{what}, {transfer}, {a}, {b}, {count}], ctx_swap"));
    }

    /// Writes a command that takes its words from transfer registers, from `first` on.
    pub fn write_command(&mut self, what: &str, first: Target, a: Operand, b: Operand, count: u32) {
        let first = self.target(first);
        self.command(what, &first, a, b, count);
    }

    /// Adds two transfer registers of SRAM to a word of a unit and to the next word. The registers
    /// get the old values (version 2).
    pub fn add(&mut self, unit: &str, [first, second]: [u8; 2], at: Register) {
        self.here = None;
        let at = self.names[at.0].clone();
        self.instruction(&format!("{unit}[test_and_add, ${first}, {at}, 0], sig_done[s8]"));
        self.instruction(&format!("{unit}[test_and_add, ${second}, {at}, 1], ctx_swap[s8]"));
    }

    /// Sets the bits of a word of SRAM that are set in the first transfer register.
    pub fn set_bits(&mut self, a: Operand, b: Operand) {
        self.here = None;
        let (a, b) = self.together(a, b);
        let (a, b) = (self.operand(a), self.operand(b));
        self.instruction(&format!("sram[bit_wr, $0, {a}, {b}, set_bits], ctx_swap"));
    }

    /// Hashes a key of 48 or 64 bits, the low word first, by the hash unit.
    pub fn hash(&mut self, bits: u32, key: &[Operand; 2]) -> [Register; 2] {
        let first = self.write_transfers(2);
        for (index, word) in (first..).zip(key) {
            let word = self.copy(*word);
            self.set(Target::Transfer(index), word.into());
        }
        self.here = None;
        self.instruction(&format!("hash1_{bits}[${first}], ctx_swap"));
        [first, first + 1].map(|index| self.copy(Operand::Transfer(index)))
    }
}
