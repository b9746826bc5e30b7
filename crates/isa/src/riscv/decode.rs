//! Decodes words of RV32IM (Unprivileged ISA, chapter 24, "RV32/64G Instruction Set Listings").

use super::{Instruction, Op};

pub(super) fn decode(word: u32, address: u32) -> Instruction {
    let field = |low: u32, bits: u32| word >> low & ((1 << bits) - 1);
    let (funct3, funct7) = (field(12, 3) as usize, field(25, 7));
    let signed = word as i32;
    // The immediates of the formats I, S, B, U and J (section 2.3).
    let i = (signed >> 20) as u32;
    let s = (signed >> 25 << 5) as u32 | field(7, 5);
    let b = (signed >> 31 << 12) as u32 | field(7, 1) << 11 | field(25, 6) << 5 | field(8, 4) << 1;
    let u = word & 0xffff_f000;
    let j =
        (signed >> 31 << 20) as u32 | field(12, 8) << 12 | field(20, 1) << 11 | field(21, 10) << 1;

    let (op, immediate) = match word & 0x7f {
        0x37 => (Op::Lui, u),
        0x17 => (Op::Lui, address.wrapping_add(u)),
        0x6f => (Op::Jal, address.wrapping_add(j)),
        0x67 if funct3 == 0 => (Op::Jalr, i),
        0x63 => (BRANCHES[funct3], address.wrapping_add(b)),
        0x03 => (LOADS[funct3], i),
        0x23 => (STORES[funct3], s),
        0x13 => match (funct3, funct7) {
            (1, 0) => (Op::Slli, field(20, 5)),
            (5, 0) => (Op::Srli, field(20, 5)),
            (5, 0x20) => (Op::Srai, field(20, 5)),
            (1 | 5, _) => (Op::Undefined, 0),
            _ => (IMMEDIATES[funct3], i),
        },
        0x33 => match (funct7, funct3) {
            (0, _) => (REGISTERS[funct3], 0),
            (1, _) => (PRODUCTS[funct3], 0),
            (0x20, 0) => (Op::Sub, 0),
            (0x20, 5) => (Op::Sra, 0),
            _ => (Op::Undefined, 0),
        },
        // FENCE has no effect here: accesses of a thread happen in order. Its other fields are
        // ignored (section 2.7).
        0x0f if funct3 == 0 => (Op::Fence, 0),
        _ => match word {
            0x0000_0073 => (Op::Ecall, 0),
            0x0010_0073 => (Op::Ebreak, 0),
            _ => (Op::Undefined, 0),
        },
    };
    Instruction {
        op,
        rd: field(7, 5) as u8,
        rs1: field(15, 5) as u8,
        rs2: field(20, 5) as u8,
        immediate,
        word,
    }
}

/// Branches by the field funct3, which indexes all tables here.
const BRANCHES: [Op; 8] =
    [Op::Beq, Op::Bne, Op::Undefined, Op::Undefined, Op::Blt, Op::Bge, Op::Bltu, Op::Bgeu];

const LOADS: [Op; 8] =
    [Op::Lb, Op::Lh, Op::Lw, Op::Undefined, Op::Lbu, Op::Lhu, Op::Undefined, Op::Undefined];

const STORES: [Op; 8] = [
    Op::Sb,
    Op::Sh,
    Op::Sw,
    Op::Undefined,
    Op::Undefined,
    Op::Undefined,
    Op::Undefined,
    Op::Undefined,
];

/// Operations with an immediate, by funct3. Shifts have an additional field and are decoded
/// separately.
const IMMEDIATES: [Op; 8] =
    [Op::Addi, Op::Undefined, Op::Slti, Op::Sltiu, Op::Xori, Op::Undefined, Op::Ori, Op::Andi];

const REGISTERS: [Op; 8] = [Op::Add, Op::Sll, Op::Slt, Op::Sltu, Op::Xor, Op::Srl, Op::Or, Op::And];

const PRODUCTS: [Op; 8] =
    [Op::Mul, Op::Mulh, Op::Mulhsu, Op::Mulhu, Op::Div, Op::Divu, Op::Rem, Op::Remu];
