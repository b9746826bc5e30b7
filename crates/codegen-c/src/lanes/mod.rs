//! Lanes: most packets of a program take one of a few ways through it. For some of these ways, the
//! code here executes sixteen packets at a time, one in each lane of a vector (runtime/c/lanes.h).
//! A way is a path of steps from the first to one that sends the packet. Its code computes
//! everything without branches, and records which lanes are still on the way. Memory that is likely
//! to be far away is fetched; while it arrives, other packets are executed. At the end of the way,
//! the packets that are still on it are changed, counted and sent, one by one. All other packets
//! are untouched, and threads execute them from the beginning.

mod commit;
mod vector;
mod writer;

use wireloom_ir::{Exit, Op, OpKind};

use self::writer::{Writer, leads_on};
use super::batch::{field, function, machine_type, name};
use super::engine::PacketEngine;
use super::tree::{Aggregate, Binary, Declaration, Expr, Field, Item, Signature, Stmt, Type, uses};

/// The most ways of an engine. Each increases the C compiler's run time.
const MOST_WAYS: usize = 4;

/// The most paths that are examined, and the most steps of one.
const MOST_PATHS: usize = 256;
const LONGEST_PATH: usize = 32;

/// The ways of an engine.
pub struct Lanes<'a> {
    ways: Vec<Writer<'a>>,
}

/// Steps, each with the index of the exit that packets take.
type Path = Vec<(usize, usize)>;

impl<'a> Lanes<'a> {
    /// Finds the ways of an engine. Returns `None` if it has none.
    pub fn of(engine: &'a PacketEngine<'a>) -> Option<Self> {
        if engine.is_ordered() {
            return None;
        }
        let mut paths = paths(engine);
        // Prefer short ways: long ones are for exceptions.
        paths.sort_by_key(Vec::len);
        let mut ways = Vec::new();
        for path in paths {
            let mut writer = Writer::new(engine);
            if path.iter().all(|(step, exit)| writer.step(*step, *exit).is_some()) {
                ways.push(writer);
            }
            if ways.len() == MOST_WAYS {
                break;
            }
        }
        (!ways.is_empty()).then_some(Self { ways })
    }

    /// Writes the ways, and the function that executes a batch on one of them.
    pub fn items(&self, engine: &PacketEngine<'_>) -> Vec<Item> {
        let mut items = vec![Item::Directive("ifdef WL_HAVE_LANES".into()), Item::Blank];
        for (index, way) in self.ways.iter().enumerate() {
            items.extend(self.way(engine, index, way));
        }
        items.extend(self.choose(engine));
        items.push(Item::Directive("endif".into()));
        items.push(Item::Blank);
        items
    }

    fn way(&self, engine: &PacketEngine<'_>, index: usize, way: &Writer<'_>) -> Vec<Item> {
        let prefix = format!("{}_way{}", engine.prefix, index + 1);
        let mut phases: Vec<Vec<Stmt>> = Vec::new();
        for phase in &way.phases {
            phases.push(phase.iter().map(|line| line.statement.clone()).collect());
        }
        let last = phases.len() - 1;
        phases[last].extend(commit::statements(way));
        phases[last].push(Stmt::Assign(name("l").arrow("alive"), name("alive")));
        // Collects the values that a later phase needs.
        let mut fields: Vec<Field> = vec![Declaration::new("wl_m", "alive").into()];
        let mut saved = vec![Vec::new(); phases.len()];
        let mut loaded = vec![Vec::new(); phases.len()];
        let declared = way.phases.iter().enumerate().flat_map(|(phase, lines)| {
            lines.iter().filter_map(move |line| Some((phase, line.declared.as_ref()?)))
        });
        let arrived = (0, &("struct wl_lanes_arrival", "arrived".to_owned()));
        for (phase, (ty, own)) in std::iter::once(arrived).chain(declared) {
            let later: Vec<usize> =
                (phase + 1..phases.len()).filter(|later| uses(&phases[*later], own)).collect();
            if later.is_empty() {
                continue;
            }
            fields.push(Declaration::new(*ty, own).into());
            saved[phase].push(Stmt::Assign(name("l").arrow(own), name(own)));
            for later in later {
                let value = name("l").arrow(own);
                let local = Declaration::new(Type::named(*ty).constant(), own).with(value);
                loaded[later].push(Stmt::from(local));
            }
        }
        let path = format!("Way {}: what is kept from one wait to the next.", index + 1);
        let mut items = vec![
            Item::Comment(path),
            Item::Struct(Aggregate { is_union: false, tag: Some(prefix.clone()), fields }),
            Item::Blank,
        ];
        let own = Type::structure(&prefix).pointer();
        let arrivals = Type::structure("wl_arrival").constant().pointer();
        let count = phases.len();
        for (phase, statements) in phases.into_iter().enumerate() {
            let mut body = Vec::new();
            let alive = if phase == 0 { Expr::number("0xffff") } else { name("l").arrow("alive") };
            body.push(Declaration::new("wl_m", "alive").with(alive).into());
            if phase == 0 {
                let arrived = Expr::call("wl_lanes_arrive", [name("packets")]);
                let ty = Type::structure("wl_lanes_arrival").constant();
                body.push(Declaration::new(ty, "arrived").with(arrived).into());
            }
            body.append(&mut loaded[phase]);
            body.extend(statements);
            body.append(&mut saved[phase]);
            if phase + 1 < count {
                body.push(Stmt::Assign(name("l").arrow("alive"), name("alive")));
            }
            let parameters = vec![
                (machine_type(engine).pointer(), "m"),
                (own.clone(), "l"),
                (arrivals.clone(), "packets"),
                (Type::named("uint32_t"), "first"),
            ];
            for unused in ["m", "packets", "first"] {
                if !uses(&body, unused) {
                    body.insert(0, name(unused).unused());
                }
            }
            let comment = match phase {
                0 => "Its packets arrive, up to the first wait.",
                _ if phase + 1 == count => "After the last wait: the packets leave.",
                _ => "From one wait to the next.",
            };
            items.extend(function(
                comment,
                "WL_FUNCTION",
                format!("{prefix}_{}", phase + 1),
                parameters,
                body,
            ));
        }
        items.extend(self.drive(engine, &prefix, count));
        items
    }

    /// Writes the loop over the groups of a batch. In each iteration every phase processes a
    /// different group.
    fn drive(&self, engine: &PacketEngine<'_>, prefix: &str, phases: usize) -> Vec<Item> {
        let groups = || name("groups");
        let turn = || name("turn");
        let lanes = || name("WL_LANES");
        let group = |phase: usize| turn().binary(Binary::Sub, Expr::number(phase));
        let mut each = vec![Stmt::If(
            turn().binary(Binary::Less, groups()),
            vec![Stmt::call(
                "wl_lanes_fetch",
                [
                    name("packets"),
                    turn().binary(Binary::Add, Expr::number(2)).binary(Binary::Mul, lanes()),
                    name("known"),
                ],
            )],
        )];
        for phase in 0..phases {
            let own = group(phase);
            let first = own.clone().binary(Binary::Mul, lanes());
            let call = Stmt::call(
                format!("{prefix}_{}", phase + 1),
                [
                    name("m"),
                    name("kept").index(own.clone()).address(),
                    name("packets").binary(Binary::Add, first.clone()),
                    first,
                ],
            );
            // A negative number wraps to a large one: that group does not exist.
            each.push(Stmt::If(own.binary(Binary::Less, groups()), vec![call]));
        }
        let turns = groups().binary(Binary::Add, Expr::number(phases - 1));
        let left = Expr::call(
            "wl_lanes_left",
            [
                name("left"),
                name("count"),
                name("kept").index(name("i")).member("alive"),
                name("i").binary(Binary::Mul, lanes()),
            ],
        );
        let body = vec![
            Declaration::new(Type::structure(prefix), "kept").sized([name("WL_GROUPS")]).into(),
            Declaration::new("uint32_t", "count").with(Expr::number(0)).into(),
            Stmt::Count {
                variable: "turn".into(),
                first: Expr::number(0),
                limit: turns,
                body: each,
            },
            Stmt::Count {
                variable: "i".into(),
                first: Expr::number(0),
                limit: groups(),
                body: vec![Stmt::Assign(name("count"), left)],
            },
            Stmt::Return(name("count")),
        ];
        let signature = Signature {
            storage: "WL_FUNCTION",
            returns: Type::named("uint32_t"),
            name: prefix.to_owned(),
            parameters: vec![
                (machine_type(engine).pointer(), "m".into()),
                (Type::structure("wl_arrival").constant().pointer(), "packets".into()),
                (Type::named("uint32_t"), "groups".into()),
                (Type::named("uint32_t"), "known".into()),
                (Type::named("uint8_t").pointer(), "left".into()),
            ],
        };
        vec![
            Item::Comment(
                "Executes groups of packets, and writes which of them are left to threads; returns their \
                 number."
                    .into(),
            ),
            Item::Function(signature, body),
            Item::Blank,
        ]
    }

    /// Writes the function that chooses a way for a batch.
    fn choose(&self, engine: &PacketEngine<'_>) -> Vec<Item> {
        let way = || field("lanes").member("way");
        let groups = || name("groups");
        let in_lanes = || field("machine").member("in_lanes");
        let mut body = vec![
            Stmt::If(
                field("lanes").member("rest"),
                vec![
                    Stmt::Expr(Expr::call("wl_lanes_rest", [field("lanes").address()])),
                    Stmt::Return(all_left()),
                ],
            ),
            Declaration::new(Type::named("uint32_t").constant(), "groups")
                .with(name("count").binary(Binary::Div, name("WL_LANES")))
                .into(),
            Declaration::new("uint32_t", "left").with(Expr::number(0)).into(),
            Declaration::new("bool", "ran").with(name("false")).into(),
        ];
        let case = |(index, writer): (usize, &Writer<'_>)| {
            let ready = writer.ready.iter().cloned();
            let ready = ready.reduce(|all, one| all.binary(Binary::Both, one));
            let arguments = [name("m"), name("packets"), groups(), name("known"), field("left")];
            let call = Expr::call(format!("{}_way{}", engine.prefix, index + 1), arguments);
            let run =
                vec![Stmt::Assign(name("left"), call), Stmt::Assign(name("ran"), name("true"))];
            let body = match ready {
                Some(ready) => vec![Stmt::If(ready, run)],
                None => run,
            };
            let is_last = index + 1 == self.ways.len();
            let label = (!is_last).then(|| Expr::number(index));
            (label, body.into_iter().chain([Stmt::Break]).collect())
        };
        let cases = self.ways.iter().enumerate().map(case).collect();
        body.push(Stmt::Switch(way(), cases));
        let in_groups = || groups().binary(Binary::Mul, name("WL_LANES"));
        let followed = in_groups().binary(Binary::Sub, name("left"));
        body.extend([
            Stmt::If(
                name("ran").not(),
                vec![Stmt::Assign(
                    name("left"),
                    Expr::call(
                        "wl_lanes_leave",
                        [field("left"), Expr::number(0), Expr::number(0), in_groups()],
                    ),
                )],
            ),
            Stmt::If(
                groups(),
                vec![Stmt::call(
                    "wl_lanes_note",
                    [
                        field("lanes").address(),
                        Expr::number(self.ways.len()),
                        followed.clone(),
                        in_groups(),
                    ],
                )],
            ),
            Stmt::Assign(field("waiting").index(name(engine.ended())), followed.clone()),
            Stmt::Assign(in_lanes(), in_lanes().binary(Binary::Add, followed)),
            Stmt::Return(Expr::call(
                "wl_lanes_leave",
                [field("left"), name("left"), in_groups(), name("count")],
            )),
        ]);
        let signature = Signature {
            storage: "WL_FUNCTION",
            returns: Type::named("uint32_t"),
            name: format!("{}_lanes", engine.prefix),
            parameters: vec![
                (machine_type(engine).pointer(), "m".into()),
                (Type::structure("wl_arrival").constant().pointer(), "packets".into()),
                (Type::named("uint32_t"), "count".into()),
                (Type::named("uint32_t"), "known".into()),
            ],
        };
        let without = signature.clone();
        let unused = ["packets", "known"].map(|unused| name(unused).unused());
        vec![
            Item::Comment(
                "Executes the packets of a batch that take one of the ways above. Writes the numbers of \
                 all others, and returns how many there are."
                    .into(),
            ),
            Item::Function(signature, body),
            Item::Blank,
            Item::Directive("else".into()),
            Item::Blank,
            Item::Comment("Without vector instructions, threads execute all packets.".into()),
            Item::Function(
                without,
                unused.into_iter().chain([Stmt::Return(all_left())]).collect(),
            ),
            Item::Blank,
        ]
    }
}

/// Leaves all packets of a batch to threads.
fn all_left() -> Expr {
    let all = [field("left"), Expr::number(0), Expr::number(0), name("count")];
    Expr::call("wl_lanes_leave", all)
}

/// Returns paths from the first step to one that sends the packet.
fn paths(engine: &PacketEngine<'_>) -> Vec<Path> {
    let mut search =
        Search { engine, left: steps_left(engine), path: Path::new(), found: Vec::new() };
    search.extend(0);
    search.found
}

/// Returns for each step the number of steps on the shortest path from it to one that sends the
/// packet, both included. Returns `None` for a step without such a path.
fn steps_left(engine: &PacketEngine<'_>) -> Vec<Option<usize>> {
    let steps = &engine.engine.steps;
    let mut left: Vec<Option<usize>> = vec![None; steps.len()];
    for step in (0..steps.len()).rev() {
        let after = |op: &Op| match op.kind {
            OpKind::Exit(Exit::Finish) => Some(0),
            _ => left[leads_on(op, step)?],
        };
        left[step] = steps[step].ops().filter_map(after).min().map(|after| after + 1);
    }
    left
}

/// A search for paths. It only enters steps from which such a path exists, so that it ends soon
/// after it has found enough paths, or all.
struct Search<'a> {
    engine: &'a PacketEngine<'a>,
    left: Vec<Option<usize>>,
    path: Path,
    found: Vec<Path>,
}

impl Search<'_> {
    fn extend(&mut self, step: usize) {
        let fits = |left| self.path.len() + left <= LONGEST_PATH;
        if !self.left[step].is_some_and(fits) {
            return;
        }
        for (exit, op) in self.engine.engine.steps[step].ops().enumerate() {
            if self.found.len() == MOST_PATHS {
                return;
            }
            self.path.push((step, exit));
            if matches!(op.kind, OpKind::Exit(Exit::Finish)) {
                self.found.push(self.path.clone());
            }
            if let Some(to) = leads_on(op, step) {
                self.extend(to);
            }
            self.path.pop();
        }
    }
}
