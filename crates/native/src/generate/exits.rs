//! Which exits need their guard tested.

use std::collections::HashMap;

use wireloom_ir::{BinaryOp, Op, OpKind, UnaryOp, Value};

/// More independent conditions than this are not tried out.
const MOST_CONDITIONS: usize = 12;

/// Whether the guards of the exits among these operations cover every case, so that the last exit happens whenever
/// none before it does. Conditions other than connectives of one bit are taken to be independent.
pub fn are_exhaustive(ops: &[&Op]) -> bool {
    let mut guards = Vec::new();
    for op in ops {
        if let OpKind::Exit(_) = op.kind {
            match op.guard {
                Some(guard) => guards.push(guard),
                None => return true,
            }
        }
    }
    let definitions: HashMap<Value, &Op> =
        ops.iter().flat_map(|op| op.results.iter().map(move |r| (*r, *op))).collect();
    let mut conditions = Vec::new();
    for guard in &guards {
        collect(*guard, &definitions, &mut conditions);
        if conditions.len() > MOST_CONDITIONS {
            return false;
        }
    }
    (0u32..1 << conditions.len()).all(|case| {
        let mut known: HashMap<Value, bool> =
            conditions.iter().enumerate().map(|(bit, value)| (*value, case >> bit & 1 == 1)).collect();
        guards.iter().any(|guard| holds(*guard, &definitions, &mut known))
    })
}

/// The operands of a connective of one bit; `None` for anything else.
fn connective(value: Value, definitions: &HashMap<Value, &Op>) -> Option<Vec<Value>> {
    match &definitions.get(&value)?.kind {
        OpKind::Unary(UnaryOp::Not, a) => Some(vec![*a]),
        OpKind::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, a, b) => Some(vec![*a, *b]),
        OpKind::Select(c, a, b) => Some(vec![*c, *a, *b]),
        OpKind::Const(_) => Some(vec![]),
        _ => None,
    }
}

fn collect(value: Value, definitions: &HashMap<Value, &Op>, conditions: &mut Vec<Value>) {
    if conditions.len() > MOST_CONDITIONS || conditions.contains(&value) {
        return;
    }
    match connective(value, definitions) {
        Some(operands) => operands.into_iter().for_each(|v| collect(v, definitions, conditions)),
        None => conditions.push(value),
    }
}

fn holds(value: Value, definitions: &HashMap<Value, &Op>, known: &mut HashMap<Value, bool>) -> bool {
    if let Some(known) = known.get(&value) {
        return *known;
    }
    let mut of = |v: Value| holds(v, definitions, known);
    let result = match &definitions[&value].kind {
        OpKind::Unary(_, a) => !of(*a),
        OpKind::Binary(BinaryOp::And, a, b) => of(*a) & of(*b),
        OpKind::Binary(BinaryOp::Or, a, b) => of(*a) | of(*b),
        OpKind::Binary(_, a, b) => of(*a) ^ of(*b),
        OpKind::Select(c, a, b) => {
            if of(*c) {
                of(*a)
            } else {
                of(*b)
            }
        }
        OpKind::Const(bits) => !bits.is_zero(),
        _ => unreachable!("conditions are known"),
    };
    known.insert(value, result);
    result
}

/// If the last of these operations is an exit that happens whenever no other does: the same exit without a guard.
pub fn last_unguarded(ops: &[&Op]) -> Option<Op> {
    let last = ops.last()?;
    let redundant = matches!(last.kind, OpKind::Exit(_)) && last.guard.is_some() && are_exhaustive(ops);
    redundant.then(|| Op { guard: None, ..(*last).clone() })
}
