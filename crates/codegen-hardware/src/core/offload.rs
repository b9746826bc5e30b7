//! The ports of an engine's offloads, and the logic of offloads that the core computes itself.

use wireloom_compile::analysis::loops::Loops;
use wireloom_compile::analysis::{Definitions, order};
use wireloom_ir::{Engine, EngineId, EngineKind, Exit, OffloadId, OffloadTarget, OpKind, Program};
use wireloom_offloads::registry::{Extent, Kind, Method};
use wireloom_offloads::{Config, ReplyType, ValueType, registry};

use super::kinds;

/// A port through which an engine calls an offload.
///
/// A request consists of these fields, from the most significant bit: whether it is the packet's
/// last one, and the packet's ticket, if the calls of packets take effect in order; the index of
/// the method among the used ones, if there are several; the arguments, zero-extended to the
/// longest arguments of any method; the arrival time and the sequence number of the packet, if the
/// offload uses them. The reply is as wide as the widest one; shorter replies are zero-extended.
///
/// An offload that accesses the packet beyond the header window has its own request format
/// ([`Body`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffloadPort {
    /// The offload's name, as a legal identifier.
    pub name: String,
    /// The offload in the engine.
    pub offload: OffloadId,
    /// The number of bits of a request's data.
    pub request_bits: u32,
    /// The number of bits of a reply; 0 if no call gets one. If a used method replies or if order
    /// matters, every call gets a reply, which may be zero.
    pub reply_bits: u32,
    /// The number of bits of the longest arguments.
    pub argument_bits: u32,
    /// The methods that the engine uses, in the order of their numbers in requests.
    pub methods: Vec<PortMethod>,
    /// Whether requests carry the arrival time (64 bits).
    pub arrival: bool,
    /// Whether requests carry the packet's sequence number (64 bits).
    pub sequence: bool,
    /// Whether packets must call it in the order of their arrival (`wl_order_gate`).
    pub ordered: bool,
    /// Its access to packets' bodies, if any.
    pub body: Option<Body>,
}

/// How an offload accesses the body of a packet, which is the bytes after its header window. The
/// engine handles the window itself (the pass `window`), so positions in requests count from the
/// body's first byte, except those of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// `wl_payload`: reads and writes of chunks; `append` is a write after the end of the body.
    Chunks {
        /// The number of bytes of a chunk.
        bytes: u32,
        /// Whether chunks are read.
        reads: bool,
        /// Whether chunks are written.
        writes: bool,
    },
    /// `wl_body_sum`.
    Sum,
    /// `wl_body_match`, which searches the packet as it arrived, including the header window.
    Search,
}

/// The number of bits of a position relative to the beginning of a packet's body. It is signed,
/// since it may lie before the body.
pub const BEGIN_BITS: u32 = 17;
/// The number of bits of the address of a body in the body buffer, in beats.
pub const PLACE_BITS: u32 = 11;

impl Body {
    /// The number of bits of a request.
    fn request_bits(self) -> u32 {
        let place = PLACE_BITS + BEGIN_BITS;
        match self {
            Self::Chunks { bytes, reads, writes } => {
                place + 16 + u32::from(reads && writes) + if writes { 8 * bytes } else { 0 }
            }
            Self::Sum => place + 3 * 16,
            Self::Search => PLACE_BITS + 3 * 16,
        }
    }
}

/// The number of bits of a ticket, which is the low bits of the packet's number.
pub const TICKET_BITS: u32 = 16;

/// A method that an engine uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortMethod {
    /// Its index in the kind; 0 for an engine.
    pub method: usize,
    /// Its name.
    pub name: String,
    /// The widths of its arguments in bits.
    pub arguments: Vec<u32>,
    /// The width of its reply in bits; 0 if it has none.
    pub reply: u32,
}

impl OffloadPort {
    /// The number of bits that identify the method; 0 if there is only one.
    pub fn method_bits(&self) -> u32 {
        bits_for(self.methods.len())
    }

    /// The number of bits of a request that give its position in the order of packets.
    pub fn order_bits(&self) -> u32 {
        if self.ordered { 1 + TICKET_BITS } else { 0 }
    }
}

/// Returns the number of bits that number `count` things; 0 if there is only one.
pub fn bits_for(count: usize) -> u32 {
    count.max(1).next_power_of_two().trailing_zeros()
}

/// The parts of the packet's information that an engine and the engines that it calls use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TimeUse {
    /// The arrival time.
    pub arrival: bool,
    /// The sequence number.
    pub sequence: bool,
}

impl TimeUse {
    /// Returns the time use of an engine of a program.
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

    fn of_offload(program: &Program, engine: &Engine, offload: usize) -> Self {
        match &engine.offloads[offload].target {
            OffloadTarget::Engine(id) => Self::of(program, &program.engines[id.index()]),
            OffloadTarget::Kind(config) => Self::of_kind(engine, offload, config),
        }
    }

    fn of_kind(engine: &Engine, offload: usize, config: &Config) -> Self {
        let kind = kind(config);
        let expires = kind.expiry.is_some_and(|param| !config.param(param).is_zero());
        let mut used = Self { arrival: expires, sequence: false };
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

fn kind(config: &Config) -> &'static Kind {
    registry::kind(&config.kind).expect("verified programs use kinds of the registry")
}

/// Whether an offload accesses the packet.
pub fn looks_at_packet(target: &OffloadTarget) -> bool {
    let accesses = |method: &Method| method.reads_packet || method.writes_packet;
    matches!(target, OffloadTarget::Kind(config) if kind(config).methods.iter().any(accesses))
}

/// Whether the core computes a method of a kind itself.
pub fn is_inside(kind: &str, method: &str) -> bool {
    kinds::find(kind).is_some_and(|kind| (kind.inside)(method).is_some())
}

/// Returns the reason why no hardware can provide a kind, or `None` if some can. The description of
/// a machine says whether that machine does.
pub fn missing(kind: &str) -> Option<&'static str> {
    kinds::find(kind)?.missing
}

/// Whether a lookup pipeline can call a method of a kind.
pub fn in_pipeline(kind: &str, method: &str) -> bool {
    kinds::find(kind).is_some_and(|kind| (kind.in_pipeline)(method))
}

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
            port.request_bits = body.request_bits();
        }
        ports.push(port);
    }
    ports
}

/// Returns, for each step and offload of an engine, whether a thread can no longer call the offload
/// after the step.
pub fn last_calls(engine: &Engine) -> Vec<Vec<bool>> {
    let mut next = vec![Vec::new(); engine.steps.len()];
    let mut calls = vec![vec![false; engine.offloads.len()]; engine.steps.len()];
    for (index, step) in engine.steps.iter().enumerate() {
        step.for_each_op(|op| match op.kind {
            OpKind::Call { offload, .. } => calls[index][offload.index()] = true,
            OpKind::Exit(Exit::Next(to) | Exit::Emit(to)) => next[index].push(to.index()),
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

/// Returns the maximum number of bytes that a thread appends to its packet. The body buffer
/// reserves that much room after each body.
///
/// # Errors
/// If it appends in a loop, or if it changes a body that may still have to leave unchanged. The
/// error contains the step and the reason.
pub fn appended(engine: &Engine) -> Result<u32, (usize, String)> {
    let loops = Loops::of(engine);
    let steps = engine.steps.len();
    let mut own = vec![0u32; steps];
    let mut changes = vec![false; steps];
    let mut next = vec![Vec::new(); steps];
    let mut emits = vec![Vec::new(); steps];
    for (index, step) in engine.steps.iter().enumerate() {
        let definitions = Definitions::of(step);
        step.for_each_op(|op| match &op.kind {
            OpKind::Exit(Exit::Next(to)) => next[index].push(to.index()),
            OpKind::Exit(Exit::Emit(to)) => {
                next[index].push(to.index());
                emits[index].push(to.index());
            }
            OpKind::Call { offload, method, args } => {
                let OffloadTarget::Kind(config) = &engine.offloads[offload.index()].target else {
                    return;
                };
                let method = &kind(config).methods[*method];
                let is_inside = is_inside(&config.kind, method.name);
                if kinds::body(&config.kind).is_none() || !method.writes_packet || is_inside {
                    return;
                }
                changes[index] = true;
                if let Extent::End { count } = method.extent {
                    let chunk = ValueType::Value.width(config) / 8;
                    let count = definitions.constant(args[count]);
                    let count = count.map_or(chunk, |count| count.low_u64() as u32);
                    own[index] += count.min(chunk);
                }
            }
            _ => {}
        });
    }
    for step in loops.iter().flatten() {
        if own[step.index()] > 0 {
            return Err((
                step.index(),
                "bytes are appended in a loop: the body buffer of this machine reserves room for \
                 the most bytes that a thread appends, and a loop has no such limit"
                    .into(),
            ));
        }
    }
    let reach = |from: &[usize]| {
        let mut seen = vec![false; steps];
        let mut open = from.to_vec();
        while let Some(step) = open.pop() {
            if !std::mem::replace(&mut seen[step], true) {
                open.extend(&next[step]);
            }
        }
        seen
    };
    for to in &emits {
        if let Some(step) =
            reach(to).iter().zip(&changes).position(|(reached, changes)| *reached && *changes)
        {
            return Err((
                step,
                "the packet's body is changed after `emit`: an earlier copy may not have left yet, \
                 and this machine has one body for all copies"
                    .into(),
            ));
        }
    }
    // The maximum that is appended from a step on. Steps that append are not in loops, so the
    // values are final after as many rounds as there are steps.
    let mut most = own.clone();
    for _ in 0..steps {
        for step in (0..steps).rev() {
            let behind = next[step].iter().map(|to| most[*to]).max();
            most[step] = own[step] + behind.unwrap_or(0);
        }
    }
    Ok(most.first().copied().unwrap_or(0))
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
