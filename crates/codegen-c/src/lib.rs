//! Step IR to C.
//!
//! [`plan`] decides which steps wait. [`engine`], [`called`] and [`batch`] write the functions and
//! the loop. [`emitter`] orders the operations of a step into statements; [`ops`] and [`calls`]
//! write single operations, and [`kinds`] the C code of offload kinds. All of them build a tree
//! ([`tree`]), which [`print`] converts to text.

mod ahead;
mod batch;
pub mod bpf;
mod call;
mod called;
mod calls;
mod effects;
mod emitter;
mod engine;
mod exits;
mod implied;
mod kinds;
mod lanes;
mod names;
mod ops;
mod passing;
mod plan;
mod preamble;
mod print;
mod shortest;
pub mod thread;
mod tree;
mod types;

use std::collections::BTreeSet;

use wireloom_ir::{Engine, EngineKind, Offload, OffloadTarget, Program};

use self::kinds::{KINDS, KindInC};
use self::names::{Names, identifier};
use self::preamble::{IGNORED_WARNINGS, declare_wide, ignored, opening, wide_sizes, widths};
use self::tree::{Item, uses};
use self::types::Model;

/// A header: its name and its text.
type Header = (&'static str, &'static str);

/// The headers that every program needs.
const COMMON: [Header; 12] = [
    ("wireloom.h", include_str!("../runtime/wireloom.h")),
    ("base.h", include_str!("../runtime/base.h")),
    ("bits.h", include_str!("../runtime/bits.h")),
    ("counts.h", include_str!("../runtime/counts.h")),
    ("bounds.h", include_str!("../runtime/bounds.h")),
    ("wide.h", include_str!("../runtime/wide.h")),
    ("arena.h", include_str!("../runtime/arena.h")),
    ("packet.h", include_str!("../runtime/packet.h")),
    ("slot.h", include_str!("../runtime/slot.h")),
    ("element.h", include_str!("../runtime/element.h")),
    ("batch.h", include_str!("../runtime/batch.h")),
    ("lanes.h", include_str!("../runtime/lanes.h")),
];

/// The runtime's headers, including the headers of offload kinds.
pub const RUNTIME: &[Header] = &{
    let mut all = [COMMON[0]; COMMON.len() + count_headers(KINDS)];
    let (mut at, mut kind) = (0, 0);
    while at < COMMON.len() {
        all[at] = COMMON[at];
        at += 1;
    }
    while kind < KINDS.len() {
        if let Some(header) = KINDS[kind].header {
            all[at] = header;
            at += 1;
        }
        kind += 1;
    }
    all
};

const fn count_headers(kinds: &[&KindInC]) -> usize {
    let (mut count, mut kind) = (0, 0);
    while kind < kinds.len() {
        count += kinds[kind].header.is_some() as usize;
        kind += 1;
    }
    count
}

/// A program as C.
#[derive(Clone, Debug)]
pub struct GeneratedC {
    /// The files: path below the output folder, and text. They are the engine's source, the
    /// runtime's headers, a makefile, and a page that explains them. The folder is self-contained.
    pub files: Vec<(String, String)>,
}

/// A program's source file and the name of its export.
pub struct Unit {
    pub text: String,
    pub symbol: String,
}

/// Translates a program, whose steps are in the form of regions, to readable C. The result depends
/// only on the program.
///
/// # Panics
/// If a step is not in that form, or the program does not verify.
pub fn generate(program: &Program) -> GeneratedC {
    let unit = unit(program, "", false);
    let level = level(&unit.text);
    let name = identifier(&program.engines[program.main.index()].name);
    let mut files = vec![(format!("{name}.c"), unit.text)];
    files
        .extend(RUNTIME.iter().map(|(file, text)| (format!("runtime/{file}"), (*text).to_owned())));
    files.push(("Makefile".into(), makefile(&name, level)));
    files.push(("README.md".into(), readme(&name, &unit.symbol)));
    GeneratedC { files }
}

/// Returns one program's source. All its names begin with `prefix`, so several units can share one
/// shared object. With `counts`, the code counts how often threads begin the steps of the engine
/// that takes packets, and all calls of offloads.
pub fn unit(program: &Program, prefix: &str, counts: bool) -> Unit {
    let unit = unit_with(program, prefix, counts, !counts);
    // Lanes are not worth a lower level of optimisation for threads.
    match level(&unit.text) {
        "-O3" => unit,
        _ => unit_with(program, prefix, counts, false),
    }
}

/// Returns one program's source, with or without lanes.
fn unit_with(program: &Program, prefix: &str, counts: bool, has_lanes: bool) -> Unit {
    let main = &program.engines[program.main.index()];
    let mut names = Names::default();
    let own: Vec<String> = program
        .engines
        .iter()
        .map(|engine| names.give(&format!("{prefix}{}", engine.name)))
        .collect();
    let called = reachable(program);

    let mut items = opening(program, "docs/machines/native.md");
    if wide_values(program) > MOST_WIDE_INLINE {
        items.push(Item::Directive("define WL_WIDE_CALLS".into()));
    }
    items.push(Item::Directive("include \"wireloom.h\"".into()));
    let headers =
        KINDS.iter().filter(|kind| calls_kind(program, kind.name)).filter_map(|kind| kind.header);
    items.extend(headers.map(|(header, _)| Item::Directive(format!("include \"{header}\""))));
    let includes = items.len();
    items.push(Item::Blank);
    items.push(Item::Comment(
        "A program may ask what is always so; that is for Wireloom's own warnings to say, not for the C \
         compiler's."
            .into(),
    ));
    items.push(Item::Directive("ifdef __clang__".into()));
    items.push(ignored("unknown-warning-option"));
    items.push(Item::Directive("endif".into()));
    items.extend(IGNORED_WARNINGS.iter().map(|warning| ignored(warning)));
    items.push(Item::Blank);
    for n in wide_sizes(widths(program), Model::Bits64) {
        items.push(Item::Directive(format!("ifndef WL_HAVE_W{n}")));
        items.push(Item::Directive(format!("define WL_HAVE_W{n}")));
        items.push(declare_wide(n));
        items.push(Item::Directive("endif".into()));
        items.push(Item::Blank);
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
            items.extend(
                called::Called { program, engine, function, slot_index, functions, counts }.items(),
            );
        }
    }
    let (slot_index, functions) = around(main);
    let packet_engine = engine::PacketEngine::new(
        program,
        main,
        own[program.main.index()].clone(),
        slot_index,
        functions,
        counts,
    );
    let symbol = format!("{}_engine", packet_engine.prefix);
    let lanes = has_lanes.then(|| lanes::Lanes::of(&packet_engine)).flatten();
    if lanes.is_some() {
        items.insert(includes, Item::Directive("include \"lanes.h\"".into()));
    }
    items.extend(packet_engine.thread());
    items.extend(packet_engine.passing());
    items.extend(batch::machine(&packet_engine, lanes.is_some()));
    let steps = packet_engine.steps();
    // Whether a step reads the time, or the number of its packet.
    let needs_env = packet_engine.is_ordered()
        || steps.iter().any(|item| matches!(item, Item::Function(_, body) if uses(body, "env")));
    items.extend(steps);
    items.extend(lanes.iter().flat_map(|lanes| lanes.items(&packet_engine)));
    items.extend(batch::execution(&packet_engine, needs_env, lanes.is_some()));
    items.extend(batch::export(&packet_engine, &symbol, slot_count(program, main)));
    Unit { text: print::file(&items), symbol }
}

/// The most operations on wide values that a C compiler may inline. At `-O3` gcc 12 takes 12 s for
/// 100 inlined rounds of a division of 1,024 bits, and 1 s with calls.
const MOST_WIDE_INLINE: usize = 64;

/// Returns the number of values of a program that are not scalars.
fn wide_values(program: &Program) -> usize {
    let steps = program.engines.iter().flat_map(|engine| &engine.steps);
    let values = steps.flat_map(|step| &step.values);
    values.filter(|value| Model::Bits64.class(value.width).is_wide()).count()
}

/// Returns whether an engine of the program has an offload of the given kind.
fn calls_kind(program: &Program, kind: &str) -> bool {
    let mut offloads = program.engines.iter().flat_map(|engine| &engine.offloads);
    offloads.any(
        |offload| matches!(&offload.target, OffloadTarget::Kind(config) if config.kind == kind),
    )
}

/// Returns the number of slots that an engine and the engines that it calls need.
fn slot_count(program: &Program, engine: &Engine) -> usize {
    engine.offloads.iter().map(|offload| slots_of(program, &offload.target)).sum()
}

/// Returns the first slot of each offload of an engine, relative to the engine's first slot.
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

/// Returns the engines that the main one calls, directly or not.
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

/// Returns the level of optimisation for a source text. Compilers need more than linear time for
/// long functions. With gcc 12, choices among 1,024 elements (190 KB) take 19 s at `-O3` and 4 s at
/// `-O1`; choices among 4,096 (800 KB) take 38 s at `-O1` and 2 s at `-O0`; conditions in 60 levels
/// (70 KB) take 9 s at `-O3` and 1 s at `-O1`.
pub fn level(text: &str) -> &'static str {
    let longest = text.split("\n}\n").map(str::len).max().unwrap_or(0);
    match text.len() {
        0..=200_000 if longest <= LONGEST_FUNCTION => "-O3",
        0..=200_000 => "-O1",
        _ => "-O0",
    }
}

/// The most bytes of a function for which a program of up to 200 KB is compiled with `-O3`: `nat`
/// (120 KB, the longest function 12 KB) takes 2 s.
const LONGEST_FUNCTION: usize = 15_000;

/// Flags of the C compiler besides the level of optimisation. clang ignores parameters.
pub const FLAGS: [&str; 9] = [
    // Checks that most packets pass become predicted branches rather than arithmetic on conditions.
    "--param",
    "logical-op-non-short-circuit=0",
    // If a value is one of a few constants, such as the position of a header, gcc would otherwise
    // compute everything that depends on it for each constant, and keep the results until they are
    // needed.
    "--param",
    "max-partial-antic-length=1",
    // Steps that a list calls are inlined into its loop, until the loop is thirty times as long as
    // a function that gcc calls large. Short steps that several steps jump to are inlined too, up
    // to twice the length that gcc would copy. With gcc's own limits, any change of a program may
    // turn one of these steps into a call, which costs some twenty instructions a packet.
    "--param",
    "large-function-growth=3000",
    "--param",
    "max-inline-insns-auto=60",
    // Two adjacent scalars, such as the two words of a counter, would otherwise be moved to a
    // vector for one addition.
    "-fno-tree-slp-vectorize",
];

fn makefile(name: &str, level: &str) -> String {
    let flags = FLAGS.join(" ");
    format!(
        "# Builds the engine as a shared object. `wireloom` itself does the same.\n\
         CC ?= cc\n\
         CFLAGS ?= {level} -march=native {flags} -Wall -Wextra\n\n\
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
         its requests and fetches the memory that they will read, the second, named `..._reply`, does the rest in\n\
         a later round, when it has arrived. Comments give the source lines.\n"
    )
}

#[cfg(test)]
mod tests {
    use wireloom_net::packet::{HEADROOM, MAX_LENGTH, WINDOW};

    use super::*;

    /// Returns the value of an enumerator of a header.
    fn enumerator(header: &str, name: &str) -> usize {
        let (_, text) =
            RUNTIME.iter().find(|(file, _)| *file == header).expect("a header of the runtime");
        let (_, rest) = text.split_once(&format!(" {name} = ")).expect("the enumerator");
        let digits =
            rest.find(|c: char| !c.is_ascii_digit()).expect("a character after the number");
        rest[..digits].parse().expect("a number")
    }

    #[test]
    fn the_runtime_has_the_bounds_of_the_golden_model() {
        assert_eq!(enumerator("bounds.h", "WL_WINDOW"), WINDOW);
        assert_eq!(enumerator("bounds.h", "WL_LONGEST"), WINDOW + HEADROOM);
        assert_eq!(enumerator("bounds.h", "WL_MAX_LENGTH"), MAX_LENGTH);
        assert_eq!(enumerator("packet.h", "WL_REACH") as u64, emitter::REACH);
        let jumps = enumerator("bounds.h", "WL_MAX_BACKWARD_JUMPS");
        assert_eq!(jumps, wireloom_ir::MAX_BACKWARD_JUMPS as usize);
        let of_threads = thread::RUNTIME.iter().find(|(file, _)| *file == "bounds.h");
        assert_eq!(of_threads, RUNTIME.iter().find(|(file, _)| *file == "bounds.h"));
    }

    #[test]
    fn long_functions_are_optimised_less() {
        assert_eq!(level(&"int f(void) { }\n}\n".repeat(9000)), "-O3");
        assert_eq!(level(&"x".repeat(14_000)), "-O3");
        assert_eq!(level(&"x".repeat(16_000)), "-O1");
        assert_eq!(level(&"x".repeat(150_000)), "-O1");
        assert_eq!(level(&"x\n}\n".repeat(60_000)), "-O0");
    }

    #[test]
    fn headers_have_names_of_their_own() {
        for runtime in [RUNTIME, thread::RUNTIME] {
            let names: BTreeSet<&str> = runtime.iter().map(|(name, _)| *name).collect();
            assert_eq!(names.len(), runtime.len());
        }
    }
}
