//! Facts about the calls of an engine: the parts of the packet that they use, and the last ones.

use wireloom_ir::{Engine, Exit, OffloadTarget, OpKind, Program};
use wireloom_offloads::registry::{Method, OffloadKind};
use wireloom_offloads::{Config, registry};

/// The parts of the packet's information that an engine and the engines that it calls use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TimeUse {
    pub arrival: bool,
    pub sequence: bool,
}

impl TimeUse {
    /// Returns the parts that an engine of a program uses.
    pub fn of(program: &Program, engine: &Engine) -> Self {
        let mut used = Self::default();
        for step in &engine.steps {
            step.for_each_op(|op| match &op.kind {
                OpKind::ReadMeta(wireloom_ir::Meta::Arrival) => used.arrival = true,
                OpKind::Call { offload, .. } | OpKind::Evaluate { offload, .. } => {
                    let call = Self::of_offload(program, engine, offload.index());
                    used.arrival |= call.arrival;
                    used.sequence |= call.sequence;
                }
                _ => {}
            });
        }
        used
    }

    pub(super) fn of_offload(program: &Program, engine: &Engine, offload: usize) -> Self {
        match &engine.offloads[offload].target {
            OffloadTarget::Engine(id) => Self::of(program, &program.engines[id.index()]),
            OffloadTarget::Kind(config) => Self::of_kind(engine, offload, config),
        }
    }

    fn of_kind(engine: &Engine, offload: usize, config: &Config) -> Self {
        let kind = kind(config);
        let expires = kind.expiry.is_some_and(|param| !config.param(param).is_zero());
        let mut used = Self { arrival: expires || config.has_ticks(), sequence: false };
        for step in &engine.steps {
            step.for_each_op(|op| {
                if let OpKind::Call { offload: called, method, .. }
                | OpKind::Evaluate { offload: called, method, .. } = op.kind
                    && called.index() == offload
                {
                    used.arrival |= kind.methods[method].reads_arrival;
                    used.sequence |= kind.methods[method].reads_sequence;
                }
            });
        }
        used
    }
}

/// Returns the kind of an offload.
pub(super) fn kind(config: &Config) -> &'static OffloadKind {
    registry::kind(&config.kind).expect("verified programs use kinds of the registry")
}

/// Returns whether an offload accesses the packet.
pub fn looks_at_packet(target: &OffloadTarget) -> bool {
    let accesses = |method: &Method| method.reads_packet || method.writes_packet;
    matches!(target, OffloadTarget::Kind(config) if kind(config).methods.iter().any(accesses))
}

/// Returns, for each step and offload of an engine, whether a thread can no longer call the offload
/// after the step.
pub fn last_calls(engine: &Engine) -> Vec<Vec<bool>> {
    let mut next = vec![Vec::new(); engine.steps.len()];
    let mut calls = vec![vec![false; engine.offloads.len()]; engine.steps.len()];
    for (index, step) in engine.steps.iter().enumerate() {
        step.for_each_op(|op| match op.kind {
            OpKind::Call { offload, .. } => calls[index][offload.index()] = true,
            OpKind::Exit(Exit::Next(to) | Exit::Emit(to, _)) => next[index].push(to.index()),
            _ => {}
        });
    }
    // The offloads that may be called from each step on, up to a fixed point.
    loop {
        let before = calls.clone();
        for (step, next) in next.iter().enumerate() {
            for (offload, may) in calls[step].iter_mut().enumerate() {
                *may |= next.iter().any(|to| before[*to][offload]);
            }
        }
        if before == calls {
            break;
        }
    }
    let offloads = 0..engine.offloads.len();
    let is_last = |next: &Vec<usize>, offload: usize| !next.iter().any(|to| calls[*to][offload]);
    next.iter()
        .map(|next| offloads.clone().map(|offload| is_last(next, offload)).collect())
        .collect()
}
