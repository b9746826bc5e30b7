//! The results of instructions, as pure functions.

use super::table::Op;

/// Returns the result of an instruction on registers: `a` is `rs`, `b` is `rt`. The machine
/// executes instructions that use memory, HI, LO or special registers. For these, and for
/// instructions without a result, this returns 0.
#[inline]
pub fn compute(op: Op, a: u32, b: u32, immediate: u32) -> u32 {
    let signed = |value: u32| value as i32;
    match op {
        Op::Sll => b << (immediate & 31),
        Op::Srl => b >> (immediate & 31),
        Op::Sra => (signed(b) >> (immediate & 31)) as u32,
        Op::Sllv => b << (a & 31),
        Op::Srlv => b >> (a & 31),
        Op::Srav => (signed(b) >> (a & 31)) as u32,
        Op::Movz | Op::Movn => a,
        Op::Addu => a.wrapping_add(b),
        Op::Subu => a.wrapping_sub(b),
        Op::And => a & b,
        Op::Or => a | b,
        Op::Xor => a ^ b,
        Op::Nor => !(a | b),
        Op::Slt => u32::from(signed(a) < signed(b)),
        Op::Sltu => u32::from(a < b),
        Op::Addiu => a.wrapping_add(immediate),
        Op::Slti => u32::from(signed(a) < signed(immediate)),
        Op::Sltiu => u32::from(a < immediate),
        Op::Andi => a & immediate,
        Op::Ori => a | immediate,
        Op::Xori => a ^ immediate,
        Op::Lui => immediate << 16,
        Op::Mul => a.wrapping_mul(b),
        Op::Clz => a.leading_zeros(),
        _ => 0,
    }
}

/// Whether a branch on `a` (`rs`) and `b` (`rt`) is taken; `None` for other instructions.
#[inline]
pub fn branches(op: Op, a: u32, b: u32) -> Option<bool> {
    let signed = a as i32;
    Some(match op {
        Op::Beq => a == b,
        Op::Bne => a != b,
        Op::Bltz => signed < 0,
        Op::Bgez => signed >= 0,
        Op::Blez => signed <= 0,
        Op::Bgtz => signed > 0,
        _ => return None,
    })
}

/// Returns HI and LO after a multiplication or division, or `None` for other instructions. A
/// division by 0 leaves the dividend in HI and all ones in LO (signed: 1 for a negative dividend).
/// MIPS leaves this undefined.
pub fn hi_lo(op: Op, a: u32, b: u32) -> Option<(u32, u32)> {
    let halves = |product: u64| ((product >> 32) as u32, product as u32);
    Some(match op {
        Op::Mult => halves((i64::from(a as i32) * i64::from(b as i32)) as u64),
        Op::Multu => halves(u64::from(a) * u64::from(b)),
        Op::Div if b == 0 => (a, if (a as i32) < 0 { 1 } else { u32::MAX }),
        Op::Div => {
            let (a, b) = (a as i32, b as i32);
            (a.wrapping_rem(b) as u32, a.wrapping_div(b) as u32)
        }
        Op::Divu => match a.checked_div(b) {
            Some(quotient) => (a % b, quotient),
            None => (a, u32::MAX),
        },
        _ => return None,
    })
}

/// Returns the result of a load from `address`, whose aligned word is `word` (big-endian).
#[inline]
pub fn loaded(op: Op, word: u32, address: u32) -> u32 {
    let byte = word.to_be_bytes()[(address & 3) as usize];
    let half = (word >> (16 - 8 * (address & 2))) as u16;
    match op {
        Op::Lb => byte as i8 as u32,
        Op::Lbu => u32::from(byte),
        Op::Lh => half as i16 as u32,
        Op::Lhu => u32::from(half),
        _ => word,
    }
}

/// Returns the aligned word after a store of `value` to `address` (big-endian).
#[inline]
pub fn stored(op: Op, word: u32, address: u32, value: u32) -> u32 {
    match op {
        Op::Sb => {
            let shift = 24 - 8 * (address & 3);
            word & !(0xff << shift) | (value & 0xff) << shift
        }
        Op::Sh => {
            let shift = 16 - 8 * (address & 2);
            word & !(0xffff << shift) | (value & 0xffff) << shift
        }
        _ => value,
    }
}
