//! Merges the two arms of a choice: values that differ become yields.

use std::rc::Rc;

use wireloom_ir::Value;

use super::builder::Builder;
use super::state::{Exited, Flow, State};

/// The merge of two arms whose blocks are closed.
pub struct Merge<'a> {
    b: &'a mut Builder,
    then: &'a State,
    otherwise: &'a State,
    /// Whether every path of each arm has ended the step. The arm's values then no longer matter.
    gone: [bool; 2],
    /// For each yield the value in each arm, and the result.
    pub yields: Vec<(Value, Value, Value)>,
}

impl<'a> Merge<'a> {
    /// `then_gone` says that every path of the first arm has ended the step, although its flow is
    /// not `Always`.
    pub fn new(b: &'a mut Builder, then: &'a State, otherwise: &'a State, then_gone: bool) -> Self {
        let gone = [
            then_gone || then.flow.exited == Exited::Always,
            otherwise.flow.exited == Exited::Always,
        ];
        Self { b, then, otherwise, gone, yields: Vec::new() }
    }

    /// Returns the state after the choice. `before` is the state before it.
    pub fn states(&mut self, before: &State) -> State {
        let (then, otherwise) = (self.then, self.otherwise);
        let vars = before
            .vars
            .iter()
            .zip(then.vars.iter().zip(&otherwise.vars))
            .map(|(before, arms)| match (before, arms) {
                (Some(before), (Some(a), Some(b))) => Some(self.lists(a, b, before)),
                // A variable that was created inside an arm is out of scope.
                _ => None,
            })
            .collect();
        let next = match (then.next, otherwise.next) {
            (None, None) => None,
            (a, b) => {
                let width = 16;
                let a = a.unwrap_or_else(|| self.b.number(width, 0));
                let b = b.unwrap_or_else(|| self.b.number(width, 0));
                Some(self.leaf(a, b, before.next))
            }
        };
        let result = self.lists(&then.result, &otherwise.result, &before.result);
        State { vars, result, next, flow: self.flows() }
    }

    /// Merges leaf by leaf. `before` may be shorter.
    pub fn lists(&mut self, a: &Rc<[Value]>, b: &Rc<[Value]>, before: &[Value]) -> Rc<[Value]> {
        if Rc::ptr_eq(a, b) {
            return Rc::clone(a);
        }
        let leaf =
            |(i, (&a, &b)): (usize, (&Value, &Value))| self.leaf(a, b, before.get(i).copied());
        a.iter().zip(b.iter()).enumerate().map(leaf).collect()
    }

    fn leaf(&mut self, a: Value, b: Value, before: Option<Value>) -> Value {
        match self.gone {
            _ if a == b => a,
            // The value is never used.
            [true, true] => a,
            [true, false] if before == Some(b) => b,
            [false, true] if before == Some(a) => a,
            [then_gone, otherwise_gone] => {
                let width = self.b.width(a);
                let nothing = (then_gone || otherwise_gone).then(|| self.b.number(width, 0));
                let result = self.b.fresh(width);
                let a = nothing.filter(|_| then_gone).unwrap_or(a);
                let b = nothing.filter(|_| otherwise_gone).unwrap_or(b);
                self.yields.push((a, b, result));
                result
            }
        }
    }

    fn flows(&mut self) -> Flow {
        let (then, otherwise) = (self.then.flow.ways(), self.otherwise.flow.ways());
        Flow::from_ways(std::array::from_fn(|i| match (then[i], otherwise[i]) {
            (a, b) if a == b => a,
            (a, b) => {
                let (a, b) = (self.flag(a), self.flag(b));
                let result = self.b.fresh(1);
                self.yields.push((a, b, result));
                Exited::If(result)
            }
        }))
    }

    fn flag(&mut self, left: Exited) -> Value {
        match left {
            Exited::Never => self.b.number(1, 0),
            Exited::Always => self.b.number(1, 1),
            Exited::If(value) => value,
        }
    }
}
