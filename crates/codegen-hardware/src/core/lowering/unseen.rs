//! Whether an operation needs its value while its guard does not hold.

use wireloom_compile::analysis::conditions::{Guards, Literals};
use wireloom_compile::analysis::is_pure;
use wireloom_ir::{BinaryOp, OpKind, UnaryOp, Value};

use super::Lowering;

impl Lowering<'_> {
    /// Whether a one-bit value certainly has the given polarity, given the known literals.
    fn follows(&self, known: &Literals, value: Value, polarity: bool) -> bool {
        if let Some(is) = known.get(&value) {
            return *is == polarity;
        }
        match (self.definitions.kind(value), polarity) {
            (Some(OpKind::Unary(UnaryOp::Not, a)), _) => self.follows(known, *a, !polarity),
            (Some(OpKind::Binary(BinaryOp::And, a, b)), true)
            | (Some(OpKind::Binary(BinaryOp::Or, a, b)), false) => {
                self.follows(known, *a, polarity) && self.follows(known, *b, polarity)
            }
            (Some(OpKind::Binary(BinaryOp::Or, a, b)), true)
            | (Some(OpKind::Binary(BinaryOp::And, a, b)), false) => {
                self.follows(known, *a, polarity) || self.follows(known, *b, polarity)
            }
            _ => false,
        }
    }

    /// Whether nothing depends on a value while a guard does not hold.
    pub(super) fn is_unseen_without(&self, value: Value, guard: Value) -> bool {
        let guards = Guards::new(self.definitions);
        let implies = |condition: Value, polarity: bool| {
            self.follows(&guards.literals(condition, polarity), guard, true)
        };
        let mut work = vec![value];
        let mut seen = vec![false; self.step.values.len()];
        while let Some(value) = work.pop() {
            if std::mem::replace(&mut seen[value.index()], true) {
                continue;
            }
            let mut is_seen = false;
            self.step.for_each_op(|op| {
                let mut uses = op.guard == Some(value);
                op.kind.for_each_operand(|v| uses |= v == value);
                if !uses {
                    return;
                }
                if !is_pure(&op.kind) {
                    // An effect that the value itself guards depends on it.
                    is_seen |=
                        op.guard == Some(value) || !op.guard.is_some_and(|g| implies(g, true));
                    return;
                }
                let hidden = match &op.kind {
                    OpKind::Binary(BinaryOp::And, a, b) => {
                        let other = if *a == value { *b } else { *a };
                        self.width(other) == 1 && a != b && implies(other, true)
                    }
                    OpKind::Binary(BinaryOp::Or, a, b) => {
                        let other = if *a == value { *b } else { *a };
                        self.width(other) == 1 && a != b && implies(other, false)
                    }
                    OpKind::Select(c, a, b) => {
                        *c != value
                            && (*a != value || implies(*c, true))
                            && (*b != value || implies(*c, false))
                    }
                    _ => false,
                };
                if !hidden {
                    work.extend(op.results.iter().copied());
                }
            });
            if is_seen {
                return false;
            }
        }
        true
    }
}
