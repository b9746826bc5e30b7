//! The order of a step's exits in C, and the division of a step by its exits.
//!
//! [`Holds`] says which guards are equal, which exits exclude each other, and which exit needs no
//! test because all others have been tested.

use std::collections::{HashMap, HashSet};

use wireloom_compile::analysis::Definitions;
use wireloom_compile::analysis::conditions::Holds;
use wireloom_ir::{BinaryOp, Exit, Op, OpKind, UnaryOp, Value, ValueInfo};

use super::implied;

/// The most comparisons of guards in a step. More take too long.
const MOST_COMPARED: usize = 1 << 22;

/// Returns the operations of a step, arranged so that the C code makes few tests. Guards that
/// always agree become one. If no two exits can happen together, the exit under the guard of the
/// last edit comes first (they share an `if`), then the exits to other steps, then the exits that
/// drop the packet, send it to the CPU or end the call. The last exit has no guard if the exits
/// cover all cases.
pub fn arrange(ops: &[&Op], definitions: &Definitions<'_>) -> Vec<Op> {
    let mut ops: Vec<Op> = ops.iter().map(|op| (*op).clone()).collect();
    let first_exit =
        ops.iter().position(|op| matches!(op.kind, OpKind::Exit(_))).unwrap_or(ops.len());
    let Some(conditions) = Conditions::of(&ops) else { return ops };
    let known = |value: &&Value| conditions.known.contains(value);
    // The first equal value before the guard's operation takes its place. A guard may be computed
    // outside `ops`, and then equal values may follow.
    let values = ops.iter().enumerate();
    let values = values.flat_map(|(at, op)| op.results.iter().map(move |value| (at, *value)));
    let values: Vec<(usize, Value)> = values.filter(|(_, value)| known(&value)).collect();
    let facts = Holds::new(definitions, []);
    let mut same: HashMap<Value, Value> = HashMap::new();
    for (at, op) in ops.iter_mut().enumerate() {
        let Some(guard) = op.guard else { continue };
        op.guard = Some(*same.entry(guard).or_insert_with(|| {
            let cases = Cases::of(&facts, guard);
            let mut earlier = values.iter().take_while(|(defined, _)| *defined < at);
            earlier.find(|(_, value)| cases.are_equal(*value)).map_or(guard, |(_, value)| *value)
        }));
    }

    let last_edit =
        ops[..first_exit].iter().rev().find_map(|op| op.kind.has_effect().then_some(op.guard));
    let (edits, exits) = ops.split_at_mut(first_exit);
    let only_exits =
        exits.iter().all(|op| matches!(op.kind, OpKind::Exit(_)) || !op.kind.has_effect());
    let guards: Vec<Option<Value>> =
        exits.iter().filter(|op| matches!(op.kind, OpKind::Exit(_))).map(|op| op.guard).collect();
    let covered = Cover::of(&guards, definitions);
    if only_exits && covered.is_exclusive {
        // The computations of guards and reasons come first; the emitter writes them where they are
        // needed.
        let rank = |op: &Op| match &op.kind {
            OpKind::Exit(_) if op.guard.is_some() && Some(op.guard) == last_edit => 1,
            OpKind::Exit(Exit::Drop(..) | Exit::ToCpu(..) | Exit::Done) => 3,
            OpKind::Exit(_) => 2,
            _ => 0,
        };
        exits.sort_by_key(rank);
    }
    if covered.is_exhaustive
        && let Some(last) = exits.last_mut()
        && matches!(last.kind, OpKind::Exit(_))
    {
        last.guard = None;
    }
    assert!(edits.len() == first_exit);
    ops
}

/// A step in two parts. The rest is for packets that no effect of the step applies to: most checks
/// of a packet end there.
pub struct Divided {
    /// The effects of the step, and the exits that can be taken if the first effect applies.
    pub usual: Vec<Op>,
    /// The other exits, in the order of [`arrange`].
    pub rest: Vec<Op>,
}

/// The fewest exits that are worth a separate function.
const FEWEST_IN_REST: usize = 2;

/// Divides the operations of a step with these values. `is_repeatable` says whether a call may be
/// made twice. Returns `None` if some effect applies to packets that take any exit, or if there are
/// few exits.
pub fn divide(
    ops: &[&Op],
    values: &[ValueInfo],
    definitions: &Definitions<'_>,
    is_repeatable: impl Fn(&OpKind) -> bool,
) -> Option<Divided> {
    let ops: Vec<Op> = ops.iter().map(|op| (*op).clone()).collect();
    if !is_comparable(ops.iter()) {
        return None;
    }
    let is_exit = |op: &&Op| matches!(op.kind, OpKind::Exit(_));
    let is_edit = |op: &&Op| op.kind.has_effect() && !is_exit(op) && !is_repeatable(&op.kind);
    let applies = ops.iter().find(is_edit)?.guard?;
    let holds = |guard: Value| Holds::new(definitions, [(guard, true)]);
    let are_guarded = ops
        .iter()
        .filter(is_edit)
        .all(|edit| edit.guard.is_some_and(|guard| holds(guard).must(applies, true)));
    let guards: Vec<Option<Value>> = ops.iter().filter(is_exit).map(|op| op.guard).collect();
    let covered = Cover::of(&guards, definitions);
    if !are_guarded || !covered.is_exclusive || !covered.is_exhaustive {
        return None;
    }
    let applied = holds(applies);
    let is_apart =
        |op: &&Op| is_exit(op) && op.guard.is_some_and(|guard| applied.must(guard, false));
    let count = ops.iter().filter(is_apart).count();
    if count < FEWEST_IN_REST || count == guards.len() {
        return None;
    }

    // Collects the values that the exits of the rest need.
    let mut needed = HashSet::new();
    let mut rest: Vec<&Op> = Vec::new();
    for op in ops.iter().rev() {
        if is_apart(&op) || op.results.iter().any(|result| needed.contains(result)) {
            if is_edit(&op) {
                return None;
            }
            needed.extend(op.kind.operands().into_iter().chain(op.guard));
            rest.push(op);
        }
    }
    rest.reverse();
    let mut rest = arrange(&rest, definitions);
    if let Some(last) = rest.last_mut()
        && is_exit(&&*last)
    {
        last.guard = None;
    }
    let usual: Vec<&Op> = ops.iter().filter(|op| !is_apart(op)).collect();
    let mut usual = arrange(&usual, definitions);
    if let Some(guard) = usual.iter().find(|op| is_edit(op)).and_then(|op| op.guard) {
        implied::shorten(&mut usual, values, guard);
    }
    Some(Divided { usual, rest })
}

/// Returns whether each guard of a step can be compared with each other in a short time.
pub fn is_comparable<'a>(ops: impl Iterator<Item = &'a Op>) -> bool {
    let (mut guards, mut all) = (0, 0);
    ops.for_each(|op| {
        guards += usize::from(op.guard.is_some());
        all += 1;
    });
    guards * guards * all <= MOST_COMPARED
}

/// The facts if a condition is 1, and if it is 0.
pub(super) struct Cases<'a> {
    one: Holds<'a>,
    zero: Holds<'a>,
}

impl<'a> Cases<'a> {
    /// Adds both cases of a condition to what is known.
    pub fn of(facts: &Holds<'a>, condition: Value) -> Self {
        let [one, zero] = [true, false].map(|bit| {
            let mut facts = facts.clone();
            facts.extend([(condition, bit)]);
            facts
        });
        Self { one, zero }
    }

    /// Returns whether the condition is certainly 1.
    pub fn always_holds(&self) -> bool {
        self.zero.is_contradictory()
    }

    /// Returns whether another condition certainly equals this one.
    pub fn are_equal(&self, other: Value) -> bool {
        self.one.must(other, true) && self.zero.must(other, false)
    }
}

/// How the guards of exits cover the cases.
struct Cover {
    /// Whether no two guards hold together.
    is_exclusive: bool,
    /// Whether some guard holds in every case.
    is_exhaustive: bool,
}

impl Cover {
    fn of(guards: &[Option<Value>], definitions: &Definitions<'_>) -> Self {
        let Some(all) = guards.iter().copied().collect::<Option<Vec<Value>>>() else {
            return Self { is_exclusive: guards.len() == 1, is_exhaustive: true };
        };
        let none = Holds::new(definitions, all.iter().map(|guard| (*guard, false)));
        let is_exclusive = all.iter().enumerate().all(|(at, guard)| {
            let taken = Holds::new(definitions, [(*guard, true)]);
            all[at + 1..].iter().all(|other| taken.must(*other, false))
        });
        Self { is_exclusive, is_exhaustive: none.is_contradictory() }
    }
}

/// The conditions that the guards of a step are composed of. Every value that is not a one-bit
/// connective is a condition, and so is a connective of conditions that have no other use.
pub(super) struct Conditions {
    /// The guards, the conditions, and the connectives between them.
    pub known: HashSet<Value>,
    /// The conditions, in the order of the guards.
    pub single: Vec<Value>,
}

impl Conditions {
    /// Returns the conditions of all guards, or `None` if there are too many guards to compare.
    pub fn of(ops: &[Op]) -> Option<Self> {
        if !is_comparable(ops.iter()) {
            return None;
        }
        let guards: Vec<Value> = ops.iter().filter_map(|op| op.guard).collect();
        let definitions: Defined<'_> =
            ops.iter().flat_map(|op| op.results.iter().map(move |r| (*r, op))).collect();
        let mut uses = HashMap::new();
        guards.iter().for_each(|guard| count_uses(*guard, &definitions, &mut uses));
        let mut conditions = Self { known: HashSet::new(), single: Vec::new() };
        guards.iter().for_each(|guard| conditions.collect(*guard, &definitions, &uses));
        Some(conditions)
    }

    fn collect(&mut self, value: Value, definitions: &Defined<'_>, uses: &HashMap<Value, u32>) {
        if !self.known.insert(value) {
            return;
        }
        match visible(value, definitions, uses) {
            Some(operands) => {
                operands.into_iter().for_each(|v| self.collect(v, definitions, uses));
            }
            None => self.single.push(value),
        }
    }
}

type Defined<'a> = HashMap<Value, &'a Op>;

/// Returns the operands of a one-bit connective, or `None` for any other operation.
fn connective(value: Value, definitions: &Defined<'_>) -> Option<Vec<Value>> {
    match &definitions.get(&value)?.kind {
        OpKind::Unary(UnaryOp::Not, a) => Some(vec![*a]),
        OpKind::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, a, b) => Some(vec![*a, *b]),
        OpKind::Const(_) => Some(vec![]),
        _ => None,
    }
}

/// Counts the uses of each value as a guard, or as an operand of a connective in a guard.
fn count_uses(value: Value, definitions: &Defined<'_>, uses: &mut HashMap<Value, u32>) {
    let count = uses.entry(value).or_default();
    *count += 1;
    if *count == 1 {
        for operand in connective(value, definitions).into_iter().flatten() {
            count_uses(operand, definitions, uses);
        }
    }
}

/// Returns the operands of a connective. Returns `None` if the value counts as a single condition:
/// it is not a connective, or its operands are conditions used nowhere else.
fn visible(
    value: Value,
    definitions: &Defined<'_>,
    uses: &HashMap<Value, u32>,
) -> Option<Vec<Value>> {
    let operands = connective(value, definitions)?;
    let is_private = |v: &Value| uses[v] == 1 && visible(*v, definitions, uses).is_none();
    (operands.is_empty() || !operands.iter().all(is_private)).then_some(operands)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of exits in both parts of a step with these edits, and whether the rest
    /// has edits.
    fn parts(edits: &str) -> Option<(usize, usize, bool)> {
        let text = format!(
            "loom_ir 1
reasons Reason {{ SHORT = 0, LONG = 1 }}
engine example {{
  context seen : u16
  step only {{
    request {{
    }}
    edit {{
      %0:u16 = meta.read length
      %1:u16 = const 34
      %2:u1 = ult %0, %1
      %3:u1 = not %2
      %4:u16 = const 1500
      %5:u1 = ult %4, %0
      %6:u1 = and %3, %5
      %7:u1 = not %5
      %8:u1 = and %3, %7
{edits}
    }}
    jump {{
      %9:u16 = const 0
      %10:u16 = const 1
      drop %9 of Reason when %2
      drop %10 of Reason when %6
      finish when %8
    }}
  }}
}}
main example
"
        );
        let program = wireloom_ir::parse(&text).expect("step IR");
        let step = &program.engines[program.main.index()].steps[0];
        let divided =
            divide(&step.ops().collect::<Vec<_>>(), &step.values, &Definitions::of(step), |_| {
                false
            })?;
        let exits = |ops: &[Op]| ops.iter().filter(|op| matches!(op.kind, OpKind::Exit(_))).count();
        let is_edit = |op: &Op| matches!(op.kind, OpKind::WriteContext(..));
        let rest = &divided.rest;
        assert!(rest.last().is_some_and(|last| last.guard.is_none()), "the last exit has no test");
        Some((exits(&divided.usual), exits(rest), rest.iter().any(is_edit)))
    }

    #[test]
    fn exits_of_packets_that_a_step_does_not_change_are_apart() {
        assert_eq!(parts("context.write seen, %0 when %8"), Some((1, 2, false)));
        // One exit is not worth a separate function.
        assert_eq!(parts("context.write seen, %0 when %3"), None);
        // An edit that applies to every packet must not be made twice.
        assert_eq!(parts("context.write seen, %0"), None);
        assert_eq!(parts("context.write seen, %0 when %8\ncontext.write seen, %1 when %2"), None);
        assert_eq!(parts(""), None);
    }

    #[test]
    fn a_guard_is_replaced_only_by_a_value_that_is_there_before_it() {
        let text = "loom_ir 1
engine example {
  context seen : u16
  step only {
    request {
    }
    edit {
      %0:u16 = meta.read length
      %1:u16 = const 34
      %2:u1 = ult %0, %1
      context.write seen, %0 when %2
      %3:u1 = not %2
      %4:u1 = not %3
    }
    jump {
      done when %4
      finish when %3
    }
  }
}
main example
";
        let program = wireloom_ir::parse(text).expect("step IR");
        let step = &program.engines[program.main.index()].steps[0];
        let guards = |ops: &[&Op]| -> Vec<Option<u32>> {
            let arranged = arrange(ops, &Definitions::of(step));
            let effects = arranged.iter().filter(|op| op.kind.has_effect());
            effects.map(|op| op.guard.map(|guard| guard.0)).collect()
        };
        let all: Vec<&Op> = step.ops().collect();
        assert_eq!(guards(&all), [Some(2), Some(2), None]);
        // The guard of the write is computed elsewhere. Of the equal values, one follows.
        assert_eq!(guards(&all[3..]), [Some(2), Some(3), None]);
    }
}
