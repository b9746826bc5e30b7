//! Finds values that are the same modulo 4 for all packets.
//!
//! Offsets of headers are known at run time only: a header begins at byte 14, 18 or 22 after a link
//! header with tags. These offsets are equal modulo 4, so fields of the header are read in words.

use wireloom_ir::{BinaryOp, Engine, Op, OpKind, Step, Value};

/// The maximum number of operations through which a value is traced back.
const DEPTH: u32 = 8;

/// A value modulo 4 over all packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Low {
    /// No packet has written the value.
    None,
    Known(u32),
    Any,
}

impl Low {
    fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, low) | (low, Self::None) => low,
            (Self::Known(a), Self::Known(b)) if a == b => self,
            _ => Self::Any,
        }
    }

    fn with(self, other: Self, both: impl Fn(u32, u32) -> u32) -> Self {
        match (self, other) {
            (Self::Known(a), Self::Known(b)) => Self::Known(both(a, b) % 4),
            (Self::None, _) | (_, Self::None) => Self::None,
            _ => Self::Any,
        }
    }
}

/// The context variables of an engine modulo 4.
#[derive(Clone, Debug)]
pub struct Aligned {
    context: Vec<Low>,
}

impl Aligned {
    /// Analyses an engine. `begins` says whether a variable may have a value from before the engine
    /// began.
    pub fn of(engine: &Engine, begins: impl Fn(usize) -> bool) -> Self {
        let begin = |at| if begins(at) { Low::Any } else { Low::None };
        let mut aligned = Self { context: (0..engine.context.len()).map(begin).collect() };
        loop {
            let before = aligned.context.clone();
            for step in &engine.steps {
                let ops: Vec<&Op> = step.ops().collect();
                for op in &ops {
                    let OpKind::WriteContext(variable, value) = &op.kind else { continue };
                    let low = aligned.low(step, &ops, *value, DEPTH);
                    let own = &mut aligned.context[variable.index()];
                    *own = own.join(low);
                }
            }
            if aligned.context == before {
                return aligned;
            }
        }
    }

    /// Returns a value modulo 4 if it is the same for all packets.
    pub fn value(&self, step: &Step, ops: &[&Op], value: Value) -> Option<u32> {
        match self.low(step, ops, value, DEPTH) {
            Low::Known(low) => Some(low),
            Low::None | Low::Any => None,
        }
    }

    fn low(&self, step: &Step, ops: &[&Op], value: Value, depth: u32) -> Low {
        let Some(op) = ops.iter().find(|op| op.results.first() == Some(&value)) else {
            return Low::Any;
        };
        let low = |value: &Value| self.low(step, ops, *value, depth - 1);
        if depth == 0 || step.values[value.index()].width < 2 {
            return Low::Any;
        }
        match &op.kind {
            OpKind::Const(bits) => Low::Known(bits.low_u64() as u32 % 4),
            OpKind::ReadContext(variable) => self.context[variable.index()],
            OpKind::Select(_, a, b) => low(a).join(low(b)),
            OpKind::Extend(a) if step.values[a.index()].width >= 2 => low(a),
            OpKind::Slice(a, 0) => low(a),
            OpKind::Concat(parts) => match parts.last() {
                Some(last) if step.values[last.index()].width >= 2 => low(last),
                _ => Low::Any,
            },
            OpKind::Binary(BinaryOp::Shl, a, b) => match constant(ops, *b) {
                Some(0) => low(a),
                Some(by) if by >= 2 => Low::Known(0),
                _ => Low::Any,
            },
            OpKind::Binary(BinaryOp::Mul, a, b) => {
                let is_whole = |value| constant(ops, value).is_some_and(|by| by % 4 == 0);
                if is_whole(*a) || is_whole(*b) { Low::Known(0) } else { Low::Any }
            }
            OpKind::Binary(BinaryOp::Add, a, b) => low(a).with(low(b), |a, b| a + b),
            OpKind::Binary(BinaryOp::Sub, a, b) => low(a).with(low(b), |a, b| a + 4 - b),
            _ => Low::Any,
        }
    }
}

fn constant(ops: &[&Op], value: Value) -> Option<u64> {
    let op = ops.iter().find(|op| op.results.first() == Some(&value))?;
    match &op.kind {
        OpKind::Const(bits) => Some(bits.low_u64()),
        _ => None,
    }
}
