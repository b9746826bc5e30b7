//! The offload ports of an engine, and the room that its calls need in the body buffer.

use wireloom_compile::analysis::loops::Loops;
use wireloom_compile::analysis::{Definitions, order};
use wireloom_ir::{Engine, EngineId, EngineKind, Exit, OffloadId, OffloadTarget, OpKind, Program};
use wireloom_offloads::registry::{self, Extent};
use wireloom_offloads::{Config, ReplyType, ValueType};

use super::calls::{TimeUse, kind, looks_at_packet};
use super::kinds::{self, is_inside, missing};
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
            port.request_bits = body.request_bits();
        }
        ports.push(port);
    }
    ports
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
            OpKind::Exit(Exit::Emit(to, _)) => {
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
