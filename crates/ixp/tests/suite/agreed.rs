//! Packets on golden and on the simulated chips.

use std::path::{Path, PathBuf};

use wireloom_ir::{Execute, Golden, Verdict};
use wireloom_ixp::Spec;
use wireloom_machine::{Configured, Options, Program, Source, Wanted, load_store};
use wireloom_net::Packet;

/// The root folder of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The number of a packet, its port, its verdict and its bytes.
type Departure = (u64, u16, Verdict, Vec<u8>);

/// Runs packets on golden and on a chip of each version, and compares the outputs and the tables.
pub fn agree_with(program: &Program, tables: &[PathBuf], packets: &[Packet]) {
    for name in ["ixp1200", "ixp2400"] {
        eprintln!("on {name}");
        let spec = Spec::installed(name).unwrap_or_else(|error| panic!("{error}"));
        agree_on(spec, program, tables, packets);
    }
}

/// The number of packets up to which events are checked.
const FEW: usize = 100;

/// Runs packets on golden and on one chip, and compares the outputs and the tables.
pub fn agree_on(mut spec: Spec, program: &Program, tables: &[PathBuf], packets: &[Packet]) {
    let stored = || load_store(&program.optimised, tables, &|_| ()).expect("tables").0;
    let mut expected: Vec<Departure> = Vec::new();
    let mut golden = Golden::new(program.optimised.clone(), stored());
    golden.execute(packets, &mut |output| {
        // The chip has ports 0 to 7, and does not show the bytes of dropped packets.
        let bytes = match output.verdict {
            Verdict::Dropped(_) | Verdict::Sent { port: 8.. } => &[],
            _ => output.bytes,
        };
        expected.push((output.sequence, output.ingress, output.verdict, bytes.to_vec()));
    });
    // Room for the longest packets.
    spec.ports.receive_mpkts = 256;
    // For a few packets, the events are checked against the rules of every machine.
    let options = Options { assertions: packets.len() <= FEW, ..Options::default() };
    let started = spec.start(program, stored(), &options, &|_| ());
    let mut machine = started.unwrap_or_else(|error| panic!("{}", error.message));
    let mut got: Vec<Departure> = Vec::new();
    let frames: Vec<_> = packets.iter().map(Packet::frame).collect();
    let mut keep = |output: wireloom_ir::Output<'_>| {
        got.push((output.sequence, output.ingress, output.verdict, output.bytes.to_vec()));
    };
    machine.offer(&frames, &mut keep).unwrap_or_else(|error| panic!("{}", error.message));
    machine.finish(&mut keep).unwrap_or_else(|error| panic!("{}", error.message));
    let mut last = std::collections::HashMap::new();
    for (number, ingress, verdict, _) in &got {
        if let Verdict::Sent { port } = verdict {
            // A short packet may arrive before a long one that began to arrive on another port.
            let before = last.insert((ingress, port), number);
            assert!(before <= Some(number), "{before:?} leaves before {number} by port {port}");
        }
    }
    got.sort_by_key(|(number, ..)| *number);
    for (got, expected) in got.iter().zip(&expected) {
        assert_eq!(got, expected, "the chip (left) against golden");
    }
    assert_eq!(got.len(), expected.len());
    machine.read_back(Wanted::All, &|_| ()).expect("it reads back");
    let differing = wireloom_machine::differences(golden.store(), machine.store());
    assert_eq!(differing.len(), 0, "rows of tables differ");
}

/// Frames of random bytes and of many lengths, on all ports.
pub fn noise(seed: u64, count: usize) -> Vec<Packet> {
    let mut rng = wireloom_sim::Rng::new(seed, "noise");
    let packet = |number: usize| {
        let mut bytes = vec![0; 1 + rng.below(260) as usize];
        bytes.iter_mut().for_each(|byte| *byte = rng.below(256) as u8);
        if bytes.len() > 3 && rng.below(4) > 0 {
            bytes[2..4].copy_from_slice(&[0, rng.below(8) as u8]);
        }
        let arrival_ns = 300_000 * number as u64;
        Packet { ingress: (number % 8) as u16, arrival_ns, bytes }
    };
    (0..count).map(packet).collect()
}

/// A program of the tests' own folder.
pub fn own_program(name: &str) -> Program {
    let file = root().join(format!("crates/ixp/tests/{name}.loom"));
    Source::of(file).compiled().unwrap_or_else(|error| panic!("{}", error.message))
}
