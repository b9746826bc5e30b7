//! What the calls of a program do: a table over every method of every offload of every engine, engine offloads
//! summed up from what the called engine does.

use wireloom_ir::{Engine, EngineId, Exit, OffloadId, OffloadTarget, OpKind, Program, StepId};
use wireloom_offloads::{Delay, StateUse, registry};

use super::loops::Loops;

/// What a call of a method does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallEffects {
    /// It matters even if nobody looks at the reply.
    pub has_effect: bool,
    /// The reply depends on the arguments (and the packet, if it reads that) alone.
    pub is_pure: bool,
    /// It reads the packet in hand.
    pub reads_packet: bool,
    /// It changes the packet in hand.
    pub writes_packet: bool,
    /// It keeps or exchanges the packet as a whole, ports and arrival time too: methods of the packet with state (park).
    pub whole_packet: bool,
    /// How long the reply takes.
    pub delay: Delay,
}

/// The table.
pub struct Effects {
    /// By engine, offload and method.
    calls: Vec<Vec<Vec<CallEffects>>>,
}

impl Effects {
    /// Of a whole program.
    pub fn of(program: &Program) -> Self {
        let mut effects = Self { calls: Vec::new() };
        let mut summaries: Vec<CallEffects> = Vec::new();
        for engine in &program.engines {
            let methods = |target: &OffloadTarget| match target {
                OffloadTarget::Kind(config) => registry::kind(&config.kind)
                    .map_or(Vec::new(), |kind| kind.methods.iter().map(of_method).collect()),
                OffloadTarget::Engine(id) => summaries.get(id.index()).copied().into_iter().collect(),
            };
            effects.calls.push(engine.offloads.iter().map(|o| methods(&o.target)).collect());
            let id = EngineId(summaries.len() as u32);
            summaries.push(effects.summary(id, engine));
        }
        effects
    }

    /// What a call of a method of an offload of an engine does.
    ///
    /// # Panics
    /// If there is no such engine, offload or method: verified programs call none.
    pub fn call(&self, engine: EngineId, offload: OffloadId, method: usize) -> CallEffects {
        self.calls[engine.index()][offload.index()][method]
    }

    /// What a call of this engine does. It has no packet, so it neither reads nor changes one.
    fn summary(&self, id: EngineId, engine: &Engine) -> CallEffects {
        let mut sum = CallEffects {
            has_effect: false,
            is_pure: true,
            reads_packet: false,
            writes_packet: false,
            whole_packet: false,
            delay: if Loops::of(engine).is_empty() { Delay::Constant } else { Delay::Variable },
        };
        for step in &engine.steps {
            step.for_each_op(|op| {
                if let OpKind::Call { offload, method, .. } = op.kind {
                    let call = self.call(id, offload, method);
                    sum.has_effect |= call.has_effect;
                    sum.is_pure &= call.is_pure;
                    if call.delay == Delay::Variable {
                        sum.delay = Delay::Variable;
                    }
                }
            });
        }
        sum
    }
}

fn of_method(method: &registry::Method) -> CallEffects {
    CallEffects {
        has_effect: method.state.has_effect() || method.writes_packet,
        is_pure: method.state == StateUse::Pure,
        reads_packet: method.reads_packet,
        writes_packet: method.writes_packet,
        whole_packet: method.reads_packet && method.state.has_effect(),
        delay: method.delay,
    }
}

/// Where an exit goes on, if it does.
pub fn successor(exit: &Exit) -> Option<StepId> {
    match exit {
        Exit::Next(step) | Exit::Emit(step) => Some(*step),
        _ => None,
    }
}
