//! Decodes words of ARMv4 (ARM Architecture Reference Manual, section A3.1 and the page of each
//! instruction).
//!
//! The decoder refuses coprocessors, extensions after ARMv4 (BX, CLZ, LDRD, ...), the condition 15,
//! and forms that the manual calls unpredictable: fields that should be 0 or 1 and are not; the
//! program counter in a multiplication, in an operand that is shifted by a register, as a base that
//! changes, as the offset of a load, as the destination of a byte or half-word load; flags set
//! together with the program counter, and LDM and STM of the user bank, which are for privileged
//! modes; a base that changes and is also offset or loaded; multiplications to their first factor;
//! empty lists.

use super::{AHEAD, Indexing, Instruction, Op, Operand, PC};

pub(super) fn decode(word: u32, address: u32) -> Instruction {
    let undefined = Instruction {
        op: Op::Undefined,
        condition: ALWAYS,
        operand: Operand::Immediate,
        indexing: Indexing::default(),
        rd: register(word, 12),
        rn: register(word, 16),
        rm: register(word, 0),
        rs: register(word, 8),
        immediate: 0,
        word,
    };
    let condition = (word >> 28) as u8;
    if condition == 15 {
        return undefined;
    }
    let plain = Instruction { condition, ..undefined };
    let decoded = match word >> 25 & 7 {
        0 if word & 0x90 == 0x90 => match word >> 5 & 3 {
            0 => multiply_or_swap(plain),
            _ => transfer_of_half(plain),
        },
        0 | 1 if word >> 23 & 3 == 2 && !bit(word, 20) => status(plain),
        0 | 1 => data_processing(plain),
        2 => transfer(plain),
        3 if !bit(word, 4) => transfer(plain),
        4 => transfer_of_several(plain),
        5 => {
            let offset = ((word << 8) as i32 >> 6) as u32;
            let op = if bit(word, 24) { Op::Bl } else { Op::B };
            Some(Instruction {
                op,
                immediate: address.wrapping_add(AHEAD).wrapping_add(offset),
                ..plain
            })
        }
        7 if bit(word, 24) => {
            Some(Instruction { op: Op::Swi, immediate: word & 0xff_ffff, ..plain })
        }
        _ => None,
    };
    decoded.unwrap_or(undefined)
}

/// The condition that always holds.
pub(super) const ALWAYS: u8 = 14;

fn bit(word: u32, number: u32) -> bool {
    word >> number & 1 != 0
}

fn register(word: u32, low: u32) -> u8 {
    (word >> low & 15) as u8
}

/// Sections A3.5 and A3.6, operand 1 of 16.
fn data_processing(plain: Instruction) -> Option<Instruction> {
    let it = shifter_operand(plain)?;
    let sets_flags = bit(it.word, 20);
    let (op, with_flags) = OPERATIONS[(it.word >> 21 & 15) as usize];
    let is_comparison = matches!(with_flags, Op::Tst | Op::Teq | Op::Cmp | Op::Cmn);
    let is_move = matches!(op, Op::Mov | Op::Mvn);
    if (is_comparison && it.rd != 0) || (is_move && it.rn != 0) || (sets_flags && it.rd == PC) {
        return None;
    }
    let has_pc = (it.rd == PC && !is_comparison) || it.rn == PC || it.rm == PC || it.rs == PC;
    if it.operand as u8 >= Operand::LslBy as u8 && has_pc {
        return None;
    }
    Some(Instruction { op: if sets_flags { with_flags } else { op }, ..it })
}

/// Operations by bits 24 to 21. Comparisons without flags are other instructions.
const OPERATIONS: [(Op, Op); 16] = [
    (Op::And, Op::Ands),
    (Op::Eor, Op::Eors),
    (Op::Sub, Op::Subs),
    (Op::Rsb, Op::Rsbs),
    (Op::Add, Op::Adds),
    (Op::Adc, Op::Adcs),
    (Op::Sbc, Op::Sbcs),
    (Op::Rsc, Op::Rscs),
    (Op::Undefined, Op::Tst),
    (Op::Undefined, Op::Teq),
    (Op::Undefined, Op::Cmp),
    (Op::Undefined, Op::Cmn),
    (Op::Orr, Op::Orrs),
    (Op::Mov, Op::Movs),
    (Op::Bic, Op::Bics),
    (Op::Mvn, Op::Mvns),
];

/// Section A5.1.
fn shifter_operand(it: Instruction) -> Option<Instruction> {
    let word = it.word;
    if bit(word, 25) {
        let rotation = word >> 7 & 0x1e;
        return Some(Instruction {
            operand: Operand::Immediate,
            immediate: (word & 0xff).rotate_right(rotation),
            rs: u8::from(rotation != 0),
            ..it
        });
    }
    if bit(word, 4) {
        let by = [Operand::LslBy, Operand::LsrBy, Operand::AsrBy, Operand::RorBy];
        return Some(Instruction { operand: by[(word >> 5 & 3) as usize], ..it });
    }
    Some(shifted_register(it))
}

/// Decodes a register shifted by a distance: the distance 0 means 32 to the right, or rotation
/// through the carry.
fn shifted_register(it: Instruction) -> Instruction {
    let distance = (it.word >> 7 & 31) as u8;
    let (operand, rs) = match (it.word >> 5 & 3, distance) {
        (0, 0) => (Operand::Register, 0),
        (0, _) => (Operand::Lsl, distance),
        (1, 0) => (Operand::Lsr, 32),
        (1, _) => (Operand::Lsr, distance),
        (2, 0) => (Operand::Asr, 32),
        (2, _) => (Operand::Asr, distance),
        (_, 0) => (Operand::Rrx, 1),
        (_, _) => (Operand::Ror, distance),
    };
    Instruction { operand, rs, ..it }
}

/// MUL to SMLAL (section A3.6), SWP and SWPB (section A3.13).
fn multiply_or_swap(plain: Instruction) -> Option<Instruction> {
    let word = plain.word;
    let [high, low, rs, rm] = [16, 12, 8, 0].map(|at| register(word, at));
    let has_pc = [high, low, rs, rm].contains(&PC);
    match word >> 23 & 31 {
        0 if !bit(word, 22) => {
            let accumulates = bit(word, 21);
            if has_pc || high == rm || (!accumulates && low != 0) {
                return None;
            }
            let op = match (accumulates, bit(word, 20)) {
                (false, false) => Op::Mul,
                (false, true) => Op::Muls,
                (true, false) => Op::Mla,
                (true, true) => Op::Mlas,
            };
            Some(Instruction { op, rd: high, rn: low, ..plain })
        }
        1 => {
            if has_pc || high == low || high == rm || low == rm {
                return None;
            }
            let ops = [
                [Op::Umull, Op::Umulls],
                [Op::Umlal, Op::Umlals],
                [Op::Smull, Op::Smulls],
                [Op::Smlal, Op::Smlals],
            ];
            let op = ops[(word >> 21 & 3) as usize][usize::from(bit(word, 20))];
            Some(Instruction { op, ..plain })
        }
        2 if word >> 20 & 3 == 0 && rs == 0 => {
            let (base, rd) = (high, low);
            if [base, rd, rm].contains(&PC) || base == rm || base == rd {
                return None;
            }
            Some(Instruction { op: if bit(word, 22) { Op::Swpb } else { Op::Swp }, ..plain })
        }
        _ => None,
    }
}

/// MRS and MSR of the current status (section A3.9).
fn status(plain: Instruction) -> Option<Instruction> {
    let word = plain.word;
    if bit(word, 22) {
        return None; // the saved status, which user mode does not have
    }
    if !bit(word, 21) {
        return (word & 0x0fff_0fff == 0x010f_0000 && plain.rd != PC)
            .then_some(Instruction { op: Op::Mrs, ..plain });
    }
    // Only the flags field and the control field can be selected; the status and extension fields
    // are reserved.
    if plain.rd != 15 || plain.rn & 0b0110 != 0 {
        return None;
    }
    if bit(word, 25) {
        return Some(Instruction { op: Op::Msr, ..shifter_operand(plain)? });
    }
    (word & 0xff0 == 0 && plain.rm != PC).then_some(Instruction {
        op: Op::Msr,
        operand: Operand::Register,
        ..plain
    })
}

/// LDR, STR, LDRB, STRB, and their forms for the user's view of memory, which behave the same in
/// user mode (section A5.2).
fn transfer(plain: Instruction) -> Option<Instruction> {
    let word = plain.word;
    let is_byte = bit(word, 22);
    let op = match (bit(word, 20), is_byte) {
        (true, false) => Op::Ldr,
        (true, true) => Op::Ldrb,
        (false, false) => Op::Str,
        (false, true) => Op::Strb,
    };
    let is_users = !bit(word, 24) && bit(word, 21);
    if plain.rd == PC && (is_byte || is_users) {
        return None;
    }
    let offset = match bit(word, 25) {
        true => shifted_register(plain),
        false => with_offset(plain, word & 0xfff),
    };
    indexed(Instruction { op, ..offset })
}

/// LDRH, STRH, LDRSB, LDRSH (section A5.3).
fn transfer_of_half(plain: Instruction) -> Option<Instruction> {
    let word = plain.word;
    let op = match (bit(word, 20), word >> 5 & 3) {
        (true, 1) => Op::Ldrh,
        (true, 2) => Op::Ldrsb,
        (true, 3) => Op::Ldrsh,
        (false, 1) => Op::Strh,
        _ => return None,
    };
    let is_users = !bit(word, 24) && bit(word, 21);
    if plain.rd == PC || is_users {
        return None;
    }
    let offset = match bit(word, 22) {
        true => with_offset(plain, word >> 4 & 0xf0 | word & 0xf),
        false if word & 0xf00 == 0 => Instruction { operand: Operand::Register, ..plain },
        false => return None,
    };
    indexed(Instruction { op, ..offset })
}

/// Decodes an immediate offset with its sign.
fn with_offset(it: Instruction, offset: u32) -> Instruction {
    let immediate = if bit(it.word, 23) { offset } else { offset.wrapping_neg() };
    Instruction { operand: Operand::Immediate, immediate, ..it }
}

/// Returns the instruction with its update of the base; a post-indexed access always changes the
/// base.
fn indexed(it: Instruction) -> Option<Instruction> {
    let is_pre = bit(it.word, 24);
    let writes_back = !is_pre || bit(it.word, 21);
    let by_register = it.operand != Operand::Immediate;
    if writes_back && (it.rn == PC || it.rn == it.rd) {
        return None;
    }
    if by_register && (it.rm == PC || (writes_back && it.rm == it.rn)) {
        return None;
    }
    let mut indexing = 0;
    for (holds, bit) in [
        (is_pre, Indexing::PRE),
        (writes_back, Indexing::WRITE_BACK),
        (by_register && !bit(it.word, 23), Indexing::DOWN),
    ] {
        indexing |= if holds { bit } else { 0 };
    }
    Some(Instruction { indexing: Indexing(indexing), ..it })
}

/// LDM and STM (section A5.4). The first address is the base plus `rm`, the changed base is the
/// base plus `rs`. Both are signed.
fn transfer_of_several(plain: Instruction) -> Option<Instruction> {
    let word = plain.word;
    let list = word & 0xffff;
    let (is_load, writes_back) = (bit(word, 20), bit(word, 21));
    let in_list = list >> plain.rn & 1 != 0;
    let is_lowest = list & ((1 << plain.rn) - 1) == 0;
    if list == 0 || bit(word, 22) || plain.rn == PC {
        return None;
    }
    if writes_back && in_list && (is_load || !is_lowest) {
        return None;
    }
    let bytes = 4 * list.count_ones() as i8;
    let (first, change) = match (bit(word, 23), bit(word, 24)) {
        (true, false) => (0, bytes),
        (true, true) => (4, bytes),
        (false, false) => (4 - bytes, -bytes),
        (false, true) => (-bytes, -bytes),
    };
    Some(Instruction {
        op: if is_load { Op::Ldm } else { Op::Stm },
        rm: first as u8,
        rs: if writes_back { change as u8 } else { 0 },
        immediate: list,
        ..plain
    })
}
