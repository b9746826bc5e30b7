//! Searches of packets that may have been changed.

use wireloom_compile::analysis::Definitions;
use wireloom_compile::analysis::conditions::Guards;
use wireloom_ir::{Engine, Exit, OffloadTarget, OpKind};
use wireloom_offloads::registry;

use super::kinds;

/// Returns a step that searches its packet (`match`) after an earlier step may have changed it.
/// Changes in the same step come after its calls.
pub(super) fn after_changes(engine: &Engine) -> Option<usize> {
    let steps = engine.steps.len();
    let mut searches = vec![false; steps];
    // The successors of each step, and whether the step may have changed the packet before the
    // jump.
    let mut next: Vec<Vec<(usize, bool)>> = vec![Vec::new(); steps];
    for (index, step) in engine.steps.iter().enumerate() {
        let definitions = Definitions::of(step);
        let guards = Guards::new(&definitions);
        let mut changes = Vec::new();
        step.for_each_op(|op| match &op.kind {
            OpKind::WritePacket { .. }
            | OpKind::Insert { .. }
            | OpKind::Remove { .. }
            | OpKind::Reset { .. } => {
                changes.push(op.guard);
            }
            OpKind::Call { offload, method, .. } => {
                let OffloadTarget::Kind(config) = &engine.offloads[offload.index()].target else {
                    return;
                };
                let kind = registry::kind(&config.kind)
                    .expect("verified programs use kinds of the registry");
                searches[index] |= kinds::body(kind.name).is_some_and(|body| body.as_arrived);
                if kind.methods[*method].writes_packet {
                    changes.push(op.guard);
                }
            }
            _ => {}
        });
        step.for_each_op(|op| {
            if let OpKind::Exit(Exit::Next(to) | Exit::Emit(to, _)) = op.kind {
                let changes = changes.iter().any(|change| !guards.exclusive(*change, op.guard));
                next[index].push((to.index(), changes));
            }
        });
    }
    // Finds the steps on entry to which the packet may have been changed, up to a fixed point.
    let mut changed = vec![false; steps];
    loop {
        let before = changed.clone();
        for step in 0..steps {
            for &(to, changes) in &next[step] {
                changed[to] |= changed[step] || changes;
            }
        }
        if before == changed {
            break;
        }
    }
    (0..steps).find(|&step| changed[step] && searches[step])
}
