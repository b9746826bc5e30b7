//! Copies of some bytes of a packet, on network processors.

use std::sync::Arc;

use wireloom_ir::{self as ir, Copied, Exit, OpKind};
use wireloom_machine::Configured;
use wireloom_net::Packet;
use wireloom_sim::Rng;

use super::{
    REGISTRY, SHELLS, agrees, compare_on_network_processor, empty, network_processor, program_of,
};

/// Returns packets that ask for bytes around the rows of a window, its end, the beats of a body and
/// the end of the packet, and for any others.
fn packets(seed: u64, count: usize) -> Vec<Packet> {
    let mut rng = Rng::new(seed, "pieces");
    let packet = |number: usize| {
        let length = match rng.below(6) {
            0 => rng.below(2_000),
            1 => 126 + rng.below(5),
            2 => 190 + rng.below(5),
            3 => 128 + 64 * rng.below(20) + rng.below(3),
            4 => rng.below(12),
            _ => 8 + rng.below(250),
        };
        let mut place = || match rng.below(8) {
            0 => rng.below(1 << 16),
            1 => length,
            2 => 16 * rng.below(17),
            3 => 127 + rng.below(3),
            4 => 128 + 64 * rng.below(1 + length / 64) + rng.below(3),
            _ => rng.below(length + 3),
        };
        let places = [place(), place()].map(|place| (place as u16).to_be_bytes());
        let others = [256, 256, 140, 256].map(|below| rng.below(below) as u8);
        let mut bytes: Vec<u8> = (0..length).map(|at| (at * 7 + number as u64) as u8).collect();
        for (byte, asked) in bytes.iter_mut().zip(places.concat().into_iter().chain(others)) {
            *byte = asked;
        }
        Packet { ingress: (number % 4) as u16, arrival_ns: number as u64 * 500, bytes }
    };
    (0..count).map(packet).collect()
}

fn agree(machine: &Arc<dyn Configured>, program: &str, count: usize) {
    let program = program_of(program);
    agrees(machine, &program, &empty(&program), &packets(53, count));
}

#[test]
fn copies_have_the_bytes_in_hardware_that_they_have_on_golden() {
    agree(&REGISTRY.find("np-2-1-3").expect("a network processor"), "pieces.loom", 600);
}

#[test]
#[ignore = "builds many models: make test-all"]
fn copies_have_these_bytes_on_narrow_ports_and_in_each_shell() {
    let lanes = "extends = \"np\"\nlanes = 2\nclusters = 2\nengines = 1\nthreads = 2";
    for (name, description) in SHELLS.into_iter().chain([("lanes", lanes)]) {
        let machine = network_processor(name, description);
        agree(&machine, "pieces.loom", 400);
        agree(&machine, "changed_copies.loom", 400);
    }
}

fn sends_pieces(program: &ir::Program) -> bool {
    let mut ops = program.engines[program.main.index()].steps.iter().flat_map(ir::Step::ops);
    ops.any(|op| matches!(&op.kind, OpKind::Exit(Exit::Emit(_, Copied { bytes: Some(_), .. }))))
}

#[test]
#[ignore = "builds many models: make test-all"]
fn random_programs_send_the_bytes_in_hardware_that_they_send_on_golden() {
    let kinds = vec!["array", "checksum", "counter", "hash", "payload"];
    compare_on_network_processor((0, 10), kinds, sends_pieces);
}

#[test]
fn bodies_that_change_after_copies_leave_as_they_were() {
    agree(&REGISTRY.find("np-2-2-2").expect("a network processor"), "changed_copies.loom", 600);
}
