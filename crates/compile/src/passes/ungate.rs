//! Removes guards from operations that are harmless without them, so that the conditions are
//! computed while the operations happen.
//!
//! ```text
//! %2:u8 = call routes.search(%1) when %g          %2:u8 = call routes.search(%1)
//! context.write port, %2 when %g            =>    context.write port, %2
//! drop %8 of Reason when %n                       drop %8 of Reason when %n         (%n = not %g)
//! next forward when %g                            next forward when %g
//! ```
//!
//! Some operations do not need a condition that is true whenever the thread continues at any exit:
//! - a write of a context variable, since otherwise its value is never read (only exits after which
//!   the value is read count here);
//! - a call without effect, if every use of its reply tests the condition itself. A condition that
//!   decides where the thread continues stays, so that no thread waits for a reply in vain.
//!
//! Writes of the same value to the same variable become one. The pass runs only for machines with
//! header ports. Structured `if` is converted first.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use wireloom_ir::{
    BinaryOp, Block, Code, ContextId, EngineId, Exit, Op, OpKind, Program, Step, Value, ValueInfo,
};

use super::{PassOptions, if_convert};
use crate::analysis::Definitions;
use crate::analysis::conditions::Guards;
use crate::analysis::conditions::Holds;
use crate::analysis::effects::{Effects, successor};
use crate::analysis::liveness::Liveness;

/// Runs over every step.
pub fn run(program: &mut Program, options: &PassOptions) {
    if options.header.is_none() {
        return;
    }
    if_convert::run(program, options);
    let effects = Effects::of(program);
    for (index, engine) in program.engines.iter_mut().enumerate() {
        let liveness = Liveness::of(engine);
        for step in &mut engine.steps {
            if let Code::Sequential(block) = &mut step.code {
                let (exits, others) = std::mem::take(&mut block.ops).into_iter().partition(is_exit);
                let ops = merge_writes(others, &mut step.values);
                block.ops = [ops, exits].concat();
                ungate(step, &effects, EngineId(index as u32), &liveness);
            }
        }
    }
}

fn is_exit(op: &Op) -> bool {
    matches!(op.kind, OpKind::Exit(_))
}

fn context_of(op: &Op) -> Option<ContextId> {
    match op.kind {
        OpKind::ReadContext(id) | OpKind::WriteContext(id, _) => Some(id),
        _ => None,
    }
}

/// Merges writes of the same value to the same variable if nothing accesses the variable between
/// them.
fn merge_writes(ops: Vec<Op>, values: &mut Vec<ValueInfo>) -> Vec<Op> {
    let mut out: Vec<Option<Op>> = Vec::with_capacity(ops.len());
    let mut last: BTreeMap<ContextId, usize> = BTreeMap::new();
    for mut op in ops {
        let before = context_of(&op).and_then(|id| last.get(&id).copied());
        if let Some(before) = before
            && out[before].as_ref().is_some_and(|earlier| earlier.kind == op.kind)
            && matches!(op.kind, OpKind::WriteContext(..))
            && let Some(earlier) = out[before].take()
        {
            op.guard = match (earlier.guard, op.guard) {
                (Some(a), Some(b)) => {
                    let any = Value(values.len() as u32);
                    values.push(ValueInfo { width: 1, name: None });
                    let kind = OpKind::Binary(BinaryOp::Or, a, b);
                    out.push(Some(Op { kind, results: vec![any], guard: None, loc: op.loc }));
                    Some(any)
                }
                _ => None,
            };
        }
        if let Some(id) = context_of(&op) {
            last.insert(id, out.len());
        }
        out.push(Some(op));
    }
    out.into_iter().flatten().collect()
}

fn ungate(step: &mut Step, effects: &Effects, engine: EngineId, liveness: &Liveness) {
    let snapshot = step.clone();
    let ops: Vec<&Op> = snapshot.code.blocks().flat_map(|block| &block.ops).collect();
    let definitions = Definitions::of(&snapshot);
    let mut view = View::new(&ops, &definitions);
    let mut taken_off: BTreeMap<usize, BTreeSet<Value>> = BTreeMap::new();
    for (index, op) in ops.iter().enumerate() {
        let Some(guard) = op.guard else { continue };
        let off = match op.kind {
            OpKind::WriteContext(id, _) => {
                if view.is_read_behind(id, index) {
                    continue;
                }
                let reads = |exit: &Exit| {
                    successor(exit).is_some_and(|next| liveness.live_in[next.index()].contains(id))
                };
                view.certain(guard, reads)
            }
            OpKind::Call { offload, method, .. } => {
                let call = effects.call(engine, offload, method);
                let shares = |other: &&&Op| matches!(other.kind, OpKind::Call { offload: o, .. } if o == offload);
                if call.has_effect || call.writes_packet || ops.iter().filter(shares).count() > 1 {
                    continue;
                }
                let goes_on = |exit: &Exit| !matches!(exit, Exit::Drop(..) | Exit::ToCpu(..));
                let off = view.certain(guard, goes_on);
                if !op.results.iter().all(|reply| view.is_asked_for(*reply, &off)) {
                    continue;
                }
                off
            }
            _ => continue,
        };
        if !off.is_empty() {
            taken_off.insert(index, off);
        }
    }
    rewrite(step, &taken_off, &definitions);
}

/// Returns the conditions whose conjunction is a guard.
fn conditions(guard: Value, definitions: &Definitions<'_>) -> Vec<Value> {
    let mut found = BTreeSet::new();
    let mut open = vec![guard];
    while let Some(value) = open.pop() {
        match definitions.kind(value) {
            Some(OpKind::Binary(BinaryOp::And, a, b)) => open.extend([*a, *b]),
            _ => {
                found.insert(value);
            }
        }
    }
    found.into_iter().collect()
}

/// Rewrites the step without the removed conditions.
fn rewrite(
    step: &mut Step,
    taken_off: &BTreeMap<usize, BTreeSet<Value>>,
    definitions: &Definitions<'_>,
) {
    let Code::Sequential(Block { ops }) = &mut step.code else { return };
    let mut out = Vec::with_capacity(ops.len());
    let mut made: HashMap<Vec<Value>, Value> = HashMap::new();
    for (index, mut op) in std::mem::take(ops).into_iter().enumerate() {
        if let (Some(guard), Some(off)) = (op.guard, taken_off.get(&index)) {
            let mut left = conditions(guard, definitions);
            left.retain(|condition| !off.contains(condition));
            op.guard = match left[..] {
                [] => None,
                [first, ref others @ ..] => Some(*made.entry(left.clone()).or_insert_with(|| {
                    others.iter().fold(first, |all, condition| {
                        let value = Value(step.values.len() as u32);
                        step.values.push(ValueInfo { width: 1, name: None });
                        let kind = OpKind::Binary(BinaryOp::And, all, *condition);
                        out.push(Op { kind, results: vec![value], guard: None, loc: op.loc });
                        value
                    })
                })),
            };
        }
        out.push(op);
    }
    *ops = out;
}

struct View<'a> {
    ops: &'a [&'a Op],
    definitions: &'a Definitions<'a>,
    /// Facts that hold if each exit is taken.
    exits: Vec<(&'a Exit, Holds<'a>)>,
    /// The operations that use each value.
    users: Vec<Vec<usize>>,
    /// Facts that hold if a value has a certain bit.
    cases: HashMap<(Value, bool), Holds<'a>>,
}

impl<'a> View<'a> {
    fn new(ops: &'a [&'a Op], definitions: &'a Definitions<'a>) -> Self {
        let guards = Guards::new(definitions);
        let mut users = vec![Vec::new(); definitions.count()];
        for (index, op) in ops.iter().enumerate() {
            op.kind.for_each_operand(|v| users[v.index()].push(index));
            op.guard.iter().for_each(|v| users[v.index()].push(index));
        }
        let exits = ops.iter().filter_map(|op| match &op.kind {
            OpKind::Exit(exit) => Some((exit, guards.holds(op.guard))),
            _ => None,
        });
        Self { ops, definitions, exits: exits.collect(), users, cases: HashMap::new() }
    }

    fn is_read_behind(&self, id: ContextId, index: usize) -> bool {
        self.ops[index..].iter().any(|op| op.kind == OpKind::ReadContext(id))
    }

    /// Returns the conditions of a guard that are true whenever one of certain exits is taken.
    /// Returns all of them if there is no such exit.
    fn certain(&self, guard: Value, matters: impl Fn(&Exit) -> bool) -> BTreeSet<Value> {
        let mut found: BTreeSet<Value> = conditions(guard, self.definitions).into_iter().collect();
        for (_, holds) in self.exits.iter().filter(|(exit, _)| matters(exit)) {
            found.retain(|condition| holds.bit(*condition) == Some(true));
        }
        found
    }

    /// Returns whether all conditions follow if a value has a certain bit.
    fn implies(&mut self, value: Value, bit: bool, conditions: &BTreeSet<Value>) -> bool {
        let definitions = self.definitions;
        let case = self
            .cases
            .entry((value, bit))
            .or_insert_with(|| Holds::new(definitions, [(value, bit)]));
        conditions.iter().all(|condition| case.bit(*condition) == Some(true))
    }

    /// Returns whether a value matters only where all conditions are true, or where the thread
    /// continues after this step.
    fn is_asked_for(&mut self, value: Value, conditions: &BTreeSet<Value>) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            if !seen.insert(value) {
                continue;
            }
            for index in self.users[value.index()].clone() {
                let op = self.ops[index];
                let masked = match op.kind {
                    OpKind::Binary(BinaryOp::And, a, b)
                        if a != b && self.definitions.width(a) == 1 =>
                    {
                        self.implies(if a == value { b } else { a }, true, conditions)
                    }
                    OpKind::Binary(BinaryOp::Or, a, b)
                        if a != b && self.definitions.width(a) == 1 =>
                    {
                        self.implies(if a == value { b } else { a }, false, conditions)
                    }
                    OpKind::Select(c, a, b) if c != value => {
                        (a != value || self.implies(c, true, conditions))
                            && (b != value || self.implies(c, false, conditions))
                    }
                    OpKind::WriteContext(id, _) => !self.is_read_behind(id, index),
                    ref kind if kind.has_effect() => match op.guard {
                        Some(guard) if guard != value => self.implies(guard, true, conditions),
                        _ => false,
                    },
                    _ => false,
                };
                if masked {
                    continue;
                }
                if op.kind.has_effect() {
                    return false;
                }
                open.extend(&op.results);
            }
        }
        true
    }
}
