//! Which exits need their guard tested.

use std::collections::HashMap;

use wireloom_ir::{BinaryOp, Op, OpKind, UnaryOp, Value};

/// More independent conditions than this are not tried out.
const MOST_CONDITIONS: usize = 14;

/// If the last of these operations is an exit that happens whenever no other does: the same exit without a guard.
pub fn last_unguarded(ops: &[&Op]) -> Option<Op> {
    let last = ops.last()?;
    let redundant = matches!(last.kind, OpKind::Exit(_)) && last.guard.is_some() && are_exhaustive(ops);
    redundant.then(|| Op { guard: None, ..(*last).clone() })
}

/// Whether the guards of the exits among these operations cover every case. Conditions other than connectives of one
/// bit are taken to be independent.
fn are_exhaustive(ops: &[&Op]) -> bool {
    let exits: Vec<&Op> = ops.iter().copied().filter(|op| matches!(op.kind, OpKind::Exit(_))).collect();
    let guards: Vec<Value> = exits.iter().filter_map(|op| op.guard).collect();
    if guards.len() < exits.len() {
        return true;
    }
    let definitions: Definitions<'_> =
        ops.iter().flat_map(|op| op.results.iter().map(move |r| (*r, *op))).collect();
    let mut conditions = Vec::new();
    for guard in &guards {
        collect(*guard, &definitions, &mut conditions);
        if conditions.len() > MOST_CONDITIONS {
            return false;
        }
    }
    // A truth table has a bit for each case of the conditions, 64 to a word.
    let words = 1usize << conditions.len().saturating_sub(6);
    let mut tables: HashMap<Value, Table> =
        conditions.iter().enumerate().map(|(bit, value)| (*value, independent(bit, words))).collect();
    let mut covered = vec![0u64; words];
    for guard in &guards {
        let table = table(*guard, &definitions, &mut tables, words);
        covered.iter_mut().zip(table).for_each(|(all, one)| *all |= one);
    }
    covered.iter().all(|word| *word == u64::MAX)
}

type Definitions<'a> = HashMap<Value, &'a Op>;
type Table = Vec<u64>;

/// The table of condition number `bit`: in case `i` it is bit `bit` of `i`.
fn independent(bit: usize, words: usize) -> Table {
    let word = |index: usize| match bit {
        0 => 0xaaaa_aaaa_aaaa_aaaa,
        1 => 0xcccc_cccc_cccc_cccc,
        2 => 0xf0f0_f0f0_f0f0_f0f0,
        3 => 0xff00_ff00_ff00_ff00,
        4 => 0xffff_0000_ffff_0000,
        5 => 0xffff_ffff_0000_0000,
        _ if index >> (bit - 6) & 1 == 1 => u64::MAX,
        _ => 0,
    };
    (0..words).map(word).collect()
}

/// The operands of a connective of one bit; `None` for anything else.
fn connective(value: Value, definitions: &Definitions<'_>) -> Option<Vec<Value>> {
    match &definitions.get(&value)?.kind {
        OpKind::Unary(UnaryOp::Not, a) => Some(vec![*a]),
        OpKind::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, a, b) => Some(vec![*a, *b]),
        OpKind::Const(_) => Some(vec![]),
        _ => None,
    }
}

fn collect(value: Value, definitions: &Definitions<'_>, conditions: &mut Vec<Value>) {
    if conditions.len() > MOST_CONDITIONS || conditions.contains(&value) {
        return;
    }
    match connective(value, definitions) {
        Some(operands) => operands.into_iter().for_each(|v| collect(v, definitions, conditions)),
        None => conditions.push(value),
    }
}

fn table(
    value: Value,
    definitions: &Definitions<'_>,
    tables: &mut HashMap<Value, Table>,
    words: usize,
) -> Table {
    if let Some(known) = tables.get(&value) {
        return known.clone();
    }
    let mut of = |v: Value| table(v, definitions, tables, words);
    let zip = |a: Table, b: Table, op: fn(u64, u64) -> u64| -> Table {
        a.into_iter().zip(b).map(|(a, b)| op(a, b)).collect()
    };
    let result = match &definitions[&value].kind {
        OpKind::Unary(_, a) => of(*a).into_iter().map(|word| !word).collect(),
        OpKind::Binary(BinaryOp::And, a, b) => zip(of(*a), of(*b), |a, b| a & b),
        OpKind::Binary(BinaryOp::Or, a, b) => zip(of(*a), of(*b), |a, b| a | b),
        OpKind::Binary(_, a, b) => zip(of(*a), of(*b), |a, b| a ^ b),
        OpKind::Const(bits) => vec![if bits.is_zero() { 0 } else { u64::MAX }; words],
        _ => unreachable!("conditions have their tables"),
    };
    tables.insert(value, result.clone());
    result
}
