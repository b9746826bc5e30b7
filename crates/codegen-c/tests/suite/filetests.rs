//! Compares C for each kind of machine, for small programs.

use std::path::Path;

use wireloom_codegen_c::thread::{Elements, Partition};
use wireloom_codegen_c::{bpf, thread};
use wireloom_compile::passes::PassOptions;
use wireloom_compile::pipeline::optimise;
use wireloom_ir::Program;
use wireloom_testkit::filetest::{self, Case};

/// The first line of the part of the C for native that runs a batch.
const BATCH: &str = "/* Puts a thread on the list of its state. */";

/// Returns the program, in regions. Step IR has been optimised.
fn program(case: &Case) -> Result<Program, String> {
    let mut program = case.program()?;
    if case.path.extension().is_some_and(|extension| extension == "loom") {
        optimise(&mut program, &PassOptions::default());
    }
    Ok(program)
}

/// Returns the C for a host: its context and steps, or the part that runs a batch.
fn native(program: &Program, part: &str) -> Option<String> {
    let (_, text) = wireloom_codegen_c::generate(program).files.swap_remove(0);
    let batch = text.find(BATCH).expect("the part that runs a batch");
    match part {
        "steps" => Some(text[..batch].to_owned()),
        "batch" => Some(text[batch..].to_owned()),
        _ => None,
    }
}

#[test]
fn generated_c_reads_as_its_source_does() {
    filetest::check(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests"), |case| {
        let program = program(case)?;
        match (case.target, case.options) {
            ("native", part) => native(&program, part).map_or_else(|| case.unknown(), Ok),
            ("xdp", "") => match bpf::generate(&program) {
                Ok(generated) => Ok(generated.text),
                Err(refused) => Err(format!("{refused:?}")),
            },
            ("mpsoc", "") => {
                let threads = thread::generate(&program, &Partition::whole(), &Elements::none());
                threads.map(|generated| generated.text).map_err(|refused| refused.to_string())
            }
            _ => case.unknown(),
        }
    });
}
