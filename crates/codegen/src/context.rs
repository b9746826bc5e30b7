//! Packet context: the state that threads need, and the variables that a thread clears before it
//! begins.

use std::collections::BTreeSet;

use wireloom_ir::{Copied, Engine, Exit, Meta, OffloadId, OffloadTarget, Op, OpKind, Step, Value};
use wireloom_offloads::registry;

use crate::steps::next_step;
use wireloom_compile::analysis::Definitions;
use wireloom_compile::analysis::conditions::{Holds, exits};

/// Whether threads need the arrival time of their packet.
pub fn uses_arrival(engine: &Engine) -> bool {
    let by_method = |offload: OffloadId, method: usize| {
        let OffloadTarget::Kind(config) = &engine.offloads[offload.index()].target else {
            return false;
        };
        registry::kind(&config.kind).is_some_and(|kind| {
            let method = &kind.methods[method];
            let expires = kind.expiry.is_some_and(|age| !config.param(age).is_zero());
            method.reads_arrival || method.advances_time || expires
        })
    };
    engine.steps.iter().flat_map(Step::ops).any(|op| match &op.kind {
        OpKind::ReadMeta(Meta::Arrival) => true,
        OpKind::Call { offload, method, .. } | OpKind::Evaluate { offload, method, .. } => {
            by_method(*offload, *method)
        }
        _ => false,
    })
}

/// Whether packets of timers start threads.
pub fn has_timers(engine: &Engine) -> bool {
    engine.offloads.iter().any(|offload| match &offload.target {
        OffloadTarget::Kind(config) => config.has_step(),
        OffloadTarget::Engine(_) => false,
    })
}

/// Whether threads may continue with a parked packet.
pub fn parks(engine: &Engine) -> bool {
    let kinds = engine.offloads.iter().filter_map(|offload| offload.kind());
    kinds.flat_map(|kind| kind.methods).any(|method| method.replaces_packet)
}

/// Returns what the copies that an engine sends consist of.
fn copies(engine: &Engine) -> impl Iterator<Item = &Copied> {
    engine.steps.iter().flat_map(Step::ops).filter_map(|op| match &op.kind {
        OpKind::Exit(Exit::Emit(_, copied)) => Some(copied),
        _ => None,
    })
}

/// Whether threads emit packets and continue.
pub fn emits(engine: &Engine) -> bool {
    copies(engine).next().is_some()
}

/// Whether an engine sends copies of some bytes of a packet.
pub fn emits_pieces(engine: &Engine) -> bool {
    copies(engine).any(|copied| copied.bytes.is_some())
}

/// Returns the variables that may be read before they are written. They must be 0 when a thread
/// begins.
pub fn read_unwritten(engine: &Engine) -> BTreeSet<usize> {
    live(engine).swap_remove(0)
}

/// Returns the same variables as [`read_unwritten`], for a caller that knows more about guards.
/// `holds` takes a step, the position of an exit among the operations of the step, and a guard; it
/// returns whether the guard is 1 whenever that exit to another step is taken.
pub fn read_unwritten_if(
    engine: &Engine,
    holds: &dyn Fn(usize, usize, Value) -> bool,
) -> BTreeSet<usize> {
    live_if(engine, holds).swap_remove(0)
}

/// For each step, the variables that it or a later one may read before they are written.
pub fn live(engine: &Engine) -> Vec<BTreeSet<usize>> {
    let definitions: Vec<_> = engine.steps.iter().map(Definitions::of).collect();
    let steps = engine.steps.iter().zip(&definitions);
    let taken: Vec<_> = steps.map(|(step, definitions)| taken(step, definitions)).collect();
    live_if(engine, &|step, exit, guard| {
        taken[step][exit].as_ref().is_some_and(|taken| taken.must(guard, true))
    })
}

fn live_if(engine: &Engine, holds: &dyn Fn(usize, usize, Value) -> bool) -> Vec<BTreeSet<usize>> {
    let mut live: Vec<BTreeSet<usize>> = engine.steps.iter().map(reads).collect();
    loop {
        let mut is_stable = true;
        // Visit the last step first, since most jumps lead forward.
        for (number, step) in engine.steps.iter().enumerate().rev() {
            let ops: Vec<&Op> = step.ops().collect();
            let more: BTreeSet<usize> = (0..ops.len())
                .filter_map(|at| {
                    let to = next_step(ops[at])?;
                    Some(unwritten(&ops, at, &|guard| holds(number, at, guard), &live[to]))
                })
                .flatten()
                .collect();
            if !more.is_subset(&live[number]) {
                live[number].extend(more);
                is_stable = false;
            }
        }
        if is_stable {
            return live;
        }
    }
}

/// Returns the variables that a step may read before it writes them.
fn reads(step: &Step) -> BTreeSet<usize> {
    let (mut read, mut written) = (BTreeSet::new(), BTreeSet::new());
    for op in step.ops() {
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

/// Returns, for each operation that leads to another step, the conditions that hold when it is
/// taken.
fn taken<'a>(step: &Step, definitions: &'a Definitions<'a>) -> Vec<Option<Holds<'a>>> {
    let at = step.ops().enumerate();
    at.map(|(at, op)| next_step(op).map(|_| exits::taken(step, definitions, at))).collect()
}

/// Returns the variables in `wanted` that are not certainly written when an exit is taken. A write
/// counts if it has no guard, the guard of the exit, or a guard that holds at the exit.
fn unwritten(
    ops: &[&Op],
    exit: usize,
    holds: &dyn Fn(Value) -> bool,
    wanted: &BTreeSet<usize>,
) -> BTreeSet<usize> {
    let own = ops[exit].guard;
    let is_written = |variable: &usize| {
        ops[..exit].iter().any(|op| {
            matches!(&op.kind, OpKind::WriteContext(id, _) if id.index() == *variable)
                && op.guard.is_none_or(|guard| Some(guard) == own || holds(guard))
        })
    };
    wanted.iter().copied().filter(|variable| !is_written(variable)).collect()
}
