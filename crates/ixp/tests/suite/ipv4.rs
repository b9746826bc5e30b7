//! Compares the hand-written IPv4 forwarders, programs/microcode/ipv4.uc and ipv4_version2.uc, with
//! golden running programs/ipv4.loom.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use wireloom_ir::{Output, Reason, ReasonSetId, Verdict};
use wireloom_isa::microengine::{Image, Version};
use wireloom_ixp::network::NetworkKind;
use wireloom_ixp::{Ixp, Options, Processor, Program, Spec, assertions};
use wireloom_machine::{Machine, Source, golden, load_store};
use wireloom_net::Frame;
use wireloom_offloads::Store;
use wireloom_sim::parts::line::Pace;
use wireloom_sim::{Clock, Rng};

/// Routes of destinations and of sources: address, length, kind, next hop.
const ROUTES: [([u8; 4], u8, u8, u16); 13] = [
    ([10, 0, 0, 0], 8, 1, 0),
    ([10, 1, 0, 0], 16, 1, 1),
    ([10, 1, 2, 0], 24, 1, 2),
    ([10, 1, 2, 128], 25, 1, 3),
    ([10, 1, 2, 129], 32, 2, 0),
    ([10, 1, 3, 255], 32, 3, 0),
    ([10, 2, 0, 0], 15, 1, 1),
    ([172, 16, 0, 0], 12, 4, 0),
    ([192, 168, 0, 0], 16, 5, 0),
    ([192, 168, 4, 0], 22, 6, 0),
    ([192, 168, 7, 0], 30, 1, 4),
    ([198, 51, 100, 0], 24, 1, 3),
    ([203, 0, 113, 64], 27, 1, 2),
];

/// Neighbours: port, link-layer address, MTU. The last neighbour's address is not known.
const NEXT_HOPS: [(u16, u64, u16); 5] = [
    (0, 0x0200_0000_0100, 1500),
    (1, 0x0200_0000_0101, 1500),
    (2, 0x0200_0000_0102, 40),
    (3, 0x0200_0000_0103, 1500),
    (2, 0, 1500),
];

const OWN: u64 = 0x0200_0000_0001;
const PORTS: u32 = 4;

// Word addresses in SRAM.
const PORTS_AT: u32 = 0x100;
const NEXT_HOPS_AT: u32 = 0x200;
const TRIE_AT: u32 = 0x1_0000;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn tables() -> String {
    let mac = |mac: u64| {
        let bytes = &mac.to_be_bytes()[2..];
        bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
    };
    let mut text = String::from("table ports\n");
    for port in 0..PORTS {
        text += &format!("{port} mac={}\n", mac(OWN + u64::from(port)));
    }
    text += "table next_hops\n";
    for (number, (port, neighbour, mtu)) in NEXT_HOPS.iter().enumerate() {
        let (dst, src) = (mac(*neighbour), mac(OWN + u64::from(*port)));
        text += &format!("{number} port={port} dst={dst} src={src} mtu={mtu}\n");
    }
    for table in ["destinations4", "sources4"] {
        text += &format!("table {table}\n");
        for ([a, b, c, d], length, kind, hop) in ROUTES {
            text += &format!("{a}.{b}.{c}.{d}/{length} next_hop={hop} kind={kind}\n");
        }
    }
    text
}

/// Writes the tables to SRAM, in the layout that the program explains.
fn fill(sram: &mut [u32]) {
    for port in 0..PORTS {
        let mac = OWN + u64::from(port);
        let at = (PORTS_AT + 2 * port) as usize;
        (sram[at], sram[at + 1]) = ((mac >> 16) as u32, (mac << 16) as u32);
    }
    for (number, (port, dst, mtu)) in NEXT_HOPS.iter().enumerate() {
        let src = OWN + u64::from(*port);
        let words = [
            (dst >> 16) as u32,
            (dst << 16) as u32 | (src >> 32) as u32,
            src as u32,
            u32::from(*port) << 16 | u32::from(*mtu),
        ];
        sram[NEXT_HOPS_AT as usize + 4 * number..][..4].copy_from_slice(&words);
    }
    let mut routes = ROUTES;
    routes.sort_by_key(|(_, length, ..)| *length);
    let mut free = TRIE_AT + 0x1_0000;
    for (address, length, kind, hop) in routes {
        let entry = u32::from(kind) << 24 | u32::from(hop);
        let address = u32::from_be_bytes(address);
        let (mut table, mut index, mut bits) = (TRIE_AT, address >> 16, 16);
        while length > bits {
            let at = (table + index) as usize;
            if sram[at] >> 31 == 0 {
                // A new node starts with copies of the entry that it replaces.
                let before = sram[at];
                sram[free as usize..][..16].fill(before);
                sram[at] = 1 << 31 | free;
                free += 16;
            }
            table = sram[at] & 0x7fff_ffff;
            index = address >> (28 - bits) & 15;
            bits += 4;
        }
        // Shorter prefixes come first, so no entry of a longer prefix is here yet.
        let count = 1 << (bits - length);
        sram[(table + index) as usize..][..count].fill(entry);
    }
}

fn image(file: &str) -> Image {
    let path = root().join("programs/microcode").join(file);
    let text = std::fs::read_to_string(&path).expect("the program");
    let options = wireloom_microcode::Options::default();
    let mut read = |file: &Path| std::fs::read_to_string(file).map_err(|error| error.to_string());
    let path = path.to_string_lossy();
    let image = wireloom_microcode::assemble(&path, &text, &options, &mut read);
    let mut image = image.unwrap_or_else(|refused| panic!("{}", refused.render(false)));
    let mut values = vec![("PORTS", PORTS_AT), ("TRIE", TRIE_AT), ("NEXT_HOPS", NEXT_HOPS_AT)];
    if image.version == Version::One {
        values.push(("PORT_MASK", PORTS - 1));
    }
    wireloom_microcode::supply(&mut image, &values).expect("all names have values");
    image
}

/// A machine with changes to its description.
fn machine(change: impl FnOnce(&mut Spec)) -> Ixp {
    let mut spec = Spec::base();
    spec.ports.count = PORTS;
    change(&mut spec);
    // Engines 0 to 3: sixteen threads, with a receive element each.
    start(&spec, vec![(loaded(&spec, "ipv4.uc"), 0b1111); 4])
}

/// A machine of version 2, with changes to its description.
fn second(name: &str, change: impl FnOnce(&mut Spec)) -> Ixp {
    let mut spec = Spec::installed(name).expect("a machine");
    spec.ports.count = PORTS;
    change(&mut spec);
    let program = loaded(&spec, "ipv4_version2.uc");
    start(&spec, vec![(program, 0xff); spec.engines as usize])
}

fn loaded(spec: &Spec, file: &str) -> Program {
    Program::load(image(file), spec.engine.control_store).expect("it loads")
}

fn start(spec: &Spec, programs: Vec<(Program, u8)>) -> Ixp {
    let options = Options { trace_events: 1 << 20, ..Options::default() };
    let mut processor = Processor::new(spec, programs, &options).expect("a machine");
    fill(processor.chip.sram.words_mut());
    let reasons = (0..31).map(|number| Reason::Program(ReasonSetId(0), number)).collect();
    Ixp::new(processor, Store::default(), reasons)
}

fn checksum(header: &[u8]) -> u16 {
    let words = header.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]));
    let mut sum: u32 = words.sum();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// A frame of at most 64 bytes. About half of the frames are ordinary packets; the others have a
/// fault.
fn frame(rng: &mut Rng, port: u16) -> Vec<u8> {
    let address = |rng: &mut Rng| -> [u8; 4] {
        let (base, ..) = ROUTES[rng.below(ROUTES.len() as u64) as usize];
        let [a, b, c, d] = base;
        match rng.below(8) {
            0 => [rng.below(256) as u8, b, c, d],
            1 => [224, 0, rng.below(2) as u8, 5],
            2 => [a, b, c, rng.below(256) as u8],
            _ => [a, b, c, d | 1],
        }
    };
    let mut bytes = vec![0; 60 + rng.below(5) as usize];
    let own = OWN + u64::from(port) + u64::from(rng.below(16) == 0) * 0x1000;
    bytes[..6].copy_from_slice(&own.to_be_bytes()[2..]);
    if rng.below(16) == 0 {
        bytes[0] |= 1;
    }
    bytes[6..12].copy_from_slice(&[2, 0, 0, 0, 9, 9]);
    let types = [0x0806_u16, 0x88cc, 0x0100, 0x1234];
    let kind = if rng.below(12) == 0 { types[rng.below(4) as usize] } else { 0x0800 };
    bytes[12..14].copy_from_slice(&kind.to_be_bytes());
    let total = 20 + rng.below(u64::from(bytes.len() as u32 - 34) + 1) as u16;
    let header = &mut bytes[14..34];
    header[0] = 0x45;
    header[2..4].copy_from_slice(&total.to_be_bytes());
    header[8] = if rng.below(10) == 0 { rng.below(3) as u8 } else { 64 };
    header[9] = 17;
    let (src, dst) = (address(rng), address(rng));
    header[12..16].copy_from_slice(&src);
    header[16..20].copy_from_slice(&dst);
    match rng.below(24) {
        0 => header[0] = 0x46,
        1 => header[0] = 0x65,
        2 => header[2] = 1,
        3 => header[16..20].fill(255),
        _ => {}
    }
    let sum = checksum(header) ^ u16::from(rng.below(20) == 0);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    bytes[34..].iter_mut().for_each(|byte| *byte = rng.below(256) as u8);
    bytes
}

type Verdicts = BTreeMap<u64, (Verdict, Vec<u8>)>;

fn run(machine: &mut dyn Machine, frames: &[Frame<'_>]) -> Verdicts {
    let mut left = BTreeMap::new();
    let mut keep = |output: Output<'_>| {
        let bytes = match output.verdict {
            Verdict::Dropped(_) => Vec::new(),
            _ => output.bytes.to_vec(),
        };
        left.insert(output.sequence, (output.verdict, bytes));
    };
    machine.offer(frames, &mut keep).unwrap_or_else(|error| panic!("{error}"));
    machine.finish(&mut keep).unwrap_or_else(|error| panic!("{error}"));
    left
}

#[test]
fn the_hand_written_forwarder_does_what_golden_does() {
    does_what_golden_does(machine(|spec| spec.ports.rate = 1_000_000_000));
}

#[test]
fn the_forwarder_of_version_2_does_what_golden_does() {
    does_what_golden_does(second("ixp2800", |_| ()));
}

#[test]
#[ignore = "takes long: make test-all"]
fn the_forwarder_of_version_2_does_what_golden_does_on_every_network() {
    for (kind, _) in NetworkKind::ALL {
        does_what_golden_does(second("ixp2400", |spec| spec.command_bus.kind = kind));
    }
}

fn does_what_golden_does(mut machine: Ixp) {
    let mut file = tempfile::NamedTempFile::with_suffix(".tables").expect("a file");
    file.write_all(tables().as_bytes()).expect("room");
    let source = Source {
        set: vec![("COUNT_FLOWS".into(), "false".into())],
        ..Source::of(root().join("programs/ipv4.loom"))
    };
    let program = source.compiled().unwrap_or_else(|error| panic!("{error}"));
    let paths = [file.path().to_owned()];
    let (store, _) = load_store(&program.optimised, &paths, &|_| ()).expect("tables");
    let mut golden = golden::machine()
        .start(&program, store, &wireloom_machine::Options::default(), &|_| ())
        .expect("golden");
    let mut rng = Rng::new(7, "frames");
    let packets: Vec<(u16, Vec<u8>)> = (0..3000)
        .map(|number| {
            let port = (number % PORTS) as u16;
            (port, frame(&mut rng, port))
        })
        .collect();
    let frames: Vec<Frame<'_>> = packets
        .iter()
        .enumerate()
        .map(|(number, (ingress, bytes))| Frame {
            ingress: *ingress,
            arrival_ns: 2_000 * number as u64,
            bytes,
        })
        .collect();
    let expected = run(golden.as_mut(), &frames);
    let found = run(&mut machine, &frames);
    let trace = &machine.processor().chip.trace;
    assert!(trace.events().len() > 100_000);
    assert_eq!(assertions::check(&assertions::rules(), trace, true), []);
    assert_eq!(found.len(), expected.len());
    for (number, expected) in &expected {
        assert_eq!(
            found.get(number),
            Some(expected),
            "packet {number}: {:x?}",
            packets[*number as usize]
        );
    }
    let verdicts: std::collections::BTreeSet<Verdict> =
        expected.values().map(|(verdict, _)| *verdict).collect();
    assert!(verdicts.len() > 20, "{verdicts:?}");
}

/// The rate at which 60-byte frames are forwarded, in million packets a second, and the use of the
/// parts. All frames must be forwarded. The ports offer more than the chip can take.
fn rate(change: impl FnOnce(&mut Spec)) -> (f64, Vec<(&'static str, f64)>) {
    let mut machine = machine(|spec| {
        // Neither the lines nor the port buffers may limit the rate.
        (spec.ports.rate, spec.ports.pace) = (10_000_000_000, Pace::Line);
        spec.ports.receive_mpkts = 1024;
        change(spec);
    });
    let mut bytes = [0; 60];
    bytes[12] = 8;
    let header = &mut bytes[14..34];
    header[0] = 0x45;
    (header[3], header[8]) = (46, 64);
    header[12..16].copy_from_slice(&[10, 9, 0, 1]);
    header[16..20].copy_from_slice(&[198, 51, 100, 7]);
    let sum = checksum(header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    let packets: Vec<(u16, [u8; 60])> = (0..4000)
        .map(|number| {
            let port = (number % PORTS) as u16;
            let mut bytes = bytes;
            bytes[..6].copy_from_slice(&(OWN + u64::from(port)).to_be_bytes()[2..]);
            (port, bytes)
        })
        .collect();
    let frames: Vec<Frame<'_>> = packets
        .iter()
        .map(|(ingress, bytes)| Frame { ingress: *ingress, arrival_ns: 0, bytes })
        .collect();
    let left = run(&mut machine, &frames);
    let sent = |(verdict, _): &&(Verdict, Vec<u8>)| matches!(verdict, Verdict::Sent { port: 3 });
    assert_eq!((left.values().filter(sent).count(), left.len()), (4000, 4000));
    let seconds = machine.processor().now().as_seconds();
    (left.len() as f64 / seconds / 1e6, machine.processor().utilisation())
}

#[test]
fn the_rate_of_minimum_packets_is_at_most_that_of_the_bus_to_the_ports() {
    let full = |parts: &[(&'static str, f64)]| {
        let most = parts.iter().max_by(|a, b| a.1.total_cmp(&b.1));
        *most.expect("there are parts")
    };
    for mhz in [40_u64, 80, 104, 160] {
        let (rate, parts) = rate(|spec| spec.ix_bus.clock = Clock::hertz(mhz * 1_000_000));
        let (part, share) = full(&parts);
        eprintln!("IX bus of {mhz} MHz: {rate:.2} MPPS, {part} {:.0} % used", 100.0 * share);
        // In and out, each takes 8 beats and an overhead of 4 cycles.
        let bound = mhz as f64 / 24.0;
        assert!(rate <= bound * 1.001, "{rate} of {bound}");
        if mhz == 40 {
            assert!(rate >= bound * 0.99 && part == "ix bus", "{rate} of {bound}: {parts:?}");
        }
    }
    // On a duplex bus, a packet takes 12 cycles in each direction, and no direction is in use for
    // more than all of the time.
    let (rate, parts) = rate(|spec| {
        (spec.ix_bus.clock, spec.ix_bus.duplex) = (Clock::hertz(20_000_000), true);
    });
    let (bound, (part, share)) = (20.0 / 12.0, full(&parts));
    assert!((bound * 0.99..bound * 1.001).contains(&rate), "{rate} of {bound}");
    assert!(part == "ix bus" && (0.98..=1.0).contains(&share), "{parts:?}");
}
