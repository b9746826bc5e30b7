//! Cleans up after other passes: threads jumps through empty steps, and removes unreachable steps
//! and unused context.
//!
//! ```text
//! context x : u8                      step a {
//! step a {                              next c
//!   next b                            }
//! }                              =>   step c {
//! step b {                              finish
//!   next c                            }
//! }
//! step c {
//!   finish
//! }
//! ```
//!
//! A jump is threaded only if that changes no count of backward jumps. The empty step must lead
//! forward. The jump to it and the jump past it must both be forward or both be backward. Values
//! are renumbered in order.

use wireloom_ir::{
    ArrayId, Code, ContextId, Engine, EngineKind, Exit, Op, OpKind, Program, Step, StepId, Value,
};

use super::PassOptions;
use crate::analysis::effects::successor;

/// Cleans every engine. Offloads stay, since tables name them.
pub fn run(program: &mut Program, _: &PassOptions) {
    for engine in &mut program.engines {
        thread_jumps(engine);
        remove_unreachable(engine);
        remove_unused_context(engine);
        remove_unused_arrays(engine);
        engine.steps.iter_mut().for_each(renumber);
    }
}

/// Returns the step to which an empty step leads. Returns `None` for a step that is not empty.
fn passes_to(step: &Step) -> Option<StepId> {
    let mut target = None;
    let mut others = false;
    step.for_each_op(|op| match op.kind {
        OpKind::Exit(Exit::Next(next)) if op.guard.is_none() => target = Some(next),
        _ => others = true,
    });
    target.filter(|_| !others)
}

fn thread_jumps(engine: &mut Engine) {
    let through: Vec<Option<StepId>> = engine
        .steps
        .iter()
        .enumerate()
        .map(|(i, step)| passes_to(step).filter(|next| next.index() > i))
        .collect();
    for (index, step) in engine.steps.iter_mut().enumerate() {
        let here = StepId(index as u32);
        for_each_exit(step, |exit| {
            if let Exit::Next(to) | Exit::Emit(to, _) = exit {
                while let Some(next) = through[to.index()]
                    && (*to <= here) == (next <= here)
                {
                    *to = next;
                }
            }
        });
    }
}

fn for_each_exit(step: &mut Step, mut f: impl FnMut(&mut Exit)) {
    for block in step.code.blocks_mut() {
        block.for_each_op_mut(&mut |op: &mut Op| {
            if let OpKind::Exit(exit) = &mut op.kind {
                f(exit);
            }
        });
    }
}

fn remove_unreachable(engine: &mut Engine) {
    let mut reached = vec![false; engine.steps.len()];
    let mut work: Vec<usize> = if engine.steps.is_empty() { Vec::new() } else { vec![0] };
    while let Some(index) = work.pop() {
        if std::mem::replace(&mut reached[index], true) {
            continue;
        }
        engine.steps[index].for_each_op(|op| {
            if let OpKind::Exit(exit) = &op.kind
                && let Some(next) = successor(exit)
            {
                work.push(next.index());
            }
        });
    }
    let numbers = renumbering(&reached);
    let mut flags = reached.iter();
    engine.steps.retain(|_| *flags.next().expect("one flag a step"));
    for step in &mut engine.steps {
        for_each_exit(step, |exit| {
            if let Exit::Next(to) | Exit::Emit(to, _) = exit {
                *to = StepId(numbers[to.index()]);
            }
        });
    }
}

fn remove_unused_context(engine: &mut Engine) {
    let mut used = vec![false; engine.context.len()];
    if let EngineKind::Call { params, .. } = &engine.kind {
        params.iter().for_each(|p| used[p.index()] = true);
    }
    for step in &engine.steps {
        step.for_each_op(|op| {
            if let OpKind::ReadContext(id) | OpKind::WriteContext(id, _) = op.kind {
                used[id.index()] = true;
            }
        });
    }
    let numbers = renumbering(&used);
    let rename = |id: &mut ContextId| *id = ContextId(numbers[id.index()]);
    let mut flags = used.iter();
    engine.context.retain(|_| *flags.next().expect("one flag a variable"));
    if let EngineKind::Call { params, .. } = &mut engine.kind {
        params.iter_mut().for_each(rename);
    }
    for step in &mut engine.steps {
        for block in step.code.blocks_mut() {
            block.for_each_op_mut(&mut |op: &mut Op| {
                if let OpKind::ReadContext(id) | OpKind::WriteContext(id, _) = &mut op.kind {
                    rename(id);
                }
            });
        }
    }
}

fn remove_unused_arrays(engine: &mut Engine) {
    let mut used = vec![false; engine.arrays.len()];
    for step in &engine.steps {
        step.for_each_op(|op| {
            if let OpKind::ReadElement { array, .. } | OpKind::WriteElement { array, .. } = op.kind
            {
                used[array.index()] = true;
            }
        });
    }
    let numbers = renumbering(&used);
    let mut flags = used.iter();
    engine.arrays.retain(|_| *flags.next().expect("one flag an array"));
    for block in engine.steps.iter_mut().flat_map(|step| step.code.blocks_mut()) {
        block.for_each_op_mut(&mut |op: &mut Op| {
            if let OpKind::ReadElement { array, .. } | OpKind::WriteElement { array, .. } =
                &mut op.kind
            {
                *array = ArrayId(numbers[array.index()]);
            }
        });
    }
}

/// Returns the new number of each item that is kept.
fn renumbering(keep: &[bool]) -> Vec<u32> {
    let mut next = 0;
    keep.iter()
        .map(|keep| {
            let number = next;
            next += u32::from(*keep);
            number
        })
        .collect()
}

/// Numbers the values of a step in the order of their definitions and removes values without one.
fn renumber(step: &mut Step) {
    let mut order = Vec::new();
    let mut numbers = vec![None; step.values.len()];
    number_block_results(&step.code, &mut |value: Value| {
        numbers[value.index()] = Some(Value(order.len() as u32));
        order.push(value);
    });
    let rename = |v: &mut Value| *v = numbers[v.index()].expect("a used value is defined");
    for block in step.code.blocks_mut() {
        block.for_each_op_mut(&mut |op: &mut Op| {
            op.kind.for_each_operand_mut(rename);
            op.results.iter_mut().for_each(rename);
            op.guard.iter_mut().for_each(rename);
            if let OpKind::If { then, otherwise, .. } = &mut op.kind {
                then.1.iter_mut().chain(&mut otherwise.1).for_each(rename);
            }
        });
    }
    step.values = order.iter().map(|v| step.values[v.index()].clone()).collect();
}

fn number_block_results(code: &Code, f: &mut impl FnMut(Value)) {
    for block in code.blocks() {
        block.for_each_op(&mut |op| op.results.iter().for_each(|r| f(*r)));
    }
}
