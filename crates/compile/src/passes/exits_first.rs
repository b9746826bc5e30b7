//! Places exits as early as they can be taken.
//!
//! A step in the form of regions computes the conditions of all its exits, executes the effects
//! that they guard, and exits at its end. In that form a packet that is dropped still runs the
//! whole step, and the conditions of a packet that is not dropped hold registers to the end. A
//! processor that executes a step for one packet does less work if it exits at the first condition
//! that decides. This pass places each exit before the effects that do not happen when it is taken:
//!
//! ```text
//! %fine = not %short                      drop 1 when %short
//! %bad2 = and %fine, %bad                 drop 2 when %bad
//! %good = and %fine, not %bad             write x
//! write x when %good                ->    next forward
//! drop 1 when %short
//! drop 2 when %bad2
//! next forward when %good
//! ```
//!
//! [`Holds`] finds what excludes what. Reads come before what changes them. With
//! [`Placement::AtUse`] values are computed where they are needed first, and guards become shorter
//! or disappear: after an exit its condition is known to be false. [`Placement::InOrder`] leaves
//! the other computations and the guards as they are: C compilers place computations themselves.

use std::collections::{HashMap, HashSet};

use wireloom_ir::{BinaryOp, Block, Code, Engine, Op, OpKind, Step, UnaryOp, Value, ValueInfo};

use crate::analysis::Definitions;
use crate::analysis::conditions::Holds;
use crate::analysis::resources::{Resource, changes, reads};

/// The most comparisons of operations with which exits move. More take too long.
const MOST: usize = 4_000_000;

/// The bits within which fields are read together. Most memory commands read 8 words at most.
const NEAR: u32 = 192;

/// Where computations stand that no exit needs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// Before the first effect that uses them. Reads of near fields stand together, and so do reads
    /// of variables.
    AtUse,
    /// In the order of the step, before the effects that they preceded. Guards stay as they are.
    InOrder,
}

/// Returns a step of regions as a sequence with its exits first. Any other step stays as it is, and
/// so does a very large one.
pub fn exits_first(engine: &Engine, step: &Step, placement: Placement) -> Step {
    let Code::Regions { .. } = step.code else { return step.clone() };
    let own: Vec<&Op> = step.ops().collect();
    let exits = own.iter().filter(|op| is_exit(op)).count();
    let effects = own.iter().filter(|op| op.kind.has_effect()).count();
    if exits * effects * own.len() > MOST {
        return step.clone();
    }
    let definitions = Definitions::of(step);
    let mut sequence = Sequence::new(engine, step, &definitions, &own, placement);
    sequence.run();
    let Sequence { out, values, .. } = sequence;
    Step { values, code: Code::Sequential(Block { ops: used(out) }), ..step.clone() }
}

fn is_exit(op: &Op) -> bool {
    matches!(op.kind, OpKind::Exit(_))
}

/// Removes operations that have no effect and whose results nothing uses.
fn used(ops: Vec<Op>) -> Vec<Op> {
    let mut used: HashSet<Value> = HashSet::new();
    let mut kept: Vec<Op> = Vec::new();
    for op in ops.into_iter().rev() {
        if op.kind.has_effect() || op.results.iter().any(|result| used.contains(result)) {
            used.extend(op.kind.operands().into_iter().chain(op.guard));
            kept.push(op);
        }
    }
    kept.reverse();
    kept
}

struct Sequence<'a> {
    engine: &'a Engine,
    ops: &'a [&'a Op],
    placement: Placement,
    definition: HashMap<Value, usize>,
    /// For each exit, the effects that do not happen when it is taken.
    excluded: HashMap<usize, HashSet<usize>>,
    /// What follows from the fact that no exit so far was taken.
    facts: Holds<'a>,
    placed: Vec<bool>,
    values: Vec<ValueInfo>,
    /// Shorter equal conditions, by their operation.
    made: HashMap<(BinaryOp, Value, Value), Value>,
    inverted: HashMap<Value, Value>,
    out: Vec<Op>,
}

impl<'a> Sequence<'a> {
    fn new(
        engine: &'a Engine,
        step: &Step,
        definitions: &'a Definitions<'a>,
        ops: &'a [&'a Op],
        placement: Placement,
    ) -> Self {
        let results = ops.iter().enumerate();
        let definition =
            results.flat_map(|(at, op)| op.results.iter().map(move |value| (*value, at)));
        let mut sequence = Self {
            engine,
            ops,
            placement,
            definition: definition.collect(),
            excluded: HashMap::new(),
            facts: Holds::new(definitions, []),
            placed: vec![false; ops.len()],
            values: step.values.clone(),
            made: HashMap::new(),
            inverted: HashMap::new(),
            out: Vec::new(),
        };
        for exit in (0..ops.len()).filter(|at| is_exit(ops[*at])) {
            let excluded = sequence.excluded_by(exit);
            sequence.excluded.insert(exit, excluded);
        }
        sequence
    }

    /// Returns the effects that do not happen when an exit is taken.
    fn excluded_by(&self, exit: usize) -> HashSet<usize> {
        let Some(guard) = self.ops[exit].guard else { return HashSet::new() };
        let mut taken = self.facts.clone();
        if !taken.assume(guard, true) {
            // It is never taken.
            return (0..self.ops.len()).collect();
        }
        let is_excluded = |other: &usize| {
            let op = self.ops[*other];
            let Some(guard) = op.guard.filter(|_| op.kind.has_effect()) else { return false };
            match taken.bit(guard) {
                Some(happens) => !happens,
                None => !taken.clone().assume(guard, true),
            }
        };
        (0..self.ops.len()).filter(is_excluded).collect()
    }

    fn run(&mut self) {
        if self.placement == Placement::AtUse {
            self.place_context();
        }
        for at in 0..self.ops.len() {
            if !self.ops[at].kind.has_effect() {
                continue;
            }
            while let Some(exit) = self.ready_exit() {
                self.place(exit);
            }
            if !self.placed[at] {
                self.place(at);
            }
        }
        // Exactly one exit is taken. The last one needs no condition.
        if let Some(last) = self.out.last_mut().filter(|op| is_exit(op)) {
            last.guard = None;
        }
    }

    /// Places the reads of variables that the step does not write. They are read where they are
    /// needed, but together.
    fn place_context(&mut self) {
        for at in 0..self.ops.len() {
            let Some(resource) = reads(&self.ops[at].kind) else { continue };
            let is_written = || (0..self.ops.len()).any(|other| self.will_change(other, resource));
            if matches!(resource, Resource::Context(_)) && !is_written() {
                self.place_computation(at);
            }
        }
    }

    /// Places the reads of fields near a placed one, since one command reads them all.
    fn place_near(&mut self, first: usize) {
        let OpKind::ReadPacket { base, bit } = self.ops[first].kind else { return };
        if self.placement == Placement::InOrder {
            return;
        }
        for at in 0..self.ops.len() {
            if self.will_change(at, Resource::Window) {
                return;
            }
            let OpKind::ReadPacket { base: other, bit: begin } = self.ops[at].kind else {
                continue;
            };
            let end = begin + self.ops[at].results.first().map_or(0, |value| self.width(*value));
            let is_near = bit.abs_diff(begin) < NEAR && end < bit + NEAR;
            if base == other && is_near && !self.placed[at] {
                self.placed[at] = true;
                self.out.push(self.ops[at].clone());
            }
        }
    }

    fn width(&self, value: Value) -> u32 {
        self.values[value.index()].width
    }

    /// Returns the first exit that may come before all operations that are not placed yet.
    fn ready_exit(&self) -> Option<usize> {
        (0..self.ops.len()).find(|at| {
            let op = self.ops[*at];
            is_exit(op)
                && !self.placed[*at]
                && self.excludes_others(*at)
                && op
                    .guard
                    .into_iter()
                    .chain(op.kind.operands())
                    .all(|value| self.is_available(value))
        })
    }

    /// Returns whether no effect before an exit happens when the exit is taken.
    fn excludes_others(&self, exit: usize) -> bool {
        (0..exit).all(|other| {
            self.placed[other]
                || !self.ops[other].kind.has_effect()
                || self.excluded[&exit].contains(&other)
        })
    }

    /// Returns whether a value can be computed now: neither its operands nor the state that it
    /// reads depend on an effect that is not placed yet.
    fn is_available(&self, value: Value) -> bool {
        let mut open = vec![value];
        let mut seen = HashSet::new();
        while let Some(value) = open.pop() {
            let Some(at) = self.definition.get(&value).copied() else { continue };
            if self.placed[at] || !seen.insert(at) {
                continue;
            }
            let kind = &self.ops[at].kind;
            let waits = |resource| (0..at).any(|before| self.will_change(before, resource));
            if kind.has_effect() || reads(kind).is_some_and(waits) {
                return false;
            }
            open.extend(kind.operands().into_iter().chain(self.ops[at].guard));
        }
        true
    }

    /// Returns whether an effect that is not placed yet changes a resource.
    fn will_change(&self, at: usize, resource: Resource) -> bool {
        let changes = || changes(self.engine, &self.ops[at].kind);
        !self.placed[at] && changes().iter().any(|change| change.covers(resource))
    }

    /// Places an effect after the placed operations.
    fn place(&mut self, at: usize) {
        let mut op = self.ops[at].clone();
        let changes = changes(self.engine, &op.kind);
        let in_order = self.placement == Placement::InOrder && !is_exit(&op);
        // Reads before the effect must see the old value.
        for before in 0..at {
            let read = reads(&self.ops[before].kind);
            if in_order || read.is_some_and(|read| changes.iter().any(|change| change.covers(read)))
            {
                self.place_computation(before);
            }
        }
        op.kind.operands().into_iter().for_each(|value| self.place_value(value));
        let guard = op.guard;
        if self.placement == Placement::AtUse {
            let holds = |guard: &Value| self.facts.bit(*guard) == Some(true);
            op.guard = guard.filter(|guard| !holds(guard)).map(|guard| self.shorter(guard));
        }
        op.guard.into_iter().for_each(|guard| self.place_value(guard));
        if let (true, Some(guard)) = (is_exit(&op), guard) {
            self.not_taken(guard);
        }
        self.placed[at] = true;
        self.out.push(op);
    }

    /// Adds what follows if an exit was not taken, also by contradiction for the conditions that
    /// its guard is made of.
    fn not_taken(&mut self, guard: Value) {
        self.facts.assume(guard, false);
        let made_of = self.made_of(guard);
        self.facts.probe(&made_of);
    }

    /// Returns a condition and all that it is made of.
    fn made_of(&self, condition: Value) -> Vec<Value> {
        let mut made_of = vec![condition];
        let mut at = 0;
        while let Some(value) = made_of.get(at).copied() {
            at += 1;
            if !self.is_made(value) {
                continue;
            }
            for operand in self.ops[self.definition[&value]].kind.operands() {
                if !made_of.contains(&operand) {
                    made_of.push(operand);
                }
            }
        }
        made_of
    }

    /// Returns whether a condition is made of others.
    fn is_made(&self, value: Value) -> bool {
        let Some(at) = self.definition.get(&value) else { return false };
        self.is_bit(value)
            && matches!(
                self.ops[*at].kind,
                OpKind::Unary(UnaryOp::Not, _) | OpKind::Binary(BinaryOp::And | BinaryOp::Or, ..)
            )
    }

    fn place_value(&mut self, value: Value) {
        if let Some(at) = self.definition.get(&value).copied() {
            self.place_computation(at);
        }
    }

    /// Places an operation without effect, after its operands.
    fn place_computation(&mut self, at: usize) {
        let op = self.ops[at];
        if self.placed[at] || op.kind.has_effect() {
            return;
        }
        op.kind.operands().into_iter().chain(op.guard).for_each(|value| self.place_value(value));
        self.placed[at] = true;
        self.out.push(op.clone());
        self.place_near(at);
    }

    /// Returns a shorter condition that is equal since no exit so far was taken.
    fn shorter(&mut self, value: Value) -> Value {
        let Some(op) = self.definition.get(&value).map(|at| self.ops[*at]) else { return value };
        match op.kind {
            OpKind::Unary(UnaryOp::Not, a) if self.is_bit(value) => {
                let shorter = self.shorter(a);
                if shorter == a {
                    return value;
                }
                if let Some(made) = self.inverted.get(&shorter) {
                    return *made;
                }
                let made = self.make(op, OpKind::Unary(UnaryOp::Not, shorter), &[shorter]);
                self.inverted.insert(shorter, made);
                made
            }
            OpKind::Binary(binary @ (BinaryOp::And | BinaryOp::Or), a, b) if self.is_bit(value) => {
                let neutral = binary == BinaryOp::And;
                match [a, b].map(|value| self.facts.bit(value) == Some(neutral)) {
                    [true, _] => return self.shorter(b),
                    [_, true] => return self.shorter(a),
                    _ => {}
                }
                let [first, second] = [a, b].map(|value| self.shorter(value));
                if [first, second] == [a, b] {
                    return value;
                }
                if let Some(made) = self.made.get(&(binary, first, second)) {
                    return *made;
                }
                let kind = OpKind::Binary(binary, first, second);
                let made = self.make(op, kind, &[first, second]);
                self.made.insert((binary, first, second), made);
                made
            }
            _ => value,
        }
    }

    fn is_bit(&self, value: Value) -> bool {
        self.width(value) == 1
    }

    /// Places an operation instead of another one.
    fn make(&mut self, like: &Op, kind: OpKind, operands: &[Value]) -> Value {
        operands.iter().for_each(|value| self.place_value(*value));
        let made = Value(self.values.len() as u32);
        self.values.push(self.values[like.results[0].index()].clone());
        self.out.push(Op { kind, results: vec![made], guard: None, loc: like.loc });
        made
    }
}

#[cfg(test)]
mod tests {
    use wireloom_ir::Exit;
    use wireloom_ir::builder::{EngineBuilder, program_of};

    use super::*;

    /// Returns the effects of an engine's only step with its exits first, each with its guard, and
    /// the number of other operations.
    fn effects(engine: EngineBuilder) -> (Vec<(&'static str, Option<u32>)>, usize) {
        let program = program_of(engine);
        let engine = &program.engines[0];
        let step = exits_first(engine, &engine.steps[0], Placement::AtUse);
        let name = |op: &Op| match &op.kind {
            OpKind::WriteContext(..) => "write",
            OpKind::WritePacket { .. } => "packet",
            OpKind::Exit(Exit::Done) => "done",
            OpKind::Exit(Exit::Finish) => "finish",
            other => panic!("{other:?}"),
        };
        let all: Vec<&Op> = step.ops().collect();
        let effects = all.iter().filter(|op| op.kind.has_effect());
        let effects = effects.map(|op| (name(op), op.guard.map(|guard| guard.0))).collect();
        (effects, all.iter().filter(|op| !op.kind.has_effect()).count())
    }

    #[test]
    fn an_exit_goes_before_what_it_excludes_and_frees_it_of_its_guard() {
        let mut engine = EngineBuilder::packet("e");
        let kept = engine.context("kept", 8);
        let (mut bad, mut worse) = (0, 0);
        engine.regions("only", |s| {
            let zero = s.constant(16, 0);
            let [first, second] = [0, 8].map(|bit| s.read_packet(zero, bit, 8));
            let limit = s.constant(8, 4);
            let is_bad = s.binary(BinaryOp::Ult, first, limit);
            let is_worse = s.binary(BinaryOp::Ult, second, limit);
            (bad, worse) = (is_bad.0, is_worse.0);
            let fine = s.unary(UnaryOp::Not, is_bad);
            let second_bad = s.binary(BinaryOp::And, fine, is_worse);
            let not_worse = s.unary(UnaryOp::Not, is_worse);
            let good = s.binary(BinaryOp::And, fine, not_worse);
            s.next_region();
            s.when(good).write(kept, first);
            s.next_region();
            s.when(is_bad).exit(Exit::Done);
            s.when(second_bad).exit(Exit::Done);
            s.when(good).exit(Exit::Finish);
        });
        let (effects, others) = effects(engine);
        let expected =
            [("done", Some(bad)), ("done", Some(worse)), ("write", None), ("finish", None)];
        assert_eq!(effects, expected);
        // The helper conditions are gone: two fields, two constants, and two comparisons are left.
        assert_eq!(others, 6);
    }

    #[test]
    fn a_condition_that_cases_exclude_needs_no_guard() {
        let mut engine = EngineBuilder::packet("e");
        let kept = engine.context("kept", 8);
        engine.regions("only", |s| {
            let zero = s.constant(16, 0);
            let [a, b] = [0, 1].map(|bit| s.read_packet(zero, bit, 1));
            let value = s.constant(8, 7);
            let not_b = s.unary(UnaryOp::Not, b);
            let [first, second] = [b, not_b].map(|b| s.binary(BinaryOp::And, a, b));
            let good = s.unary(UnaryOp::Not, a);
            s.next_region();
            s.when(good).write(kept, value);
            s.next_region();
            s.when(first).exit(Exit::Done);
            s.when(second).exit(Exit::Done);
            s.when(good).exit(Exit::Finish);
        });
        let guards: Vec<bool> =
            effects(engine).0.into_iter().map(|(_, guard)| guard.is_some()).collect();
        assert_eq!(guards, [true, true, false, false]);
    }

    #[test]
    fn computations_can_stay_in_the_order_of_the_step() {
        let mut engine = EngineBuilder::packet("e");
        let kept = engine.context("kept", 8);
        engine.regions("only", |s| {
            let zero = s.constant(16, 0);
            let bad = s.read_packet(zero, 0, 1);
            let value = s.read_packet(zero, 32, 8);
            let other = s.read_packet(zero, 64, 8);
            let fine = s.unary(UnaryOp::Not, bad);
            s.next_region();
            s.when(fine).write(kept, other);
            s.when(fine).write(kept, value);
            s.next_region();
            s.when(bad).exit(Exit::Done);
            s.when(fine).exit(Exit::Finish);
        });
        let program = program_of(engine);
        let engine = &program.engines[0];
        let order = |placement| -> Vec<u32> {
            let step = exits_first(engine, &engine.steps[0], placement);
            let bits = step.ops().filter_map(|op| match op.kind {
                OpKind::ReadPacket { bit, .. } => Some(bit),
                OpKind::Exit(Exit::Done) => Some(1000),
                _ => None,
            });
            bits.collect()
        };
        assert_eq!(order(Placement::InOrder), [0, 1000, 32, 64]);
        assert_eq!(order(Placement::AtUse), [0, 32, 64, 1000]);
    }

    #[test]
    fn an_exit_stays_after_a_change_of_what_its_guard_reads() {
        let mut engine = EngineBuilder::packet("e");
        engine.regions("only", |s| {
            let zero = s.constant(16, 0);
            let value = s.constant(8, 1);
            let version = s.read_packet(zero, 0, 8);
            let is_new = s.binary(BinaryOp::Eq, version, value);
            s.next_region();
            s.when(is_new).write_packet(zero, 8, value);
            let after = s.read_packet(zero, 8, 8);
            let is_done = s.binary(BinaryOp::Eq, after, value);
            let old = s.unary(UnaryOp::Not, is_new);
            let done = s.binary(BinaryOp::And, old, is_done);
            s.next_region();
            s.when(done).exit(Exit::Done);
            let go_on = s.unary(UnaryOp::Not, done);
            s.when(go_on).exit(Exit::Finish);
        });
        let names: Vec<_> = effects(engine).0.into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["packet", "done", "finish"]);
    }
}
