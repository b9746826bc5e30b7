//! Checks the compiled form of an engine: the steps of the router that packets reach are part of
//! the batch loop, not calls.

use std::path::Path;
use std::process::Command;

use wireloom_compile::passes::PassOptions;
use wireloom_compile::{lower, pipeline};
use wireloom_native::{BuildOptions, Library};

/// Suffixes of functions that hold rarely executed code.
const SELDOM: [&str; 2] = ["_rest", "_fetch2"];

#[test]
fn steps_of_a_list_become_part_of_its_loop() {
    let options = BuildOptions { flags: Vec::new(), ..BuildOptions::default() };
    let version = Command::new(&options.cc).arg("--version").output();
    let version = version.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    if !version.is_ok_and(|version| version.contains("Free Software Foundation")) {
        eprintln!(
            "{} is not gcc, which has the limit of this test: nothing was tested",
            options.cc
        );
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary folder");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/router.loom");
    let checked = wireloom_lang::check(&file, &wireloom_lang::Options::default());
    let mut program = lower(checked.program.as_ref().expect("a program without errors"));
    pipeline::optimise(&mut program, &PassOptions::default());
    let options = BuildOptions { keep_dir: Some(dir.path().to_owned()), ..options };
    Library::build(&program, &options).unwrap_or_else(|error| panic!("{error}"));

    let names = Command::new("nm").arg(dir.path().join("engines.so")).output().expect("nm starts");
    let names = String::from_utf8_lossy(&names.stdout).into_owned();
    let function = |line: &str| line.split_once(" t ").map(|(_, name)| name.to_owned());
    let steps = |name: &String| {
        program.engines[program.main.index()]
            .steps
            .iter()
            .any(|step| name.starts_with(&format!("router_{}", step.name)))
    };
    let functions: Vec<String> = names.lines().filter_map(function).filter(steps).collect();
    assert!(!functions.is_empty(), "functions for what few packets need: {names}");
    let is_seldom = |name: &String| SELDOM.iter().any(|part| name.contains(part));
    let calls: Vec<&String> = functions.iter().filter(|name| !is_seldom(name)).collect();
    assert!(calls.is_empty(), "steps that are calls: {calls:?}");
}
