//! Truth tables of guards over their conditions. They show which guards are equal, which exits
//! exclude each other, and which exit needs no test because all others have been tested.

use std::collections::{HashMap, HashSet};

use wireloom_ir::{BinaryOp, Exit, Op, OpKind, UnaryOp, Value, ValueInfo};

use super::implied;

/// The maximum number of independent conditions of a truth table.
const MOST_CONDITIONS: usize = 16;

/// The most words to compare when each guard's table is compared with each other's.
const MOST_COMPARED: usize = 1 << 22;

/// Returns the operations of a step, arranged so that the C code makes few tests. Guards that
/// always agree become one. If no two exits can happen together, the exit under the guard of the
/// last edit comes first (they share an `if`), then the exits to other steps, then the exits that
/// drop the packet, send it to the CPU or end the call. The last exit has no guard if the exits
/// cover all cases.
pub fn arrange(ops: &[&Op]) -> Vec<Op> {
    let mut ops: Vec<Op> = ops.iter().map(|op| (*op).clone()).collect();
    let first_exit =
        ops.iter().position(|op| matches!(op.kind, OpKind::Exit(_))).unwrap_or(ops.len());
    let Some(tables) = Tables::of(&ops) else { return ops };

    let mut same: HashMap<&[u64], Value> = HashMap::new();
    let mut representatives = Vec::new();
    for (index, op) in ops.iter().enumerate() {
        // Values are visited in the order of their definition, so that the representative is
        // defined before its uses.
        for value in &op.results {
            if let Some(table) = tables.known.get(value) {
                same.entry(table).or_insert(*value);
            }
        }
        if let Some(guard) = op.guard {
            representatives
                .push((index, same.get(tables.known[&guard].as_slice()).copied().unwrap_or(guard)));
        }
    }
    for (index, guard) in representatives {
        ops[index].guard = Some(guard);
    }

    let last_edit =
        ops[..first_exit].iter().rev().find_map(|op| op.kind.has_effect().then_some(op.guard));
    let (edits, exits) = ops.split_at_mut(first_exit);
    let only_exits =
        exits.iter().all(|op| matches!(op.kind, OpKind::Exit(_)) || !op.kind.has_effect());
    let guards: Vec<Option<Value>> =
        exits.iter().filter(|op| matches!(op.kind, OpKind::Exit(_))).map(|op| op.guard).collect();
    let covered = tables.cover(&guards);
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
    is_repeatable: impl Fn(&OpKind) -> bool,
) -> Option<Divided> {
    let ops: Vec<Op> = ops.iter().map(|op| (*op).clone()).collect();
    let tables = Tables::of(&ops)?;
    let is_exit = |op: &&Op| matches!(op.kind, OpKind::Exit(_));
    let is_edit = |op: &&Op| op.kind.has_effect() && !is_exit(op) && !is_repeatable(&op.kind);
    let applies = &tables.known[&ops.iter().find(is_edit)?.guard?];
    let known = |op: &Op| op.guard.map(|guard| &tables.known[&guard]);
    let are_guarded = ops.iter().filter(is_edit).all(|edit| {
        known(edit).is_some_and(|edit| edit.iter().zip(applies).all(|(e, a)| e & !a == 0))
    });
    let guards: Vec<Option<Value>> = ops.iter().filter(is_exit).map(|op| op.guard).collect();
    let covered = tables.cover(&guards);
    if !are_guarded || !covered.is_exclusive || !covered.is_exhaustive {
        return None;
    }
    let is_apart = |op: &&Op| {
        is_exit(op)
            && known(op).is_some_and(|exit| exit.iter().zip(applies).all(|(e, a)| e & a == 0))
    };
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
    let mut rest = arrange(&rest);
    if let Some(last) = rest.last_mut()
        && is_exit(&&*last)
    {
        last.guard = None;
    }
    let usual: Vec<&Op> = ops.iter().filter(|op| !is_apart(op)).collect();
    let mut usual = arrange(&usual);
    if let Some(guard) = usual.iter().find(|op| is_edit(op)).and_then(|op| op.guard) {
        implied::shorten(&mut usual, values, guard);
    }
    Some(Divided { usual, rest })
}

/// The truth tables of all guards and their operands. A table has one bit for each case of the
/// conditions, 64 bits to a word. Every condition that is not a one-bit connective counts as
/// independent.
pub(super) struct Tables {
    /// The truth table of each guard, and of each value that a guard is composed of.
    pub known: HashMap<Value, Table>,
    /// The number of words of a table.
    pub words: usize,
    /// The independent conditions that guards consist of.
    pub conditions: Vec<Value>,
}

/// How the guards of exits cover the cases.
struct Cover {
    /// Whether no two guards hold together.
    is_exclusive: bool,
    /// Whether some guard holds in every case.
    is_exhaustive: bool,
}

impl Tables {
    /// Returns the tables of all guards, or `None` if there are too many conditions.
    pub fn of(ops: &[Op]) -> Option<Self> {
        let definitions: Definitions<'_> =
            ops.iter().flat_map(|op| op.results.iter().map(move |r| (*r, op))).collect();
        let guards: Vec<Value> = ops.iter().filter_map(|op| op.guard).collect();
        let mut uses = HashMap::new();
        guards.iter().for_each(|guard| count_uses(*guard, &definitions, &mut uses));
        let mut conditions = Vec::new();
        for guard in &guards {
            collect(*guard, &definitions, &uses, &mut conditions);
            if conditions.len() > MOST_CONDITIONS {
                return None;
            }
        }
        let words = 1usize << conditions.len().saturating_sub(6);
        if guards.len() * guards.len() * words > MOST_COMPARED {
            return None;
        }
        let mut known: HashMap<Value, Table> = conditions
            .iter()
            .enumerate()
            .map(|(bit, value)| (*value, independent(bit, words)))
            .collect();
        for guard in guards {
            table(guard, &definitions, &mut known, words);
        }
        Some(Self { known, words, conditions })
    }

    fn cover(&self, guards: &[Option<Value>]) -> Cover {
        let always = vec![u64::MAX; self.words];
        let mut covered = vec![0u64; self.words];
        let mut is_exclusive = true;
        for guard in guards {
            let table = guard.map_or(&always, |guard| &self.known[&guard]);
            is_exclusive &= covered.iter().zip(table).all(|(all, one)| all & one == 0);
            covered.iter_mut().zip(table).for_each(|(all, one)| *all |= one);
        }
        Cover { is_exclusive, is_exhaustive: covered.iter().all(|word| *word == u64::MAX) }
    }
}

type Definitions<'a> = HashMap<Value, &'a Op>;
/// One bit for each case.
pub(super) type Table = Vec<u64>;

/// Returns the table of the condition with index `bit`: in case `i` the condition equals bit `bit`
/// of `i`.
fn independent(bit: usize, words: usize) -> Table {
    let word = |index: usize| match bit {
        0 => 0xaaaa_aaaa_aaaa_aaaa,
        1 => 0xcccc_cccc_cccc_cccc,
        2 => 0xf0f0_f0f0_f0f0_f0f0,
        3 => 0xff00_ff00_ff00_ff00,
        4 => 0xffff_0000_ffff_0000,
        5 => 0xffff_ffff_0000_0000,
        _ if index >> (bit - 6) & 1 == 1 => u64::MAX,
        _ => 0,
    };
    (0..words).map(word).collect()
}

/// Returns the operands of a one-bit connective, or `None` for any other operation.
fn connective(value: Value, definitions: &Definitions<'_>) -> Option<Vec<Value>> {
    match &definitions.get(&value)?.kind {
        OpKind::Unary(UnaryOp::Not, a) => Some(vec![*a]),
        OpKind::Binary(BinaryOp::And | BinaryOp::Or | BinaryOp::Xor, a, b) => Some(vec![*a, *b]),
        OpKind::Const(_) => Some(vec![]),
        _ => None,
    }
}

/// Counts the uses of each value as a guard, or as an operand of a connective in a guard.
fn count_uses(value: Value, definitions: &Definitions<'_>, uses: &mut HashMap<Value, u32>) {
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
    definitions: &Definitions<'_>,
    uses: &HashMap<Value, u32>,
) -> Option<Vec<Value>> {
    let operands = connective(value, definitions)?;
    let is_private = |v: &Value| uses[v] == 1 && visible(*v, definitions, uses).is_none();
    (operands.is_empty() || !operands.iter().all(is_private)).then_some(operands)
}

fn collect(
    value: Value,
    definitions: &Definitions<'_>,
    uses: &HashMap<Value, u32>,
    conditions: &mut Vec<Value>,
) {
    if conditions.len() > MOST_CONDITIONS || conditions.contains(&value) {
        return;
    }
    match visible(value, definitions, uses) {
        Some(operands) => {
            operands.into_iter().for_each(|v| collect(v, definitions, uses, conditions))
        }
        None => conditions.push(value),
    }
}

fn table(
    value: Value,
    definitions: &Definitions<'_>,
    tables: &mut HashMap<Value, Table>,
    words: usize,
) -> Table {
    if let Some(known) = tables.get(&value) {
        return known.clone();
    }
    let mut of = |v: Value| table(v, definitions, tables, words);
    let zip = |a: Table, b: Table, op: fn(u64, u64) -> u64| -> Table {
        a.into_iter().zip(b).map(|(a, b)| op(a, b)).collect()
    };
    let result = match &definitions[&value].kind {
        OpKind::Unary(_, a) => of(*a).into_iter().map(|word| !word).collect(),
        OpKind::Binary(BinaryOp::And, a, b) => zip(of(*a), of(*b), |a, b| a & b),
        OpKind::Binary(BinaryOp::Or, a, b) => zip(of(*a), of(*b), |a, b| a | b),
        OpKind::Binary(_, a, b) => zip(of(*a), of(*b), |a, b| a ^ b),
        OpKind::Const(bits) => vec![if bits.is_zero() { 0 } else { u64::MAX }; words],
        _ => unreachable!("conditions have their tables"),
    };
    tables.insert(value, result.clone());
    result
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
        let divided = divide(&step.ops().collect::<Vec<_>>(), &step.values, |_| false)?;
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
}
