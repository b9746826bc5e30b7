//! Arrays of the context, which are in the frame, and constant arrays, which are in SRAM or SDRAM.

use std::ops::Range;

use wireloom_bits::Bits;
use wireloom_codegen::refused::Refused;
use wireloom_ir::{ArrayId, Op, Value};

use super::code::Label;
use super::lower::Lower;
use super::memory;
use super::operand::{Operand, Register};
use super::words::{self, Words, is_wide};

/// The most words that one command writes.
const COMMAND: usize = 8;

impl Lower<'_> {
    /// Clears these arrays of the context.
    pub(super) fn clear_arrays(&mut self, arrays: Range<usize>) {
        for range in self.homes.ranges(self.engine, arrays) {
            self.clear_words(range);
        }
    }

    fn clear_words(&mut self, Range { start: first, end }: Range<u32>) {
        let zeros = [Operand::Number(0); COMMAND];
        if end - first <= 2 * COMMAND as u32 {
            for at in (first..end).step_by(COMMAND) {
                let count = COMMAND.min((end - at) as usize);
                self.state.store(self.code, Operand::Number(at), &zeros[..count]);
            }
            return;
        }
        // Whole commands are written in a loop, then the rest.
        let whole = (end - first) / COMMAND as u32;
        let rest = (end - first) as usize % COMMAND;
        let at = self.code.copy(Operand::Number(first));
        let left = self.code.copy(Operand::Number(whole));
        let next = self.code.label();
        self.code.place(next);
        self.state.store(self.code, at.into(), &zeros);
        self.code.alu(at, at.into(), "+", Operand::Number(COMMAND as u32));
        self.code.alu(left, left.into(), "-", Operand::Number(1));
        self.code.branch("br!=0", next);
        if rest > 0 {
            self.state.store(self.code, at.into(), &zeros[..rest]);
        }
    }

    /// Computes the word of the frame of an element. Branches if there is no element at this index.
    fn element(&mut self, array: ArrayId, index: &Words, outside: Label) -> Register {
        let (first, shift) = self.homes.arrays[array.index()];
        let count = self.engine.arrays[array.index()].count;
        let at = memory::offset(self.code, index, count, shift, outside);
        self.code.alu(at, at.into(), "+", Operand::Number(first));
        at
    }

    /// Reads an element of an array of the context; 0 if there is no such element.
    pub(super) fn read_element(
        &mut self,
        op: &Op,
        array: ArrayId,
        index: &Words,
    ) -> Result<(), Refused> {
        let outside = self.code.label();
        let at = self.element(array, index, outside);
        let count = words::count(self.engine.arrays[array.index()].width);
        self.elements(op, count, outside, |lower, first, part| {
            if first > 0 {
                lower.code.alu(at, at.into(), "+", Operand::Number(COMMAND as u32));
            }
            lower.state.load(lower.code, at.into(), part)
        });
        Ok(())
    }

    /// Sets an element of an array of the context, if there is such an element.
    pub(super) fn write_element(&mut self, array: ArrayId, index: &Words, value: Value) {
        let outside = self.code.label();
        let at = self.element(array, index, outside);
        let count = words::count(self.width(value));
        for first in (0..count).step_by(4) {
            if first > 0 {
                self.code.alu(at, at.into(), "+", Operand::Number(4));
            }
            let part = self.part(value, first, 4.min(count - first));
            self.state.store(self.code, at.into(), &part);
        }
        self.code.place(outside);
    }

    /// Reads an element of a constant array; 0 if there is no such element.
    pub(super) fn table(
        &mut self,
        op: &Op,
        elements: &[Bits],
        index: &Words,
    ) -> Result<(), Refused> {
        let Some(table) = self.layout.table(elements) else {
            return Err(self.refuse(None, "a constant array does not fit: SRAM is full".into()));
        };
        let outside = self.code.label();
        let offset = table.offset(self.code, index, outside);
        let count = words::count(elements.first().map_or(0, Bits::width));
        self.elements(op, count, outside, |lower, first, part| {
            if first > 0 {
                lower.code.alu(offset, offset.into(), "+", Operand::Number(COMMAND as u32));
            }
            table.read(lower.code, offset, part)
        });
        Ok(())
    }

    /// Defines a result that is read in parts of at most 8 words. It is 0 at the label `outside`.
    fn elements(
        &mut self,
        op: &Op,
        count: usize,
        outside: Label,
        mut read: impl FnMut(&mut Self, usize, usize) -> Vec<Register>,
    ) {
        let Some(result) = op.results.first().copied() else {
            self.code.place(outside);
            return;
        };
        let width = self.width(result);
        let zero = Operand::Number(0);
        let done = self.code.label();
        let parts = (0..count).step_by(COMMAND).map(|first| (first, COMMAND.min(count - first)));
        if is_wide(width) {
            let Some(slot) = self.slot(op) else { return };
            for (first, part) in parts.clone() {
                let words = read(self, first, part);
                self.store(slot + first as u32, &words::of(&words));
            }
            self.code.branch("br", done);
            self.code.place(outside);
            for (first, part) in parts {
                self.store(slot + first as u32, &vec![zero; part]);
            }
        } else {
            let registers = words::registers(self.code, width);
            let words = read(self, 0, count);
            for (register, word) in registers.iter().zip(words) {
                self.code.set(*register, word.into());
            }
            self.code.branch("br", done);
            self.code.place(outside);
            registers.iter().for_each(|word| self.code.set(*word, zero));
            self.define(op, words::of(&registers));
        }
        self.code.place(done);
    }
}
