//! The files that the command reads and writes, and the ones that it leaves behind.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};

use rustix::process::Signal;

use crate::workplace::{Ran, Workplace};

#[test]
fn outputs_overwrite_neither_inputs_nor_each_other() {
    let place = Workplace::new();
    let before = place.files();
    for (words, said) in [
        ("explain hub.loom --svg hub.loom", "--svg would overwrite an input"),
        ("check hub.loom --json hub.loom", "--json would overwrite an input"),
        ("tables hub.loom --tables hub.tables --json ./hub.tables", "--json would overwrite"),
        ("run hub.loom --in three.pcap --json three.pcap", "--json would overwrite an input"),
        ("run hub.loom --in three.pcap --out three.pcap", "--out would overwrite an input"),
        ("run hub.loom --in three.pcap --out f --json f", "would both be written there"),
        ("run hub.loom --in three.pcap --out - --json -", "would both be written there"),
        ("run - --in -", "standard input can be read once"),
        ("run hub.loom --in three.pcap --out no/such/folder", "--out cannot be written"),
        ("verify hub.loom --in three.pcap --json .", "--json cannot be written"),
        ("traffic --packets 1 --capture three.pcap --out three.pcap", "would overwrite an input"),
    ] {
        place.wireloom(words).status(2).complains(&[said]);
        assert_eq!(place.files(), before, "{words}");
    }
    assert_eq!(place.read("hub.loom"), crate::workplace::HUB.as_bytes());
}

#[test]
fn included_files_are_inputs_too() {
    let place = Workplace::new();
    place.write("top.loom", b"#include \"hub.loom\"\n");
    place.wireloom("explain top.loom --svg hub.loom").status(2).complains(&["overwrite an input"]);
}

#[test]
fn imported_files_are_inputs_too() {
    let place = Workplace::new();
    let program = "struct R { u16 port; };\n\
        engine e() { offload routes : lpm<u32, R>; step s { packet.egress = routes.search(1).port; finish; } }\n";
    place.write("e.loom", program.as_bytes());
    place.write("routes.txt", b"10.0.0.0/8\n");
    place.write("e.tables", b"table routes\nimport prefixes \"routes.txt\" port=1\n");
    for words in ["tables e.loom --json routes.txt", "run e.loom --in three.pcap --out routes.txt"]
    {
        let ran = place.wireloom(&format!("{words} --tables e.tables"));
        ran.status(2).complains(&["would overwrite an input"]);
        assert_eq!(place.read("routes.txt"), b"10.0.0.0/8\n");
    }
}

#[test]
fn files_that_files_name_are_inputs_too() {
    let place = Workplace::new();
    place.write("mine.toml", b"extends = \"mpsoc\"\n");
    place.write("more.toml", b"extends = \"mine\"\n");
    place.write("list.txt", b"10.0.0.0/8\n");
    place.write("p.tables", b"table routes\nimport prefixes \"list.txt\" port=1\n");
    place.write("t.packets", b"program hub.loom\n");
    place.write("inner.uc", b"nop\n");
    place.write("outer.uc", b"#include \"inner.uc\"\nctx_arb[kill]\n");
    let before = place.files();
    let contents = ["mine.toml", "list.txt", "hub.loom", "inner.uc"].map(|name| place.read(name));
    for words in [
        "run hub.loom --on mine.toml --in three.pcap --json mine.toml",
        "run hub.loom --on more.toml --in three.pcap --json mine.toml",
        "verify hub.loom --on more.toml --in three.pcap --report mine.toml",
        "traffic --packets 1 --prefixes p.tables --out list.txt",
        "test t.packets --json hub.loom",
        "assemble outer.uc -o inner.uc",
    ] {
        place.wireloom(words).status(2).complains(&["would overwrite an input"]);
        assert_eq!(place.files(), before, "{words}");
    }
    let after = ["mine.toml", "list.txt", "hub.loom", "inner.uc"].map(|name| place.read(name));
    assert!(contents == after);
}

#[test]
fn files_of_a_traffic_specification_are_relative_to_it() {
    let place = Workplace::new();
    std::fs::create_dir(place.path("specs")).expect("a folder");
    let spec = "count = 5\nsizes = \"capture\"\ncapture = \"sizes.pcap\"\n\
        [destinations]\nprefixes = \"nets.txt\"\n[sources]\nprefixes = \"nets.txt\"\n";
    place.write("specs/spec.toml", spec.as_bytes());
    place.write("specs/nets.txt", b"10.20.30.0/24\n");
    place.write("specs/sizes.pcap", &crate::workplace::pcap(&[vec![0; 200]]));
    // The file of the same name in the current folder is not used.
    place.write("nets.txt", b"99.0.0.0/8\n");
    place.wireloom("traffic --spec specs/spec.toml --out out.pcap").status(0).says(&["5 packets"]);
    let out = place.read("out.pcap");
    let (header, frame) = (24 + 16, 200);
    assert_eq!(out.len(), 24 + 5 * (16 + frame));
    assert_eq!(
        (&out[header + 26..header + 29], &out[header + 30..header + 33]),
        (&[10, 20, 30][..], &[10, 20, 30][..])
    );
    // Options are relative to the current folder, as with every command.
    place.wireloom("traffic --spec specs/spec.toml --prefixes nets.txt --out out.pcap").status(0);
    assert_eq!(place.read("out.pcap")[header + 30], 99);
    let over = place.wireloom("traffic --spec specs/spec.toml --out specs/nets.txt");
    over.status(2).complains(&["would overwrite an input"]);
    assert_eq!(place.read("specs/nets.txt"), b"10.20.30.0/24\n");
}

#[test]
fn a_dash_is_standard_input_and_output() {
    let place = Workplace::new();
    let checked = with_input(&place, "check -", crate::workplace::HUB.as_bytes());
    checked.status(0).says(&["-: no errors"]);
    let refused = with_input(&place, "check -", b"engine");
    refused.status(1).complains(&["-:1:"]);

    let words = "run hub.loom --on golden --tables hub.tables --in - --out out.pcapng";
    with_input(&place, words, &place.read("three.pcap")).status(0).says(&["3 packets"]);
    let output =
        command(&place, "run hub.loom --on golden --tables hub.tables --in three.pcap --out -");
    let output = { output }.output().expect("the command starts");
    assert_eq!(output.stdout, place.read("out.pcapng"), "the same capture");
    let told = String::from_utf8(output.stderr).expect("text");
    assert!(told.contains("3 packets"), "{told}");

    place.wireloom("explain hub.loom --svg -").status(0).says(&["<svg"]).complains(&["start"]);
}

#[test]
fn what_cannot_be_written_is_an_error() {
    let place = Workplace::new();
    let full = || File::options().write(true).open("/dev/full").expect("a full device");
    for words in ["run hub.loom --on golden --in three.pcap", "check hub.loom --json -", "machines"]
    {
        let output = command(&place, words).stdout(full()).output().expect("the command starts");
        Ran::from(output).status(2).complains(&["standard output", "No space left"]);
    }
    // Rust opens /dev/null in place of a closed standard output.
    for words in [
        "run hub.loom --on golden --in three.pcap --out -",
        "check hub.loom --json -",
        "machines",
        "--help",
    ] {
        let output = Command::new("sh")
            .args(["-c", r#"exec "$0" "$@" >&-"#, env!("CARGO_BIN_EXE_wireloom")])
            .args(words.split_whitespace())
            .current_dir(place.path(""))
            .output()
            .expect("a shell");
        Ran::from(output).status(2).complains(&["it is closed"]);
    }
    let status = command(&place, "machines").stdout(Stdio::null()).status().expect("it starts");
    assert_eq!(status.code(), Some(0), "/dev/null is wanted here");
    // The reader has exited.
    for words in [
        "machines",
        "check hub.loom --json -",
        "traffic --packets 2000 --out -",
        "traffic --packets 2000 --out /dev/stdout",
        "run hub.loom --on golden --in three.pcap --out -",
        "explain hub.loom --json /dev/stdout",
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = command(&place, words).stdout(writer).output().expect("the command starts");
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{words}: {complaint}");
        assert!(!complaint.contains("error"), "{words}: {complaint}");
    }
    // Without standard error, only the status reports the failure.
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    let status = command(&place, "check none.loom").stderr(writer).status().expect("starts");
    assert_eq!(status.code(), Some(2));
}

#[test]
fn a_file_that_may_not_grow_is_an_error_and_leaves_nothing() {
    let place = Workplace::new();
    place.wireloom("traffic --packets 200 --out many.pcapng").status(0);
    let before = place.files();
    // 8 blocks of 512 bytes.
    for (words, said) in [
        ("traffic --packets 2000 --out out.pcapng", "out.pcapng: cannot write the capture"),
        ("run hub.loom --on golden --in many.pcapng --out out.pcapng", "out.pcapng: cannot write"),
        ("build hub.loom --on native -o out", "cannot be written"),
    ] {
        let output = Command::new("sh")
            .args(["-c", r#"ulimit -f 8; exec "$0" "$@""#, env!("CARGO_BIN_EXE_wireloom")])
            .args(words.split_whitespace())
            .current_dir(place.path(""))
            .output()
            .expect("a shell");
        Ran::from(output).status(2).complains(&[said, "File too large"]);
        assert_eq!(place.files(), before, "{words}");
    }
}

#[test]
fn a_signal_leaves_nothing() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::QUIT] {
        leaves_nothing(signal);
    }
}

fn leaves_nothing(signal: Signal) {
    let place = Workplace::new();
    let before = place.files();
    // SIGQUIT would leave a core file on some systems. SIGHUP may be ignored where the tests run,
    // for example under nohup.
    let script = r#"ulimit -c 0; exec env --default-signal "$0" run hub.loom --on golden --in - --out out.pcapng"#;
    let mut child = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_wireloom")])
        .current_dir(place.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the command starts");
    // The capture does not end: the command waits for more, with its output begun.
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(&place.read("three.pcap")).expect("the command reads");
    while place.files() == before {
        assert!(child.try_wait().expect("a child").is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, signal).expect("a signal");
    let status = child.wait().expect("it ends");
    assert_eq!(status.signal(), Some(signal.as_raw()), "{status}");
    assert_eq!(place.files(), before);
}

#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    let place = Workplace::new();
    let before = place.files();
    let script = r#"trap "" HUP; exec "$0" run hub.loom --on golden --in - --out out.pcapng"#;
    let mut child = Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_wireloom")])
        .current_dir(place.path(""))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("the command starts");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(&place.read("three.pcap")).expect("the command reads");
    while place.files() == before {
        assert!(child.try_wait().expect("a child").is_none(), "it ended by itself");
        std::thread::yield_now();
    }
    let process = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(process, Signal::HUP).expect("a signal");
    drop(input);
    assert!(child.wait().expect("it ends").success());
    assert!(place.files().contains(&"out.pcapng".to_owned()));
}

#[test]
fn endless_inputs_are_refused() {
    let place = Workplace::new();
    std::os::unix::fs::symlink("/dev/zero", place.path("zero.toml")).expect("a link");
    for (words, said) in [
        ("check /dev/zero", "longer than"),
        ("run hub.loom --in three.pcap --on zero.toml", "longer than"),
        ("mpsoc sidl /dev/zero -o out", "longer than"),
        ("run hub.loom --in /dev/zero", "/dev/zero"),
    ] {
        let ran = place.wireloom(words);
        assert!(matches!(ran.status, 1 | 2), "{words}: {}", ran.status);
        ran.complains(&[said]);
    }
}

#[test]
fn only_sources_are_included() {
    let place = Workplace::new();
    place.write("secret", b"a line that nobody is to read\n");
    place.write("t.loom", b"#include \"secret\"\n#include \"/etc/passwd\"\n");
    let ran = place.wireloom("check t.loom");
    ran.status(1).complains(&["`secret` is not named as a source file is", "`/etc/passwd`"]);
    assert!(!ran.err.contains("nobody is to read") && !ran.err.contains("root:"), "{}", ran.err);
}

fn command(place: &Workplace, words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wireloom"));
    command.args(words.split_whitespace()).current_dir(place.path(""));
    command
}

fn with_input(place: &Workplace, words: &str, input: &[u8]) -> Ran {
    let mut child = command(place, words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    child.stdin.take().expect("a pipe").write_all(input).expect("the command reads");
    Ran::from(child.wait_with_output().expect("it ends"))
}

#[test]
fn an_object_file_on_standard_output_stands_there_alone() {
    let place = Workplace::new();
    place.write("stop.uc", b"ctx_arb[kill]\n");
    let ran = place.wireloom("assemble stop.uc -o -");
    ran.status(0);
    assert!(ran.out.starts_with("wireloom microcode 1\n"), "{}", ran.out);
    let ran = place.wireloom("assemble stop.uc -o stop.uo");
    ran.status(0);
    assert_eq!(ran.out, "stop.uc: 1 of 2048 instructions\n");
}
