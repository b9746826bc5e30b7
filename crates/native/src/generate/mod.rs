//! Step IR to C.
//!
//! [`plan`] decides which steps wait; [`engine`], [`called`] and [`batch`] write the functions and the loop; [`emitter`]
//! orders the operations of a step into statements, with [`ops`] and [`calls`] for what a single one looks like.

mod batch;
mod called;
mod calls;
mod conflict;
mod early;
mod effects;
mod emitter;
mod engine;
mod exits;
mod names;
mod ops;
mod plan;
pub mod thread;
mod types;
mod writer;

use std::collections::BTreeSet;

use wireloom_ir::{Engine, EngineKind, Offload, OffloadTarget, Program};

use self::names::{Names, identifier};
use self::types::{Class, Model};
use self::writer::Writer;

/// The runtime's headers: name and text.
pub const RUNTIME: &[(&str, &str)] = &[
    ("wireloom.h", include_str!("../../runtime/wireloom.h")),
    ("base.h", include_str!("../../runtime/base.h")),
    ("bits.h", include_str!("../../runtime/bits.h")),
    ("wide.h", include_str!("../../runtime/wide.h")),
    ("arena.h", include_str!("../../runtime/arena.h")),
    ("packet.h", include_str!("../../runtime/packet.h")),
    ("slot.h", include_str!("../../runtime/slot.h")),
    ("state.h", include_str!("../../runtime/state.h")),
    ("compute.h", include_str!("../../runtime/compute.h")),
    ("lpm.h", include_str!("../../runtime/lpm.h")),
    ("batch.h", include_str!("../../runtime/batch.h")),
];

/// Warnings about what the program says, not about how it is written in C.
const IGNORED_WARNINGS: &[&str] = &[
    "type-limits",
    "tautological-compare",
    "bool-compare",
    "unused-variable",
    "unused-but-set-variable",
    "unused-const-variable",
];

/// A program as C.
#[derive(Clone, Debug)]
pub struct GeneratedC {
    /// Path below the output folder, and text, of each file: the engine's source, the runtime's headers, a makefile and
    /// a page that says what all this is. They stand alone.
    pub files: Vec<(String, String)>,
}

/// A program's own source file and the name of what it exports.
pub(crate) struct Unit {
    pub text: String,
    pub symbol: String,
}

/// A program, whose steps are in the form of regions, as readable C. The result depends on the program alone.
///
/// # Panics
/// If a step is not in that form, or the program does not verify.
pub fn generate(program: &Program) -> GeneratedC {
    let unit = unit(program, "");
    let name = identifier(&program.engines[program.main.index()].name);
    let mut files = vec![(format!("{name}.c"), unit.text)];
    files.extend(RUNTIME.iter().map(|(file, text)| (format!("runtime/{file}"), (*text).to_owned())));
    files.push(("Makefile".into(), makefile(&name)));
    files.push(("README.md".into(), readme(&name, &unit.symbol)));
    GeneratedC { files }
}

/// One program's source. `prefix` begins all its names, so that several can stand in one shared object.
pub(crate) fn unit(program: &Program, prefix: &str) -> Unit {
    let main = &program.engines[program.main.index()];
    let mut names = Names::default();
    let own: Vec<String> =
        program.engines.iter().map(|engine| names.give(&format!("{prefix}{}", engine.name))).collect();
    let called = reachable(program);

    let mut out = Writer::default();
    out.comment(&format!(
        "Engine `{}`, from {}. Written by Wireloom from the step IR; docs/machines/native.md says how to read it.",
        main.name,
        if program.files.is_empty() { "the step IR".to_owned() } else { program.files.join(", ") }
    ));
    out.blank();
    out.line("#include \"wireloom.h\"");
    out.blank();
    out.comment("A program may ask what is always so; that is for Wireloom's own warnings to say, not for the C compiler's.");
    out.line("#ifdef __clang__");
    out.line("#pragma GCC diagnostic ignored \"-Wunknown-warning-option\"");
    out.line("#endif");
    for warning in IGNORED_WARNINGS {
        out.line(format!("#pragma GCC diagnostic ignored \"-W{warning}\""));
    }
    out.blank();
    for n in wide_sizes(widths(program), Model::Bits64) {
        out.line(format!("#ifndef WL_HAVE_W{n}"));
        out.line(format!("#define WL_HAVE_W{n}"));
        out.line(format!("WL_WIDE({n});"));
        out.line("#endif");
        out.blank();
    }
    let around = |engine: &Engine| {
        let function = |target: &OffloadTarget| match target {
            OffloadTarget::Kind(_) => None,
            OffloadTarget::Engine(id) => Some(format!("{}_call", own[id.index()])),
        };
        let functions = engine.offloads.iter().map(|offload| function(&offload.target)).collect();
        (first_slots(program, engine), functions)
    };
    for (index, engine) in program.engines.iter().enumerate() {
        if called.contains(&index) && matches!(engine.kind, EngineKind::Call { .. }) {
            let (slot_index, functions) = around(engine);
            let function = format!("{}_call", own[index]);
            called::Called { program, engine, function, slot_index, functions }.write(&mut out);
        }
    }
    let (slot_index, functions) = around(main);
    let packet_engine =
        engine::PacketEngine::new(program, main, own[program.main.index()].clone(), slot_index, functions);
    packet_engine.write_thread(&mut out);
    batch::write_machine(&packet_engine, &mut out);
    packet_engine.write_steps(&mut out);
    batch::write_loop(&packet_engine, &mut out);
    let symbol = format!("{}_engine", packet_engine.prefix);
    batch::write_export(&packet_engine, &symbol, slot_count(program, main), &mut out);
    Unit { text: out.finish(), symbol }
}

/// Number of slots that an engine and those that it calls need.
fn slot_count(program: &Program, engine: &Engine) -> usize {
    engine.offloads.iter().map(|offload| slots_of(program, &offload.target)).sum()
}

/// The first slot of each offload of an engine, counted from the engine's own.
fn first_slots(program: &Program, engine: &Engine) -> Vec<usize> {
    let mut next = 0;
    let first = |offload: &Offload| {
        let first = next;
        next += slots_of(program, &offload.target);
        first
    };
    engine.offloads.iter().map(first).collect()
}

fn slots_of(program: &Program, target: &OffloadTarget) -> usize {
    match target {
        OffloadTarget::Kind(_) => 1,
        OffloadTarget::Engine(id) => slot_count(program, &program.engines[id.index()]),
    }
}

/// The engines that the main one calls, directly or not.
fn reachable(program: &Program) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut open = vec![program.main.index()];
    while let Some(engine) = open.pop() {
        for offload in &program.engines[engine].offloads {
            if let OffloadTarget::Engine(id) = &offload.target
                && found.insert(id.index())
            {
                open.push(id.index());
            }
        }
    }
    found
}

/// Widths in bits of all values: of context, of steps, of what engines answer.
fn widths(program: &Program) -> BTreeSet<u32> {
    let mut widths = BTreeSet::new();
    for engine in &program.engines {
        widths.extend(engine.context.iter().map(|var| var.width));
        widths.extend(engine.steps.iter().flat_map(|step| step.values.iter().map(|value| value.width)));
        if let EngineKind::Call { reply, .. } = engine.kind {
            widths.insert(reply);
        }
    }
    widths
}

/// Sizes in words of those that are no scalars. (A division needs a second object of the size of its operands, which is among these.)
fn wide_sizes(widths: BTreeSet<u32>, model: Model) -> BTreeSet<u32> {
    let wide = widths.into_iter().filter_map(|width| match model.class(width) {
        Class::Wide(n) => Some(n),
        _ => None,
    });
    wide.collect()
}

fn makefile(name: &str) -> String {
    format!(
        "# Builds the engine as a shared object. `wireloom` itself does the same.\n\
         CC ?= cc\n\
         CFLAGS ?= -O3 -march=native -Wall -Wextra\n\n\
         {name}.so: {name}.c runtime/*.h\n\
         \t$(CC) -std=gnu11 $(CFLAGS) -fPIC -shared -Iruntime -o $@ {name}.c\n\n\
         clean:\n\
         \trm -f {name}.so\n\n\
         .PHONY: clean\n"
    )
}

fn readme(name: &str, symbol: &str) -> String {
    format!(
        "# {name}\n\n\
         A packet engine as C, written by Wireloom. `make` builds `{name}.so`; it needs gcc or clang on a little-endian\n\
         64-bit machine and nothing else.\n\n\
         The shared object exports one object, `{symbol}`, of type `struct wl_engine` (runtime/batch.h): the size of\n\
         the state that the caller provides (zeroed, aligned to 64 bytes), and the function that executes a batch of\n\
         packets on it. The state begins with `struct wl_machine`: the caller points `slots` at the offloads, in the\n\
         order of their declaration (runtime/slot.h), and after each batch finds in `ends` and `emitted` what left.\n\n\
         Each step of the engine is a function of its name. A step that waits for replies is two: the first computes\n\
         its requests and fetches the memory that they will read, the second, named `..._reply`, does the rest when\n\
         the whole batch has come so far. Comments give the source lines.\n"
    )
}
