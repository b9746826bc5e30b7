//! The contents of HTML reports.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use crate::workplace::{HUB, Ran, Workplace, frame, pcap};

const INPUT: &str = "--tables hub.tables --in three.pcap";

/// Reads a page and checks that it is well-formed and self-contained.
fn page(place: &Workplace, name: &str) -> String {
    let page = String::from_utf8(place.read(name)).expect("text");
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    let document = roxmltree::Document::parse_with_options(&page, options);
    let document = document.unwrap_or_else(|error| panic!("{error} in\n{page}"));
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        assert!(!["script", "link", "img", "iframe"].contains(&node.tag_name().name()), "{node:?}");
        for attribute in node.attributes() {
            assert!(!["src", "href"].contains(&attribute.name()), "{node:?}");
            let value = attribute.value();
            assert!(!value.contains("url(") || value.starts_with("url(#"), "{value}");
        }
    }
    assert!(!page.contains("http://") && !page.contains("https://"), "{page}");
    page
}

fn assert_holds(page: &str, parts: &[&str]) {
    for part in parts {
        assert!(page.contains(part), "no {part:?} in\n{page}");
    }
}

#[test]
fn native_code_is_kept_for_later_runs() {
    let place = Workplace::new();
    let run = |command: &str, flags: &str| {
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_wireloom"))
            .args(command.split(' '))
            .env("WIRELOOM_CACHE", place.path("cache"))
            .env("WIRELOOM_NATIVE_CFLAGS", flags)
            .current_dir(place.path("."))
            .output();
        crate::workplace::Ran::from(output.expect("the command starts")).status(0);
        let names = std::fs::read_dir(place.path("cache/native")).expect("the cache");
        let names = names.map(|entry| entry.expect("an entry").path());
        names.filter(|path| path.join("engines.so").is_file()).count()
    };
    place.write("hub.packets", b"program hub.loom\npacket 0 zeros(1)\nexpect drop TOO_SHORT\n");
    assert_eq!(run("run hub.loom --in three.pcap", ""), 1);
    assert_eq!(run("verify hub.loom --in three.pcap", ""), 1, "the same code");
    assert_eq!(run("test hub.packets", ""), 2, "optimised less");
    assert_eq!(run("test hub.packets", ""), 2, "the same code");
    assert_eq!(run("run hub.loom --in three.pcap", "-O0"), 3, "other flags");
}

#[test]
fn run_reports_fates_rows_steps_and_the_command_line() {
    let place = Workplace::new();
    let words = format!("run hub.loom --on golden {INPUT} --dump seen --report out.html");
    place.wireloom(&words).status(0).says(&["the report is in out.html"]);
    let page = page(&place, "out.html");
    let given = "run hub.loom --on golden --tables hub.tables --in three.pcap --dump seen";
    assert_holds(
        &page,
        &[
            "<h1>hub on golden</h1>",
            given,
            "3 packets, 124 bytes",
            "<td>port 7</td><td class=\"number\">1</td>",
            "cpu: NOT_IPV4",
            "Packets by where they went",
            "Rows of seen",
            "Step graph of hub",
        ],
    );
}

#[test]
fn a_simulated_machine_reports_its_use_over_time() {
    let place = Workplace::new();
    place.write("many.pcap", &pcap(&vec![frame(0x0800); 200]));
    let records = "--series s.csv --interval-ns 100 --report out.html";
    let words = format!("verify hub.loom --on mpsoc-oc48 --in many.pcap {records}");
    place.wireloom(&words).status(0);
    assert_holds(
        &page(&place, "out.html"),
        &[
            "All machines agree with golden.",
            "Simulation of mpsoc-oc48",
            "Use of the processors of mpsoc-oc48",
            "million packets a second",
        ],
    );
}

/// Runs with a C compiler that first replaces a text in its input.
fn with_faulty_compiler(place: &Workplace, replacement: &str, words: &str) -> Ran {
    let replace = format!(r#"case $file in *.c) sed -i '{replacement}' "$file";; esac"#);
    let script = format!("#!/bin/sh\nfor file; do {replace}; done\nexec cc \"$@\"\n");
    place.write("faulty", script.as_bytes());
    let path = place.path("faulty");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).expect("a mode");
    let output = Command::new(env!("CARGO_BIN_EXE_wireloom"))
        .args(words.split_whitespace())
        .current_dir(place.path(""))
        .env("CC", path)
        .env("WIRELOOM_CACHE", place.path("cache"))
        .output();
    Ran::from(output.expect("the command starts"))
}

#[test]
fn verify_dissects_the_first_difference() {
    let place = Workplace::new();
    let fault = "s/p->egress = out;/p->egress = out; wl_put(wl_open(p), 20, 1, 0xab, 0);/";
    let words = format!("verify hub.loom --on native {INPUT} --report out.html");
    with_faulty_compiler(&place, fault, &words).status(1).says(&["differs at packet 0"]);
    assert_holds(
        &page(&place, "out.html"),
        &[
            "One machine differs from golden.",
            "First difference of native: packet 0",
            "<th>got (native)</th>",
            "<tr class=\"changed\"><td>\u{2260}</td>",
            "<td>00 00 00 00 <mark>00</mark> 00",
            "<td>00 00 00 00 <mark>ab</mark> 00",
        ],
    );
}

#[test]
fn names_are_text_whatever_they_contain() {
    let place = Workplace::new();
    let name = "<script>alert(1)&\"'.loom";
    place.write(name, HUB.as_bytes());
    let words = format!("run {name} --on golden {INPUT} --report out.html");
    place.wireloom(&words).status(0);
    let page = page(&place, "out.html");
    assert!(!page.contains("<script"), "{page}");
    assert_holds(&page, &["&lt;script&gt;alert(1)&amp;"]);
}

#[test]
fn a_report_overwrites_no_input_and_may_go_to_standard_output() {
    let place = Workplace::new();
    for words in [
        format!("run hub.loom --on golden {INPUT} --report hub.tables"),
        format!("verify hub.loom --on native {INPUT} --report three.pcap"),
    ] {
        place.wireloom(&words).status(2).complains(&["--report would overwrite an input"]);
    }
    let words = "bench check --report no/such/folder.html";
    place.wireloom(words).status(2).complains(&["--report cannot be written"]);
    let words = format!("run hub.loom --on golden {INPUT} --report -");
    let ran = place.wireloom(&words);
    ran.status(0).complains(&["3 packets"]);
    assert!(ran.out.starts_with("<!DOCTYPE html>") && ran.out.ends_with("</html>"), "{}", ran.out);
}

#[test]
fn a_row_of_a_sweep_is_a_machine_that_can_be_run_again() {
    let place = Workplace::new();
    place.write(
        "own.toml",
        b"extends = \"mpsoc-oc48\"\nprocessors = 3\nnetwork.latency_ns = 70.0\n",
    );
    let run = |machine: &str| {
        let words = "run hub.loom --tables hub.tables --in three.pcap --json -";
        place.wireloom(&format!("{words} --on {machine}")).status(0).json()
    };
    for machine in ["own.toml", "mpsoc-oc48", "ixp2400", "raw-rows", "golden"] {
        let first = run(machine);
        let described = &first["description"];
        assert!(described["kind"].is_string() && described["name"] == first["machine"]);
        if machine == "golden" {
            continue;
        }
        place.write("row.json", serde_json::to_string(&first).expect("JSON").as_bytes());
        let again = run("row.json");
        for key in ["machine", "description", "sent", "dropped", "cpu"] {
            assert_eq!(again[key], first[key], "{machine}: {key}");
        }
        for key in ["time_us", "mpps", "packets", "latency_ns", "usage"] {
            assert_eq!(again["simulation"][key], first["simulation"][key], "{machine}: {key}");
        }
        // The description alone is the output of `machines`, and is a machine too.
        let shown = place.wireloom("machines row.json --json -").status(0).json();
        assert_eq!(&shown, described, "{machine}");
    }
    let own = run("own.toml");
    let keys = &own["description"];
    assert_eq!((&keys["name"], &keys["processors"]), (&"own".into(), &3.into()));
    assert_eq!(keys["network"]["latency_ns"], 70.0);
    // Every installed machine can be loaded from its description as JSON.
    for entry in place.wireloom("machines --json -").status(0).json().as_array().expect("a list") {
        let name = entry["name"].as_str().expect("a name");
        let ran = place.wireloom(&format!("machines {name} --json one.json"));
        if ran.status == 0 {
            let again = place.wireloom("machines one.json --json -").status(0).json();
            let one: serde_json::Value =
                serde_json::from_slice(&place.read("one.json")).expect("JSON");
            assert_eq!(again, one, "{name}");
        }
    }
    for (text, complaint) in [
        ("{}", "is no machine and no report of one"),
        ("[1]", "is no machine and no report of one"),
        ("{\"kind\": \"raw\"", "bad.json"),
        ("{\"kind\": \"raw\", \"rows\": null}", "bad.json"),
        ("{\"kind\": \"raw\", \"colums\": 5}", "colums"),
    ] {
        place.write("bad.json", text.as_bytes());
        place.wireloom("machines bad.json").status(2).complains(&[complaint]);
    }
}
