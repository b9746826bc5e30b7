//! Removes the parts of a guard that the rest of it implies.
//!
//! A condition that excludes one case after the other, as programs write it, tests the same value
//! many times: `kind != 2 && kind != 3 && ... && kind == 1`. Only the last comparison counts.

use std::collections::HashMap;

use wireloom_compile::analysis::Definitions;
use wireloom_compile::analysis::conditions::Comparisons;
use wireloom_ir::{BinaryOp, Op, OpKind, UnaryOp, Value, ValueInfo};

/// Shortens a guard of these operations of a step with these values. Parts with other uses stay
/// unchanged.
pub fn shorten(ops: &mut [Op], values: &[ValueInfo], guard: Value) {
    let mut shortening = Shortening::new(ops, values);
    shortening.learn(guard, true);
    if shortening.known.is_empty() {
        return;
    }
    let shortened = shortening.prune(guard, true, true).unwrap_or(guard);
    let edits = shortening.edits;
    for op in ops.iter_mut() {
        if let Some(operands) = op.results.first().and_then(|result| edits.get(result)) {
            let mut operands = operands.iter();
            op.kind.for_each_operand_mut(|operand| {
                *operand = *operands.next().expect("as many as before");
            });
        }
    }
    if shortened == guard {
        return;
    }
    for op in ops {
        op.kind.for_each_operand_mut(|operand| {
            if *operand == guard {
                *operand = shortened;
            }
        });
        if op.guard == Some(guard) {
            op.guard = Some(shortened);
        }
    }
}

struct Shortening<'a> {
    definitions: Definitions<'a>,
    uses: HashMap<Value, usize>,
    /// What the guard requires of values.
    known: Comparisons<'a>,
    /// New operands of connectives, by their results.
    edits: HashMap<Value, Vec<Value>>,
}

impl<'a> Shortening<'a> {
    fn new(ops: &'a [Op], values: &'a [ValueInfo]) -> Self {
        // Only uses that lead to an effect count.
        let mut uses: HashMap<Value, usize> = HashMap::new();
        for op in ops.iter().rev() {
            let is_live = |result: &Value| uses.contains_key(result);
            if op.kind.has_effect() || op.results.iter().any(is_live) {
                for value in op.kind.operands().into_iter().chain(op.guard) {
                    *uses.entry(value).or_default() += 1;
                }
            }
        }
        let definitions = Definitions::of_ops(ops, values);
        Self { definitions, uses, known: Comparisons::default(), edits: HashMap::new() }
    }

    /// Records which values are constants if this value is `truth`.
    fn learn(&mut self, value: Value, truth: bool) {
        match (self.definitions.kind(value), truth) {
            (Some(OpKind::Unary(UnaryOp::Not, a)), _) => self.learn(*a, !truth),
            (Some(OpKind::Binary(BinaryOp::And, a, b)), true)
            | (Some(OpKind::Binary(BinaryOp::Or, a, b)), false) => {
                self.learn(*a, truth);
                self.learn(*b, truth);
            }
            _ => self.known.learn(&self.definitions, value, truth),
        }
    }

    /// Returns the part that still has to be tested so that a value is `truth`. Returns `None` if
    /// the rest of the guard implies it.
    fn prune(&mut self, value: Value, truth: bool, is_guard: bool) -> Option<Value> {
        if self.known.decide(&self.definitions, value) == Some(truth) {
            return None;
        }
        // A value with other uses must not change.
        if !is_guard && self.uses.get(&value) != Some(&1) {
            return Some(value);
        }
        let left = match (self.definitions.kind(value), truth) {
            (Some(OpKind::Unary(UnaryOp::Not, a)), _) => vec![self.prune(*a, !truth, false)?],
            (Some(OpKind::Binary(BinaryOp::And, a, b)), true)
            | (Some(OpKind::Binary(BinaryOp::Or, a, b)), false) => {
                match (self.prune(*a, truth, false), self.prune(*b, truth, false)) {
                    (Some(a), Some(b)) => vec![a, b],
                    (one, other) => return one.or(other),
                }
            }
            _ => return Some(value),
        };
        self.edits.insert(value, left);
        Some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shortens the guard of the only exit with one. Returns the comparisons that guards test.
    fn shortened(conditions: &str, guard: &str) -> Vec<String> {
        let text = format!(
            "loom_ir 1
reasons Reason {{ BAD = 0 }}
engine example {{
  context seen : u16
  step only {{
    request {{
    }}
    edit {{
      %0:u16 = meta.read length
      %1:u16 = const 1
      %2:u16 = const 2
      %3:u16 = const 3
{conditions}
    }}
    jump {{
      %8:u16 = const 0
      finish when {guard}
      drop %8 of Reason
    }}
  }}
}}
main example
"
        );
        let program = wireloom_ir::parse(&text).expect("step IR");
        let step = &program.engines[program.main.index()].steps[0];
        let mut ops: Vec<Op> = step.ops().cloned().collect();
        let guard = ops.iter().rev().find_map(|op| op.guard).expect("a guard");
        shorten(&mut ops, &step.values, guard);
        let mut asked = Vec::new();
        let mut open: Vec<Value> = ops.iter().filter_map(|op| op.guard).collect();
        while let Some(value) = open.pop() {
            let op = ops.iter().find(|op| op.results.contains(&value)).expect("its definition");
            match &op.kind {
                OpKind::Binary(BinaryOp::And | BinaryOp::Or, ..) | OpKind::Unary(..) => {
                    open.extend(op.kind.operands());
                }
                OpKind::Binary(..) => asked.push(format!("%{}", value.0)),
                _ => {}
            }
        }
        asked.sort();
        asked
    }

    #[test]
    fn one_comparison_decides_the_others() {
        let conditions = "
      %4:u1 = eq %0, %2
      %5:u1 = not %4
      %6:u1 = eq %0, %1
      %7:u1 = and %5, %6";
        assert_eq!(shortened(conditions, "%7"), ["%6"]);
        // The comparisons are under a negation.
        let conditions = "
      %4:u1 = ult %2, %0
      %5:u1 = ne %0, %1
      %6:u1 = or %4, %5
      %7:u1 = not %6";
        assert_eq!(shortened(conditions, "%7"), ["%5"]);
    }

    #[test]
    fn what_nothing_implies_stays() {
        let conditions = "
      %4:u1 = eq %0, %2
      %5:u1 = ult %0, %3
      %6:u1 = not %4
      %7:u1 = and %6, %5";
        assert_eq!(shortened(conditions, "%7"), ["%4", "%5"]);
        // This guard can never hold. Other passes find that.
        let conditions = "
      %4:u1 = eq %0, %2
      %5:u1 = eq %0, %3
      %6:u1 = not %5
      %7:u1 = and %4, %5";
        assert_eq!(shortened(conditions, "%7"), ["%4", "%5"]);
    }

    #[test]
    fn what_others_use_stays_as_it_is() {
        let conditions = "
      %4:u1 = ult %0, %3
      %5:u1 = eq %0, %1
      %6:u1 = and %4, %5
      %7:u1 = and %6, %5
      context.write seen, %0 when %6";
        // The context's guard has two, the exit's three.
        assert_eq!(shortened(conditions, "%7"), ["%4", "%4", "%5", "%5", "%5"]);
    }
}
