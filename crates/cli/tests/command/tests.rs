//! Packet tests, and new engines.

use crate::workplace::Workplace;

const TESTS: &str = "\
program hub.loom
tables hub.tables
let link = eth(dst=02:00:00:00:00:01, src=02:00:00:00:00:02)
test IPv4 goes to the port in the table
packet 0 $link / ipv4(src=10.0.0.1, dst=10.0.0.2)
expect 7 $link / ipv4(src=10.0.0.1, dst=10.0.0.2)
expect table seen 0 packets=1
test the rest
packet 0 $link / vlan(type=0)
expect cpu NOT_IPV4
";

#[test]
fn packet_tests_pass_on_every_machine() {
    let place = Workplace::new();
    place.write("hub.packets", TESTS.as_bytes());
    place.wireloom("test hub.packets").status(0).says(&["golden", "native", "passed"]);
    let report = place.wireloom("test hub.packets --on golden,mpsoc-oc48 --json -");
    let runs = report.status(0).json()["runs"].as_array().expect("a list").clone();
    let of = |index: usize, name: &str| runs[index][name].clone();
    assert_eq!(
        (of(1, "machine"), of(1, "tests"), of(1, "packets")),
        ("mpsoc-oc48".into(), 2.into(), 2.into())
    );
}

#[test]
fn an_expectation_that_is_not_met_is_shown_with_its_line() {
    let place = Workplace::new();
    let wrong = TESTS.replace("expect 7", "expect 6").replace("packets=1", "packets=2");
    place.write("hub.packets", wrong.as_bytes());
    place.wireloom("test hub.packets --on native").status(1).says(&[
        "hub.packets:5: IPv4 goes to the port in the table: on native",
        "expected on port 6",
        "got on port 7",
        "hub.packets:7:",
        "1 failed",
    ]);
}

#[test]
fn malformed_tests_are_refused() {
    let place = Workplace::new();
    for (text, said) in [
        ("", "no line says `program FILE`"),
        ("program hub.loom\npacket 0 zeros(99999)", "t.packets:2: 99999: a packet has at most"),
        ("program hub.loom\nat 99999999999999s", "t.packets:2:"),
        ("program hub.loom\nexpect drop X", "no packet stands before"),
        ("program hub.loom\nlet a = $a\n", "`$a` is not defined"),
        ("program none.loom\n", "none.loom"),
        ("program hub.loom\ntables none.tables\npacket 0 zeros(1)", "none.tables"),
    ] {
        place.write("t.packets", text.as_bytes());
        place.wireloom("test t.packets").status(2).complains(&[said]);
    }
    place.wireloom("test t.packets --json t.packets").status(2).complains(&["overwrite"]);
}

#[test]
fn a_new_engine_passes_its_tests() {
    let place = Workplace::new();
    place.wireloom("new deep/filter").status(0).says(&["filter.loom", "wireloom test"]);
    place.wireloom("check deep/filter/filter.loom --deny-warnings").status(0);
    place.wireloom("test deep/filter/filter.packets").status(0).says(&["passed"]);
    let before = place.read("deep/filter/filter.loom");
    place.wireloom("new deep/filter").status(2).complains(&["is there already"]);
    assert_eq!(place.read("deep/filter/filter.loom"), before);
    place.wireloom("new Filter-1").status(2).complains(&["small letters"]);
    assert!(!place.path("Filter-1").exists());
    for name in ["if", "packet", "ipv4_set_ttl"] {
        place.wireloom(&format!("new {name}")).status(2).complains(&["cannot name the engine"]);
        assert!(!place.path(name).exists(), "{name}");
    }
}

#[test]
fn each_template_is_an_engine_that_works() {
    let place = Workplace::new();
    let help = place.wireloom("new --help");
    // What each must say of the packets of its capture.
    for (template, said) in [
        ("basic", "drop: NO_ROUTE"),
        ("firewall", "drop: NOT_OPEN"),
        ("router", "cpu: TTL_EXPIRED"),
        ("balancer", "drop: NO_FLOW"),
        ("monitor", "port 0"),
    ] {
        help.says(&[&format!("- {template}:")]);
        place.wireloom(&format!("new my_{template} --template {template}")).status(0);
        let file = format!("my_{template}/my_{template}");
        let run = format!("{file}.loom --tables {file}.tables --in {file}.pcapng");
        place.wireloom(&format!("check {file}.loom --deny-warnings")).status(0);
        place.wireloom(&format!("test {file}.packets --on golden,native")).status(0);
        place.wireloom(&format!("run {run} --on golden")).status(0).says(&["port 1", said]);
        place.wireloom(&format!("verify {run} --on native")).status(0).says(&["no difference"]);
        // The commands of its description name files that are there.
        let text =
            String::from_utf8(place.read(&format!("my_{template}/README.md"))).expect("text");
        assert!(!text.contains("NAME"), "{text}");
        for word in text
            .split([' ', '`', '\n'])
            .filter(|word| word.starts_with("my_") && word.contains('.'))
        {
            assert!(place.path(&format!("my_{template}/{word}")).exists(), "{template}: {word}");
        }
    }
    place.wireloom("new other --template none").status(2).complains(&["firewall"]);
}
