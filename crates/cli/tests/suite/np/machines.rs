//! Programs from programs/, and the choices of a description, on whole processors.

use std::path::Path;

use wireloom_net::capture::{Destination, Writer};
use wireloom_testkit::TestFile;

use super::*;

fn programs() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../programs"))
}

/// Writes the packets of a test file as a capture.
fn capture(place: &Workplace, tests: &str) {
    let tests = TestFile::read(&programs().join("tests").join(tests)).expect("packet tests");
    let mut writer = Writer::create(&place.path("in.pcapng")).expect("a capture");
    for packet in tests.packets() {
        let written =
            writer.write(Destination::Port(packet.ingress), packet.arrival_ns, &packet.bytes);
        written.expect("a packet");
    }
    writer.finish().expect("a capture");
}

#[test]
#[ignore = "builds a large model: make test-all"]
fn the_router_does_on_two_lanes_what_it_does_on_golden() {
    let place = Workplace::new();
    capture(&place, "router.packets");
    // A small version of np-200mpps.
    let machine = "extends = \"np-200mpps\"\nclusters = 2\nengines = 1\nthreads = 5\n";
    place.write("small.toml", machine.as_bytes());
    let programs = programs().display();
    let verify = format!(
        "verify {programs}/router.loom --on small.toml --tables {programs}/tests/router.tables --in in.pcapng"
    );
    place.wireloom(&verify).status(0).says(&["no difference", "hits of the cache of labels"]);
    place.wireloom(&format!("{verify} --idle 30 --stall 40")).status(0).says(&["no difference"]);
}

#[test]
#[ignore = "builds a large model: make test-all"]
fn the_router_does_with_shorter_words_of_the_header_what_it_does_on_golden() {
    let place = Workplace::new();
    capture(&place, "router.packets");
    let machine =
        "extends = \"np\"\nclusters = 1\nengines = 1\nthreads = 4\n[engine]\nheader_bytes = 8\n";
    place.write("words.toml", machine.as_bytes());
    let programs = programs().display();
    let verify = format!(
        "verify {programs}/router.loom --on words.toml --tables {programs}/tests/router.tables --in in.pcapng"
    );
    place.wireloom(&verify).status(0).says(&["no difference"]);
}

#[test]
fn a_word_of_the_header_has_no_other_length() {
    let place = Workplace::new();
    for (bytes, words) in [(12, "it can be 4, 8 or 16"), (32, "two ports of 16 bytes")] {
        place.write(
            "mine.toml",
            format!("extends = \"np\"\n[engine]\nheader_bytes = {bytes}\n").as_bytes(),
        );
        let build = place.wireloom("build hub.loom --on mine.toml -o np");
        build.status(2).complains(&["mine", "`engine.header_bytes` is", words]);
    }
}

#[test]
#[ignore = "builds several models: make test-all"]
fn no_choice_of_a_description_changes_what_becomes_of_packets() {
    let machines = [
        "lanes = 2\nclusters = 4\nengines = 2\nthreads = 2\n\
         [engine]\nstorage = \"block-windows\"\nscheduler = \"round-robin\"\nheader_reads = 1\nheader_bytes = 4\n\
         [balance]\nclusters = \"static\"\nengines = \"static\"\n\
         [arbitration]\ncluster = \"fixed\"\npipe = \"fixed\"\n\
         [clock]\nmemory_ratio = 6\n",
        "lanes = 1\nclusters = 2\nengines = 3\nthreads = 5\n\
         [engine]\nstorage = \"block\"\nheader_writes = 2\nheader_bytes = 8\nstage_levels = 6\n\
         [balance]\nclusters = \"first-free\"\nengines = \"first-free\"\n\
         [memory]\nlatency = 30\n[offload.ports]\nrealisation = \"table\"\nplace = \"engine\"\n",
    ];
    let place = hub();
    for machine in machines {
        place.write("mine.toml", format!("extends = \"np\"\n{machine}").as_bytes());
        let verify =
            "verify hub.loom --on mine.toml --tables hub.tables --in many.pcap --assertions";
        place.wireloom(verify).status(0).says(&["1,000 outputs compared", "no difference"]);
        place
            .wireloom(&format!("{verify} --idle 40 --stall 50"))
            .status(0)
            .says(&["no difference"]);
    }
}
