//! Finds the live context variables, which the thread's context must keep at each step boundary.
//!
//! A variable is live into a step if some path from the step's beginning reads it before writing
//! it. This is the classic backward data-flow problem, solved over the step graph of a whole
//! engine. In flat code each exit is a separate path. A guarded write ends a life on the path to an
//! exit that is taken only if the write happens. It has no effect on the path to an exit that is
//! taken only if it does not.

use std::collections::{BTreeSet, HashMap};

use wireloom_ir::{Block, ContextId, Engine, EngineKind, Op, OpKind, Step};

use super::Definitions;
use super::conditions::Guards;
use super::effects::{successor, successors};

/// A set of context variables.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct ContextSet(Vec<u64>);

impl ContextSet {
    /// Returns the empty set, for `variables` variables.
    pub fn empty(variables: usize) -> Self {
        Self(vec![0; variables.div_ceil(64)])
    }

    /// Returns whether a variable is in the set.
    pub fn contains(&self, id: ContextId) -> bool {
        self.0[id.index() / 64] >> (id.index() % 64) & 1 == 1
    }

    /// Adds a variable.
    pub fn insert(&mut self, id: ContextId) {
        self.0[id.index() / 64] |= 1 << (id.index() % 64);
    }

    /// Removes a variable.
    pub fn remove(&mut self, id: ContextId) {
        self.0[id.index() / 64] &= !(1 << (id.index() % 64));
    }

    /// Adds a variable, or removes it if `is_in` is false.
    pub fn set(&mut self, id: ContextId, is_in: bool) {
        if is_in { self.insert(id) } else { self.remove(id) }
    }

    /// Adds all variables of another set.
    pub fn extend(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(a, b)| *a |= b);
    }

    /// Returns whether all variables of another set are in this one.
    pub fn holds(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).all(|(a, b)| b & !a == 0)
    }

    /// Returns the variables that are in both sets.
    pub fn both(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(a, b)| a & b).collect())
    }

    /// Returns the variables in the set, in order.
    pub fn iter(&self) -> impl Iterator<Item = ContextId> + '_ {
        (0..self.0.len() as u32 * 64).map(ContextId).filter(|id| self.contains(*id))
    }
}

/// The most pairs of an exit and an operation of a step for which exits are distinguished. In
/// larger steps a guarded write ends no life.
const MOST_PAIRS: usize = 1 << 20;

/// The live variables at the boundaries of each step of an engine.
pub struct Liveness {
    /// The variables that are live into each step.
    pub live_in: Vec<ContextSet>,
    /// The variables that are live out of each step, into any of its successors.
    pub live_out: Vec<ContextSet>,
    /// The variables that some path to each step's beginning may have written, and the parameters.
    /// All others are still zero there.
    pub written_in: Vec<ContextSet>,
    /// The variables that the context must keep at each step's beginning: they are live and
    /// possibly not zero.
    pub kept_in: Vec<ContextSet>,
    /// The variables that the context must keep after each step's end.
    pub kept_out: Vec<ContextSet>,
}

impl Liveness {
    /// Analyses an engine.
    pub fn of(engine: &Engine) -> Self {
        let empty = ContextSet::empty(engine.context.len());
        let mut live = Self {
            live_in: vec![empty.clone(); engine.steps.len()],
            live_out: vec![empty.clone(); engine.steps.len()],
            written_in: written(engine),
            kept_in: Vec::new(),
            kept_out: Vec::new(),
        };
        let flat: Vec<Option<Flat<'_>>> = engine.steps.iter().map(Flat::of).collect();
        let predecessors = predecessors(engine);
        let mut open = Worklist::of(engine.steps.len());
        while let Some(index) = open.take_last() {
            let before = match &flat[index] {
                Some(flat) => flat.before(&live.live_in, &empty, &mut |_| {}),
                None => {
                    step_before(&engine.steps[index], &live.live_in, empty.clone(), &mut |_, _| {})
                }
            };
            if before != live.live_in[index] {
                live.live_in[index] = before;
                predecessors[index].iter().for_each(|step| open.add(*step));
            }
        }
        for (index, step) in engine.steps.iter().enumerate() {
            step.for_each_op(|op| {
                if let OpKind::Exit(exit) = &op.kind
                    && let Some(next) = successor(exit)
                {
                    live.live_out[index].extend(&live.live_in[next.index()]);
                }
            });
        }
        for (index, step) in engine.steps.iter().enumerate() {
            live.kept_in.push(live.live_in[index].both(&live.written_in[index]));
            let mut written = live.written_in[index].clone();
            add_writes(step, &mut written);
            live.kept_out.push(live.live_out[index].both(&written));
        }
        live
    }

    /// Returns for each `context.write` of a step, from the last to the first, whether the variable
    /// is live after it.
    pub fn writes(&self, engine: &Engine, step: &Step) -> Vec<bool> {
        let mut writes = Vec::new();
        let empty = ContextSet::empty(engine.context.len());
        if let Some(flat) = Flat::of(step) {
            let mut live = vec![false; flat.ops.len()];
            flat.before(&self.live_in, &empty, &mut |op| live[op] = true);
            let is_write = |op: &Op| matches!(op.kind, OpKind::WriteContext(..));
            let flags = flat.ops.iter().zip(live).rev();
            return flags.filter(|(op, _)| is_write(op)).map(|(_, live)| live).collect();
        }
        step_before(step, &self.live_in, empty, &mut |id, live| writes.push(live.contains(id)));
        writes
    }
}

/// A step without `if`.
struct Flat<'a> {
    ops: Vec<&'a Op>,
    /// For each exit, its index (or the number of operations for the end without an exit), and for
    /// each guarded write before it whether the write happens if the exit is taken.
    exits: Vec<(usize, HashMap<usize, Option<bool>>)>,
}

impl<'a> Flat<'a> {
    fn of(step: &'a Step) -> Option<Self> {
        let ops: Vec<&Op> = step.code.blocks().flat_map(|block| &block.ops).collect();
        if ops.iter().any(|op| matches!(op.kind, OpKind::If { .. })) {
            return None;
        }
        let is_exit = |index: &usize| matches!(ops[*index].kind, OpKind::Exit(_));
        if (0..ops.len()).filter(is_exit).count() * ops.len() > MOST_PAIRS {
            return None;
        }
        let definitions = Definitions::of(step);
        let guards = Guards::new(&definitions);
        // A thread that takes no exit ends.
        let exits = (0..ops.len()).filter(is_exit).chain([ops.len()]).map(|exit| {
            let holds = guards.holds(ops.get(exit).and_then(|op| op.guard));
            let happens = |index: usize| match (&ops[index].kind, ops[index].guard) {
                (OpKind::WriteContext(..), Some(guard)) => Some((index, holds.bit(guard))),
                _ => None,
            };
            (exit, (0..exit).filter_map(happens).collect())
        });
        let exits = exits.collect();
        Some(Self { ops, exits })
    }

    /// Returns the variables that are live before the step, and reports for each write whether its
    /// value may be read.
    fn before(
        &self,
        live_in: &[ContextSet],
        nothing: &ContextSet,
        at_live_write: &mut dyn FnMut(usize),
    ) -> ContextSet {
        let mut before = nothing.clone();
        for (exit, happens) in &self.exits {
            let mut live = match self.ops.get(*exit).map(|op| &op.kind) {
                Some(OpKind::Exit(exit)) => successor(exit)
                    .map_or_else(|| nothing.clone(), |next| live_in[next.index()].clone()),
                _ => nothing.clone(),
            };
            for index in (0..*exit).rev() {
                match self.ops[index].kind {
                    OpKind::ReadContext(id) => live.insert(id),
                    OpKind::WriteContext(id, _) if live.contains(id) => {
                        let happens = happens.get(&index).copied().unwrap_or(Some(true));
                        if happens != Some(false) {
                            at_live_write(index);
                        }
                        if happens == Some(true) {
                            live.remove(id);
                        }
                    }
                    _ => {}
                }
            }
            before.extend(&live);
        }
        before
    }
}

fn add_writes(step: &Step, written: &mut ContextSet) {
    step.for_each_op(|op| {
        if let OpKind::WriteContext(id, _) = op.kind {
            written.insert(id);
        }
    });
}

/// Returns for each step the variables that some path from the thread's beginning to it writes,
/// including parameters. All others are zero when the step begins.
pub fn written(engine: &Engine) -> Vec<ContextSet> {
    let mut sets = vec![ContextSet::empty(engine.context.len()); engine.steps.len()];
    if let (EngineKind::Call { params, .. }, Some(first)) = (&engine.kind, sets.first_mut()) {
        params.iter().for_each(|p| first.insert(*p));
    }
    let mut open = Worklist::of(engine.steps.len());
    while let Some(index) = open.take_first() {
        let mut out = sets[index].clone();
        add_writes(&engine.steps[index], &mut out);
        for next in successors(&engine.steps[index]) {
            if !sets[next].holds(&out) {
                sets[next].extend(&out);
                open.add(next);
            }
        }
    }
    sets
}

/// Returns the predecessors of each step.
fn predecessors(engine: &Engine) -> Vec<Vec<usize>> {
    let mut found = vec![Vec::new(); engine.steps.len()];
    for (index, step) in engine.steps.iter().enumerate() {
        successors(step).into_iter().for_each(|next| found[next].push(index));
    }
    found
}

/// Steps still to be visited, each at most once.
struct Worklist(BTreeSet<usize>);

impl Worklist {
    /// Creates a list of all steps.
    fn of(steps: usize) -> Self {
        Self((0..steps).collect())
    }

    fn add(&mut self, step: usize) {
        self.0.insert(step);
    }

    fn take_first(&mut self) -> Option<usize> {
        self.0.pop_first()
    }

    fn take_last(&mut self) -> Option<usize> {
        self.0.pop_last()
    }
}

fn step_before(
    step: &Step,
    live_in: &[ContextSet],
    mut live: ContextSet,
    at_write: &mut dyn FnMut(ContextId, &ContextSet),
) -> ContextSet {
    let blocks: Vec<&Block> = step.code.blocks().collect();
    for block in blocks.into_iter().rev() {
        live = before(block, live_in, live, at_write);
    }
    live
}

/// Returns the variables that are live before a block, given the variables that are live after it.
fn before(
    block: &Block,
    live_in: &[ContextSet],
    mut live: ContextSet,
    at_write: &mut dyn FnMut(ContextId, &ContextSet),
) -> ContextSet {
    for op in block.ops.iter().rev() {
        match &op.kind {
            OpKind::ReadContext(id) => live.insert(*id),
            OpKind::WriteContext(id, _) => {
                at_write(*id, &live);
                if op.guard.is_none() {
                    live.remove(*id);
                }
            }
            OpKind::Exit(exit) => {
                // After an exit is taken nothing else happens in this step.
                if op.guard.is_none() {
                    live = ContextSet(vec![0; live.0.len()]);
                }
                if let Some(next) = successor(exit) {
                    live.extend(&live_in[next.index()]);
                }
            }
            OpKind::If { then, otherwise, .. } => {
                // Writes are visited from the last to the first, so the other arm comes first.
                let other = before(&otherwise.0, live_in, live.clone(), at_write);
                live = before(&then.0, live_in, live, at_write);
                live.extend(&other);
            }
            _ => {}
        }
    }
    live
}
