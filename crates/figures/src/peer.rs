//! DPDK as the peer of the native router: a program of bench/dpdk, built on demand, that forwards
//! the same packets with the same tables on request.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use wireloom_bits::Bits;
use wireloom_machine::{Error, Result};
use wireloom_net::Packet;
use wireloom_offloads::{Content, EntryKey, Instance, StateRow, Store};

use super::Settings;

/// The sources in bench/dpdk. The first is the program, which includes the others.
const SOURCES: [&str; 3] = ["router.c", "tables.h", "records.h"];

/// `sizeof(struct hop)` in records.h.
const HOP_BYTES: usize = 32;

/// The running peer, which ends when this is dropped.
pub struct Peer {
    child: Child,
    ask: Option<ChildStdin>,
    replies: BufReader<ChildStdout>,
    // Holds the program and its input while it runs.
    folder: wireloom_files::TemporaryFolder,
}

/// The work of the peer for each packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The whole router.
    Whole,
    /// The router without source lookup and counters.
    Forward,
    /// Only the lookups of destinations, with scalar instructions.
    Scalar,
    /// Only the lookups of destinations, with vector instructions.
    Vector,
}

/// The result of a pass over all packets.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Million packets per second.
    pub mpps: f64,
    /// Bytes of the entries of a table.
    pub table_bytes: f64,
}

fn failed(what: &str, error: impl std::fmt::Display) -> Error {
    Error::new(format!("{what}: {error}"))
}

impl Peer {
    /// Builds the peer from its source and starts it with the tables of the router, and with IPv4
    /// packets or, if `family` is 6, IPv6 packets.
    ///
    /// # Errors
    /// If DPDK is not installed, or the program does not build or start.
    pub fn start(
        settings: &Settings,
        store: &Store,
        family: u32,
        packets: &[Packet],
    ) -> Result<Self> {
        let folder =
            wireloom_files::TemporaryFolder::new().map_err(|e| failed("a temporary folder", e))?;
        let program = build(settings, folder.path())?;
        write_input(folder.path(), store, family, packets)?;
        let mut child = Command::new(&program)
            .arg(folder.path())
            .arg(family.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .map_err(|e| failed("the DPDK peer", e))?;
        let ask = child.stdin.take();
        let replies = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        let mut peer = Self { child, ask, replies, folder };
        // DPDK may print messages first.
        while peer.answer()?.trim() != "ready" {}
        Ok(peer)
    }

    fn answer(&mut self) -> Result<String> {
        let mut line = String::new();
        match self.replies.read_line(&mut line) {
            Ok(0) => Err(Error::new("the DPDK peer ended before its time")),
            Ok(_) => Ok(line),
            Err(error) => Err(failed("the DPDK peer", error)),
        }
    }

    fn order(&mut self, line: &str) -> Result<Option<Pass>> {
        let ask = self.ask.as_mut().expect("open until it is dropped");
        writeln!(ask, "{line}")
            .and_then(|()| ask.flush())
            .map_err(|e| failed("the DPDK peer", e))?;
        let answer = self.answer()?;
        let numbers: Vec<u64> = answer.split_whitespace().flat_map(str::parse).collect();
        match numbers[..] {
            [0, ..] => Ok(None),
            [nanoseconds, packets, bytes, _] => Ok(Some(Pass {
                mpps: packets as f64 / nanoseconds as f64 * 1e3,
                table_bytes: bytes as f64,
            })),
            _ => Err(failed("the DPDK peer's reply", answer)),
        }
    }

    /// Makes one pass over all packets. Returns `None` if the work needs vector instructions and
    /// DPDK has none for this processor.
    ///
    /// # Errors
    /// If the peer has ended.
    pub fn pass(&mut self, work: Work) -> Result<Option<Pass>> {
        self.order(match work {
            Work::Whole => "whole",
            Work::Forward => "forward",
            Work::Scalar => "scalar",
            Work::Vector => "vector",
        })
    }

    /// Looks up all destinations once, with vector instructions where DPDK has them.
    ///
    /// # Errors
    /// If the peer has ended.
    pub fn look_up(&mut self) -> Result<Pass> {
        let scalar = self.pass(Work::Scalar)?.expect("scalar instructions are always there");
        Ok(match self.pass(Work::Vector)? {
            Some(vector) if vector.mpps > scalar.mpps => vector,
            _ => scalar,
        })
    }

    /// Returns the packets that the peer sends, with their ports.
    ///
    /// # Errors
    /// If the peer has ended, or its file cannot be read.
    pub fn sent(&mut self, work: Work) -> Result<Vec<(u16, Vec<u8>)>> {
        let file = self.folder.path().join("sent");
        let order = if work == Work::Forward { "write-forward" } else { "write" };
        self.order(&format!("{order} {}", file.display()))?;
        let bytes = std::fs::read(&file).map_err(|e| failed("the peer's packets", e))?;
        let cut = || Error::new("the peer's packets are cut off");
        let mut rest = &bytes[..];
        let mut sent = Vec::new();
        while let Some((head, more)) = rest.split_at_checked(8) {
            let number = |at: usize| u32::from_ne_bytes(head[at..at + 4].try_into().expect("four"));
            let (packet, more) = more.split_at_checked(number(4) as usize).ok_or_else(cut)?;
            sent.push((number(0) as u16, packet.to_vec()));
            rest = more;
        }
        if rest.is_empty() { Ok(sent) } else { Err(cut()) }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The peer ends at the end of its input.
        drop(self.ask.take());
        let _ = self.child.wait();
    }
}

/// Builds the program in a folder, as DPDK's own applications are built.
fn build(settings: &Settings, folder: &Path) -> Result<std::path::PathBuf> {
    let config = Command::new("pkg-config").args(["--cflags", "--libs", "libdpdk"]).output();
    let flags = match config {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).into_owned()
        }
        _ => {
            return Err(Error::missing_tool("DPDK is not installed").with_help(
                "'make bench' installs the Debian package libdpdk-dev; or apt-get install libdpdk-dev",
            ));
        }
    };
    for source in SOURCES {
        settings.file(&format!("bench/dpdk/{source}"))?;
    }
    let source = settings.file(&format!("bench/dpdk/{}", SOURCES[0]))?;
    let program = folder.join("router");
    let compiled = Command::new("cc")
        .args(["-O3", "-march=native", "-o"])
        .arg(&program)
        .arg(&source)
        .args(flags.split_whitespace())
        .output()
        .map_err(|e| failed("cc", e))?;
    match compiled.status.success() {
        true => Ok(program),
        false => {
            Err(failed(&source.display().to_string(), String::from_utf8_lossy(&compiled.stderr)))
        }
    }
}

/// Writes the files that bench/dpdk/records.h describes.
fn write_input(folder: &Path, store: &Store, family: u32, packets: &[Packet]) -> Result {
    let write = |name: &str, bytes: Vec<u8>| {
        std::fs::write(folder.join(name), bytes).map_err(|e| failed("the peer's input", e))
    };
    let mut ports = Records::new(8);
    for row in offload(store, "ports")?.rows() {
        let mac = field(&row, "mac").to_be_bytes();
        let port = ports.at(&row);
        port[..6].copy_from_slice(&mac[2..]);
        port[6] = u8::from(field(&row, "any_mac") != 0);
    }
    write("ports", ports.bytes)?;

    let mut hops = Records::new(HOP_BYTES);
    for row in offload(store, "next_hops")?.rows() {
        let number = |name: &str| field(&row, name);
        let mut hop = Vec::new();
        for name in ["port", "mtu", "vlan"] {
            hop.extend((number(name) as u16).to_ne_bytes());
        }
        hop.extend([number("labels") as u8, 0]);
        for name in ["label", "second"] {
            hop.extend((number(name) as u32).to_ne_bytes());
        }
        for name in ["dst", "src"] {
            hop.extend_from_slice(&number(name).to_be_bytes()[2..]);
        }
        hops.at(&row)[..hop.len()].copy_from_slice(&hop);
    }
    write("hops", hops.bytes)?;

    // Record 0 is the result for an address without a prefix.
    let mut values = vec![[0, 0, 0, 0]];
    let mut numbers = HashMap::new();
    for table in ["destinations", "sources"] {
        let mut records = Vec::new();
        offload(store, &format!("{table}{family}"))?.for_each_row(&mut |row| {
            let EntryKey::Prefix { bits, length } = &row.key else { return };
            let [low, high] = (field(&row, "next_hop") as u16).to_ne_bytes();
            let value = [low, high, field(&row, "class") as u8, field(&row, "kind") as u8];
            let number = *numbers.entry(value).or_insert_with(|| {
                values.push(value);
                values.len() as u32 - 1
            });
            let address = bits.to_u128().expect("at most 128 bits") << (128 - bits.width());
            records.extend(address.to_be_bytes());
            records.extend(number.to_ne_bytes());
            records.extend([*length as u8, 0, 0, 0]);
        });
        write(table, records)?;
    }
    write("values", values.concat())?;

    let mut records = Vec::new();
    for packet in packets {
        records.extend((packet.bytes.len() as u32).to_ne_bytes());
        records.extend(packet.ingress.to_ne_bytes());
        records.extend([0, 0]);
        records.extend(&packet.bytes);
    }
    write("packets", records)
}

fn offload<'a>(store: &'a Store, name: &str) -> Result<&'a dyn Instance> {
    match store.find(name).map(|slot| &slot.content) {
        Some(Content::Kind { instance, .. }) => Ok(&**instance),
        _ => Err(Error::new(format!("the router has no offload '{name}'"))),
    }
}

fn field(row: &StateRow, name: &str) -> u64 {
    row.fields.iter().find(|(own, _)| own == name).map_or(0, |(_, value)| Bits::low_u64(value))
}

/// Records of one size by index. Missing records are zero.
struct Records {
    size: usize,
    bytes: Vec<u8>,
}

impl Records {
    fn new(size: usize) -> Self {
        Self { size, bytes: Vec::new() }
    }

    fn at(&mut self, row: &StateRow) -> &mut [u8] {
        let index = match row.key {
            EntryKey::Index(index) => index as usize,
            _ => 0,
        };
        let end = (index + 1) * self.size;
        self.bytes.resize(self.bytes.len().max(end), 0);
        &mut self.bytes[end - self.size..end]
    }
}
