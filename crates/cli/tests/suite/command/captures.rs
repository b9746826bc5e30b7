//! Incomplete and damaged captures.

use crate::workplace::{Workplace, frame, pcap};

const RUN: &str = "run hub.loom --on golden --tables hub.tables --in in.pcap";

#[test]
fn packets_captured_in_part_are_counted_and_treated_as_asked() {
    let place = Workplace::new();
    let mut capture = pcap(&[frame(0x0800), frame(0x0800)]);
    capture[24 + 12..24 + 16].copy_from_slice(&100u32.to_le_bytes()); // its length on the wire
    place.write("in.pcap", &capture);
    for (option, packets, bytes) in [
        ("", 2, 120),
        (" --truncated use", 2, 120),
        (" --truncated pad", 2, 160),
        (" --truncated skip", 1, 60),
    ] {
        let ran = place.wireloom(&format!("{RUN} --json -{option}"));
        ran.status(0).complains(&["warning: in.pcap: packets captured in part (snap length): 1;"]);
        let arrived = &ran.json()["arrived"];
        assert_eq!((&arrived["packets"], &arrived["bytes"]), (&packets.into(), &bytes.into()));
    }
}

#[test]
fn a_capture_that_ends_in_the_middle_is_used_up_to_there_or_refused() {
    let place = Workplace::new();
    let capture = pcap(&[frame(0x0800), frame(0x0800)]);
    place.write("in.pcap", &capture[..capture.len() - 1]);
    let ran = place.wireloom(&format!("{RUN} --in three.pcap --json - --out out.pcapng"));
    ran.status(0).complains(&[
        "warning: in.pcap: byte 100: the file ends",
        "packets before it that are used: 1",
    ]);
    assert_eq!(ran.json()["arrived"]["packets"], 4);
    assert!(place.files().contains(&"out.pcapng".into()));

    let ran = place.wireloom(&format!("{RUN} --unfinished refuse --out refused.pcapng"));
    ran.status(2).complains(&["error: in.pcap: byte 100: the file ends inside a record"]);
    assert!(!place.files().contains(&"refused.pcapng".into()));
}

/// Returns a pcapng file with three packets on an interface, and the offset of the second. A byte
/// of the second can be replaced.
fn three_blocks(damage: Option<(usize, u8)>) -> (Vec<u8>, usize) {
    let block = |kind: u32, body: &[u8]| {
        let total = (body.len() as u32 + 12).to_le_bytes();
        [&kind.to_le_bytes()[..], &total, body, &total].concat()
    };
    let words =
        |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>();
    let section = block(0x0a0d_0d0a, &words(&[0x1a2b_3c4d, 1, u32::MAX, u32::MAX]));
    let interface = block(1, &words(&[1, 0]));
    let packet = block(6, &[words(&[0, 0, 0, 60, 60]), frame(0x0800)].concat());
    let mut second = packet.clone();
    if let Some((at, byte)) = damage {
        second[at] = byte;
    }
    let at = section.len() + interface.len() + packet.len();
    ([section, interface, packet.clone(), second, packet].concat(), at)
}

#[test]
fn damaged_packets_are_refused_or_skipped() {
    let place = Workplace::new();
    let run = "run hub.loom --on golden --tables hub.tables --in in.pcapng --json -";
    // The captured length, and the interface.
    for (at, byte, what) in [(20, 200, "claims to have 200 bytes"), (8, 7, "names interface 7")] {
        let (capture, offset) = three_blocks(Some((at, byte)));
        place.write("in.pcapng", &capture);
        place.wireloom(run).status(2).complains(&[what, "--damaged skip leaves out such packets"]);
        let ran = place.wireloom(&format!("{run} --damaged skip"));
        ran.status(0).complains(&[
            "warning: in.pcapng: damaged packets that are left out: 1;",
            &format!("the first begins at byte {offset}"),
        ]);
        assert_eq!(ran.json()["arrived"]["packets"], 2);
    }
    // A length that does not lead to the next block.
    let (capture, _) = three_blocks(Some((4, 88)));
    place.write("in.pcapng", &capture);
    let lost = place.wireloom(&format!("{run} --damaged skip"));
    lost.status(2).complains(&["the file is damaged here"]);
    assert!(!lost.err.contains("--damaged"), "{}", lost.err);
}

#[test]
fn captures_of_ports_are_merged_by_time() {
    let place = Workplace::new();
    let sizes =
        |sizes: &[usize]| pcap(&sizes.iter().map(|size| vec![9; *size]).collect::<Vec<_>>());
    place.write(
        "wire.loom",
        b"engine wire() { step s { packet.egress = packet.ingress; finish; } }",
    );
    place.write("a.pcap", &sizes(&[60, 61, 62]));
    // The second packet of this capture is earlier than the first, so it arrives directly after it.
    let mut back = sizes(&[70, 71]);
    back[24..28].copy_from_slice(&2u32.to_le_bytes());
    place.write("b.pcap", &back);
    place.write("1:c.pcap", &sizes(&[80]));
    let sent = |words: &str| {
        let run = format!("run wire.loom --on golden --out out.pcap --json - {words}");
        let report = place.wireloom(&run).status(0).json();
        let out = place.read("out.pcap");
        let (mut at, mut lengths) = (24, Vec::new());
        while at < out.len() {
            let length = u32::from_le_bytes(out[at + 8..at + 12].try_into().expect("four bytes"));
            lengths.push(length);
            at += 16 + length as usize;
        }
        let ports = report["sent"].as_array().expect("a list").clone();
        let ports: Vec<_> =
            ports.iter().map(|port| port["port"].as_u64().expect("a port")).collect();
        (lengths, ports)
    };
    assert_eq!(sent("--in a.pcap --in b.pcap"), (vec![60, 61, 62, 70, 71], vec![0]));
    assert_eq!(sent("--in 4:a.pcap --in 5:b.pcap"), (vec![60, 61, 62, 70, 71], vec![4, 5]));
    assert_eq!(sent("--in 5:b.pcap --in a.pcap"), (vec![60, 61, 70, 71, 62], vec![0, 5]));
    assert_eq!(sent("--in 7:./1:c.pcap --in a.pcap --packets 2"), (vec![80, 60], vec![0, 7]));
    for (words, said) in [
        ("--in 1:c.pcap", "c.pcap: cannot open the capture"),
        ("--in 65536:a.pcap", "ports are 0 to 65535, not 65536"),
        ("--in 3:a.pcap --in 4:none.pcap", "none.pcap: cannot open the capture"),
        ("--in 3:a.pcap --in 4:out.pcap --out out.pcap", "overwrite an input"),
    ] {
        place.wireloom(&format!("run wire.loom --on golden {words}")).status(2).complains(&[said]);
    }
    let both = "--in 4:a.pcap --in 5:b.pcap";
    place.wireloom(&format!("verify wire.loom {both}")).status(0).says(&["port 5", "5 packets"]);
    let traced = place.wireloom(&format!("trace wire.loom {both} --packet 3"));
    traced.status(0).says(&["packet 3 (counted from 0): from port 5, 70 bytes"]);
}

#[test]
fn files_that_are_compressed_otherwise_are_named() {
    let place = Workplace::new();
    place.write("in.zst", &[0x28, 0xb5, 0x2f, 0xfd, 1, 2, 3]);
    place.write("t.xz", b"\xfd7zXZ\0\0\x04");
    for (words, said) in [
        (
            "--in in.zst",
            "in.zst: cannot open the capture: compressed with zstd; \
                         decompress it first: zstd -d in.zst",
        ),
        ("--in three.pcap --tables t.xz", "compressed with xz; decompress it first: xz -d t.xz"),
    ] {
        place.wireloom(&format!("run hub.loom --on golden {words}")).status(2).complains(&[said]);
    }
}

#[test]
fn plain_pcap_holds_what_was_sent() {
    let place = Workplace::new();
    let words = "run hub.loom --on golden --tables hub.tables --in three.pcap --out out.pcap";
    let ran = place.wireloom(words);
    ran.status(0).complains(&["warning: packets to the cpu that plain pcap cannot hold: 1"]);
    let out = place.read("out.pcap");
    assert_eq!((out.len(), &out[24 + 16..]), (24 + 16 + 60, &frame(0x0800)[..]));
    let ran = place.wireloom(&words.replace("out.pcap", "more.pcap --drops"));
    ran.status(2).complains(&["plain pcap cannot hold dropped packets", "name the file .pcapng"]);
}

#[test]
fn every_command_that_reads_captures_takes_the_same_options() {
    let place = Workplace::new();
    let mut capture = pcap(&[frame(0x0800), frame(0x0800)]);
    capture[24 + 12..24 + 16].copy_from_slice(&100u32.to_le_bytes()); // its length on the wire
    place.write("in.pcap", &capture);
    place.write("cut.pcap", &capture[..capture.len() - 1]);
    place.write("e.c", b"int main(void) { return 0; }\n");
    for command in [
        "run hub.loom --on golden --tables hub.tables",
        "verify hub.loom --on native --tables hub.tables",
        "trace hub.loom --tables hub.tables --packet 5",
        "np search hub.loom --tables hub.tables --rate 1",
        "build hub.loom --on np-1-1-1 -o np",
        "mpsoc application e.c",
    ] {
        let refused = place.wireloom(&format!("{command} --in cut.pcap --unfinished refuse"));
        refused.status(2).complains(&["cut.pcap: byte 100: the file ends inside a record"]);
        let odd = place.wireloom(&format!("{command} --in in.pcap --truncated maybe"));
        odd.status(2).complains(&["invalid value 'maybe' for '--truncated"]);
    }
    let built = place.wireloom("build hub.loom --on np-1-1-1 -o np --in in.pcap --truncated skip");
    built.status(0);
    let packets = String::from_utf8(place.read("np/sim/packets.txt")).expect("text");
    assert_eq!(packets.lines().count(), 1, "the packet that was captured in part is skipped");
    for command in ["build hub.loom --on np-1-1-1 -o np", "mpsoc application e.c"] {
        let idle = place.wireloom(&format!("{command} --truncated skip"));
        idle.status(2).complains(&["--in <CAPTURE>"]);
    }
}

#[test]
fn an_engine_that_emits_in_a_loop_keeps_bounded_memory() {
    let place = Workplace::new();
    let flood = "header First { u8 count; };
        engine flood() {
            First first @ 0;
            u16 sent;
            step send {
                sent += 1;
                first.count += 1;
                if (sent == 30000) finish;
                emit(send);
            }
        }";
    place.write("flood.loom", flood.as_bytes());
    place.write("long.pcap", &pcap(&[vec![7; 9000]]));
    for machine in ["golden", "native"] {
        let ran = place.wireloom(&format!("run flood.loom --on {machine} --in long.pcap --json -"));
        let report = ran.status(0).json();
        assert_eq!(report["sent"][0]["bytes"], 270_000_000, "{machine}: {report}");
        let peak = report["peak_memory_kib"].as_u64().expect("a number");
        assert!(peak < 150_000, "{machine}: {peak} KiB for 270 MB of copies");
    }
}
