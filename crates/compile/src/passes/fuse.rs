//! Fuses steps. If a step continues at another one, and hardware can execute both in fewer slots
//! together than one after the other, the first step takes over the operations of the second.
//!
//! ```text
//! step a {                                          step a {
//!   %0:u16 = packet.read %9 + 96                      %0:u16 = packet.read %9 + 96
//!   context.write type, %0                            context.write type, %0
//!   drop %8 of Reason when %1                         drop %8 of Reason when %1
//!   next b when %2                                    %3:u1 = eq %0, %7
//! }                                            =>     %4:u1 = and %2, %3
//! step b {                                            next c when %4
//!   %0:u16 = context.read type                        %5:u1 = not %3
//!   %1:u1 = eq %0, %7                                 %6:u1 = and %2, %5
//!   next c when %1                                    next d when %6
//!   %2:u1 = not %1                                  }
//!   next d when %2
//! }
//! ```
//!
//! The condition of the jump becomes a guard of all operations of the other step. Context reads of
//! that step become the values that this step leaves in the context. Both variants are scheduled,
//! as [`split`](super::split) will do, to find out which takes fewer slots. No exit may come later
//! than before. A step with other predecessors is copied if it is small and the logic does not
//! become too deep. Jumps keep their direction, which counts for runaway threads.
//!
//! The pass runs only for machines with header ports. Structured `if` is converted first.

use std::collections::{BTreeMap, BTreeSet};

use wireloom_ir::{
    BinaryOp, Block, Code, ContextId, Engine, EngineId, Exit, Loc, Op, OpKind, Program, Step,
    StepId, Value, ValueInfo,
};

use super::{PassOptions, cse, dce, fold, if_convert, split};
use crate::analysis::address::Addresses;
use crate::analysis::conditions::Guards;
use crate::analysis::context::KnownContext;
use crate::analysis::effects::{Effects, successor};
use crate::analysis::known_bits::{self, Known};
use crate::analysis::{Definitions, depth};

/// Maximum size of a step that is copied for each of its predecessors, in bits of the results of
/// its operations.
const SMALL: u32 = 200;

/// Maximum levels of logic in two register stages, by the `depth` model.
const DEEP: u32 = 24;

/// Maximum number of operations of two fused steps. It keeps compilation fast.
const LONG: usize = 1_500;

/// Fuses the steps of every engine until no fusion gains.
pub fn run(program: &mut Program, options: &PassOptions) {
    if options.header.is_none() {
        return;
    }
    if_convert::run(program, options);
    for index in 0..program.engines.len() {
        let id = EngineId(index as u32);
        let mut refused = BTreeSet::new();
        while let Some((at, step)) = find(program, id, options, &mut refused) {
            program.engines[index].steps[at] = step;
            for pass in [fold::run, cse::run, dce::run] {
                pass(program, options);
            }
        }
    }
}

/// Two steps that were tried, and their numbers of operations at that time.
type Tried = (usize, usize, usize, usize);

/// Finds the first step that gains by fusion with a successor, and returns the fused step.
fn find(
    program: &Program,
    id: EngineId,
    options: &PassOptions,
    refused: &mut BTreeSet<Tried>,
) -> Option<(usize, Step)> {
    let engine = &program.engines[id.index()];
    let effects = Effects::of(program);
    let context = KnownContext::of(engine);
    let costs = Costs { id, effects: &effects, context: &context, options };
    let comes_from = predecessors(engine);
    for (at, step) in engine.steps.iter().enumerate() {
        let Some(ops) = flat(step).filter(|_| at == 0 || !comes_from[at].is_empty()) else {
            continue;
        };
        for next in targets(ops).into_iter().filter(|next| *next > at) {
            let other = &engine.steps[next];
            let Some(others) = flat(other) else { continue };
            let tried = (at, next, ops.len(), others.len());
            let copies = comes_from[next].len() > 1 && weight(other) > SMALL;
            if copies
                || ops.len() + others.len() > LONG
                || !keeps_direction(others, at, next)
                || refused.contains(&tried)
            {
                continue;
            }
            let fused = Fusion::of(step, other, StepId(next as u32), &costs.known(step, at));
            if costs.gain(at, next, (step, other), &fused) {
                return Some((at, fused.step));
            }
            refused.insert(tried);
        }
    }
    None
}

fn flat(step: &Step) -> Option<&[Op]> {
    match &step.code {
        Code::Sequential(block) => {
            (!block.ops.iter().any(|op| matches!(op.kind, OpKind::If { .. }))).then_some(&block.ops)
        }
        Code::Regions { .. } => None,
    }
}

/// Returns the steps at which operations continue with `next`.
fn targets(ops: &[Op]) -> BTreeSet<usize> {
    let target = |op: &Op| match op.kind {
        OpKind::Exit(Exit::Next(next)) => Some(next.index()),
        _ => None,
    };
    ops.iter().filter_map(target).collect()
}

/// Returns the reachable predecessors of each step.
fn predecessors(engine: &Engine) -> Vec<BTreeSet<usize>> {
    let mut found = vec![BTreeSet::new(); engine.steps.len()];
    let mut open: Vec<usize> = if engine.steps.is_empty() { Vec::new() } else { vec![0] };
    let mut reached = vec![false; engine.steps.len()];
    while let Some(index) = open.pop() {
        if std::mem::replace(&mut reached[index], true) {
            continue;
        }
        engine.steps[index].for_each_op(|op| {
            if let OpKind::Exit(exit) = &op.kind
                && let Some(next) = successor(exit)
            {
                found[next.index()].insert(index);
                open.push(next.index());
            }
        });
    }
    found
}

/// Returns whether the jumps of step `from` keep their direction if they start at step `at`.
fn keeps_direction(ops: &[Op], at: usize, from: usize) -> bool {
    ops.iter().all(|op| match &op.kind {
        OpKind::Exit(exit) => {
            successor(exit).is_none_or(|next| (next.index() <= at) == (next.index() <= from))
        }
        _ => true,
    })
}

fn weight(step: &Step) -> u32 {
    let mut bits = 0;
    step.for_each_op(|op| {
        if !matches!(
            op.kind,
            OpKind::Const(_) | OpKind::Extend(_) | OpKind::Slice(..) | OpKind::Concat(_)
        ) {
            bits += op.results.iter().map(|r| step.values[r.index()].width).sum::<u32>();
        }
    });
    bits
}

/// A step that replaces two.
struct Fusion {
    step: Step,
    /// For each exit in order: its step (0 is this one, 1 is the other) and its index there.
    exits: Vec<(usize, usize)>,
}

#[derive(Default)]
struct Builder {
    values: Vec<ValueInfo>,
    ops: Vec<Op>,
    /// Context variables that are read before all other operations.
    first_reads: BTreeMap<ContextId, Value>,
    loc: Loc,
}

impl Builder {
    fn new_op(&mut self, width: u32, kind: OpKind) -> Value {
        let value = Value(self.values.len() as u32);
        self.values.push(ValueInfo { width, name: None });
        self.ops.push(Op { kind, results: vec![value], guard: None, loc: self.loc });
        value
    }

    fn and(&mut self, a: Option<Value>, b: Option<Value>) -> Option<Value> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.new_op(1, OpKind::Binary(BinaryOp::And, a, b))),
            (one, other) => one.or(other),
        }
    }
}

impl Fusion {
    /// Builds `step` with `other` in place of its jumps to it.
    fn of(step: &Step, other: &Step, target: StepId, known: &[Known]) -> Self {
        let ways: Vec<Option<Value>> = flat(step)
            .unwrap_or(&[])
            .iter()
            .filter(|op| goes_on(op, target))
            .map(|op| op.guard)
            .collect();
        let (step, mut exits) = with_one_jump(step, target);
        let ops = flat(&step).expect("only flat code is fused");
        let jump = ops.iter().position(|op| goes_on(op, target)).expect("it goes on there");
        let is_exit = |op: &&Op| matches!(op.kind, OpKind::Exit(_));
        let behind = exits.split_off(ops[..jump].iter().filter(is_exit).count());
        let mut builder = Builder {
            values: step.values.clone(),
            ops: ops[..jump].to_vec(),
            ..Builder::default()
        };
        let count =
            builder.append(&Before::new(&step, &ops[..jump], &ways, known), other, ops[jump].guard);
        builder.ops.extend_from_slice(&ops[jump + 1..]);
        let exits = exits.into_iter().map(|exit| (0, exit));
        let exits = exits
            .chain((0..count).map(|exit| (1, exit)))
            .chain(behind.into_iter().map(|exit| (0, exit)));
        let exits = exits.collect();
        let code = Code::Sequential(Block { ops: builder.ops });
        Self { step: Step { values: builder.values, code, ..step.clone() }, exits }
    }
}

fn goes_on(op: &Op, target: StepId) -> bool {
    matches!(op.kind, OpKind::Exit(Exit::Next(next)) if next == target)
}

/// Merges a step's jumps to the target into one, in place of the last. Returns the step and the
/// former index of each exit.
fn with_one_jump(step: &Step, target: StepId) -> (Step, Vec<usize>) {
    let ops = flat(step).expect("only flat code is fused");
    let last = ops.iter().rposition(|op| goes_on(op, target)).expect("it goes on there");
    let mut builder = Builder { values: step.values.clone(), ..Builder::default() };
    let mut guards = Vec::new();
    let mut exits = Vec::new();
    let mut count = 0;
    for (index, op) in ops.iter().enumerate() {
        let jumps = goes_on(op, target);
        if matches!(op.kind, OpKind::Exit(_)) {
            exits.extend((!jumps).then_some(count));
            count += 1;
        }
        guards.extend(jumps.then_some(op.guard));
        if index == last {
            let any = |a: Option<Value>, b: Option<Value>| Some((a?, b?));
            let guard = guards.iter().copied().reduce(|a, b| {
                any(a, b).map(|(a, b)| builder.new_op(1, OpKind::Binary(BinaryOp::Or, a, b)))
            });
            builder.ops.push(Op { guard: guard.flatten(), ..op.clone() });
        } else if !jumps {
            builder.ops.push(op.clone());
        }
    }
    let code = Code::Sequential(Block { ops: builder.ops });
    (Step { values: builder.values, code, ..step.clone() }, exits)
}

/// The operations before the next step begins, on each of the paths to it.
struct Before<'a> {
    ops: &'a [Op],
    ways: Vec<(Option<Value>, Vec<Option<bool>>)>,
    addresses: Addresses,
}

impl<'a> Before<'a> {
    /// Describes the operations of a step, and the guards of the jumps after them.
    fn new(step: &Step, ops: &'a [Op], ways: &[Option<Value>], known: &[Known]) -> Self {
        let definitions = Definitions::of(step);
        let guards = Guards::new(&definitions);
        let ways = ways.iter().map(|way| {
            let holds = guards.holds(*way);
            let happens = |op: &Op| op.guard.map_or(Some(true), |guard| holds.bit(guard));
            (*way, ops.iter().map(happens).collect())
        });
        Self { ops, ways: ways.collect(), addresses: Addresses::new(step, &definitions, known) }
    }
}

impl Builder {
    /// Appends the operations of `other`, guarded by `guard`. Returns the number of its exits.
    fn append(&mut self, before: &Before<'_>, other: &Step, guard: Option<Value>) -> usize {
        let mut context: BTreeMap<ContextId, Value> = BTreeMap::new();
        let mut numbers: Vec<Option<Value>> = vec![None; other.values.len()];
        let mut exits = 0;
        for op in flat(other).expect("only flat code is fused") {
            self.loc = op.loc;
            match op.kind {
                OpKind::ReadContext(id) => {
                    let result = op.results[0];
                    let width = other.values[result.index()].width;
                    let now = match context.get(&id) {
                        Some(now) => *now,
                        None => self.left_behind(before, id, width),
                    };
                    context.insert(id, now);
                    numbers[result.index()] = Some(now);
                    continue;
                }
                OpKind::Exit(_) => exits += 1,
                _ => {}
            }
            let mut copy = op.clone();
            let renamed = |v: Value| numbers[v.index()].expect("defined before it is used");
            copy.kind.for_each_operand_mut(|v| *v = renamed(*v));
            let own = op.guard.map(renamed);
            if op.kind.has_effect() {
                copy.guard = self.and(guard, own);
            }
            if let OpKind::WriteContext(id, value) = copy.kind {
                let now = match own {
                    None => value,
                    Some(own) => {
                        let width = self.values[value.index()].width;
                        let before = match context.get(&id) {
                            Some(now) => *now,
                            None => self.left_behind(before, id, width),
                        };
                        self.new_op(width, OpKind::Select(own, value, before))
                    }
                };
                context.insert(id, now);
            }
            copy.results = op
                .results
                .iter()
                .map(|r| {
                    let value = Value(self.values.len() as u32);
                    self.values.push(other.values[r.index()].clone());
                    numbers[r.index()] = Some(value);
                    value
                })
                .collect();
            self.ops.push(copy);
        }
        exits
    }

    /// Returns the value of a context variable when the next step begins.
    fn left_behind(&mut self, before: &Before<'_>, id: ContextId, width: u32) -> Value {
        let mut found: Vec<(Option<Value>, Value)> = Vec::new();
        for (way, happens) in &before.ways {
            let writes = before.ops.iter().zip(happens);
            let writes: Vec<(&Op, bool)> = writes
                .filter(|(op, happens)| is_write(op, id) && **happens != Some(false))
                .map(|(op, happens)| (op, happens.is_some()))
                .collect();
            let certain = writes.iter().rposition(|(_, certain)| *certain);
            let mut now = match certain {
                Some(index) => written(writes[index].0),
                None => self.read_first(before.ops, id, width),
            };
            for (op, _) in &writes[certain.map_or(0, |index| index + 1)..] {
                let guard = op.guard.expect("it is not certain");
                now = self.new_op(width, OpKind::Select(guard, written(op), now));
            }
            found.push((*way, now));
        }
        let (_, last) = found.pop().expect("there is a way");
        found.into_iter().rev().fold(last, |rest, (way, now)| match way {
            // If the values differ, the result must be one value: the base of a header access must
            // keep its root.
            Some(way) if before.addresses.of(now) != before.addresses.of(rest) => {
                self.new_op(width, OpKind::Select(way, now, rest))
            }
            _ => now,
        })
    }

    /// Returns the value of the variable when the step begins.
    fn read_first(&mut self, ops: &[Op], id: ContextId, width: u32) -> Value {
        let touches = |op: &&Op| is_write(op, id) || op.kind == OpKind::ReadContext(id);
        if let Some(read) = ops.iter().find(touches).filter(|op| !is_write(op, id)) {
            return read.results[0];
        }
        if let Some(read) = self.first_reads.get(&id) {
            return *read;
        }
        let value = Value(self.values.len() as u32);
        self.values.push(ValueInfo { width, name: None });
        let read =
            Op { kind: OpKind::ReadContext(id), results: vec![value], guard: None, loc: self.loc };
        self.ops.insert(0, read);
        self.first_reads.insert(id, value);
        value
    }
}

fn is_write(op: &Op, id: ContextId) -> bool {
    matches!(op.kind, OpKind::WriteContext(other, _) if other == id)
}

fn written(op: &Op) -> Value {
    match op.kind {
        OpKind::WriteContext(_, value) => value,
        _ => unreachable!("the operation is a write"),
    }
}

/// The cost of steps.
struct Costs<'a> {
    id: EngineId,
    effects: &'a Effects,
    context: &'a KnownContext,
    options: &'a PassOptions,
}

impl Costs<'_> {
    /// Returns the known bits of a step's values if it replaces a step of the engine.
    fn known(&self, step: &Step, at: usize) -> Vec<Known> {
        known_bits::of_step(step, self.context.at(at))
    }

    /// Returns the slots up to each exit of a step.
    fn exits(&self, step: &Step, at: usize) -> Vec<u32> {
        let known = self.known(step, at);
        split::slots_to_exits(step, self.effects, self.id, &known, self.options)
    }

    /// Returns whether the fused steps reach some exit in fewer slots, and none in more.
    fn gain(&self, at: usize, next: usize, (step, other): (&Step, &Step), fused: &Fusion) -> bool {
        let levels = |step: &Step| depth::regions(step, true)[0].levels();
        if levels(&fused.step) > DEEP.max(levels(step)).max(levels(other)) {
            return false;
        }
        let (own, others) = (self.exits(step, at), self.exits(other, next));
        let target = StepId(next as u32);
        let exits = |step| -> Vec<&Op> {
            flat(step)
                .unwrap_or(&[])
                .iter()
                .filter(|op| matches!(op.kind, OpKind::Exit(_)))
                .collect()
        };
        let way = exits(step)
            .iter()
            .zip(&own)
            .filter(|(op, _)| goes_on(op, target))
            .map(|(_, slots)| *slots)
            .max();
        let way = way.unwrap_or(0);
        let ends = |op: &Op| matches!(op.kind, OpKind::Exit(Exit::Drop(..) | Exit::ToCpu(..)));
        let mut better = false;
        for ((source, index), slots) in fused.exits.iter().zip(self.exits(&fused.step, at)) {
            let (before, exit) = match source {
                0 => (own[*index], exits(step)[*index]),
                _ => (way + others[*index], exits(other)[*index]),
            };
            if slots > before {
                return false;
            }
            better |= slots < before && !ends(exit);
        }
        better
    }
}
