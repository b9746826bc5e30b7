//! Gives each effect of a sequence the shortest guard that is equal where it stands.
//!
//! After an exit its guard is known to be false, so a later guard may equal one of the conditions
//! that it is made of, or always hold. [`Holds`] decides this.

use std::collections::HashMap;

use wireloom_compile::analysis::Definitions;
use wireloom_compile::analysis::conditions::Holds;
use wireloom_ir::{Op, OpKind, Step, Value};

use super::exits::{Cases, Conditions};

/// Returns the operations of a step in sequence, with short guards. The guards of a very large step
/// are not shortened.
pub fn shortened(step: &Step) -> Vec<Op> {
    let mut ops: Vec<Op> = step.ops().cloned().collect();
    let Some(conditions) = Conditions::of(&ops) else { return ops };
    let definitions = Definitions::of(step);
    let places = ops.iter().enumerate();
    let places = places.flat_map(|(at, op)| op.results.iter().map(move |result| (*result, at)));
    let guards = Guards { definitions: &definitions, places: places.collect(), conditions };
    let mut facts = Holds::new(&definitions, []);
    for (at, op) in ops.iter_mut().enumerate() {
        let Some(guard) = op.guard else { continue };
        op.guard = guards.shortest(guard, at, &facts);
        if let OpKind::Exit(_) = op.kind {
            facts.extend([(guard, false)]);
        }
    }
    ops
}

struct Guards<'a> {
    definitions: &'a Definitions<'a>,
    /// The index of the operation that computes a value.
    places: HashMap<Value, usize>,
    conditions: Conditions,
}

impl Guards<'_> {
    /// Returns the cheapest value before an operation that equals its guard in all cases that are
    /// still possible. Returns `None` if the guard holds in all of them.
    fn shortest(&self, guard: Value, at: usize, facts: &Holds<'_>) -> Option<Value> {
        let cases = Cases::of(facts, guard);
        if cases.always_holds() {
            return None;
        }
        let known = self.conditions.known.iter().copied();
        known
            .filter(|value| self.places[value] < at && cases.are_equal(*value))
            .min_by_key(|value| (self.is_connective(*value), self.places[value]))
            .or(Some(guard))
    }

    /// Returns whether a condition is composed of others.
    fn is_connective(&self, value: Value) -> bool {
        let operands = self.definitions.kind(value).map(OpKind::operands).unwrap_or_default();
        !operands.is_empty() && operands.iter().all(|v| self.conditions.known.contains(v))
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
        let guards: Vec<_> = shortened(&program.engines[0].steps[0])
            .iter()
            .filter(|op| op.kind.has_effect())
            .map(|op| op.guard.map(|guard| guard.0))
            .collect();
        assert_eq!(guards, [Some(short), Some(tagged), Some(tagged), None]);
    }
}
