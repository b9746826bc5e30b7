//! Packet tails in memories as in the paper's versions I to III: by masks, lines and streams, over
//! the memory network and through switches. Also the machines of these versions.

use std::sync::Arc;

use wireloom_machine::{Configured, Contender, Options, Program, load_store};
use wireloom_net::traffic::{Generator, Sizes, Spec};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::Store;

use super::mapping::{agree, compiled, machine};
use super::programs::{self, folder, program};

const COLUMNS: &str = "chains = [[[0, 0], [0, 1], [0, 2]], [[1, 0], [1, 1], [1, 2]], \
                       [[2, 0], [2, 1], [2, 2]], [[3, 0], [3, 1], [3, 2]]]\noutputs = \"egress\"\n";
const QUEUES: &str = "[mapping.queues]\ntiles = [[0, 3], [1, 3], [2, 3], [3, 3]]\nmemory = \"tile\"\n\
                      bytes = 16384\nready = \"interrupts\"\nnetwork = \"general\"\n";
const FOUR: &str = "[[0, 1], [0, 3], [3, 3], [3, 1]]";

/// Returns a machine with tails in memories at tiles, with more lines in the section.
fn resting(mapping: &str, tiles: &str, more: &str) -> Result<Arc<dyn Configured>, String> {
    let rest = format!(
        "[mapping.rest]\nkeep = \"memory\"\nwords = 8\npackets = 3\nmemories = {tiles}\n{more}"
    );
    machine(&format!("[mapping]\n{mapping}\n{rest}\n"))
}

fn rested(mapping: &str, tiles: &str, more: &str) -> Arc<dyn Configured> {
    resting(mapping, tiles, more).unwrap_or_else(|error| panic!("{more}: {error}"))
}

/// Returns packets of the given lengths, from the ports in turn.
fn packets(lengths: impl Iterator<Item = usize>, ports: u16) -> Vec<Packet> {
    let packet = |(number, length): (usize, usize)| {
        let bytes = (0..length).map(|at| (number * 37 + at * 13 + (at >> 8)) as u8).collect();
        Packet { ingress: number as u16 % ports, arrival_ns: 0, bytes }
    };
    lengths.enumerate().map(packet).collect()
}

fn lengths() -> impl Iterator<Item = usize> {
    (0..=2).chain(29..=34).chain(61..=66).chain(92..=95).chain([300, 1500, 9000])
}

#[test]
fn rests_go_to_memories_by_every_protocol_on_every_network() {
    for (network, protocol, requests) in [
        ("memory", "dma", 1),
        ("memory", "lines", 9),
        ("static", "lines", 1),
        ("static", "lines", 4),
        ("static", "dma", 2),
        ("static", "stream", 2),
        ("static", "stream", 3),
    ] {
        let more =
            format!("network = \"{network}\"\nprotocol = \"{protocol}\"\nrequests = {requests}");
        let columns = rested(&format!("{COLUMNS}{QUEUES}"), FOUR, &more);
        agree(&columns, &compiled("cut.loom"), &packets(lengths(), 4));
        let more = format!("{more}\nduplex = \"half\"");
        // One path leaves the chain at its first tile, another runs along all of it.
        let row = "chains = [[[0, 0], [1, 0], [2, 0]]]";
        for tiles in ["[[0, 3]]", "[[3, 0]]"] {
            agree(&rested(row, tiles, &more), &compiled("plain.loom"), &packets(lengths(), 1));
        }
    }
    // Paths off the chain from each of its tiles, and chains of one tile.
    let more = "network = \"static\"\nprotocol = \"stream\"";
    for (mapping, tiles) in [
        ("chains = [[[1, 0], [1, 1], [1, 2], [1, 3]]]\nstate_owner = [2, 3]", "[[3, 1]]"),
        ("chains = [[[1, 0]], [[1, 3]]]\nstate_owner = [1, 1]", "[[0, 1], [3, 2]]"),
    ] {
        agree(&rested(mapping, tiles, more), &compiled("counted.loom"), &packets(lengths(), 5));
    }
}

/// Runs packets on a machine and compares them with golden.
fn verifies(machine: Arc<dyn Configured>, program: &Program, store: &Store, packets: &[Packet]) {
    let name = machine.name().to_owned();
    let contender = Contender::new(machine, program, store, &Options::default(), &|_| ());
    let mut contender = contender.unwrap_or_else(|error| panic!("{name}: {}", error.message));
    let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
    contender
        .offer(&program.optimised, &frames, &mut |_| ())
        .and_then(|()| contender.finish(&program.optimised, &mut |_| ()))
        .unwrap_or_else(|error| panic!("{name}: {}", error.message));
    assert!(contender.difference.is_none(), "{name}: {:?}", contender.difference);
    assert_eq!(contender.compared, packets.len() as u64, "{name}");
}

/// Returns a program with its tables, and packets of 64 to 1,500 bytes for it from several ports.
fn mixed(name: &str, mix: &str, count: u64, ports: u16) -> (Program, Store, Vec<Packet>) {
    let program = program(name);
    let of = |(kind, file): (&str, &'static str)| mix.contains(kind).then_some(file);
    let kinds = [("ipv4", "mixed4"), ("ipv6", "mixed6"), ("mpls", "mixed_labels")];
    let files = std::iter::once("mixed").chain(kinds.into_iter().filter_map(of));
    let files: Vec<_> =
        files.map(|file| folder("tests/engines").join(file).with_extension("tables")).collect();
    let loaded = load_store(&program.optimised, &files, &|_| ());
    let (store, _) = loaded.unwrap_or_else(|error| panic!("{name}: {}", error.message));
    let spec = Spec {
        count: Some(count),
        ports,
        mix: mix.parse().expect("a mix"),
        labels: "16..19".parse().expect("labels"),
        sizes: Sizes::Imix,
        ..Spec::default()
    };
    let packets = Generator::new(&spec).expect("it can be generated").collect();
    (program, store, packets)
}

#[test]
fn routers_forward_mixed_packets_on_the_machines_of_the_versions() {
    for (version, name, mix, ports) in [
        ("raw-version-1", "router", "ipv4,ipv6,mpls1..3", 4),
        ("raw-version-2", "mpls", "mpls1..3", 4),
        ("raw-version-3", "router", "ipv4,ipv6,mpls1..3", 4),
        ("raw-version-3d", "router", "ipv4,ipv6,mpls1..3", 4),
        // Two lines are idle.
        ("raw-version-3", "ipv6", "ipv6", 2),
        ("raw-version-3d", "ipv4", "ipv4", 2),
        ("raw-version-5", "ipv4", "ipv4", 2),
        ("raw-version-5", "router", "ipv4,ipv6,mpls1..3", 4),
    ] {
        let (program, store, packets) = mixed(name, mix, 24, ports);
        verifies(programs::machine(version), &program, &store, &packets);
    }
}

#[test]
fn slow_memories_hold_up_packets_and_change_none() {
    let (program, store, packets) = mixed("ipv4", "ipv4", 12, 4);
    for version in ["raw-version-1", "raw-version-2", "raw-version-3", "raw-version-3d"] {
        let text = format!(
            "extends = \"{version}\"\nabout = \"slow\"\n[memory]\nlatency_cycles = 150\noutstanding = 1\n"
        );
        let file = std::env::temp_dir().join(format!("slow-{}-{version}.toml", std::process::id()));
        std::fs::write(&file, text).expect("a file");
        let machine = programs::machine(&file.to_string_lossy());
        std::fs::remove_file(&file).expect("it is there");
        verifies(machine, &program, &store, &packets);
    }
}

#[test]
fn rests_that_have_no_way_are_refused_by_key() {
    let switched = "network = \"static\"\nprotocol = \"stream\"";
    let row = "chains = [[[0, 0], [1, 0], [2, 0]]]";
    let columns = format!("{COLUMNS}{QUEUES}");
    let polling = columns.replace("interrupts", "polling");
    let queued = columns.replace("network = \"general\"", "network = \"static\"");
    let replicas = format!("{row}\nreplicas = [1, 2]");
    for (mapping, tiles, more, why) in [
        (row, "[[3, 3]]", "protocol = \"stream\"", "streams go over the static network: say"),
        (row, "[[3, 3]]", "network = \"general\"", "unknown variant `general`"),
        (row, "[[3, 3]]", "protocol = \"cells\"", "unknown variant `cells`"),
        (row, "[[3, 3]]", "duplex = \"none\"", "unknown variant `none`"),
        (row, "[[3, 3]]", "requests = 0", "`mapping.rest.requests` is 0; it can be 1 to 64"),
        (row, "[[3, 3]]", "requests = 65", "`mapping.rest.requests` is 65; it can be 1 to 64"),
        (&replicas, "[[3, 3]]", switched, "leave out `mapping.replicas`"),
        (&columns, "[[0, 1], [3, 1]]", switched, "name 4 tiles in `memories`, and not 2"),
        // Every path from column 0 to tile 7 crosses another path.
        (
            &columns,
            "[[3, 1], [0, 3], [3, 3], [0, 1]]",
            switched,
            "packets of chain 0 have no way by switches to the memory at tile (3,1)",
        ),
        (&queued, FOUR, switched, "packets of chain 1 have no way"),
        (&polling, FOUR, switched, "packets of chain 1 have no way"),
    ] {
        let error = resting(mapping, tiles, more).err().unwrap_or_else(|| panic!("{why}"));
        assert!(error.contains(why), "{error}");
    }
    for (key, value) in [("network", "static"), ("protocol", "dma"), ("duplex", "half")] {
        let text = format!(
            "[mapping]\n{row}\n[mapping.rest]\nkeep = \"card\"\nwords = 16\npackets = 16\n{key} = \"{value}\"\n"
        );
        let error = machine(&text).err().unwrap_or_else(|| panic!("{key}"));
        assert!(
            error.contains(&format!("`mapping.rest.{key}` is for `keep = \"memory\"`")),
            "{error}"
        );
    }
    let twice = rested(row, "[[0, 3]]", switched).refusals(&compiled("lengths.loom"));
    assert!(twice[0].message.contains("let one rest pass before each message"), "{twice:?}");
    assert_eq!(twice[0].step.as_deref(), Some("send"), "{twice:?}");
    let half = rested(&columns, FOUR, "duplex = \"half\"").refusals(&compiled("plain.loom"));
    assert!(half[0].message.contains("requests and lines could wait for each other"), "{half:?}");
}
