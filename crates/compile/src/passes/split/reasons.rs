//! Explains why a step was split.

use wireloom_ir::{Engine, OffloadTarget, Op, OpKind};
use wireloom_offloads::registry;

use super::schedule::{Cause, Schedule};

/// Returns for each part of a step why it could not be merged with the previous part. The first
/// part has no reason. `ops` are the operations that were scheduled.
pub(super) fn reasons(engine: &Engine, ops: &[Op], schedule: &Schedule) -> Vec<Option<String>> {
    let mut reasons: Vec<Vec<String>> = vec![Vec::new(); schedule.parts as usize];
    for (index, op) in ops.iter().enumerate() {
        let part = (schedule.time[index] / 2) as usize;
        let cause = schedule.cause[index];
        let is_call = matches!(op.kind, OpKind::Call { .. });
        let has_reason = is_call || schedule.ports.is_some() && waits_itself(op, index, cause);
        if part == 0 || !has_reason || matches!(cause, Cause::Later | Cause::Long) {
            continue;
        }
        let sentence = sentence(engine, ops, index, cause);
        if !reasons[part].contains(&sentence) {
            reasons[part].push(sentence);
        }
    }
    reasons
        .into_iter()
        .enumerate()
        .map(|(part, list)| match &list[..] {
            _ if part == 0 => None,
            [] if schedule.ports.is_none() => {
                Some("the step is too long for one function of C".to_owned())
            }
            list => Some(list.join("; ")),
        })
        .collect()
}

/// Returns whether a packet access is late for its own sake, and not because of the value that it
/// writes.
fn waits_itself(op: &Op, index: usize, cause: Cause) -> bool {
    match cause {
        Cause::Access(access) => access == index,
        Cause::Offset(_) => matches!(op.kind, OpKind::ReadPacket { .. }),
        Cause::Change(_) => op.kind.has_effect(),
        Cause::Clear(_) => matches!(op.kind, OpKind::Reset { .. }),
        Cause::Overlap(_) => matches!(op.kind, OpKind::WritePacket { .. }),
        Cause::Packet(_) => matches!(op.kind, OpKind::ReadPacket { .. }),
        Cause::None
        | Cause::Later
        | Cause::Long
        | Cause::Reply(_)
        | Cause::Resize(_)
        | Cause::Port(_) => false,
    }
}

fn sentence(engine: &Engine, ops: &[Op], index: usize, cause: Cause) -> String {
    let op = &ops[index];
    let what = describe(engine, op);
    match cause {
        Cause::None | Cause::Later | Cause::Long => {
            format!("{what} must follow the operations before it")
        }
        Cause::Reply(call) => format!("{what} needs the reply of {}", name(engine, &ops[call])),
        Cause::Resize(edit) => {
            format!("{what} needs to know whether the {} succeeded", name(engine, &ops[edit]))
        }
        Cause::Port(call) => match (&op.kind, op.loc.line, ops[call].loc.line) {
            (OpKind::Call { offload, .. }, a, b) => {
                let offload = &engine.offloads[offload.index()].name;
                if a == b {
                    format!("two calls of `{offload}` in one step (line {a})")
                } else {
                    format!("two calls of `{offload}` in one step (lines {b}, {a})")
                }
            }
            _ => unreachable!("only calls share an offload's port"),
        },
        Cause::Packet(other) => {
            let before = &ops[other];
            match before.kind {
                OpKind::ReadPacket { .. } | OpKind::ReadMeta(_) => {
                    format!(
                        "{what} changes the packet that the {} reads first",
                        name(engine, before)
                    )
                }
                _ => format!("{what} needs the packet as the {} leaves it", name(engine, before)),
            }
        }
        Cause::Clear(read) => {
            format!("{what} clears bytes before the {} is done", name(engine, &ops[read]))
        }
        Cause::Access(access) if access == index => {
            format!("no header port is left for the {}", name(engine, op))
        }
        Cause::Access(access) => {
            format!(
                "{what} needs the {}, for which no header port was left",
                name(engine, &ops[access])
            )
        }
        Cause::Offset(other) => {
            let place = match ops[other].kind {
                OpKind::ReadContext(_) => "the step itself".to_owned(),
                _ => format!("the {}", name(engine, &ops[other])),
            };
            match op.kind {
                OpKind::ReadPacket { .. } => format!("{what} begins where {place} says"),
                _ => format!("{what} needs a header field that begins where {place} says"),
            }
        }
        Cause::Change(other) => {
            format!(
                "{what} cannot happen together with the {} before it",
                name(engine, &ops[other])
            )
        }
        Cause::Overlap(other) => {
            format!(
                "{what} may write the same as the {} before it, through another port",
                name(engine, &ops[other])
            )
        }
    }
}

/// Describes an operation as the subject of a sentence.
fn describe(engine: &Engine, op: &Op) -> String {
    match op.kind {
        OpKind::Call { .. } => format!("call of {}", name(engine, op)),
        _ => format!("the {}", name(engine, op)),
    }
}

/// Names an operation without an article: `nat.lookup` (line 38).
fn name(engine: &Engine, op: &Op) -> String {
    let name = match &op.kind {
        OpKind::Call { offload, method, .. } => call_name(engine, offload.index(), *method),
        OpKind::ReadPacket { .. } => "read of a header field".to_owned(),
        OpKind::WritePacket { .. } => "write of a header field".to_owned(),
        OpKind::ReadMeta(meta) => format!("read of `packet.{}`", meta.name()),
        OpKind::WriteMeta(meta, _) => format!("write of `packet.{}`", meta.name()),
        OpKind::Insert { .. } => "insertion of bytes".to_owned(),
        OpKind::Remove { .. } => "removal of bytes".to_owned(),
        OpKind::Reset { .. } => "reset of the packet".to_owned(),
        _ => "operation".to_owned(),
    };
    if op.loc.line == 0 { name } else { format!("{name} (line {})", op.loc.line) }
}

fn call_name(engine: &Engine, offload: usize, method: usize) -> String {
    let offload = &engine.offloads[offload];
    let method = match &offload.target {
        OffloadTarget::Kind(config) => {
            registry::kind(&config.kind).map_or("", |kind| kind.methods[method].name)
        }
        OffloadTarget::Engine(_) => "call",
    };
    format!("`{}.{method}`", offload.name)
}
