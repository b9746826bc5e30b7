//! Decides when two guards exclude each other.
//!
//! If-conversion builds guards as conjunctions of conditions. A guard is split into *literals*:
//! values, each of which must be 1 or must be 0. Two guards exclude each other if their literals
//! contradict: one value must be both 1 and 0, one value equals two constants, or comparisons of
//! two values allow no order of them. A literal that is a disjunction contradicts if both of its
//! sides do. A result of "no" means "not known".

use std::collections::HashMap;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, OpKind, UnaryOp, Value};

use super::Definitions;
use super::holds::Holds;

/// How deeply disjunctions are split; a switch over a few labels needs 1.
const MAX_DEPTH: u32 = 4;

/// Values, and what each of them must be.
pub type Literals = HashMap<Value, bool>;

/// The guards of one step, with what is known about them.
pub struct Guards<'a> {
    definitions: &'a Definitions<'a>,
}

impl<'a> Guards<'a> {
    /// Creates an analysis of the step to which the definitions belong.
    pub fn new(definitions: &'a Definitions<'a>) -> Self {
        Self { definitions }
    }

    /// Whether the two guards are certainly never both true. `None` stands for a guard that is
    /// always true.
    pub fn exclusive(&self, a: Option<Value>, b: Option<Value>) -> bool {
        let (Some(a), Some(b)) = (a, b) else { return false };
        if a == b {
            return false;
        }
        self.contradict(&self.literals(a, true), &self.literals(b, true), MAX_DEPTH)
    }

    /// Everything that follows from `value` being `polarity`, itself included.
    pub fn literals(&self, value: Value, polarity: bool) -> Literals {
        let mut known = Literals::new();
        let mut work = vec![(value, polarity)];
        while let Some((value, polarity)) = work.pop() {
            if known.insert(value, polarity).is_some() {
                continue;
            }
            match (self.definitions.kind(value), polarity) {
                (Some(OpKind::Unary(UnaryOp::Not, x)), _) => work.push((*x, !polarity)),
                (Some(OpKind::Binary(BinaryOp::And, a, b)), true)
                | (Some(OpKind::Binary(BinaryOp::Or, a, b)), false) => {
                    work.extend([(*a, polarity), (*b, polarity)]);
                }
                _ => {}
            }
        }
        known
    }

    /// Everything that follows if a guard is true; nothing follows from `None`.
    pub fn holds(&self, guard: Option<Value>) -> Holds<'a> {
        Holds::new(self.definitions, guard.map(|g| (g, true)))
    }

    /// Everything that follows if one-bit values are as given.
    pub fn together(&self, said: Vec<(Value, bool)>) -> Holds<'a> {
        Holds::new(self.definitions, said)
    }

    fn contradict(&self, a: &Literals, b: &Literals, depth: u32) -> bool {
        a.iter().any(|(value, polarity)| b.get(value).is_some_and(|other| other != polarity))
            || self.unequal(a, b)
            || self.misordered(a, b)
            || depth > 0
                && (self.choice_contradicts(a, b, depth) || self.choice_contradicts(b, a, depth))
    }

    /// Whether one value is compared equal to different constants, or equal and unequal to the same
    /// constant.
    fn unequal(&self, a: &Literals, b: &Literals) -> bool {
        let equations = |literals: &Literals| -> Vec<(Value, &'a Bits, bool)> {
            literals
                .iter()
                .filter_map(|(value, polarity)| match self.definitions.kind(*value)? {
                    OpKind::Binary(op @ (BinaryOp::Eq | BinaryOp::Ne), x, c) => {
                        let (x, c) = self
                            .definitions
                            .constant(*c)
                            .map(|bits| (*x, bits))
                            .or_else(|| self.definitions.constant(*x).map(|bits| (*c, bits)))?;
                        Some((x, c, *polarity == (*op == BinaryOp::Eq)))
                    }
                    _ => None,
                })
                .collect()
        };
        let b = equations(b);
        equations(a).iter().any(|(x, c, equal)| {
            b.iter().any(|(y, d, other)| {
                x == y
                    && match (equal, other) {
                        (true, true) => c != d,
                        (false, false) => false,
                        _ => c == d,
                    }
            })
        })
    }

    /// Whether comparisons of two values exclude every order of them.
    fn misordered(&self, a: &Literals, b: &Literals) -> bool {
        let mut orders: HashMap<(Value, Value), u8> = HashMap::new();
        a.iter().chain(b).any(|(value, polarity)| {
            let Some(OpKind::Binary(op, x, y)) = self.definitions.kind(*value) else {
                return false;
            };
            // The order of the first to the second, sorted by their numbers.
            let (less, equal, greater) = if x < y { (1, 2, 4) } else { (4, 2, 1) };
            let holds = match op {
                BinaryOp::Ult => less,
                BinaryOp::Ule => less | equal,
                BinaryOp::Eq => equal,
                BinaryOp::Ne => less | greater,
                _ => return false,
            };
            let left = orders.entry((*x.min(y), *x.max(y))).or_insert(7);
            *left &= if *polarity { holds } else { 7 - holds };
            *left == 0
        })
    }

    /// Whether `a` demands a disjunction whose sides both contradict `b`.
    fn choice_contradicts(&self, a: &Literals, b: &Literals, depth: u32) -> bool {
        a.iter().any(|(value, polarity)| match (self.definitions.kind(*value), polarity) {
            (Some(OpKind::Binary(BinaryOp::Or, x, y)), true)
            | (Some(OpKind::Binary(BinaryOp::And, x, y)), false) => [x, y]
                .iter()
                .all(|side| self.contradict(&self.literals(**side, *polarity), b, depth - 1)),
            _ => false,
        })
    }
}
