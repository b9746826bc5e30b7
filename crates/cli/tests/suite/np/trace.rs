//! `wireloom trace` on network processors: the path of the packet, cycle by cycle.

use serde_json::Value;

use super::{hub, report};
use crate::workplace::Workplace;

/// Returns the events of a packet: place and text.
fn course(place: &Workplace, words: &str, packet: usize) -> Vec<(String, String)> {
    let traced = report(&place.wireloom(&format!("trace {words} --packet {packet} --json -")));
    let machine = &traced["machine"];
    assert_eq!(machine["differences"].as_array().map(Vec::len), Some(0), "packet {packet}");
    let milestones = machine["passage"]["milestones"].as_array().expect("milestones").clone();
    let cycles: Vec<u64> =
        milestones.iter().map(|m| m["cycle"].as_u64().expect("a cycle")).collect();
    assert!(cycles.is_sorted(), "{cycles:?}");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    milestones.iter().map(|event| (text(&event["where"]), text(&event["what"]))).collect()
}

/// Returns the index of the event that begins with a text.
fn find(course: &[(String, String)], begin: &str) -> usize {
    let found = course.iter().position(|(_, what)| what.starts_with(begin));
    found.unwrap_or_else(|| panic!("no {begin:?} in {course:#?}"))
}

/// Asserts that events happened in this order.
fn assert_order(course: &[(String, String)], begins: &[&str]) {
    let found: Vec<usize> = begins.iter().map(|begin| find(course, begin)).collect();
    assert!(found.is_sorted(), "{begins:?} in {course:#?}");
}

const SHELLS: [(&str, &str); 3] = [
    ("lanes.toml", "extends = \"np\"\nlanes = 2\nclusters = 4\nengines = 2\nthreads = 2\n"),
    (
        "fsm.toml",
        "extends = \"np\"\nclusters = 2\nengines = 2\nthreads = 1\n[engine]\nshell = \"state-machine\"\n",
    ),
    ("turns.toml", "extends = \"np\"\nclusters = 1\nengines = 1\nthreads = 8\n"),
];

#[test]
fn a_trace_shows_the_slots_and_calls_of_the_packets_own_thread() {
    slots_and_calls(&SHELLS[..1]);
}

#[test]
#[ignore = "builds two more models: make test-all"]
fn a_trace_shows_the_slots_and_calls_of_threads_that_wait() {
    slots_and_calls(&SHELLS[1..]);
}

fn slots_and_calls(shells: &[(&str, &str)]) {
    let place = hub();
    for (machine, text) in shells {
        place.write(machine, text.as_bytes());
        let words = format!("hub.loom --on {machine} --tables hub.tables --in many.pcap");
        // One of every five packets goes to the cpu; packets of 13 bytes are dropped.
        for (packet, end) in
            [(0, "finish"), (4, "to the cpu"), (6, "drop"), (94, "to the cpu"), (97, "drop")]
        {
            let course = course(&place, &words, packet);
            assert_order(
                &course,
                &[
                    "arrived",
                    "first beat in",
                    "header goes to the cluster",
                    "takes its place in the order",
                    "first row loaded",
                    "loaded",
                    "slot of step",
                    &format!("slot ends: {end}"),
                    "has left the engine",
                    "in the reorder queue",
                    "its turn",
                    "last beat out or drop",
                ],
            );
            if end == "finish" {
                assert_order(
                    &course,
                    &[
                        "calls ports",
                        "request to ports leaves the engine",
                        "ports replies",
                        "slot ends: finish",
                    ],
                );
            }
            let thread = &course[find(&course, "first row loaded")].0;
            assert!(thread.starts_with("pipe") && thread.contains(".thread"), "{thread}");
            let slots = course.iter().filter(|(_, what)| what.starts_with("slot"));
            assert!(slots.clone().count() >= 2 && slots.clone().all(|(at, _)| at == thread));
        }
    }
}

#[test]
#[ignore = "takes long: make test-all"]
fn a_trace_shows_the_steps_of_a_pipelined_engine() {
    let place = hub();
    let words = "hub.loom --on np-pipeline --tables hub.tables --in many.pcap";
    let course = course(&place, words, 95);
    assert_order(
        &course,
        &[
            "first beat in",
            "header goes to the cluster",
            "enters step start",
            "calls ports",
            "ports replies",
            "leaves step",
            "window has left the pipeline",
            "last beat out or drop",
        ],
    );
}

#[test]
#[ignore = "builds a large model: make test-all"]
fn a_trace_shows_copies_and_packets_of_narrow_ports() {
    let place = Workplace::new();
    place.write("ports.loom", include_bytes!("ports.loom"));
    place.write("ethernet.loom", include_bytes!("../../../../../programs/include/ethernet.loom"));
    place.write("four.toml", b"extends = \"np-four-10g\"\nclusters = 1\n");
    let traffic =
        "traffic --packets 300 --ports 4 --sizes imix --mix ipv4=3,ipv6=1 --out in.pcapng";
    place.wireloom(traffic).status(0);
    let words = "ports.loom --on four.toml --in in.pcapng";
    let mut ends: Vec<String> = [5, 40, 70, 110, 250]
        .into_iter()
        .map(|packet| {
            let course = course(&place, words, packet);
            let end = course.iter().rfind(|(_, what)| what.starts_with("slot ends"));
            let emits = course.iter().any(|(_, what)| what.starts_with("slot ends: emit"));
            let outputs = course.iter().filter(|(_, what)| what == "in the reorder queue").count();
            assert_eq!(outputs, 1 + usize::from(emits), "{course:#?}");
            format!("{}{}", if emits { "emit and " } else { "" }, end.expect("an end").1)
        })
        .collect();
    ends.sort();
    ends.dedup();
    assert!(ends.len() >= 3, "{ends:?}");
}
