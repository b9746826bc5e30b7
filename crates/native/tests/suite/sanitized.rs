//! Checks that generated code has no undefined behaviour in C, and that no packet makes it leave
//! its memory. The larger programs of the folder `programs` and random engines are built with the
//! address and undefined-behaviour sanitizers.
//!
//! A program that loads a shared object with the address sanitizer must begin with the sanitizer's
//! library. So each test starts an ignored one in a process with that library preloaded. If the C
//! compiler has no sanitizers, the test prints a message and passes.

use std::process::Command;

use crate::support;
use crate::support::random::{packets, program};
use crate::support::ways;
use wireloom_ir::Program;
use wireloom_net::tables::TableFile;
use wireloom_net::{Frame, Packet, traffic};
use wireloom_offloads::{Store, load_tables};

const FLAGS: &str = "-fsanitize=address,undefined -fno-sanitize-recover=all";

#[test]
#[ignore = "takes long: make test-all"]
fn no_program_does_what_c_leaves_undefined() {
    passes_with_sanitizers("programs");
}

#[test]
fn no_operator_does_what_c_leaves_undefined() {
    passes_with_sanitizers("operators");
}

#[test]
fn no_random_engine_does_what_c_leaves_undefined() {
    passes_with_sanitizers("random_engines");
}

/// Runs an ignored test of this module with sanitizers.
fn passes_with_sanitizers(test: &str) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    // Adding one to the largest `int` stops the program if the sanitizer is active.
    let overflow =
        "int main(int count, char **words) { (void)words; return 2147483647 + count == 0; }";
    let (source, binary) = (dir.path().join("overflow.c"), dir.path().join("overflow"));
    std::fs::write(&source, overflow).expect("a file");
    let mut compiler = Command::new("cc");
    compiler.args(FLAGS.split_whitespace()).arg(&source).arg("-o").arg(&binary);
    let has_sanitizers = compiler.output().is_ok_and(|output| output.status.success());
    if !has_sanitizers {
        eprintln!("cc has no sanitizers: nothing was tested");
        return;
    }
    let stopped = Command::new(&binary).output().expect("the program starts");
    assert!(!stopped.status.success(), "the sanitizer did not stop a program that overflows");

    let libraries = ["libasan.so", "libubsan.so"].map(|name| {
        let path =
            Command::new("cc").arg(format!("-print-file-name={name}")).output().expect("cc starts");
        String::from_utf8_lossy(&path.stdout).trim().to_owned()
    });
    let child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", &format!("sanitized::{test}"), "--ignored", "--nocapture"])
        .env("LD_PRELOAD", libraries.join(" "))
        .env("ASAN_OPTIONS", "detect_leaks=0")
        .env("WIRELOOM_NATIVE_CFLAGS", FLAGS)
        .output()
        .expect("this program starts again");
    let said = [child.stdout, child.stderr]
        .map(|text| String::from_utf8_lossy(&text).into_owned())
        .concat();
    assert!(child.status.success() && said.contains("1 passed"), "{said}");
}

#[test]
#[ignore = "needs the sanitizers' libraries preloaded"]
fn random_engines() {
    let random = packets(2, 80);
    let engines: Vec<Program> = (0..4).map(program).collect();
    support::agree(&engines, &random, &support::fill_tables);

    let ways: Vec<Program> = (0..1).map(ways::program).collect();
    let in_lanes = ways::packets(2, 200);
    let frames: Vec<Frame<'_>> = in_lanes.iter().map(Packet::frame).collect();
    support::agree_on(&ways, &support::options_for_lanes(), &frames, &support::fill_tables);
}

#[test]
#[ignore = "needs the sanitizers' libraries preloaded"]
fn operators() {
    let operators = [1, 9, 16, 31, 64, 128, 193].map(support::operators);
    support::agree(&operators, &support::patterns(), &|_| ());
}

#[test]
#[ignore = "needs the sanitizers' libraries preloaded"]
fn programs() {
    let mut all = traffic();
    all.extend(packets(2, 80));
    for (name, tables) in [
        ("router.loom", "four-ports.tables"),
        ("nat.loom", "nat.tables"),
        ("url.loom", "url.tables"),
        ("flowcount.loom", ""),
    ] {
        let load = |store: &mut Store| {
            if !tables.is_empty() {
                let file = TableFile::open(&support::programs().join("tables").join(tables))
                    .expect("tables");
                load_tables(store, file).unwrap_or_else(|e| panic!("{tables}: {e}"));
            }
        };
        support::agree(&[support::compiled(name)], &all, &load);
    }
}

fn traffic() -> Vec<Packet> {
    let spec = traffic::Spec {
        count: Some(300),
        mix: "ipv4=2,ipv6=1,mpls=1".parse().expect("a mix"),
        transport: "tcp=1,udp=1".parse().expect("a mix of transports"),
        sizes: "imix".parse().expect("sizes"),
        ..traffic::Spec::default()
    };
    let mut generator = traffic::Generator::new(&spec).unwrap_or_else(|e| panic!("{e}"));
    let (mut packets, mut packet) = (Vec::new(), Packet::default());
    while generator.fill(&mut packet) {
        packets.push(packet.clone());
    }
    packets
}
