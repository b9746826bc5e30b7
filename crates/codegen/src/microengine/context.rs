//! The context in the frame: where each variable is, and which ones a thread clears before it begins.

use std::collections::BTreeSet;

use wireloom_ir::{Engine, Exit, Op, OpKind, Step};

use super::lower::{VARIABLES, ops};
use super::words;

/// The first word of each context variable in the frame, and the first word after them.
pub fn variables(engine: &Engine) -> (Vec<u32>, u32) {
    let mut next = VARIABLES;
    let place = |width: u32, next: &mut u32| {
        let first = *next;
        *next += words::count(width) as u32;
        first
    };
    let all = engine.context.iter().map(|variable| place(variable.width, &mut next)).collect();
    (all, next)
}

/// The variables that may be read before they are written: they have to be 0 when a thread begins.
pub fn read_unwritten(engine: &Engine) -> BTreeSet<usize> {
    let mut live: Vec<BTreeSet<usize>> = engine.steps.iter().map(reads).collect();
    loop {
        let mut is_stable = true;
        // The last first, since most jumps lead forward.
        for (number, step) in engine.steps.iter().enumerate().rev() {
            let ops = ops(step);
            let more: BTreeSet<usize> = ops
                .iter()
                .filter_map(|op| match &op.kind {
                    OpKind::Exit(Exit::Next(to)) => Some(&live[to.index()] - &written(&ops, op)),
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

/// The variables that are written whenever an exit is taken: those without a guard, or with its own.
fn written(ops: &[&Op], exit: &Op) -> BTreeSet<usize> {
    let writes = ops.iter().filter(|op| op.guard.is_none() || op.guard == exit.guard);
    let variable = |op: &&Op| match &op.kind {
        OpKind::WriteContext(id, _) => Some(id.index()),
        _ => None,
    };
    writes.filter_map(variable).collect()
}
