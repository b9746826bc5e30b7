//! Finds the part of a step that executes before its replies arrive.

use std::collections::{BTreeSet, HashSet};

use wireloom_compile::analysis::resources::writes_packet;
use wireloom_ir::{Engine, Op, OpKind, Step, Value};

use super::super::calls::split_phase;
use super::super::kinds::{Search, SplitPhase};
use super::super::names::Names;
use super::super::{passing, plan};

/// The part of a step that executes before its replies arrive.
#[derive(Default)]
pub struct Split {
    /// Indices of the operations of the request region that are computed early.
    pub early: Vec<usize>,
    /// The early values that the rest of the step uses, each with the name under which the thread
    /// keeps it.
    pub kept: Vec<(Value, String)>,
    /// Indices of the calls whose memory is prefetched.
    pub fetched: Vec<usize>,
    /// The fetched calls that are searches, each with the name of its state in the thread.
    pub walks: Vec<(usize, &'static dyn Search, String)>,
    /// The fetched calls that are prefetched only if their condition holds.
    pub guarded: Vec<usize>,
}

impl Split {
    pub fn of(engine: &Engine, step: &Step) -> Self {
        let ops: Vec<&Op> = step.ops().collect();
        let requests = plan::regions(step).map_or(0, |[request, ..]| request.ops.len());
        // Operations after a call must see its changes to the packet.
        let end = ops[..requests]
            .iter()
            .position(|op| writes_packet(engine, &op.kind))
            .unwrap_or(requests);
        let fetched: Vec<usize> =
            (0..end).filter(|i| split_phase(engine, &ops[*i].kind).is_some()).collect();
        let mut needed = vec![false; step.values.len()];
        for call in &fetched {
            needed[key_of(ops[*call]).index()] = true;
        }
        let free = free_of_effects(&ops[..end]);
        let is_guarded = |call: &usize| {
            let phases = split_phase(engine, &ops[*call].kind);
            phases.is_some_and(SplitPhase::is_guarded)
                && ops[*call].guard.is_some_and(|guard| free.contains(&guard))
        };
        let guarded: Vec<usize> = fetched.iter().copied().filter(is_guarded).collect();
        for guard in guarded.iter().filter_map(|call| ops[*call].guard) {
            needed[guard.index()] = true;
        }
        let mut early = Vec::new();
        for index in (0..end).rev() {
            let op = ops[index];
            if !op.kind.has_effect() && op.results.iter().any(|r| needed[r.index()]) {
                early.push(index);
                op.kind.operands().iter().for_each(|v| needed[v.index()] = true);
            }
        }
        early.reverse();
        let mut is_late = vec![true; ops.len()];
        early.iter().for_each(|index| is_late[*index] = false);
        let late = ops.iter().zip(is_late).filter(|(_, is_late)| *is_late);
        let used_later: HashSet<Value> =
            late.flat_map(|(op, _)| op.kind.operands().into_iter().chain(op.guard)).collect();
        let mut names = Names::default();
        let mut kept: Vec<(Value, String)> = Vec::new();
        for index in &early {
            let op = ops[*index];
            let value = op.results[0];
            if used_later.contains(&value) && !is_free(&op.kind) {
                let hint = step.values[value.index()]
                    .name
                    .clone()
                    .unwrap_or_else(|| format!("v{}", value.0));
                kept.push((value, names.give(&hint)));
            }
        }
        let searches = fetched.iter().filter(|call| !ops[**call].results.is_empty());
        let walks = searches
            .filter_map(|call| {
                let search = split_phase(engine, &ops[*call].kind).and_then(SplitPhase::search)?;
                Some((*call, search, names.give("walk")))
            })
            .collect();
        Self { early, kept, fetched, walks, guarded }
    }

    /// Returns whether the thread keeps any values or search states.
    pub fn keeps(&self) -> bool {
        !self.kept.is_empty() || !self.walks.is_empty()
    }

    /// Returns the context variables that the step reads after its wait.
    pub fn reads_late(&self, ops: &[&Op]) -> BTreeSet<usize> {
        let early: HashSet<usize> = self.early.iter().copied().collect();
        let late = || ops.iter().enumerate().filter(|(index, _)| !early.contains(index));
        let mut needed: HashSet<Value> =
            late().flat_map(|(_, op)| op.kind.operands().into_iter().chain(op.guard)).collect();
        // The functions that advance searches need keys and guards again.
        needed.extend(self.fetched.iter().map(|call| key_of(ops[*call])));
        needed.extend(self.guarded.iter().filter_map(|call| ops[*call].guard));
        let is_late = |(index, op): &(usize, &&Op)| {
            !early.contains(index) || op.results.iter().any(|result| needed.contains(result))
        };
        passing::reads(ops.iter().enumerate().filter(is_late).map(|(_, op)| *op))
    }

    /// Returns the name of the state of a call's search, if the call is a search.
    pub fn walk(&self, ops: &[&Op], op: &Op) -> Option<&str> {
        let found = self.walks.iter().find(|(index, ..)| ops[*index].results == op.results);
        found.map(|(.., name)| name.as_str())
    }
}

/// Returns whether an operation costs nothing to execute twice.
pub fn is_free(kind: &OpKind) -> bool {
    matches!(kind, OpKind::Const(_) | OpKind::ReadContext(_))
}

/// Returns the values that depend on no effect of these operations.
fn free_of_effects(ops: &[&Op]) -> HashSet<Value> {
    let mut free = HashSet::new();
    for op in ops {
        if !op.kind.has_effect() && op.kind.operands().iter().all(|v| free.contains(v)) {
            free.extend(&op.results);
        }
    }
    free
}

/// Returns the key of a split-phase call.
pub fn key_of(op: &Op) -> Value {
    op.kind.operands()[0]
}
