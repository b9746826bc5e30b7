//! Compares the SystemVerilog of the cores of small engines.

use std::path::Path;

use wireloom_codegen_hardware::core::{Options, build};
use wireloom_testkit::filetest;

#[test]
fn cores_read_as_their_source_does() {
    filetest::check(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/filetests"), |case| {
        if (case.target, case.options) != ("core", "") {
            return case.unknown();
        }
        let program = case.program()?;
        let core = build(&program, program.main, &Options::default());
        let files = core.map_err(|refusal| refusal.to_string())?.files();
        Ok(files.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n"))
    });
}
