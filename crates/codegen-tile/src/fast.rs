//! The fast way through a step: the one on which no packet is dropped or given to the control
//! processor.
//!
//! ```text
//! step:     conditions, each with a branch to `step_all` where it is not as on the fast way
//!           what has effects
//! step_all: the whole step again
//! ```
//!
//! The step IR has no branches: a packet that is dropped goes through all of a step, whose
//! operations have guards, and its end has an exit for each reason. [`facts`](wireloom_codegen::facts) says what the guards
//! and conditions are if none of those exits is taken. [`ordered`] puts operations with effects
//! after those that do not depend on them, so that most conditions are known before anything
//! happens that could not be done again.

use std::collections::{HashMap, HashSet};

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Engine, Meta, OffloadTarget, Op, OpKind, Value};
use wireloom_offloads::registry;

use super::calls;

/// The conditions that need no test because others among these operations are tested: what equals
/// one constant equals no other.
pub fn implied(early: &[&Op], facts: &HashMap<Value, bool>) -> HashSet<Value> {
    let constant = |value: &Value| {
        early.iter().find_map(|op| match &op.kind {
            OpKind::Const(bits) if op.results.first() == Some(value) => Some(bits.clone()),
            _ => None,
        })
    };
    // Each comparison with a constant: its result, what is compared, and whether that is equal.
    let comparisons: Vec<(Value, Value, Bits, bool)> = early
        .iter()
        .filter_map(|op| {
            let OpKind::Binary(binary @ (BinaryOp::Eq | BinaryOp::Ne), a, b) = &op.kind else {
                return None;
            };
            let (value, constant) = match (constant(a), constant(b)) {
                (None, Some(constant)) => (*a, constant),
                (Some(constant), None) => (*b, constant),
                _ => return None,
            };
            let result = *op.results.first()?;
            let is_equal = *facts.get(&result)? == (*binary == BinaryOp::Eq);
            Some((result, value, constant, is_equal))
        })
        .collect();
    let follows = |(_, value, constant, is_equal): &&(Value, Value, Bits, bool)| {
        !is_equal
            && comparisons
                .iter()
                .any(|(_, other, equal, is_equal)| *is_equal && other == value && equal != constant)
    };
    comparisons.iter().filter(follows).map(|(result, ..)| *result).collect()
}

/// What an operation does besides its result.
fn has_effect(engine: &Engine, op: &Op) -> bool {
    let OpKind::Call { offload, method, .. } = &op.kind else { return op.kind.has_effect() };
    match &engine.offloads[offload.index()].target {
        OffloadTarget::Engine(_) => true,
        OffloadTarget::Kind(config) => {
            calls::changes_packet(engine, *offload, *method)
                || registry::kind(&config.kind)
                    .is_none_or(|kind| kind.methods[*method].state.has_effect())
        }
    }
}

/// Whether an operation changes bytes or length of the packet.
fn changes_packet(engine: &Engine, op: &Op) -> bool {
    match &op.kind {
        OpKind::WritePacket { .. }
        | OpKind::Insert { .. }
        | OpKind::Remove { .. }
        | OpKind::Reset { .. } => true,
        OpKind::Call { offload, method, .. } => calls::changes_packet(engine, *offload, *method),
        _ => false,
    }
}

/// Whether an operation without an effect must stay after one that has an effect.
fn depends(engine: &Engine, op: &Op, effect: &Op) -> bool {
    match (&op.kind, &effect.kind) {
        (OpKind::ReadContext(read), OpKind::WriteContext(written, _)) => read == written,
        (OpKind::ReadElement { array, .. }, OpKind::WriteElement { array: written, .. }) => {
            array == written
        }
        (OpKind::ReadMeta(Meta::Egress), OpKind::WriteMeta(..)) => true,
        (OpKind::ReadPacket { .. } | OpKind::ReadMeta(Meta::Length | Meta::Window), _)
        // A call may replace the packet by one that was parked.
        | (OpKind::ReadMeta(_), OpKind::Call { .. }) => changes_packet(engine, effect),
        (OpKind::Call { offload, .. } | OpKind::Evaluate { offload, .. }, _) => {
            let is_same =
                matches!(&effect.kind, OpKind::Call { offload: other, .. } if other == offload);
            // Some kinds read the packet.
            is_same || changes_packet(engine, effect)
        }
        _ => false,
    }
}

/// The operands of an operation, with its guard.
fn operands(op: &Op) -> Vec<Value> {
    let mut values = op.kind.operands();
    values.extend(op.guard);
    values
}

/// The operations with those first that depend on no effect, and the number of these.
pub fn ordered<'a>(engine: &Engine, ops: &[&'a Op]) -> (Vec<&'a Op>, usize) {
    let (mut early, mut late): (Vec<&Op>, Vec<&Op>) = (Vec::new(), Vec::new());
    let mut late_values: HashSet<Value> = HashSet::new();
    for op in ops {
        let waits = has_effect(engine, op)
            || operands(op).iter().any(|value| late_values.contains(value))
            || late.iter().any(|effect| depends(engine, op, effect));
        if waits {
            late_values.extend(&op.results);
            late.push(op);
        } else {
            early.push(op);
        }
    }
    // Loads come first: their words take cycles to be there.
    let is_load =
        |op: &&&Op| matches!(op.kind, OpKind::ReadContext(_) | OpKind::ReadMeta(Meta::Length));
    let (loads, others): (Vec<&Op>, Vec<&Op>) = early.iter().partition(|op| is_load(op));
    let mut early = [loads, others].concat();
    let count = early.len();
    early.extend(late);
    (early, count)
}
