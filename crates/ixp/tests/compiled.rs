//! Engines in Loom C on the simulated chip, next to golden.

use std::path::{Path, PathBuf};

use wireloom_ir::{Execute, Golden, Verdict};
use wireloom_ixp::Spec;
use wireloom_machine::{Configured, Options, Program, Source, Wanted, load_store};
use wireloom_net::Packet;
use wireloom_net::capture::Reader;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn program(name: &str, set: &[(&str, &str)]) -> Program {
    let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let file = root().join(format!("programs/{name}.loom"));
    let source = Source { set: set.collect(), ..Source::of(file) };
    source.compiled().unwrap_or_else(|error| panic!("{}", error.message))
}

fn captured() -> Vec<Packet> {
    let reader = Reader::open(&root().join("programs/captures/first.pcapng")).expect("it opens");
    let mut packets: Vec<Packet> = reader.map(|packet| packet.expect("a packet")).collect();
    // So far apart that none is lost.
    for (number, packet) in packets.iter_mut().enumerate() {
        packet.arrival_ns = 20_000 * number as u64;
    }
    packets
}

/// A file with those tables of another that the program has.
fn known(program: &Program, tables: &str, folder: &Path) -> PathBuf {
    let text = std::fs::read_to_string(root().join("programs/tables").join(tables)).expect("tables");
    let engine = &program.optimised.engines[program.optimised.main.index()];
    let mut is_known = true;
    let is_kept = |line: &&str| {
        if let Some(name) = line.strip_prefix("table ") {
            is_known = engine.offloads.iter().any(|offload| offload.name == name.trim());
        }
        is_known
    };
    let kept: Vec<&str> = text.lines().filter(is_kept).collect();
    let file = folder.join("known.tables");
    std::fs::write(&file, kept.join("\n")).expect("a file");
    file
}

type Left = (u64, Verdict, Vec<u8>);

/// Runs packets on golden and on the chip, and compares what leaves and the tables.
fn agree(program: &Program, tables: &str, packets: &[Packet]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tables = [known(program, tables, folder.path())];
    let stored = || load_store(&program.optimised, &tables, &|_| ()).expect("tables").0;
    let mut expected: Vec<Left> = Vec::new();
    let mut golden = Golden::new(program.optimised.clone(), stored());
    golden.execute(packets, &mut |output| {
        let bytes = if matches!(output.verdict, Verdict::Dropped(_)) { &[] } else { output.bytes };
        expected.push((output.sequence, output.verdict, bytes.to_vec()));
    });
    let spec = Spec::base();
    let started = spec.start(program, stored(), &Options::default(), &|_| ());
    let mut machine = started.unwrap_or_else(|error| panic!("{}", error.message));
    let mut got: Vec<Left> = Vec::new();
    let frames: Vec<_> = packets.iter().map(Packet::frame).collect();
    let mut keep = |output: wireloom_ir::Output<'_>| {
        got.push((output.sequence, output.verdict, output.bytes.to_vec()));
    };
    machine.offer(&frames, &mut keep).unwrap_or_else(|error| panic!("{}", error.message));
    machine.finish(&mut keep).unwrap_or_else(|error| panic!("{}", error.message));
    got.sort_by_key(|(number, ..)| *number);
    for (got, expected) in got.iter().zip(&expected) {
        assert_eq!(got, expected, "the chip (left) against golden");
    }
    assert_eq!(got.len(), expected.len());
    machine.read_back(Wanted::All, &|_| ()).expect("it reads back");
    let differing = wireloom_machine::differences(golden.store(), machine.store());
    assert_eq!(differing.len(), 0, "rows of tables differ");
}

#[test]
fn ipv4_forwards_as_golden_does() {
    agree(&program("ipv4", &[]), "small.tables", &captured());
}
