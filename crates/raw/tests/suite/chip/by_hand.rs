//! Runs hand-written programs as machines run them: from the files of programs/raw with their
//! boards.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use wireloom_ir::{Output, Verdict};
use wireloom_machine::{
    Configured, Error, Machine, Options, Rate, Record, Registry, Settled, Snapshot, Source,
};
use wireloom_net::Packet;
use wireloom_raw::board::Played;
use wireloom_raw::device::{Buffer, Delivered, LineRate};
use wireloom_raw::mapper::MachineSpec;
use wireloom_raw::routers::{Reference, Setting, Version, null_board, store};

use super::versions::{ROUTES, packets};

static REGISTRY: Registry = Registry::new(&[wireloom_raw::KIND]);

/// Writes a text to a file in a separate folder.
fn file(name: &str, text: &str) -> PathBuf {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("by-hand-{number}"));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Returns the machine of a description in the repository.
fn described(file: &str) -> Arc<dyn Configured> {
    let path = root().join(file);
    REGISTRY.find(path.to_str().unwrap()).unwrap_or_else(|error| panic!("{}", error.message))
}

/// Returns the machine of a description that extends `raw`.
fn machine(text: &str) -> Arc<dyn Configured> {
    let path = file("board.toml", &format!("extends = \"raw\"\n{text}"));
    REGISTRY.find(path.to_str().unwrap()).unwrap_or_else(|error| panic!("{}", error.message))
}

/// Starts a program in the repository.
fn started(board: &dyn Configured, program: &str, options: &Options) -> Box<dyn Machine> {
    let own = board.start_own(&Source::of(root().join(program)), options);
    own.expect("a program by hand").unwrap_or_else(|error| panic!("{}", error.message)).1
}

/// Starts a program from its text.
fn written(board: &dyn Configured, text: &str, options: &Options) -> Box<dyn Machine> {
    let own = board.start_own(&Source::of(file("test.rasm", text)), options);
    own.expect("a program by hand").unwrap_or_else(|error| panic!("{}", error.message)).1
}

/// The packets that left, by port and in order, and the packets that settled.
type Departures = (Vec<(u16, Vec<u8>)>, Settled);

/// Runs a machine until all packets have left.
fn run(machine: &mut dyn Machine, packets: &[Packet]) -> Result<Departures, Error> {
    let mut left = Vec::new();
    let mut sink = |output: Output<'_>| {
        let Verdict::Sent { port } = output.verdict else { panic!("{:?}", output.verdict) };
        left.push((port, output.bytes.to_vec()));
    };
    let mut settled = Settled::default();
    for some in packets.chunks(50) {
        let frames: Vec<_> = some.iter().map(Packet::frame).collect();
        settled.extend(&machine.offer(&frames, &mut sink)?);
    }
    settled.extend(&machine.finish(&mut sink)?);
    Ok((left, settled))
}

fn json(record: &Record) -> serde_json::Value {
    serde_json::to_value(record).unwrap()
}

#[test]
fn the_boards_of_programs_raw_are_those_of_the_routers() {
    let board = |file: &str| {
        let machine = described(file);
        let spec: &MachineSpec = machine.downcast_ref().unwrap();
        let section = spec.board.as_ref().expect("a board");
        section.build(&spec.chip, spec.memory.latency_cycles, spec.memory.outstanding).unwrap()
    };
    for (file, name) in
        [("1", "I"), ("2", "II"), ("3", "III"), ("3d", "III.d"), ("4", "IV"), ("5", "V")]
    {
        let wanted = Version::named(name).board(&Setting::default());
        assert_eq!(board(&format!("programs/raw/version-{file}.toml")), wanted, "{name}");
    }
    assert_eq!(board("programs/raw/null.toml"), null_board(LineRate::UNLIMITED, Buffer::Stall));
}

/// Checks that every packet that golden sends leaves by the same port as on golden, in order.
fn forwards_as_golden(file: &str, most_options: usize) {
    let machine = described(&format!("programs/raw/version-{file}.toml"));
    let sent: Vec<Vec<Vec<u8>>> = (0..4).map(|port| packets(port, most_options)).collect();
    let mut own = started(
        machine.as_ref(),
        &format!("programs/raw/version-{file}.rasm"),
        &Options::default(),
    );
    let program = Source::of(root().join("programs/raw/ipv4.loom")).compiled().unwrap();
    own.restore(&Snapshot::of(&store(&program, &ROUTES).unwrap())).unwrap();
    // Cards remove the Ethernet header and put one on.
    let framed = |(port, bytes): (usize, &Vec<u8>)| Packet {
        ingress: port as u16,
        arrival_ns: 0,
        bytes: [&[0xee; 14][..], bytes].concat(),
    };
    let all: Vec<Packet> = (0..sent[0].len())
        .flat_map(|number| sent.iter().map(move |packets| &packets[number]).enumerate())
        .map(framed)
        .collect();
    let (left, settled) =
        run(own.as_mut(), &all).unwrap_or_else(|error| panic!("{}", error.message));
    assert_eq!(settled.taken.len(), all.len());
    let mut played = Played { delivered: vec![Vec::new(); 4], ..Played::default() };
    for (port, bytes) in left {
        assert_eq!(bytes[..14], [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0]);
        let bytes = bytes[14..].to_vec();
        played.delivered[usize::from(port)].push(Delivered { port, bytes, begun: 0, ended: 0 });
    }
    let mut reference = Reference::new(&program, &ROUTES).unwrap();
    let checked = reference.check(&sent, &[0, 1, 2, 3], &played);
    let checked = checked.unwrap_or_else(|error| panic!("{file}: {}", error.message));
    assert_eq!((checked.lost, checked.reordered), (0, 0), "{file}");
    assert!(checked.forwarded > 400 && checked.dropped > 100, "{file}: {checked:?}");
    let record = json(&own.record(std::time::Duration::from_secs(1)).unwrap());
    assert_eq!(record["packets"], 800);
    assert_eq!(record["sent"], checked.forwarded);
    assert_eq!(record["tiles"].as_object().unwrap().len(), 16);
}

#[test]
fn the_routers_of_programs_raw_forward_as_golden_by_their_boards() {
    for (file, most_options) in [("1", 3), ("2", 3), ("3", 10), ("3d", 10), ("4", 10), ("5", 10)] {
        forwards_as_golden(file, most_options);
    }
}

/// Returns packets for the null router, on four ports, with every number of bytes in the last word.
fn plain() -> Vec<Packet> {
    let bytes = |number: u64| (0..1 + number % 99).map(|byte| (byte ^ number) as u8).collect();
    let packet = |number: u64| Packet {
        ingress: (number % 4) as u16,
        arrival_ns: 1000 * number,
        bytes: bytes(number),
    };
    (0..200).map(packet).collect()
}

#[test]
fn packets_leave_opposite_to_where_they_came_and_at_their_times() {
    let board = described("programs/raw/null.toml");
    for program in ["programs/raw/null.rasm", "programs/raw/null-switches.rasm"] {
        let packets = plain();
        let wanted = |port: u16| packets.iter().filter(move |packet| packet.ingress == port);
        let mut cycles = Vec::new();
        for rate in [Rate::Max, Rate::Capture] {
            let mut machine = started(
                board.as_ref(),
                program,
                &Options { rate: Some(rate), ..Options::default() },
            );
            let (left, settled) = run(machine.as_mut(), &packets).unwrap();
            for port in 0..4 {
                let of = left.iter().filter(|(by, _)| *by == port).map(|(_, bytes)| bytes);
                assert!(of.eq(wanted(port).map(|packet| &packet.bytes)), "{program}, port {port}");
            }
            assert_eq!((settled.taken.len(), settled.lost.len()), (200, 0));
            let record = json(&machine.record(std::time::Duration::from_secs(1)).unwrap());
            cycles.push(record["last_left"].as_u64().unwrap());
        }
        // The last packet comes 199 us after the first, which is 84,575 cycles of 425 MHz.
        assert!(cycles[0] < 10_000 && (84_575..86_000).contains(&cycles[1]), "{cycles:?}");
    }
}

#[test]
fn full_cards_lose_packets_and_lines_stand_without_a_buffer() {
    let board = described("programs/raw/null.toml");
    let packets: Vec<Packet> =
        (0..100).map(|_| Packet { ingress: 0, arrival_ns: 0, bytes: vec![7; 400] }).collect();
    let options = |buffer| Options { rate: Some(Rate::Mpps(20.0)), buffer, ..Options::default() };
    let mut machine = started(board.as_ref(), "programs/raw/null.rasm", &options(Some(2)));
    let (left, settled) = run(machine.as_mut(), &packets).unwrap();
    assert!(settled.lost.len() > 50, "{}", settled.lost.len());
    assert_eq!((left.len(), settled.taken.len()), (100 - settled.lost.len(), left.len()));
    let mut machine = started(board.as_ref(), "programs/raw/null.rasm", &options(None));
    let (left, settled) = run(machine.as_mut(), &packets).unwrap();
    assert_eq!((left.len(), settled.lost.len()), (100, 0));
    let record = json(&machine.record(std::time::Duration::from_secs(1)).unwrap());
    assert!(record["line_cycles_stood"].as_u64().unwrap() > 1000, "{record}");
}

const COUNTED: &str = "[board]\nframing = \"counted\"\n\
    inputs = [{ tile = [0, 0], side = \"north\" }]\n\
    outputs = [{ tile = [0, 0], side = \"west\" }]\n";

#[test]
fn switches_count_the_words_of_packets_without_a_tile() {
    let program = ".switch 0 0\nmessage: recv $1 route $cNi->$swi, $cNi->$cWo\n\
                   more: bnezd $1, $1, more route $cNi->$cWo\n j message\n";
    let mut machine = written(machine(COUNTED).as_ref(), program, &Options::default());
    let packets: Vec<Packet> = (0..90)
        .map(|length| Packet { ingress: 0, arrival_ns: 0, bytes: vec![length as u8; length] })
        .collect();
    let (left, _) = run(machine.as_mut(), &packets).unwrap();
    assert!(left.iter().map(|(_, bytes)| bytes).eq(packets.iter().map(|packet| &packet.bytes)));
}

#[test]
fn runs_that_fail_say_which_line_does_what() {
    let packet = || vec![Packet { ingress: 0, arrival_ns: 0, bytes: vec![1; 60] }; 2];
    for (program, messages) in [
        // A load without a memory.
        (
            ".tile 0 0\n nop\n lw $t0, 0x40($zero)\n break\n",
            &["tile (0,0) stops in cycle ", "test.rasm:3 (`lw ", "no memory holds address 0x40"][..],
        ),
        // A switch that runs past its end.
        (".switch 0 0\n nop\n", &["switch (0,0) stops in cycle ", "past the program's end"]),
        // The last word of a packet is missing.
        (
            ".switch 0 0\n recv $1 route $cNi->$swi, $cNi->$cWo\n\
             more: bnezd $1, $1, more route $cNi->$cWo\n movei $1, 15\n\
             less: bnezd $1, $1, less route $cNi->$cWo\n halt\n",
            &["no step since cycle ", "a word", "1 of 2 packets have left, 0 wait at line cards"],
        ),
        // The tile and its switch wait for each other.
        (
            ".tile 0 0\n move $t0, $csti\n move $csto, $t0\n break\n\
             .switch 0 0\n nop route $csto->$csti\n halt\n",
            &[
                "deadlock, a cycle of 2",
                "tile (0,0) waits for switch (0,0): a word, at ",
                "test.rasm:2 (`",
                "switch (0,0) waits for tile (0,0): a word, at ",
                "test.rasm:6 (`",
                "0 of 2 packets have left, 1 wait at line cards",
            ],
        ),
        // The tile loops and reads no words.
        (".tile 0 0\nagain: j again\n", &["0 of 2 packets have left"]),
    ] {
        let mut machine = written(machine(COUNTED).as_ref(), program, &Options::default());
        let error = run(machine.as_mut(), &packet()).unwrap_err().message;
        for message in messages {
            assert!(error.contains(message), "{program}\n{error}");
        }
    }
}

#[test]
fn programs_without_a_place_to_run_are_refused() {
    let start = |machine: &dyn Configured, file: &Path, set: &[(String, String)]| {
        let source = Source { set: set.to_vec(), ..Source::of(file) };
        let own = machine.start_own(&source, &Options::default()).expect("a program by hand");
        own.map(|_| ()).unwrap_err().message
    };
    let null = root().join("programs/raw/null.rasm");
    let raw = REGISTRY.find("raw").unwrap();
    assert!(start(raw.as_ref(), &null, &[]).contains("does not say where packets come and leave"));
    let board = machine(COUNTED);
    let set = [("A".to_owned(), "1".to_owned())];
    assert!(start(board.as_ref(), &null, &set).contains("--set has no effect"));
    assert!(start(board.as_ref(), Path::new("none.rasm"), &[]).contains("none.rasm: "));
    for (text, message) in [
        (".tile 0 0\n fly $t0\n", "fly"),
        (".tile 5 0\n nop\n", "there is no tile (5,0) on a chip of 4 x 4"),
        (".data 0x40\n .word 1\n", "no memory holds the data"),
    ] {
        let error = start(board.as_ref(), &file("wrong.rasm", text), &[]);
        assert!(error.contains(message) && error.contains("wrong.rasm"), "{error}");
    }
    let text = "about = \"x\"\n";
    assert!(machine(text).start_own(&Source::of("a.loom"), &Options::default()).is_none());
}

#[test]
fn boards_that_are_wrong_are_refused_by_the_key() {
    let card = "{ tile = [0, 0], side = \"north\" }";
    let board = |inputs: &str, outputs: &str, more: &str| {
        let memories = if more.starts_with("memories") { "" } else { "memories = []\n" };
        format!("[board]\ninputs = [{inputs}]\noutputs = [{outputs}]\n{memories}{more}\n")
    };
    let out = "{ tile = [0, 3], side = \"south\" }";
    for (text, message) in [
        (board("", out, ""), "`board.inputs` is empty"),
        (board(card, "", ""), "`board.outputs` is empty"),
        (board(card, card, ""), "two parts of `board` are north of tile (0,0)"),
        (board("{ tile = [9, 0], side = \"north\" }", out, ""), "there is no tile (9,0)"),
        (
            board("{ tile = [1, 1], side = \"north\" }", out, ""),
            "tile (1,1) has no port at its north",
        ),
        (board("{ tile = [0, 0], side = \"up\" }", out, ""), "unknown variant `up`"),
        (board("{ tile = [0, 0], side = \"north\", speed = 1 }", out, ""), "unknown field `speed`"),
        (
            board("{ tile = [0, 0], side = \"north\", line_mbps = 0 }", out, ""),
            "`board.inputs[0]`: `line_mbps` is 0; it can be 1 to",
        ),
        (
            board("{ tile = [0, 0], side = \"north\", network = \"general\" }", out, ""),
            "sends heads to the tiles of `copies`",
        ),
        (
            board(
                card,
                out,
                "memories = [{ tile = [0, 1], side = \"west\", base = 8, kilobytes = 4 }]",
            ),
            "`board.memories[0]`: `base` is 0x8; it must be a multiple of 32",
        ),
        (
            board(
                card,
                out,
                "memories = [{ tile = [0, 1], side = \"west\", base = 0xfffff000, kilobytes = 8 }]",
            ),
            "past the last address",
        ),
        (
            board(
                card,
                out,
                "memories = [{ tile = [0, 1], side = \"west\", base = 0, kilobytes = 8 },\n\
                 { tile = [0, 2], side = \"west\", base = 0x1000, kilobytes = 8 }]",
            ),
            "`board.memories[1]`: it lies over the memory that begins at 0x0",
        ),
        (
            board(card, out, "tables = [0x1000]"),
            "`board.tables`: no memory of the board holds 0x1000",
        ),
        (board(card, out, "settle_cycles = 0"), "`board.settle_cycles` is 0"),
        (
            board(
                "{ tile = [0, 0], side = \"north\", rest = { head_words = 8, way = \"kept\", \
                 base = 0, last = 64 } }",
                out,
                "",
            ),
            "`rest.packets` says how many rests a card keeps",
        ),
        (
            board(
                "{ tile = [0, 0], side = \"north\", rest = { head_words = 8, way = \"kept\", \
                 packets = 4, base = 0xfffff000, last = 64 } }",
                out,
                "",
            ),
            "the last rest would end past the last address",
        ),
        (
            board(
                card,
                "{ tile = [0, 3], side = \"south\", network = \"general\" }",
                "framing = \"counted\"",
            ),
            "packets leave by a static network",
        ),
    ] {
        let path = file("board.toml", &format!("extends = \"raw\"\n{text}"));
        let error = REGISTRY.find(path.to_str().unwrap()).unwrap_err().message;
        assert!(error.contains(message), "{text}\n{error}");
    }
}
