//! The command from outside: its output, its exit status, and its files.

mod captures;
mod embedded_texts;
mod files;
mod hostile;
mod microengines;
mod multiprocessors;
mod numbers;
mod options;
mod report;
#[cfg(target_os = "linux")]
mod screens;
mod tests;
mod tiles;
mod trace;

use std::path::{Path, PathBuf};

use crate::workplace::{Workplace, frame, pcap};

/// The root of the repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

const INPUTS: [&str; 3] = ["hub.loom", "hub.tables", "three.pcap"];

#[test]
fn without_a_subcommand_it_shows_help() {
    let ran = Workplace::new().wireloom("");
    ran.status(2).complains(&[
        "Usage: wireloom",
        "check",
        "explain",
        "run",
        "verify",
        "build",
        "bench",
    ]);
}

#[test]
fn every_subcommand_has_help_with_an_example() {
    let place = Workplace::new();
    for command in [
        "check",
        "explain",
        "run",
        "verify",
        "trace",
        "debug",
        "monitor",
        "build",
        "np rig",
        "bench",
        "traffic",
        "tables",
        "np search",
        "raw map",
        "raw tile",
        "assemble",
        "mpsoc application",
        "mpsoc sidl",
        "np virtual",
        "new",
        "example",
        "test",
        "docs",
        "completions",
        "tools",
        "manual",
    ] {
        place
            .wireloom(&format!("{command} --help"))
            .status(0)
            .says(&["Example", &format!("wireloom {command} ")]);
    }
}

#[test]
fn subcommands_that_have_moved_are_named() {
    let place = Workplace::new();
    for (old, new) in [("search", "np search"), ("tile", "raw tile"), ("sidl", "mpsoc sidl")] {
        let ran = place.wireloom(&format!("{old} hub.loom --anything"));
        ran.status(2).complains(&[&format!("error: `wireloom {old}` is `wireloom {new}`")]);
    }
    place.wireloom("mop hub.loom").status(2).complains(&["mop"]);
}

#[test]
fn wrong_usage_is_status_2() {
    let place = Workplace::new();
    for words in [
        "chekc hub.loom",
        "run hub.loom",
        "run hub.loom --in three.pcap --on gold",
        "run hub.loom --in three.pcap --drops",
        "check",
        "check hub.loom --set NAME",
        "completions tcsh-ng",
        "traffic --packets many --out x.pcap",
    ] {
        place.wireloom(words).status(2);
    }
    assert_eq!(place.files(), INPUTS);
}

#[test]
fn check_accepts_a_good_program() {
    Workplace::new().wireloom("check hub.loom").status(0).says(&[
        "hub.loom",
        "no errors",
        "engine hub",
        "1 step,",
    ]);
}

#[test]
fn check_refuses_a_bad_program_with_status_1() {
    let place = Workplace::new();
    place.write("bad.loom", b"engine e() { step s { packet.egres = 1; finish; } }");
    place.wireloom("check bad.loom").status(1).complains(&["bad.loom:1:", "error[E", "egres"]);
}

#[test]
fn programs_that_compilers_take_too_long_for_are_refused_by_every_subcommand() {
    let place = Workplace::new();
    let searches = |n: u32| {
        format!(
            "header Word {{ u32 value; }};\nengine e() {{\n  offload routes : lpm<u32, u32, miss = 0>;\n  \
             step s {{ Word word @ 0;\n    for (u16 i = 0; i < {n}; i++) word.value += \
             routes.search(word.value ^ i);\n    finish;\n  }}\n}}\n"
        )
    };
    place.write("some.loom", searches(1500).as_bytes());
    place.wireloom("check some.loom").status(0);
    place.write("many.loom", searches(3000).as_bytes());
    for command in ["check many.loom", "explain many.loom", "build many.loom --on native --out n"] {
        let refused = ["error[E0802]", "the program becomes too large", "many.loom:4:", "step s"];
        place.wireloom(command).status(1).complains(&refused);
    }
}

#[test]
fn check_on_a_machine_says_at_the_line_what_it_cannot_hold() {
    let place = Workplace::new();
    place.write(
        "rounds.loom",
        b"engine e() {\n  u8 n;\n  step again {\n    n += 1;\n    if (n < 9) next again;\n    finish;\n  }\n}\n",
    );
    place.wireloom("check rounds.loom --on golden --on native").status(0);
    place.wireloom("check rounds.loom --on golden --on np-pipeline").status(1).complains(&[
        "error[E0801]: np-pipeline cannot hold this program",
        "rounds.loom:5:5",
        "    if (n < 9) next again;",
        "^^^^^",
    ]);
    let ran = place.wireloom("check rounds.loom --on np-pipeline --json -");
    let report = ran.status(1).json();
    assert_eq!(report["accepted"], false);
    assert_eq!(report["diagnostics"][0]["places"][0]["line"], 5);
}

#[cfg(target_os = "linux")]
#[test]
fn check_names_the_step_that_the_compiler_for_the_kernel_refuses() {
    let place = Workplace::new();
    place.write("wide.loom", include_bytes!("../../../xdp/tests/wide.loom"));
    let ran = place.wireloom("check wide.loom --on xdp");
    if ran.err.contains("warning: xdp: the program is not tried out") {
        // The compiler or the privileges are missing.
        ran.status(0);
        return;
    }
    ran.status(1).complains(&["error[E0801]: xdp cannot hold", "step `go`", "stack of 512 bytes"]);
    place.wireloom("check hub.loom --on xdp").status(0);
}

#[test]
fn check_names_the_place_of_a_refusal_once() {
    let place = Workplace::new();
    place.write(
        "rounds.loom",
        b"engine e() {\n  u8 n;\n  step again {\n    n += 1;\n    if (n < 9) next again;\n    finish;\n  }\n}\n",
    );
    let ran = place.wireloom("check rounds.loom --on np-pipeline");
    ran.status(1).complains(&["cannot hold this program: step `again` of `e`: "]);
    assert_eq!(ran.err.matches("rounds.loom:").count(), 1, "{}", ran.err);
}

#[test]
fn check_gives_diagnostics_as_json() {
    let place = Workplace::new();
    place.write("bad.loom", b"engine e() {\n  step s { x = 1; finish; }\n}\n");
    let ran = place.wireloom("check bad.loom --json -");
    let report = ran.status(1).json();
    assert_eq!(report["accepted"], false);
    let first = &report["diagnostics"][0];
    assert_eq!(first["severity"], "error");
    assert_eq!(first["places"][0]["line"], 2);
    assert_eq!(first["places"][0]["column"], 12);
}

#[test]
fn warnings_refuse_only_if_asked_to() {
    let place = Workplace::new();
    place.write("warn.loom", b"engine e() { u8 never; step s { finish; } }");
    place.wireloom("check warn.loom").status(0).complains(&["warning[W"]);
    place.wireloom("check warn.loom --deny-warnings").status(1);
}

#[test]
fn a_program_that_is_not_there_is_status_2() {
    for command in
        ["check", "explain", "run --in three.pcap", "verify --in three.pcap", "build -o out"]
    {
        let place = Workplace::new();
        place
            .wireloom(&format!("{command} none.loom"))
            .status(2)
            .complains(&["none.loom", "cannot be read"]);
        assert_eq!(place.files(), INPUTS);
    }
}

#[test]
fn wrong_options_of_a_program_are_status_2() {
    let place = Workplace::new();
    std::fs::create_dir(place.path("folder")).expect("a folder");
    place.write("broken.loom", b"const u32 SIZE = ; engine e() { step s { finish; } }");
    for (words, status, said) in [
        ("check .", 2, "error: .: is a folder"),
        ("check folder", 2, "help: the first argument is a Loom C source file"),
        ("check hub.loom --set SIZE=1", 2, "--set SIZE: there is no constant `SIZE` to set"),
        ("run hub.loom --in three.pcap --set SIZE=1", 2, "--set SIZE: there is no constant"),
        ("check hub.loom --engine hubs", 2, "the engine `hubs` to run does not exist"),
        ("check hub.loom --engine hubs", 2, "help: did you mean `hub`?"),
        // The program's own errors may be the reason that the constant is missing.
        ("check broken.loom --set SIZ=1", 1, "error[E"),
    ] {
        place.wireloom(words).status(status).complains(&[said]);
    }
}

#[test]
fn a_program_with_errors_runs_nowhere() {
    for command in
        ["explain", "run --in three.pcap --out o.pcapng", "verify --in three.pcap", "build -o out"]
    {
        let place = Workplace::new();
        place.write("hub.loom", b"engine e() { step s { } }");
        place.wireloom(&format!("{command} hub.loom")).status(1).complains(&["error[E"]);
        assert_eq!(place.files(), INPUTS);
    }
}

#[test]
fn any_bytes_are_a_program_that_is_refused() {
    for bytes in [
        &b"\xff\xfe\x00"[..],
        b"",
        b"engine",
        b"\"",
        b"/*",
        b"#include \"hub.loom",
        &[b'('; 100_000],
    ] {
        let place = Workplace::new();
        place.write("junk.loom", bytes);
        place.wireloom("check junk.loom").status(1).complains(&["error"]);
    }
}

#[test]
fn run_reports_what_became_of_packets() {
    for machine in ["golden", "native"] {
        let place = Workplace::new();
        let ran = place
            .wireloom(&format!("run hub.loom --on {machine} --tables hub.tables --in three.pcap"));
        ran.status(0).says(&[
            "hub on",
            machine,
            "3 packets",
            "port 7",
            "cpu: NOT_IPV4",
            "drop: TOO_SHORT",
        ]);
        assert_eq!(place.files(), INPUTS);
    }
}

#[test]
fn run_writes_what_it_sends() {
    let place = Workplace::new();
    let words = "run hub.loom --on golden --tables hub.tables --in three.pcap --drops --out out.pcapng --json -";
    let ran = place.wireloom(words);
    let report = ran.status(0).json();
    assert_eq!(report["arrived"]["packets"], 3);
    assert_eq!(report["sent"][0]["port"], 7);
    assert_eq!(report["sent"][0]["bytes"], 60);
    assert_eq!(report["cpu"][0]["reason"], "NOT_IPV4");
    assert_eq!(report["dropped"][0]["reason"], "TOO_SHORT");

    // The output can be read again: the packet on port 7 is the one that arrived on port 7.
    let again = place.wireloom("run hub.loom --on golden --in out.pcapng --dump seen --json -");
    let report = again.status(0).json();
    assert_eq!(report["arrived"]["packets"], 3);
    let seen = &report["offloads"].as_array().expect("offloads")[0];
    assert_eq!(seen["name"], "seen");
    let keys: Vec<_> =
        seen["rows"].as_array().expect("rows").iter().map(|row| row["key"].clone()).collect();
    assert!(keys.contains(&"7".into()), "{keys:?}");
}

#[test]
fn run_shows_offloads_that_are_asked_for() {
    let place = Workplace::new();
    let ran = place.wireloom("run hub.loom --on golden --in three.pcap --dump seen --dump ports");
    ran.status(0).says(&["seen (counter): 1 rows", "ports (array): 0 rows"]);
    let ran = place.wireloom("run hub.loom --in three.pcap --dump sean");
    ran.status(2).complains(&["sean", "ports, seen"]);
}

#[test]
fn run_stops_after_so_many_packets() {
    let place = Workplace::new();
    let ran = place.wireloom("run hub.loom --on golden --in three.pcap --packets 2 --json -");
    assert_eq!(ran.status(0).json()["arrived"]["packets"], 2);
}

#[test]
fn captures_are_read_one_after_the_other() {
    let place = Workplace::new();
    let ran = place.wireloom("run hub.loom --on golden --in three.pcap --in three.pcap --json -");
    assert_eq!(ran.status(0).json()["arrived"]["packets"], 6);
}

#[test]
fn a_malformed_capture_is_status_2_and_leaves_no_output() {
    let whole = pcap(&[&frame(0x0800), &frame(0x0800)]);
    let cases: [(&str, Vec<u8>); 3] = [
        ("empty", Vec::new()),
        ("no capture", b"this is no capture at all, but text".to_vec()),
        ("a record of four gigabytes", {
            let mut bytes = whole.clone();
            bytes[32..36].fill(0xff);
            bytes
        }),
    ];
    for (what, bytes) in cases {
        let place = Workplace::new();
        place.write("bad.pcap", &bytes);
        place.write("old.pcapng", b"precious");
        for command in [
            "run hub.loom --on golden --out old.pcapng --json r.json",
            "verify hub.loom --json r.json",
        ] {
            let ran = place.wireloom(&format!("{command} --in three.pcap --in bad.pcap"));
            ran.status(2).complains(&["bad.pcap"]);
            assert_eq!(
                place.files(),
                ["bad.pcap", "hub.loom", "hub.tables", "old.pcapng", "three.pcap"],
                "{what}"
            );
            assert_eq!(place.read("old.pcapng"), b"precious", "{what}");
        }
    }
}

#[test]
fn the_place_of_damage_is_named() {
    let place = Workplace::new();
    let mut bytes = pcap(&[&frame(0x0800), &frame(0x0800)]);
    bytes.truncate(24 + 16 + 60 + 7);
    place.write("bad.pcap", &bytes);
    place
        .wireloom("run hub.loom --on golden --in bad.pcap --unfinished refuse")
        .status(2)
        .complains(&["bad.pcap", "byte 100"]);
}

#[test]
fn a_malformed_table_is_status_2_with_its_line() {
    for (text, line, what) in [
        ("table ports\n0 out=7\n1 out=\n", "3", ""),
        ("table prots\n0 out=7\n", "1", "ports"),
        ("table ports\n0 uot=7\n", "2", "out"),
        ("table ports\n99 out=7\n", "2", "99"),
        ("table ports\n0 out=65536\n", "2", "65536"),
        ("0 out=7\n", "1", "table"),
    ] {
        let place = Workplace::new();
        place.write("bad.tables", text.as_bytes());
        let ran = place.wireloom(
            "run hub.loom --on golden --tables bad.tables --in three.pcap --out o.pcapng",
        );
        ran.status(2).complains(&[&format!("bad.tables:{line}"), what]);
        assert!(!place.files().contains(&"o.pcapng".into()), "{text}");
    }
}

#[test]
fn an_output_that_cannot_be_written_is_status_2() {
    let place = Workplace::new();
    for words in [
        "run hub.loom --on golden --in three.pcap --out no/such/folder.pcapng",
        "run hub.loom --on golden --in three.pcap --json no/such/folder.json",
        "explain hub.loom --svg no/such/folder.svg",
        "build hub.loom -o three.pcap/folder",
    ] {
        place.wireloom(words).status(2).complains(&["error: "]);
        assert_eq!(place.files(), INPUTS, "{words}");
    }
}

#[test]
fn verify_finds_native_and_golden_the_same() {
    let place = Workplace::new();
    let ran = place.wireloom("verify hub.loom --tables hub.tables --in three.pcap --json r.json");
    ran.status(0).says(&["3 packets", "native", "no difference"]);
    let report: serde_json::Value = serde_json::from_slice(&place.read("r.json")).expect("JSON");
    assert_eq!(report["differences"].as_array().map(Vec::len), Some(0));
    assert_eq!(report["outputs"], 3);
}

#[test]
fn build_writes_readable_c() {
    let place = Workplace::new();
    place.wireloom("build hub.loom --on native -o generated").status(0).says(&["generated/"]);
    let sources: Vec<_> = std::fs::read_dir(place.path("generated"))
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "c"))
        .map(|path| std::fs::read_to_string(path).expect("text"))
        .collect();
    assert!(sources.iter().any(|text| text.contains("hub.loom")), "source lines are named");
    place.wireloom("build hub.loom --on golden -o other").status(2).complains(&["interprets"]);
}

#[test]
fn explain_tells_of_each_step() {
    let place = Workplace::new();
    place.wireloom("explain hub.loom").status(0).says(&["hub", "start", "ports.read"]);
    let report = place.wireloom("explain hub.loom --json -");
    assert!(report.status(0).json().is_object());
    place.wireloom("explain hub.loom --svg steps.svg").status(0);
    let svg = String::from_utf8(place.read("steps.svg")).expect("text");
    assert!(svg.starts_with("<svg") && svg.contains("start"), "{svg}");
}

#[test]
fn explain_prints_the_ir_after_a_pass() {
    let place = Workplace::new();
    for pass in ["lower", "if-convert", "fold", "cse", "dce", "narrow", "split", "clean"] {
        let ran = place.wireloom(&format!("explain hub.loom --ir {pass}"));
        ran.status(0).says(&["engine hub"]);
    }
    place.wireloom("explain hub.loom --ir splt").status(2).complains(&["splt", "split"]);
}

#[test]
fn traffic_is_the_same_for_the_same_seed() {
    let place = Workplace::new();
    for (name, seed) in [("a", 1), ("b", 1), ("c", 2)] {
        place.wireloom(&format!("traffic --packets 100 --seed {seed} --out {name}.pcap")).status(0);
    }
    assert_eq!(place.read("a.pcap"), place.read("b.pcap"));
    assert_ne!(place.read("a.pcap"), place.read("c.pcap"));
    let ran = place.wireloom("run hub.loom --on golden --in a.pcap --json -");
    assert_eq!(ran.status(0).json()["arrived"]["packets"], 100);
}

#[test]
fn tables_shows_what_was_loaded() {
    let place = Workplace::new();
    place.wireloom("tables hub.loom --tables hub.tables").status(0).says(&["ports", "array", "1"]);
    place.write("bad.tables", b"table ports\nx out=1\n");
    place.wireloom("tables hub.loom --tables bad.tables").status(2).complains(&["bad.tables:2"]);
}

#[test]
fn machines_and_completions_are_listed() {
    let place = Workplace::new();
    place.wireloom("machines").status(0).says(&["golden", "native", "np-C-E-T"]);
    let names = place.wireloom("machines --json -").status(0).json();
    assert!(names.as_array().is_some_and(|names| names.len() >= 4));
    place.wireloom("machines np-3-2-1").status(0).says(&[
        "clusters = 3 #",
        "[engine]",
        "[offload.lpm]",
    ]);
    place.wireloom("machines native").status(2).complains(&["nothing about it can be chosen"]);
    place.wireloom("machines np-3-2").status(2).complains(&["np-C-E-T"]);
    for shell in ["bash", "zsh", "fish"] {
        place.wireloom(&format!("completions {shell}")).status(0).says(&["wireloom", "verify"]);
    }
}

#[test]
fn benchmarks_are_listed_and_unknown_ones_refused() {
    let place = Workplace::new();
    place.wireloom("bench list").status(0).says(&[
        "native-ipv4",
        "golden-ipv4",
        "table-load",
        "at least",
    ]);
    place.wireloom("bench list").says(&[
        "np-throughput-100g",
        "np-area",
        "np-threads",
        "np-arbitration",
    ]);
    let listed = place.wireloom("bench list --json -").status(0).json();
    let row = |name: &str| {
        let rows = listed.as_array().expect("a list").iter();
        rows.clone().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name} is listed"))
    };
    assert_eq!((&row("check")["unit"], &row("check")["kind"]), (&"ms".into(), &"benchmark".into()));
    assert_eq!((&row("np-area")["kind"], row("np-area").get("goal")), (&"figure".into(), None));
    for option in ["--write-docs", "--profile", "--out out", "--on np-1-1-1", "np-area"] {
        place.wireloom(&format!("bench list {option}")).status(2).complains(&["bench list"]);
    }
    place.wireloom("bench native-ipv5").status(2).complains(&["native-ipv5", "native-ipv4"]);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::{Command, Stdio};
    let place = Workplace::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_wireloom"))
        .args(["explain", "hub.loom", "--ir", "lower"])
        .current_dir(place.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the peak resident memory, in KiB, of a run over this number of packets on a machine.
fn peak_memory(place: &Workplace, machine: &str, packets: usize) -> u64 {
    let name = format!("{packets}.pcap");
    let one = frame(0x0800);
    let frames: Vec<&[u8]> = vec![&one; packets];
    place.write(&name, &pcap(&frames));
    let ran = place.wireloom(&format!(
        "run hub.loom --on {machine} --tables hub.tables --in {name} --out o.pcapng --json -"
    ));
    let report = ran.status(0).json();
    assert_eq!(report["sent"][0]["packets"], packets);
    report["peak_memory_kib"].as_u64().expect("a number")
}

#[test]
fn memory_does_not_grow_with_the_capture() {
    let place = Workplace::new();
    // Simulation takes longer. A few retained bytes per packet would still show.
    for (machine, packets) in [("native", 1_000_000), ("mpsoc-oc48", 200_000)] {
        let small = peak_memory(&place, machine, 10_000);
        let large = peak_memory(&place, machine, packets);
        assert!(
            large < small + 2048,
            "{machine}: {small} KiB for 10,000 packets, {large} KiB for {packets}"
        );
    }
}

#[test]
fn every_engine_of_the_repository_is_accepted_without_warnings() {
    let place = Workplace::new();
    let programs = repository().join("programs");
    let mut count = 0;
    for entry in std::fs::read_dir(&programs).expect("programs/") {
        let path = entry.expect("an entry").path();
        if path.extension().is_some_and(|e| e == "loom") {
            place.wireloom(&format!("check --deny-warnings {}", path.display())).status(0);
            count += 1;
        }
    }
    assert!(count >= 5, "{count} engines");
}

/// Returns all available captures, for `--in`; other tests cover damaged ones.
fn captures() -> Vec<std::path::PathBuf> {
    let data = repository()
        .join(".cache/data/pathspider/usr/lib/python3/dist-packages/pathspider/tests/data");
    let Ok(entries) = std::fs::read_dir(data) else {
        use std::io::Write as _;
        let _ = writeln!(
            std::io::stderr(),
            "\n=== SKIPPED: no captures in .cache/data: run 'make data' ==="
        );
        return Vec::new();
    };
    let mut captures: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    captures.retain(|path| path.extension().is_some_and(|e| e == "pcap"));
    captures.sort();
    captures
}

#[test]
fn native_does_what_golden_does_with_captures_for_every_engine() {
    let place = Workplace::new();
    let programs = repository().join("programs");
    for name in ["router", "ipv4", "ipv6", "mpls", "nat", "url", "md4", "flowcount"] {
        let mut words =
            format!("verify {} --json -", programs.join(name).with_extension("loom").display());
        for folder in ["tests", "tables"] {
            let tables = programs.join(folder).join(name).with_extension("tables");
            if tables.exists() {
                words += &format!(" --tables {}", tables.display());
            }
        }
        // A few thousand packets of the largest capture are enough: the rest is of the same kind.
        let (large, small): (Vec<_>, Vec<_>) =
            captures().into_iter().partition(|path| path.ends_with("real.pcap"));
        for (some, limit) in
            [(small, 100_000), (large, 5_000)].into_iter().filter(|(some, _)| !some.is_empty())
        {
            let inputs: String =
                some.iter().map(|path| format!(" --in {}", path.display())).collect();
            let report =
                place.wireloom(&format!("{words} --packets {limit}{inputs}")).status(0).json();
            assert!(report["arrived"]["packets"].as_u64() >= Some(5_000), "{name}");
            assert!(report["outputs"].as_u64() >= report["arrived"]["packets"].as_u64(), "{name}");
        }
    }
}

#[test]
fn a_search_wants_a_rate_traffic_to_measure_it_with_and_shapes() {
    let place = Workplace::new();
    let search = "np search hub.loom --tables hub.tables --in three.pcap";
    for (words, complaint) in [
        ("--rate 0", "above zero"),
        ("--rate 10 --clusters 1,x", "separated by commas"),
        ("--rate 10 --like np-0-1-1", "`clusters` is 0"),
        ("--rate 10 --packets 3", "100"),
        ("--rate 10", "3 packets are too few"),
    ] {
        place.wireloom(&format!("{search} {words}")).status(2).complains(&[complaint]);
    }
}
