//! Conditions that are known where packets leave a step.

use std::collections::HashMap;

use wireloom_ir::{Code, Exit, Op, OpKind, Step, Value};

use super::super::Definitions;
use super::Holds;

/// The number of one-bit values that are tried by contradiction. More would take too long.
const TRIED: usize = 400;

/// Returns the one-bit values that are known when a packet is neither dropped nor sent to the
/// control processor. The map is empty if every packet or no packet leaves that way.
pub fn forwarded(step: &Step) -> HashMap<Value, bool> {
    let leaves = |op: &&Op| matches!(op.kind, OpKind::Exit(Exit::Drop(..) | Exit::ToCpu(..)));
    let is_last = step.ops().last().is_some_and(|op| leaves(&op));
    if is_last || !step.ops().any(|op| leaves(&op)) {
        return HashMap::new();
    }
    let guards: Option<Vec<_>> =
        step.ops().filter(leaves).map(|op| Some((op.guard?, false))).collect();
    let Some(guards) = guards else { return HashMap::new() };
    let definitions = Definitions::of(step);
    let holds = settled(step, &definitions, guards);
    if holds.is_contradictory() {
        return HashMap::new();
    }
    bits(step).filter_map(|value| Some((value, holds.bit(value)?))).collect()
}

/// Returns what follows when the exit at position `exit` among a step's operations is taken. A step
/// of regions takes exactly one exit; any other step takes the first exit whose guard is 1.
pub fn taken<'a>(step: &Step, definitions: &'a Definitions<'a>, exit: usize) -> Holds<'a> {
    let others = match step.code {
        Code::Regions { .. } => usize::MAX,
        Code::Sequential(_) => exit + 1,
    };
    let exits = step.ops().enumerate().take(others);
    let exits = exits.filter(|(_, op)| matches!(op.kind, OpKind::Exit(_)));
    let guards = exits.filter_map(|(at, op)| Some((op.guard?, at == exit)));
    settled(step, definitions, guards.collect())
}

/// Returns everything that follows if guards have these bits.
fn settled<'a>(
    step: &Step,
    definitions: &'a Definitions<'a>,
    guards: Vec<(Value, bool)>,
) -> Holds<'a> {
    let mut holds = Holds::new(definitions, guards);
    let tried: Vec<Value> = bits(step).take(TRIED).collect();
    holds.probe(&tried);
    holds
}

/// Returns the one-bit values of a step, in order.
fn bits(step: &Step) -> impl Iterator<Item = Value> + '_ {
    let results = step.ops().filter_map(|op| op.results.first().copied());
    results.filter(|value| step.values[value.index()].width == 1)
}
