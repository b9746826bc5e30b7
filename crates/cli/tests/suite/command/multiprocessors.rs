//! Simulated multiprocessors, and wrappers for the objects on them.

use super::*;

#[test]
fn simulated_processors_do_what_golden_does() {
    let place = Workplace::new();
    for (name, set) in [("arm.toml", "armv4"), ("riscv.toml", "rv32im")] {
        let description = format!(
            "extends = \"mpsoc-oc48\"\nprocessors = 2\nthreads = 4\n[processor]\ninstruction_set = \"{set}\"\n"
        );
        place.write(name, description.as_bytes());
        let verified =
            place.wireloom(&format!("verify hub.loom --on {name} --in three.pcap --json r.json"));
        verified.status(0);
        let report: serde_json::Value =
            serde_json::from_slice(&place.read("r.json")).expect("JSON");
        let text = report.to_string();
        assert!(text.contains("instructions_a_packet"), "{text}");
    }
    let buffered = place.wireloom("run hub.loom --on mpsoc-oc48 --in three.pcap --buffer 9");
    buffered.status(0).says(&["lost at input  0 packets"]);
    let paused = place.wireloom("run hub.loom --on mpsoc-oc48 --in three.pcap --idle 9");
    paused.status(2).complains(&["--idle", "has no effect on mpsoc-oc48"]);
}

#[test]
fn sidl_writes_wrappers_and_refuses_what_is_no_interface() {
    let place = Workplace::new();
    place.write(
        "lookup.sidl",
        b"interface Lookup { u32 search(u32 address); };\nservice routes : Lookup;\n",
    );
    place.wireloom("mpsoc sidl lookup.sidl -o wrappers").status(0).says(&[
        "lookup.h",
        "lookup.rs",
        "Lookup_server.sv",
    ]);
    let header = String::from_utf8(place.read("wrappers/lookup.h")).expect("text");
    assert!(header.contains("Lookup_search") && header.contains("SERVICE_routes"), "{header}");
    place.write("wrong.sidl", b"interface Lookup { u32 search(u33 address); };\n");
    place.wireloom("mpsoc sidl wrong.sidl -o other").status(2).complains(&[
        "wrong.sidl:1:",
        "no type `u33`",
        "types are",
    ]);
    place.wireloom("mpsoc sidl nowhere.sidl -o other").status(2).complains(&["nowhere.sidl"]);
    assert!(!place.path("other").exists(), "nothing is written");
}

/// A program with a variable that two threads write, and a packet for each of them.
const APPLICATION: &str = r#"
#include "wl_packets.h"
#include "wl_print.h"
#include "wl_threads.h"
static volatile uint32_t last;
static uint32_t forwards(uint32_t port) {
    last = wl_packet_receive();
    wl_packet_send(port);
    return 0;
}
int main(void) {
    wl_thread other = wl_thread_create(forwards, 2, 0);
    forwards(1);
    wl_thread_join(other);
    wl_packet_receive();
    wl_packet_drop(7);
    wl_printf("%s %u\n", "done", VALUE);
    return VALUE;
}
"#;

#[test]
fn applications_print_forward_and_answer_and_tell_of_races() {
    let place = Workplace::new();
    place.write("both.c", APPLICATION.as_bytes());
    let run = "mpsoc application both.c --on mpsoc-oc48 --in three.pcap";
    place.wireloom(&format!("{run} -DVALUE=0 --out sent.pcapng")).status(0).says(&[
        "done 0",
        "main has ended with 0",
        "3 arrived, 0 lost at the input; 2 sent, 1 dropped",
    ]);
    assert!(place.path("sent.pcapng").exists());
    place.wireloom(&format!("{run} -DVALUE=3")).status(1).says(&["main has ended with 3"]);
    let raced = place.wireloom(&format!("{run} -DVALUE=0 --races"));
    raced.status(1).says(&["data race", "last (0x30000000): written by thread", "forwards+"]);
    place.wireloom(&format!("{run} -DVALUE=0 --json r.json")).status(0);
    let report: serde_json::Value = serde_json::from_slice(&place.read("r.json")).expect("JSON");
    assert_eq!(
        (report["ended"].as_str(), report["printed"].as_str()),
        (Some("done"), Some("done 0\n"))
    );
    assert_eq!(report["packets"]["sent"], 2);
    place
        .wireloom("mpsoc application both.c -DVALUE=0")
        .status(0)
        .says(&["all wait for packets or calls"]);
    place.write(
        "busy.c",
        b"int main(void) { for (volatile int k = 0; k >= 0; k = 1); return 0; }\n",
    );
    place
        .wireloom("mpsoc application busy.c --limit-us 5")
        .status(1)
        .says(&["still running", "--limit-us"]);
}

#[test]
fn applications_that_are_none_are_refused() {
    let place = Workplace::new();
    place.write("wrong.c", b"int main(void) { return nothing; }\n");
    place.write("a.sidl", b"interface A { void go(); };\n");
    place.write("b.sidl", b"interface B { void go(); };\n");
    place.write(
        "stuck.c",
        b"#include \"wl_threads.h\"\nint main(void) { wl_monitor_leave(0); return 0; }\n",
    );
    for (words, said) in [
        ("mpsoc application wrong.c", &["wrong.c", "nothing"][..]),
        ("mpsoc application nowhere.c", &["nowhere.c", "no such file"]),
        ("mpsoc application a.sidl", &["no file in C"]),
        ("mpsoc application wrong.c a.sidl b.sidl", &["b.sidl", "one file of interfaces"]),
        (
            "mpsoc application wrong.c --on golden",
            &["golden", "does not run applications", "mpsoc-oc48"],
        ),
        ("mpsoc application stuck.c", &["processor 0 thread 0", "thread 0 is not in monitor 0x0"]),
        ("mpsoc application stuck.c --interval-ns 100", &["--interval-ns", "--series"]),
        ("mpsoc application stuck.c --out x.pcapng", &["--in"]),
    ] {
        place.wireloom(words).status(2).complains(said);
    }
}

#[test]
fn services_of_applications_can_be_hardware_with_tables() {
    let place = Workplace::new();
    place.write(
        "main.c",
        b"#include \"o.h\"\n#include \"wl_print.h\"\nint main(void) { wl_printf(\"%u\", Squares_square(SERVICE_squares, 3)); return 0; }\n",
    );
    place.write(
        "o.sidl",
        b"interface Squares { u16 square(u8 of); };\nservice squares : Squares;\n",
    );
    let engine = "engine square(u8 of) -> u16 { offload values : array<u16, size = 256>; step one { finish(values.read(of)); } }\n";
    place.write("o.loom", engine.as_bytes());
    place.write("o.tables", b"table squares_square.values\n3 = 9\n");
    let description = "extends = \"mpsoc-oc48\"\n[element.squares]\nclock_mhz = 500\n";
    place.write("o.toml", description.as_bytes());
    place.write("other.toml", description.replace("squares", "cubes").as_bytes());
    place.write(
        "other.loom",
        engine.replace("u8 of", "u9 of").replace("(of)", "(of[7:0])").as_bytes(),
    );
    place.write("wrong.loom", b"engine square(u8 of) -> u16 { step one { finish(off); } }\n");
    let run = "mpsoc application main.c o.sidl";
    place
        .wireloom(&format!("{run} o.loom --tables o.tables --on o.toml --json r.json"))
        .status(0)
        .says(&["9"]);
    let report: serde_json::Value = serde_json::from_slice(&place.read("r.json")).expect("JSON");
    assert_eq!(report["statistics"]["platform"]["objects"][0]["name"], "squares_square");
    for (words, status, said) in [
        (
            "o.loom",
            2,
            &["o.loom", "no service of the application in hardware", "[element.SERVICE]"][..],
        ),
        ("--tables o.tables", 2, &["o.tables", "no service of the application is in hardware"]),
        ("--on o.toml", 2, &["machine o", "nothing says what they do", "a file .loom"]),
        ("o.loom --on other.toml", 2, &["machine other", "`element.cubes`", "it has squares"]),
        (
            "other.loom --on o.toml",
            2,
            &["method `square` of service `squares`", "it takes u8", "`square` u9"],
        ),
        ("o.loom wrong.loom --on o.toml", 2, &["wrong.loom", "one file"]),
        ("nowhere.loom --on o.toml", 2, &["nowhere.loom", "no such file"]),
        ("wrong.loom --on o.toml", 1, &["wrong.loom:1:", "there is no `off`"]),
    ] {
        place.wireloom(&format!("{run} {words}")).status(status).complains(said);
    }
    let alone = place.wireloom("mpsoc application main.c --on o.toml");
    alone.status(2).complains(&["`element.squares`", "has no services", ".sidl"]);
}

#[test]
fn what_multiprocessors_do_over_time_is_written() {
    let place = Workplace::new();
    let run = "run hub.loom --on mpsoc-oc48 --in three.pcap";
    place
        .wireloom(&format!("{run} --timeline t.json --series s.csv --plot p.svg --interval-ns 500"))
        .status(0);
    let trace: serde_json::Value = serde_json::from_slice(&place.read("t.json")).expect("JSON");
    assert!(trace["traceEvents"].as_array().is_some_and(|events| events.len() > 128));
    let series = String::from_utf8(place.read("s.csv")).expect("text");
    let lines: Vec<&str> = series.lines().collect();
    assert!(
        lines[0].starts_with("time_ns,use,mpps,lost,processor_0_use,processor_1_use"),
        "{}",
        lines[0]
    );
    assert!(lines[2].starts_with("500,"), "{}", lines[2]);
    let mpps = |line: &&str| line.split(',').nth(2).and_then(|field| field.parse::<f64>().ok());
    let done: f64 = lines[1..].iter().filter_map(mpps).sum();
    // Each of the three packets is 2 MPPS in an interval of 500 ns.
    assert!((done - 6.0).abs() < 1e-6, "{series}");
    assert!(
        String::from_utf8(place.read("p.svg"))
            .is_ok_and(|svg| svg.contains("<svg") && svg.contains("Use of the"))
    );
    place.wireloom("run hub.loom --on golden --in three.pcap --plot p.svg").status(2).complains(&[
        "--plot",
        "has no effect on golden",
        "say --on mpsoc-oc48",
    ]);
    place
        .wireloom("verify hub.loom --on mpsoc-oc48,mpsoc-oc192 --in three.pcap --series s.csv")
        .status(2)
        .complains(&["--series", "one file"]);
}
