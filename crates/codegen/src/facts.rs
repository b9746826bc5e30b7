//! Conditions of a step that are known at its exits. The step IR has no branches: a dropped packet
//! passes through the guarded operations of the whole step.

use std::collections::HashMap;

use wireloom_ir::{BinaryOp, Code, Exit, Op, OpKind, Step, UnaryOp, Value};

use crate::steps::ops;

/// The number of one-bit values that are tried by contradiction. More would take too long.
const TRIED: usize = 400;

/// Returns the one-bit values that are known when a packet is neither dropped nor sent to the
/// control processor. The map is empty if every packet or no packet leaves that way.
pub fn facts(step: &Step) -> HashMap<Value, bool> {
    let ops = ops(step);
    let leaves = |op: &&&Op| matches!(op.kind, OpKind::Exit(Exit::Drop(..) | Exit::ToCpu(..)));
    let exits = ops.iter().filter(|op| matches!(op.kind, OpKind::Exit(_)));
    let is_last = ops.last().is_some_and(|op| leaves(&op));
    if is_last || !exits.clone().any(|op| leaves(&op)) {
        return HashMap::new();
    }
    let mut facts: HashMap<Value, bool> = HashMap::new();
    for op in exits.filter(leaves) {
        let Some(guard) = op.guard else { return HashMap::new() };
        facts.insert(guard, false);
    }
    let rules = rules(step, &ops);
    if !settle(&rules, &mut facts) {
        return HashMap::new();
    }
    facts
}

/// The conditions that are known when an exit of a step is taken.
pub struct Taken<'a> {
    rules: Vec<(&'a Op, Value)>,
    facts: HashMap<Value, bool>,
}

impl<'a> Taken<'a> {
    /// Collects the facts for the exit at position `exit` among the operations. A step of regions
    /// takes exactly one exit; any other step takes the first exit whose guard is 1.
    pub fn of(step: &Step, ops: &[&'a Op], exit: usize) -> Self {
        let others = match step.code {
            Code::Regions { .. } => ops.len(),
            Code::Sequential(_) => exit + 1,
        };
        let exits = ops[..others].iter().enumerate();
        let exits = exits.filter(|(_, op)| matches!(op.kind, OpKind::Exit(_)));
        let facts = exits.filter_map(|(at, op)| Some((op.guard?, at == exit)));
        let (rules, mut facts) = (rules(step, ops), facts.collect());
        settle(&rules, &mut facts);
        Self { rules, facts }
    }

    /// Whether a condition is certainly 1.
    pub fn holds(&self, condition: Value) -> bool {
        match self.facts.get(&condition) {
            Some(is) => *is,
            None => {
                let mut assumed = self.facts.clone();
                assumed.insert(condition, false);
                !conclude(&self.rules, &mut assumed)
            }
        }
    }
}

/// Returns the operations with a one-bit result.
pub fn rules<'a>(step: &Step, ops: &[&'a Op]) -> Vec<(&'a Op, Value)> {
    let is_bit = |value: &&Value| step.values[value.index()].width == 1;
    ops.iter()
        .filter_map(|op| Some((*op, *op.results.first().filter(|value| is_bit(value))?)))
        .collect()
}

/// Adds all consequences of the facts, and the opposite of each value that leads to a
/// contradiction. Returns `false` if facts contradict each other.
fn settle(rules: &[(&Op, Value)], facts: &mut HashMap<Value, bool>) -> bool {
    if !conclude(rules, facts) {
        return false;
    }
    loop {
        let before = facts.len();
        for (_, value) in rules.iter().take(TRIED) {
            for is in [false, true] {
                if facts.contains_key(value) {
                    break;
                }
                let mut assumed = facts.clone();
                assumed.insert(*value, is);
                if !conclude(rules, &mut assumed) {
                    facts.insert(*value, !is);
                    conclude(rules, facts);
                }
            }
        }
        if facts.len() == before {
            return true;
        }
    }
}

/// Adds the direct consequences of the facts. Returns `false` if facts contradict each other.
pub fn conclude(rules: &[(&Op, Value)], facts: &mut HashMap<Value, bool>) -> bool {
    loop {
        let before = facts.len();
        for (op, result) in rules {
            let known = |value: &Value| facts.get(value).copied();
            let mut found: Vec<(Value, bool)> = Vec::new();
            match &op.kind {
                OpKind::Const(bits) => found.push((*result, !bits.is_zero())),
                OpKind::Unary(UnaryOp::Not, a) => {
                    found.extend(known(result).map(|is| (*a, !is)));
                    found.extend(known(a).map(|is| (*result, !is)));
                }
                OpKind::Binary(binary @ (BinaryOp::And | BinaryOp::Or), a, b) => {
                    // An `and` that is 1, or an `or` that is 0, determines both operands.
                    let strong = *binary == BinaryOp::And;
                    match (known(result), known(a), known(b)) {
                        (Some(is), ..) if is == strong => found.extend([(*a, is), (*b, is)]),
                        (_, Some(one), _) | (_, _, Some(one)) if one != strong => {
                            found.push((*result, one));
                        }
                        (_, Some(_), Some(_)) => found.push((*result, strong)),
                        (Some(_), Some(_), _) => found.push((*b, !strong)),
                        (Some(_), _, Some(_)) => found.push((*a, !strong)),
                        _ => {}
                    }
                }
                _ => {}
            }
            for (value, is) in found {
                if *facts.entry(value).or_insert(is) != is {
                    return false;
                }
            }
        }
        if facts.len() == before {
            return true;
        }
    }
}
