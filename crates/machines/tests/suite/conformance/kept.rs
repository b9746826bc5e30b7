//! Packets that are kept and taken on network processors.

use std::sync::Arc;

use wireloom_ir::{self as ir, OpKind};
use wireloom_machine::Configured;
use wireloom_net::Packet;
use wireloom_sim::Rng;

use super::{
    REGISTRY, SHELLS, agrees, compare_on_network_processor, empty, network_processor, program_of,
};

/// Returns packets of all lengths around the ends of windows, rows and beats, to be kept, taken and
/// discarded, some of them long after the one before.
fn packets(seed: u64, count: usize, longest: u64) -> Vec<Packet> {
    let mut rng = Rng::new(seed, "kept");
    let mut now_ns = 1 << 40;
    let mut packet = |_| {
        let length = match rng.below(7) {
            0 => rng.below(longest + 1),
            1 => 126 + rng.below(5),
            2 => 190 + rng.below(5),
            3 => 128 + 64 * rng.below(20) + rng.below(3),
            4 => rng.below(12),
            5 => 16 * rng.below(9) + rng.below(2),
            _ => 8 + rng.below(250),
        };
        now_ns += [1, 300, 2_000, 9_000][rng.below(4) as usize];
        let mut bytes: Vec<u8> = (0..length.min(longest)).map(|_| rng.below(256) as u8).collect();
        for (byte, below) in bytes.iter_mut().zip([4, 4, 256, 256]) {
            *byte = rng.below(below) as u8;
        }
        Packet { ingress: rng.below(4) as u16, arrival_ns: now_ns, bytes }
    };
    (0..count).map(&mut packet).collect()
}

fn agree(machine: &Arc<dyn Configured>, program: &str, packets: &[Packet]) {
    let program = program_of(program);
    agrees(machine, &program, &empty(&program), packets);
}

#[test]
fn packets_are_kept_and_taken_in_hardware_as_on_golden() {
    let machine = REGISTRY.find("np-1-2-3").expect("a network processor");
    agree(&machine, "kept.loom", &packets(52, 400, 1_700));
}

#[test]
#[ignore = "builds many models: make test-all"]
fn packets_are_kept_and_taken_in_each_shell() {
    let short = "extends = \"np\"\nclusters = 1\nengines = 2\nthreads = 4\n[engine]\nheader_reads = 1\nheader_bytes = 4";
    for (name, description) in SHELLS.into_iter().chain([("short", short)]) {
        agree(&network_processor(name, description), "kept.loom", &packets(53, 700, 1_700));
    }
    let machine = REGISTRY.find("np-1-2-2").expect("a network processor");
    agree(&machine, "park.loom", &packets(54, 300, 65_535));
}

#[test]
#[ignore = "builds many models: make test-all"]
fn random_programs_keep_packets_in_hardware_as_on_golden() {
    let kinds = vec!["array", "checksum", "counter", "park", "payload"];
    compare_on_network_processor((0, 12), kinds, keeps_and_takes);
}

/// Returns whether an engine keeps and takes packets.
fn keeps_and_takes(program: &ir::Program) -> bool {
    let engine = &program.engines[program.main.index()];
    let calls = |name: &str| {
        engine.steps.iter().flat_map(ir::Step::ops).any(|op| match op.kind {
            OpKind::Call { offload, method, .. } => {
                let kind = engine.offloads[offload.index()].kind();
                kind.is_some_and(|kind| kind.name == "park" && kind.methods[method].name == name)
            }
            _ => false,
        })
    };
    calls("keep") && calls("take")
}
