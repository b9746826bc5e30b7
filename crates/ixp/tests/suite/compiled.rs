//! Compares engines in Loom C on the simulated chip with golden.

use std::path::{Path, PathBuf};

use crate::agreed::{agree_on, agree_with, noise, own_program, root};
use crate::written::written;
use wireloom_ixp::Spec;
use wireloom_machine::{Configured, Contender, Options, Program, Source};
use wireloom_net::Packet;
use wireloom_net::capture::Reader;

fn program(name: &str, set: &[(&str, &str)]) -> Program {
    let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let file = root().join(format!("programs/{name}.loom"));
    let source = Source { set: set.collect(), ..Source::of(file) };
    source.compiled().unwrap_or_else(|error| panic!("{}", error.message))
}

fn captured() -> Vec<Packet> {
    let reader = Reader::open(&root().join("programs/captures/first.pcapng")).expect("it opens");
    let mut packets: Vec<Packet> = reader.map(|packet| packet.expect("a packet")).collect();
    // Packets are so far apart that none is lost.
    for (number, packet) in packets.iter_mut().enumerate() {
        packet.arrival_ns = 20_000 * number as u64;
    }
    packets
}

/// Writes a table file that contains only the tables that the program has.
fn known(program: &Program, tables: &str, folder: &Path) -> PathBuf {
    let text =
        std::fs::read_to_string(root().join("programs/tables").join(tables)).expect("tables");
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

/// Runs packets on golden and on the chip, and compares the outputs and the tables.
fn agree(program: &Program, tables: &str, packets: &[Packet]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    agree_with(program, &[known(program, tables, folder.path())], packets);
}

/// Frames of many lengths. Their headers are valid up to some byte; random bytes follow.
fn random() -> Vec<Packet> {
    const ETHERNET: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 1, 2];
    const NEXT: [&[u8]; 3] = [
        &[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0x4e, 0x4d, 192, 0, 2, 9, 198, 51, 100, 9],
        &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 6, 17, 64, 0x20, 1, 0xd, 0xb8, 0, 1],
        &[0x88, 0x47, 0, 1, 0, 64, 0, 1, 0x11, 64, 0x45, 0, 0, 46],
    ];
    let mut rng = wireloom_sim::Rng::new(7, "frames");
    let lengths = (1..200).chain((200..1600).step_by(37)).chain([9000]);
    let packet = |(number, length): (usize, usize)| {
        let mut bytes = [&ETHERNET[..], NEXT[number % 3]].concat();
        let kept = rng.below(2 * bytes.len() as u64) as usize;
        bytes.truncate(kept.min(length));
        bytes.resize_with(length, || rng.below(256) as u8);
        let arrival_ns = 1_000_000 * number as u64;
        Packet { ingress: (number % 4) as u16, arrival_ns, bytes }
    };
    lengths.enumerate().map(packet).collect()
}

#[test]
fn ipv4_forwards_as_golden_does() {
    let program = program("ipv4", &[]);
    agree(&program, "small.tables", &captured());
    agree(&program, "small.tables", &random());
}

#[test]
fn mpls_forwards_as_golden_does() {
    let program = program("mpls", &[]);
    agree(&program, "small.tables", &captured());
    agree(&program, "small.tables", &random());
}

#[test]
fn ipv6_forwards_as_golden_does() {
    let program = program("ipv6", &[]);
    agree(&program, "small.tables", &captured());
    agree(&program, "small.tables", &random());
}

#[test]
fn the_router_goes_through_several_parts_as_golden_does() {
    let program = program("router", &[]);
    agree(&program, "small.tables", &captured());
    agree(&program, "small.tables", &random());
}

#[test]
fn parts_of_any_size_do_the_same() {
    let program = program("ipv4", &[]);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tables = [known(&program, "small.tables", folder.path())];
    for (words, engines) in [(1536, 6), (1024, 6), (800, 6), (800, 16)] {
        let mut spec = Spec::base();
        spec.engines = engines;
        spec.engine.control_store = words;
        agree_on(spec, &program, &tables, &captured());
    }
}

#[test]
fn what_does_not_fit_says_how_much_it_needs() {
    let program = program("router", &[]);
    let refused = |engines, words| -> Option<(Option<String>, String)> {
        let mut spec = Spec::base();
        spec.engines = engines;
        spec.engine.control_store = words;
        let first = spec.refusals(&program).into_iter().next();
        first.map(|refusal| (refusal.step, refusal.message))
    };
    let (step, message) = refused(1, 2048).expect("two control stores");
    assert_eq!(step, None);
    assert!(
        message.ends_with("2 control stores of 2048 words, and there are 1 engines"),
        "{message}"
    );
    let (step, message) = refused(6, 512).expect("its steps are longer");
    assert!(step.is_some(), "{message}");
    assert!(message.contains("the step does not fit a control store"), "{message}");
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let text = "engine parked() {
        offload waiting : park<u8, size = 5000>;
        step begin { if (waiting.keep(0)) done; finish; }
    }";
    let refused = Spec::base().refusals(&written(text));
    let why: Vec<_> = refused.iter().map(|why| (why.offload.as_deref(), &why.message)).collect();
    let [(Some("waiting"), message)] = why[..] else { panic!("{why:?}") };
    // The longest packet has 65,535 bytes, and SDRAM 256 MB.
    assert!(message.contains("words of SDRAM, and"), "{message}");
}

/// Threads take elements of the transmit FIFO one by one, and one element stays free.
#[test]
fn threads_send_with_few_elements_as_with_many() {
    let text = "engine back() { step begin { packet.egress = packet.ingress; finish; } }";
    let program = written(text);
    for elements in [2, 3, 16] {
        let mut spec = Spec::base();
        spec.fbi.transmit_elements = elements;
        agree_on(spec, &program, &[], &noise(2, 200));
    }
    let refused = |change: &dyn Fn(&mut Spec)| {
        let mut spec = Spec::base();
        change(&mut spec);
        spec.refusals(&program).into_iter().next().map(|refusal| refusal.message)
    };
    let message = refused(&|spec| spec.fbi.transmit_elements = 1).expect("none would stay free");
    assert!(message.contains("`fbi.transmit_elements`"), "{message}");
    let message = refused(&|spec| spec.scratch.bytes = 2048).expect("turns have no words");
    assert!(message.contains("4096 bytes of scratchpad"), "{message}");
}

/// A context of some 500 words, which exceeds local memory and the part of the frame before the
/// window.
#[test]
fn a_large_context_has_a_place() {
    use std::fmt::Write as _;
    let (mut variables, mut begin, mut end) = (String::new(), String::new(), String::new());
    for number in 0..24 {
        let _ = writeln!(variables, "u128 v{number};");
        let _ = writeln!(begin, "v{number} = concat(bytes.value, bytes.value + {number});");
        let _ = writeln!(end, "sum = (sum << 1) ^ v{number} ^ noted[sum[5:0] + {number}];");
    }
    let text = format!(
        "header Bytes {{ u8 index, times; u64 value; }};
        engine large() {{
            u128 noted[32];
            u64 more[64];
            u32 counted[128];
            u200 wide;
            u8 rounds;
            {variables}
            Bytes bytes @ 0;
            step begin {{
                if (packet.length < sizeof(Bytes)) finish;
                wide = concat(bytes.value, bytes.value, bytes.value, bytes.index);
                {begin}
                next again;
            }}
            step again {{
                u8 at = bytes.index + rounds;
                noted[at[4:0]] = v3 ^ v17;
                more[at[6:1]] = v9[63:0] ^ more[at[5:0]];
                counted[at] = counted[at] + v5[31:0] + 1;
                v3 = v3 * 3 + v11;
                v17 = v17 ^ (u128)(wide >> rounds) ^ (u128)more[at[5:0]];
                rounds = rounds + 1;
                if (rounds < (u8)bytes.times[2:0]) next again;
                next end;
            }}
            step end {{
                u128 sum = (u128)wide ^ (u128)counted[bytes.index];
                {end}
                bytes.value = sum[127:64] ^ sum[63:0];
                finish;
            }}
        }}"
    );
    agree_with(&written(&text), &[], &noise(53, 200));
}

/// The program has more variables than local memory has words. Narrow variables share words, and
/// are written one by one.
#[test]
fn narrow_variables_share_words() {
    use std::fmt::Write as _;
    let (mut variables, mut begin, mut more, mut end) =
        (String::new(), String::new(), String::new(), String::new());
    let widths = [1, 3, 8, 9, 16, 17, 32];
    for (at, width) in widths.into_iter().enumerate() {
        let _ = writeln!(more, "step again{at} {{");
        for number in 0..12 {
            let name = format!("v{width}_{number}");
            let high = number + width - 1;
            let bit = number % 8;
            let _ = writeln!(variables, "u{width} {name};");
            // Variables with even numbers are zero until some packets write them.
            if number % 2 == 1 {
                let _ = writeln!(begin, "{name} = bytes.value[{high}:{number}];");
            }
            let _ = writeln!(more, "if (bytes.index[{bit}:{bit}] == 1) {name} = ~{name};");
            let _ = writeln!(end, "sum = (sum << 1) ^ (u64){name};");
        }
        let _ = writeln!(more, "next again{};\n}}", at + 1);
    }
    let last = widths.len();
    let text = format!(
        "header Bytes {{ u8 index, times; u64 value; }};
        engine narrow() {{
            u8 rounds;
            {variables}
            Bytes bytes @ 0;
            step begin {{
                if (packet.length < sizeof(Bytes)) finish;
                {begin}
                next again0;
            }}
            {more}
            step again{last} {{
                rounds = rounds + 1;
                if (rounds < (u8)bytes.times[1:0]) next again0;
                next end;
            }}
            step end {{
                u64 sum = 0;
                {end}
                bytes.value = sum;
                finish;
            }}
        }}"
    );
    agree_with(&written(&text), &[], &noise(59, 200));
}

#[test]
fn parked_packets_come_back_as_on_golden() {
    let program = own_program("parked");
    let mut packets = noise(43, 500);
    let mut rng = wireloom_sim::Rng::new(47, "lengths");
    for packet in packets.iter_mut().step_by(7) {
        packet.bytes.resize(1 + rng.below(4000) as usize, 0x5a);
    }
    agree_with(&program, &[], &packets);
}

#[test]
fn copies_have_the_bytes_that_they_have_on_golden() {
    let program = own_program("pieces");
    let mut rng = wireloom_sim::Rng::new(53, "bytes");
    let mut packets = noise(59, 600);
    for packet in &mut packets {
        let length = match rng.below(4) {
            0 => rng.below(1500),
            // Around elements and windows.
            1 => 62 + rng.below(4),
            2 => 254 + rng.below(20),
            _ => 6 + rng.below(60),
        };
        packet.bytes.resize(length as usize, 0x5a);
        let mut place = || match rng.below(8) {
            0 => rng.below(1 << 16),
            1 => length,
            _ => rng.below(length + 3),
        };
        let words = [place(), place()].map(|place| (place as u16).to_be_bytes());
        for (byte, value) in packet.bytes.iter_mut().zip(words.concat()) {
            *byte = value;
        }
    }
    agree_with(&program, &[], &packets);
}

#[test]
fn addresses_are_translated_as_on_golden() {
    let program = program("nat", &[]);
    agree(&program, "nat.tables", &captured());
    agree(&program, "nat.tables", &random());
}

/// Pushes and pops at the front of packets of all lengths, up to the longest window, with existing
/// and missing ports.
const PUSHES: &str = "
enum Reason : u8 { FULL, SHORT };
header Bytes { u8 first; u16 second; u24 third; u64 fourth; };
engine pushes() {
    offload bytes : payload<u8>;
    u8 rounds;
    step begin {
        Bytes bytes_in @ 0;
        if (!packet.push((u16)bytes_in.first)) drop(FULL);
        Bytes head @ 0;
        head.fourth = 0x0123456789abcdef;
        head.third = 0xfedcba;
        packet.egress = bytes_in.second;
        rounds = rounds + 1;
        next more;
    }
    step more {
        Bytes head @ 1;
        if (!packet.pop(3)) drop(SHORT);
        if (packet.length > 40) bytes.truncate(packet.length - 7);
        head.second = 0x55aa;
        if (rounds < 3) next begin;
        finish;
    }
}
";

#[test]
fn pushes_pops_and_any_port_do_what_they_do_on_golden() {
    let program = written(PUSHES);
    let mut rng = wireloom_sim::Rng::new(11, "pushes");
    let packet = |number: usize| {
        let mut bytes = vec![0; 1 + number * 13 % 300];
        bytes.iter_mut().for_each(|byte| *byte = rng.below(256) as u8);
        bytes[0] = rng.below(130) as u8;
        if number.is_multiple_of(2) && bytes.len() > 2 {
            bytes[1..3].copy_from_slice(&[0, rng.below(8) as u8]);
        }
        let arrival_ns = 300_000 * number as u64;
        Packet { ingress: (number % 8) as u16, arrival_ns, bytes }
    };
    agree_with(&program, &[], &(0..300).map(packet).collect::<Vec<_>>());
}

#[test]
fn every_operation_does_what_it_does_on_golden() {
    agree_with(&own_program("operations"), &[], &noise(13, 400));
}

#[test]
fn the_longest_packets_are_processed_as_on_golden() {
    let program = own_program("parked");
    let mut packets = noise(59, 12);
    let lengths = [65_535, 65_534, 65_527, 65_520, 65_408, 40_000];
    for (number, packet) in packets.iter_mut().enumerate() {
        packet.arrival_ns = 2_000_000 * number as u64;
        if number.is_multiple_of(2) {
            packet.bytes.resize(lengths[number / 2 % lengths.len()], 0xa5);
        }
    }
    let store = wireloom_ir::store(&program.optimised).expect("a store");
    let frames: Vec<_> = packets.iter().map(Packet::frame).collect();
    for name in ["ixp1200", "ixp2400"] {
        let mut spec = Spec::installed(name).unwrap_or_else(|error| panic!("{error}"));
        spec.ports.receive_mpkts = 2048;
        // The chip may begin to take a short packet before a long one that arrived first.
        let options = Options::default();
        let spec = std::sync::Arc::new(spec);
        let mut contender = Contender::new(spec, &program, &store, &options, &|_| ())
            .unwrap_or_else(|error| panic!("{}", error.message));
        let worked = contender.offer(&program.optimised, &frames, &mut |_| ());
        worked
            .and_then(|()| contender.finish(&program.optimised, &mut |_| ()))
            .and_then(|()| contender.compare_state(&|_| ()))
            .unwrap_or_else(|error| panic!("{}", error.message));
        assert!(contender.difference.is_none(), "{name}: {:?}", contender.difference);
        assert_eq!(contender.compared as usize, packets.len(), "{name}");
    }
}

#[test]
fn long_products_quotients_and_prefixes_are_those_of_golden() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("own.tables");
    let key = |digits: &str| format!("0x{digits:0<40}");
    let lines = [
        format!("{}/8 = 11", key("00")),
        format!("{}/6 = 0xffffffffffffffff", key("00")),
        format!("{}/9 = 33", key("0180")),
        format!("{}/21 = 0x1122334455667788", key("0218")),
        format!("{}/24 = 55", key("0300")),
    ];
    let value = "0x00112233445566778899aabbccddeeff00112233445566778";
    let wide = format!("0x00000/1 = {value}\n0x80000/4 = 77\n0xf0000/7 = {value}9");
    let text = format!("table by_wide_key\n{}\ntable wide_values\n{wide}\n", lines.join("\n"));
    std::fs::write(&file, text).expect("a file");
    let (program, tables) = (own_program("long"), [file]);
    let mut packets = noise(53, 25);
    // Small numbers, and no bytes.
    for packet in packets.iter_mut().step_by(5) {
        packet.bytes.resize(40, 0);
        packet.bytes[4..28].fill(0);
    }
    agree_with(&program, &tables, &packets);
    // SRAM has room for the frames and some of the tries, so one trie is in SDRAM.
    let mut spec = Spec::base();
    spec.sram.bytes = 4 * (16 * 512 + 70_000);
    agree_on(spec, &program, &tables, &packets);
}

#[test]
fn offloads_do_what_they_do_on_golden() {
    let program = own_program("offloads");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tables = folder.path().join("words.tables");
    // Short patterns, which random bytes contain.
    let patterns = ["A", "AB", "z", "Q~", "#!", "(", "%2", "%"];
    let line =
        |(number, bytes): (usize, &&str)| format!("\"{bytes}\" = {}\n", 77_777 * (1 + number));
    let lines: String = patterns.iter().enumerate().map(line).collect();
    std::fs::write(&tables, format!("table words\n{lines}")).expect("a file");
    agree_with(&program, &[tables], &noise(17, 600));
}

#[test]
fn packets_without_bytes_leave() {
    let text = "engine empty() {
        step begin {
            if (packet.window > 128) next cut;
            packet.reset(0);
            finish;
        }
        step cut { packet.pop(packet.window); finish; }
    }";
    agree_with(&written(text), &[], &noise(23, 50));
}

#[test]
fn tables_that_packets_change_do_what_they_do_on_golden() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("own.tables");
    let text = "table fixed\n1 = 10\n3 = 70000\ntable sums\n2 high=1 low=2\n";
    std::fs::write(&file, text).expect("a file");
    let (program, tables) = (own_program("tables"), [file]);
    agree_with(&program, &tables, &noise(29, 600));
    // SRAM has room for 24 frames of 512 words, the table of a check and 16 further words, so the
    // tables are in SDRAM.
    let mut spec = Spec::base();
    spec.sram.bytes = 4 * (24 * 512 + 256 + 16);
    agree_on(spec, &program, &tables, &noise(29, 600));
}

#[test]
fn meters_mark_packets_as_on_golden() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("own.tables");
    let text = "table one\n1 cir=0 cbs=3000 ebs=3000 pir=0 pbs=0\n\
                2 cir=1099511627776 cbs=1099511627776 ebs=1099511627776 pir=0 pbs=0\n\
                3 cir=999999999 cbs=400 ebs=90 pir=0 pbs=0\n\
                table two\n1 cir=1 cbs=5000 ebs=0 pir=1099511627776 pbs=700\n\
                2 cir=777777 cbs=1099511627776 ebs=0 pir=123456789 pbs=1000\n";
    std::fs::write(&file, text).expect("a file");
    let mut packets = noise(31, 500);
    // Packets arrive at the same time, or seconds or years apart.
    let mut rng = wireloom_sim::Rng::new(37, "times");
    let mut now = 0;
    for packet in &mut packets {
        now += [0, 20_000, 600_000, 300_000, 1_500_000_000][rng.below(5) as usize];
        packet.arrival_ns = now;
    }
    agree_with(&own_program("meters"), &[file], &packets);
}

#[test]
fn called_engines_reply_as_on_golden() {
    let mut packets = noise(41, 120);
    // One thread never ends, and takes its 65,535 jumps.
    packets[7].bytes.resize(64, 9);
    packets[7].bytes[8] = 77;
    // Later packets would wait at their ports, and the chip takes packets from several ports in any
    // order.
    packets[8..].iter_mut().for_each(|packet| packet.arrival_ns += 100_000_000);
    agree_with(&own_program("called"), &[], &packets);
}

#[test]
fn flows_are_counted_as_on_golden() {
    let program = program("flowcount", &[("FLOWS", "64"), ("FLOW_AGE", "400000")]);
    agree_with(&program, &[], &captured());
    agree_with(&program, &[], &random());
}

#[test]
fn url_finds_what_golden_finds() {
    let program = program("url", &[]);
    agree(&program, "url.tables", &captured());
    agree(&program, "url.tables", &random());
}

#[test]
fn digests_are_those_of_golden() {
    let program = program("md4", &[]);
    agree_with(&program, &[], &captured());
    agree_with(&program, &[], &random());
}
