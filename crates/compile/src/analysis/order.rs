//! Finds the offloads that must see the calls of different packets in arrival order.
//!
//! The rule of [`StateUse`]: an offload is order-sensitive in an engine in two cases. The engine
//! uses a method that changes state in a way that does not commute or that returns the earlier
//! state; or it uses both methods that read the state and methods that change it, even if the
//! changes commute. An engine that is used as an offload is order-sensitive if one of its own
//! offloads is.

use std::collections::BTreeMap;

use wireloom_ir::{EngineId, OffloadId, OffloadTarget, OpKind, Program, StepId};
use wireloom_offloads::{StateUse, registry};

/// The steps that call each offload of an engine, in order; offloads that are never called are
/// omitted.
pub fn callers(program: &Program, engine: EngineId) -> BTreeMap<OffloadId, Vec<StepId>> {
    let mut callers: BTreeMap<OffloadId, Vec<StepId>> = BTreeMap::new();
    for (index, step) in program.engines[engine.index()].steps.iter().enumerate() {
        step.for_each_op(|op| {
            if let OpKind::Call { offload, .. } = op.kind {
                let steps = callers.entry(offload).or_default();
                if steps.last() != Some(&StepId(index as u32)) {
                    steps.push(StepId(index as u32));
                }
            }
        });
    }
    callers
}

/// The order-sensitive offloads of an engine, in order.
pub fn sensitive(program: &Program, engine: EngineId) -> Vec<OffloadId> {
    let body = &program.engines[engine.index()];
    let mut uses: Vec<Vec<StateUse>> = vec![Vec::new(); body.offloads.len()];
    let mut called = vec![false; body.offloads.len()];
    for step in &body.steps {
        step.for_each_op(|op| {
            if let OpKind::Call { offload, method, .. } = op.kind {
                called[offload.index()] = true;
                if let OffloadTarget::Kind(config) = &body.offloads[offload.index()].target
                    && let Some(kind) = registry::kind(&config.kind)
                {
                    uses[offload.index()].push(kind.methods[method].state);
                }
            }
        });
    }
    let is_sensitive = |offload: usize| match body.offloads[offload].target {
        OffloadTarget::Engine(inner) => called[offload] && !sensitive(program, inner).is_empty(),
        OffloadTarget::Kind(_) => {
            let has = |state| uses[offload].contains(&state);
            has(StateUse::Change) || has(StateUse::Read) && has(StateUse::Commuting)
        }
    };
    (0..body.offloads.len()).filter(|&i| is_sensitive(i)).map(|i| OffloadId(i as u32)).collect()
}
