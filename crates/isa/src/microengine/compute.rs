//! The results of instructions, as pure functions.

use super::operand::{Destination, Shift, Source};
use super::table::Form;
use super::{
    AluOperation, BranchClass, Completion, Condition, Instruction, MultiplyStep, parts::Parts,
};

/// The condition codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags {
    /// Bit 31 of the result.
    pub negative: bool,
    /// The result is 0.
    pub zero: bool,
    /// A sum or difference does not fit into a signed 32-bit number.
    pub overflow: bool,
    /// The carry out. After a difference, 1 means no borrow.
    pub carry: bool,
}

impl Flags {
    /// Returns the flags of a result that is neither sum nor difference: V and C are 0.
    pub fn of(value: u32) -> Self {
        Self { negative: value >> 31 != 0, zero: value == 0, overflow: false, carry: false }
    }

    /// Returns N, Z, C and V in bits 3 to 0.
    pub fn bits(self) -> u32 {
        u32::from(self.negative) << 3
            | u32::from(self.zero) << 2
            | u32::from(self.carry) << 1
            | u32::from(self.overflow)
    }
}

/// Inputs of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// The first operand of [`Instruction::operands`].
    pub a: u32,
    /// The second operand.
    pub b: u32,
    /// The carry of the condition codes.
    pub carry: bool,
    /// Operand A of the previous instruction, for indirect shifts and `byte_align_le`.
    pub previous_a: u32,
    /// Operand B of the previous instruction, for `byte_align_be`.
    pub previous_b: u32,
    /// The CSR `byte_index`.
    pub byte_index: u32,
}

/// Results of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The value for the destination.
    pub value: u32,
    /// The new condition codes, if it sets them.
    pub flags: Option<Flags>,
}

/// Returns the result and flags of the ALU.
#[inline]
pub fn alu(operation: AluOperation, a: u32, b: u32, carry: bool) -> (u32, Flags) {
    match operation {
        AluOperation::B => logic(b),
        AluOperation::NotB => logic(!b),
        AluOperation::Add => add(a, b, false),
        AluOperation::Add16 => add(a, b & 0xffff, false),
        AluOperation::Add8 => add(a, b & 0xff, false),
        AluOperation::AddCarry => add(a, b, carry),
        AluOperation::Subtract => add(a, !b, true),
        AluOperation::SubtractCarry => add(a, !b, carry),
        AluOperation::ReverseSubtract => add(b, !a, true),
        AluOperation::And => logic(a & b),
        AluOperation::NotAnd => logic(!a & b),
        AluOperation::AndNot => logic(a & !b),
        AluOperation::Or => logic(a | b),
        AluOperation::Xor => logic(a ^ b),
    }
}

fn logic(value: u32) -> (u32, Flags) {
    (value, Flags::of(value))
}

fn add(a: u32, b: u32, carry: bool) -> (u32, Flags) {
    let (sum, over) = a.overflowing_add(b);
    let (sum, over_carry) = sum.overflowing_add(carry.into());
    let overflow = (!(a ^ b) & (a ^ sum)) >> 31 != 0;
    (sum, Flags { overflow, carry: over || over_carry, ..Flags::of(sum) })
}

/// Returns the result of the shifter. `indirect` gives the amount of an indirect shift in its low
/// five bits.
#[inline]
pub fn shift(value: u32, shift: Shift, indirect: u32) -> u32 {
    match shift {
        Shift::None => value,
        Shift::Left(by) => value << (by & 31),
        Shift::Right(by) => value >> (by & 31),
        Shift::Rotate(by) => value.rotate_right(by.into()),
        Shift::LeftIndirect => value << (indirect & 31),
        Shift::RightIndirect => value >> (indirect & 31),
    }
}

/// Returns the low word of `high`:`low` shifted right by the low five bits of `amount`.
pub fn double_shift(high: u32, low: u32, amount: u32) -> u32 {
    ((u64::from(high) << 32 | u64::from(low)) >> (amount & 31)) as u32
}

/// Returns the bits of the bytes that a mask of four bits selects.
pub fn byte_mask(mask: u8) -> u32 {
    (0..4).filter(|byte| mask >> byte & 1 != 0).map(|byte| 0xff << (8 * byte)).sum()
}

/// Returns the number of the lowest set bit in the low half of a shifted source, or 16 if there is
/// none, as `find_bset` does.
pub fn find_bit(value: u32) -> u32 {
    (value & 0xffff | 1 << 16).trailing_zeros()
}

/// Returns the addend of a step of a product.
pub fn multiply_step(a: u32, b: u32, step: u8) -> u64 {
    let by = 8 * u32::from(step & 3);
    (u64::from(a) * u64::from(b >> by & 0xff)) << by
}

impl Condition {
    /// Whether the condition holds.
    #[inline]
    pub fn holds(self, flags: Flags) -> bool {
        let less = flags.negative != flags.overflow;
        match self {
            Self::Always => true,
            Self::Equal => flags.zero,
            Self::NotEqual => !flags.zero,
            Self::Minus => flags.negative,
            Self::Plus => !flags.negative,
            Self::Less => less,
            Self::LessOrEqual => flags.zero || less,
            Self::Greater => !flags.zero && !less,
            Self::GreaterOrEqual => !less,
            Self::Carry => flags.carry,
            Self::NoCarry => !flags.carry,
            Self::Overflow => flags.overflow,
            Self::NoOverflow => !flags.overflow,
        }
    }
}

impl Instruction {
    /// Returns the operands A and B that the instruction reads from registers. If it changes a part
    /// of its destination, A is the destination. An indirect shift of the next instruction takes
    /// its amount from the value of A.
    pub fn operands(&self) -> (Source, Source) {
        match *self {
            Self::LoadField { destination, source, clear: false, .. } => {
                (destination.as_source(), source)
            }
            Self::ImmediateByte { destination, .. } | Self::ImmediateWord { destination, .. } => {
                (destination.as_source(), Source::None)
            }
            _ => {
                let (_, parts) = Parts::of(self);
                (parts.a, parts.b)
            }
        }
    }

    /// Returns the register that the instruction writes.
    pub fn destination(&self) -> Destination {
        Parts::of(self).1.destination
    }

    /// Returns the result if it depends only on these inputs: all of ALU, shifter, byte operations
    /// and constants. `None` for branches, commands, CSRs, the CAM, products and the results of
    /// `find_bset`.
    #[inline]
    pub fn compute(&self, inputs: &Inputs) -> Option<Outcome> {
        let Inputs { a, b, carry, previous_a, previous_b, byte_index } = *inputs;
        let plain = |value| Some(Outcome { value, flags: None });
        match *self {
            Self::Alu { operation, .. } => {
                let (value, flags) = alu(operation, a, b, carry);
                Some(Outcome { value, flags: Some(flags) })
            }
            Self::AluShift { operation, shift: by, .. } => {
                let (value, flags) = alu(operation, a, shift(b, by, previous_a), carry);
                Some(Outcome { value, flags: Some(flags) })
            }
            Self::DoubleShift { amount, .. } => {
                let value = double_shift(a, b, amount.map_or(previous_a, u32::from));
                Some(Outcome { value, flags: Some(Flags::of(value)) })
            }
            Self::Immediate { value, .. } => plain(value),
            Self::ImmediateByte { byte, value, .. } => {
                let by = 8 * u32::from(byte & 3);
                plain(a & !(0xff << by) | u32::from(value) << by)
            }
            Self::ImmediateWord { word, value, .. } => {
                let by = 16 * u32::from(word & 1);
                plain(a & !(0xffff << by) | u32::from(value) << by)
            }
            Self::LoadField { mask, shift: by, clear, .. } => {
                let bits = byte_mask(mask);
                let kept = if clear { 0 } else { a & !bits };
                plain(kept | shift(b, by, previous_a) & bits)
            }
            Self::FindFirstSet { .. } => plain(b.trailing_zeros()),
            Self::PopulationCount { .. } => plain(b.count_ones()),
            Self::ByteAlign { little_endian, .. } => {
                let by = 8 * (byte_index & 3);
                plain(if little_endian {
                    double_shift(a, previous_a, by)
                } else {
                    ((u64::from(previous_b) << 32 | u64::from(b)) >> (32 - by)) as u32
                })
            }
            _ => None,
        }
    }

    /// Returns the class of a branch, or of a command that gives up the engine.
    pub fn branch_class(&self) -> Option<BranchClass> {
        match self {
            Self::Command(command) => {
                matches!(command.completion, Completion::Swap(_)).then_some(BranchClass::Swap)
            }
            _ => self.form().class(),
        }
    }

    /// Returns the number of later instructions that execute although the instruction branches or
    /// gives up the engine.
    pub fn defer(&self) -> u8 {
        Parts::of(self).1.defer
    }

    pub fn form(&self) -> Form {
        Parts::of(self).0
    }

    /// Returns the address to which the instruction may branch, if its word has one.
    pub fn target(&self) -> Option<u16> {
        match *self {
            Self::Branch { target, .. }
            | Self::BranchBit { target, .. }
            | Self::BranchByte { target, .. }
            | Self::BranchContext { target, .. }
            | Self::BranchInput { target, .. }
            | Self::BranchSignal { target, .. } => Some(target),
            _ => None,
        }
    }

    /// Whether the next instruction is never executed: after an unconditional branch without
    /// `defer`, `rtn`, `jump`, or `ctx_arb[kill]`.
    pub fn ends(&self) -> bool {
        matches!(
            *self,
            Self::Branch { condition: Condition::Always, defer: 0, .. }
                | Self::Jump { defer: 0, .. }
                | Self::Return { defer: 0, .. }
                | Self::Arbitrate { wait: super::Wait::Kill, defer: 0 }
        )
    }
}

impl MultiplyStep {
    /// Whether the step writes a register.
    pub fn writes(self) -> bool {
        matches!(self, Self::Last | Self::Last2)
    }
}
