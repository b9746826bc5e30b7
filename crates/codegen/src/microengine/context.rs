//! The context: what threads need for it, and which variables a thread clears before it begins.

use std::collections::BTreeSet;

use wireloom_ir::{Engine, Exit, Meta, OffloadId, OffloadTarget, Op, OpKind, Step, Value};
use wireloom_offloads::{StateUse, registry};

use crate::refused::ops;

/// Whether threads need the time of arrival of their packet.
pub fn uses_arrival(engine: &Engine) -> bool {
    let by_method = |offload: OffloadId, method: usize| {
        let OffloadTarget::Kind(config) = &engine.offloads[offload.index()].target else {
            return false;
        };
        registry::kind(&config.kind).is_some_and(|kind| {
            let method = &kind.methods[method];
            let expires = kind.expiry.is_some_and(|age| !config.param(age).is_zero());
            let keeps_time = kind.name == "exact" && method.state == StateUse::Change;
            method.reads_arrival || expires || keeps_time
        })
    };
    engine.steps.iter().flat_map(ops).any(|op| match &op.kind {
        OpKind::ReadMeta(Meta::Arrival) => true,
        OpKind::Call { offload, method, .. } | OpKind::Evaluate { offload, method, .. } => {
            by_method(*offload, *method)
        }
        _ => false,
    })
}

/// Whether threads may go on with a packet that was parked.
pub fn parks(engine: &Engine) -> bool {
    engine.offloads.iter().any(|offload| match &offload.target {
        OffloadTarget::Kind(config) => config.kind == "park",
        OffloadTarget::Engine(_) => false,
    })
}

/// Whether threads send packets and go on.
pub fn emits(engine: &Engine) -> bool {
    engine.steps.iter().flat_map(ops).any(|op| matches!(op.kind, OpKind::Exit(Exit::Emit(_))))
}

/// The variables that may be read before they are written: they have to be 0 when a thread begins.
pub fn read_unwritten(engine: &Engine) -> BTreeSet<usize> {
    read_unwritten_if(engine, &|_, _| false)
}

/// The same, where some guards are known to be 1 whenever a thread goes on to another step. `holds`
/// says of a guard whether it is one of these.
pub fn read_unwritten_if(engine: &Engine, holds: &dyn Fn(usize, Value) -> bool) -> BTreeSet<usize> {
    let mut live: Vec<BTreeSet<usize>> = engine.steps.iter().map(reads).collect();
    loop {
        let mut is_stable = true;
        // The last first, since most jumps lead forward.
        for (number, step) in engine.steps.iter().enumerate().rev() {
            let ops = ops(step);
            let more: BTreeSet<usize> = ops
                .iter()
                .filter_map(|op| match &op.kind {
                    OpKind::Exit(Exit::Next(to) | Exit::Emit(to)) => {
                        Some(&live[to.index()] - &written(&ops, op, &|guard| holds(number, guard)))
                    }
                    _ => None,
                })
                .flatten()
                .collect();
            if !more.is_subset(&live[number]) {
                live[number].extend(more);
                is_stable = false;
            }
        }
        if is_stable {
            return live.swap_remove(0);
        }
    }
}

/// The variables that a step may read before it has written them.
fn reads(step: &Step) -> BTreeSet<usize> {
    let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
    for op in ops(step) {
        match &op.kind {
            OpKind::ReadContext(id) if !written.contains(&id.index()) => {
                read.insert(id.index());
            }
            OpKind::WriteContext(id, _) if op.guard.is_none() => {
                written.insert(id.index());
            }
            _ => {}
        }
    }
    read
}

/// The variables that are written whenever an exit is taken: those without a guard, with its own, or
/// with one that holds.
fn written(ops: &[&Op], exit: &Op, holds: &dyn Fn(Value) -> bool) -> BTreeSet<usize> {
    let writes = ops
        .iter()
        .filter(|op| op.guard.is_none_or(|guard| Some(guard) == exit.guard || holds(guard)));
    let variable = |op: &&Op| match &op.kind {
        OpKind::WriteContext(id, _) => Some(id.index()),
        _ => None,
    };
    writes.filter_map(variable).collect()
}
