//! The offload ports of an engine, and the room that its calls need in the body buffer.

use wireloom_compile::analysis::loops::Loops;
use wireloom_compile::analysis::{Definitions, order};
use wireloom_ir::{Engine, EngineId, EngineKind, Exit, OffloadId, OffloadTarget, OpKind, Program};
use wireloom_offloads::registry::{self, Extent};
use wireloom_offloads::{Config, ReplyType};

use super::calls::{TimeUse, kind, looks_at_packet};
use super::kinds::{self, Appended, is_inside, missing};
use super::port::{OffloadPort, PortMethod};

/// Returns the ports of an engine in the order of its offloads. Offloads that are not called have
/// none.
pub fn ports(program: &Program, id: EngineId) -> Vec<OffloadPort> {
    let engine = &program.engines[id.index()];
    let ordered = order::sensitive(program, id);
    let mut used: Vec<Vec<usize>> = vec![Vec::new(); engine.offloads.len()];
    for step in &engine.steps {
        step.for_each_op(|op| {
            if let OpKind::Call { offload, method, .. } = op.kind
                && !used[offload.index()].contains(&method)
            {
                used[offload.index()].push(method);
            }
        });
    }
    let mut names = crate::sv::names::Scope::new();
    let mut ports = Vec::new();
    for (index, (offload, mut used)) in engine.offloads.iter().zip(used).enumerate() {
        used.sort_unstable();
        // A called engine has no packet, so the offload has nothing to do.
        let is_bodiless =
            !matches!(engine.kind, EngineKind::Packet) && looks_at_packet(&offload.target);
        let methods: Vec<PortMethod> = match &offload.target {
            OffloadTarget::Kind(_) if is_bodiless => Vec::new(),
            OffloadTarget::Engine(id) => {
                let callee = &program.engines[id.index()];
                used.iter().map(|_| engine_method(callee)).collect()
            }
            OffloadTarget::Kind(config) => {
                used.iter().filter_map(|method| kind_method(config, *method)).collect()
            }
        };
        if methods.is_empty() {
            continue;
        }
        let time = TimeUse::of_offload(program, engine, index);
        let argument_bits = methods.iter().map(|m| m.arguments.iter().sum()).max().unwrap_or(0);
        let body = match &offload.target {
            OffloadTarget::Kind(config) => {
                kinds::body(&config.kind).map(|body| (body.access)(config, &methods))
            }
            OffloadTarget::Engine(_) => None,
        };
        let mut port = OffloadPort {
            name: names.unique(&offload.name),
            offload: OffloadId(index as u32),
            request_bits: 0,
            reply_bits: methods.iter().map(|m| m.reply).max().unwrap_or(0),
            ordered: ordered.contains(&OffloadId(index as u32)),
            argument_bits,
            methods,
            arrival: time.arrival,
            sequence: time.sequence,
            body,
        };
        port.reply_bits = port.reply_bits.max(port.ordered.into());
        port.request_bits = port.order_bits()
            + port.method_bits()
            + argument_bits
            + 64 * (u32::from(port.arrival) + u32::from(port.sequence));
        if let Some(body) = port.body {
            port.request_bits = port.order_bits() + body.request_bits();
            port.reply_bits = port.reply_bits.max(body.least_reply_bits());
        }
        ports.push(port);
    }
    ports
}

/// How the threads of an engine change the bodies of their packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BodyChanges {
    /// The most bytes by which a thread can exceed the body that arrived with its packet. The body
    /// buffer reserves that much room after each body.
    pub appended: u32,
    /// Whether a thread may change a body of which it has sent a copy. Each copy must then leave
    /// before its thread continues.
    pub after_copies: bool,
}

impl BodyChanges {
    /// Returns the changes of an engine.
    ///
    /// # Errors
    /// If it appends in a loop. The error contains the step and the reason.
    pub fn of(engine: &Engine) -> Result<Self, (usize, String)> {
        let steps = Steps::of(engine);
        Ok(Self { appended: steps.appended(engine)?, after_copies: steps.change_after_copies() })
    }
}

/// What each step does to bodies, and the steps that may follow it.
struct Steps {
    appended: Vec<u32>,
    /// The longest body that replaces another one.
    replaced: u32,
    changes: Vec<bool>,
    next: Vec<Vec<usize>>,
    after_copy: Vec<usize>,
}

impl Steps {
    fn of(engine: &Engine) -> Self {
        let count = engine.steps.len();
        let mut steps = Self {
            appended: vec![0; count],
            replaced: 0,
            changes: vec![false; count],
            next: vec![Vec::new(); count],
            after_copy: Vec::new(),
        };
        for (index, step) in engine.steps.iter().enumerate() {
            let definitions = Definitions::of(step);
            step.for_each_op(|op| match &op.kind {
                OpKind::Exit(Exit::Next(to)) => steps.next[index].push(to.index()),
                OpKind::Exit(Exit::Emit(to, _)) => {
                    steps.next[index].push(to.index());
                    steps.after_copy.push(to.index());
                }
                OpKind::Call { offload, method, args } => {
                    let OffloadTarget::Kind(config) = &engine.offloads[offload.index()].target
                    else {
                        return;
                    };
                    let method = &kind(config).methods[*method];
                    let is_inside = is_inside(&config.kind, method.name);
                    let Some(body) = kinds::body(&config.kind) else { return };
                    if !method.writes_packet || is_inside {
                        return;
                    }
                    steps.changes[index] = true;
                    let Extent::End { count } = method.extent else { return };
                    match (body.appended)(config) {
                        Appended::After(most) => {
                            let count = definitions.constant(args[count]);
                            let count = count.map_or(most, |count| count.low_u64() as u32);
                            steps.appended[index] += count.min(most);
                        }
                        Appended::Instead(most) => steps.replaced = steps.replaced.max(most),
                    }
                }
                _ => {}
            });
        }
        steps
    }

    fn appended(&self, engine: &Engine) -> Result<u32, (usize, String)> {
        for step in Loops::of(engine).iter().flatten() {
            if self.appended[step.index()] > 0 {
                return Err((
                    step.index(),
                    "bytes are appended in a loop: the body buffer of this machine reserves room \
                     for the most bytes that a thread appends, and a loop has no such limit"
                        .into(),
                ));
            }
        }
        // The maximum that is appended from a step on. Steps that append are not in loops, so the
        // values are final after as many rounds as there are steps.
        let mut most = self.appended.clone();
        for _ in 0..most.len() {
            for step in (0..most.len()).rev() {
                let behind = self.next[step].iter().map(|to| most[*to]).max();
                most[step] = self.appended[step] + behind.unwrap_or(0);
            }
        }
        Ok(self.replaced + most.first().copied().unwrap_or(0))
    }

    fn change_after_copies(&self) -> bool {
        let mut seen = vec![false; self.next.len()];
        let mut open = self.after_copy.clone();
        while let Some(step) = open.pop() {
            if !std::mem::replace(&mut seen[step], true) {
                open.extend(&self.next[step]);
            }
        }
        seen.iter().zip(&self.changes).any(|(seen, changes)| *seen && *changes)
    }
}

fn engine_method(callee: &Engine) -> PortMethod {
    let EngineKind::Call { params, reply } = &callee.kind else {
        unreachable!("verified programs call only engines that reply")
    };
    let arguments = params.iter().map(|p| callee.context[p.index()].width).collect();
    PortMethod { method: 0, name: "call".into(), arguments, reply: *reply }
}

fn kind_method(config: &Config, index: usize) -> Option<PortMethod> {
    let kind = registry::kind(&config.kind)?;
    let method = kind.methods.get(index)?;
    if is_inside(kind.name, method.name) || missing(kind.name).is_some() {
        return None;
    }
    Some(PortMethod {
        method: index,
        name: method.name.to_owned(),
        arguments: method.args.iter().map(|(_, ty)| ty.width(config)).collect(),
        reply: if method.reply == ReplyType::None { 0 } else { method.reply.width(config) },
    })
}
