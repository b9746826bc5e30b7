//! The effects of the calls of a program: a table over every method of every offload of every
//! engine. The effects of an engine offload summarise the effects of the called engine.

use wireloom_ir::{
    Engine, EngineId, Exit, OffloadId, OffloadTarget, OpKind, Program, Step, StepId,
};
use wireloom_offloads::{Delay, StateUse, registry};

use super::loops::Loops;

/// The effects of a call of a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallEffects {
    /// Whether the call matters even if its reply is not used.
    pub has_effect: bool,
    /// Whether the reply depends only on the arguments (and on the packet, if the call reads it).
    pub is_pure: bool,
    pub reads_packet: bool,
    pub writes_packet: bool,
    /// Whether the call stores or exchanges the whole packet, including ports and arrival time.
    /// This holds for the packet methods of a kind with state (park).
    pub whole_packet: bool,
    /// The delay of the reply.
    pub delay: Delay,
}

/// The effects of all calls of a program.
pub struct Effects {
    /// By engine, offload and method.
    calls: Vec<Vec<Vec<CallEffects>>>,
}

impl Effects {
    /// Builds the table of a program.
    pub fn of(program: &Program) -> Self {
        let mut effects = Self { calls: Vec::new() };
        let mut summaries: Vec<CallEffects> = Vec::new();
        for engine in &program.engines {
            let methods = |target: &OffloadTarget| match target {
                OffloadTarget::Kind(config) => registry::kind(&config.kind)
                    .map_or(Vec::new(), |kind| kind.methods.iter().map(of_method).collect()),
                OffloadTarget::Engine(id) => {
                    summaries.get(id.index()).copied().into_iter().collect()
                }
            };
            effects.calls.push(engine.offloads.iter().map(|o| methods(&o.target)).collect());
            let id = EngineId(summaries.len() as u32);
            summaries.push(effects.summary(id, engine));
        }
        effects
    }

    /// Returns the effects of a call of a method of an engine's offload.
    ///
    /// # Panics
    /// If there is no such engine, offload or method. A verified program calls none.
    pub fn call(&self, engine: EngineId, offload: OffloadId, method: usize) -> CallEffects {
        self.calls[engine.index()][offload.index()][method]
    }

    /// Returns the effects of a call of this engine. A called engine has no packet, so it neither
    /// reads nor changes one.
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

/// Returns the step at which an exit continues, if it does.
pub fn successor(exit: &Exit) -> Option<StepId> {
    match exit {
        Exit::Next(step) | Exit::Emit(step, _) => Some(*step),
        _ => None,
    }
}

/// Returns the indices of the steps at which a step may continue, each once, in order.
pub fn successors(step: &Step) -> Vec<usize> {
    let mut found = Vec::new();
    step.for_each_op(|op| {
        if let OpKind::Exit(exit) = &op.kind {
            found.extend(successor(exit).map(StepId::index));
        }
    });
    found.sort_unstable();
    found.dedup();
    found
}
