//! When two guards cannot hold together.
//!
//! If-conversion makes guards as conjunctions of conditions. A guard is taken apart into *literals*, each a value and
//! whether it must be 1 or 0; two guards exclude each other if their literals contradict: one value as 1 and as 0, or
//! one value compared equal to two constants, or two values in ways that no order of them satisfies. A literal that is
//! a disjunction contradicts if both its sides do. The answer "no" means "not known".

use std::collections::HashMap;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, OpKind, UnaryOp, Value};

use super::Definitions;
use super::holds::Holds;

/// How deep disjunctions are taken apart: switches over a few labels need 1.
const MAX_DEPTH: u32 = 4;

/// Values and what each of them must be.
pub type Literals = HashMap<Value, bool>;

/// Guards of one step, with what was found out about them.
pub struct Guards<'a> {
    definitions: &'a Definitions<'a>,
}

impl<'a> Guards<'a> {
    /// Of the step that the definitions are of.
    pub fn new(definitions: &'a Definitions<'a>) -> Self {
        Self { definitions }
    }

    /// Whether it is certain that never both guards hold. No guard always holds.
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

    /// All that follows from a guard that holds; from no guard nothing does.
    pub fn holds(&self, guard: Option<Value>) -> Holds<'a> {
        Holds::new(self.definitions, guard.map(|g| (g, true)))
    }

    /// All that follows from one-bit values that are as said.
    pub fn together(&self, said: Vec<(Value, bool)>) -> Holds<'a> {
        Holds::new(self.definitions, said)
    }

    fn contradict(&self, a: &Literals, b: &Literals, depth: u32) -> bool {
        a.iter().any(|(value, polarity)| b.get(value).is_some_and(|other| other != polarity))
            || self.unequal(a, b)
            || self.misordered(a, b)
            || depth > 0 && (self.choice_contradicts(a, b, depth) || self.choice_contradicts(b, a, depth))
    }

    /// Whether one value is compared equal to different constants, or equal and unequal to one constant.
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

    /// Whether comparisons of two values leave no order that they can have.
    fn misordered(&self, a: &Literals, b: &Literals) -> bool {
        let mut orders: HashMap<(Value, Value), u8> = HashMap::new();
        a.iter().chain(b).any(|(value, polarity)| {
            let Some(OpKind::Binary(op, x, y)) = self.definitions.kind(*value) else { return false };
            // Of the first, in order of their numbers, to the second.
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

    /// Whether `a` demands a disjunction of which both sides contradict `b`.
    fn choice_contradicts(&self, a: &Literals, b: &Literals, depth: u32) -> bool {
        a.iter().any(|(value, polarity)| match (self.definitions.kind(*value), polarity) {
            (Some(OpKind::Binary(BinaryOp::Or, x, y)), true)
            | (Some(OpKind::Binary(BinaryOp::And, x, y)), false) => {
                [x, y].iter().all(|side| self.contradict(&self.literals(**side, *polarity), b, depth - 1))
            }
            _ => false,
        })
    }
}
