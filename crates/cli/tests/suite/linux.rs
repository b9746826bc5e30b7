//! The router compared with the Linux kernel's own forwarding: equal routes, neighbours and
//! packets.
//!
//! Packets that the kernel forwards are forwarded by programs/router.loom to the same port with the
//! same bytes; packets that the kernel replies to itself or drops go to the cpu or are dropped
//! here. There are three intended differences, each only with its own reason: the kernel handles
//! IPv4 options and IPv6 hop-by-hop options, and fragments, while ours leaves both to the control
//! processor; and ours never forwards what RFC 6890 excludes from forwarding, network 0 of IPv4 and
//! IPv4-mapped sources of IPv6, on which kernel versions differ (network 0 passes since Linux 5.3).
//!
//! Needs network namespaces: as root, else in a user namespace. If neither is available, the tests
//! print a warning and compare nothing.

mod cases;
mod frames;
mod kernel;
mod namespaces;
mod ours;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};
use std::process::Command;

use wireloom_net::capture::Reader;
use wireloom_net::packet::Packet;
use wireloom_net::traffic::{Generator, Sizes, Spec};

use cases::Place;
use kernel::{Kernel, KernelRouter};
use namespaces::{Port, Route, Topology};
use ours::{Ours, Router};

const PORTS: u16 = 4;
/// The MTUs of the ports' links.
const MTUS: [u16; PORTS as usize] = [65535, 1500, 1280, 9000];
/// An environment variable that is set in the process inside a user namespace.
const INSIDE: &str = "WIRELOOM_TEST_IN_USER_NAMESPACE";

fn v4(text: &str) -> Ipv4Addr {
    text.parse().expect("an IPv4 address")
}

fn v6(text: &str) -> Ipv6Addr {
    text.parse().expect("an IPv6 address")
}

fn gateway4(port: u16) -> IpAddr {
    v4(&format!("10.0.{port}.2")).into()
}

fn gateway6(port: u16) -> IpAddr {
    v6(&format!("2001:db8:0:{port}::2")).into()
}

fn place() -> Place {
    Place {
        router: [2, 0, 0, 0, 0, 0],
        sender: [2, 0, 0, 0, 1, 0],
        v4: [v4("192.0.2.1"), v4("198.51.100.1"), v4("203.0.113.1")],
        v6: [v6("2001:db8:100::1"), v6("2001:db8:200::1"), v6("2001:db8:300::1")],
        from4: v4("172.16.5.6"),
        from6: v6("2001:db8:900::6"),
    }
}

/// Returns four ports. Each one leads to a network; longer prefixes of these networks lead to other
/// ports. With `default`, port 3 leads to the rest of the Internet.
fn topology(default: bool) -> Topology {
    let ports = (0..PORTS).map(|i| Port {
        mac: [2, 0, 0, 0, 0, i as u8],
        neighbour: [2, 0, 0, 0, 1, i as u8],
        mtu: MTUS[usize::from(i)],
        addresses: vec![
            (v4(&format!("10.0.{i}.1")).into(), 24),
            (v6(&format!("2001:db8:0:{i}::1")).into(), 64),
        ],
        gateways: vec![gateway4(i), gateway6(i)],
    });
    let mut routes = Vec::new();
    for (prefix, length, port) in [
        ("172.16.0.0", 12, 0),
        ("192.0.2.0", 24, 1),
        ("192.0.2.128", 25, 3),
        ("192.0.2.129", 32, 2),
        ("198.51.100.0", 24, 2),
        ("203.0.113.0", 24, 3),
    ] {
        routes.push(Route { prefix: v4(prefix).into(), length, gateway: gateway4(port) });
    }
    for (prefix, length, port) in [
        ("2001:db8:900::", 48, 0),
        ("2001:db8:100::", 48, 1),
        ("2001:db8:100:8000::", 49, 3),
        ("2001:db8:100:8000::1", 128, 2),
        ("2001:db8:200::", 48, 2),
        ("2001:db8:300::", 48, 3),
    ] {
        routes.push(Route { prefix: v6(prefix).into(), length, gateway: gateway6(port) });
    }
    if default {
        routes.push(Route { prefix: v4("0.0.0.0").into(), length: 0, gateway: gateway4(3) });
        routes.push(Route { prefix: v6("::").into(), length: 0, gateway: gateway6(3) });
    }
    Topology { ports: ports.collect(), routes }
}

/// Prints a message that the test runner's output capture does not hide.
fn loudly(text: &str) {
    let _ = writeln!(std::io::stderr(), "\n=== {text} ===");
}

/// Runs a test that needs network namespaces: here as root, else in a copy of this process in a
/// user namespace.
fn with_namespaces(name: &str, test: impl FnOnce() + Send + 'static) {
    // SAFETY: has no preconditions.
    let root = unsafe { libc::geteuid() } == 0;
    if root || std::env::var_os(INSIDE).is_some() {
        // Use a separate thread: the namespace that it enters must not outlive the test in the
        // runner's thread.
        if let Err(panic) = std::thread::spawn(test).join() {
            std::panic::resume_unwind(panic);
        }
        return;
    }
    let possible =
        Command::new("unshare").args(["--user", "--map-root-user", "--net", "true"]).output();
    if !possible.is_ok_and(|output| output.status.success()) {
        loudly(&format!(
            "SKIPPED: {name}: neither root nor allowed to make user namespaces: NOT COMPARED WITH LINUX"
        ));
        return;
    }
    let me = std::env::current_exe().expect("the test's own path");
    let status = Command::new("unshare")
        .args(["--user", "--map-root-user", "--net"])
        .arg(me)
        .args(["--exact", &format!("linux::{name}"), "--nocapture"])
        .env(INSIDE, "1")
        .status()
        .expect("unshare ran a moment ago");
    assert!(status.success(), "{name} failed in the user namespace");
}

/// Returns both routers, or `None` with a warning if the kernel's cannot be built.
fn routers(topology: &Topology) -> Option<(KernelRouter, Router)> {
    match KernelRouter::new(topology, place().from4, v4("192.0.2.254")) {
        Ok(kernel) => Some((kernel, Router::new(topology))),
        Err(error) => {
            loudly(&format!(
                "SKIPPED: the kernel's router cannot be built: {error}: NOT COMPARED WITH LINUX"
            ));
            None
        }
    }
}

/// Returns the relation of the two verdicts on a packet; an error if they disagree.
fn agreement(frame: &[u8], kernel: &Kernel, ours: &Ours) -> Result<&'static str, &'static str> {
    match (kernel, ours) {
        (Kernel::Forwarded { port: a, bytes: x }, Ours::Sent { port: b, bytes: y }) => {
            if a != b {
                Err("forwarded to different ports")
            } else if x != y {
                Err("forwarded with different bytes")
            } else {
                Ok("forwarded identically")
            }
        }
        (Kernel::Forwarded { .. }, Ours::Cpu(reason)) if reason == "IP_OPTIONS" => {
            Ok("options: the kernel forwards, ours leaves them to the cpu")
        }
        (Kernel::Forwarded { .. }, Ours::Dropped(reason))
            if reason.starts_with("MARTIAN") && is_not_forwardable(frame) =>
        {
            Ok("not forwardable by RFC 6890: the kernel forwards, ours drops")
        }
        (Kernel::Fragmented(_), Ours::Cpu(reason)) if reason == "EXCEEDS_MTU" => {
            Ok("too long: the kernel fragments, ours leaves it to the cpu")
        }
        (Kernel::Forwarded { .. } | Kernel::Fragmented(_), _) => {
            Err("forwarded by the kernel, not by ours")
        }
        (_, Ours::Sent { .. }) => Err("forwarded by ours, not by the kernel"),
        (Kernel::Answered(_), Ours::Cpu(_)) => Ok("answered by the kernel, to the cpu here"),
        (Kernel::Answered(_), Ours::Dropped(_)) => Ok("answered by the kernel, dropped here"),
        (Kernel::Silent, Ours::Cpu(_)) => Ok("taken or dropped by the kernel, to the cpu here"),
        (Kernel::Silent, Ours::Dropped(_)) => Ok("taken or dropped by the kernel, dropped here"),
        (Kernel::NoFrame, _) => Ok("no Ethernet frame"),
    }
}

/// Whether a frame has an address of IPv4's network 0 (RFC 1812 section 5.3.7), or an IPv4-mapped
/// source.
fn is_not_forwardable(frame: &[u8]) -> bool {
    match frame[12..14] {
        [0x08, 0x00] => frame[26] == 0 || frame[30] == 0,
        [0x86, 0xdd] => frame[22..34] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff],
        _ => false,
    }
}

fn kernel_text(kernel: &Kernel) -> String {
    match kernel {
        Kernel::Forwarded { port, .. } => format!("port {port}"),
        Kernel::Fragmented(count) => format!("{count} fragments"),
        Kernel::Answered(what) => what.clone(),
        Kernel::Silent => "-".into(),
        Kernel::NoFrame => "no frame".into(),
    }
}

fn ours_text(ours: &Ours) -> String {
    match ours {
        Ours::Sent { port, .. } => format!("port {port}"),
        Ours::Cpu(reason) => format!("cpu: {reason}"),
        Ours::Dropped(reason) => format!("drop: {reason}"),
    }
}

/// Returns the frame as the kernel's VLAN devices pass it to IP: with up to two tags removed, as
/// our router does. (The devices themselves are a module that not every kernel has.)
fn untagged(frame: &[u8]) -> Vec<u8> {
    let mut frame = frame.to_vec();
    for _ in 0..2 {
        if frame.len() >= 18 && matches!(frame[12..14], [0x81, 0x00] | [0x88, 0xa8]) {
            frame.drain(12..16);
        }
    }
    frame
}

/// Compares packets one by one and counts results.
struct Comparison {
    kernel: KernelRouter,
    ours: Router,
    scores: BTreeMap<&'static str, u64>,
    failures: String,
    failed: u32,
}

impl Comparison {
    fn new(topology: &Topology) -> Option<Self> {
        let (kernel, ours) = routers(topology)?;
        Some(Self { kernel, ours, scores: BTreeMap::new(), failures: String::new(), failed: 0 })
    }

    /// Compares one packet on port 0 and returns both verdicts.
    fn packet(&mut self, name: &str, frame: &[u8]) -> (Kernel, Ours) {
        let bare = untagged(frame);
        let kernel = self.kernel.forward(&bare).expect("the kernel's router works");
        let ours = self.ours.forward(0, frame);
        match agreement(&bare, &kernel, &ours) {
            Ok(how) => *self.scores.entry(how).or_default() += 1,
            Err(how) => {
                self.failed += 1;
                if self.failed <= 20 {
                    writeln!(
                        self.failures,
                        "{name}: {how}\n  frame  {}\n  kernel {kernel:02x?}\n  ours   {ours:02x?}",
                        hex(frame)
                    )
                    .expect("a string takes everything");
                }
            }
        }
        (kernel, ours)
    }

    /// Prints the counts and fails if anything disagreed.
    fn conclude(self, what: &str) {
        let mut text = format!("{what} against Linux:");
        for (how, count) in &self.scores {
            write!(text, "\n    {count:>7} {how}").expect("a string takes everything");
        }
        loudly(&text);
        assert!(
            self.failed == 0,
            "{} packets are not treated as Linux does:\n{}",
            self.failed,
            self.failures
        );
    }

    fn count(&self, how: &str) -> u64 {
        self.scores.get(how).copied().unwrap_or(0)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().take(128).map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn hand_made_edge_cases_fare_as_in_linux() {
    with_namespaces("hand_made_edge_cases_fare_as_in_linux", || {
        let cases = cases::all(&place());
        assert!(cases.len() >= 200, "{} cases", cases.len());
        let Some(mut comparison) = Comparison::new(&topology(false)) else { return };
        let mut table = String::from("| case | Linux | router.loom |\n|---|---|---|\n");
        let mut group = "";
        for case in &cases {
            if case.group != group {
                group = case.group;
                writeln!(table, "| **{group}** | | |").expect("a string takes everything");
            }
            let (kernel, ours) = comparison.packet(&format!("{group}: {}", case.name), &case.frame);
            writeln!(table, "| {} | {} | {} |", case.name, kernel_text(&kernel), ours_text(&ours))
                .expect("a string takes everything");
        }
        check_page(&table);
        assert!(
            comparison.count("forwarded identically") >= 60,
            "most groups have packets that go through"
        );
        assert_pages_say(&format!("{} hand-made edge cases", cases.len()));
        comparison.conclude(&format!("{} edge cases (case by case in docs/linux.md)", cases.len()));
    });
}

fn assert_pages_say(count: &str) {
    for page in ["README.md", "docs/linux.md"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
        let text = std::fs::read_to_string(&path).expect("a page");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(count), "{page} does not say \"{count}\"");
    }
}

/// Compares the table of docs/linux.md with the results. The kernel's verdict may change between
/// versions, ours must not. With `WIRELOOM_WRITE_DOCS` set, rewrites the page.
fn check_page(table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/linux.md");
    let page = std::fs::read_to_string(&path).expect("docs/linux.md");
    let (text, old) = page.split_at(page.find("| case |").expect("the page has the table"));
    if std::env::var_os("WIRELOOM_WRITE_DOCS").is_some() {
        std::fs::write(&path, format!("{text}{table}")).expect("docs/linux.md can be written");
        return;
    }
    let ours = |table: &str| -> Vec<String> {
        let cells = table.lines().map(|line| line.split(" | ").collect::<Vec<_>>());
        cells.map(|cells| format!("{} | {}", cells[0], cells[cells.len() - 1])).collect()
    };
    for (old, new) in ours(old).iter().zip(&ours(table)) {
        assert_eq!(
            old, new,
            "docs/linux.md is out of date: WIRELOOM_WRITE_DOCS=1 cargo test -p wireloom-cli --test suite linux::"
        );
    }
    assert_eq!(ours(old).len(), ours(table).len(), "docs/linux.md has other cases");
}

/// Returns the captures of the pathspider package, or `None` with a warning if `make data` has not
/// been run.
fn captures() -> Option<Vec<PathBuf>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../.cache/data/pathspider/usr/lib/python3/dist-packages/pathspider/tests/data");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        loudly("SKIPPED: no captures in .cache/data: run 'make data'");
        return None;
    };
    let mut captures: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|e| e == "pcap"))
        .collect();
    captures.sort();
    Some(captures)
}

#[test]
fn captured_packets_fare_as_in_linux() {
    with_namespaces("captured_packets_fare_as_in_linux", || {
        let Some(captures) = captures() else { return };
        let Some(mut comparison) = Comparison::new(&topology(true)) else { return };
        for path in &captures {
            let reader = match Reader::open(path) {
                Ok(reader) => reader,
                Err(error) => panic!("{error}"),
            };
            for (number, packet) in reader.enumerate() {
                // A damaged capture ends here; its earlier packets count.
                let Ok(Packet { mut bytes, .. }) = packet else { break };
                if bytes.len() >= 14 && bytes[0] & 1 == 0 {
                    bytes[..6].copy_from_slice(&place().router);
                }
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                comparison.packet(&format!("{name}, packet {number}"), &bytes);
            }
        }
        assert!(comparison.count("forwarded identically") >= 1000, "captures have traffic in them");
        assert_pages_say(&format!("{} captures", captures.len()));
        comparison.conclude(&format!("{} captures", captures.len()));
    });
}

#[test]
fn generated_packets_fare_as_in_linux() {
    with_namespaces("generated_packets_fare_as_in_linux", || {
        let Some(mut comparison) = Comparison::new(&topology(true)) else { return };
        const COUNT: u64 = 20_000;
        let spec = Spec {
            count: Some(COUNT),
            sizes: Sizes::Imix,
            mix: "ipv4=1,ipv6=1".parse().expect("a mix"),
            transport: "tcp=1,udp=1".parse().expect("a mix"),
            vlans: "0=8,1=1,2=1".parse().expect("a mix"),
            dst_mac: place().router,
            src_mac: place().sender,
            ..Spec::default()
        };
        for (number, packet) in Generator::new(&spec).expect("a specification").enumerate() {
            comparison.packet(&format!("generated packet {number}"), &packet.bytes);
        }
        // The addresses are arbitrary host addresses: few are the router's own or unroutable.
        assert!(comparison.count("forwarded identically") >= COUNT * 9 / 10);
        comparison.conclude(&format!("{COUNT} generated packets"));
    });
}
