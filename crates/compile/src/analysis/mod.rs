//! Analyses for passes and reports. They do not change the program.

pub mod address;
pub mod conditions;
pub mod context;
pub mod depth;
pub mod effects;
pub mod known_bits;
pub mod liveness;
pub mod loops;
pub mod order;
pub mod packet;
pub mod pipelining;
pub mod ports;
pub mod resources;
pub mod slots;
pub mod storage;

use wireloom_bits::Bits;
use wireloom_ir::{Op, OpKind, Step, Value, ValueInfo};

/// Maps each value of a step to the operation that defines it.
pub struct Definitions<'a> {
    ops: Vec<Option<&'a Op>>,
    values: &'a [ValueInfo],
}

impl<'a> Definitions<'a> {
    /// Collects the definitions of a step.
    pub fn of(step: &'a Step) -> Self {
        let mut ops = vec![None; step.values.len()];
        step.for_each_op(|op| op.results.iter().for_each(|r| ops[r.index()] = Some(op)));
        Self { ops, values: &step.values }
    }

    /// Collects the definitions in these operations of a step with these values.
    pub fn of_ops(ops: &'a [Op], values: &'a [ValueInfo]) -> Self {
        let mut defined = vec![None; values.len()];
        for op in ops {
            op.results.iter().for_each(|result| defined[result.index()] = Some(op));
        }
        Self { ops: defined, values }
    }

    /// Returns the operation that defines a value, if there is one.
    pub fn op(&self, value: Value) -> Option<&'a Op> {
        self.ops[value.index()]
    }

    /// Returns the number of values, including those without a definition.
    pub fn count(&self) -> usize {
        self.ops.len()
    }

    /// Returns the width of a value in bits.
    pub fn width(&self, value: Value) -> u32 {
        self.values[value.index()].width
    }

    /// Returns the kind of the operation that defines a value.
    pub fn kind(&self, value: Value) -> Option<&'a OpKind> {
        self.op(value).map(|op| &op.kind)
    }

    /// Returns the constant that defines a value, if it is a constant.
    pub fn constant(&self, value: Value) -> Option<&'a Bits> {
        match self.kind(value)? {
            OpKind::Const(bits) => Some(bits),
            _ => None,
        }
    }
}

/// Returns whether an operation depends only on its operands.
pub fn is_pure(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::Const(_)
            | OpKind::Unary(..)
            | OpKind::Binary(..)
            | OpKind::Select(..)
            | OpKind::Extend(_)
            | OpKind::Slice(..)
            | OpKind::Concat(_)
            | OpKind::Table { .. }
            | OpKind::Evaluate { .. }
    )
}

/// Returns whether an operation reads context, packet or metadata and changes nothing.
pub fn is_read(kind: &OpKind) -> bool {
    matches!(
        kind,
        OpKind::ReadContext(_)
            | OpKind::ReadElement { .. }
            | OpKind::ReadPacket { .. }
            | OpKind::ReadMeta(_)
    )
}
