//! Places exits as early as they can be taken.
//!
//! A step in the form of regions computes all its conditions, executes the effects that they guard,
//! and exits at its end. A processor that executes a step for one packet does less work if it exits
//! at the first condition that decides. This pass therefore places an exit before every effect that
//! does not happen when the exit is taken:
//!
//! ```text
//! call search(%dst) when %fine            drop 1 when %short
//! drop 1 when %short                      drop 2 when %bad
//! drop 2 when %not_short_and_bad    ->    call search(%dst)
//! next forward when %fine                 next forward
//! ```
//!
//! After an exit, its condition is known to be false, so guards shrink to single conditions or
//! disappear.
//!
//! Microengines have the pass `exits_first` of `wireloom_compile` for this, which knows more
//! conditions. Threads keep their own: it keeps computations in the order of the source, and with
//! the other pass gcc's code for the router's IPv4 took 246.0 cycles a packet instead of 242.6.

use std::collections::{HashMap, HashSet};

use wireloom_compile::analysis::resources::{Resource, changes, reads};
use wireloom_ir::{Engine, Op, OpKind, Value};

use super::exits::{Table, Tables};

/// Returns the operations of a step in an order in which exits come early. Values still precede
/// their uses.
pub fn exits_first(engine: &Engine, ops: &[Op]) -> Vec<Op> {
    match Tables::of(ops) {
        Some(tables) => Sequence::new(engine, ops, tables).run(),
        None => ops.to_vec(),
    }
}

struct Sequence<'a> {
    engine: &'a Engine,
    ops: &'a [Op],
    definition: HashMap<Value, usize>,
    tables: Tables,
    /// The cases that are still possible at the next operation: no earlier exit was taken.
    possible: Table,
    placed: Vec<bool>,
    out: Vec<Op>,
}

impl<'a> Sequence<'a> {
    fn new(engine: &'a Engine, ops: &'a [Op], tables: Tables) -> Self {
        let definition = ops
            .iter()
            .enumerate()
            .flat_map(|(i, op)| op.results.iter().map(move |r| (*r, i)))
            .collect();
        let possible = vec![u64::MAX; tables.words];
        Self {
            engine,
            ops,
            definition,
            tables,
            possible,
            placed: vec![false; ops.len()],
            out: Vec::new(),
        }
    }

    fn run(mut self) -> Vec<Op> {
        let effects: Vec<usize> =
            (0..self.ops.len()).filter(|i| self.ops[*i].kind.has_effect()).collect();
        for index in effects {
            if self.placed[index] {
                continue;
            }
            while let Some(exit) = self.ready_exit() {
                self.place(exit);
            }
            if !self.placed[index] {
                self.place(index);
            }
        }
        self.out
    }

    /// Returns the first exit that may be taken before all operations not placed yet.
    fn ready_exit(&self) -> Option<usize> {
        (0..self.ops.len()).find(|index| {
            let op = &self.ops[*index];
            matches!(op.kind, OpKind::Exit(_))
                && !self.placed[*index]
                && self.excludes_others(*index)
                && op.guard.into_iter().chain(op.kind.operands()).all(|v| self.is_available(v))
        })
    }

    /// Returns whether taking an exit excludes every effect before it or at the same level.
    fn excludes_others(&self, exit: usize) -> bool {
        let own = self.table(self.ops[exit].guard);
        (0..self.ops.len()).all(|other| {
            let op = &self.ops[other];
            let matters = op.kind.has_effect() && !self.placed[other];
            // Among exits only earlier ones count: they would have been taken first.
            if !matters || other == exit || other > exit && matches!(op.kind, OpKind::Exit(_)) {
                return true;
            }
            let table = self.table(op.guard);
            own.iter()
                .zip(&table)
                .zip(&self.possible)
                .all(|((a, b), possible)| a & b & possible == 0)
        })
    }

    /// Returns whether a value can be computed now: neither its operands nor the resources that it
    /// reads depend on an effect that has not been placed.
    fn is_available(&self, value: Value) -> bool {
        let mut open = vec![value];
        let mut seen = HashSet::new();
        while let Some(value) = open.pop() {
            let Some(&index) = self.definition.get(&value) else { return false };
            if self.placed[index] || !seen.insert(index) {
                continue;
            }
            let kind = &self.ops[index].kind;
            if kind.has_effect()
                || reads(kind).is_some_and(|resource| self.waits_for_change(index, resource))
            {
                return false;
            }
            open.extend(kind.operands());
        }
        true
    }

    /// Returns whether an unplaced effect before an operation changes a resource.
    fn waits_for_change(&self, index: usize, resource: Resource) -> bool {
        (0..index).any(|i| {
            !self.placed[i]
                && changes(self.engine, &self.ops[i].kind).iter().any(|c| c.covers(resource))
        })
    }

    /// Places an effect after those already placed. Reads that preceded the effect stay before it.
    fn place(&mut self, index: usize) {
        let mut op = self.ops[index].clone();
        op.guard = self.simplest(op.guard);
        if !matches!(op.kind, OpKind::Exit(_)) {
            (0..index).for_each(|i| self.place_computation(i));
        }
        for value in op.guard.into_iter().chain(op.kind.operands()) {
            self.place_with_operands(value);
        }
        if matches!(op.kind, OpKind::Exit(_)) {
            let table = self.table(self.ops[index].guard);
            self.possible.iter_mut().zip(&table).for_each(|(possible, taken)| *possible &= !taken);
        }
        self.placed[index] = true;
        self.out.push(op);
    }

    fn place_computation(&mut self, index: usize) {
        if !self.placed[index] && !self.ops[index].kind.has_effect() {
            self.placed[index] = true;
            self.out.push(self.ops[index].clone());
        }
    }

    fn place_with_operands(&mut self, value: Value) {
        let Some(&index) = self.definition.get(&value) else { return };
        if !self.placed[index] {
            self.ops[index].kind.operands().into_iter().for_each(|v| self.place_with_operands(v));
            self.place_computation(index);
        }
    }

    /// Returns the cases in which a guard holds.
    fn table(&self, guard: Option<Value>) -> Table {
        guard.map_or_else(
            || vec![u64::MAX; self.tables.words],
            |guard| self.tables.known[&guard].clone(),
        )
    }

    /// Returns the cheapest value that equals a guard in all cases that are still possible. Returns
    /// `None` if the guard holds in all of them.
    fn simplest(&self, guard: Option<Value>) -> Option<Value> {
        let guard = guard?;
        let wanted = self.open(&self.tables.known[&guard]);
        if wanted == self.possible {
            return None;
        }
        let same = self.tables.known.iter().filter(|(_, table)| self.open(table) == wanted);
        let usable = same.map(|(value, _)| *value).filter(|value| self.is_available(*value));
        usable
            .min_by_key(|value| (self.is_connective(*value), self.definition[value]))
            .or(Some(guard))
    }

    fn open(&self, table: &Table) -> Table {
        table.iter().zip(&self.possible).map(|(word, possible)| word & possible).collect()
    }

    /// Returns whether a condition is composed of others.
    fn is_connective(&self, value: Value) -> bool {
        let operands = self.ops[self.definition[&value]].kind.operands();
        !operands.is_empty() && operands.iter().all(|v| self.tables.known.contains_key(v))
    }
}

#[cfg(test)]
mod tests {
    use wireloom_ir::builder::{EngineBuilder, config, program_of};
    use wireloom_ir::{BinaryOp, Code, Exit, UnaryOp};

    use super::*;

    /// Returns the effects in the result of `exits_first` for the only step of an engine, each with
    /// its guard.
    fn effects(engine: EngineBuilder) -> Vec<(String, Option<u32>)> {
        let program = program_of(engine);
        let engine = &program.engines[0];
        let Code::Regions { request, edit, jump } = &engine.steps[0].code else {
            panic!("regions")
        };
        let ops: Vec<Op> =
            [request, edit, jump].into_iter().flat_map(|block| block.ops.clone()).collect();
        let named = |op: &Op| {
            let name = match &op.kind {
                OpKind::Call { .. } => "call",
                OpKind::WriteContext(..) => "write",
                OpKind::WritePacket { .. } => "packet",
                OpKind::Exit(Exit::Done) => "done",
                OpKind::Exit(Exit::Finish) => "finish",
                other => panic!("{other:?}"),
            };
            (name.to_owned(), op.guard.map(|guard| guard.0))
        };
        exits_first(engine, &ops).iter().filter(|op| op.kind.has_effect()).map(named).collect()
    }

    #[test]
    fn an_exit_goes_before_what_it_excludes_and_frees_it_of_its_guard() {
        let mut engine = EngineBuilder::packet("e");
        let counts = engine.offload("counts", config("counter", &[], &[], &[("size", 1)]));
        let mut bad = 0;
        engine.regions("only", |s| {
            let zero = s.constant(16, 0);
            let first = s.read_packet(zero, 0, 8);
            let limit = s.constant(8, 4);
            let is_bad = s.binary(BinaryOp::Ult, first, limit);
            bad = is_bad.0;
            let fine = s.unary(UnaryOp::Not, is_bad);
            let index = s.constant(32, 0);
            s.when(fine).call(counts, "count", &[index, index]);
            s.next_region();
            s.next_region();
            s.when(is_bad).exit(Exit::Done);
            s.when(fine).exit(Exit::Finish);
        });
        let expected = [("done".into(), Some(bad)), ("call".into(), None), ("finish".into(), None)];
        assert_eq!(effects(engine), expected);
    }

    #[test]
    fn an_exit_stays_behind_a_change_of_what_its_guard_reads() {
        let mut engine = EngineBuilder::packet("e");
        let mut seen = (0, 0);
        engine.regions("only", |s| {
            let zero = s.constant(16, 0);
            let value = s.constant(8, 1);
            let version = s.read_packet(zero, 0, 8);
            let is_new = s.binary(BinaryOp::Eq, version, value);
            s.next_region();
            s.when(is_new).write_packet(zero, 8, value);
            let behind = s.read_packet(zero, 8, 8);
            let is_done = s.binary(BinaryOp::Eq, behind, value);
            let old = s.unary(UnaryOp::Not, is_new);
            let done = s.binary(BinaryOp::And, old, is_done);
            seen = (is_new.0, done.0);
            s.next_region();
            s.when(done).exit(Exit::Done);
            let go_on = s.unary(UnaryOp::Not, done);
            s.when(go_on).exit(Exit::Finish);
        });
        let effects = effects(engine);
        assert_eq!(effects[0], ("packet".into(), Some(seen.0)));
        assert_eq!(effects[1].0, "done");
    }
}
