//! The programs of the repository.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use wireloom_machine::{Configured, Contender, Options, Program, Registry, Source, load_store};
use wireloom_net::traffic::{Generator, Spec};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::Store;

static REGISTRY: Registry = Registry::new(&[wireloom_raw::KIND]);

pub fn machine(name: &str) -> Arc<dyn Configured> {
    REGISTRY.find(name).unwrap_or_else(|error| panic!("{}", error.message))
}

pub fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

pub fn program(name: &str) -> Program {
    let program = Source::of(folder("../../programs").join(name).with_extension("loom")).compiled();
    program.unwrap_or_else(|error| panic!("{name}: {}", error.message))
}

#[test]
fn every_program_has_a_place_on_one_tile() {
    let machine = machine("raw-1");
    for name in ["router", "ipv4", "ipv6", "mpls", "nat", "url", "md4", "flowcount"] {
        let refused = machine.refusals(&program(name));
        assert!(refused.is_empty(), "{name}: {refused:?}");
    }
}

/// Runs packets on a machine and on golden, and compares their output and final state.
fn agrees(name: &str, on: &str, tables: &[PathBuf], packets: &[Packet]) {
    let program = program(name);
    let loaded = load_store(&program.optimised, tables, &|_| ());
    let (store, _) = loaded.unwrap_or_else(|error| panic!("{}", error.message));
    let options = Options::default();
    let contender = Contender::new(machine(on), &program, &store, &options, &|_| ());
    let mut contender = contender.unwrap_or_else(|error| panic!("{name}: {}", error.message));
    let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
    contender
        .offer(&program.optimised, &frames, &mut |_| ())
        .and_then(|()| contender.finish(&program.optimised, &mut |_| ()))
        .and_then(|()| contender.compare_state(&|_| ()))
        .unwrap_or_else(|error| panic!("{name} on {on}: {}", error.message));
    assert!(contender.difference.is_none(), "{name} on {on}: {:?}", contender.difference);
    assert_eq!(contender.compared, packets.len() as u64);
}

#[test]
fn programs_with_state_do_on_all_tiles_what_they_do_on_golden() {
    let spec = Spec { count: Some(240), ports: 2, ..Spec::default() };
    let packets: Vec<Packet> = Generator::new(&spec).expect("it can be generated").collect();
    let translator = [folder("../../programs/tests/nat.tables")];
    for on in ["raw-rows", "raw-edge", "raw-egress"] {
        agrees("flowcount", on, &[], &packets);
        agrees("nat", on, &translator, &packets);
    }
}

/// Returns packets of four ports, and tables that send them to four ports.
pub fn forwarded(count: u64) -> (Program, Store, Vec<Packet>) {
    let program = program("ipv4");
    let tables = [folder("tests/engines/four.tables")];
    let loaded = load_store(&program.optimised, &tables, &|_| ());
    let (store, _) = loaded.unwrap_or_else(|error| panic!("{}", error.message));
    let spec = Spec { count: Some(count), ports: 4, ..Spec::default() };
    let mut generator = Generator::new(&spec).expect("it can be generated");
    let mut packets = Vec::new();
    let mut packet = Packet::default();
    while generator.fill(&mut packet) {
        packets.push(packet.clone());
    }
    (program, store, packets)
}

#[test]
fn a_router_switches_packets_to_their_ports() {
    let (program, store, packets) = forwarded(400);
    let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
    let options = Options::default();
    let machine = machine("raw-egress");
    let contender = Contender::new(machine, &program, &store, &options, &|_| ());
    let mut contender = contender.unwrap_or_else(|error| panic!("{}", error.message));
    let mut sent = [0; 4];
    let mut count = |output: wireloom_ir::Output<'_>| {
        if let wireloom_ir::Verdict::Sent { port } = output.verdict {
            sent[usize::from(port)] += 1;
        }
    };
    contender
        .offer(&program.optimised, &frames, &mut count)
        .and_then(|()| contender.finish(&program.optimised, &mut count))
        .unwrap_or_else(|error| panic!("{}", error.message));
    assert!(contender.difference.is_none(), "{:?}", contender.difference);
    // The machine fails if a packet leaves at a port other than golden's.
    assert!(sent.iter().all(|count| *count > 40), "{sent:?}");
}
