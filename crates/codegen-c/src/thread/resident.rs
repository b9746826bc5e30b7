//! Finds context variables that need no storage: wherever they are read, they equal a part of a
//! reply that is still in place.
//!
//! A step often puts a reply into the context for a later step: for example, the next hop that a
//! route names, for the step that writes the link header. The reply stays in the thread's local
//! memory until a call uses its ticket again, so the later step can read it there. A copy would
//! only cost a load, a store and a register, and there are few registers.
//!
//! ```text
//! step look                                      step look
//!     c_port = WL_REPLIES[7];                        goto step_transmit;
//!     goto step_transmit;                ->      step transmit
//! step transmit                                      wl_set_egress(p, WL_REPLIES[7]);
//!     wl_set_egress(p, c_port);
//! ```

use std::ops::Range;

use wireloom_ir::{ContextId, Exit, Op, OpKind, Value};

use super::super::tree::Expr;
use super::replies::{Split, Variable};

/// The home of a variable: the words of a reply, and the expression that reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    /// The range of the words, numbered among the words of all replies.
    pub words: Range<u32>,
    /// The C expression of the value.
    pub c: Expr,
}

/// The possible contents of a variable at a point of the program: the value of its home, another
/// value such as the initial zero, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct State {
    is_other: bool,
    is_home: bool,
}

const OTHER: State = State { is_other: true, is_home: false };
const HOME: State = State { is_other: false, is_home: true };

impl State {
    fn or(self, with: Self) -> Self {
        Self { is_other: self.is_other | with.is_other, is_home: self.is_home | with.is_home }
    }
}

/// Replaces such variables of an engine for packets by expressions. Removes the writes to them and
/// returns the expression of each. `count` is the number of the engine's own context variables.
pub fn resolve(split: &mut Split, count: usize) -> Vec<Option<Expr>> {
    let variables = (0..count as u32).map(ContextId);
    let homes: Vec<Option<Expr>> =
        variables.map(|variable| home(split, variable, count).map(|home| home.c)).collect();
    for op in split.ops.iter_mut() {
        op.retain(|op| {
            !matches!(op.kind, OpKind::WriteContext(id, _)
                if homes.get(id.index()).is_some_and(Option::is_some))
        });
    }
    homes
}

/// Returns the home of a variable, if the variable equals it wherever it is read.
fn home(split: &Split, variable: ContextId, count: usize) -> Option<Home> {
    let mut home: Option<Home> = None;
    for ops in &split.ops {
        for op in ops {
            let OpKind::WriteContext(id, value) = op.kind else { continue };
            if id != variable {
                continue;
            }
            let written = origin(split, ops, value, count)?;
            if home.get_or_insert_with(|| written.clone()) != &written {
                return None;
            }
        }
    }
    let home = home?;
    let entries = states(split, variable, &home);
    let is_read = |ops: &[Op]| {
        ops.iter().any(|op| matches!(op.kind, OpKind::ReadContext(id) if id == variable))
    };
    let mut readers = (0..split.ops.len()).filter(|step| is_read(&split.ops[*step]));
    let all_find = readers.all(|step| entries[step] == HOME && !calls_over(split, step, &home));
    all_find.then_some(home)
}

/// Returns the home of a value, if the value is a part of a reply.
fn origin(split: &Split, ops: &[Op], value: Value, count: usize) -> Option<Home> {
    let definition = ops.iter().find(|op| op.results.contains(&value))?;
    match &definition.kind {
        OpKind::Concat(parts) if parts.len() == 1 => origin(split, ops, parts[0], count),
        OpKind::ReadContext(id) => match split.variables.get(id.index().checked_sub(count)?)? {
            Variable::Leaf(c, Some(words)) => Some(Home { words: words.clone(), c: c.clone() }),
            _ => None,
        },
        _ => None,
    }
}

/// Returns whether replies to a step's calls overwrite a home.
fn calls_over(split: &Split, step: usize, home: &Home) -> bool {
    let launched = &split.launched[step];
    launched.start < home.words.end && home.words.start < launched.end
}

/// Returns the possible contents of the variable on entry to each step. A step that is never
/// entered has the default state.
fn states(split: &Split, variable: ContextId, home: &Home) -> Vec<State> {
    let mut entries = vec![State::default(); split.ops.len()];
    if let Some(first) = entries.first_mut() {
        *first = OTHER;
    }
    let mut changed = true;
    while std::mem::take(&mut changed) {
        for step in 0..split.ops.len() {
            for (to, state) in exits(split, step, entries[step], variable, home) {
                let joined = entries[to].or(state);
                changed |= joined != entries[to];
                entries[to] = joined;
            }
        }
    }
    entries
}

/// Returns the successors of a step, and the possible contents of the variable there.
fn exits(
    split: &Split,
    step: usize,
    entry: State,
    variable: ContextId,
    home: &Home,
) -> Vec<(usize, State)> {
    if entry == State::default() {
        return Vec::new();
    }
    let mut state = if calls_over(split, step, home) { OTHER } else { entry };
    // Guards of writes so far.
    let mut under: Vec<Value> = Vec::new();
    let mut exits = Vec::new();
    for op in &split.ops[step] {
        match (&op.kind, op.guard) {
            (OpKind::WriteContext(id, _), None) if *id == variable => {
                (state, under) = (HOME, Vec::new());
            }
            (OpKind::WriteContext(id, _), Some(guard)) if *id == variable => under.push(guard),
            (OpKind::Exit(Exit::Next(to) | Exit::Emit(to, _)), guard) => {
                let at = match guard {
                    Some(guard) if under.contains(&guard) => HOME,
                    _ if under.is_empty() => state,
                    _ => state.or(HOME),
                };
                exits.push((to.index(), at));
            }
            _ => {}
        }
    }
    exits
}

#[cfg(test)]
mod tests {
    use wireloom_ir::builder::{EngineBuilder, StepBuilder, config, program_of};
    use wireloom_ir::{BinaryOp, EngineId, OffloadId, StepId};

    use super::super::elements::{Caller, Elements};
    use super::super::replies::split;
    use super::*;

    /// Adds a call whose reply has a word for `port` and one for `next`. Returns both.
    fn look(s: &mut StepBuilder<'_>, hops: OffloadId) -> (Value, Value) {
        let index = s.constant(32, 1);
        let reply = s.call(hops, "read", &[index]).expect("a reply");
        s.next_region();
        (s.slice(reply, 32, 32), s.slice(reply, 64, 32))
    }

    fn resolved(engine: EngineBuilder) -> Vec<Option<Expr>> {
        let program = program_of(engine);
        let elements = Elements::none();
        let caller = Caller { program: &program, id: EngineId(0), elements: &elements };
        let mut split = split(&caller, 0).expect("there are enough tickets");
        let homes = resolve(&mut split, program.engines[0].context.len());
        for (index, home) in homes.iter().enumerate() {
            let is_write =
                |op: &Op| matches!(op.kind, OpKind::WriteContext(id, _) if id.index() == index);
            assert_eq!(home.is_some(), !split.ops.iter().flatten().any(is_write));
        }
        homes
    }

    /// Builds an engine whose first step keeps two words of a reply, and whose last one reads them.
    /// `between` builds the step between them.
    fn engine(
        between: impl FnOnce(&mut StepBuilder<'_>, OffloadId, [ContextId; 2]),
    ) -> EngineBuilder {
        let mut engine = EngineBuilder::packet("e");
        let fields = [("a", 32), ("b", 32), ("c", 32)];
        let hops = engine.offload("hops", config("array", &[], &fields, &[("size", 4)]));
        let kept = ["port", "next"].map(|name| engine.context(name, 32));
        engine.regions("look", |s| {
            let (port, next) = look(s, hops);
            s.write(kept[0], port);
            s.write(kept[1], next);
            s.next_region();
            s.exit(Exit::Next(StepId(1)));
        });
        engine.regions("between", |s| between(s, hops, kept));
        engine.regions("send", |s| {
            s.next_region();
            let [port, next] = kept.map(|variable| s.read(variable));
            let sum = s.binary(BinaryOp::Add, port, next);
            let port = s.slice(sum, 0, 16);
            s.set_egress(port);
            s.next_region();
            s.exit(Exit::Finish);
        });
        engine
    }

    fn go_on(s: &mut StepBuilder<'_>) {
        s.next_region();
        s.next_region();
        s.exit(Exit::Next(StepId(2)));
    }

    #[test]
    fn a_reply_that_stays_in_its_place_is_read_there() {
        let homes = resolved(engine(|s, _, _| go_on(s)));
        let place = |word: u32| Some(Expr::name("WL_REPLIES").at(word));
        assert_eq!(homes, [place(1), place(2)]);
    }

    #[test]
    fn a_reply_that_another_one_may_replace_is_kept() {
        let homes = resolved(engine(|s, hops, _| {
            look(s, hops);
            s.next_region();
            s.exit(Exit::Next(StepId(2)));
        }));
        assert_eq!(homes, [None, None]);
    }

    #[test]
    fn a_variable_with_another_value_keeps_its_place() {
        let homes = resolved(engine(|s, _, kept| {
            s.next_region();
            let one = s.constant(32, 1);
            s.write(kept[1], one);
            s.next_region();
            s.exit(Exit::Next(StepId(2)));
        }));
        assert_eq!(homes[1], None);
        assert!(homes[0].is_some());
    }

    #[test]
    fn a_variable_that_may_still_be_zero_keeps_its_place() {
        let mut engine = EngineBuilder::packet("e");
        let fields = [("a", 32), ("b", 32), ("c", 32)];
        let hops = engine.offload("hops", config("array", &[], &fields, &[("size", 4)]));
        let port = engine.context("port", 32);
        engine.regions("choose", |s| {
            let zero = s.constant(16, 0);
            let first = s.read_packet(zero, 0, 8);
            let is_zero = s.unary(wireloom_ir::UnaryOp::Not, first);
            let none = s.constant(8, 255);
            let skips = s.binary(BinaryOp::Eq, is_zero, none);
            let looks = s.unary(wireloom_ir::UnaryOp::Not, skips);
            s.next_region();
            s.next_region();
            s.when(skips).exit(Exit::Next(StepId(2)));
            s.when(looks).exit(Exit::Next(StepId(1)));
        });
        engine.regions("look", |s| {
            let (value, _) = look(s, hops);
            s.write(port, value);
            s.next_region();
            s.exit(Exit::Next(StepId(2)));
        });
        engine.regions("send", |s| {
            s.next_region();
            let port = s.read(port);
            let port = s.slice(port, 0, 16);
            s.set_egress(port);
            s.next_region();
            s.exit(Exit::Finish);
        });
        assert_eq!(resolved(engine), [None]);
    }
}
