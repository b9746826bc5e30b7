//! The fast way through a step, on which no packet is dropped or sent to the control processor.
//!
//! ```text
//! step:     conditions, each with a branch to `step_all` unless it is as on the fast way
//!           operations with effects
//! step_all: the whole step again
//! ```
//!
//! Step IR has no branches. A dropped packet passes through all guarded operations of a step, which
//! ends with an exit for each reason. [`exits`](wireloom_compile::analysis::conditions::exits) says
//! which values guards and conditions have if none of these exits is taken. [`ordered`] moves
//! operations with effects after the operations that do not depend on them. So most conditions are
//! known before the first effect, which cannot be repeated.

use std::collections::{HashMap, HashSet};

use wireloom_compile::analysis::Definitions;
use wireloom_compile::analysis::conditions::Comparisons;
use wireloom_compile::analysis::resources::{Resource, changes, reads, writes_packet};
use wireloom_ir::{Engine, Meta, OffloadTarget, Op, OpKind, Value};
use wireloom_offloads::registry;

/// Returns the conditions among these operations that need no test because other ones are tested:
/// a value that equals one constant equals no other.
pub fn implied(
    definitions: &Definitions<'_>,
    early: &[&Op],
    facts: &HashMap<Value, bool>,
) -> HashSet<Value> {
    let results = || early.iter().filter_map(|op| op.results.first().copied());
    let mut tested = Comparisons::default();
    for result in results() {
        if let Some(bit) = facts.get(&result) {
            tested.learn(definitions, result, *bit);
        }
    }
    let is_implied = |result: &Value| {
        facts.contains_key(result) && tested.decide(definitions, *result).is_some()
    };
    results().filter(is_implied).collect()
}

/// Whether an operation does more than compute its result.
fn has_effect(engine: &Engine, op: &Op) -> bool {
    let OpKind::Call { offload, method, .. } = &op.kind else { return op.kind.has_effect() };
    match &engine.offloads[offload.index()].target {
        OffloadTarget::Engine(_) => true,
        OffloadTarget::Kind(config) => {
            writes_packet(engine, &op.kind)
                || registry::kind(&config.kind)
                    .is_none_or(|kind| kind.methods[*method].state.has_effect())
        }
    }
}

/// Returns whether an operation without an effect must stay after one that has an effect.
fn depends(engine: &Engine, op: &Op, effect: &Op) -> bool {
    let changed = changes(engine, &effect.kind);
    if let OpKind::Call { offload, .. } | OpKind::Evaluate { offload, .. } = &op.kind {
        let is_same =
            matches!(&effect.kind, OpKind::Call { offload: other, .. } if other == offload);
        // Some kinds read the packet.
        return is_same || changed.iter().any(|change| change.covers(Resource::Window));
    }
    reads(&op.kind).is_some_and(|read| changed.iter().any(|change| change.covers(read)))
}

/// Returns the operands of an operation, including its guard.
fn operands(op: &Op) -> Vec<Value> {
    let mut values = op.kind.operands();
    values.extend(op.guard);
    values
}

/// Returns the operations in a new order, in which the operations that depend on no effect come
/// first, and the number of these.
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
    // Loads come first, since their results arrive some cycles later.
    let is_load =
        |op: &&&Op| matches!(op.kind, OpKind::ReadContext(_) | OpKind::ReadMeta(Meta::Length));
    let (loads, others): (Vec<&Op>, Vec<&Op>) = early.iter().partition(|op| is_load(op));
    let mut early = [loads, others].concat();
    let count = early.len();
    early.extend(late);
    (early, count)
}
