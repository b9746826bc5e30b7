//! ARMv4, the instructions of 32 bits in user mode (ARM Architecture Reference Manual, DDI 0100,
//! chapters A3 to A5).
//!
//! Forms that the manual calls unpredictable are refused as undefined; `decode` lists them.

mod decode;
mod disassemble;
mod execute;
mod operand;
mod uses;

use crate::program::Architecture;
use crate::{Bus, Class, Compiled, InstructionSet, Meaning, Uses};

/// The instruction set ARMv4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arm;

/// A hardware thread: `r0` to `r15`, and the flags.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// `r15` reads as the instruction's address plus 8 (section A2.4.3), and is stored in this
    /// form.
    registers: [u32; 16],
    /// N, Z, C and V, from bit 3 to bit 0.
    flags: u8,
}

/// The distance of `r15` ahead of the instruction that reads it, in bytes.
const AHEAD: u32 = 8;

/// The number of the program counter.
const PC: u8 = 15;

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    op: Op,
    /// Bits 31 to 28 of the word; always true for an undefined instruction.
    condition: u8,
    operand: Operand,
    /// The indexing of loads and stores.
    indexing: Indexing,
    rd: u8,
    rn: u8,
    rm: u8,
    /// The register with the shift distance, or the distance itself. For an immediate operand, 1 if
    /// it was rotated. For transfers of several words, the change of the base.
    rs: u8,
    /// An operand, an offset with its sign, a branch target, a register list, or a service number;
    /// 0 with [`Operand::Register`].
    immediate: u32,
    word: u32,
}

macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// The operation of an instruction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        enum Op {
            $($(#[$doc])* $name,)*
        }

        impl Op {
            /// All operations, by their numbers.
            const ALL: &'static [Op] = &[$(Op::$name),*];
        }
    };
}

operations! {
    And,
    Eor,
    Sub,
    Rsb,
    Add,
    Adc,
    Sbc,
    Rsc,
    Orr,
    Mov,
    Bic,
    Mvn,
    // The operations that set flags, and the comparisons.
    Ands,
    Eors,
    Subs,
    Rsbs,
    Adds,
    Adcs,
    Sbcs,
    Rscs,
    Orrs,
    Movs,
    Bics,
    Mvns,
    Tst,
    Teq,
    Cmp,
    Cmn,
    Mul,
    Mla,
    Umull,
    Umlal,
    Smull,
    Smlal,
    Muls,
    Mlas,
    Umulls,
    Umlals,
    Smulls,
    Smlals,
    Ldr,
    Ldrb,
    Ldrh,
    Ldrsb,
    Ldrsh,
    Str,
    Strb,
    Strh,
    Ldm,
    Stm,
    Swp,
    Swpb,
    B,
    Bl,
    Mrs,
    Msr,
    Swi,
    Undefined,
}

/// The form of the second operand, or of an offset (section A5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
enum Operand {
    Immediate,
    Register,
    // Shifts by a distance of 1 to 32.
    Lsl,
    Lsr,
    Asr,
    Ror,
    Rrx,
    // Shifts by the low byte of a register.
    LslBy,
    LsrBy,
    AsrBy,
    RorBy,
}

/// The use of base and register offset in a load or store (section A5.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Indexing(u8);

impl Indexing {
    /// The offset is added before the access.
    const PRE: u8 = 1;
    /// The base becomes the sum.
    const WRITE_BACK: u8 = 2;
    /// A register offset is subtracted.
    const DOWN: u8 = 4;

    fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }
}

impl Compiled for Arm {
    const MACHINE: Architecture = Architecture::Arm;
    const STACK_POINTER: usize = 13;
    const RETURN_ADDRESS: usize = 14;
    const ARGUMENTS: [usize; 4] = [0, 1, 2, 3];

    fn uses(instruction: &Instruction) -> Uses {
        uses::uses(instruction)
    }
}

impl InstructionSet for Arm {
    type Thread = Thread;
    type Instruction = Instruction;

    const NAME: &'static str = "ARMv4";

    fn decode(word: u32, address: u32) -> Instruction {
        decode::decode(word, address)
    }

    fn meaning<B: Bus>(instruction: &Instruction) -> Meaning<Self, B> {
        execute::meaning(instruction)
    }

    fn service(_: &Thread, instruction: &Instruction) -> u32 {
        instruction.immediate
    }

    #[inline]
    fn class(instruction: &Instruction) -> Class {
        let words = instruction.immediate.count_ones() as u8;
        match instruction.op {
            Op::Undefined => Class::Undefined,
            Op::Mul | Op::Mla | Op::Muls | Op::Mlas => Class::Multiply,
            Op::Umull | Op::Umlal | Op::Smull | Op::Smlal => Class::MultiplyLong,
            Op::Umulls | Op::Umlals | Op::Smulls | Op::Smlals => Class::MultiplyLong,
            Op::Ldr | Op::Ldrb | Op::Ldrh | Op::Ldrsb | Op::Ldrsh => Class::Load,
            Op::Str | Op::Strb | Op::Strh => Class::Store,
            Op::Ldm => Class::LoadMultiple(words),
            Op::Stm => Class::StoreMultiple(words),
            Op::Swp | Op::Swpb => Class::Swap,
            Op::B => Class::Branch,
            Op::Bl => Class::Call,
            Op::Mrs | Op::Msr => Class::System,
            Op::Swi => Class::Service,
            _ if instruction.operand as u8 >= Operand::LslBy as u8 => Class::AluShiftedByRegister,
            _ => Class::Alu,
        }
    }

    fn may_change(instruction: &Instruction, register: usize) -> bool {
        let Instruction { rd, rn, indexing, immediate, .. } = *instruction;
        let is = |number: u8| usize::from(number) == register;
        let is_base = indexing.has(Indexing::WRITE_BACK) && is(rn);
        match Self::class(instruction) {
            Class::Branch | Class::Undefined => false,
            Class::Call => register == Self::RETURN_ADDRESS,
            Class::Store => is_base,
            Class::Load => is(rd) || is_base,
            Class::StoreMultiple(_) => is(rn),
            Class::LoadMultiple(_) => is(rn) || immediate >> register & 1 != 0,
            Class::MultiplyLong => is(rd) || is(rn),
            Class::Service => true,
            _ => is(rd),
        }
    }

    fn word(instruction: &Instruction) -> u32 {
        instruction.word
    }

    fn disassemble(word: u32, address: u32) -> String {
        disassemble::disassemble(&decode::decode(word, address))
    }
}

impl crate::Thread for Thread {
    fn new(pc: u32) -> Self {
        let mut thread = Self { registers: [0; 16], flags: 0 };
        thread.set_pc(pc);
        thread
    }

    #[inline(always)]
    fn pc(&self) -> u32 {
        self.registers[15].wrapping_sub(AHEAD)
    }

    #[inline(always)]
    fn set_pc(&mut self, pc: u32) {
        self.registers[15] = pc.wrapping_add(AHEAD);
    }

    fn register(&self, number: usize) -> u32 {
        self.registers[..15][number]
    }

    fn set_register(&mut self, number: usize, value: u32) {
        self.registers[..15][number] = value;
    }
}

impl Thread {
    /// Returns the current program status register: N, Z, C and V in bits 31 to 28, user mode in
    /// bits 4 to 0.
    pub fn status(&self) -> u32 {
        u32::from(self.flags) << 28 | USER_MODE
    }

    /// Sets N, Z, C and V from bits 31 to 28. User mode cannot change the other bits.
    pub fn set_status(&mut self, status: u32) {
        self.flags = (status >> 28) as u8;
    }
}

/// The mode bits of the status register in user mode (section A2.2).
const USER_MODE: u32 = 0x10;

#[cfg(test)]
mod tests;
