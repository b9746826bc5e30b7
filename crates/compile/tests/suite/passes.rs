//! Tests each pass alone: a small program in, its textual form out. `tests/passes/PASS.NAME.ir`
//! holds the programs, `snapshots` the output of the pass. The meaning of the programs must
//! not change.

use crate::support;

use std::fs;
use std::path::Path;

use wireloom_compile::analysis::ports::HeaderPorts;
use wireloom_compile::passes::{PassOptions, pass};
use wireloom_compile::pipeline;
use wireloom_ir::{Program, parse, print, verify};

/// Returns the programs by file name without extension, sorted.
fn programs() -> Vec<(String, Program)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes");
    let mut found: Vec<_> = fs::read_dir(folder)
        .expect("the folder of inputs")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|e| e == "ir"))
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let text = fs::read_to_string(&path).expect("a readable file");
            let program = parse(&text).unwrap_or_else(|e| panic!("{name}: {e:?}"));
            verify(&program).unwrap_or_else(|p| panic!("{name}: {p:?}"));
            (name, program)
        })
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

fn pass_of(name: &str) -> &str {
    name.split('.').next().expect("a pass")
}

/// Passes for hardware run with few header ports. `split` runs with and without.
fn options_of(name: &str) -> PassOptions {
    let for_hardware = ["fields", "fuse", "resize", "scatter", "ungate", "window", "split.ports"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    PassOptions::for_ports(for_hardware.then_some(HeaderPorts { reads: 1, writes: 1, bytes: 16 }))
}

/// Header ports of several shapes, including few and short ones.
const PORTS: [HeaderPorts; 5] = [
    HeaderPorts { reads: 1, writes: 1, bytes: 16 },
    HeaderPorts { reads: 2, writes: 1, bytes: 16 },
    HeaderPorts { reads: 2, writes: 2, bytes: 16 },
    HeaderPorts { reads: 1, writes: 1, bytes: 4 },
    HeaderPorts { reads: 3, writes: 2, bytes: 1 },
];

#[test]
fn each_pass_makes_of_its_programs_what_it_should() {
    for (name, mut program) in programs() {
        let wanted = pass_of(&name);
        assert!(pipeline::run_pass(&mut program, wanted, &options_of(&name)), "no pass {wanted}");
        insta::assert_snapshot!(name.as_str(), print(&program));
    }
}

#[test]
fn each_pass_keeps_the_meaning_of_every_program() {
    let packets = support::packets();
    for (name, program) in programs() {
        let expected = support::observe(&program, &packets);
        for pass in wireloom_compile::passes::PASSES {
            let mut changed = program.clone();
            pipeline::run_pass(&mut changed, pass.name, &PassOptions::default());
            assert_eq!(support::observe(&changed, &packets), expected, "{} of {name}", pass.name);
        }
        for header in std::iter::once(None).chain(PORTS.map(Some)) {
            let mut changed = program.clone();
            pipeline::optimise(&mut changed, &PassOptions::for_ports(header));
            assert_eq!(support::observe(&changed, &packets), expected, "{name}, {header:?}");
        }
    }
}

#[test]
fn every_pass_has_a_program_of_its_own() {
    let programs = programs();
    for pass in wireloom_compile::passes::PASSES {
        assert!(programs.iter().any(|(name, _)| pass_of(name) == pass.name), "{}", pass.name);
    }
    assert!(programs.iter().all(|(name, _)| pass(pass_of(name)).is_some()));
}

#[test]
fn a_step_that_reads_more_than_the_header_ports_serve_is_split() {
    let text = "loom_ir 1\nfile \"wide.loom\"\nengine wide {\n  offload t : lpm key u96 value u8 { miss = 8'0x1 }\n  \
        step a @wide.loom:1 {\n    %0:u16 = const 0\n    %1:u32 = packet.read %0 + 0 @wide.loom:2\n    \
        %2:u32 = packet.read %0 + 64 @wide.loom:3\n    %3:u32 = packet.read %0 + 128 @wide.loom:4\n    \
        %4:u96 = concat(%1, %2, %3)\n    %5:u8 = call t.search(%4) @wide.loom:5\n    %6:u16 = extend %5\n    \
        meta.write egress, %6\n    finish\n  }\n}\nmain wide\n";
    let program = parse(text).expect("the text is IR");
    let parts = |header| {
        let mut program = program.clone();
        pipeline::optimise(&mut program, &PassOptions::for_ports(header));
        program.engines[0].steps.clone()
    };
    assert_eq!(parts(None).len(), 1);
    assert_eq!(parts(Some(HeaderPorts::new(2, 1))).len(), 1);
    let split = parts(Some(HeaderPorts::new(1, 1)));
    assert_eq!(split.len(), 2);
    let why = split[1].split.as_deref().expect("a reason");
    assert!(why.contains("header port") && why.contains("line 4"), "{why}");
}

#[test]
fn steps_fit_the_header_ports() {
    for (name, program) in programs() {
        for header in PORTS {
            let mut program = program.clone();
            pipeline::optimise(&mut program, &PassOptions::hardware(header));
            support::fits(&program, &header, &name);
        }
    }
}
