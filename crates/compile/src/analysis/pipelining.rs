//! Decides whether an engine can be built as a straight pipeline instead of a multithreaded one.
//!
//! Gorilla (section 3) states two conditions: all jumps are forward, and the delays of the offloads
//! are constant. Jumps are forward if some order of the steps makes them so, whatever the order in
//! the source. Shared state adds a third condition: only one stage may reach an order-sensitive
//! offload, since otherwise a packet could overtake the previous one at that offload. The storage
//! of packets adds two more. As many packets leave a pipeline as enter it, so no step may send
//! copies. Header windows begin where they were loaded, so no step may replace a packet.

use serde::Serialize;
use wireloom_ir::{EngineId, Exit, OffloadTarget, OpKind, Program, StepId};
use wireloom_offloads::{Delay, registry};

use super::effects::Effects;
use super::loops::Loops;
use super::order;

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pipelining {
    /// Whether a pipeline is possible.
    pub legal: bool,
    /// Why a pipeline is impossible: sentences without a full stop. Empty if it is possible.
    pub reasons: Vec<String>,
}

/// Decides whether an engine can be a pipeline.
pub fn pipelining(program: &Program, effects: &Effects, engine: EngineId) -> Pipelining {
    let body = &program.engines[engine.index()];
    let name = |step: StepId| body.steps[step.index()].name.as_str();
    let mut reasons = Vec::new();
    for steps in Loops::of(body).iter() {
        let names: Vec<_> = steps.iter().map(|s| format!("`{}`", name(*s))).collect();
        reasons.push(match &names[..] {
            [only] => format!("step {only} jumps to itself"),
            names => format!("steps {} form a loop", names.join(", ")),
        });
    }
    for step in &body.steps {
        step.for_each_op(|op| {
            let reason = match op.kind {
                OpKind::Call { offload, method, .. }
                    if effects.call(engine, offload, method).delay == Delay::Variable =>
                {
                    let called = &body.offloads[offload.index()];
                    let method = match &called.target {
                        OffloadTarget::Kind(config) => {
                            registry::kind(&config.kind).map_or("", |k| k.methods[method].name)
                        }
                        OffloadTarget::Engine(_) => "call",
                    };
                    format!(
                        "`{}.{method}` (step `{}`) takes a varying time",
                        called.name, step.name
                    )
                }
                OpKind::Exit(Exit::Emit(..)) => {
                    format!(
                        "step `{}` sends a copy, but as many packets leave a pipeline as enter it",
                        step.name
                    )
                }
                OpKind::Reset { .. } => format!("step `{}` replaces the packet", step.name),
                _ => return,
            };
            if !reasons.contains(&reason) {
                reasons.push(reason);
            }
        });
    }
    let callers = order::callers(program, engine);
    for offload in order::sensitive(program, engine) {
        if let Some(steps) = callers.get(&offload)
            && steps.len() > 1
        {
            let names: Vec<_> = steps.iter().map(|s| format!("`{}`", name(*s))).collect();
            reasons.push(format!(
                "order-sensitive `{}` is called in {} steps ({}), where packets could overtake each other",
                body.offloads[offload.index()].name,
                steps.len(),
                names.join(", ")
            ));
        }
    }
    Pipelining { legal: reasons.is_empty(), reasons }
}
