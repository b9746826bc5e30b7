//! Checks the visibility of values. Each value has one definition, which precedes its uses. A
//! definition inside an `if` is visible only inside that `if`. In regions, the scope also tracks
//! which values depend on replies.

use super::Checker;
use crate::{Op, Step, Value};

/// The state of the walk through a step.
pub(super) struct Scope {
    defined: Vec<bool>,
    visible: Vec<bool>,
    /// Visible values in order of definition. Leaving a block hides the values that it defined.
    order: Vec<Value>,
    from_reply: Vec<bool>,
}

impl Scope {
    pub(super) fn new(step: &Step) -> Self {
        let none = vec![false; step.values.len()];
        Self { defined: none.clone(), visible: none.clone(), order: Vec::new(), from_reply: none }
    }

    /// Returns a mark that is later passed to [`leave`](Self::leave).
    pub(super) fn enter(&self) -> usize {
        self.order.len()
    }

    pub(super) fn leave(&mut self, mark: usize) {
        for value in self.order.drain(mark..) {
            self.visible[value.index()] = false;
        }
    }

    /// Whether the value is a reply or was computed from one.
    pub(super) fn comes_of_reply(&self, value: Value) -> bool {
        self.from_reply.get(value.index()).copied().unwrap_or(false)
    }

    pub(super) fn mark_reply(&mut self, value: Value) {
        if let Some(mark) = self.from_reply.get_mut(value.index()) {
            *mark = true;
        }
    }
}

impl Checker<'_> {
    pub(super) fn define(&mut self, scope: &mut Scope, step: &Step, op: &Op) {
        for result in &op.results {
            match scope.defined.get_mut(result.index()) {
                None => self.op_problem(
                    step,
                    op,
                    format!("value %{} is not in the step's list", result.0),
                ),
                Some(true) => {
                    self.op_problem(step, op, format!("value %{} is defined twice", result.0))
                }
                Some(defined) => {
                    *defined = true;
                    scope.visible[result.index()] = true;
                    scope.order.push(*result);
                }
            }
        }
    }

    /// Returns the width of a value that `op` uses. If the value is not visible, reports a problem
    /// and returns `None`.
    pub(super) fn used(
        &mut self,
        scope: &Scope,
        step: &Step,
        op: &Op,
        value: Value,
    ) -> Option<u32> {
        match scope.visible.get(value.index()) {
            Some(true) => Some(step.values[value.index()].width),
            Some(false) => {
                let why = if scope.defined[value.index()] {
                    "is defined in a block that does not enclose this use"
                } else {
                    "is not defined before this use"
                };
                self.op_problem(step, op, format!("value %{} {why}", value.0));
                None
            }
            None => {
                self.op_problem(step, op, format!("value %{} is not in the step's list", value.0));
                None
            }
        }
    }
}
