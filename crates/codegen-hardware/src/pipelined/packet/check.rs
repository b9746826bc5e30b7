//! Checks whether an engine that takes packets can be a straight pipeline.

use wireloom_compile::analysis::order;
use wireloom_ir::{Engine, EngineId, Exit, Loc, OffloadId, OffloadTarget, OpKind, Program, Step};
use wireloom_offloads::{Delay, registry};

use super::super::check::{backward_jump, topological};
use crate::core::Refusal;

/// Returns the order of the steps. Each follows all steps that jump to it.
///
/// # Errors
/// If the engine cannot be a pipeline. The refusal names the step and the line.
pub fn order(program: &Program, engine: EngineId) -> Result<Vec<usize>, Refusal> {
    let body = &program.engines[engine.index()];
    let refuse =
        |step: &Step, loc: Loc, reason: String| Refusal::at(program, body, step, loc, reason);
    if let Some((step, loc, reason)) = backward_jump(body) {
        return Err(refuse(step, loc, reason));
    }
    for step in &body.steps {
        let mut wrong = None;
        step.for_each_op(|op| {
            if let Some(reason) = unsuitable(body, &op.kind) {
                wrong.get_or_insert((op.loc, reason));
            }
        });
        if let Some((loc, reason)) = wrong {
            return Err(refuse(step, loc, reason));
        }
    }
    let callers = order::callers(program, engine);
    for offload in order::sensitive(program, engine) {
        if let Some([_, .., last]) = callers.get(&offload).map(Vec::as_slice) {
            let step = &body.steps[last.index()];
            let reason = format!(
                "`{}`, in which packets see the changes of other packets, is called in an earlier \
                 step too: in a pipeline the next packet would call it before this one",
                body.offloads[offload.index()].name
            );
            return Err(refuse(step, call_loc(step, offload), reason));
        }
    }
    Ok(topological(body))
}

/// Returns the reason why a pipeline cannot execute an operation, if there is one.
fn unsuitable(body: &Engine, op: &OpKind) -> Option<String> {
    match op {
        OpKind::Exit(Exit::Emit(..)) => {
            Some(
                "a copy is sent and the packet continues: as many packets leave a pipeline as \
                 enter it"
                    .into(),
            )
        }
        OpKind::Reset { .. } => Some(
            "the packet is reset: the header windows of a pipeline begin at the packet's own header"
                .into(),
        ),
        OpKind::Call { offload, method, .. } => {
            let called = &body.offloads[offload.index()];
            let OffloadTarget::Kind(config) = &called.target else { return None };
            let method = &registry::kind(&config.kind)?.methods[*method];
            let varies = method.delay == Delay::Variable;
            // A part of a call has a name that the program does not.
            let call = match registry::declared(&config.kind) == config.kind {
                true => format!("{}.{}", called.name, method.name),
                false => called.name.clone(),
            };
            varies.then(|| {
                format!("`{call}` takes a varying time: a pipeline needs constant delays")
            })
        }
        _ => None,
    }
}

/// Returns the location where a step calls an offload.
fn call_loc(step: &Step, offload: OffloadId) -> Loc {
    let mut found = step.loc;
    step.for_each_op(|op| {
        if matches!(op.kind, OpKind::Call { offload: called, .. } if called == offload)
            && op.loc.line > 0
        {
            found = op.loc;
        }
    });
    found
}
