//! Decides when two guards exclude each other.
//!
//! If-conversion builds guards as conjunctions of conditions. A guard is split into *literals*:
//! values, each of which must be 1 or must be 0. Two guards exclude each other if their literals
//! contradict: one value must be both 1 and 0, one value equals two constants, or comparisons of
//! two values allow no order of them. A literal that is a disjunction contradicts if both of its
//! sides do. The result "no" means "unknown". The number of literals and disjunctions considered is
//! limited, so that each query takes at most linear time even in large steps.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet, VecDeque};
use std::rc::Rc;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, OpKind, UnaryOp, Value};

use super::super::Definitions;
use super::comparisons::compared;
use super::holds::Holds;

/// The depth to which disjunctions are split. A switch over a few labels needs 1.
const MAX_DEPTH: u32 = 4;

/// The most literals of a guard that are compared, starting with the nearest ones. Guards after
/// thousands of exits have this many. Fewer literals prove less, but nothing wrong.
const MOST_LITERALS: usize = 256;

/// The most literals that are kept for all guards of a step. Beyond that, further guards are
/// compared by [`FEW_LITERALS`].
const MOST_KEPT: usize = 1 << 20;

const FEW_LITERALS: usize = 8;

/// The most comparisons of sides of disjunctions for two guards.
const MOST_CHOICES: u32 = 256;

/// Values, and the bit that each of them must have.
pub type Literals = HashMap<Value, bool>;

/// The guards of one step, with cached facts about them.
pub struct Guards<'a> {
    definitions: &'a Definitions<'a>,
    /// The demands of each value and bit, cached.
    demands: RefCell<HashMap<(Value, bool), Rc<Demands<'a>>>>,
    /// The number of literals in `demands`.
    kept: Cell<usize>,
}

/// The conditions that must hold for a value to have a certain bit.
struct Demands<'a> {
    literals: Literals,
    /// The values that must equal a constant.
    equal: HashMap<Value, &'a Bits>,
    /// Values and constants that must differ.
    unequal: HashSet<(Value, &'a Bits)>,
    /// The orders that comparisons of two values leave open.
    orders: HashMap<(Value, Value), u8>,
    /// Disjunctions: both sides, and the bit that one of them must have.
    choices: Vec<(Value, Value, bool)>,
    /// Whether the demands contradict each other.
    never: bool,
}

impl<'a> Demands<'a> {
    fn new(definitions: &'a Definitions<'a>, literals: Literals) -> Self {
        let mut demands = Self {
            literals,
            equal: HashMap::new(),
            unequal: HashSet::new(),
            orders: HashMap::new(),
            choices: Vec::new(),
            never: false,
        };
        // Visit in order, so that the same program always gives the same result.
        let mut sorted: Vec<(Value, bool)> =
            demands.literals.iter().map(|(value, bit)| (*value, *bit)).collect();
        sorted.sort_unstable();
        for (value, bit) in sorted {
            let Some(OpKind::Binary(op, x, y)) = definitions.kind(value) else { continue };
            match (op, bit) {
                (BinaryOp::Or, true) | (BinaryOp::And, false) => {
                    demands.choices.push((*x, *y, bit));
                }
                _ => demands.compare(definitions, *op, *x, *y, bit),
            }
        }
        demands
    }

    /// Adds the demands of a comparison that must have the given bit.
    fn compare(
        &mut self,
        definitions: &'a Definitions<'a>,
        op: BinaryOp,
        x: Value,
        y: Value,
        bit: bool,
    ) {
        if let BinaryOp::Eq | BinaryOp::Ne = op
            && let Some((value, constant)) = compared(definitions, x, y)
        {
            if bit != (op == BinaryOp::Eq) {
                self.unequal.insert((value, constant));
            } else if *self.equal.entry(value).or_insert(constant) != constant {
                self.never = true;
            }
        }
        // The possible orders of the first operand to the second, sorted by their numbers.
        let (less, equal, greater) = if x < y { (1, 2, 4) } else { (4, 2, 1) };
        let holds = match op {
            BinaryOp::Ult => less,
            BinaryOp::Ule => less | equal,
            BinaryOp::Eq => equal,
            BinaryOp::Ne => less | greater,
            _ => return,
        };
        let left = self.orders.entry((x.min(y), x.max(y))).or_insert(7);
        *left &= if bit { holds } else { 7 - holds };
        self.never |= *left == 0;
    }

    /// Returns whether these demands contradict others, without regard to disjunctions.
    fn contradict(&self, other: &Self) -> bool {
        if self.literals.len() > other.literals.len() {
            return other.contradict(self);
        }
        let differs = |(x, c): (&Value, &&Bits)| other.equal.get(x).is_some_and(|d| d != c);
        let denied =
            |a: &Self, b: &Self| a.equal.iter().any(|(x, c)| b.unequal.contains(&(*x, *c)));
        self.never
            || other.never
            || self.literals.iter().any(|(x, bit)| other.literals.get(x).is_some_and(|b| b != bit))
            || self.equal.iter().any(differs)
            || denied(self, other)
            || denied(other, self)
            || self
                .orders
                .iter()
                .any(|(x, left)| other.orders.get(x).is_some_and(|also| left & also == 0))
    }
}

impl<'a> Guards<'a> {
    /// Creates an analysis of the step to which the definitions belong.
    pub fn new(definitions: &'a Definitions<'a>) -> Self {
        Self { definitions, demands: RefCell::default(), kept: Cell::new(0) }
    }

    /// Returns whether the two guards are certainly never both true. `None` is a guard that is
    /// always true.
    pub fn exclusive(&self, a: Option<Value>, b: Option<Value>) -> bool {
        let (Some(a), Some(b)) = (a, b) else { return false };
        if a == b {
            return false;
        }
        let (a, b) = (self.demands(a, true), self.demands(b, true));
        self.contradict(&a, &b, MAX_DEPTH, &mut { MOST_CHOICES })
    }

    /// Returns the conditions that must hold for a value to have a bit.
    fn demands(&self, value: Value, bit: bool) -> Rc<Demands<'a>> {
        if let Some(known) = self.demands.borrow().get(&(value, bit)) {
            return Rc::clone(known);
        }
        let most = if self.kept.get() < MOST_KEPT { MOST_LITERALS } else { FEW_LITERALS };
        let demands = Rc::new(Demands::new(self.definitions, self.nearest(value, bit, most)));
        self.kept.set(self.kept.get() + demands.literals.len());
        self.demands.borrow_mut().insert((value, bit), Rc::clone(&demands));
        demands
    }

    /// Returns everything that follows if `value` is `polarity`, including that fact.
    pub fn literals(&self, value: Value, polarity: bool) -> Literals {
        self.nearest(value, polarity, usize::MAX)
    }

    /// Returns at most `most` literals, the nearest ones to the value.
    fn nearest(&self, value: Value, polarity: bool, most: usize) -> Literals {
        let mut known = Literals::new();
        let mut work = VecDeque::from([(value, polarity)]);
        while known.len() < most
            && let Some((value, polarity)) = work.pop_front()
        {
            if known.insert(value, polarity).is_some() {
                continue;
            }
            match (self.definitions.kind(value), polarity) {
                (Some(OpKind::Unary(UnaryOp::Not, x)), _) => work.push_back((*x, !polarity)),
                (Some(OpKind::Binary(BinaryOp::And, a, b)), true)
                | (Some(OpKind::Binary(BinaryOp::Or, a, b)), false) => {
                    work.extend([(*a, polarity), (*b, polarity)]);
                }
                _ => {}
            }
        }
        known
    }

    /// Returns everything that follows if a guard is true. Nothing follows from `None`.
    pub fn holds(&self, guard: Option<Value>) -> Holds<'a> {
        Holds::new(self.definitions, guard.map(|g| (g, true)))
    }

    /// Returns everything that follows if one-bit values have the given bits.
    pub fn together(&self, said: Vec<(Value, bool)>) -> Holds<'a> {
        Holds::new(self.definitions, said)
    }

    fn contradict(&self, a: &Demands<'a>, b: &Demands<'a>, depth: u32, choices: &mut u32) -> bool {
        a.contradict(b)
            || depth > 0
                && (self.choice_contradicts(a, b, depth, choices)
                    || self.choice_contradicts(b, a, depth, choices))
    }

    /// Returns whether `a` demands a disjunction whose sides both contradict `b`.
    fn choice_contradicts(
        &self,
        a: &Demands<'a>,
        b: &Demands<'a>,
        depth: u32,
        choices: &mut u32,
    ) -> bool {
        a.choices.iter().any(|(x, y, bit)| {
            [x, y].into_iter().all(|side| {
                *choices > 0 && {
                    *choices -= 1;
                    self.contradict(&self.demands(*side, *bit), b, depth - 1, choices)
                }
            })
        })
    }
}
