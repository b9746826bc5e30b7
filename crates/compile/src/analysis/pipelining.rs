//! Whether an engine can be built as a straight pipeline instead of a multithreaded one.
//!
//! Gorilla (section 3): possible if there are only forward jumps and the delays of the offloads are constant. Jumps are
//! forward if the steps can be put in an order in which they are, whatever their order in the source. Shared state adds a
//! third condition: an order-sensitive offload must be reached from one stage only, else a packet could overtake the one
//! before it at that offload. And what packets are held in decides: as many packets leave a pipeline as come, so none sends
//! copies; and their header windows begin where they were loaded, so none is made anew.

use serde::Serialize;
use wireloom_ir::{EngineId, Exit, OffloadTarget, OpKind, Program, StepId};
use wireloom_offloads::{Delay, registry};

use super::effects::Effects;
use super::loops::Loops;
use super::order;

/// Whether, and why not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Pipelining {
    /// Whether it is legal.
    pub legal: bool,
    /// If it is not: each reason, in a sentence without a final stop.
    pub reasons: Vec<String>,
}

/// Of an engine.
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
                    format!("`{}.{method}` (step `{}`) takes a varying time", called.name, step.name)
                }
                OpKind::Exit(Exit::Emit(_)) => {
                    format!("step `{}` sends a copy, and as many packets leave a pipeline as come", step.name)
                }
                OpKind::Reset { .. } => format!("step `{}` makes the packet anew", step.name),
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
