//! Gives each effect of a sequence the shortest guard that is equal where it stands.
//!
//! After an exit its guard is known to be false, so a later guard may equal one of the conditions
//! that it is made of, or always hold. [`Tables`] decides this exactly.

use std::collections::HashMap;

use wireloom_ir::{Op, OpKind, Value};

use super::exits::{Table, Tables};

/// Shortens the guards of a sequence. One with too many conditions stays as it is.
pub fn shorten(ops: &mut [Op]) {
    let Some(tables) = Tables::of(ops) else { return };
    let definitions =
        ops.iter().enumerate().flat_map(|(at, op)| op.results.iter().map(move |r| (*r, at)));
    let definitions: HashMap<Value, usize> = definitions.collect();
    let guards = Guards { ops: &*ops, tables: &tables, definitions: &definitions };
    let mut possible = vec![u64::MAX; tables.words];
    let mut shortest = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        shortest.push(op.guard.and_then(|guard| guards.shortest(guard, at, &possible)));
        if let (OpKind::Exit(_), Some(guard)) = (&op.kind, op.guard) {
            let taken = &tables.known[&guard];
            possible.iter_mut().zip(taken).for_each(|(possible, taken)| *possible &= !taken);
        }
    }
    ops.iter_mut().zip(shortest).for_each(|(op, guard)| op.guard = guard);
}

struct Guards<'a> {
    ops: &'a [Op],
    tables: &'a Tables,
    /// The index of the operation that computes a value.
    definitions: &'a HashMap<Value, usize>,
}

impl Guards<'_> {
    /// Returns the cheapest value before an operation that equals its guard in all possible cases.
    /// Returns `None` if the guard holds in all of them.
    fn shortest(&self, guard: Value, at: usize, possible: &Table) -> Option<Value> {
        let open = |table: &Table| -> Table {
            table.iter().zip(possible).map(|(word, possible)| word & possible).collect()
        };
        let wanted = open(&self.tables.known[&guard]);
        if wanted == *possible {
            return None;
        }
        let same = self.tables.known.iter().filter(|(_, table)| open(table) == wanted);
        let defined = same.map(|(value, _)| *value).filter(|value| self.definitions[value] < at);
        defined
            .min_by_key(|value| (self.is_connective(*value), self.definitions[value]))
            .or(Some(guard))
    }

    /// Returns whether a condition is composed of others.
    fn is_connective(&self, value: Value) -> bool {
        let operands = self.ops[self.definitions[&value]].kind.operands();
        !operands.is_empty() && operands.iter().all(|v| self.tables.known.contains_key(v))
    }
}

#[cfg(test)]
mod tests {
    use wireloom_ir::builder::{EngineBuilder, program_of};
    use wireloom_ir::{BinaryOp, Exit, UnaryOp};

    use super::*;

    #[test]
    fn a_guard_becomes_the_condition_that_it_equals_after_the_exits_before_it() {
        let mut engine = EngineBuilder::packet("e");
        let kept = engine.context("kept", 8);
        let (mut short, mut tagged) = (0, 0);
        engine.step("only", |s| {
            let zero = s.constant(16, 0);
            let first = s.read_packet(zero, 0, 8);
            let second = s.read_packet(zero, 8, 8);
            let limit = s.constant(8, 4);
            let is_short = s.binary(BinaryOp::Ult, first, limit);
            let is_tagged = s.binary(BinaryOp::Ult, second, limit);
            (short, tagged) = (is_short.0, is_tagged.0);
            let fine = s.unary(UnaryOp::Not, is_short);
            let plain = s.unary(UnaryOp::Not, is_tagged);
            let wanted = s.binary(BinaryOp::And, fine, is_tagged);
            let other = s.binary(BinaryOp::And, fine, plain);
            s.when(is_short).exit(Exit::Done);
            s.when(wanted).write(kept, first);
            s.when(wanted).exit(Exit::Done);
            s.when(other).exit(Exit::Finish);
        });
        let program = program_of(engine);
        let mut ops: Vec<Op> = program.engines[0].steps[0].ops().cloned().collect();
        shorten(&mut ops);
        let guards: Vec<_> = ops
            .iter()
            .filter(|op| op.kind.has_effect())
            .map(|op| op.guard.map(|guard| guard.0))
            .collect();
        assert_eq!(guards, [Some(short), Some(tagged), Some(tagged), None]);
    }
}
