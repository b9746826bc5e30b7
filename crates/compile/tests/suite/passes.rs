//! Tests that passes keep the meaning of programs: of `tests/passes/PASS.NAME.ir`, for which
//! `filetests` compares the output of each pass, and of larger ones in `tests/passes/meaning`.

use crate::support;

use std::fs;
use std::path::Path;

use wireloom_bits::Bits;
use wireloom_compile::analysis::ports::HeaderPorts;
use wireloom_compile::passes::{PassOptions, pass};
use wireloom_compile::pipeline;
use wireloom_ir::{Code, OpKind, Program, parse, verify};

/// Returns the programs of all tests by file name without extension.
pub fn programs() -> Vec<(String, Program)> {
    [small_programs(), programs_of("tests/passes/meaning")].concat()
}

/// Returns the programs whose output is short enough to read.
fn small_programs() -> Vec<(String, Program)> {
    programs_of("tests/passes")
}

/// Returns the programs of a folder of this crate by file name without extension, sorted.
fn programs_of(folder: &str) -> Vec<(String, Program)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
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

/// Returns the options of passes for hardware with few header ports.
fn few_ports() -> PassOptions {
    PassOptions::for_ports(Some(HeaderPorts::new(1, 1)))
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
    let programs = small_programs();
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

#[test]
fn packets_change_their_length_only_at_their_front() {
    for (name, mut program) in programs() {
        pipeline::run_pass(&mut program, "resize", &few_ports());
        for step in program.engines.iter().flat_map(|engine| &engine.steps) {
            let mut zeros = Vec::new();
            step.for_each_op(|op| match &op.kind {
                OpKind::Const(bits) if bits.to_u64() == Some(0) => zeros.extend(&op.results),
                OpKind::Insert { offset, .. } | OpKind::Remove { offset, .. } => {
                    assert!(zeros.contains(offset), "{name}, step {}: {offset:?}", step.name);
                }
                _ => (),
            });
        }
    }
}

#[test]
fn the_engine_itself_reads_and_sums_packets_that_lie_in_the_window() {
    let text = "loom_ir 1\nfile \"window.loom\"\nengine window {\n  offload bytes : payload value u32\n  \
        offload sums : checksum\n  step only @window.loom:1 {\n    %0:u16 = meta.read ingress\n    \
        %1:u32 = call bytes.read(%0)\n    %2:u16 = slice %1 from 16\n    %3:u16 = meta.read length\n    \
        %4:u16 = sub %3, %0\n    %5:u16 = call sums.sum(%0, %4, %2)\n    meta.write egress, %5\n    finish\n  \
        }\n}\nmain window\n";
    let program = parse(text).expect("the text is IR");
    let mut packets = support::packets();
    packets.retain(|packet| (2..=wireloom_net::packet::WINDOW).contains(&packet.bytes.len()));
    let expected = support::observe(&program, &packets);
    // Replaces the calls by what a machine that sees only the payload returns: no bytes, and the
    // sum so far.
    let without_calls = |mut program: Program| {
        let Code::Sequential(block) = &mut program.engines[0].steps[0].code else {
            panic!("one block")
        };
        for op in &mut block.ops {
            if let OpKind::Call { args, .. } = &op.kind {
                op.kind = match args[..] {
                    [_] => OpKind::Const(Bits::zero(32)),
                    [_, _, begun] => OpKind::Slice(begun, 0),
                    _ => panic!("another call"),
                };
            }
        }
        support::observe(&program, &packets)
    };
    assert_ne!(without_calls(program.clone()), expected);
    let mut changed = program;
    pipeline::run_pass(&mut changed, "window", &few_ports());
    assert_eq!(without_calls(changed), expected);
}
