//! Work that threads do before their turn at order-sensitive offloads.
//!
//! Threads execute ordered steps one by one, in the order of their packets. Each would wait for
//! memory at each access if the others did not prepare meanwhile:
//! - The threads on the list of an ordered step advance its searches from one access to the next,
//!   as on any other list. So entries are in the cache when the thread's turn comes.
//! - A step that only looks up is *executed early*, and so are the steps after it that only read and
//!   wait for memory. All threads look up, and fetch the memory that the next ordered step needs. That
//!   is valid if no thread changes the tables before the thread's turn. A version of each table
//!   detects a change (`KindInC::version`): if it differs, the thread goes back and executes the
//!   steps again. A thread that ends, or comes to a step that does more than read, is *held* there
//!   until its turn.

use wireloom_compile::analysis::order;
use wireloom_ir::{Exit, OffloadId, OffloadTarget, OpKind};
use wireloom_offloads::{StateUse, registry};

use super::batch::{
    self, count_to, field, function, go_on, machine_type, name, put_on_list, returning,
};
use super::engine::PacketEngine;
use super::kinds;
use super::tree::{Aggregate, Binary, Declaration, Designator, Expr, Field, Item, Stmt, Type};

/// The plan for early execution in an engine.
pub struct Ahead {
    /// For each step, the versions on which its early execution depends; `None` if no early
    /// execution begins there.
    versions: Vec<Option<Vec<Expr>>>,
    /// Whether a thread may wait at a step that keeps no order, while it executes early.
    passed: Vec<bool>,
}

impl Ahead {
    /// Executes no step early.
    pub fn none(steps: usize) -> Self {
        Self { versions: vec![None; steps], passed: vec![false; steps] }
    }

    /// Finds the steps that are executed early.
    pub fn of(engine: &PacketEngine<'_>) -> Self {
        let sensitive = order::sensitive(engine.program, engine.program.main);
        let mut ahead = Self::none(engine.plans.len());
        for step in engine.waiting().filter(|step| engine.plans[*step].ordered != 0) {
            let mut way =
                Way { engine, sensitive: &sensitive, versions: Vec::new(), ends: Vec::new() };
            if !way.only_looks(step) {
                continue;
            }
            let mut passed = vec![false; engine.plans.len()];
            let mut leads_on = false;
            while let Some(end) = way.ends.pop() {
                leads_on |= engine.plans[end].ordered != 0;
                if engine.plans[end].ordered == 0 && !passed[end] {
                    let known = way.ends.len();
                    passed[end] = way.only_looks(end);
                    if !passed[end] {
                        way.ends.truncate(known);
                    }
                }
            }
            if leads_on {
                ahead.versions[step] = Some(way.versions);
                ahead.passed.iter_mut().zip(passed).for_each(|(all, own)| *all |= own);
            }
        }
        ahead
    }

    /// Whether any step is executed early.
    pub fn is_any(&self) -> bool {
        self.versions.iter().any(Option::is_some)
    }

    fn early(&self) -> impl Iterator<Item = (usize, &Vec<Expr>)> {
        let steps = self.versions.iter().enumerate();
        steps.filter_map(|(step, versions)| Some((step, versions.as_ref()?)))
    }
}

/// A search for the steps that a thread can execute early.
struct Way<'a> {
    engine: &'a PacketEngine<'a>,
    sensitive: &'a [OffloadId],
    /// The versions of the offloads that these steps read.
    versions: Vec<Expr>,
    /// The steps that wait after them.
    ends: Vec<usize>,
}

impl Way<'_> {
    /// Returns whether a step, with those after it up to the next wait, changes nothing but the
    /// context. Adds the versions of the offloads that it reads, and the steps that wait after it.
    fn only_looks(&mut self, step: usize) -> bool {
        let engine = self.engine;
        engine.engine.steps[step].ops().all(|op| match &op.kind {
            OpKind::Call { offload, method, .. } => {
                let target = &engine.engine.offloads[offload.index()].target;
                let OffloadTarget::Kind(config) = target else { return false };
                let kind = registry::kind(&config.kind).expect("a verified program");
                let method = &kind.methods[*method];
                if !matches!(method.state, StateUse::Pure | StateUse::Read) || method.writes_packet
                {
                    return false;
                }
                if !self.sensitive.contains(offload) {
                    return true;
                }
                let slot = field("machine").member("slots").at(engine.slot(*offload)).address();
                let version = kinds::find(config).and_then(|kind| (kind.version)(method, slot));
                let is_known = version.is_some();
                self.versions.extend(version.filter(|version| !self.versions.contains(version)));
                is_known
            }
            OpKind::WritePacket { .. }
            | OpKind::WriteElement { .. }
            | OpKind::WriteMeta(..)
            | OpKind::Insert { .. }
            | OpKind::Remove { .. }
            | OpKind::Reset { .. }
            | OpKind::Exit(Exit::Emit(..)) => false,
            OpKind::Exit(Exit::Next(to)) if engine.plans[to.index()].waits => {
                self.ends.push(to.index());
                true
            }
            OpKind::Exit(Exit::Next(to)) => self.only_looks(to.index()),
            _ => true,
        })
    }
}

/// A field of the thread's state saved before early execution.
fn before(member: &str) -> Expr {
    name("t").arrow("before").member(member)
}

/// Returns the parts of a thread that are saved before a step is executed early. They are restored
/// if that was in vain.
fn saved(engine: &PacketEngine<'_>) -> impl Iterator<Item = &'static str> {
    let parts = [("context", engine.has_context()), ("kept", engine.keeps()), ("backward", true)];
    parts.into_iter().filter(|(_, exists)| *exists).map(|(part, _)| part)
}

/// Returns the field of a thread that holds the saved parts. Returns `None` if no step is executed
/// early.
pub fn fields(engine: &PacketEngine<'_>) -> Option<Field> {
    if !engine.ahead().is_any() {
        return None;
    }
    let ty = |part: &str| match part {
        "context" => Type::structure(&format!("{}_context", engine.prefix)),
        "kept" => Type::named(format!("union {}_kept", engine.prefix)),
        _ => Type::named("uint32_t"),
    };
    let mut fields: Vec<Field> =
        saved(engine).map(|part| Declaration::new(ty(part), part).into()).collect();
    fields.push(Declaration::new("uint64_t", "version").into());
    let state = Declaration::new("uint32_t", "state");
    fields.push(state.commented("where the thread was; 0 if it has executed nothing early").into());
    let held = Declaration::new("uint32_t", "held");
    fields.push(held.commented("the state in which it is held").into());
    let aggregate = Aggregate { is_union: false, tag: None, fields };
    Some(Field::Nested { aggregate, name: "before".into(), sizes: Vec::new() })
}

/// Returns the statements that begin a thread.
pub fn begin(engine: &PacketEngine<'_>) -> Vec<Stmt> {
    if !engine.ahead().is_any() {
        return Vec::new();
    }
    vec![Stmt::Assign(before("state"), Expr::number(0))]
}

/// Advances the searches of all threads on a list from each access to the next.
pub fn advances(engine: &PacketEngine<'_>, step: usize) -> impl Iterator<Item = Stmt> {
    let entry = field("list").index(name(engine.state(step))).index(name("i"));
    engine.advances(step).into_iter().enumerate().map(move |(pause, advance)| {
        let all = vec![Stmt::Expr(go_on(advance, entry.clone()))];
        let all = count_to(name("count"), all);
        match engine.is_pause_needed(step, pause) {
            Some(condition) => Stmt::If(condition, vec![all]),
            None => all,
        }
    })
}

/// Returns the ordered steps at which threads prepare.
fn preparing(engine: &PacketEngine<'_>) -> impl Iterator<Item = usize> {
    let prepares = |step: &usize| {
        let is_early = engine.ahead().versions[*step].is_some();
        engine.plans[*step].ordered != 0 && (is_early || !engine.advances(*step).is_empty())
    };
    engine.waiting().filter(prepares)
}

/// Returns the calls that prepare the threads before they execute ordered steps in order.
pub fn calls(engine: &PacketEngine<'_>) -> impl Iterator<Item = Stmt> {
    let call = |step| Stmt::call(format!("{}_ahead", engine.enter(step)), [name("m")]);
    preparing(engine).map(call)
}

/// Writes the functions for early execution, if any step is executed early.
pub fn support(engine: &PacketEngine<'_>) -> Vec<Item> {
    if !engine.ahead().is_any() {
        return Vec::new();
    }
    [version(engine), undo(engine), passed(engine), around(engine)].concat()
}

/// Writes the functions that prepare threads.
pub fn items(engine: &PacketEngine<'_>) -> Vec<Item> {
    preparing(engine).flat_map(|step| ahead(engine, step)).collect()
}

/// Writes the function in which the threads that wait at an ordered step prepare.
fn ahead(engine: &PacketEngine<'_>, step: usize) -> Vec<Item> {
    let state = || name(engine.state(step));
    let waiting = || field("waiting").index(state());
    let count = Declaration::new(Type::named("uint32_t").constant(), "count").with(waiting());
    let mut body = vec![count.into()];
    body.extend(advances(engine, step));
    if engine.ahead().versions[step].is_some() {
        body.push(Stmt::Assign(waiting(), Expr::number(0)));
        body.push(count_to(name("count"), early(engine, step)));
    }
    let comment =
        format!("Prepares all threads that wait at `{}`.", engine.engine.steps[step].name);
    let parameters = vec![(machine_type(engine).pointer(), "m")];
    function(&comment, "WL_FUNCTION", format!("{}_ahead", engine.enter(step)), parameters, body)
}

fn thread_pointer(engine: &PacketEngine<'_>) -> Type {
    Type::structure(&format!("{}_thread", engine.prefix)).pointer()
}

/// Writes the function that returns the version of the tables that a step reads.
fn version(engine: &PacketEngine<'_>) -> Vec<Item> {
    let last = engine.ahead().early().count() - 1;
    let case = |(index, (step, versions)): (usize, (usize, &Vec<Expr>))| {
        let label = (index != last).then(|| name(engine.state(step)));
        let sum = versions.iter().cloned().reduce(|a, b| a.binary(Binary::Add, b));
        (label, vec![Stmt::Return(sum.unwrap_or(Expr::number(0)))])
    };
    let cases = engine.ahead().early().enumerate().map(case).collect();
    let parameters =
        vec![(machine_type(engine).constant().pointer(), "m"), ("uint32_t".into(), "state")];
    returning(
        "Returns the version of the offloads that the step of a state reads.",
        Type::named("uint64_t"),
        format!("{}_version", engine.prefix),
        parameters,
        vec![Stmt::Switch(name("state"), cases)],
    )
}

/// Writes the function that undoes a thread's early execution.
fn undo(engine: &PacketEngine<'_>) -> Vec<Item> {
    let restored = |part: &str| Stmt::Assign(name("t").arrow(part), before(part));
    let mut body: Vec<Stmt> = saved(engine).map(restored).collect();
    let verdict = name("t").arrow("end").arrow("last").member("verdict");
    body.push(Stmt::Assign(verdict, name("WL_NOTHING")));
    function(
        "Takes back what a thread has executed early.",
        "WL_INLINE",
        format!("{}_undo", engine.prefix),
        vec![(thread_pointer(engine), "t")],
        body,
    )
}

/// Executes a step early for thread `i` of its list.
fn early(engine: &PacketEngine<'_>, step: usize) -> Vec<Stmt> {
    let t = || name("t");
    let call = |function: &str, arguments: Vec<Expr>| {
        Expr::call(format!("{}_{function}", engine.prefix), arguments)
    };
    let own = field("list").index(name(engine.state(step))).index(name("i"));
    let own = Declaration::new(batch::thread_pointer(engine), "t").with(own);
    let next = Expr::call(engine.resume(step), [name("m"), t()]);
    let state = || name("state");
    let execute = vec![
        Stmt::Expr(call("save", vec![name("m"), t(), state()])),
        Stmt::Assign(state(), call("settle", vec![t(), next])),
    ];
    // A thread goes back to where it began to execute early, so it begins once.
    vec![
        own.into(),
        Declaration::new("uint32_t", "state").with(name(engine.state(step))).into(),
        Stmt::If(before("state").not(), execute),
        put_on_list(engine, t(), state()),
    ]
}

/// Returns the state of a thread that would go on to the state `next` from a step that keeps no
/// order: another one if it executes the step early, and is held.
pub fn settled(engine: &PacketEngine<'_>, step: usize, next: Expr) -> Expr {
    match engine.ahead().passed[step] {
        true => Expr::call(format!("{}_settle", engine.prefix), [name("t"), next]),
        false => next,
    }
}

/// Returns the name of the state of threads that are held; `None` if no step is executed early.
pub fn held(engine: &PacketEngine<'_>) -> Option<String> {
    engine.ahead().is_any().then(|| format!("{}_HELD", engine.prefix.to_uppercase()))
}

/// Writes the table of the states in which a thread may be that executes steps early.
fn passed(engine: &PacketEngine<'_>) -> Vec<Item> {
    let is_passed = |step: &usize| engine.plans[*step].ordered != 0 || engine.ahead().passed[*step];
    let states = engine.waiting().filter(is_passed).flat_map(|step| engine.states(step));
    let entries = states.map(|state| (Designator::Element(state), name("true"))).collect();
    let table =
        Declaration::new(Type::named("bool").constant(), format!("{}_passed", engine.prefix));
    vec![
        Item::Comment("The states in which a thread may be that executes steps early.".into()),
        Item::Object(
            "static",
            table.sized([batch::states(engine)]).with(Expr::Designated(entries)),
        ),
        Item::Blank,
    ]
}

/// Writes the functions around early execution: before it, after it, and at the thread's turn.
fn around(engine: &PacketEngine<'_>) -> Vec<Item> {
    let prefix = &engine.prefix;
    let state = || name("state");
    let calls = |state: Expr| name(format!("{prefix}_calls")).index(state);
    let undo = || Stmt::call(format!("{prefix}_undo"), [name("t")]);
    let version = |state: Expr| Expr::call(format!("{prefix}_version"), [name("m"), state]);
    let keep = |part: &str| Stmt::Assign(before(part), name("t").arrow(part));
    let machine = || (machine_type(engine).pointer(), "m");
    let own = || (thread_pointer(engine), "t");
    let number = |name: &'static str| (Type::named("uint32_t"), name);

    let mut save: Vec<Stmt> = saved(engine).map(keep).collect();
    save.push(Stmt::Assign(before("version"), version(state())));
    save.push(Stmt::Assign(before("state"), state()));
    let mut items = function(
        "Saves what the step of a state may change.",
        "WL_INLINE",
        format!("{prefix}_save"),
        vec![machine(), own(), number("state")],
        save,
    );

    let passed = name(format!("{prefix}_passed")).index(name("next"));
    let goes_on = before("state").not().binary(Binary::Either, passed);
    let held = held(engine).expect("steps are executed early");
    items.extend(returning(
        "Returns the state of a thread that would go on to the state `next`: it is held if it \
         executes steps early, and may not be there.",
        Type::named("uint32_t"),
        format!("{prefix}_settle"),
        vec![own(), number("next")],
        vec![
            Stmt::If(goes_on, vec![Stmt::Return(name("next"))]),
            Stmt::Assign(before("held"), name("next")),
            Stmt::Return(name(held.clone())),
        ],
    ));

    let is_turn = calls(before("state")).binary(Binary::And, name("others")).not();
    let is_stale = version(before("state")).binary(Binary::NotEqual, before("version"));
    let is_held = state().binary(Binary::Equal, name(held));
    let turn = vec![
        Stmt::If(is_held, vec![Stmt::Assign(state(), before("held"))]),
        Stmt::If(is_stale, vec![undo(), Stmt::Assign(state(), before("state"))]),
        Stmt::Assign(before("state"), Expr::number(0)),
    ];
    items.extend(returning(
        "If it is the turn of a thread that has executed steps early, checks that they would do the \
         same now. Returns the state from which the thread continues. `others` are the offloads that \
         earlier threads may yet call.",
        Type::named("uint32_t"),
        format!("{prefix}_turn"),
        vec![machine(), own(), number("state"), (Type::named("uint64_t"), "others")],
        vec![
            Stmt::If(before("state").nonzero().binary(Binary::Both, is_turn), turn),
            Stmt::Return(state()),
        ],
    ));
    items
}

/// Returns the statements that find the state of thread `i` at its turn, and stop it from
/// continuing if its turn has not come.
pub fn turn(engine: &PacketEngine<'_>) -> Vec<Stmt> {
    let arguments = [name("m"), name("t"), name("state"), name("before")];
    let barred = before("state").nonzero().choose(name("UINT64_MAX"), name("before"));
    vec![
        Stmt::Assign(name("state"), Expr::call(format!("{}_turn", engine.prefix), arguments)),
        Declaration::new(Type::named("uint64_t").constant(), "barred").with(barred).into(),
    ]
}

/// Returns the state of thread `i` before its early execution. Later threads must respect the reach
/// of this state, in addition to that of the state in which the thread waits.
pub fn earlier_state() -> Expr {
    before("state")
}
