//! Compares the output of each pass alone, for small programs `tests/passes/PASS.NAME.ir`, and the
//! text of `explain`.

use std::path::Path;

use wireloom_compile::analysis::ports::HeaderPorts;
use wireloom_compile::explain::{explain, text};
use wireloom_compile::passes::PassOptions;
use wireloom_compile::pipeline::{optimise, run_pass};
use wireloom_testkit::filetest::{self, Case};

/// Returns the options of a section: none, or `--header-ports READS,WRITES,BYTES`.
fn options(case: &Case) -> Result<PassOptions, String> {
    if case.options.is_empty() {
        return Ok(PassOptions::default());
    }
    let numbers = case.options.strip_prefix("--header-ports ").map(|numbers| numbers.split(','));
    let numbers = numbers.map(|numbers| numbers.map(|number| number.parse().ok()).collect());
    match numbers.unwrap_or(None::<Vec<u32>>).as_deref() {
        Some(&[reads, writes, bytes]) => {
            Ok(PassOptions::for_ports(Some(HeaderPorts { reads, writes, bytes })))
        }
        _ => case.unknown(),
    }
}

#[test]
fn each_pass_makes_of_its_programs_what_it_should() {
    filetest::check(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes"), |case| {
        let (mut program, options) = (case.program()?, options(case)?);
        if case.target == "explain" {
            optimise(&mut program, &options);
            return Ok(text::render(&explain(&program, &options), Some(120)));
        }
        match run_pass(&mut program, case.target, &options) {
            true => Ok(wireloom_ir::print(&program)),
            false => case.unknown(),
        }
    });
}
