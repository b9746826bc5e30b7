//! RV32IM: the unprivileged base of 32 bits with multiplication and division (RISC-V Unprivileged
//! ISA, version 20191213, chapters 2 and 7).

mod decode;
mod disassemble;
mod execute;
mod uses;

use crate::program::Architecture;
use crate::{Bus, Class, Compiled, InstructionSet, Meaning, Uses};

/// The instruction set RV32IM.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Riscv;

/// A hardware thread: the integer registers and the program counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// The integer registers. The first is always 0.
    registers: [u32; 32],
    pc: u32,
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instruction {
    op: Op,
    rd: u8,
    rs1: u8,
    rs2: u8,
    /// The immediate, sign-extended. For branches, JAL and AUIPC it includes the instruction's
    /// address.
    immediate: u32,
    word: u32,
}

macro_rules! operations {
    ($($name:ident,)*) => {
        /// The operation of an instruction. Each mnemonic has a value, except for AUIPC, which is a
        /// LUI once its address is known.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        enum Op {
            $($name,)*
        }

        impl Op {
            /// All operations, by their numbers.
            const ALL: &'static [Op] = &[$(Op::$name),*];
        }
    };
}

operations! {
    Undefined,
    Lui,
    Jal,
    Jalr,
    Beq,
    Bne,
    Blt,
    Bge,
    Bltu,
    Bgeu,
    Lb,
    Lh,
    Lw,
    Lbu,
    Lhu,
    Sb,
    Sh,
    Sw,
    Addi,
    Slti,
    Sltiu,
    Xori,
    Ori,
    Andi,
    Slli,
    Srli,
    Srai,
    Add,
    Sub,
    Sll,
    Slt,
    Sltu,
    Xor,
    Srl,
    Sra,
    Or,
    And,
    Mul,
    Mulh,
    Mulhsu,
    Mulhu,
    Div,
    Divu,
    Rem,
    Remu,
    Fence,
    Ecall,
    Ebreak,
}

impl Compiled for Riscv {
    const MACHINE: Architecture = Architecture::Riscv;
    const STACK_POINTER: usize = 2;
    const RETURN_ADDRESS: usize = 1;
    const ARGUMENTS: [usize; 4] = [10, 11, 12, 13];

    fn uses(instruction: &Instruction) -> Uses {
        uses::uses(instruction)
    }
}

impl InstructionSet for Riscv {
    type Thread = Thread;
    type Instruction = Instruction;

    const NAME: &'static str = "RV32IM";

    fn decode(word: u32, address: u32) -> Instruction {
        decode::decode(word, address)
    }

    fn meaning<B: Bus>(instruction: &Instruction) -> Meaning<Self, B> {
        execute::meaning(instruction)
    }

    fn service(thread: &Thread, _: &Instruction) -> u32 {
        thread.registers[SERVICE]
    }

    #[inline]
    fn class(instruction: &Instruction) -> Class {
        match instruction.op {
            Op::Undefined => Class::Undefined,
            Op::Jal | Op::Jalr if instruction.rd != 0 => Class::Call,
            Op::Jal | Op::Jalr | Op::Beq | Op::Bne | Op::Blt | Op::Bge | Op::Bltu | Op::Bgeu => {
                Class::Branch
            }
            Op::Lb | Op::Lh | Op::Lw | Op::Lbu | Op::Lhu => Class::Load,
            Op::Sb | Op::Sh | Op::Sw => Class::Store,
            Op::Mul => Class::Multiply,
            Op::Mulh | Op::Mulhsu | Op::Mulhu => Class::MultiplyLong,
            Op::Div | Op::Divu | Op::Rem | Op::Remu => Class::Divide,
            Op::Fence => Class::System,
            Op::Ecall | Op::Ebreak => Class::Service,
            _ => Class::Alu,
        }
    }

    fn may_change(instruction: &Instruction, register: usize) -> bool {
        match Self::class(instruction) {
            Class::Store | Class::Undefined => false,
            Class::Service => true,
            _ => usize::from(instruction.rd) == register,
        }
    }

    fn word(instruction: &Instruction) -> u32 {
        instruction.word
    }

    fn disassemble(word: u32, address: u32) -> String {
        disassemble::disassemble(&decode::decode(word, address))
    }
}

/// Register `a7`, in which calling conventions pass the number of a service.
const SERVICE: usize = 17;

impl crate::Thread for Thread {
    fn new(pc: u32) -> Self {
        Self { registers: [0; 32], pc }
    }

    #[inline(always)]
    fn pc(&self) -> u32 {
        self.pc
    }

    fn set_pc(&mut self, pc: u32) {
        self.pc = pc;
    }

    fn register(&self, number: usize) -> u32 {
        self.registers[number]
    }

    fn set_register(&mut self, number: usize, value: u32) {
        self.registers[number] = value;
        self.registers[0] = 0;
    }
}

#[cfg(test)]
mod tests;
