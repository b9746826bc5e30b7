//! The barrel shifter: second operands and their carry (ARM Architecture Reference Manual, section
//! A5.1).

use super::{Instruction, Operand, Thread};

/// A kind of second operand.
pub(super) trait SecondOperand {
    /// Returns the operand, and the carry out of the shifter.
    fn with_carry(thread: &Thread, it: &Instruction) -> (u32, bool);

    /// Returns the operand without the carry.
    #[inline(always)]
    fn value(thread: &Thread, it: &Instruction) -> u32 {
        Self::with_carry(thread, it).0
    }
}

/// The second operand [`Operand::Immediate`].
pub(super) struct Immediate;

/// The second operand [`Operand::Register`].
pub(super) struct Register;

/// All other second operands.
pub(super) struct Shifted;

impl SecondOperand for Immediate {
    /// An immediate without rotation leaves the carry unchanged.
    #[inline(always)]
    fn with_carry(thread: &Thread, it: &Instruction) -> (u32, bool) {
        (it.immediate, if it.rs == 0 { thread.carry() } else { top(it.immediate) })
    }
}

impl SecondOperand for Register {
    #[inline(always)]
    fn with_carry(thread: &Thread, it: &Instruction) -> (u32, bool) {
        (thread.registers[usize::from(it.rm & 15)], thread.carry())
    }
}

impl SecondOperand for Shifted {
    #[inline(always)]
    fn with_carry(thread: &Thread, it: &Instruction) -> (u32, bool) {
        shifted(thread, it, thread.registers[usize::from(it.rm & 15)])
    }
}

#[inline(always)]
fn shifted(thread: &Thread, it: &Instruction, rm: u32) -> (u32, bool) {
    let distance = u32::from(it.rs);
    match it.operand {
        Operand::Immediate | Operand::Register => unreachable!("they are kinds of their own"),
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

// Distances are 1 to 255. The carry is the last bit that was shifted out.

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
