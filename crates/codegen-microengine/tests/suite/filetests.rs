//! Compares the microcode of the steps of small programs.

use std::path::Path;

use wireloom_codegen_microengine::{self as microengine, KEPT, Local, Memories, Refused, Target};
use wireloom_compile::passes::PassOptions;
use wireloom_compile::pipeline::optimise;
use wireloom_ir::Program;
use wireloom_isa::microengine::Version;
use wireloom_testkit::filetest;

/// The number of engines, all with the same microcode.
const ENGINES: u32 = 4;
/// The words of a control store, more than these programs need.
const CONTROL_STORE: usize = 2048;

/// Returns the microcode of the steps. Routines that take and send packets precede it in the text,
/// and routines that steps call follow it.
fn steps(program: &Program, target: Target) -> Result<String, Vec<Refused>> {
    let mut store = wireloom_ir::store(program).expect("offloads of a verified program");
    let inlined = microengine::inline(program)?;
    let version = match target {
        Target::One { .. } => Version::One,
        Target::Two { .. } => Version::Two,
    };
    let memories = Memories {
        sram: 8 << 18,
        sdram: 256 << 18,
        scratch: 1024,
        version,
        threads: ENGINES * target.contexts(),
        frame: microengine::FRAME,
    };
    let layout = microengine::place(&inlined.program, &mut store, memories)?;
    let local = match target {
        Target::One { .. } => Local::of_scratchpad(layout.near),
        Target::Two { .. } => Local::of(target.local()),
    };
    let kept = vec![KEPT[0]; inlined.parts.len()];
    let microcode = microengine::generate(&inlined, &layout, &kept, local)?;
    let cut = microcode.cut(CONTROL_STORE, ENGINES, target).map_err(|refused| vec![refused])?;
    let text = microcode.text(&cut, 0, ENGINES, target);
    let steps = &text[text.find("; Step `").expect("a step")..];
    let is_routine = |at: &usize| !steps[*at..].starts_with("\n; Step `");
    let called = steps.match_indices("\n; ").map(|(at, _)| at).find(is_routine);
    let end = called.and_then(|at| steps[..at].rfind("    .begin\n"));
    Ok(steps[..end.unwrap_or(steps.len())].to_owned())
}

#[test]
fn microcode_of_steps_reads_as_their_source_does() {
    filetest::check(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests"), |case| {
        let mut program = case.program()?;
        optimise(&mut program, &PassOptions::default());
        let target = match (case.target, case.options) {
            ("ixp1200", "") => Target::One { elements: 16 },
            ("ixp2400", "") => Target::Two { elements: 128 },
            _ => return case.unknown(),
        };
        steps(&program, target).map_err(|refused| format!("{refused:?}"))
    });
}
