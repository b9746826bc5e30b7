//! Ends a split step early if its later parts have nothing to do.
//!
//! ```text
//! step a { edit { ... } jump { next a.1 } }             step a { edit { ... } jump {
//! step a.1 split "..." {                                  finish when not %1
//!   edit { packet.write %0 + 128, %2 when %1 }     =>     next a.1 when %1
//!   jump { finish }                                     } }
//! }                                                     step a.1 split "..." { ... }
//! ```
//!
//! This happens at the end of each part where the guards of all later effects, and the exits after
//! them, are known.

use std::collections::BTreeSet;

use wireloom_ir::{BinaryOp, Loc, Op, OpKind, Step, UnaryOp, Value, ValueInfo};

use super::schedule::{Cause, Schedule};
use crate::analysis::Definitions;
use crate::analysis::conditions::Guards;

/// Maximum number of conditions to test. More are not worth it.
const MOST_GUARDS: usize = 8;

/// Adds exits to the parts of a scheduled step.
pub(super) fn shorten(step: &mut Step, ops: &mut Vec<Op>, schedule: &mut Schedule) {
    let snapshot = step.clone();
    let definitions = Definitions::of(&snapshot);
    let guards = Guards::new(&definitions);
    let is_exit = |op: &Op| matches!(op.kind, OpKind::Exit(_));
    let last = ops.len();
    for part in 0..schedule.parts.saturating_sub(1) {
        let known = |value: Value| schedule.value_time[value.index()] <= 2 * part + 1;
        let later = || (0..last).filter(|index| schedule.time[*index] / 2 > part);
        let left: Option<BTreeSet<Value>> = later()
            .filter(|index| ops[*index].kind.has_effect() && !is_exit(&ops[*index]))
            .map(|index| ops[index].guard.filter(|guard| known(*guard)))
            .collect();
        let exits: Vec<usize> = later().filter(|index| is_exit(&ops[*index])).collect();
        let exits_known = exits.iter().all(|index| {
            let op = &ops[*index];
            op.guard.is_none_or(known) && op.kind.operands().into_iter().all(known)
        });
        let Some(left) =
            left.filter(|left| exits_known && !left.is_empty() && left.len() <= MOST_GUARDS)
        else {
            continue;
        };
        let before = ops[..last]
            .iter()
            .zip(&schedule.time)
            .filter(|(op, time)| is_exit(op) && **time / 2 <= part);
        let passed =
            guards.together(before.filter_map(|(op, _)| Some((op.guard?, false))).collect());
        if left.iter().any(|guard| passed.bit(*guard) == Some(true)) {
            continue;
        }
        let mut add = Add { step, ops, schedule, part };
        let any = left.into_iter().reduce(|a, b| add.bit(OpKind::Binary(BinaryOp::Or, a, b)));
        let none = add.bit(OpKind::Unary(UnaryOp::Not, any.expect("something is left")));
        for index in exits {
            let mut exit = add.ops[index].clone();
            exit.guard = Some(match exit.guard {
                Some(guard) => add.bit(OpKind::Binary(BinaryOp::And, none, guard)),
                None => none,
            });
            add.op(exit);
        }
    }
}

/// Adds operations to a part.
struct Add<'a> {
    step: &'a mut Step,
    ops: &'a mut Vec<Op>,
    schedule: &'a mut Schedule,
    part: u32,
}

impl Add<'_> {
    fn bit(&mut self, kind: OpKind) -> Value {
        let value = Value(self.step.values.len() as u32);
        self.step.values.push(ValueInfo { width: 1, name: None });
        self.schedule.value_time.push(2 * self.part + 1);
        self.op(Op { kind, results: vec![value], guard: None, loc: Loc::default() });
        value
    }

    fn op(&mut self, op: Op) {
        self.ops.push(op);
        self.schedule.time.push(2 * self.part + 1);
        self.schedule.until.push(u32::MAX);
        self.schedule.cause.push(Cause::None);
    }
}
