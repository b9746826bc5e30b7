//! Finds the offloads that must see the calls of different packets in arrival order.
//!
//! The rule follows [`StateUse`]. An offload is order-sensitive in an engine in two cases. Either
//! the engine uses a method that changes state in a way that does not commute or that returns the
//! earlier state. Or it uses both methods that read the state and methods that change it, even if
//! the changes commute. An engine that is used as an offload is order-sensitive if one of its own
//! offloads is.

use std::collections::BTreeMap;

use wireloom_ir::{EngineId, OffloadId, OffloadTarget, OpKind, Program, StepId};
use wireloom_offloads::{StateUse, registry};

/// Returns the steps that call each offload of an engine, in order. Offloads that are never called
/// are omitted.
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

/// Returns the order-sensitive offloads of an engine, in order.
pub fn sensitive(program: &Program, engine: EngineId) -> Vec<OffloadId> {
    offloads(program, engine, |uses| match uses {
        Uses::Engine(inner) => !sensitive(program, *inner).is_empty(),
        Uses::Methods(states) => {
            let has = |state| states.contains(&state);
            has(StateUse::Change) || has(StateUse::Read) && has(StateUse::Commuting)
        }
    })
}

/// Returns the offloads of an engine that packets change, in order.
pub fn changed(program: &Program, engine: EngineId) -> Vec<OffloadId> {
    offloads(program, engine, |uses| match uses {
        Uses::Engine(inner) => !changed(program, *inner).is_empty(),
        Uses::Methods(states) => states.iter().any(|state| state.has_effect()),
    })
}

/// How an engine uses an offload that it calls.
enum Uses {
    /// A called engine.
    Engine(EngineId),
    /// How the method of each call uses the state.
    Methods(Vec<StateUse>),
}

/// Returns the offloads that an engine calls and whose uses meet a condition.
fn offloads(
    program: &Program,
    engine: EngineId,
    is_chosen: impl Fn(&Uses) -> bool,
) -> Vec<OffloadId> {
    let body = &program.engines[engine.index()];
    let mut uses: BTreeMap<OffloadId, Uses> = BTreeMap::new();
    for step in &body.steps {
        step.for_each_op(|op| {
            let OpKind::Call { offload, method, .. } = op.kind else { return };
            let entry = || match &body.offloads[offload.index()].target {
                OffloadTarget::Engine(inner) => Uses::Engine(*inner),
                OffloadTarget::Kind(_) => Uses::Methods(Vec::new()),
            };
            if let Uses::Methods(states) = uses.entry(offload).or_insert_with(entry)
                && let OffloadTarget::Kind(config) = &body.offloads[offload.index()].target
                && let Some(kind) = registry::kind(&config.kind)
            {
                states.push(kind.methods[method].state);
            }
        });
    }
    uses.into_iter().filter(|(_, uses)| is_chosen(uses)).map(|(offload, _)| offload).collect()
}
