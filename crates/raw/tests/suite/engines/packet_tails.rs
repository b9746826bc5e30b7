//! Packets whose tails go around the tiles.

use std::sync::Arc;

use wireloom_machine::{Configured, Contender, Machine, Options, Program, Rate};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::Store;
use wireloom_raw::Raw;
use wireloom_raw::mapper::MachineSpec;

use super::mapping::{agree, compiled, machine};

const COLUMNS: &str = "chains = [[[0, 0], [0, 1], [0, 2]], [[1, 0], [1, 1], [1, 2]], \
                       [[2, 0], [2, 1], [2, 2]], [[3, 0], [3, 1], [3, 2]]]\noutputs = \"egress\"\n";
const ROWS: &str = "chains = [[[0, 0], [1, 0], [2, 0], [3, 0]], [[0, 1], [1, 1], [2, 1], [3, 1]]]\n\
                    outputs = \"egress\"\n";
const QUEUES: &str = "[mapping.queues]\ntiles = [[0, 3], [1, 3], [2, 3], [3, 3]]\nbytes = 16384\n";

/// Returns a machine whose cards keep packet tails.
fn resting(mapping: &str, words: u32, packets: u32) -> Result<Arc<dyn Configured>, String> {
    let rest = format!("[mapping.rest]\nkeep = \"card\"\nwords = {words}\npackets = {packets}\n");
    machine(&format!("[mapping]\n{mapping}\n{rest}"))
}

/// Returns a machine that keeps packet tails in memories at tiles.
fn in_memory(mapping: &str, words: u32, packets: u32, tiles: &str) -> Arc<dyn Configured> {
    let rest = format!(
        "[mapping.rest]\nkeep = \"memory\"\nwords = {words}\npackets = {packets}\nmemories = {tiles}\n"
    );
    machine(&format!("[mapping]\n{mapping}\n{rest}")).unwrap_or_else(|error| panic!("{error}"))
}

fn rests(mapping: &str, words: u32, packets: u32) -> Arc<dyn Configured> {
    resting(mapping, words, packets).unwrap_or_else(|error| panic!("{mapping}: {error}"))
}

/// Returns a packet of a length whose first bytes vary.
fn packet(number: usize, length: usize) -> Packet {
    let bytes = (0..length).map(|at| (number * 37 + at * 13 + (at >> 8)) as u8).collect();
    Packet { ingress: number as u16 % 5, arrival_ns: 0, bytes }
}

pub fn packets(lengths: impl Iterator<Item = usize>) -> Vec<Packet> {
    lengths.enumerate().map(|(number, length)| packet(number, length)).collect()
}

/// Returns packets with lengths around the length of a head, and long packets.
fn some() -> Vec<Packet> {
    let lengths = (0..=8).chain(58..=70).chain(122..=136).chain([300, 1499, 1500, 9000]);
    let lengths: Vec<usize> = lengths.collect();
    packets(lengths.repeat(5).into_iter())
}

#[test]
fn packets_of_all_lengths_leave_whole_wherever_they_leave() {
    let all = packets((0..=280).chain((300..9000).step_by(611)));
    for mapping in [
        "chains = [[[0, 0]]]",
        "chains = [[[0, 0], [1, 0], [2, 0]]]",
        "chains = [[[0, 0], [1, 0], [2, 0]]]\nreplicas = [1, 2]",
        "chains = [[[0, 0], [1, 0], [2, 0], [3, 0]], [[3, 1], [2, 1], [1, 1], [0, 1]]]\nreplicas = [4]",
    ] {
        for program in ["plain.loom", "lengths.loom", "counted.loom"] {
            agree(&rests(mapping, 16, 16), &compiled(program), &all);
        }
    }
    // State with an owner, which serves packets in order, while each card has room for one tail.
    let owned = "chains = [[[0, 0], [1, 0]], [[0, 3], [1, 3]]]\nstate_owner = [3, 1]\n";
    for replicas in ["replicas = [2]", "replicas = [1, 1]"] {
        agree(&rests(&format!("{owned}{replicas}"), 1, 1), &compiled("owned.loom"), &all);
    }
    for mapping in [
        format!("{ROWS}replicas = [3, 1]"),
        format!("{COLUMNS}replicas = [2, 1]\n{QUEUES}memory = \"tile\"\nready = \"interrupts\""),
        format!("{COLUMNS}{QUEUES}memory = \"dram\"\nready = \"polling\""),
    ] {
        for program in ["plain.loom", "hot.loom", "cut.loom"] {
            agree(&rests(&mapping, 16, 16), &compiled(program), &all);
        }
    }
}

#[test]
fn packets_whose_rest_is_in_a_memory_leave_whole() {
    let all = packets((0..=140).chain((300..9000).step_by(1211)));
    for (mapping, tiles, programs) in [
        // A device that is input and output card, with a memory.
        ("chains = [[[0, 0]]]", "[[3, 3]]", ["lengths.loom", "cut.loom"]),
        (
            "chains = [[[0, 0], [1, 0], [2, 0]]]\nreplicas = [1, 2]",
            "[[0, 1]]",
            ["lengths.loom", "cut.loom"],
        ),
        // Four cards and two memories, and state with an owner.
        (
            "chains = [[[0, 0], [0, 1]], [[1, 0], [2, 0]], [[3, 0], [3, 1]], [[3, 3], [3, 2]]]\nstate_owner = [1, 1]",
            "[[0, 3], [2, 3]]",
            ["owned.loom", "plain.loom"],
        ),
    ] {
        for program in programs {
            agree(&in_memory(mapping, 1, 2, tiles), &compiled(program), &all);
        }
    }
    for ready in ["polling", "interrupts"] {
        let queues =
            format!("{COLUMNS}{QUEUES}memory = \"tile\"\nready = \"{ready}\"\nline_mbps = 4000\n");
        for program in ["plain.loom", "hot.loom", "cut.loom"] {
            let machine = in_memory(&queues, 16, 16, "[[0, 1], [0, 3], [3, 3], [3, 1]]");
            agree(&machine, &compiled(program), &all);
        }
    }
    let version = super::programs::machine("raw-version-3");
    let (ipv4, store, mut packets) = super::programs::forwarded(80);
    packets.iter_mut().for_each(|packet| packet.bytes.resize(700, 3));
    let text = ran(&version, &ipv4, store, &packets, &Options::default());
    assert!(text.starts_with("80 packets of more than 66 bytes"), "{text}");
}

/// Runs packets and compares them with golden. Returns the report line on tails.
fn line(machine: &Arc<dyn Configured>, program: &Program, packets: &[Packet]) -> String {
    let store = wireloom_ir::store(&program.optimised).expect("a store");
    ran(machine, program, store, packets, &Options::default())
}

fn ran(
    machine: &Arc<dyn Configured>,
    program: &Program,
    store: Store,
    packets: &[Packet],
    options: &Options,
) -> String {
    let contender = Contender::new(Arc::clone(machine), program, &store, options, &|_| ());
    let mut contender = contender.unwrap_or_else(|error| panic!("{}", error.message));
    let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
    contender
        .offer(&program.optimised, &frames, &mut |_| ())
        .and_then(|()| contender.finish(&program.optimised, &mut |_| ()))
        .unwrap_or_else(|error| panic!("{}", error.message));
    assert!(contender.difference.is_none(), "{:?}", contender.difference);
    let record = contender.machine.record().expect("it has a report");
    let line = record.lines.into_iter().find(|line| line.name.starts_with("rests"));
    line.expect("it says what went past the tiles").text
}

#[test]
fn cards_keep_no_more_rests_than_they_may_and_give_all_up() {
    // The run ends once no tail is kept, for packets that are sent, sent twice, or dropped.
    let stages = "chains = [[[0, 0], [1, 0], [2, 0]]]\nreplicas = [1, 2]";
    let queues = format!("{COLUMNS}{QUEUES}memory = \"tile\"\nready = \"polling\"\n");
    // Queues that drop packets.
    let full = queues.replace("16384", "2048") + "line_mbps = 100\n";
    for (mapping, program, most) in [
        (stages, "cut.loom", 1),
        (stages, "lengths.loom", 2),
        (&queues, "cut.loom", 3),
        (&full, "hot.loom", 200),
    ] {
        let text = line(&rests(mapping, 1, most), &compiled(program), &some());
        let at_most = text.split_whitespace().rev().nth(6).expect("a number");
        let at_most: u32 = at_most.parse().unwrap_or_else(|_| panic!("{text}"));
        assert!(at_most <= most && (at_most == most || most > 3), "{program}, {most}: {text}");
    }
}

#[test]
fn heads_have_all_that_steps_can_touch() {
    let version = super::programs::machine("raw-version-4");
    let (ipv4, store, mut packets) = super::programs::forwarded(60);
    packets.iter_mut().for_each(|packet| packet.bytes.resize(700, 3));
    let text = ran(&version, &ipv4, store.clone(), &packets, &Options::default());
    assert_eq!(text, "60 packets of more than 66 bytes, at most 4 in a card at a time");
    let timed = Options { rate: Some(Rate::Mpps(4.0)), buffer: Some(2), ..Options::default() };
    assert!(ran(&version, &ipv4, store, &packets, &timed).contains("of more than 66 bytes"));
    let one = rests("chains = [[[0, 0]]]", 1, 16);
    for (program, head) in [
        ("plain.loom", 2),
        // The header comes first, wherever it begins within the first bytes.
        ("spread.loom", 2),
        // 60 bytes and then a header of 12 bytes, 8 bytes of which are removed.
        ("windows.loom", 74),
        // The sum of bytes 15 to 46, after at most 29 bytes are removed.
        ("cut.loom", 78),
    ] {
        let text = line(&one, &compiled(program), &some());
        assert!(text.contains(&format!(" of more than {head} bytes")), "{program}: {text}");
    }
}

#[test]
fn a_longer_packet_takes_the_tiles_no_longer() {
    let executed = |length: usize| {
        let machine = rests("chains = [[[0, 0]]]", 16, 4);
        let spec = machine.downcast_ref::<MachineSpec>().expect("it has tiles");
        let program = compiled("plain.loom");
        let store = wireloom_ir::store(&program.optimised).expect("a store");
        let mut raw = Raw::start(spec, &program.optimised, store, &Options::default())
            .unwrap_or_else(|error| panic!("{}", error.message));
        let packets = packets(std::iter::repeat_n(length, 20));
        let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
        raw.offer(&frames, &mut |_| ()).and_then(|_| raw.finish(&mut |_| ())).expect("it runs");
        raw.chip().spent((0, 0)).0.executed
    };
    let least = executed(62);
    assert!([63, 300, 1500, 9000].map(executed).into_iter().all(|count| count == least));
}

#[test]
fn what_needs_whole_packets_is_refused_with_step_and_offload() {
    let rows = rests(&format!("{ROWS}replicas = [3, 1]"), 16, 16);
    let one = rests("chains = [[[0, 0]]]", 16, 16);
    for (machine, program, offload, step, why) in [
        (&rows, compiled("lengths.loom"), None, "send", "goes on (`emit`), and what leaves next"),
        (
            &one,
            compiled("keyed.loom"),
            Some("waiting"),
            "hold",
            "takes whole packets in step `hold`",
        ),
        (&one, compiled("pieces.loom"), None, "half", "sends some bytes of a packet as a copy"),
        (&one, super::programs::program("md4"), Some("bytes"), "", "of a packet in step"),
        (
            &one,
            super::programs::program("url"),
            Some("patterns"),
            "",
            "can touch any byte of a packet",
        ),
    ] {
        let refused = machine.refusals(&program);
        let first = refused.first().unwrap_or_else(|| panic!("{why}"));
        assert!(first.message.contains(why), "{refused:?}");
        assert_eq!(first.offload.as_deref(), offload, "{refused:?}");
        assert!(step.is_empty() || first.step.as_deref() == Some(step), "{refused:?}");
    }
}

#[test]
fn sizes_that_cannot_be_are_refused_by_key() {
    for (words, packets, why) in [
        (0, 16, "`mapping.rest.words` is 0; it can be 1 to 33"),
        (34, 16, "`mapping.rest.words` is 34"),
        (16, 0, "`mapping.rest.packets` is 0; it can be 1 to 256"),
        (16, 257, "`mapping.rest.packets` is 257"),
    ] {
        let error =
            resting("chains = [[[0, 0]]]", words, packets).err().unwrap_or_else(|| panic!("{why}"));
        assert!(error.contains(why), "{error}");
    }
    for (keep, memories, packets, why) in [
        ("memory", "[[3, 3]]", 256, "`mapping.rest.packets` is 256, and each of them needs 64 KB"),
        ("card", "[[0, 0]]", 1, "`mapping.rest.memories` is for `keep = \"memory\"`"),
        ("memory", "[]", 1, "`mapping.rest.memories` is missing"),
        (
            "memory",
            "[[1, 1]]",
            1,
            "tile (1,1) has no free port of the chip, so no memory for rests",
        ),
        ("memory", "[[4, 0]]", 1, "there is no tile (4,0) for `mapping.rest.memories`"),
        ("disk", "[[0, 0]]", 1, "unknown variant `disk`"),
    ] {
        let text = format!(
            "[mapping]\nchains = [{}]\n[mapping.rest]\nkeep = \"{keep}\"\nwords = 16\n\
             packets = {packets}\nmemories = {memories}\n",
            [
                "[[0, 0]]", "[[1, 0]]", "[[2, 0]]", "[[3, 0]]", "[[0, 1]]", "[[0, 2]]", "[[0, 3]]",
                "[[1, 3]]", "[[2, 3]]"
            ]
            .join(", ")
        );
        let error = machine(&text).err().unwrap_or_else(|| panic!("{why}"));
        assert!(error.contains(why), "{error}");
    }
}
