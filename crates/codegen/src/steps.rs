//! The steps that operations lead to, and the steps that use an offload.

use wireloom_ir::{Engine, Exit, Op, OpKind, Step};

/// Returns the step to which an operation passes the packet; `None` if it does not pass it on.
pub fn next_step(op: &Op) -> Option<usize> {
    match &op.kind {
        OpKind::Exit(Exit::Next(to) | Exit::Emit(to, _)) => Some(to.index()),
        _ => None,
    }
}

/// Returns the name of the first step that uses an offload.
pub fn first_user(engine: &Engine, offload: usize) -> Option<String> {
    let uses = |step: &&Step| {
        step.ops().any(|op| match &op.kind {
            OpKind::Call { offload: used, .. } | OpKind::Evaluate { offload: used, .. } => {
                used.index() == offload
            }
            _ => false,
        })
    };
    engine.steps.iter().find(uses).map(|step| step.name.clone())
}
