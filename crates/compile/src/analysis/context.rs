//! Finds the certain bits of the context variables at the beginning of each step.
//!
//! A forward analysis over the step graph. All variables begin as zero. A step leaves in a variable
//! the value that it wrote or found there, and the exit that is taken tells more about that value.
//! A step that jumps on only `if (at <= 84)` passes on an `at` of at most seven bits.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::rc::Rc;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Code, ContextId, Engine, EngineKind, Op, OpKind, Step, Value};

use super::conditions::Guards;
use super::conditions::Holds;
use super::effects::successor;
use super::known_bits::{self, Known};
use super::{Definitions, is_pure};

/// The known bits of an engine's context.
pub struct KnownContext {
    /// By step and variable; zero in unreachable steps.
    at: Vec<Rc<Vec<Known>>>,
    /// The known bits of each variable at any time in a thread's life, including parameters.
    ever: Vec<Known>,
}

/// The most pairs of a step and a variable in an engine that is analysed.
const MOST_TRACKED: usize = 1 << 22;

/// The most pairs of an operation and a guard in a step for which the implications of guards are
/// used. In larger steps only the values themselves count.
const MOST_PAIRS: usize = 1 << 20;

/// The depth to which the operands of a value are searched for implications of a guard.
const MAX_DEPTH: u32 = 100;

/// After this many visits of a step, bits that still change are given up: a loop may count bit by
/// bit.
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
        // Steps share one set of known bits until they differ.
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

    /// Returns a result that knows nothing about any variable.
    pub(crate) fn nothing(engine: &Engine) -> Self {
        let ever: Vec<Known> = engine.context.iter().map(|c| Known::nothing(c.width)).collect();
        let shared = Rc::new(ever.clone());
        Self { at: vec![shared; engine.steps.len()], ever }
    }

    /// Returns the known bits of each variable at the beginning of a step.
    pub fn at(&self, step: usize) -> &[Known] {
        &self.at[step]
    }

    /// Returns the known bits of each variable at any time.
    pub fn ever(&self) -> &[Known] {
        &self.ever
    }

    /// Returns the known bits of each value of each step.
    pub fn values(&self, engine: &Engine) -> Vec<Vec<Known>> {
        engine.steps.iter().zip(&self.at).map(|(step, at)| known_bits::of_step(step, at)).collect()
    }
}

/// Merges `other` into `context`. Returns whether less is known about some variable than before.
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

/// Does the same for a large step: each of its writes may have happened at each exit.
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

/// Returns the context at an exit that follows some operations.
fn at_exit(before: &[&Op], at: &[Known], mut facts: Facts<'_>, any: bool) -> Vec<Known> {
    let mut context = at.to_vec();
    let write = |op: &&Op| match op.kind {
        OpKind::WriteContext(id, _) => Some(id),
        _ => None,
    };
    let written: HashSet<ContextId> = before.iter().filter_map(write).collect();
    for op in before {
        match op.kind {
            // A variable that was read and not yet overwritten still has that value.
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
    /// The bits of operands that the guard determines.
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

    /// Returns the other operand of a comparison with a constant, and the bits that the comparison
    /// determines.
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

    /// Returns the known bits of a value.
    fn of(&mut self, value: Value) -> Known {
        self.of_at(value, MAX_DEPTH)
    }

    fn of_at(&mut self, value: Value, depth: u32) -> Known {
        if let Some(found) = self.found.get(&value) {
            return found.clone();
        }
        let mut known = self.known[value.index()].clone();
        // Without facts nothing more follows.
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
