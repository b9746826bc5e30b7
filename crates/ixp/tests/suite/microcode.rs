//! Runs the unit tests of instructions in microcode on the simulator: programs/microcode/tests.

use std::path::Path;

use wireloom_isa::microengine::Version;
use wireloom_ixp::Spec;
use wireloom_ixp::harness::{Failed, run};

/// The folder with the tests of a version.
fn folder(version: Version) -> std::path::PathBuf {
    let folder = match version {
        Version::One => "programs/microcode/tests",
        Version::Two => "programs/microcode/tests/version2",
    };
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder)
}

fn test(version: Version, text: &str) -> Result<(), Failed> {
    let mut read = |file: &Path| {
        std::fs::read_to_string(folder(version).join(file)).map_err(|error| error.to_string())
    };
    let options = wireloom_microcode::Options::default();
    let image = wireloom_microcode::assemble("test.uc", text, &options, &mut read)
        .unwrap_or_else(|refused| panic!("{}", refused.render(false)));
    let mut spec = Spec::base();
    spec.engine.version = version;
    run(&spec, image, 0b1).map(drop)
}

#[test]
fn every_test_in_microcode_of_version_1_passes() {
    every_test_passes(Version::One, 8);
}

#[test]
fn every_test_in_microcode_of_version_2_passes() {
    every_test_passes(Version::Two, 10);
}

/// Runs all tests of a version, and checks that there are at least `least`.
fn every_test_passes(version: Version, least: usize) {
    let files = std::fs::read_dir(folder(version)).expect("the folder of tests");
    let mut paths: Vec<_> = files
        .map(|file| file.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "uc"))
        .collect();
    paths.sort();
    let mut failed = Vec::new();
    for path in &paths {
        let text = std::fs::read_to_string(path).expect("a text");
        if let Err(error) = test(version, &text) {
            failed.push(format!("{}: {error}", path.display()));
        }
    }
    assert!(paths.len() >= least, "{} tests", paths.len());
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn a_test_that_expects_what_is_not_so_fails() {
    let text = "#include \"test.inc\"\n.reg x\n immed[x, 3]\n expect(7, x, 4)\n pass()\n";
    let failed = test(Version::One, text).expect_err("3 is not 4");
    assert_eq!(failed, Failed::Mailbox { mailbox: 7 << 8, value: 3, expected: 4 });
    let endless = "again#:\n nop\n br[again#]\n";
    assert_eq!(test(Version::One, endless), Err(Failed::Endless));
}
