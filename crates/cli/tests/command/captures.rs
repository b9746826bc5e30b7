//! What becomes of captures that lack something.

use super::workplace::{Workplace, frame, pcap};

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
        "search hub.loom --tables hub.tables --rate 1",
        "build hub.loom --on np-1-1-1 -o np",
        "application e.c",
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
    for command in ["build hub.loom --on np-1-1-1 -o np", "application e.c"] {
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
