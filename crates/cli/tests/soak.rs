//! Forwarding for a long time: captures of the router's traffic and of random bytes are played
//! repeatedly. Memory stays flat, and every packet is counted once.
//!
//! A program of its own, since `make soak` runs nothing but this test, for hours.

#![cfg(target_os = "linux")]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

/// The number of packets, unless `WIRELOOM_SOAK_PACKETS` gives another.
const PACKETS: u64 = 5_000_000;

/// The number of frames in the capture of random bytes, and the greatest length.
const FRAMES: usize = 20_000;
const LONGEST: usize = 9000;

/// The growth in KiB that is not a leak. A leak of a kilobyte per million of the billion packets of
/// `make soak` would exceed it.
const GROWTH: u64 = 512;

fn wireloom(folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wireloom"));
    command.current_dir(folder).args(args);
    command
}

/// Creates a capture of frames of all lengths from 1 byte on. Headers are valid up to a random
/// byte.
fn random_capture() -> Vec<u8> {
    let mut random = ChaCha8Rng::seed_from_u64(23);
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let mut capture: Vec<u8> = words(&[0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 1]);
    const ETHERNET: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 1, 2];
    const NEXT: [&[u8]; 3] = [
        &[8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 1, 2, 10, 0, 2, 2],
        &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 6, 17, 64, 0x20, 1, 0xd, 0xb8],
        &[0x88, 0x47, 0, 1, 0, 64, 0, 1, 0x11, 64, 0x45, 0, 0, 46],
    ];
    for number in 0..FRAMES {
        let length = 1 + number % LONGEST;
        let next = NEXT[random.random_range(0..NEXT.len())];
        let mut frame = [&ETHERNET[..], next].concat();
        frame.truncate(random.random_range(0..=frame.len()).min(length));
        frame.resize_with(length, || random.random());
        let head: Vec<u8> = words(&[number as u32, 0, length as u32, length as u32]);
        capture.extend(head);
        capture.extend(frame);
    }
    capture
}

/// A forwarder that plays captures.
struct Playing {
    child: Child,
    folder: tempfile::TempDir,
}

impl Playing {
    fn status(&self) -> Value {
        let asked = wireloom(self.folder.path(), &["ctl", "--control", "control", "status"])
            .args(["--json", "-"])
            .output()
            .expect("the command");
        assert!(asked.status.success(), "{}", String::from_utf8_lossy(&asked.stderr));
        serde_json::from_slice(&asked.stdout).expect("JSON")
    }

    /// Waits until `packets` packets were received, and returns the status.
    fn receives(&self, packets: u64) -> Value {
        loop {
            let status = self.status();
            if sum(&status["ports"], "received_packets") >= packets {
                return status;
            }
        }
    }

    /// The resident memory of the forwarder in KiB.
    fn memory(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(path).expect("the process lives");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("its memory");
        line.split_whitespace().nth(1).expect("a number").parse().expect("a number")
    }
}

impl Drop for Playing {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn sum(rows: &Value, name: &str) -> u64 {
    let rows = rows.as_array().expect("rows").iter();
    rows.map(|row| row[name].as_u64().expect("a number")).sum()
}

#[test]
#[ignore = "takes long: make soak, make test-all"]
fn memory_stays_flat_and_every_packet_is_counted() {
    let packets = std::env::var("WIRELOOM_SOAK_PACKETS")
        .map_or(PACKETS, |packets| packets.parse().expect("a number"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mix = ["--sizes", "imix", "--mix", "ipv4=5,ipv6=3,mpls1..4=2", "--packets", "50000"];
    let traffic = wireloom(folder.path(), &["traffic", "--out", "mix.pcapng"]).args(mix).output();
    assert!(traffic.expect("the command").status.success());
    fs::write(folder.path().join("random.pcap"), random_capture()).expect("a file");
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    let (router, tables) = (programs.join("router.loom"), programs.join("tables/demo.tables"));
    let mut child = wireloom(folder.path(), &["forward", "--static", "--control", "control"])
        .args(["--port", "pcap-loop:mix.pcapng@max", "--port", "pcap-loop:random.pcap@max"])
        .args([Path::new("--tables"), &tables, &router])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command");
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    let playing = Playing { child, folder };
    let mut line = String::new();
    out.read_line(&mut line).expect("a line");
    assert!(line.starts_with("forwarding on ports"), "{line}");

    // The first packets touch all buffers for the first time.
    playing.receives(packets / 10);
    let begin = playing.memory();
    let status = playing.receives(packets);
    let growth = playing.memory().saturating_sub(begin);
    assert!(growth < GROWTH, "{growth} KiB in {packets} packets");
    let fates = ["sent", "cpu", "dropped"].map(|fate| sum(&status[fate], "packets"));
    assert_eq!(fates.iter().sum::<u64>(), sum(&status["ports"], "received_packets"), "{status}");
    println!("{packets} packets: {begin} KiB, {growth} KiB more at the end\n{status}");
}
