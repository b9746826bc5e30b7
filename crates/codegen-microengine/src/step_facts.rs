//! What the operations of a step show about values, and about their own instructions.

use wireloom_ir::{BinaryOp, Op, OpKind, Step, Value};

/// Returns the largest value that a value can have, as far as its operation shows.
pub fn most(step: &Step, ops: &[&Op], value: Value) -> u32 {
    let definition = ops.iter().find(|op| op.results.contains(&value));
    let own = match width(step, value) {
        width @ 0..=16 => (1 << width) - 1,
        _ => u32::from(u16::MAX),
    };
    match definition.map(|op| &op.kind) {
        Some(OpKind::Extend(inner)) => own.min(most(step, ops, *inner)),
        Some(OpKind::Const(bits)) => own.min(bits.low_u64() as u32),
        _ => own,
    }
}

/// Returns the width of a value. Values that were made for a step of microengines are words.
pub fn width(step: &Step, value: Value) -> u32 {
    step.values.get(value.index()).map_or(32, |value| value.width)
}

/// Returns the value of a constant, wherever the step defines it.
pub fn constant(ops: &[&Op], value: Value) -> Option<u32> {
    let op = ops.iter().find(|op| op.results.contains(&value))?;
    match &op.kind {
        OpKind::Const(bits) => u32::try_from(bits.to_u128()?).ok(),
        OpKind::Extend(inner) => constant(ops, *inner),
        _ => None,
    }
}

/// Returns whether an operation needs neither a command nor a label.
pub fn computes(op: &Op) -> bool {
    use BinaryOp::{Add, And, Eq, Ne, Or, Sub, Ule, Ult, Xor};
    match &op.kind {
        OpKind::Const(_)
        | OpKind::Extend(_)
        | OpKind::Slice(..)
        | OpKind::Concat(_)
        | OpKind::ReadContext(_)
        | OpKind::Unary(..) => true,
        OpKind::Binary(operation, ..) => {
            matches!(operation, Add | Sub | And | Or | Xor | Eq | Ne | Ult | Ule)
        }
        _ => false,
    }
}

/// Returns whether an operation leaves the step. If it is not taken, values that were read stay
/// where they are.
pub fn is_exit(op: &Op) -> bool {
    matches!(op.kind, OpKind::Exit(_))
}
