//! Compares the assembly of the steps of small programs, on one tile.

use std::path::Path;

use wireloom_codegen::expand::expanded;
use wireloom_codegen_tile::{
    self as tile, FRAME_BYTES, Latencies, Memories, Reach, Refused, Stages, Style,
};
use wireloom_compile::passes::PassOptions;
use wireloom_compile::pipeline::optimise;
use wireloom_ir::Program;
use wireloom_testkit::filetest;

/// Returns the assembly of the steps, without the routines around them.
fn steps(program: &Program) -> Result<String, Vec<Refused>> {
    let program = &*expanded(program);
    let store = wireloom_ir::store(program).expect("offloads of a verified program");
    let memories = Memories { first: FRAME_BYTES, end: 64 << 20, tiles: 1, has_rest: false };
    let layout = tile::place(program, &store, memories)?;
    let stages = Stages::one(&program.engines[program.main.index()]);
    let latencies = Latencies { load: 3, multiply: 2, divide: 42 };
    let style = Style { has_fast_ways: true, latencies };
    let text = tile::generate(program, &layout, 0, &stages, 0, style, Reach::default())?.text;
    // Comments of routines are not indented.
    let steps = &text[text.find("        # step `").expect("a step")..];
    Ok(steps.split("\n#").next().expect("the steps").to_owned())
}

#[test]
fn assembly_of_steps_reads_as_their_source_does() {
    filetest::check(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests"), |case| {
        if (case.target, case.options) != ("raw", "") {
            return case.unknown();
        }
        let mut program = case.program()?;
        optimise(&mut program, &PassOptions::default());
        steps(&program).map_err(|refused| format!("{refused:?}"))
    });
}
