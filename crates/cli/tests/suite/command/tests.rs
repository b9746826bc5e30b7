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
        " !   verdict                sent to port 6      sent to port 7 ",
        "     ethernet.dst           02:00:00:00:00:01   02:00:00:00:00:01 ",
        "hub.packets:7: IPv4 goes to the port in the table: on native\nseen 0\n",
        " !   packets   2          1 ",
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
        ("program hub.loom\nexpect drop X", "no packet and no time stands before"),
        ("program hub.loom\nlet a = $a\n", "`$a` is not defined"),
        ("program hub.loom\nat 5", "`5` is no time; write it as 10s"),
        ("program hub.loom\npacket 0 Ethernet(typ=1)", "did you mean `type`?"),
        ("program hub.loom\npacket 0 Ethernt(type=1)", "did you mean `Ethernet`?"),
        ("program hub.loom\npacket 0 zeros(1)\nexpect drop NOT_IPV5", "did you mean `NOT_IPV4`?"),
        ("program hub.loom\nexpect table seen", "write `expect table OFFLOAD KEY FIELD=VALUE"),
        ("program hub.loom\nexpect table sen 0 packets=1", "t.packets:2: the program has no"),
        ("program hub.loom\nexpect table ports 0 out=65536", "field `out`: `65536` does not fit"),
        ("program hub.loom\nset PORTS=3", "--set PORTS: there is no constant `PORTS`"),
        ("program none.loom\n", "none.loom"),
        ("program hub.loom\ntables none.tables\npacket 0 zeros(1)", "none.tables"),
    ] {
        place.write("t.packets", text.as_bytes());
        place.wireloom("test t.packets").status(2).complains(&[said]);
    }
    place.wireloom("test t.packets --json t.packets").status(2).complains(&["overwrite"]);
}

/// Adds and subtracts as its own header says, and remembers senders for a second.
const CALC: &str = "\
header Link { u48 dst; u48 src; u16 type; };
enum Op : u8 { ADD = 1, SUB = 2 };
header Calc { Op op; u16 a; u16 b; u16 result; };
enum Why : u8 { TOO_SHORT };
enum State : u8 { NEW = 3, KNOWN = 5 };
struct Sender { State state; u8 count; };
engine calc() {
    offload senders : exact<u48, Sender, size = 16, age = 1000000000>;
    Link link @ 0;
    Calc calc @ 14;
    step start {
        if (packet.length < 21) drop(TOO_SHORT);
        auto known = senders.touch(link.src);
        if (known.found) {
            senders.update(link.src, { KNOWN, known.value.count + 1 });
        } else {
            senders.insert(link.src, { NEW, 1 });
        }
        next compute;
    }
    step compute {
        calc.result = calc.op == ADD ? calc.a + calc.b : calc.a - calc.b;
        packet.egress = packet.ingress;
        finish;
    }
}
";

const CALC_TESTS: &str = "\
program calc.loom
let link = eth(dst=02:00:00:00:00:01, src=02:00:00:00:00:02, type=0x1234)
test headers of the program are layers
packet 0 $link / Calc(op=ADD, a=2, b=3) / ipv4(src=10.0.0.1, dst=10.0.0.2)
expect 0 $link / Calc(op=ADD, a=2, b=3, result=5) / ipv4(src=10.0.0.1, dst=10.0.0.2)
expect table senders 02:00:00:00:00:02 state=NEW count=1
at 500ms
packet 0 $link / Calc(op=SUB, a=2, b=3)
expect 0 $link / Calc(op=SUB, a=2, b=3, result=0xffff)
expect table senders 02:00:00:00:00:02 state=KNOWN
expect absent senders 02:00:00:00:00:03
test idle senders are forgotten
at 1.5s
expect table senders 02:00:00:00:00:02 count=2
at 1.500000001s
expect absent senders 02:00:00:00:00:02
packet 0 eth(dst=02:00:00:00:00:01, src=02:00:00:00:00:03) / Calc(op=SUB)
expect 0 eth(dst=02:00:00:00:00:01, src=02:00:00:00:00:03) / Calc(op=SUB)
expect absent senders 02:00:00:00:00:02
";

const SCALARS: &str = "\
engine scalars() {
    offload words : array<u16, size = 4>;
    offload marks : exact<u8, u16, size = 4>;
    step only {
        words.write(1, packet.length);
        marks.insert(7, packet.length);
        finish;
    }
}
";

const SCALAR_TESTS: &str = "\
program scalars.loom
packet 0 zeros(60)
expect 0 zeros(60)
expect table words 1 = 60
expect table words 2 = 0
expect table marks 7 -> = 60
";

#[test]
fn scalars_are_expected_as_table_files_write_them() {
    let place = Workplace::new();
    place.write("scalars.loom", SCALARS.as_bytes());
    place.write("scalars.packets", SCALAR_TESTS.as_bytes());
    place.wireloom("test scalars.packets").status(0).says(&["golden", "native"]);
    for (right, wrong) in [("1 = 60", "1 = 61"), ("2 = 0", "2 = 1"), ("-> = 60", "-> = 61")] {
        place.write("wrong.packets", SCALAR_TESTS.replace(right, wrong).as_bytes());
        place.wireloom("test wrong.packets --on golden").status(1).says(&[" !   value "]);
    }
}

#[test]
fn headers_enumerations_and_times_of_the_program_are_tested() {
    let place = Workplace::new();
    place.write("calc.loom", CALC.as_bytes());
    place.write("calc.packets", CALC_TESTS.as_bytes());
    place.wireloom("test calc.packets").status(0).says(&["golden", "native", "passed"]);

    let wrong = CALC_TESTS
        .replace("result=5) / ipv4(src=10.0.0.1", "result=6) / ipv4(src=10.0.0.9")
        .replace("state=KNOWN", "state=NEW")
        .replace("absent senders 02:00:00:00:00:03", "table senders 02:00:00:00:00:03 count=1")
        .replace("1.500000001s", "1.50s");
    place.write("calc.packets", wrong.as_bytes());
    let ran = place.wireloom("test calc.packets --on golden --junit out.xml");
    ran.status(1).says(&[
        " !   Calc.result            6                   5 ",
        "     Calc.op                ADD                 ADD ",
        " !   ipv4.src               10.0.0.9            10.0.0.1 ",
        "calc.packets:10: headers of the program are layers: on golden\n\
         senders 02:00:00:00:00:02\n",
        " !   state   NEW        KNOWN ",
        "senders has no entry 02:00:00:00:00:03; it has 1:\n  \
         02:00:00:00:00:02 -> state=KNOWN count=2",
        "senders has an entry 02:00:00:00:00:02",
        " !   02:00:00:00:00:02   no such row   state=KNOWN count=2 ",
        "2 failed",
    ]);
    let xml = String::from_utf8(place.read("out.xml")).expect("text");
    assert!(xml.contains("tests=\"2\" failures=\"2\""), "{xml}");
    assert!(xml.contains("<testcase name=\"idle senders are forgotten\""), "{xml}");
    place.wireloom("test calc.packets --junit calc.packets").status(2).complains(&["overwrite"]);

    let typo = TESTS.replace("seen 0 packets=1", "seen 3 packet=0");
    place.write("typo.packets", typo.as_bytes());
    let ran = place.wireloom("test typo.packets --on golden");
    ran.status(1).says(&["seen: there is no field `packet`; did you mean `packets`?"]);

    let text = "trace calc.loom --packet 0 --text";
    let run = |packet: &str| {
        let words = text.split(' ').chain([packet]);
        place.run(words.map(str::to_owned).collect())
    };
    run("0 Link(type=1) / Calc(op=ADD, a=4)").status(0).says(&["sent to port 0, 21 bytes"]);
    run("0 Calk(op=ADD)").status(2).complains(&["--text '0 Calk(op=ADD)': Calk: there is no"]);
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
    // A text that the packets of each template's capture must cause.
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
        // The commands in the description name existing files.
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
