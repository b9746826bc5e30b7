//! An engine that takes packets: a structure for its thread and functions for its steps.
//!
//! A step that waits becomes two functions. The first computes the requests, prefetches their
//! memory, and returns the state in which the thread waits. The second makes the calls and edits,
//! and jumps: it ends with a call of the first function of the next step. Any other step is one
//! function.

mod split;
mod step_effects;
mod thread;

use std::collections::HashSet;

use wireloom_compile::analysis::Definitions;
use wireloom_ir::{Engine, OffloadId, Op, OpKind, Program, Step, StepId, Value};

use self::split::{Split, is_free, key_of};
use self::step_effects::StepEffects;
use super::ahead::Ahead;
use super::call::Surroundings;
use super::called::last_jump_back;
use super::calls;
use super::emitter::{Emitter, Scope};
use super::names::{self, Names};
use super::plan::{self, StepPlan};
use super::preamble::source_line;
use super::tree::{self, Binary, Declaration, Expr, Item, Signature, Stmt, Type, uses};
use super::types::Model;
use super::{exits, passing};

/// The most jumps to a step that still gets a copy for each jump.
const MOST_INLINE: usize = 8;

/// The most operations of a step that gets such copies.
const LONGEST_INLINE: usize = 200;

/// The parameter with the context that steps pass to each other, and the object that holds it.
const PASSING: &str = "passing";
const RUN: &str = "run";

/// The properties of an engine that all its functions share.
pub struct PacketEngine<'a> {
    pub program: &'a Program,
    pub engine: &'a Engine,
    /// The prefix of the engine's identifiers.
    pub prefix: String,
    /// The plan of each step.
    pub plans: Vec<StepPlan>,
    slot_index: Vec<usize>,
    functions: Vec<Option<String>>,
    step_names: Vec<String>,
    context: Vec<String>,
    arrays: Vec<String>,
    /// For each variable, whether steps pass it to each other. Then no thread keeps it while it
    /// waits.
    is_passed: Vec<bool>,
    /// The expressions of the context's variables and of its arrays.
    variables: Vec<Expr>,
    elements: Vec<Expr>,
    splits: Vec<Split>,
    inline: Vec<bool>,
    ahead: Ahead,
    counts: bool,
}

impl<'a> PacketEngine<'a> {
    /// Plans the engine. `slot_index` is the first slot of each offload. `functions` is the C
    /// function of each offload that is an engine. `counts` says whether steps and calls are
    /// counted. Then no operation happens twice, even if it could.
    pub fn new(
        program: &'a Program,
        engine: &'a Engine,
        prefix: String,
        slot_index: Vec<usize>,
        functions: Vec<Option<String>>,
        counts: bool,
    ) -> Self {
        let plans = plan::plan(program, program.main);
        let step_names = names::of_steps(engine);
        let mut fields = Names::default();
        let context: Vec<String> =
            engine.context.iter().map(|var| fields.give(&var.name)).collect();
        let arrays: Vec<String> =
            engine.arrays.iter().map(|array| fields.give(&array.name)).collect();
        let splits = engine.steps.iter().zip(&plans);
        let splits: Vec<Split> = splits
            .map(|(step, plan)| if plan.waits { Split::of(engine, step) } else { Split::default() })
            .collect();
        let waits: Vec<bool> = plans.iter().map(|plan| plan.waits).collect();
        let late: Vec<_> = engine
            .steps
            .iter()
            .zip(&splits)
            .map(|(step, split)| split.reads_late(&step.ops().collect::<Vec<_>>()))
            .collect();
        let is_passed = passing::of(engine, &waits, &late);
        let variables = context
            .iter()
            .zip(&is_passed)
            .map(|(name, is_passed)| Expr::name(if *is_passed { PASSING } else { "c" }).arrow(name))
            .collect();
        let inline = inline(engine, &plans);
        let ahead = Ahead::none(plans.len());
        let mut planned = Self {
            program,
            engine,
            prefix,
            plans,
            slot_index,
            functions,
            step_names,
            variables,
            elements: arrays.iter().map(|name| Expr::name("c").arrow(name)).collect(),
            is_passed,
            context,
            arrays,
            splits,
            inline,
            ahead,
            counts,
        };
        if !counts {
            planned.ahead = Ahead::of(&planned);
        }
        planned
    }

    /// Returns the plan for early execution.
    pub fn ahead(&self) -> &Ahead {
        &self.ahead
    }

    /// Returns the slot of an offload that is not an engine.
    pub fn slot(&self, offload: OffloadId) -> usize {
        self.slot_index[offload.index()]
    }

    /// Returns whether threads keep values from a step's requests until its replies.
    pub fn keeps(&self) -> bool {
        self.splits.iter().any(Split::keeps)
    }

    /// Returns whether packets must keep their order at some offload.
    pub fn is_ordered(&self) -> bool {
        self.plans.iter().any(|plan| plan.ordered != 0)
    }

    /// Returns whether threads keep a context.
    pub fn has_context(&self) -> bool {
        self.is_passed.contains(&false) || !self.arrays.is_empty()
    }

    /// Returns whether steps pass context to each other.
    pub fn passes(&self) -> bool {
        self.is_passed.contains(&true)
    }

    /// Declares the object for the context that steps pass to each other in one run of a thread, if
    /// they do.
    pub fn declare_passing(&self) -> Option<Stmt> {
        let zero = Expr::List(vec![Expr::number(0)]);
        self.passes().then(|| Declaration::new(self.passing_type(), RUN).with(zero).into())
    }

    /// Returns the call that enters a step at the beginning of a run.
    pub fn begin(&self, step: usize, thread: Expr) -> Expr {
        let run = self.passes().then(|| Expr::name(RUN).address());
        Expr::call(self.enter(step), [Expr::name("m"), thread].into_iter().chain(run))
    }

    fn passing_type(&self) -> Type {
        Type::structure(&format!("{}_passing", self.prefix))
    }

    /// Returns the steps at which threads wait.
    pub fn waiting(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.plans.len()).filter(|step| self.plans[*step].waits)
    }

    /// Returns the name of the function that enters a step.
    pub fn enter(&self, step: usize) -> String {
        format!("{}_{}", self.prefix, self.step_names[step])
    }

    /// Returns the name of the function that continues after the replies of a step have arrived.
    pub fn resume(&self, step: usize) -> String {
        format!("{}_{}_reply", self.prefix, self.step_names[step])
    }

    /// Returns the name of the function with the exits of a step that packets seldom take.
    fn rest(&self, step: usize) -> String {
        format!("{}_{}_rest", self.prefix, self.step_names[step])
    }

    /// Returns the names of the functions that advance the searches of a step from one memory
    /// access to the next, in order.
    pub fn advances(&self, step: usize) -> Vec<String> {
        let ops: Vec<&Op> = self.engine.steps[step].ops().collect();
        let searches = self.splits[step].walks.iter();
        let pauses = searches.map(|(call, ..)| calls::pauses(self.engine, ops[*call])).max();
        (0..pauses.unwrap_or(0))
            .map(|pause| format!("{}_{}_fetch{}", self.prefix, self.step_names[step], pause + 1))
            .collect()
    }

    /// Returns the name of the function that says whether a search of a step needs more accesses
    /// than it has pauses, if some search can.
    pub fn further(&self, step: usize) -> Option<String> {
        let ops: Vec<&Op> = self.engine.steps[step].ops().collect();
        let mut searches = self.splits[step].walks.iter().map(|(call, ..)| ops[*call]);
        let can = self.plans[step].ordered == 0
            && searches.any(|op| calls::may_go_further(self.engine, op));
        can.then(|| format!("{}_{}_further", self.prefix, self.step_names[step]))
    }

    /// Returns the condition under which the searches of a step need a pause. Returns `None` if one
    /// always does. The condition is the same for all threads of a batch.
    pub fn is_pause_needed(&self, step: usize, pause: usize) -> Option<Expr> {
        let ops: Vec<&Op> = self.engine.steps[step].ops().collect();
        let searches = self.splits[step].walks.iter().map(|(call, ..)| ops[*call]);
        let pausing = searches.filter(|op| pause < calls::pauses(self.engine, op));
        let slots = machine().member("slots");
        let needed = pausing
            .map(|op| calls::is_needed(self.engine, op, pause, slots.clone(), &self.slot_index));
        let all: Option<Vec<Expr>> = needed.collect();
        all?.into_iter().reduce(|any, one| any.binary(Binary::Either, one))
    }

    /// Returns the name of the state of a thread that waits at a step.
    pub fn state(&self, step: usize) -> String {
        format!("{}_AT_{}", self.prefix.to_uppercase(), self.step_names[step])
    }

    /// Returns the names of the states of a thread at a step whose calls keep no order: before the
    /// searches, and after each of their pauses.
    pub fn states(&self, step: usize) -> Vec<String> {
        let pauses = if self.plans[step].ordered == 0 { self.advances(step).len() } else { 0 };
        let paused = (1..=pauses).map(|pause| {
            format!("{}_AT{pause}_{}", self.prefix.to_uppercase(), self.step_names[step])
        });
        std::iter::once(self.state(step)).chain(paused).collect()
    }

    /// Returns the name of the state of a thread that has ended.
    pub fn ended(&self) -> String {
        format!("{}_ENDED", self.prefix.to_uppercase())
    }

    /// Writes the functions of all steps.
    pub fn steps(&self) -> Vec<Item> {
        let steps = 0..self.engine.steps.len();
        let prototype = |step| Item::Prototype(self.entrance(step));
        let mut items: Vec<Item> = steps.clone().map(prototype).collect();
        items.push(Item::Blank);
        items.extend(steps.flat_map(|step| self.step(step)));
        items
    }

    fn step(&self, index: usize) -> Vec<Item> {
        let step = &self.engine.steps[index];
        let place = source_line(self.program, step);
        let why = step.split.as_ref().map(|why| format!(" Split off: {why}.")).unwrap_or_default();
        if !self.plans[index].waits {
            let comment = format!("Step `{}`{place}.{why}", step.name);
            let signature = self.entrance(index);
            return self.late_parts(index, comment, signature);
        }
        let comment = format!("Step `{}`{place}: requests.{why}", step.name);
        let called = |name| self.signature(name, false);
        let mut items =
            self.function(comment, self.entrance(index), self.early_part(index, Early::Requests));
        for (pause, function) in self.advances(index).into_iter().enumerate() {
            let comment = format!("Step `{}`: access {} of its searches.", step.name, pause + 1);
            let body = self.early_part(index, Early::Pause(pause));
            items.extend(self.function(comment, called(function), body));
        }
        if let Some(function) = self.further(index) {
            let comment = format!("Step `{}`: whether a search needs another access.", step.name);
            let body = self.early_part(index, Early::Further);
            items.extend(self.function(comment, called(function), body));
        }
        let comment = format!("Step `{}`: replies, edits and the jump.", step.name);
        items.extend(self.late_parts(index, comment, called(self.resume(index))));
        items
    }

    /// Returns the signature of the function that enters a step.
    fn entrance(&self, step: usize) -> Signature {
        let mut signature = self.signature(self.enter(step), self.inline[step]);
        if self.passes() {
            signature.parameters.push((self.passing_type().pointer(), PASSING.into()));
        }
        signature
    }

    fn signature(&self, name: String, is_inline: bool) -> Signature {
        let own = |what: &str| Type::structure(&format!("{}_{what}", self.prefix)).pointer();
        Signature {
            storage: if is_inline { "WL_INLINE" } else { "WL_FUNCTION" },
            returns: Type::named("uint32_t"),
            name,
            parameters: vec![(own("machine"), "m".into()), (own("thread"), "t".into())],
        }
    }

    fn function(&self, comment: String, signature: Signature, body: Vec<Stmt>) -> Vec<Item> {
        let (m, t) = (Expr::name("m"), Expr::name("t"));
        let context = Type::structure(&format!("{}_context", self.prefix));
        let local =
            |ty: Type, name: &str, value| Declaration::new(ty.const_pointer(), name).with(value);
        let locals = [
            local(Type::structure("wl_packet"), "p", t.clone().arrow("hand").address()),
            local(context, "c", t.clone().arrow("context").address()),
            local(
                Type::structure("wl_slot").constant(),
                "slots",
                m.arrow("machine").member("slots"),
            ),
            local(Type::structure("wl_env").constant(), "env", t.arrow("env").address()),
        ];
        let is_opened = uses(&body, "w");
        let is_used = |name: &str| uses(&body, name) || name == "p" && is_opened;
        let used = locals.into_iter().filter(|local| is_used(&local.name));
        let mut all: Vec<Stmt> = used.map(Stmt::from).collect();
        if is_opened {
            let window = Type::structure("wl_window");
            let ty = if tree::assigns(&body, "w") { window } else { window.constant() };
            all.push(Declaration::new(ty, "w").with(open()).into());
        }
        let is_parameter = |name: &str| signature.parameters.iter().any(|(_, own)| own == name);
        if uses(&body, PASSING) && !is_parameter(PASSING) {
            all.extend(self.declare_passing().filter(|_| !is_parameter(RUN)));
            let ty = self.passing_type().const_pointer();
            all.push(Declaration::new(ty, PASSING).with(Expr::name(RUN).address()).into());
        }
        all.extend(body);
        for unused in [PASSING, "t", "m"] {
            if is_parameter(unused) && !uses(&all, unused) {
                all.insert(0, Expr::name(unused).unused());
            }
        }
        vec![Item::Comment(comment), Item::Function(signature, all), Item::Blank]
    }

    fn scope(&self, index: usize) -> Scope<'_> {
        Scope {
            program: self.program,
            engine: self.engine,
            step: &self.engine.steps[index],
            context: &self.variables,
            arrays: &self.elements,
            packet: Expr::name("p"),
            window: Expr::name("w"),
            model: Model::Bits64,
            proves_indices: false,
        }
    }

    /// Writes a function of the part of a step before its replies.
    fn early_part(&self, index: usize, part: Early) -> Vec<Stmt> {
        let is_first = part == Early::Requests;
        let split = &self.splits[index];
        let all: Vec<&Op> = self.engine.steps[index].ops().collect();
        let ops: Vec<&Op> = split.early.iter().map(|i| all[*i]).collect();
        let fetched: Vec<&Op> = split
            .fetched
            .iter()
            .map(|i| all[*i])
            .filter(|op| match part {
                Early::Requests => true,
                Early::Pause(pause) => pause < calls::pauses(self.engine, op),
                Early::Further => calls::may_go_further(self.engine, op),
            })
            .collect();
        let mut wanted: Vec<Value> = if is_first {
            split.kept.iter().map(|(value, _)| *value).collect()
        } else {
            Vec::new()
        };
        wanted.extend(fetched.iter().map(|op| key_of(op)));
        let guards = split.guarded.iter().filter_map(|call| Some((all[*call], all[*call].guard?)));
        let guards: Vec<(&Op, Value)> = guards.collect();
        wanted.extend(guards.iter().map(|(_, guard)| *guard));
        let mut emitter = Emitter::new(self.scope(index), ops, &wanted);
        for (value, name) in &split.kept {
            let place = self.kept(index, name);
            if is_first {
                let value = emitter.kept_outside(*value);
                emitter.plain(Stmt::Assign(place, value.c));
            } else {
                emitter.provide(*value, place);
            }
        }
        let around = self.surroundings();
        // A fetch needs no guard: it changes nothing, and a search stays inside its table for every
        // key. A long search has a guard all the same, since it would be wasted.
        for op in fetched {
            let walk = split.walk(&all, op).map(|walk| self.kept(index, walk));
            let statement = match (part, &walk) {
                (Early::Pause(pause), Some(walk)) => {
                    calls::advance(&around, &mut emitter, op, pause, walk)
                }
                (Early::Further, Some(walk)) => {
                    let further = calls::further(&around, &mut emitter, op, walk);
                    Some(Stmt::Include(Expr::name("further"), further))
                }
                _ => Some(calls::fetch(&around, &mut emitter, op, walk.as_ref())),
            };
            if is_first && let Some(begun) = self.begun(index, op, walk.as_ref()) {
                emitter.plain(Stmt::Assign(begun, Expr::name("NULL")));
            }
            let guard = guards.iter().find(|(call, _)| call.results == op.results);
            match (statement, guard) {
                (Some(statement), Some((_, guard))) => {
                    let condition = emitter.operand(*guard).c;
                    emitter.plain(Stmt::If(condition, vec![statement]));
                }
                (Some(statement), None) => emitter.plain(statement),
                (None, _) => {}
            }
        }
        let mut body: Vec<Stmt> = self.counted(index).filter(|_| is_first).into_iter().collect();
        if part == Early::Further {
            body.push(Declaration::new("uint32_t", "further").with(Expr::number(0)).into());
        }
        body.extend(emitter.finish());
        body.push(Stmt::Return(match part {
            Early::Further => Expr::name("further"),
            _ => Expr::name(self.state(index)),
        }));
        body
    }

    /// Counts a thread that begins a step.
    fn counted(&self, step: usize) -> Option<Stmt> {
        let count = machine().member("steps").at(step);
        self.counts.then(|| Stmt::Expr(count.increment()))
    }

    /// Writes the functions for the rest of the step: one with this signature for the packets that
    /// the step changes and, if that pays off, a cold one for all other packets.
    fn late_parts(&self, index: usize, comment: String, signature: Signature) -> Vec<Item> {
        let split = &self.splits[index];
        let early: HashSet<usize> = split.early.iter().copied().collect();
        let step = &self.engine.steps[index];
        let ops: Vec<&Op> = step
            .ops()
            .enumerate()
            .filter(|(i, op)| !early.contains(i) || is_free(&op.kind))
            .map(|(_, op)| op)
            .collect();
        let is_repeatable = |kind: &OpKind| !self.counts && calls::is_repeatable(self.engine, kind);
        let begins = !self.plans[index].waits;
        let counted = |body: Vec<Stmt>| {
            self.counted(index).filter(|_| begins).into_iter().chain(body).collect()
        };
        let definitions = Definitions::of(step);
        let divided = exits::divide(&ops, &step.values, &definitions, is_repeatable);
        let Some(divided) = divided else {
            let body = self.late_part(index, &exits::arrange(&ops, &definitions), self.end());
            return self.function(comment, signature, counted(body));
        };
        let rest = self.late_part(index, &divided.rest, self.end());
        let mut rest_signature =
            Signature { storage: "WL_COLD", ..self.signature(self.rest(index), false) };
        let mut arguments = vec![Expr::name("m"), Expr::name("t")];
        // Pass a copy: if the address of the passed context went to a separate function, the
        // context would have to be in memory.
        if begins && uses(&rest, PASSING) {
            rest_signature.parameters.push((self.passing_type(), RUN.into()));
            arguments.push(Expr::name(PASSING).target());
        }
        let otherwise = Stmt::Return(Expr::call(self.rest(index), arguments));
        let usual = self.late_part(index, &divided.usual, otherwise);
        let rest_comment = format!(
            "Step `{}`: the exits of packets that it does not change.",
            self.engine.steps[index].name
        );
        let mut items = self.function(rest_comment, rest_signature, rest);
        items.extend(self.function(comment, signature, counted(usual)));
        items
    }

    /// Writes operations of the rest of the step. Effects other than exits keep their program
    /// order. `otherwise` is executed if no exit is taken.
    fn late_part(&self, index: usize, ops: &[Op], otherwise: Stmt) -> Vec<Stmt> {
        let mut emitter = Emitter::new(self.scope(index), ops.iter().collect(), &[]);
        for (value, name) in &self.splits[index].kept {
            emitter.provide(*value, self.kept(index, name));
        }
        emitter.run(&mut StepEffects { engine: self, from: index });
        let mut body = emitter.finish();
        if !tree::leaves(&body) {
            body.push(otherwise);
        }
        body
    }

    /// Returns the pointer in the state of a search that says whether it has begun, if a thread may
    /// reach the call without its pauses.
    fn begun(&self, step: usize, op: &Op, walk: Option<&Expr>) -> Option<Expr> {
        let skips_pauses = self.plans[step].ordered != 0;
        skips_pauses.then_some(walk?).and_then(|walk| calls::begun(self.engine, op, walk))
    }

    fn kept(&self, step: usize, name: &str) -> Expr {
        Expr::name("t").arrow("kept").member(&self.step_names[step]).member(name)
    }

    fn surroundings(&self) -> Surroundings<'_> {
        Surroundings {
            slot_index: &self.slot_index,
            functions: &self.functions,
            packet: Some((Expr::name("p"), machine().member("arena").address())),
            counts: self.counts,
        }
    }

    /// Returns the statement that ends the thread.
    fn end(&self) -> Stmt {
        Stmt::Return(Expr::name(self.ended()))
    }

    /// Returns the statements that continue at step `to`.
    fn jump(&self, from: usize, to: StepId) -> Vec<Stmt> {
        let mut statements = Vec::new();
        if to.index() <= from {
            let stopped = set_aside("WL_RUNAWAY", 0, Expr::number(0));
            let stopped = Stmt::call("wl_end_packet", stopped);
            let last = last_jump_back(Expr::name("t").arrow("backward"));
            statements.push(Stmt::If(last, vec![stopped, self.end()]));
        }
        let passing = self.passes().then_some(PASSING);
        let arguments = ["m", "t"].into_iter().chain(passing).map(Expr::name);
        statements.push(Stmt::Return(Expr::call(self.enter(to.index()), arguments)));
        statements
    }
}

/// Returns the position of the packet's window.
fn open() -> Expr {
    Expr::call("wl_open", [Expr::name("p")])
}

/// Returns for each step whether the function that enters it is inlined into the steps that jump to
/// it: it never waits, it ends the packet, it is short, and few steps jump to it. Context written
/// before such a jump then stays in registers.
fn inline(engine: &Engine, plans: &[StepPlan]) -> Vec<bool> {
    let mut jumps = vec![0; engine.steps.len()];
    engine.steps.iter().flat_map(plan::successors).for_each(|to| jumps[to] += 1);
    let is_inline = |(index, step): (usize, &Step)| {
        !plans[index].waits
            && jumps[index] <= MOST_INLINE
            && plan::successors(step).next().is_none()
            && step.ops().count() <= LONGEST_INLINE
    };
    engine.steps.iter().enumerate().map(is_inline).collect()
}

/// Returns the machine's common part.
fn machine() -> Expr {
    Expr::name("m").arrow("machine")
}

/// Returns the thread's packet, as arguments of the runtime's functions that end it.
fn packet_to_end() -> [Expr; 2] {
    [Expr::name("t").arrow("end"), Expr::name("p")]
}

/// Returns the arguments for a packet that is not sent: its verdict and the reason.
fn set_aside(verdict: &str, reasons: u32, reason: Expr) -> impl Iterator<Item = Expr> {
    packet_to_end().into_iter().chain([Expr::name(verdict), Expr::number(reasons), reason])
}

/// A function of the part of a step that executes before its replies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Early {
    /// Computes requests and prefetches their data.
    Requests,
    /// Advances the searches to their next access after a pause.
    Pause(usize),
    /// Says whether a search needs more accesses than it has pauses, and fetches the next one.
    Further,
}
