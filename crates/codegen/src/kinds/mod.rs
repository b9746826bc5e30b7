//! Kinds whose methods are computed by plain operations on targets that have no unit for them.

mod crc;
mod siphash;

use wireloom_ir::{Offload, OffloadTarget, Op, OpKind};
use wireloom_offloads::Config;

use crate::expand::Before;

/// The expansion of a kind's calls.
struct Expansion {
    /// The name in the registry.
    kind: &'static str,
    /// Emits operations for a call that happens, and returns the last one.
    expand: fn(&mut Before<'_>, &Config, &Op) -> OpKind,
}

const EXPANSIONS: [Expansion; 2] = [crc::EXPANSION, siphash::EXPANSION];

/// Returns the expansion of a call, if its kind has one.
fn of<'a>(op: &Op, offloads: &'a [Offload]) -> Option<(&'static Expansion, &'a Config)> {
    let (OpKind::Call { offload, .. } | OpKind::Evaluate { offload, .. }) = &op.kind else {
        return None;
    };
    let OffloadTarget::Kind(config) = &offloads[offload.index()].target else { return None };
    let found = EXPANSIONS.iter().find(|expansion| expansion.kind == config.kind)?;
    Some((found, config))
}

/// Returns whether an operation is a call that is expanded.
pub fn is_expanded(op: &Op, offloads: &[Offload]) -> bool {
    of(op, offloads).is_some()
}

/// Emits operations for a call, and returns the last one; `None` if the call is not expanded. The
/// result of a call that does not happen is zero.
pub fn expand(before: &mut Before<'_>, op: &Op, offloads: &[Offload]) -> Option<OpKind> {
    let (expansion, config) = of(op, offloads)?;
    let reply = (expansion.expand)(before, config, op);
    let Some(guard) = op.guard else { return Some(reply) };
    let width = before.width(op.results[0]);
    let (reply, zero) = (before.op(width, reply), before.number(width, 0));
    Some(OpKind::Select(guard, reply, zero))
}
