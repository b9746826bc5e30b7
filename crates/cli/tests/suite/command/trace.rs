//! `wireloom trace`: the report on one packet.

use std::process::Command;

use crate::workplace::{Ran, Workplace, frame, pcap};

const TRACE: &str = "trace hub.loom --tables hub.tables --in three.pcap";

#[test]
fn a_trace_says_what_happened_and_why() {
    let place = Workplace::new();
    let sent = place.wireloom(&format!("{TRACE} --packet 0"));
    sent.status(0).says(&[
        "packet 0 (counted from 0): from port 0, 60 bytes",
        "step start (hub.loom:10)",
        "eth.type = 2048 (0x800), no",
        "seen.count(index = 0, bytes = 60)",
        "ports.read(index = 0)",
        "-> out = 7",
        "packet.egress 0 -> 7",
        "sent to port 7, 60 bytes",
        "ethernet.dst",
    ]);
    let refused = place.wireloom(&format!("{TRACE} --packet 1"));
    refused.status(0).says(&["eth.type = 2054 (0x806), yes", "=> to the cpu: NOT_IPV4"]);
    place.wireloom(&format!("{TRACE} --packet 2")).status(0).says(&["dropped: TOO_SHORT, 4 bytes"]);
}

#[test]
fn a_trace_shows_what_a_machine_did() {
    let place = Workplace::new();
    let native = place.wireloom(&format!("{TRACE} --packet 0 --on native"));
    native.status(0).says(&[
        "native: sent to port 7; no difference from golden",
        "it keeps no times; its steps are those above",
    ]);
}

#[test]
fn a_machine_with_times_says_when() {
    let place = Workplace::new();
    let traced = place.wireloom(&format!("{TRACE} --packet 1 --on mpsoc-oc48"));
    traced.status(0).says(&["mpsoc-oc48: to the cpu: NOT_IPV4", "last bit in", "instructions: "]);
    let report = place.wireloom(&format!("{TRACE} --packet 0 --on mpsoc-oc48 --json -"));
    let report = report.status(0).json();
    let milestones = report["machine"]["passage"]["milestones"].as_array().expect("milestones");
    let cycles: Vec<_> = milestones.iter().map(|m| m["cycle"].as_u64()).collect();
    assert!(cycles.is_sorted() && cycles[0] < cycles[cycles.len() - 1], "{cycles:?}");
}

#[test]
fn a_multiprocessor_tells_which_thread_took_the_packet_and_its_messages() {
    let place = Workplace::new();
    let words = format!("{TRACE} --packet 0 --on mpsoc-oc48");
    let report = place.wireloom(&format!("{words} --json -")).status(0).json();
    let passage = &report["machine"]["passage"];
    let events = passage["milestones"].as_array().expect("milestones").clone();
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let find = |begin: &str| {
        let found = events.iter().position(|event| text(&event["what"]).starts_with(begin));
        found.unwrap_or_else(|| panic!("no {begin:?} in {events:#?}"))
    };
    let order = [
        "last bit in",
        "taken from the line",
        "stored in packet memory",
        "has its window",
        "sent to processor",
        "has the packet",
        "calls ports",
        "reply from ports",
        "is done with it",
        "waits for its turn to leave",
        "last bit out or drop",
    ];
    assert!(order.map(find).is_sorted(), "{events:#?}");
    let thread = text(&events[find("has the packet")]["where"]);
    assert!(text(&events[find("sent to processor")]["what"]).ends_with(&thread));
    assert_eq!(text(&events[find("calls ports")]["where"]), thread);
    assert_eq!(text(&events[find("begins the call")]["where"]), "seen");
    // The instructions between messages add up to the packet's instructions.
    let between = events.iter().filter_map(|event| {
        let what = text(&event["what"]);
        what.split_once(", after ")?.1.split(' ').next()?.parse::<u64>().ok()
    });
    let all: u64 = text(&passage["lines"][0]["text"]).parse().expect("a number");
    assert_eq!(between.sum::<u64>(), all);
    // The text is bounded.
    place.wireloom(&format!("{words} --steps 4")).status(0).says(&["more events are not shown"]);
}

#[test]
fn a_trace_is_data_too() {
    let report = Workplace::new().wireloom(&format!("{TRACE} --packet 0 --on native --json -"));
    let report = report.status(0).json();
    assert_eq!(report["steps"][0]["step"], "start");
    assert_eq!(report["steps"][0]["end"], "sent to port 7");
    assert_eq!(report["outputs"][0]["verdict"], "sent to port 7");
    assert_eq!(report["outputs"][0]["bytes"], report["bytes"]);
    assert_eq!(report["machine"]["outputs"][0]["verdict"], "sent to port 7");
    assert_eq!(report["machine"]["differences"].as_array().map(Vec::len), Some(0));
}

#[test]
fn updates_come_before_their_packets() {
    let place = Workplace::new();
    place.write("later.tables", b"at 1\ntable ports\n0 out=9\n");
    place.write("four.pcap", &pcap(&[frame(0x0800), frame(0x0800)]));
    let words = "trace hub.loom --tables hub.tables --updates later.tables --in four.pcap";
    place.wireloom(&format!("{words} --packet 0")).status(0).says(&["sent to port 7"]);
    place.wireloom(&format!("{words} --packet 1")).status(0).says(&["sent to port 9"]);
}

#[test]
fn packets_can_be_a_line_of_text() {
    let place = Workplace::new();
    let trace = |texts: &[&str], words: &str| -> Ran {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wireloom"));
        command.current_dir(place.path(".")).args(["trace", "hub.loom", "--tables", "hub.tables"]);
        for text in texts {
            command.args(["--text", text]);
        }
        command.args(words.split_whitespace()).output().expect("the command starts").into()
    };
    let ipv4 =
        "0 eth(dst=02:00:00:00:00:01, src=02:00:00:00:00:02) / ipv4(src=10.0.0.1, dst=10.0.0.2)";
    let arp = "2 eth(dst=02:00:00:00:00:01, src=02:00:00:00:00:02, type=0x0806) / zeros(46)";
    trace(&[ipv4], "").status(0).says(&["from port 0, 34 bytes", "sent to port 7", "10.0.0.2"]);
    trace(&[ipv4, arp], "").status(0).says(&["packet 1 ", "from port 2", "NOT_IPV4"]);
    trace(&[ipv4, arp], "--packet 0").status(0).says(&["sent to port 7"]);
    trace(&[ipv4], "--packet 1").status(2).complains(&["there are only 1 packet"]);
    trace(&["0 ipv5()"], "").status(2).complains(&["ipv5"]);
    trace(&[ipv4], "--in three.pcap").status(2).complains(&["cannot be used with"]);
}

#[test]
fn a_packet_that_does_not_exist_is_refused() {
    let place = Workplace::new();
    let ran = place.wireloom(&format!("{TRACE} --packet 3"));
    ran.status(2).complains(&["only 3 packets", "--packet 2"]);
    let most = place.wireloom(&format!("{TRACE} --packet {}", u64::MAX));
    most.status(2).complains(&["only 3 packets"]);
    place.wireloom(TRACE).status(2).complains(&["--packet"]);
    let idle = place.wireloom(&format!("{TRACE} --packet 0 --seed 3"));
    idle.status(2).complains(&["--seed has no effect on golden"]);
    let over = place.wireloom(&format!("{TRACE} --packet 0 --json three.pcap"));
    over.status(2).complains(&["--json would overwrite an input"]);
}
