//! Finds the reads of constant arrays.
//!
//! Lowering turns `TABLE[i]` into a choice for each element, `i == 2 ? 30 : i == 1 ? 20 : i == 0 ?
//! 10 : 0`. A C compiler takes long to read hundreds of these, and does not turn them back into a
//! table.

use std::collections::BTreeMap;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Op, OpKind, Value};

/// The fewest choices that become a table.
const FEWEST: usize = 8;

/// A read of a constant array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The index.
    pub index: Value,
    /// The elements, from index 0.
    pub elements: Vec<Bits>,
    /// The value for indices past the last element.
    pub beyond: Bits,
}

/// Finds the lookups among operations. `definition` gives the operation that defines a value.
/// The result has an entry for each operation: those that are lookups.
pub fn lookups(ops: &[&Op], definition: &[Option<usize>]) -> Vec<Option<Lookup>> {
    let mut found = vec![None; ops.len()];
    let mut inside = vec![false; ops.len()];
    // The outermost choice of a chain comes last.
    for index in (0..ops.len()).rev() {
        if !inside[index] {
            found[index] = lookup(ops, definition, index, &mut inside);
        }
    }
    found
}

fn lookup(
    ops: &[&Op],
    definition: &[Option<usize>],
    start: usize,
    inside: &mut [bool],
) -> Option<Lookup> {
    let of = |value: Value| definition[value.index()].map(|index| (index, &ops[index].kind));
    let constant = |value: Value| match of(value) {
        Some((_, OpKind::Const(bits))) => Some(bits),
        _ => None,
    };
    let mut chain = Vec::new();
    let mut chosen: BTreeMap<usize, &Bits> = BTreeMap::new();
    let mut by = None;
    let mut at = (start, &ops[start].kind);
    while let OpKind::Select(condition, value, rest) = at.1
        && let Some((_, OpKind::Binary(BinaryOp::Eq, a, b))) = of(*condition)
        && let Some(element) = constant(*value)
    {
        let (index, key) = match (constant(*a), constant(*b)) {
            (None, Some(key)) => (*a, key),
            (Some(key), None) => (*b, key),
            _ => break,
        };
        let Some(key) = key.to_u64().filter(|_| by.is_none_or(|by| by == index)) else { break };
        by = Some(index);
        chosen.entry(usize::try_from(key).ok()?).or_insert(element);
        chain.push(at.0);
        at = of(*rest)?;
    }
    let OpKind::Const(beyond) = at.1 else { return None };
    let last = *chosen.last_key_value()?.0;
    // A table with more gaps than elements would be larger than the choices.
    if chosen.len() < FEWEST || last >= 2 * chosen.len() {
        return None;
    }
    chain.into_iter().skip(1).for_each(|index| inside[index] = true);
    let elements = (0..=last).map(|i| chosen.get(&i).map_or(beyond, |bits| *bits).clone());
    Some(Lookup { index: by?, elements: elements.collect(), beyond: beyond.clone() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireloom_ir::Loc;

    /// The choices `i == 0 ? 100 : i == 1 ? 101 ...` with `count` elements.
    fn choices(count: u32) -> Vec<Op> {
        let op = |kind, result: u32| Op {
            results: vec![Value(result)],
            kind,
            guard: None,
            loc: Loc::default(),
        };
        let constant = |value: u32| OpKind::Const(Bits::new(8, value.into()));
        let mut ops = vec![op(OpKind::ReadMeta(wireloom_ir::Meta::Ingress), 0), op(constant(7), 1)];
        let mut rest = Value(1);
        for i in 0..count {
            let first = 2 + 4 * i;
            ops.push(op(OpKind::Const(Bits::new(16, i.into())), first));
            ops.push(op(OpKind::Binary(BinaryOp::Eq, Value(0), Value(first)), first + 1));
            ops.push(op(constant(100 + i), first + 2));
            ops.push(op(OpKind::Select(Value(first + 1), Value(first + 2), rest), first + 3));
            rest = Value(first + 3);
        }
        ops
    }

    fn found(ops: &[Op]) -> Vec<(usize, Lookup)> {
        let ops: Vec<&Op> = ops.iter().collect();
        let definition: Vec<Option<usize>> = (0..ops.len()).map(Some).collect();
        let found = lookups(&ops, &definition).into_iter().enumerate();
        found.filter_map(|(index, lookup)| Some((index, lookup?))).collect()
    }

    #[test]
    fn a_chain_of_choices_by_one_index_is_a_table() {
        let ops = choices(12);
        let [(index, lookup)] = &found(&ops)[..] else { panic!("one lookup") };
        assert_eq!(*index, ops.len() - 1);
        assert_eq!(lookup.index, Value(0));
        assert_eq!(lookup.elements, (100..112).map(|v| Bits::new(8, v)).collect::<Vec<_>>());
        assert_eq!(lookup.beyond, Bits::new(8, 7));
    }

    #[test]
    fn few_choices_and_choices_with_gaps_stay() {
        assert_eq!(found(&choices(FEWEST as u32 - 1)), []);
        let mut sparse = choices(12);
        sparse[2].kind = OpKind::Const(Bits::new(16, 500));
        assert_eq!(found(&sparse), []);
    }

    #[test]
    fn a_choice_by_another_value_ends_the_chain() {
        let mut ops = choices(12);
        let other = Value(4);
        // Choice 5 compares something else: what lies before it is a table of its own if it is
        // long enough, what comes after it is not, since it does not end in a constant.
        let OpKind::Binary(_, left, _) = &mut ops[2 + 4 * 5 + 1].kind else {
            panic!("a comparison")
        };
        *left = other;
        assert_eq!(found(&ops), []);
        let mut ops = choices(24);
        let OpKind::Binary(_, left, _) = &mut ops[2 + 4 * 10 + 1].kind else {
            panic!("a comparison")
        };
        *left = other;
        let [(index, lookup)] = &found(&ops)[..] else { panic!("one lookup") };
        assert_eq!((*index, lookup.elements.len()), (2 + 4 * 9 + 3, 10));
    }
}
