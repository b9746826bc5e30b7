//! A folder in which the command runs, with a small program, its tables and captures.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

/// A program that sends IPv4 to the port in the table and everything else to the cpu. It counts
/// packets by ingress port.
pub const HUB: &str = "\
header Ethernet { u48 dst; u48 src; u16 type; };
enum Reason : u8 { TOO_SHORT, NOT_IPV4 };
struct Port { u16 out; };

engine hub() {
    offload ports : array<Port, size = 16>;
    offload seen : counter<size = 16>;
    Ethernet eth @ 0;

    step start {
        if (packet.length < sizeof(Ethernet)) drop(TOO_SHORT);
        if (eth.type != 0x0800) to_cpu(NOT_IPV4);
        seen.count(packet.ingress, packet.length);
        packet.egress = ports.read(packet.ingress).out;
        finish;
    }
}
";

/// Packets from port 0 are sent to port 7.
pub const HUB_TABLES: &str = "table ports\n0 out=7\n";

/// A temporary folder.
pub struct Workplace {
    folder: tempfile::TempDir,
}

/// The result of running the command.
pub struct Ran {
    pub status: i32,
    pub out: String,
    pub err: String,
}

impl Workplace {
    /// Creates a folder with `hub.loom`, `hub.tables` and `three.pcap`: an IPv4 frame, an ARP frame
    /// and four bytes.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = Self { folder };
        place.write("hub.loom", HUB.as_bytes());
        place.write("hub.tables", HUB_TABLES.as_bytes());
        place.write("three.pcap", &pcap(&[frame(0x0800), frame(0x0806), vec![1, 2, 3, 4]]));
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.path(name), bytes).expect("a file in a temporary folder");
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Returns the names of all files, sorted, including hidden ones.
    pub fn files(&self) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(self.folder.path())
            .expect("the folder")
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    /// Runs `wireloom` in the folder, with words separated by blanks.
    pub fn wireloom(&self, words: &str) -> Ran {
        self.run(words.split_whitespace().map(str::to_owned).collect())
    }

    /// Runs `wireloom` in the folder with these arguments.
    pub fn run(&self, arguments: Vec<String>) -> Ran {
        let output = Command::new(env!("CARGO_BIN_EXE_wireloom"))
            .args(arguments)
            // Models run briefly here, so build time matters more than speed.
            .env("WIRELOOM_NP_OPTIMISE", "0")
            .current_dir(self.folder.path())
            .output()
            .expect("the command starts");
        Ran::from(output)
    }
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        Self {
            status: output
                .status
                .code()
                .unwrap_or_else(|| panic!("ended by a signal: {:?}", output.status)),
            out: String::from_utf8(output.stdout).expect("text"),
            err: String::from_utf8(output.stderr).expect("text"),
        }
    }
}

impl Ran {
    /// Asserts the exit status; prints the output if it differs.
    #[track_caller]
    pub fn status(&self, expected: i32) -> &Self {
        assert_eq!(self.status, expected, "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// Asserts that standard error contains these texts.
    #[track_caller]
    pub fn complains(&self, parts: &[&str]) -> &Self {
        for part in parts {
            assert!(self.err.contains(part), "no {part:?} in\n{}", self.err);
        }
        self
    }

    /// Asserts that standard output contains these texts.
    #[track_caller]
    pub fn says(&self, parts: &[&str]) -> &Self {
        for part in parts {
            assert!(self.out.contains(part), "no {part:?} in\n{}", self.out);
        }
        self
    }

    /// Parses standard output as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error} in\n{}", self.out))
    }
}

/// Returns a frame of 60 bytes with this EtherType.
pub fn frame(ethertype: u16) -> Vec<u8> {
    let mut frame = vec![0u8; 60];
    frame[..12].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2]);
    frame[12..14].copy_from_slice(&ethertype.to_be_bytes());
    frame
}

/// Returns a pcap file (microseconds, little-endian, Ethernet) of frames that are a second apart.
pub fn pcap(frames: &[impl AsRef<[u8]>]) -> Vec<u8> {
    let mut out = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65535, 1] {
        out.extend(word.to_le_bytes());
    }
    for (second, frame) in (0u32..).zip(frames.iter().map(AsRef::as_ref)) {
        for word in [second, 0, frame.len() as u32, frame.len() as u32] {
            out.extend(word.to_le_bytes());
        }
        out.extend(frame);
    }
    out
}
