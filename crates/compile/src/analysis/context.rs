//! Finds what is certain of the context variables when each step begins.
//!
//! A forward analysis over the step graph that begins with zero. A step leaves in a variable the
//! value that it wrote or found there; the exit that is taken says more about that value. A step
//! that jumps on only `if (at <= 84)` passes on an `at` of at most seven bits.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::rc::Rc;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Code, ContextId, Engine, EngineKind, Op, OpKind, Step, Value};

use super::effects::successor;
use super::guards::Guards;
use super::holds::Holds;
use super::known_bits::{self, Known};
use super::{Definitions, is_pure};

/// The known bits of an engine's context.
pub struct KnownContext {
    /// By step and variable; zero in unreachable steps.
    at: Vec<Rc<Vec<Known>>>,
    /// The known bits of each variable at any time of a thread's life, parameters included.
    ever: Vec<Known>,
}

/// The most variables, counted for each step, of engines that are analysed.
const MOST_TRACKED: usize = 1 << 22;

/// The most pairs of an operation of a step and a guard, for which what follows from the guard is
/// used. In larger steps the values themselves say what is known.
const MOST_PAIRS: usize = 1 << 20;

/// How deeply the operands of a value are searched for what a guard says.
const MAX_DEPTH: u32 = 100;

/// After this many visits of a step, bits that still change are given up, since a loop may count
/// bit by bit.
const MOST_VISITS: u32 = 40;

impl KnownContext {
    /// Analyses an engine.
    pub fn of(engine: &Engine) -> Self {
        let mut first: Vec<Known> =
            engine.context.iter().map(|c| Known::constant(&Bits::zero(c.width))).collect();
        if let EngineKind::Call { params, .. } = &engine.kind {
            for p in params {
                first[p.index()] = Known::nothing(engine.context[p.index()].width);
            }
        }
        if engine.steps.len().saturating_mul(engine.context.len()) > MOST_TRACKED {
            return Self::nothing(engine);
        }
        // Steps share what is known until they differ.
        let shared = Rc::new(first.clone());
        let at = vec![shared; engine.steps.len()];
        let mut found = Self { at, ever: first };
        let mut visits = vec![0; engine.steps.len()];
        let mut reached = vec![false; engine.steps.len()];
        let mut open = VecDeque::new();
        if let Some(first) = reached.first_mut() {
            *first = true;
            open.push_back(0);
        }
        let mut is_open = reached.clone();
        while let Some(index) = open.pop_front() {
            visits[index] += 1;
            is_open[index] = false;
            let left = leave(&engine.steps[index], &found.at[index], &mut found.ever);
            for (next, context) in left {
                let changed = if std::mem::replace(&mut reached[next], true) {
                    let before = Rc::make_mut(&mut found.at[next]);
                    join(before, &context, visits[next] > MOST_VISITS)
                } else {
                    found.at[next] = context;
                    true
                };
                if changed && !std::mem::replace(&mut is_open[next], true) {
                    open.push_back(next);
                }
            }
        }
        found
    }

    /// Nothing is known of any variable.
    fn nothing(engine: &Engine) -> Self {
        let ever: Vec<Known> = engine.context.iter().map(|c| Known::nothing(c.width)).collect();
        let shared = Rc::new(ever.clone());
        Self { at: vec![shared; engine.steps.len()], ever }
    }

    /// The known bits of each variable when a step begins.
    pub fn at(&self, step: usize) -> &[Known] {
        &self.at[step]
    }

    /// The known bits of each variable at any time.
    pub fn ever(&self) -> &[Known] {
        &self.ever
    }

    /// The known bits of each value of each step.
    pub fn values(&self, engine: &Engine) -> Vec<Vec<Known>> {
        engine.steps.iter().zip(&self.at).map(|(step, at)| known_bits::of_step(step, at)).collect()
    }
}

/// Merges `other` into `context`; returns whether less is known of some variable than before.
fn join(context: &mut [Known], other: &[Known], give_up: bool) -> bool {
    let mut changed = false;
    for (known, other) in context.iter_mut().zip(other) {
        let either = known.either(other);
        if either != *known {
            changed = true;
            *known = if give_up { Known::nothing(known.width()) } else { either };
        }
    }
    changed
}

/// Returns each successor step, and the context that it receives. Written values are added to
/// `ever`.
fn leave(step: &Step, at: &Rc<Vec<Known>>, ever: &mut [Known]) -> Vec<(usize, Rc<Vec<Known>>)> {
    let definitions = Definitions::of(step);
    let known = known_bits::of_step(step, at);
    if is_large(step) {
        return leave_large(step, at, &known, ever);
    }
    let guards = Guards::new(&definitions);
    let facts = |guard: Option<Value>| Facts::new(&definitions, &known, guards.holds(guard));
    let mut ops = Vec::new();
    let mut is_flat = true;
    step.for_each_op(|op| {
        is_flat &= !matches!(op.kind, OpKind::If { .. });
        ops.push(op);
    });
    for op in &ops {
        if let OpKind::WriteContext(id, value) = op.kind {
            let written = facts(op.guard).of(value);
            ever[id.index()] = ever[id.index()].either(&written);
        }
    }
    let mut left = Vec::new();
    for (index, op) in ops.iter().enumerate() {
        if let OpKind::Exit(exit) = &op.kind
            && let Some(next) = successor(exit)
        {
            // With structured choices it is unknown which writes precede an exit.
            let before = if is_flat { &ops[..index] } else { &ops[..] };
            let guard = op.guard.filter(|_| is_flat);
            left.push((next.index(), Rc::new(at_exit(before, at, facts(guard), !is_flat))));
        }
    }
    debug_assert!(is_flat || matches!(step.code, Code::Sequential(_)));
    left
}

fn is_large(step: &Step) -> bool {
    let (mut ops, mut guards) = (0usize, 0);
    step.for_each_op(|op| {
        ops += 1;
        if matches!(op.kind, OpKind::WriteContext(..) | OpKind::Exit(_)) && op.guard.is_some() {
            guards += 1;
        }
    });
    ops.saturating_mul(guards) > MOST_PAIRS
}

/// The same for a large step: each of its writes may have happened at each exit.
fn leave_large(
    step: &Step,
    at: &Rc<Vec<Known>>,
    known: &[Known],
    ever: &mut [Known],
) -> Vec<(usize, Rc<Vec<Known>>)> {
    let mut context = Rc::clone(at);
    let mut successors = BTreeSet::new();
    step.for_each_op(|op| match &op.kind {
        OpKind::WriteContext(id, value) => {
            let written = &known[value.index()];
            for known in [&mut Rc::make_mut(&mut context)[id.index()], &mut ever[id.index()]] {
                *known = known.either(written);
            }
        }
        OpKind::Exit(exit) => successors.extend(successor(exit)),
        _ => {}
    });
    successors.into_iter().map(|next| (next.index(), Rc::clone(&context))).collect()
}

/// The context at an exit that follows some operations.
fn at_exit(before: &[&Op], at: &[Known], mut facts: Facts<'_>, any: bool) -> Vec<Known> {
    let mut context = at.to_vec();
    let write = |op: &&Op| match op.kind {
        OpKind::WriteContext(id, _) => Some(id),
        _ => None,
    };
    let written: HashSet<ContextId> = before.iter().filter_map(write).collect();
    for op in before {
        match op.kind {
            // A value that was read and not yet overwritten is still there.
            OpKind::ReadContext(id) if !written.contains(&id) => {
                context[id.index()] = facts.of(op.results[0])
            }
            OpKind::WriteContext(id, value) => {
                let holds = match op.guard {
                    None => (!any).then_some(true),
                    Some(guard) => facts.holds.bit(guard).filter(|_| !any),
                };
                let known = &mut context[id.index()];
                match holds {
                    Some(true) => *known = facts.of(value),
                    Some(false) => {}
                    None => *known = known.either(&facts.of(value)),
                }
            }
            _ => {}
        }
    }
    context
}

/// The known bits of values under a guard that is true.
struct Facts<'a> {
    definitions: &'a Definitions<'a>,
    known: &'a [Known],
    holds: Holds<'a>,
    /// What the guard says about operands.
    said: HashMap<Value, Known>,
    found: HashMap<Value, Known>,
}

impl<'a> Facts<'a> {
    fn new(definitions: &'a Definitions<'a>, known: &'a [Known], holds: Holds<'a>) -> Self {
        let literals: Vec<(Value, bool)> = holds.iter().collect();
        let mut facts =
            Self { definitions, known, holds, said: HashMap::new(), found: HashMap::new() };
        for (value, bit) in literals {
            facts.say(value, Known::constant(&Bits::bool(bit)));
            if let Some((value, known)) = facts.bound(value, bit) {
                facts.say(value, known);
            }
        }
        facts
    }

    /// What a comparison with a constant says about its other operand.
    fn bound(&self, comparison: Value, holds: bool) -> Option<(Value, Known)> {
        let OpKind::Binary(op, a, b) = *self.definitions.kind(comparison)? else { return None };
        let (value, constant, value_is_left) =
            match (self.definitions.constant(a), self.definitions.constant(b)) {
                (None, Some(c)) => (a, c, true),
                (Some(c), None) => (b, c, false),
                _ => return None,
            };
        let width = constant.width();
        let below = || (!constant.is_zero()).then(|| constant.sub(&Bits::new(width, 1)));
        let max = match (op, value_is_left, holds) {
            (BinaryOp::Eq, _, true) | (BinaryOp::Ne, _, false) => {
                return Some((value, Known::constant(constant)));
            }
            (BinaryOp::Ule, true, true) | (BinaryOp::Ult, false, false) => constant.clone(),
            (BinaryOp::Ult, true, true) | (BinaryOp::Ule, false, false) => below()?,
            _ => return None,
        };
        Some((value, Known::at_most(&max, width)))
    }

    /// Records the known bits of a value, and of the values that it is wired to.
    fn say(&mut self, value: Value, known: Known) {
        let mut next = Some((value, known));
        while let Some((value, known)) = next {
            let said = match self.said.get(&value) {
                Some(before) => before.both(&known),
                None => known,
            };
            self.said.insert(value, said.clone());
            next = match self.definitions.kind(value) {
                Some(OpKind::Extend(a)) => {
                    let width = self.definitions.width(*a);
                    Some((
                        *a,
                        Known {
                            zeros: said.zeros.slice(0, width),
                            ones: said.ones.slice(0, width),
                        },
                    ))
                }
                Some(OpKind::Slice(a, lo)) => {
                    let width = self.definitions.width(*a);
                    let widen = |bits: &Bits| bits.resize(width).shl(*lo);
                    Some((*a, Known { zeros: widen(&said.zeros), ones: widen(&said.ones) }))
                }
                _ => None,
            };
        }
    }

    /// The known bits of a value.
    fn of(&mut self, value: Value) -> Known {
        self.of_at(value, MAX_DEPTH)
    }

    fn of_at(&mut self, value: Value, depth: u32) -> Known {
        if let Some(found) = self.found.get(&value) {
            return found.clone();
        }
        let mut known = self.known[value.index()].clone();
        // Without a fact nothing follows.
        if let Some(kind) =
            self.definitions.kind(value).filter(|kind| is_pure(kind) && !self.said.is_empty())
            && depth > 0
        {
            let operands: HashMap<Value, Known> =
                kind.operands().into_iter().map(|v| (v, self.of_at(v, depth - 1))).collect();
            let computed = known_bits::of_operation(kind, known.width(), &[], |v| &operands[&v]);
            known = known.both(&computed);
        }
        if let Some(said) = self.said.get(&value) {
            known = known.both(said);
        }
        self.found.insert(value, known.clone());
        known
    }
}
