//! The barrel shifter: second operands and their carry (ARM Architecture Reference Manual, section A5.1).

use super::{Instruction, Operand, Thread};

/// The operand without the carry.
#[inline(always)]
pub(super) fn value(thread: &Thread, it: &Instruction) -> u32 {
    let rm = thread.registers[usize::from(it.rm & 15)];
    if it.operand as u8 <= Operand::Register as u8 {
        // Nearly all operands are one of these two, in an order that no host foresees: so no branch tells them apart. With a register the immediate
        // is 0.
        return it.immediate | rm & u32::from(it.operand as u8).wrapping_neg();
    }
    shifted(thread, it, rm).0
}

/// The operand, and the carry that the shifter leaves.
#[inline(always)]
pub(super) fn with_carry(thread: &Thread, it: &Instruction) -> (u32, bool) {
    match it.operand {
        // One that was not rotated leaves the carry alone.
        Operand::Immediate if it.rs == 0 => (it.immediate, thread.carry()),
        Operand::Immediate => (it.immediate, top(it.immediate)),
        _ => shifted(thread, it, thread.registers[usize::from(it.rm & 15)]),
    }
}

#[inline(always)]
fn shifted(thread: &Thread, it: &Instruction, rm: u32) -> (u32, bool) {
    let distance = u32::from(it.rs);
    match it.operand {
        Operand::Immediate | Operand::Register => (rm, thread.carry()),
        Operand::Lsl => left(rm, distance),
        Operand::Lsr => right(rm, distance),
        Operand::Asr => arithmetic_right(rm, distance),
        Operand::Ror => rotated(rm, distance),
        Operand::Rrx => (rm >> 1 | u32::from(thread.carry()) << 31, rm & 1 != 0),
        Operand::LslBy | Operand::LsrBy | Operand::AsrBy | Operand::RorBy => {
            match thread.registers[usize::from(it.rs & 15)] & 0xff {
                0 => (rm, thread.carry()),
                distance => match it.operand {
                    Operand::LslBy => left(rm, distance),
                    Operand::LsrBy => right(rm, distance),
                    Operand::AsrBy => arithmetic_right(rm, distance),
                    _ => rotated(rm, distance),
                },
            }
        }
    }
}

// Distances are 1 to 255; the carry is the last bit that was shifted out.

#[inline(always)]
fn left(rm: u32, distance: u32) -> (u32, bool) {
    match distance {
        1..32 => (rm << distance, rm >> (32 - distance) & 1 != 0),
        32 => (0, rm & 1 != 0),
        _ => (0, false),
    }
}

#[inline(always)]
fn right(rm: u32, distance: u32) -> (u32, bool) {
    match distance {
        1..32 => (rm >> distance, rm >> (distance - 1) & 1 != 0),
        32 => (0, top(rm)),
        _ => (0, false),
    }
}

#[inline(always)]
fn arithmetic_right(rm: u32, distance: u32) -> (u32, bool) {
    match distance {
        1..32 => ((rm as i32 >> distance) as u32, rm >> (distance - 1) & 1 != 0),
        _ => ((rm as i32 >> 31) as u32, top(rm)),
    }
}

#[inline(always)]
fn rotated(rm: u32, distance: u32) -> (u32, bool) {
    let value = rm.rotate_right(distance & 31);
    (value, top(value))
}

fn top(value: u32) -> bool {
    value >> 31 != 0
}
