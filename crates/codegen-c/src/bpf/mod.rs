//! Step IR to C for a BPF program in the kernel's XDP hook.
//!
//! The processor that received a packet executes it from its first step to its end. There is no
//! batch, and steps do not wait. A function calls all steps in order, each if it is the next one.
//! So the packet makes all its jumps forward in one pass, and each jump back begins another pass.
//! Compiled with `WL_JOINED`, steps are part of that function. Otherwise each step is a separate
//! global function, which the kernel's verifier checks alone. Then the verifier's work grows with
//! the length of the program, not with the number of paths through it.
//!
//! [`refusal`] names the parts of a program that BPF cannot execute; [`calls`] writes calls of
//! offloads.

mod calls;
mod counted;
pub(crate) mod map;
mod refusal;
#[cfg(test)]
mod tests;
mod watch;

use wireloom_compile::analysis::Definitions;
use wireloom_ir::{Engine, Exit, Op, OpKind, Program, Step};

use self::calls::Maps;
pub use self::counted::Counted;
use self::counted::counted;
pub use self::map::{Content, Map};
pub use self::refusal::refusals;
pub use self::watch::{Comparison, Header, Test, Watch};
use super::called::variable_field;
use super::emitter::{Effects, Emitter, Scope, proved_room};
use super::names::{self, Names, identifier};
use super::preamble::{
    IGNORED_WARNINGS, declare_wide, ignored, opening, source_line, wide_sizes, widths,
};
use super::tree::{
    self, Aggregate, Binary, Declaration, Expr, Field, Item, Signature, Stmt, Type, uses,
};
use super::types::Model;
use super::{effects, exits, kinds, plan, print};
pub use wireloom_codegen::refused::Refused;

/// The names and texts of the runtime's headers.
pub const RUNTIME: &[(&str, &str)] = &[
    ("base.h", include_str!("../../runtime/bpf/base.h")),
    ("bits.h", include_str!("../../runtime/bpf/bits.h")),
    ("counts.h", include_str!("../../runtime/counts.h")),
    ("bounds.h", include_str!("../../runtime/bounds.h")),
    ("wide.h", include_str!("../../runtime/wide.h")),
    ("packet.h", include_str!("../../runtime/bpf/packet.h")),
    ("slot.h", include_str!("../../runtime/bpf/slot.h")),
    ("lpm.h", include_str!("../../runtime/bpf/lpm.h")),
    ("elements.h", include_str!("../../runtime/bpf/elements.h")),
    ("exact.h", include_str!("../../runtime/bpf/exact.h")),
    ("random.h", include_str!("../../runtime/random.h")),
    ("filter.h", include_str!("../../runtime/bpf/filter.h")),
    ("watch.h", include_str!("../../runtime/bpf/watch.h")),
    ("entry.h", include_str!("../../runtime/bpf/entry.h")),
];

/// Returns the names of the headers of offload kinds, in the order of [`RUNTIME`].
fn kind_headers() -> impl Iterator<Item = &'static str> {
    let names = RUNTIME.iter().map(|(name, _)| *name);
    names.filter(|name| kinds::KINDS.iter().any(|kind| kind.in_kernel.header == Some(*name)))
}

/// Compiler flags. Version 3 of the instruction set has 32-bit operations and atomic additions
/// (Linux 5.12).
pub const FLAGS: &[&str] = &[
    "-std=gnu11",
    "-O2",
    "-mcpu=v3",
    "-ffreestanding",
    "-fno-strict-aliasing",
    "-fno-jump-tables",
    "-fno-tree-switch-conversion",
    "-fno-builtin",
    "-fno-ivopts",
];

/// A program as C for BPF.
#[derive(Clone, Debug)]
pub struct BpfProgram {
    /// The C source.
    pub text: String,
    /// The program's functions, in the order of the source. The runtime's functions follow in
    /// [`FUNCTIONS`].
    pub functions: Vec<(String, Takes)>,
    /// The maps of the engine's offloads.
    pub maps: Vec<Map>,
    /// The layout of the thread's counts.
    pub counted: Counted,
}

/// The parameters of a function, for the kernel's verifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// The kernel's description of a frame, and this number of integers.
    Frame(u32),
    Thread,
    /// A packet and this number of integers.
    Packet(u32),
    /// The body of a loop: an integer, and the address of a pointer to a thread. The verifier
    /// checks it at its call.
    Body,
}

/// Functions of the runtime that are not inlined.
pub const FUNCTIONS: &[(&str, Takes)] = &[
    ("wl_move_down", Takes::Packet(3)),
    ("wl_move_up", Takes::Packet(3)),
    ("wl_clear", Takes::Packet(2)),
    ("wl_exact_sweep_one", Takes::Body),
    ("wl_sum_part", Takes::Body),
    ("wl_complete", Takes::Frame(0)),
    ("wl_wants", Takes::Packet(1)),
    ("wl_pass_on", Takes::Frame(1)),
    (LIVE, Takes::Frame(0)),
    (TRIAL, Takes::Frame(0)),
];

/// The entry point for the frames of a port.
pub const LIVE: &str = "wl_live";
/// The entry point for trials.
pub const TRIAL: &str = "wl_trial";

const MODEL: Model = Model::Bits64;

/// Translates a program, whose steps are in the form of regions, to C for BPF.
///
/// # Errors
/// The parts of the program that such a program cannot hold.
///
/// # Panics
/// If a step is not in that form, or the program does not verify.
pub fn generate(program: &Program) -> Result<BpfProgram, Vec<Refused>> {
    generate_watched(program, None)
}

/// As [`generate`], but the program also passes packets on to the process while someone watches.
///
/// # Errors
/// As [`generate`].
///
/// # Panics
/// As [`generate`].
pub fn generate_watched(
    program: &Program,
    watch: Option<&Watch>,
) -> Result<BpfProgram, Vec<Refused>> {
    let refused = refusals(program);
    if !refused.is_empty() {
        return Err(refused);
    }
    Ok(Writer::new(program).program(watch))
}

struct Writer<'a> {
    program: &'a Program,
    prefix: String,
    steps: Vec<String>,
    context: Vec<String>,
    arrays: Vec<String>,
    maps: Maps,
    counted: Counted,
}

impl<'a> Writer<'a> {
    fn new(program: &'a Program) -> Self {
        let engine = &program.engines[program.main.index()];
        let prefix = identifier(&engine.name);
        let steps = names::of_steps(engine);
        let steps = steps.into_iter().map(|step| format!("{prefix}_{step}")).collect();
        let mut fields = Names::default();
        let context = engine.context.iter().map(|var| fields.give(&var.name)).collect();
        let arrays = engine.arrays.iter().map(|array| fields.give(&array.name)).collect();
        let counted = Counted::of(engine);
        Self { program, prefix, steps, context, arrays, maps: Maps::of(program), counted }
    }

    fn engine(&self) -> &'a Engine {
        &self.program.engines[self.program.main.index()]
    }

    fn program(&self, watch: Option<&Watch>) -> BpfProgram {
        let mut items = opening(self.program, "docs/machines/xdp.md");
        for header in std::iter::once("packet.h").chain(kind_headers()) {
            items.push(Item::Directive(format!("include \"{header}\"")));
        }
        items.push(Item::Blank);
        items.extend(IGNORED_WARNINGS.iter().map(|warning| ignored(warning)));
        items.push(Item::Blank);
        items.extend(wide_sizes(widths(self.program), MODEL).into_iter().map(declare_wide));
        for map in self.maps.all() {
            let clock = matches!(map.content, Content::Keys { .. }).then(|| map.clock());
            for symbol in std::iter::once(map.symbol.clone()).chain(clock) {
                let declared = Declaration::new(Type::structure("wl_map"), symbol);
                items.push(Item::Object("extern", declared));
            }
        }
        items.push(Item::Blank);
        items.extend(self.thread());
        for step in 0..self.steps.len() {
            items.extend(self.step(step));
        }
        items.extend(self.pass());
        let define = |name: &str| Item::Directive(format!("define {name}"));
        items.push(define(&format!("WL_THREAD {}", self.thread_type().name)));
        items.push(define(&format!("WL_PASS {}", self.pass_name())));
        if self.jumps_back() {
            items.push(define("WL_JUMPS_BACK"));
        }
        if self.maps.needs_time() || self.reads_arrival() {
            items.push(define("WL_NEEDS_TIME"));
        }
        items.extend(watch.iter().flat_map(|watch| watch.items()));
        items.push(Item::Directive("include \"entry.h\"".into()));
        let steps = self.steps.iter().map(|name| (name.clone(), Takes::Thread));
        BpfProgram {
            text: print::file(&items),
            functions: steps.chain([(self.pass_name(), Takes::Body)]).collect(),
            maps: self.maps.all().to_vec(),
            counted: self.counted.clone(),
        }
    }

    fn thread_type(&self) -> Type {
        Type::structure(&format!("{}_thread", self.prefix))
    }

    fn pass_name(&self) -> String {
        format!("{}_pass", self.prefix)
    }

    fn jumps_back(&self) -> bool {
        let steps = self.engine().steps.iter().enumerate();
        steps.into_iter().any(|(from, step)| plan::successors(step).any(|to| to <= from))
    }

    fn reads_arrival(&self) -> bool {
        let mut ops = self.engine().steps.iter().flat_map(Step::ops);
        ops.any(|op| matches!(op.kind, OpKind::ReadMeta(wireloom_ir::Meta::Arrival)))
    }

    /// Writes the structure of a thread: the current packet, the context, and the counts.
    fn thread(&self) -> Vec<Item> {
        let engine = self.engine();
        let variables = engine.context.iter().zip(&self.context);
        let variables = variables.map(|(variable, name)| variable_field(variable, name));
        let arrays = engine.arrays.iter().zip(&self.arrays).map(|(array, name)| {
            let room = Expr::number(proved_room(array.count.into()));
            let comment = format!("u{}, {}", array.width, array.count);
            let declaration = Declaration::new(MODEL.c_type(array.width), name).sized([room]);
            Field::from(declaration.commented(comment))
        });
        let fields: Vec<Field> = variables.chain(arrays).collect();
        let context =
            Aggregate { is_union: false, tag: Some(format!("{}_context", self.prefix)), fields };
        let fields = vec![
            Declaration::new(Type::structure("wl_packet"), "packet").into(),
            Field::Plain {
                align: Some(16),
                declaration: Declaration::new(
                    Type::structure(&format!("{}_context", self.prefix)),
                    "context",
                ),
            },
            Declaration::new(Type::named("uint64_t"), format!("counted[{}]", self.counted.len()))
                .into(),
        ];
        let thread =
            Aggregate { is_union: false, tag: Some(format!("{}_thread", self.prefix)), fields };
        vec![
            Item::Comment(format!(
                "A thread of `{}`: its context, the packet in hand, and what it has counted.",
                engine.name
            )),
            Item::Struct(context),
            Item::Blank,
            Item::Struct(thread),
            Item::Blank,
        ]
    }

    fn step(&self, index: usize) -> Vec<Item> {
        let engine = self.engine();
        let step = &engine.steps[index];
        let context = Expr::name("c");
        let variables: Vec<Expr> =
            self.context.iter().map(|name| context.clone().arrow(name)).collect();
        let elements: Vec<Expr> =
            self.arrays.iter().map(|name| context.clone().arrow(name)).collect();
        let scope = Scope {
            program: self.program,
            engine,
            step,
            context: &variables,
            arrays: &elements,
            packet: Expr::name("p"),
            window: Expr::name("p"),
            model: MODEL,
            proves_indices: true,
        };
        let ops = exits::arrange(&step.ops().collect::<Vec<_>>(), &Definitions::of(step));
        let mut emitter = Emitter::new(scope, ops.iter().collect(), &[]);
        emitter.run(&mut StepEffects { maps: &self.maps, counted: &self.counted });
        let mut statements = emitter.finish();
        if !tree::leaves(&statements) {
            statements.push(end("WL_NOTHING", Expr::number(0), Expr::number(0)));
        }
        let thread = || Expr::name("t");
        // Keep the compiler from computing addresses before the check.
        let mut body = vec![
            Stmt::If(thread().not(), vec![Stmt::Return(Expr::number(0))]),
            Stmt::call("WL_OPAQUE", [thread()]),
            Stmt::Expr(counted(index).increment()),
        ];
        let parts = [
            ("p", "wl_packet".to_owned(), "packet"),
            ("c", format!("{}_context", self.prefix), "context"),
        ];
        for (name, tag, field) in parts {
            if uses(&statements, name) || (name == "p" && uses(&statements, "env")) {
                let ty = Type::structure(&tag).const_pointer();
                let value = thread().arrow(field).address();
                body.push(Declaration::new(ty, name).with(value).into());
            }
        }
        if uses(&statements, "env") {
            let ty = Type::structure("wl_env").constant().const_pointer();
            let value = Expr::name("p").arrow("env").address();
            body.push(Declaration::new(ty, "env").with(value).into());
        }
        body.extend(statements);
        let signature = Signature {
            storage: "WL_PART",
            returns: Type::named("uint64_t"),
            name: self.steps[index].clone(),
            parameters: vec![(self.thread_type().pointer(), "t".to_owned())],
        };
        let place = source_line(self.program, step);
        let why = step.split.as_ref().map(|why| format!(" Split off: {why}.")).unwrap_or_default();
        vec![
            Item::Comment(format!("Step `{}`{place}.{why}", step.name)),
            Item::Function(signature, body),
            Item::Blank,
        ]
    }

    /// Writes the function that executes a packet up to its next jump back.
    fn pass(&self) -> Vec<Item> {
        let (thread, step) = (|| Expr::name("t"), || Expr::name("step"));
        let at = || thread().arrow("packet").member("at");
        let own = Declaration::new(self.thread_type().const_pointer(), "t");
        let mut body = vec![
            Expr::name("turn").unused(),
            own.with(Expr::name("thread").target()).into(),
            Declaration::new("uint64_t", "step").with(at()).into(),
        ];
        for (number, name) in self.steps.iter().enumerate() {
            let is_next = step().binary(Binary::Equal, Expr::number(number));
            body.push(Stmt::If(is_next, vec![Stmt::Assign(step(), Expr::call(name, [thread()]))]));
        }
        body.push(Stmt::Assign(at(), step()));
        let ended = step().binary(Binary::Equal, Expr::name("WL_ENDED"));
        body.push(Stmt::If(ended, vec![Stmt::Return(Expr::number(1))]));
        body.push(Stmt::Return(Expr::number(0)));
        let comment = "Executes the steps of a packet up to its next jump back. Returns whether its way has ended.";
        let signature = Signature {
            storage: "WL_ALONE",
            returns: Type::named("uint64_t"),
            name: self.pass_name(),
            parameters: vec![
                (Type::named("uint32_t"), "turn".to_owned()),
                (self.thread_type().const_pointer(), "*thread".to_owned()),
            ],
        };
        vec![Item::Comment(comment.into()), Item::Function(signature, body), Item::Blank]
    }
}

/// Ends the packet's execution.
fn end(verdict: &str, reasons: Expr, value: Expr) -> Stmt {
    Stmt::Return(Expr::call("wl_end", [Expr::name("p"), Expr::name(verdict), reasons, value]))
}

struct StepEffects<'a> {
    maps: &'a Maps,
    counted: &'a Counted,
}

impl Effects for StepEffects<'_> {
    fn effect(&mut self, emitter: &mut Emitter<'_>, op: &Op, result: Option<&Expr>) -> Vec<Stmt> {
        if let Some(edit) = effects::edit(emitter, op, result) {
            return vec![edit];
        }
        match &op.kind {
            OpKind::Call { .. } => calls::call(self.maps, self.counted, emitter, op, result),
            OpKind::Exit(exit) => vec![self.exit(emitter, exit)],
            _ => unreachable!("edits are written"),
        }
    }
}

impl StepEffects<'_> {
    fn exit(&self, emitter: &mut Emitter<'_>, exit: &Exit) -> Stmt {
        let zero = || Expr::number(0);
        match exit {
            Exit::Next(to) => Stmt::Return(Expr::number(to.index())),
            Exit::Finish => end("WL_SENT", zero(), zero()),
            Exit::Drop(reason, set) => {
                end("WL_DROPPED", Expr::number(set.0), emitter.operand(*reason).c)
            }
            Exit::ToCpu(reason, set) => {
                end("WL_TO_CPU", Expr::number(set.0), emitter.operand(*reason).c)
            }
            Exit::Done => end("WL_NOTHING", zero(), zero()),
            Exit::Emit(..) | Exit::Reply(_) => unreachable!("refused"),
        }
    }
}
