//! What has no place on a machine, and where it stands in the program.

use wireloom_ir::{Block, Code, Engine, Exit, Op, OpKind, Step};

/// What has no place: a sentence, and the offload and the step that it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The offload.
    pub offload: Option<String>,
    /// The step.
    pub step: Option<String>,
    /// Why.
    pub message: String,
}

/// The operations of a step, in order.
pub(crate) fn ops(step: &Step) -> Vec<&Op> {
    let blocks: Vec<&Block> = match &step.code {
        Code::Sequential(block) => vec![block],
        Code::Regions { request, edit, jump } => vec![request, edit, jump],
    };
    blocks.into_iter().flat_map(|block| &block.ops).collect()
}

/// The step to which an operation passes the packet on, if it does so.
pub(crate) fn next_step(op: &Op) -> Option<usize> {
    match &op.kind {
        OpKind::Exit(Exit::Next(to) | Exit::Emit(to)) => Some(to.index()),
        _ => None,
    }
}

/// The name of the first step that uses an offload.
pub(crate) fn first_user(engine: &Engine, offload: usize) -> Option<String> {
    let uses = |step: &&Step| {
        ops(step).iter().any(|op| match &op.kind {
            OpKind::Call { offload: used, .. } | OpKind::Evaluate { offload: used, .. } => {
                used.index() == offload
            }
            _ => false,
        })
    };
    engine.steps.iter().find(uses).map(|step| step.name.clone())
}
