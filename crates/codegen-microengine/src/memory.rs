//! Words of the chip's memories at computed addresses.
//!
//! Commands of SRAM and of the scratchpad count words, commands of SDRAM count quad words. Contents
//! that are read only in sequence are *packed*: two words to a quad word of SDRAM. Contents that
//! routines change word by word are *spaced*: one word to a quad word, whose second half is unused,
//! so that a write need not read the other half first.

use super::code::{Code, Label};
use super::operand::{Operand, Register, Shift, Target};
use super::unit::Unit;
use super::words::{self, Words};

/// Elements in a memory, with a power of two of words each. They are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elements {
    pub unit: Unit,
    /// The word address of the first element.
    pub base: u32,
    /// The logarithm of the words of an element.
    pub shift: u32,
    /// The number of elements.
    pub size: u32,
}

impl Elements {
    /// Computes the offset of an element in words. Branches if there is no element at this index.
    pub fn offset(&self, code: &mut Code, index: &Words, outside: Label) -> Register {
        offset(code, index, self.size, self.shift, outside)
    }

    /// Reads the first `count` words of the element at an offset.
    pub fn read(&self, code: &mut Code, offset: Register, count: usize) -> Vec<Register> {
        read_packed(code, self.unit, self.base, offset, count)
    }

    /// Writes the first words of the element at an offset.
    pub fn write(&self, code: &mut Code, offset: Register, value: &Words) {
        write_packed(code, self.unit, self.base, offset, value);
    }
}

/// Computes the offset in words of one of `size` elements of `1 << shift` words. Branches if there
/// is no element at this index.
pub fn offset(code: &mut Code, index: &Words, size: u32, shift: u32, outside: Label) -> Register {
    let mut limit = vec![Operand::Number(size)];
    limit.resize(index.len(), Operand::Number(0));
    words::compare(code, index, &limit);
    code.branch("br=cout", outside);
    let offset = code.register();
    code.shift(offset, Operand::None, "B", index[0], Shift::Left(shift));
    offset
}

/// Reads `count` packed words, from word `base + offset` on. If they are several, `offset` is even.
pub fn read_packed(
    code: &mut Code,
    unit: Unit,
    base: u32,
    offset: Register,
    count: usize,
) -> Vec<Register> {
    match unit {
        Unit::Sram | Unit::Scratch => {
            let (base, read) = (Operand::Number(base), format!("{}[read", unit.name()));
            code.command(&read, "$0", base, offset.into(), count as u32);
            (0..count).map(|index| code.copy(Operand::Transfer(index as u8))).collect()
        }
        Unit::Sdram => {
            // A single word may be either half of a quad word.
            let quad = code.register();
            code.shift(quad, Operand::None, "B", offset.into(), Shift::Right(1));
            let quads = count.div_ceil(2) as u32;
            let base = Operand::Number(base / 2);
            code.command("sdram[read", "$$0", base, quad.into(), quads);
            if count > 1 {
                return (0..count).map(|index| code.copy(Operand::Wide(index as u8))).collect();
            }
            let word = code.copy(Operand::Wide(0));
            let even = code.label();
            code.branch_clear(offset, 0, even);
            code.set(word, Operand::Wide(1));
            code.place(even);
            vec![word]
        }
    }
}

/// Writes packed words, from word `base + offset` on. If they are several, `offset` is even.
fn write_packed(code: &mut Code, unit: Unit, base: u32, offset: Register, value: &Words) {
    match unit {
        Unit::Sram | Unit::Scratch => {
            for (index, word) in value.iter().enumerate() {
                let word = code.copy(*word);
                code.set(Target::Transfer(index as u8), word.into());
            }
            let base = Operand::Number(base);
            let write = format!("{}[write", unit.name());
            code.command(&write, "$0", base, offset.into(), value.len() as u32);
        }
        Unit::Sdram => {
            let quad = code.register();
            code.shift(quad, Operand::None, "B", offset.into(), Shift::Right(1));
            let base = Operand::Number(base / 2);
            let quads = value.len().div_ceil(2) as u32;
            if let [word] = value[..] {
                // The other half of its quad word keeps its value.
                code.command("sdram[read", "$$0", base, quad.into(), 1);
                let (other, odd, done) = (code.register(), code.label(), code.label());
                let word = code.copy(word);
                code.set(other, Operand::Wide(0));
                code.branch_clear(offset, 0, odd);
                code.set(Target::Wide(0), other.into());
                code.set(Target::Wide(1), word.into());
                code.branch("br", done);
                code.place(odd);
                code.set(other, Operand::Wide(1));
                code.set(Target::Wide(0), word.into());
                code.set(Target::Wide(1), other.into());
                code.place(done);
            } else {
                let mut all = value.clone();
                all.resize(2 * quads as usize, Operand::Number(0));
                for (index, word) in all.into_iter().enumerate() {
                    let word = code.copy(word);
                    code.set(Target::Wide(index as u8), word.into());
                }
            }
            code.command("sdram[write", "$$0", base, quad.into(), quads);
        }
    }
}

/// Reads spaced words at an offset of an address, at most four of SDRAM.
pub fn read_at(
    code: &mut Code,
    unit: Unit,
    base: Register,
    at: Operand,
    count: u32,
) -> Vec<Register> {
    if unit == Unit::Sdram {
        code.command("sdram[read", "$$0", base.into(), at, count);
        return (0..count as u8).map(|index| code.copy(Operand::Wide(2 * index))).collect();
    }
    let first = code.read_sram(base.into(), at, count);
    (first..first + count as u8).map(|word| code.copy(Operand::Transfer(word))).collect()
}

/// Writes spaced words at an offset of an address, at most four of SDRAM.
pub fn write_at(code: &mut Code, unit: Unit, base: Register, at: Operand, all: &[Operand]) {
    let count = all.len() as u32;
    let (command, first) = match unit {
        Unit::Sdram => ("sdram[write", Target::Wide(0)),
        _ => ("sram[write", Target::Transfer(code.write_transfers(count))),
    };
    for (index, word) in (0..).zip(all) {
        let word = code.copy(*word);
        let target = match first {
            Target::Transfer(first) => Target::Transfer(first + index),
            _ => Target::Wide(2 * index),
        };
        code.set(target, word.into());
    }
    code.write_command(command, first, base.into(), at, count);
}

/// Reads spaced words at a constant offset of an address.
pub fn read(code: &mut Code, unit: Unit, base: Register, at: u32, count: u32) -> Vec<Register> {
    read_at(code, unit, base, Operand::Number(at), count)
}

/// Writes spaced words at a constant offset of an address.
pub fn write(code: &mut Code, unit: Unit, base: Register, at: u32, all: &[Operand]) {
    write_at(code, unit, base, Operand::Number(at), all);
}

/// Branches if a register is 0.
pub fn branch_zero(code: &mut Code, register: Register, to: Label) {
    code.alu(Target::None, Operand::None, "B", register.into());
    code.branch("br=0", to);
}
