//! Compares engines in SystemVerilog, including their shells, with the golden model: packets in,
//! packets out. The golden model's offloads reply to the engines.

mod bench;

/// Returns the checkout that the tests run in.
fn repository() -> PathBuf {
    wireloom_install::checkout().expect("tests run in a checkout")
}

/// Returns the folder of the hand-written templates.
fn hardware() -> PathBuf {
    repository().join("hardware")
}

use std::path::{Path, PathBuf};

use wireloom_codegen_hardware::engine::Shell;
use wireloom_compile::analysis::ports::HeaderPorts;
use wireloom_compile::passes::PassOptions;
use wireloom_compile::{lower, pipeline};
use wireloom_ir::{Program, Reason, Verdict};
use wireloom_net::Packet;
use wireloom_net::tables::TableFile;
use wireloom_offloads::{Store, load_tables};
use wireloom_testkit::TestFile;

use bench::{Bench, Setting};

/// Returns a file of packet tests, and its program in regions for these header ports.
fn tests(name: &str, ports: HeaderPorts) -> (TestFile, Program) {
    let path = repository().join("programs/tests").join(name);
    let tests = TestFile::read(&path).unwrap_or_else(|e| panic!("{e}"));
    let options = wireloom_lang::Options { sets: tests.sets.clone(), ..Default::default() };
    let checked = wireloom_lang::check(&tests.program, &options);
    let mut program = lower(&checked.program.expect("a program without errors"));
    pipeline::optimise(&mut program, &PassOptions::hardware(ports));
    (tests, program)
}

fn loaded(program: &Program, tables: Option<&Path>) -> Store {
    let mut store = bench::empty(program);
    if let Some(path) = tables {
        let file = TableFile::open(path).unwrap_or_else(|problem| panic!("{problem}"));
        load_tables(&mut store, file).unwrap_or_else(|problem| panic!("{problem}"));
    }
    store
}

/// Returns the packets of a test file, and damaged versions of each packet.
fn packets(tests: &TestFile, damaged: usize) -> Vec<Packet> {
    let mut packets: Vec<Packet> = tests.packets().cloned().collect();
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut draw = move |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for index in 0..packets.len() * damaged {
        let mut packet = packets[index / damaged].clone();
        for _ in 0..=draw(3) {
            let length = packet.bytes.len();
            match draw(4) {
                0 if length > 0 => packet.bytes.truncate(draw(length)),
                1 if length > 0 => packet.bytes[draw(length.min(64))] = draw(256) as u8,
                2 if length > 0 => packet.bytes[draw(length.min(64))] ^= 1 << draw(8),
                // Inserts four bytes, such as a tag or a label.
                _ if length > 24 => {
                    let at = 12 + draw(length.min(60) - 12);
                    let bytes: Vec<u8> = packet.bytes[at - 4..at].to_vec();
                    packet.bytes.splice(at..at, bytes);
                }
                _ => packet.ingress = draw(5) as u16,
            }
        }
        packets.push(packet);
    }
    packets
}

fn hold(name: &str, file: &str, ports: HeaderPorts, setting: Setting) {
    let (tests, program) = tests(file, HeaderPorts { bytes: setting.header_bytes, ..ports });
    let bench = Bench::new(name, &program, setting);
    let packets = packets(&tests, 3);
    for (seed, slow) in [(1, false), (2, true)] {
        bench.compare(&packets, |program| loaded(program, tests.tables.as_deref()), seed, slow);
    }
}

#[test]
#[ignore = "takes long: make test-all"]
fn a_table_that_packets_change_ends_as_golden_says() {
    // Packets change the table in order of arrival, which requires a single thread.
    let setting = Setting { threads: 1, storage: 1, ..Setting::default() };
    hold("flowcount", "flowcount.packets", HeaderPorts::new(3, 1), setting);
}

#[test]
#[ignore = "takes long: make test-all"]
fn the_router_forwards_as_golden_does() {
    hold("router", "router.packets", HeaderPorts::new(3, 2), Setting::default());
}

/// Returns a state machine with one thread. Each test has a different storage or number of words
/// that a step writes.
fn state_machine(storage: u32) -> Setting {
    Setting { threads: 1, storage, shell: Shell::StateMachine, ..Setting::default() }
}

#[test]
fn a_state_machine_does_the_example_of_the_paper() {
    hold("figure2-fsm", "figure2.packets", HeaderPorts::new(2, 1), state_machine(0));
}

#[test]
#[ignore = "takes long: make test-all"]
fn a_state_machine_switches_labels_as_golden_does() {
    hold("mpls-fsm", "mpls.packets", HeaderPorts::new(2, 2), state_machine(1));
}

#[test]
#[ignore = "takes long: make test-all"]
fn a_state_machine_forwards_ipv4_as_golden_does() {
    hold("ipv4-fsm", "ipv4.packets", HeaderPorts::new(2, 1), state_machine(0));
}

/// Returns packets whose first bytes are commands to the program. Most of the packets are short.
fn commands(count: usize) -> Vec<Packet> {
    let mut state = 7u64;
    let mut draw = move |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    (0..count)
        .map(|index| {
            let length = match draw(4) {
                0 => draw(20),
                1 => 120 + draw(12),
                _ => 20 + draw(60),
            };
            let mut bytes: Vec<u8> =
                (0..length).map(|_| if draw(3) == 0 { 0 } else { draw(256) as u8 }).collect();
            // Offsets near the ends of the packet, small counts, and few runaway threads, because
            // these take long.
            if length > 4 {
                let at = [0, draw(8), length - draw(4), length, 127, 128, draw(300), draw(65_536)]
                    [draw(8) as usize];
                bytes[2..4].copy_from_slice(&(at as u16).to_be_bytes());
                bytes[1] = if draw(2) == 0 { draw(6) as u8 } else { draw(256) as u8 };
                if bytes[0] >> 5 == 6 {
                    bytes[1] = if index < count / 2 {
                        bytes[0].wrapping_add(2 * draw(20) as u8)
                    } else {
                        bytes[1] | 1
                    };
                    bytes[0] = if index < count / 2 || draw(8) == 0 { bytes[0] } else { 0 };
                }
            }
            Packet { ingress: draw(4) as u16, arrival_ns: 1_000_000 * index as u64, bytes }
        })
        .collect()
}

/// Runs packets of all kinds through a program of corner cases. There is one thread because the
/// meter and `fetch_add` require packets in order.
fn corners(name: &str, header_bytes: u32) {
    let path = repository().join("crates/np/tests/engine/corners.loom");
    let checked = wireloom_lang::check(&path, &wireloom_lang::Options::default());
    let mut program = lower(&checked.program.expect("a program without errors"));
    pipeline::optimise(
        &mut program,
        &PassOptions::hardware(HeaderPorts { bytes: header_bytes, ..HeaderPorts::new(2, 2) }),
    );
    let setting = Setting { threads: 1, levels: 6, header_bytes, ..Setting::default() };
    let bench = Bench::new(name, &program, setting);
    assert!(bench.stages() > 1, "the core is cut");
    let left = bench.compare(&commands(600), bench::empty, 3, true);
    let happens = |what: &dyn Fn(&Verdict) -> bool| left.iter().flatten().any(|l| what(&l.verdict));
    assert!(happens(&|v| *v == Verdict::Dropped(Reason::Runaway)), "a thread runs away");
    assert!(
        happens(&|v| matches!(v, Verdict::ToCpu(_)))
            && happens(&|v| matches!(v, Verdict::Sent { .. }))
    );
    assert!(
        left.iter().any(|l| l.len() > 2) && left.iter().any(Vec::is_empty),
        "copies, and nothing at all"
    );
}

#[test]
fn corners_mean_what_golden_says() {
    corners("corners", 16);
}

#[test]
#[ignore = "builds a model: make test-all"]
fn corners_mean_the_same_if_a_word_of_the_header_has_four_bytes() {
    corners("corners-words", 4);
}
