//! The machine of an engine that takes packets: the lists on which threads wait, and the loop that
//! executes a batch.

use super::ahead;
use super::engine::PacketEngine;
use super::tree::{
    Aggregate, Binary, Declaration, Designator, Expr, Field, Item, Signature, Stmt, Type,
};

pub fn name(name: impl Into<String>) -> Expr {
    Expr::name(name)
}

/// Returns a field of the machine.
pub fn field(field: &str) -> Expr {
    name("m").arrow(field)
}

/// Returns the address of the thread in a slot of `seats`.
pub fn thread(seat: Expr) -> Expr {
    field("seats").index(seat).member("thread").address()
}

pub fn machine_type(engine: &PacketEngine<'_>) -> Type {
    Type::structure(&format!("{}_machine", engine.prefix))
}

/// Returns the type of a constant pointer to a thread.
pub fn thread_pointer(engine: &PacketEngine<'_>) -> Type {
    thread_type(engine).const_pointer()
}

fn thread_type(engine: &PacketEngine<'_>) -> Type {
    Type::structure(&format!("{}_thread", engine.prefix))
}

pub fn states(engine: &PacketEngine<'_>) -> Expr {
    name(format!("{}_STATES", engine.prefix.to_uppercase()))
}

/// `const uint32_t name = value;`
fn constant(name: &str, value: Expr) -> Stmt {
    Declaration::new(Type::named("uint32_t").constant(), name).with(value).into()
}

/// Counts `i` from zero up to a limit, which is excluded.
pub fn count_to(limit: Expr, body: Vec<Stmt>) -> Stmt {
    Stmt::Count { variable: "i".into(), first: Expr::number(0), limit, body }
}

pub fn function(
    comment: &str,
    storage: &'static str,
    name: String,
    parameters: Vec<(Type, &str)>,
    body: Vec<Stmt>,
) -> Vec<Item> {
    let parameters = parameters.into_iter().map(|(ty, name)| (ty, name.to_owned())).collect();
    let signature = Signature { storage, returns: Type::named("void"), name, parameters };
    vec![Item::Comment(comment.into()), Item::Function(signature, body), Item::Blank]
}

/// Builds a small function with a result.
pub fn returning(
    comment: &str,
    returns: Type,
    name: String,
    parameters: Vec<(Type, &str)>,
    body: Vec<Stmt>,
) -> Vec<Item> {
    let parameters = parameters.into_iter().map(|(ty, name)| (ty, name.to_owned())).collect();
    let signature = Signature { storage: "WL_INLINE", returns, name, parameters };
    vec![Item::Comment(comment.into()), Item::Function(signature, body), Item::Blank]
}

/// Writes the states and the machine's structure.
pub fn machine(engine: &PacketEngine<'_>, has_lanes: bool) -> Vec<Item> {
    let mut enumerators = vec![engine.ended()];
    enumerators.extend(engine.waiting().flat_map(|step| engine.states(step)));
    enumerators.extend(ahead::held(engine));
    enumerators.push(format!("{}_STATES", engine.prefix.to_uppercase()));

    let batch = || name("WL_BATCH");
    let mut fields: Vec<Field> = vec![
        Declaration::new(Type::structure("wl_machine"), "machine").into(),
        Declaration::new("uint32_t", "waiting")
            .sized([states(engine)])
            .commented("threads on each list")
            .into(),
        // Pointers, not thread numbers: a compiler would compute the address from the number for
        // each access to the thread.
        Declaration::new(thread_type(engine).pointer(), "list")
            .sized([states(engine), batch()])
            .into(),
    ];
    if has_lanes {
        fields.push(Declaration::new(Type::structure("wl_lanes"), "lanes").into());
        let left = Declaration::new("uint8_t", "left").sized([batch()]);
        fields.push(left.commented("numbers of the packets that threads execute").into());
    }
    let lines = Expr::SizeOfType(thread_type(engine)).binary(Binary::Div, Expr::number(64));
    let odd = Expr::number(1).binary(Binary::Add, lines.binary(Binary::Rem, Expr::number(2)));
    let apart = Expr::number(64).binary(Binary::Mul, odd);
    let seat = vec![
        Declaration::new(thread_type(engine), "thread").into(),
        Declaration::new("uint8_t", "apart").sized([apart]).into(),
    ];
    fields.push(Field::Nested {
        aggregate: Aggregate { is_union: false, tag: None, fields: seat },
        name: "seats".into(),
        sizes: vec![batch()],
    });
    let tag = Some(format!("{}_machine", engine.prefix));
    vec![
        Item::Comment(
            "Where a thread waits for the rest of its batch. Steps that are not here are done at once."
                .into(),
        ),
        Item::Enum(enumerators),
        Item::Blank,
        Item::Comment(
            "A batch. The threads stand an odd number of cache lines apart, so that the same line of each \
             falls into a set of its own."
                .into(),
        ),
        Item::Struct(Aggregate { is_union: false, tag, fields }),
        Item::Blank,
    ]
}

/// Writes the loop and everything that it needs. `needs_env` says whether threads need their
/// environment: the time, and the number of the packet.
pub fn execution(engine: &PacketEngine<'_>, needs_env: bool, has_lanes: bool) -> Vec<Item> {
    let mut items = wait(engine);
    if engine.is_ordered() {
        items.extend(in_order(engine));
        items.extend(ahead::items(engine));
    }
    let unordered: Vec<usize> =
        engine.waiting().filter(|step| engine.plans[*step].ordered == 0).collect();
    items.extend(unordered.iter().flat_map(|step| list(engine, *step)));
    items.extend(execute(engine, &unordered, needs_env, has_lanes));
    items
}

fn wait(engine: &PacketEngine<'_>) -> Vec<Item> {
    let mut body = Vec::new();
    if engine.is_ordered() {
        body.push(Stmt::Assign(name("t").arrow("at"), name("state")));
    }
    // Each state has its own case, although the cases are alike. A step mostly continues in one
    // state, so a compiler then takes its case alone, with constant addresses. Threads that have
    // ended are only counted.
    let count = |state: &str| field("waiting").index(name(state)).increment();
    let wait = |state: String| {
        let place = field("list").index(name(&state)).index(count(&state));
        (Some(name(state)), vec![Stmt::Assign(place, name("t")), Stmt::Break])
    };
    let mut cases: Vec<_> =
        engine.waiting().flat_map(|step| engine.states(step)).map(wait).collect();
    // A thread that is held is found in the order of packets.
    cases.extend(ahead::held(engine).map(|held| (Some(name(held)), vec![Stmt::Break])));
    let ended = Stmt::Expr(count(&engine.ended()));
    if cases.is_empty() {
        body.extend(["t", "state"].map(|unused| name(unused).unused()));
        body.push(ended);
    } else {
        cases.push((None, vec![ended, Stmt::Break]));
        body.push(Stmt::Switch(name("state"), cases));
    }
    let parameters = vec![
        (machine_type(engine).pointer(), "m"),
        (thread_type(engine).pointer(), "t"),
        (Type::named("uint32_t"), "state"),
    ];
    let function_name = format!("{}_wait", engine.prefix);
    function(
        "Puts a thread on the list of its state.",
        "WL_INLINE",
        function_name,
        parameters,
        body,
    )
}

/// Calls the function that puts a thread on the list of its state.
pub fn put_on_list(engine: &PacketEngine<'_>, thread: Expr, state: Expr) -> Stmt {
    Stmt::call(format!("{}_wait", engine.prefix), [name("m"), thread, state])
}

/// Calls a step's function for a thread.
pub fn go_on(function: String, thread: Expr) -> Expr {
    Expr::call(function, [name("m"), thread])
}

fn execute(
    engine: &PacketEngine<'_>,
    unordered: &[usize],
    needs_env: bool,
    has_lanes: bool,
) -> Vec<Item> {
    let prefix = &engine.prefix;
    let (i, t) = (|| name("i"), || name("t"));
    let packet = || name("packets").index(i());
    let cleared = |object: Expr, address: Expr| {
        let size = Expr::SizeOf(Box::new(object));
        Stmt::call("memset", [address, Expr::number(0), size])
    };
    let own = Declaration::new(thread_pointer(engine), "t").with(thread(i()));
    let env = vec![packet().member("arrival_ns"), name("sequence").binary(Binary::Add, i())];
    let end = field("machine").member("ends").index(i()).address();
    // If lanes execute some packets, a list holds the numbers of the packets left to threads.
    let number: Vec<Stmt> =
        has_lanes.then(|| constant("i", field("left").index(name("at")))).into_iter().collect();
    let mut begin = number.clone();
    begin.extend([
        own.into(),
        Stmt::call("wl_arrive", [t().arrow("hand").address(), packet().address()]),
        Stmt::Assign(t().arrow("end"), end),
        Stmt::call("wl_end_begin", [t().arrow("end")]),
    ]);
    if needs_env {
        let env = Expr::Object(Type::structure("wl_env"), env);
        begin.push(Stmt::Assign(t().arrow("env"), env));
    }
    if engine.jumps_back() {
        begin.push(Stmt::Assign(t().arrow("backward"), Expr::number(0)));
    }
    begin.extend(engine.clear());
    begin.extend(ahead::begin(engine));
    // Steps near the end of the engine come first, so that a thread that advances to another list
    // waits there until the next round.
    let mut rounds: Vec<Stmt> = unordered
        .iter()
        .rev()
        .map(|step| Stmt::call(format!("{}_list", engine.enter(*step)), [name("m")]))
        .collect();
    if engine.is_ordered() {
        rounds.extend(ahead::calls(engine));
        rounds.push(Stmt::call(format!("{prefix}_in_order"), [name("m"), name("admitted")]));
    }
    let mut first_run = number;
    first_run.extend(engine.declare_passing());
    first_run.push(Declaration::new(thread_pointer(engine), "t").with(thread(i())).into());
    first_run.push(put_on_list(engine, t(), engine.begin(0, t())));
    let from_first = |body: Vec<Stmt>| Stmt::Count {
        variable: if has_lanes { "at" } else { "i" }.into(),
        first: name("first"),
        limit: name("admitted"),
        body,
    };
    let admit = if engine.is_ordered() { "WL_BATCH" } else { "WL_ADMITTED" };
    let (limit, known) = match has_lanes {
        // Lanes have already fetched the packets of the next batch.
        true => {
            let all = name("left").binary(Binary::Equal, name("count"));
            (name("left"), all.choose(name("known"), Expr::number(0)))
        }
        false => (name("count"), name("known")),
    };
    let admitted = [name("packets"), name("first"), limit, known];
    rounds.extend([
        constant("first", name("admitted")),
        Stmt::Assign(
            name("admitted"),
            Expr::call("wl_admit", admitted.into_iter().chain([name(admit)])),
        ),
        from_first(begin),
        Stmt::Comment(
            "Not in the loop above: the copies are on their way to the cache while the first packets are read."
                .into(),
        ),
        from_first(first_run),
    ]);
    let ended = field("waiting").index(name(engine.ended()));
    let unused = (!needs_env).then(|| name("sequence").unused());
    let mut body: Vec<Stmt> = unused.into_iter().collect();
    body.extend([
        Declaration::new(machine_type(engine).const_pointer(), "m").with(name("state")).into(),
        Stmt::call("wl_machine_begin", [field("machine").address()]),
        cleared(field("waiting"), field("waiting")),
    ]);
    if has_lanes {
        let arguments = ["m", "packets", "count", "known"].map(name);
        let left = Expr::call(format!("{prefix}_lanes"), arguments);
        body.push(constant("left", left));
    }
    body.extend([
        Declaration::new("uint32_t", "admitted").with(Expr::number(0)).into(),
        Stmt::While(ended.binary(Binary::Less, name("count")), rounds),
    ]);
    let parameters = vec![
        (Type::named("void").pointer(), "state"),
        (Type::structure("wl_arrival").constant().pointer(), "packets"),
        (Type::named("uint32_t"), "count"),
        (Type::named("uint32_t"), "known"),
        (Type::named("uint64_t"), "sequence"),
    ];
    function("Executes a batch.", "static", format!("{prefix}_execute"), parameters, body)
}

/// Writes the function for the lists of one step. In a round, threads whose searches are done
/// continue, and the others advance their searches to the next access. So each access has the work
/// of a round to arrive, including the accesses that a search makes after its last pause. A paused
/// thread is still in the state of the step for `..._in_order`.
fn list(engine: &PacketEngine<'_>, step: usize) -> Vec<Item> {
    let states = engine.states(step);
    let waiting = |state: Expr| field("waiting").index(state);
    let entry = |state: Expr| field("list").index(state).index(name("i"));
    let mut body = Vec::new();
    let needed: Vec<Option<Expr>> =
        (1..states.len()).map(|pause| engine.is_pause_needed(step, pause - 1)).collect();
    // The state of threads that need no further pause.
    let last = name(states.last().expect("at least one"));
    let ready = (needed.iter().zip(&states).rev()).fold(last, |ready, (needed, state)| {
        needed.iter().fold(ready, |ready, needed| needed.clone().choose(ready, name(state)))
    });
    let ready = match ready {
        Expr::Name(_) => ready,
        chosen => {
            body.push(constant("ready", chosen));
            name("ready")
        }
    };
    body.push(constant("count", waiting(ready.clone())));
    body.push(Stmt::Comment(
        "A thread that comes back to this list takes a place that is already done with.".into(),
    ));
    body.push(Stmt::Assign(waiting(ready.clone()), Expr::number(0)));
    let own = |state| Declaration::new(thread_pointer(engine), "t").with(entry(state)).into();
    let resumed = go_on(engine.resume(step), name("t"));
    let further = engine.further(step);
    let state = further.clone().into_iter().fold(resumed, |resumed, further| {
        Expr::call("WL_UNLIKELY", [go_on(further, name("t"))]).choose(ready.clone(), resumed)
    });
    let state = ahead::settled(engine, step, state);
    let each = vec![own(ready), put_on_list(engine, name("t"), state)];
    body.push(count_to(name("count"), each));
    let pauses = engine.advances(step).into_iter().zip(needed).zip(states.windows(2));
    for ((advance, needed), pair) in pauses.rev() {
        let [from, to] = [name(&pair[0]), name(&pair[1])];
        // Threads that need another access are on the list already.
        let (place, all_waiting) = match further {
            Some(_) => {
                let after = name("before").binary(Binary::Add, name("i"));
                let all = name("before").binary(Binary::Add, name("paused"));
                (field("list").index(to.clone()).index(after), all)
            }
            None => (entry(to.clone()), name("paused")),
        };
        let each = vec![
            own(from.clone()),
            Stmt::Assign(place, name("t")),
            Stmt::Expr(go_on(advance, name("t"))),
        ];
        let mut all = vec![constant("paused", waiting(from.clone()))];
        all.extend(further.is_some().then(|| constant("before", waiting(to.clone()))));
        all.extend([
            Stmt::Assign(waiting(from), Expr::number(0)),
            count_to(name("paused"), each),
            Stmt::Assign(waiting(to), all_waiting),
        ]);
        body.push(match needed {
            Some(condition) => Stmt::If(condition, all),
            None => Stmt::Block(all),
        });
    }
    let comment = format!("All threads that wait at `{}`.", engine.engine.steps[step].name);
    let parameters = vec![(machine_type(engine).pointer(), "m")];
    function(&comment, "WL_FUNCTION", format!("{}_list", engine.enter(step)), parameters, body)
}

/// Writes the steps with calls of order-sensitive offloads; see `plan`.
fn in_order(engine: &PacketEngine<'_>) -> Vec<Item> {
    let prefix = &engine.prefix;
    let ordered: Vec<usize> =
        engine.waiting().filter(|step| engine.plans[*step].ordered != 0).collect();
    let mut items = vec![Item::Comment(
        "The order-sensitive offloads, a bit each, that a step calls, and that a thread in a state may yet \
         call."
            .into(),
    )];
    let masks = |is_called: bool| {
        let masks = engine.waiting().flat_map(move |step| {
            let plan = &engine.plans[step];
            let mask = if is_called { plan.ordered } else { plan.reach };
            engine.states(step).into_iter().map(move |state| (state, mask))
        });
        // A thread that is held waits for its turn, and reaches what it did before.
        let of_held = if is_called { u64::MAX } else { 0 };
        masks.chain(ahead::held(engine).map(|held| (held, of_held))).map(|(state, mask)| {
            (Designator::Element(state), Expr::number(format!("UINT64_C({mask:#x})")))
        })
    };
    for (table, is_called) in [("calls", true), ("reach", false)] {
        let masks = Expr::Designated(masks(is_called).collect());
        let declaration =
            Declaration::new(Type::named("uint64_t").constant(), format!("{prefix}_{table}"));
        items.push(Item::Object("static", declaration.sized([states(engine)]).with(masks)));
        items.push(Item::Blank);
    }
    items.extend(ahead::support(engine));

    let (state, before) = (|| name("state"), || name("before"));
    let calls = || name(format!("{prefix}_calls")).index(state());
    let last = ordered.len().saturating_sub(1);
    let case = |(index, step): (usize, &usize)| {
        let label = (index != last).then(|| name(engine.state(*step)));
        let resumed = go_on(engine.resume(*step), name("t"));
        (label, vec![Stmt::Assign(state(), resumed), Stmt::Break])
    };
    let cases = ordered.iter().enumerate().map(case).collect();
    // Threads may have executed a step before their turn.
    let is_early = engine.ahead().is_any();
    let barred = if is_early { name("barred") } else { before() };
    let is_free = calls().binary(Binary::And, barred).not();
    let go_on =
        Stmt::While(calls().binary(Binary::Both, is_free), vec![Stmt::Switch(state(), cases)]);
    let mut turn = if is_early { ahead::turn(engine) } else { Vec::new() };
    turn.extend([go_on, put_on_list(engine, name("t"), state())]);
    let reach = |state| Stmt::Include(before(), name(format!("{prefix}_reach")).index(state));
    let mut each = vec![
        Declaration::new(thread_pointer(engine), "t").with(thread(name("i"))).into(),
        Declaration::new("uint32_t", "state").with(name("t").arrow("at")).into(),
        Stmt::If(calls(), turn),
        reach(state()),
    ];
    each.extend(is_early.then(|| reach(ahead::earlier_state())));
    let mut body = vec![Declaration::new("uint64_t", "before").with(Expr::number(0)).into()];
    body.extend(ordered.iter().map(|step| {
        Stmt::Assign(field("waiting").index(name(engine.state(*step))), Expr::number(0))
    }));
    body.push(count_to(name("count"), each));
    let parameters =
        vec![(machine_type(engine).pointer(), "m"), (Type::named("uint32_t"), "count")];
    items.extend(function(
        "Lets threads go on, in the order of their packets, through steps that call order-sensitive offloads, \
         as far as no earlier thread may still call the same ones.",
        "WL_FUNCTION",
        format!("{prefix}_in_order"),
        parameters,
        body,
    ));
    items
}

/// Writes the table that the host looks up.
pub fn export(engine: &PacketEngine<'_>, symbol: &str, slots: usize) -> Vec<Item> {
    let prefix = &engine.prefix;
    let machine = name("state").cast(machine_type(engine).pointer()).arrow("machine").address();
    let mut items = function(
        "Gives back what a machine's state has beside itself.",
        "static",
        format!("{prefix}_close"),
        vec![(Type::named("void").pointer(), "state")],
        vec![Stmt::call("wl_machine_close", [machine])],
    );
    let fields = [
        ("abi", name("WL_ABI")),
        ("batch", name("WL_BATCH")),
        ("slots", Expr::number(slots)),
        ("state_size", Expr::SizeOfType(machine_type(engine))),
        ("execute", name(format!("{prefix}_execute"))),
        ("close", name(format!("{prefix}_close"))),
        ("show", name("wl_show")),
        ("replace", name("wl_replace")),
    ];
    let fields = fields.into_iter().map(|(name, value)| (Designator::Field(name.into()), value));
    let declaration = Declaration::new(Type::structure("wl_engine").constant(), symbol);
    items.push(Item::Object("extern", declaration.clone()));
    items.push(Item::Object("", declaration.with(Expr::Designated(fields.collect()))));
    items
}
