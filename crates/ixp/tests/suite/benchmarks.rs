//! Checks the microcode benchmarks (programs/microcode/benchmarks) against golden and against
//! models.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write as _;
use std::ops::Range;
use std::path::Path;

use wireloom_ir::{Output, Reason, ReasonSetId, Verdict};
use wireloom_isa::microengine::{Operation, Unit};
use wireloom_ixp::benchmarks::{
    Benchmark, Binding, Contents, Generated, Mapping, Role, Traffic, Turn, processor,
};
use wireloom_ixp::trace::{Traced, What};
use wireloom_ixp::{Ixp, Options, Processor, Spec, assertions};
use wireloom_machine::{Machine, Source, golden, load_store};
use wireloom_net::Frame;
use wireloom_offloads::Store;
use wireloom_sim::parts::line::Pace;
use wireloom_sim::{Rng, Time};

const PORTS: u16 = 4;

fn spec(change: impl FnOnce(&mut Spec)) -> Spec {
    let mut spec = Spec::base();
    spec.ports.count = PORTS.into();
    spec.ports.rate = 1_000_000_000;
    change(&mut spec);
    spec
}

fn traffic(benchmark: Benchmark, seed: u64) -> Traffic {
    Traffic { benchmark, ports: PORTS, sizes: Traffic::mix(), seed }
}

fn reason(number: u16) -> Reason {
    Reason::Program(ReasonSetId(0), number)
}

fn started(contents: &Contents, mapping: &Mapping, spec: &Spec, trace: usize) -> Processor {
    let options = Options { trace_events: trace, ..Options::default() };
    processor(contents, mapping, spec, &options, ()).unwrap_or_else(|error| panic!("{error}"))
}

fn machine(contents: &Contents, mapping: &Mapping, spec: &Spec) -> Ixp {
    let processor = started(contents, mapping, spec, 1 << 18);
    Ixp::new(processor, Store::default(), (0..31).map(reason).collect())
}

/// Packets of many lengths and with many faults. Every third one is unchanged.
fn damaged(traffic: &Traffic, count: usize) -> Vec<Generated> {
    let mut rng = Rng::new(traffic.seed, "damage");
    let packets = traffic.packets().take(count).enumerate();
    packets
        .map(|(number, Generated { port, mut bytes })| {
            if number % 3 != 0 {
                let length = bytes.len() as u64;
                match rng.below(8) {
                    0 => bytes.truncate(1 + rng.below(length) as usize),
                    1 => bytes.truncate(1 + rng.below(length.min(60)) as usize),
                    2 => {
                        // A header with options, as long as its length field says.
                        let words = rng.below(11) as usize;
                        bytes[14] = 0x45 + words as u8;
                        bytes.splice(34..34, std::iter::repeat_n(1, 4 * words));
                        bytes.truncate(1514);
                        let total = (bytes.len() - 14) as u16;
                        bytes[16..18].copy_from_slice(&total.to_be_bytes());
                    }
                    3 => {
                        // A total length shorter or longer than the packet.
                        let total = rng.below(length + 20) as u16;
                        bytes[16..18].copy_from_slice(&total.to_be_bytes());
                    }
                    _ => {
                        let at = 12 + rng.below(48) as usize;
                        bytes[at] ^= 1 << rng.below(8);
                    }
                }
            }
            // The benchmarks do not handle tags, IPv6 and labels.
            let ethertype = bytes.get(12..14).map(|two| u16::from_be_bytes([two[0], two[1]]));
            if matches!(ethertype, Some(0x8100 | 0x88a8 | 0x86dd | 0x8847)) {
                bytes[12] = 8;
            }
            Generated { port, bytes }
        })
        .collect()
}

/// The verdict and the bytes of each packet, by packet number.
type Verdicts = BTreeMap<u64, (Verdict, Vec<u8>)>;

/// Runs packets at this interval.
fn run(machine: &mut dyn Machine, packets: &[Generated], interval_ns: u64) -> Verdicts {
    let mut left = BTreeMap::new();
    let mut keep = |output: Output<'_>| {
        let bytes = match output.verdict {
            Verdict::Dropped(_) => Vec::new(),
            _ => output.bytes.to_vec(),
        };
        left.insert(output.sequence, (output.verdict, bytes));
    };
    let frames: Vec<Frame<'_>> = packets
        .iter()
        .enumerate()
        .map(|(number, packet)| Frame {
            ingress: packet.port,
            arrival_ns: interval_ns * number as u64,
            bytes: &packet.bytes,
        })
        .collect();
    machine.offer(&frames, &mut keep).unwrap_or_else(|error| panic!("{error}"));
    machine.finish(&mut keep).unwrap_or_else(|error| panic!("{error}"));
    left
}

fn golden(program: &str, tables: &str, set: &[(&str, &str)]) -> Box<dyn Machine> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let set = set.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let source = Source { set, ..Source::of(root.join("programs").join(program)) };
    let program = source.compiled().unwrap_or_else(|error| panic!("{error}"));
    let mut file = tempfile::NamedTempFile::with_suffix(".tables").expect("a file");
    file.write_all(tables.as_bytes()).expect("room");
    let paths = [file.path().to_owned()];
    let (store, _) = load_store(&program.optimised, &paths, &|_| ()).expect("tables");
    let options = wireloom_machine::Options::default();
    golden::machine().start(&program, store, &options, &|_| ()).expect("golden")
}

fn assert_equal(found: &Verdicts, expected: &Verdicts, packets: &[Generated]) {
    assert_eq!(found.len(), expected.len());
    for (number, expected) in expected {
        let packet = &packets[*number as usize];
        assert_eq!(found.get(number), Some(expected), "packet {number}: {packet:x?}");
    }
}

/// An interval in nanoseconds at which ports lose nothing and packets hardly ever overlap.
const APART: u64 = 25_000;

/// Runs of single packets, spread over engines or on few engines; and runs with multi-packet turns,
/// in which all packets arrive at once.
fn runs() -> [(Mapping, u64); 4] {
    [
        (Mapping::split(4, 2), APART),
        (Mapping::usual(2), APART),
        (Mapping::split(4, 2).with_turn(Turn::Two), 0),
        (Mapping::split(5, 1).with_turn(Turn::Four), 0),
    ]
}

/// Enlarges the ports so that they lose nothing when all packets arrive at once.
fn large_ports(spec: &mut Spec) {
    spec.ports.rate = 10_000_000_000;
    (spec.ports.receive_mpkts, spec.ports.transmit_mpkts) = (4096, 4096);
}

/// Compares a benchmark with golden, and checks assertions over its runs.
fn held_to_golden(traffic: &Traffic, golden: &mut dyn Machine, kinds: usize) {
    let packets = damaged(traffic, 600);
    let expected = run(golden, &packets, 0);
    for (mapping, interval_ns) in runs() {
        let spec = spec(|spec| {
            if interval_ns == 0 {
                large_ports(spec)
            }
        });
        let mut machine = machine(&traffic.contents(), &mapping, &spec);
        let found = run(&mut machine, &packets, interval_ns);
        assert_equal(&found, &expected, &packets);
        let trace = &machine.processor().chip.trace;
        assert_eq!(assertions::check(&assertions::rules(), trace, false), []);
    }
    let verdicts: BTreeSet<Verdict> = expected.values().map(|(verdict, _)| *verdict).collect();
    assert!(verdicts.len() >= kinds, "{verdicts:?}");
}

fn mac(mac: u64) -> String {
    let bytes = &mac.to_be_bytes()[2..];
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

#[test]
fn ipfwdr_does_what_golden_does() {
    let traffic = traffic(Benchmark::Ipfwdr, 1);
    let Contents::Ipfwdr { ports, routes, next_hops } = traffic.contents() else {
        panic!("it has routes");
    };
    let mut text = String::from("table ports\n");
    for (number, port) in ports.iter().enumerate() {
        text += &format!("{number} mac={}\n", mac(port.mac));
    }
    text += "table next_hops\n";
    for (number, hop) in next_hops.iter().enumerate() {
        let (dst, src) = (mac(hop.neighbour), mac(hop.own));
        text += &format!("{number} port={} dst={dst} src={src} mtu={}\n", hop.port, hop.mtu);
    }
    for table in ["destinations4", "sources4"] {
        text += &format!("table {table}\n");
        for route in &routes {
            let [a, b, c, d] = route.address;
            let (length, hop, kind) = (route.length, route.next_hop, route.kind as u8);
            text += &format!("{a}.{b}.{c}.{d}/{length} next_hop={hop} kind={kind}\n");
        }
    }
    let mut golden = golden("ipv4.loom", &text, &[("COUNT_FLOWS", "false")]);
    held_to_golden(&traffic, golden.as_mut(), 11);
}

#[test]
fn url_does_what_golden_does() {
    let traffic = traffic(Benchmark::Url, 2);
    let Contents::Url(patterns) = traffic.contents() else { panic!("it has patterns") };
    let mut text = String::from("table patterns\n");
    for pattern in &patterns {
        text += &format!("\"{}\" = {}\n", String::from_utf8_lossy(&pattern.bytes), pattern.port);
    }
    let mut golden = golden("url.loom", &text, &[]);
    held_to_golden(&traffic, golden.as_mut(), 6);
}

#[test]
fn md4_does_what_golden_does() {
    let traffic = traffic(Benchmark::Md4, 3);
    let mut golden = golden("md4.loom", "", &[]);
    held_to_golden(&traffic, golden.as_mut(), 6);
}

// ---------------------------------------------------------------------------------------------
/// A model of the translator that handles packets one at a time.
struct Translator {
    outside: [u8; 4],
    bound: HashMap<Binding, u16>,
    bindings: Vec<Binding>,
}

impl Translator {
    fn new(outside: [u8; 4], bindings: &[Binding]) -> Self {
        let mut translator = Self { outside, bound: HashMap::new(), bindings: Vec::new() };
        bindings.iter().for_each(|binding| {
            translator.port(*binding);
        });
        translator
    }

    /// The outside port of an inside endpoint.
    fn port(&mut self, binding: Binding) -> u16 {
        let next = Contents::FIRST_PORT + 1 + self.bindings.len() as u16;
        *self.bound.entry(binding).or_insert_with(|| {
            self.bindings.push(binding);
            next
        })
    }

    fn packet(&mut self, port: u16, bytes: &[u8]) -> (Verdict, Vec<u8>) {
        match self.translated(port, bytes) {
            Ok(bytes) => (Verdict::Sent { port: port ^ 1 }, bytes),
            Err((true, number)) => (Verdict::ToCpu(reason(number)), bytes.to_vec()),
            Err((false, number)) => (Verdict::Dropped(reason(number)), Vec::new()),
        }
    }

    /// The translated packet. If the processor core gets it or it is dropped: whether the core gets
    /// it, and the reason.
    fn translated(&mut self, port: u16, bytes: &[u8]) -> Result<Vec<u8>, (bool, u16)> {
        let drop = |number| Err((false, number));
        let word = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        if bytes.len() < 14 {
            return drop(0);
        }
        if word(12) != 0x0800 {
            return Err((true, 2));
        }
        let arrived = bytes.len() - 14;
        if arrived < 20 || bytes[14] >> 4 != 4 {
            return drop(1);
        }
        let (length, total) = (usize::from(bytes[14] & 15) * 4, usize::from(word(16)));
        if length < 20 || total < length || arrived < total {
            return drop(1);
        }
        if length > 20 {
            return Err((true, 3));
        }
        if word(20) & 0x3fff != 0 {
            return Err((true, 4));
        }
        let protocol = bytes[23];
        let (least, sum_at) = match protocol {
            6 => (20, 50),
            17 => (8, 40),
            _ => return Err((true, 5)),
        };
        if total - 20 < least {
            return drop(1);
        }
        let mut bytes = bytes.to_vec();
        let address = |at: usize| [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        // The offsets of the address and the port to change, their new values, and whether there is
        // a port.
        let (at, port_at, is, is_port) = if port.is_multiple_of(2) {
            let inside = Binding { protocol, address: address(26), port: word(34) };
            (26, 34, self.outside, self.port(inside))
        } else {
            let number = word(36).wrapping_sub(Contents::FIRST_PORT);
            let found = usize::from(number).checked_sub(1).and_then(|at| self.bindings.get(at));
            match found {
                Some(found) if address(30) == self.outside && found.protocol == protocol => {
                    (30, 36, found.address, found.port)
                }
                _ => return drop(6),
            }
        };
        let is_port = is_port.to_be_bytes();
        let was = [&bytes[at..at + 4], &bytes[port_at..port_at + 2]].concat();
        let is_all = [&is[..], &is_port[..]].concat();
        mend(&mut bytes, 24, &was[..4], &is);
        if protocol == 6 || word(40) != 0 {
            mend(&mut bytes, sum_at, &was, &is_all);
            if protocol == 17 && bytes[40..42] == [0, 0] {
                bytes[40..42].fill(0xff);
            }
        }
        bytes[at..at + 4].copy_from_slice(&is);
        bytes[port_at..port_at + 2].copy_from_slice(&is_port);
        Ok(bytes)
    }
}

/// Updates a checksum after a change of bytes that it covers (RFC 1624 equation 3).
fn mend(bytes: &mut [u8], at: usize, was: &[u8], is: &[u8]) {
    let words = |bytes: &[u8]| -> Vec<u32> {
        bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1])).collect()
    };
    let mut sum = u32::from(!u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    sum += words(was).iter().map(|word| !word & 0xffff).sum::<u32>();
    sum += words(is).iter().sum::<u32>();
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    bytes[at..at + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[test]
fn nat_does_what_a_model_does() {
    let traffic = traffic(Benchmark::Nat, 4);
    let Contents::Nat { outside, bindings } = traffic.contents() else { panic!("it has bindings") };
    // The chip does not know half of the flows. Some UDP packets have a checksum of 0, which means
    // none.
    let bindings = bindings[..bindings.len() / 2].to_vec();
    let mut packets = damaged(&traffic, 900);
    for packet in packets.iter_mut().skip(5).step_by(7) {
        if packet.bytes.len() >= 60 && packet.bytes[23] == 17 {
            packet.bytes[40..42].fill(0);
        }
    }
    for mapping in [Mapping::split(4, 2).with_turn(Turn::Four), Mapping::usual(2)] {
        let mut translator = Translator::new(outside, &bindings);
        let expected: Verdicts = packets
            .iter()
            .enumerate()
            .map(|(number, packet)| (number as u64, translator.packet(packet.port, &packet.bytes)))
            .collect();
        let contents = Contents::Nat { outside, bindings: bindings.clone() };
        let mut machine = machine(&contents, &mapping, &spec(|_| {}));
        assert_equal(&run(&mut machine, &packets, APART), &expected, &packets);
        let verdicts: BTreeSet<Verdict> = expected.values().map(|(verdict, _)| *verdict).collect();
        assert!(verdicts.len() >= 8, "{verdicts:?}");
        assert!(translator.bindings.len() > bindings.len() + 50, "bindings are made");
    }
}

#[test]
fn threads_that_see_a_flow_at_once_give_it_one_binding() {
    let traffic = traffic(Benchmark::Nat, 5);
    let Contents::Nat { outside, bindings } = traffic.contents() else { panic!("it has bindings") };
    // A few unknown flows with many packets, which all arrive at once on the inside ports.
    let contents = Contents::Nat { outside, bindings: Vec::new() };
    let packets: Vec<Generated> = traffic
        .packets()
        .filter(|packet| {
            packet.port == 0 && bindings[..40].iter().any(|b| b.address == packet.bytes[26..30])
        })
        .take(120)
        .map(|packet| Generated { port: 0, bytes: packet.bytes[..60].to_vec() })
        .map(|mut packet| {
            let total = 46_u16.to_be_bytes();
            packet.bytes[16..18].copy_from_slice(&total);
            packet
        })
        .collect();
    let mut machine =
        machine(&contents, &Mapping::split(4, 2), &spec(|spec| spec.ports.receive_mpkts = 1024));
    let left = run(&mut machine, &packets, 0);
    let mut bound: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for (number, (_, bytes)) in &left {
        let sent = &packets[*number as usize].bytes;
        let inside = [&sent[23..24], &sent[26..30], &sent[34..36]].concat();
        assert_eq!(bytes[26..30], outside);
        let outside_port = bytes[34..36].to_vec();
        assert_eq!(*bound.entry(inside).or_insert_with(|| outside_port.clone()), outside_port);
    }
    assert_eq!(left.len(), 120);
    let ports: BTreeSet<&Vec<u8>> = bound.values().collect();
    assert_eq!(ports.len(), bound.len(), "no port is given twice");
    assert!(bound.len() > 20);
}

// ---------------------------------------------------------------------------------------------
#[test]
fn packets_leave_in_the_order_in_which_the_chip_took_them_at_any_load() {
    for (benchmark, engines) in
        [(Benchmark::Ipfwdr, 6), (Benchmark::Url, 3), (Benchmark::Nat, 1), (Benchmark::Md4, 5)]
    {
        let traffic = Traffic { ports: 2, ..traffic(benchmark, 6) };
        let spec = spec(|spec| {
            spec.ports.count = 2;
            (spec.ports.rate, spec.ports.pace) = (10_000_000_000, Pace::Line);
            spec.ports.transmit_mpkts = 4096;
        });
        let mapping = Mapping::usual(engines);
        let mut processor = started(&traffic.contents(), &mapping, &spec, 0);
        for (number, packet) in traffic.packets().take(300).enumerate() {
            processor.offer(packet.port, number as u64, 0, &packet.bytes);
        }
        processor.run_packets(0).unwrap_or_else(|error| panic!("{error}"));
        let taken = std::mem::take(&mut processor.chip.cards.accepted);
        let lost = processor.chip.cards.lost.len();
        assert!(lost > 0 && taken.len() + lost == 300, "{lost} lost, {} taken", taken.len());
        let left: Vec<u64> = processor.delivered().iter().map(|out| out.offered).collect();
        assert_eq!(left, taken, "{}", benchmark.name());
    }
}

/// The result of a run of `ipfwdr` with 60-byte frames: the packet numbers in the order of
/// departure and in the order in which the chip took them, the turns of sending threads, the free
/// buffers at the end, and the mean latency.
struct Sent {
    left: Vec<u64>,
    taken: Vec<u64>,
    turns: usize,
    free_buffers: usize,
    latency: Time,
}

/// Sends packets at this interval. Packets in the range `long` have 1,514 bytes.
fn send(mapping: &Mapping, packets: usize, long: Range<usize>, interval_ns: u64) -> Sent {
    let traffic =
        |bytes| Traffic { ports: 2, sizes: vec![(bytes, 1)], ..traffic(Benchmark::Ipfwdr, 9) };
    let spec = spec(|spec| {
        spec.ports.count = 2;
        large_ports(spec);
    });
    let mut processor = started(&traffic(60).contents(), mapping, &spec, 1 << 20);
    let kinds = traffic(60).packets().zip(traffic(1514).packets());
    for (number, (short, other)) in kinds.take(packets).enumerate() {
        let packet = if long.contains(&number) { other } else { short };
        let number = number as u64;
        processor.offer(packet.port, number, interval_ns * number, &packet.bytes);
    }
    processor.run_packets(0).unwrap_or_else(|error| panic!("{error}"));
    let trace = &processor.chip.trace;
    assert_eq!(trace.omitted(), 0);
    // Only sending threads write to the scratchpad.
    let turns = trace.events().iter().filter(|event| {
        let is_turn = |command: &Traced| {
            command.unit == Unit::Scratch && command.operation == Operation::Write
        };
        event.what == What::Issue && event.command.as_ref().is_some_and(is_turn)
    });
    let turns = turns.count();
    let free_buffers = processor.chip.sram.list(0).map_or(0, <[u32]>::len);
    let taken = std::mem::take(&mut processor.chip.cards.accepted);
    let out = processor.delivered();
    let latencies = out.iter().map(|out| out.at.since(Time::nanoseconds(out.arrival_ns)).0);
    let latency = Time(latencies.sum::<u64>() / packets as u64);
    let left = out.iter().map(|out| out.offered).collect();
    Sent { left, taken, turns, free_buffers, latency }
}

#[test]
fn turns_for_several_packets_are_fewer_and_keep_the_order_around_the_ring() {
    // The last packet is the second one of the ring's first place. It is ready before the long
    // packets have left, so only the turn wakes its thread.
    const PACKETS: usize = 1025;
    const LONG: Range<usize> = 1008..1016;
    for (receiving, sending, turn, most) in [
        (5, 1, Turn::One, PACKETS),
        (5, 1, Turn::Two, PACKETS * 6 / 10),
        (5, 1, Turn::Four, PACKETS * 4 / 10),
        // A round of 12 threads does not divide the 1,024 places of the ring.
        (3, 3, Turn::Two, PACKETS),
        (3, 3, Turn::Four, PACKETS),
    ] {
        let case = format!("{receiving}+{sending}, {turn:?}");
        let mapping = Mapping::split(receiving, sending).with_turn(turn);
        let sent = send(&mapping, PACKETS, LONG, 0);
        assert_eq!(sent.left.len(), PACKETS, "{case}");
        assert_eq!(sent.left, sent.taken, "{case}");
        assert!(sent.turns <= most, "{case}: {} turns", sent.turns);
        assert!(turn != Turn::One || sent.turns == PACKETS, "{case}");
        // Each receiving thread holds a buffer for its next packet.
        assert_eq!(sent.free_buffers + (4 * receiving).min(16), 1000, "{case}");
    }
}

#[test]
fn a_packet_that_comes_alone_waits_for_no_other() {
    // This includes a packet that is the first of its thread's places, and the last packet of all.
    let sent = |turn| send(&Mapping::split(4, 2).with_turn(turn), 21, 0..0, APART);
    let one = sent(Turn::One);
    for turn in [Turn::Two, Turn::Four] {
        let several = sent(turn);
        assert_eq!((several.left.len(), several.turns), (21, 21));
        // The thread looks for further packets of its turn, which takes some cycles.
        let most = one.latency + Time::nanoseconds(120);
        assert!(several.latency <= most, "{:?} after {:?}", several.latency, one.latency);
    }
}

#[test]
fn a_chip_of_sixteen_engines_runs_a_benchmark() {
    let traffic = traffic(Benchmark::Ipfwdr, 7);
    let spec = spec(|spec| spec.engines = 16);
    let packets: Vec<Generated> = traffic.packets().take(100).collect();
    let mut machine = machine(&traffic.contents(), &Mapping::split(11, 5), &spec);
    let left = run(&mut machine, &packets, 25_000);
    assert!(left.values().all(|(verdict, _)| matches!(verdict, Verdict::Sent { .. })));
    assert_eq!(left.len(), 100);
}

#[test]
fn frames_beyond_a_buffer_are_dropped_and_others_go_on() {
    let traffic = traffic(Benchmark::Md4, 8);
    let mut packets: Vec<Generated> = traffic.packets().take(20).collect();
    packets[7].bytes.resize(1921, 0);
    packets[8].bytes.resize(9000, 0);
    packets[9].bytes.resize(1920, 0);
    let mut machine = machine(
        &traffic.contents(),
        &Mapping::usual(6),
        &spec(|spec| spec.ports.receive_mpkts = 200),
    );
    let left = run(&mut machine, &packets, 100_000);
    let dropped: Vec<u64> = left
        .iter()
        .filter(|(_, (verdict, _))| *verdict == Verdict::Dropped(reason(2)))
        .map(|(number, _)| *number)
        .collect();
    assert_eq!((left.len(), dropped), (20, vec![7, 8]));
}

#[test]
fn every_program_fits_into_an_early_control_store() {
    for benchmark in Benchmark::ALL {
        for turn in Turn::ALL {
            for role in [Role::Receive, Role::Transmit, Role::Both] {
                // With turns of four packets, `md4` on an engine that also sends needs the larger
                // control store of later chips.
                let words = if (role, turn) == (Role::Both, Turn::Four) { 2048 } else { 1024 };
                let image = benchmark.assemble(role, turn, words);
                image.unwrap_or_else(|error| panic!("{error}"));
            }
        }
        assert!(benchmark.assemble(Role::Both, Turn::One, 200).is_err());
        assert!(benchmark.assemble(Role::Idle, Turn::One, 1024).is_err());
    }
}
