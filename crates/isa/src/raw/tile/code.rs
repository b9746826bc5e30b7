//! Encodes and decodes instructions.

use super::table::{Op, SPECIAL, Slot, TABLE};
use crate::raw::Register;

/// A decoded instruction. Unused fields are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    pub op: Op,
    /// The register field `rd`; also the number of a special register.
    pub rd: Register,
    /// The register field `rs`.
    pub rs: Register,
    /// The register field `rt`.
    pub rt: Register,
    /// The constant, sign-extended where it is signed. For a shift it is the distance, for a branch
    /// the distance in instructions from the next one, for a jump the number of an instruction.
    pub immediate: u32,
}

/// The error of a word that is not an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:#010x} is no instruction of the tile processor")]
pub struct Undefined(pub u32);

impl Instruction {
    /// Returns the register that the instruction writes.
    pub fn written(&self) -> Option<Register> {
        match self.op.row().writes {
            Some(Slot::Rd | Slot::Clz) => Some(self.rd),
            Some(_) => Some(self.rt),
            None if self.op == Op::Jal => Some(Register::RETURN_ADDRESS),
            None => None,
        }
    }

    /// Returns the registers that the instruction reads, `rs` and `rt`.
    pub fn read(&self) -> [Option<Register>; 2] {
        let row = self.op.row();
        let has = |slot| row.slots.contains(&slot) && row.writes != Some(slot);
        let rs = has(Slot::Rs) || row.slots.contains(&Slot::Memory);
        [rs.then_some(self.rs), has(Slot::Rt).then_some(self.rt)]
    }
}

/// Decodes a word.
///
/// # Errors
/// If no row of the table matches.
pub fn decode(word: u32) -> Result<Instruction, Undefined> {
    let row = TABLE.iter().find(|row| word & row.mask() == row.code).ok_or(Undefined(word))?;
    let mut instruction =
        Instruction { op: row.op, rd: Register(0), rs: Register(0), rt: Register(0), immediate: 0 };
    let field = |low: u32| Register((word >> low & 31) as u8);
    let signed = word as u16 as i16 as u32;
    for slot in row.slots {
        match slot {
            Slot::Rd => instruction.rd = field(11),
            Slot::Rs => instruction.rs = field(21),
            Slot::Rt => instruction.rt = field(16),
            Slot::Clz => {
                (instruction.rd, instruction.rt) = (field(11), field(16));
                if instruction.rd != instruction.rt {
                    return Err(Undefined(word));
                }
            }
            Slot::Sr => {
                instruction.rd = field(11);
                if usize::from(instruction.rd.0) >= SPECIAL.len() {
                    return Err(Undefined(word));
                }
            }
            Slot::Amount => instruction.immediate = word >> 6 & 31,
            Slot::Signed | Slot::Branch => instruction.immediate = signed,
            Slot::Unsigned => instruction.immediate = word & 0xffff,
            Slot::Memory => (instruction.rs, instruction.immediate) = (field(21), signed),
            Slot::Jump => instruction.immediate = word & 0x03ff_ffff,
        }
    }
    Ok(instruction)
}

/// Encodes an instruction. Values that are wider than their fields are truncated.
pub fn encode(instruction: &Instruction) -> u32 {
    let row = instruction.op.row();
    row.slots.iter().fold(row.code, |word, slot| {
        let (rd, rs, rt) = (instruction.rd.0, instruction.rs.0, instruction.rt.0);
        let low = instruction.immediate & 0xffff;
        let bits = match slot {
            Slot::Rd | Slot::Sr => u32::from(rd) << 11,
            Slot::Rs => u32::from(rs) << 21,
            Slot::Rt => u32::from(rt) << 16,
            Slot::Clz => u32::from(rd) << 11 | u32::from(rd) << 16,
            Slot::Amount => instruction.immediate << 6,
            Slot::Signed | Slot::Unsigned | Slot::Branch => low,
            Slot::Memory => u32::from(rs) << 21 | low,
            Slot::Jump => instruction.immediate,
        };
        word | bits & slot.mask()
    })
}

/// Returns the operands of an instruction as text. `index` is the number of the instruction in its
/// program. A target is `l` with the number of its instruction.
pub fn operand_texts(instruction: &Instruction, index: u32) -> Vec<String> {
    let row = instruction.op.row();
    let name = |register: Register, slot| register.name(row.writes != Some(slot)).to_owned();
    let text = |slot: &Slot| match slot {
        Slot::Rd | Slot::Clz => name(instruction.rd, *slot),
        Slot::Rs => name(instruction.rs, *slot),
        Slot::Rt => name(instruction.rt, *slot),
        Slot::Amount => instruction.immediate.to_string(),
        Slot::Signed => (instruction.immediate as i32).to_string(),
        Slot::Unsigned => format!("{:#x}", instruction.immediate),
        Slot::Memory => {
            format!("{}({})", instruction.immediate as i32, instruction.rs.name(true))
        }
        Slot::Branch => format!("l{}", target(index, instruction.immediate)),
        Slot::Jump => format!("l{}", instruction.immediate),
        Slot::Sr => SPECIAL[usize::from(instruction.rd.0)].1.to_owned(),
    };
    row.slots.iter().map(text).collect()
}

/// Returns the target of a branch at `index`.
pub(super) fn target(index: u32, distance: u32) -> u32 {
    index.wrapping_add(1).wrapping_add(distance)
}

/// Writes an instruction as the assembler reads it.
pub fn disassemble(instruction: &Instruction, index: u32) -> String {
    let operands = operand_texts(instruction, index).join(", ");
    format!("{} {operands}", instruction.op.row().mnemonic).trim_end().to_owned()
}
