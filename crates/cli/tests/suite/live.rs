//! `wireloom forward` between two hosts in network namespaces, with the kernel as control plane.
//!
//! Needs root with the right to load BPF programs. Without it the tests print a warning and test
//! nothing.

#![cfg(target_os = "linux")]

mod daemons;
mod firewall;
mod internet;
mod killed;
mod limits;
mod ports;
mod random;
mod route_attributes;
mod routes;
mod timers;
mod wires;

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::echo::{Answer, Echo, REPLY4, REPLY6};
use crate::network::{Namespace, Network};
use crate::patience::{TRY, address, patience, until};
use wireloom_net::Packet;
use wireloom_net::capture::Reader;

fn command(options: &[&str]) -> Command {
    command_with("programs/router.loom", options)
}

fn command_with(program: &str, options: &[&str]) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new(env!("CARGO_BIN_EXE_wireloom"));
    command.current_dir(root).args(["forward", program]).args(options);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A running `wireloom forward`.
struct Forwarding {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Forwarding {
    /// Starts the command between `r1` and `r2`. Returns `None`, with a warning, if this computer
    /// does not permit it.
    fn start(network: &Network, options: &[&str]) -> Option<Self> {
        if options.contains(&"kernel") {
            // Without polling, virtual Ethernet takes no frames that a program redirects to it.
            network.left.poll("ha");
            network.right.poll("hb");
        }
        Self::start_in(&network.router, &["r1", "r2"], options)
    }

    /// Starts the command between these ports of a namespace.
    fn start_in(router: &Namespace, ports: &[&str], options: &[&str]) -> Option<Self> {
        Self::start_program("programs/router.loom", router, ports, options)
    }

    /// Starts the command with another program than the router.
    fn start_program(
        program: &str,
        router: &Namespace,
        ports: &[&str],
        options: &[&str],
    ) -> Option<Self> {
        let ports_options = ports.iter().flat_map(|port| ["--port", port]);
        let options: Vec<&str> = ports_options.chain(options.iter().copied()).collect();
        let mut command = command_with(program, &options);
        let mut child = router.run(|| command.spawn().expect("the command"));
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        if line.is_empty() {
            let mut err = String::new();
            child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
            let is_missing = ["Operation not permitted", "is not installed"];
            assert!(is_missing.iter().any(|why| err.contains(why)), "{err}");
            eprintln!("warning: nothing was tested: {err}");
            child.wait().expect("an end");
            return None;
        }
        let names: Vec<_> =
            ports.iter().enumerate().map(|(number, name)| format!("{number} {name}")).collect();
        assert_eq!(line, format!("forwarding on ports {}\n", names.join(", ")));
        Some(Self { child, out })
    }

    fn signal(&self, signal: libc::c_int) {
        // SAFETY: the child has not been waited for, so the number is its own.
        let sent = unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
        assert_eq!(sent, 0);
    }

    /// The processor time of the command so far, in clock ticks of 10 ms.
    fn cpu_ticks(&self) -> u64 {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()));
        let stat = stat.expect("a status");
        // The name, in parentheses, is the second field; user and system time are 14 and 15.
        let fields = stat.rsplit(')').next().expect("fields").split_whitespace();
        fields.skip(11).take(2).map(|field| field.parse::<u64>().expect("a number")).sum()
    }

    /// The resident memory of the command, in KiB.
    fn memory_kib(&self) -> u64 {
        self.kib("VmRSS:")
    }

    /// The peak resident memory of the command, in KiB.
    fn most_memory_kib(&self) -> u64 {
        self.kib("VmHWM:")
    }

    fn kib(&self, row: &str) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("a status");
        let line = status.lines().find(|line| line.starts_with(row)).expect("a row");
        line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
    }

    /// Stops the command as Ctrl-C does, and returns its output.
    fn stop(mut self) -> String {
        self.signal(libc::SIGINT);
        let mut bytes = self.out.buffer().to_vec();
        let mut part = [0; 4096];
        loop {
            let descriptor = self.out.get_ref().as_raw_fd();
            let mut polled = libc::pollfd { fd: descriptor, events: libc::POLLIN, revents: 0 };
            let milliseconds = patience().as_millis() as libc::c_int;
            // SAFETY: one descriptor, as counted.
            let ready = unsafe { libc::poll(&raw mut polled, 1, milliseconds) };
            assert!(ready != 0, "the command does not end: {}", waiting(self.child.id()));
            match self.out.get_mut().read(&mut part).expect("the report") {
                0 => break,
                count => bytes.extend_from_slice(&part[..count]),
            }
        }
        let text = String::from_utf8(bytes).expect("text");
        assert!(self.child.wait().expect("an end").success(), "{text}");
        text
    }
}

/// Returns the threads of a process, each with the function of the kernel that it waits in.
fn waiting(process: u32) -> String {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let read = |task: &std::path::Path, file| {
        std::fs::read_to_string(task.join(file)).unwrap_or_default().trim().to_owned()
    };
    let tasks = tasks.map(|task| {
        let task = task.path();
        format!("{} in {}", read(&task, "comm"), read(&task, "wchan"))
    });
    tasks.collect::<Vec<_>>().join(", ")
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a test with each way of exchanging frames, on one core and on two.
fn each_way(test: impl Fn(&[&str])) {
    let mut ways = vec![];
    for way in ["xdp", "packet"] {
        ways.extend(["1", "2"].map(|cores| vec!["--io", way, "--cores", cores]));
    }
    if Path::new("/usr/sbin/ethtool").exists() {
        ways.push(vec!["--io", "kernel"]);
    } else {
        eprintln!("warning: nothing was tested with --io kernel: ethtool is missing");
    }
    for way in ways {
        eprintln!("{}", way.join(" "));
        test(&way);
    }
}

/// Builds the network and starts forwarding.
fn start(options: &[&str]) -> Option<(Network, Forwarding)> {
    let network = match Network::new() {
        Ok(network) => network,
        Err(error) => {
            eprintln!("warning: nothing was tested: network namespaces: {error}");
            return None;
        }
    };
    let forwarding = Forwarding::start(&network, options)?;
    Some((network, forwarding))
}

/// Sends echo requests until one gets this reply.
fn reaches(host: &Namespace, to: &str, ttl: i32, expected: Answer) {
    host.run(|| {
        let mut echo = Echo::open(address(to), ttl);
        until(&format!("{to} with TTL {ttl}: {expected:?}"), || {
            echo.send();
            echo.receive(TRY).filter(|answer| *answer == expected)
        });
    });
}

/// Returns the number in a row of the report.
fn count(report: &str, row: &str) -> u64 {
    let line = report.lines().find(|line| line.trim().starts_with(row)).unwrap_or_default();
    let number = line.trim()[row.len().min(line.trim().len())..].split_whitespace().next();
    number.unwrap_or("0").replace(',', "").parse().expect("a number")
}

#[test]
fn packets_are_forwarded_and_the_kernel_answers_what_cannot_be() {
    each_way(forwards_and_hands_over);
}

/// Waits until the machine forwards. The first packets go through the kernel, which resolves the
/// neighbours.
fn forwards(network: &Network, to: &str, expected: Answer) {
    until("the machine forwards", || {
        let before = network.router.forwarded();
        reaches(&network.left, to, 64, expected);
        (network.router.forwarded() == before).then_some(())
    });
}

fn forwards_and_hands_over(options: &[&str]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let json = folder.path().join("counters.json");
    let options = [options, &["--json", json.to_str().expect("a path")]].concat();
    let Some((network, forwarding)) = start(&options) else { return };
    let left = &network.left;
    for (to, reply) in [("10.0.2.2", REPLY4), ("2001:db8:2::2", REPLY6)] {
        let expected = (address(to), reply, 0);
        forwards(&network, to, expected);
        let before = network.router.forwarded();
        left.run(|| {
            let mut echo = Echo::open(address(to), 64);
            (0..100).for_each(|_| {
                echo.send();
                assert_eq!(echo.receive(patience()), Some(expected));
            });
            assert_eq!(echo.receive(TRY), None, "each packet is forwarded once");
        });
        assert_eq!(network.router.forwarded(), before, "the kernel forwards none of them");
    }
    // The router is the first hop of a traceroute, once per packet, with its address of the ingress
    // port.
    for (to, hop, expired) in [("10.0.2.2", "10.0.1.1", 11), ("2001:db8:2::2", "2001:db8:1::1", 3)]
    {
        left.run(|| {
            let mut echo = Echo::open(address(to), 1);
            (0..5).for_each(|_| assert!(echo.send()));
            (0..5).for_each(|_| {
                assert_eq!(echo.receive(patience()), Some((address(hop), expired, 0)));
            });
            assert_eq!(echo.receive(TRY), None, "each packet has one answer");
        });
    }
    // The router's own addresses, on both ports.
    reaches(left, "10.0.1.1", 64, (address("10.0.1.1"), REPLY4, 0));
    reaches(left, "2001:db8:2::1", 64, (address("2001:db8:2::1"), REPLY6, 0));
    reaches(left, "192.0.2.1", 64, (address("10.0.1.1"), 3, 0));

    let report = forwarding.stop();
    // 100 requests and replies of each version.
    assert!(count(&report, "port 0") >= 200 && count(&report, "port 1") >= 200, "{report}");
    assert_eq!(count(&report, "cpu: TTL_EXPIRED"), 10, "{report}");
    assert!(report.contains("repaired: 0;") && report.contains(" failed: 0;"), "{report}");
    assert!(!report.contains("OTHER_HOST"), "what the kernel sends does not arrive:\n{report}");
    // Each packet begins the program's first step.
    let written = std::fs::read_to_string(json).expect("a file");
    let counters: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    let received = |port: usize| counters["ports"][port]["received_packets"].as_u64();
    let steps = counters["steps"].as_array().expect("steps");
    let first = steps.iter().find(|step| step["step"] == "ethernet").expect("the first step");
    let both = received(0).zip(received(1)).map(|(left, right)| left + right);
    assert_eq!(first["packets"].as_u64(), both, "{written}");
}

#[test]
fn the_kernels_changes_are_followed() {
    each_way(follows);
}

fn follows(options: &[&str]) {
    let Some((network, forwarding)) = start(options) else { return };
    let (left, router, right) = (&network.left, &network.router, &network.right);
    right.ip("address add 198.51.100.1/32 dev lo\naddress add 2001:db8:9::1/128 dev lo nodad\n");
    reaches(left, "198.51.100.1", 64, (address("10.0.1.1"), 3, 0));
    router.ip(
        "route add 198.51.100.0/24 via 10.0.2.2\nroute add 2001:db8:9::/48 via 2001:db8:2::2\n",
    );
    reaches(left, "198.51.100.1", 64, (address("198.51.100.1"), REPLY4, 0));
    reaches(left, "2001:db8:9::1", 64, (address("2001:db8:9::1"), REPLY6, 0));
    router.ip("route replace prohibit 198.51.100.0/24\n");
    // Communication administratively prohibited (RFC 1812 section 5.2.7.1).
    reaches(left, "198.51.100.1", 64, (address("10.0.1.1"), 3, 13));

    // A link goes down and comes back, without a restart.
    router.ip("link set r2 down\n");
    reaches(left, "10.0.2.2", 64, (address("10.0.1.1"), 3, 0));
    router.ip("link set r2 up\n");
    reaches(left, "10.0.2.2", 64, (address("10.0.2.2"), REPLY4, 0));
    forwarding.stop();
}

/// Sends and receives this many bytes over a connection between the hosts, and compares.
fn transfer(from: &Namespace, to: &Namespace, host: &str, bytes: usize) {
    let listener = to.run(|| TcpListener::bind((address(host), 0)).expect("a listener"));
    let port = listener.local_addr().expect("an address").port();
    let pattern = |at: usize| (at / 3 + at / 251) as u8;
    std::thread::scope(|scope| {
        scope.spawn(move || {
            listener.set_nonblocking(true).expect("a setting");
            let (mut stream, _) = until("a connection", || listener.accept().ok());
            stream.set_nonblocking(false).expect("a setting");
            stream.set_read_timeout(Some(patience())).expect("a timeout");
            let mut got = Vec::new();
            stream.read_to_end(&mut got).expect("data");
            assert!(got.len() == bytes && got.iter().enumerate().all(|(at, b)| *b == pattern(at)));
        });
        let to = SocketAddr::new(address(host), port);
        let mut stream = from.run(|| TcpStream::connect_timeout(&to, patience()).expect("reached"));
        stream.set_write_timeout(Some(patience())).expect("a timeout");
        let data: Vec<u8> = (0..bytes).map(pattern).collect();
        stream.write_all(&data).expect("data");
        stream.shutdown(Shutdown::Write).expect("an end");
    });
}

#[test]
fn large_packets_and_partial_checksums_of_virtual_ethernet_are_finished() {
    each_way(finishes_frames);
}

fn finishes_frames(options: &[&str]) {
    let Some((network, forwarding)) = start(options) else { return };
    let (left, right) = (&network.left, &network.right);
    transfer(left, right, "10.0.2.2", 10 << 20);
    transfer(left, right, "2001:db8:2::2", 10 << 20);
    transfer(right, left, "10.0.1.2", 10 << 20);
    for to in ["10.0.2.2", "2001:db8:2::2"] {
        datagrams(left, right, to);
    }
    // Every TCP segment that arrived had a correct checksum.
    for host in [left, right] {
        let text =
            host.run(|| std::fs::read_to_string("/proc/thread-self/net/snmp").expect("snmp"));
        let mut rows = text.lines().filter(|line| line.starts_with("Tcp:"));
        let (heads, values) = (rows.next().expect("heads"), rows.next().expect("values"));
        let at = heads.split(' ').position(|head| head == "InCsumErrors").expect("a column");
        assert_eq!(values.split(' ').nth(at), Some("0"));
    }

    // The path MTU is discovered (RFC 1191, RFC 8201), by datagrams and by connections that begin
    // with larger segments.
    network.router.ip("link set r2 mtu 1300\n");
    for (from, to) in [("10.0.1.2", "10.0.2.2"), ("2001:db8:1::2", "2001:db8:2::2")] {
        assert_eq!(left.run(|| discovered_mtu(from, to)), 1300);
        for version in ["-4", "-6"] {
            left.ip_show(&[version, "route", "flush", "cache"]);
        }
        transfer(left, right, to, 1 << 20);
    }
    let report = forwarding.stop();
    assert!(count(&report, "cpu: EXCEEDS_MTU") > 0, "{report}");
}

/// Sends small datagrams, whose checksums the sender leaves to hardware. A datagram with a wrong
/// checksum would not be received.
fn datagrams(from: &Namespace, to: &Namespace, at: &str) {
    let receiver = to.run(|| UdpSocket::bind((address(at), 0)).expect("a socket"));
    receiver.set_read_timeout(Some(patience())).expect("a timeout");
    let port = receiver.local_addr().expect("an address").port();
    let any = if address(at).is_ipv4() { "0.0.0.0" } else { "::" };
    let sender = from.run(|| UdpSocket::bind((address(any), 0)).expect("a socket"));
    for size in 0..64 {
        let sent: Vec<u8> = (0..size as u8).collect();
        sender.send_to(&sent, (address(at), port)).expect("a datagram");
        let mut got = [0; 100];
        let received = loop {
            // A signal, as of a child that ended, interrupts the wait.
            match receiver.recv(&mut got) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                received => break received.expect("a datagram"),
            }
        };
        assert_eq!(received, size);
        assert_eq!(got[..size], sent);
    }
}

/// Sends datagrams of 1,400 bytes that must not be fragmented until one is refused, since the path
/// does not take that size. Returns the path MTU that the kernel then reports.
fn discovered_mtu(from: &str, to: &str) -> i32 {
    let (level, discover, mtu) = match address(to) {
        IpAddr::V4(_) => (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_MTU),
        IpAddr::V6(_) => (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_MTU),
    };
    // IPv6 uses the same number.
    let always = libc::IP_PMTUDISC_DO;
    let socket = UdpSocket::bind((address(from), 0)).expect("a socket");
    // SAFETY: the option's value outlives the call and has the length given.
    let set = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, discover, (&raw const always).cast(), 4)
    };
    assert_eq!(set, 0);
    socket.connect((address(to), 9)).expect("a route");
    until("packet too big", || {
        let refused = socket.send(&[0; 1400]).err()?;
        (refused.raw_os_error() == Some(libc::EMSGSIZE)).then_some(())
    });
    let (mut found, mut length) = (0i32, 4);
    // SAFETY: as above.
    unsafe {
        let value = (&raw mut found).cast();
        libc::getsockopt(socket.as_raw_fd(), level, mtu, value, &raw mut length);
    }
    found
}

#[test]
fn the_kernel_gets_no_more_packets_than_the_limits_say() {
    each_way(limits_what_the_kernel_gets);
}

fn limits_what_the_kernel_gets(options: &[&str]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let json = folder.path().join("counters.json");
    let limits = ["--cpu-rate", "TTL_EXPIRED=0", "--json", json.to_str().expect("a path")];
    let Some((network, forwarding)) = start(&[options, &limits].concat()) else { return };
    let left = &network.left;
    forwards(&network, "10.0.2.2", (address("10.0.2.2"), REPLY4, 0));
    left.run(|| {
        let mut echo = Echo::open(address("10.0.2.2"), 1);
        (0..5).for_each(|_| assert!(echo.send()));
        assert_eq!(echo.receive(TRY), None, "nobody says that the TTL has expired");
    });
    // Other reasons have separate limits.
    reaches(left, "10.0.1.1", 64, (address("10.0.1.1"), REPLY4, 0));
    let report = forwarding.stop();
    assert_eq!(count(&report, "cpu: TTL_EXPIRED"), 5, "{report}");
    let written = std::fs::read_to_string(json).expect("a file");
    let counters: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    let policed = serde_json::json!([{"reason": "TTL_EXPIRED", "packets": 5}]);
    assert_eq!(counters["policed"], policed, "{written}");
}

#[test]
fn interfaces_are_as_they_were_whatever_ends_the_command() {
    each_way(leaves_nothing);
}

fn leaves_nothing(options: &[&str]) {
    let Some((network, forwarding)) = start(options) else { return };
    let reply = (address("10.0.2.2"), REPLY4, 0);
    reaches(&network.left, "10.0.2.2", 64, reply);
    let during = network.router.interfaces();
    let devices = during.lines().filter(|line| line.contains(": loom"));
    assert_eq!(devices.count(), 2, "{during}");
    forwarding.stop();
    let before = network.router.interfaces();
    let ports: String =
        during.split_inclusive('\n').filter(|line| !line.contains("loom")).collect();
    match options {
        [_, "packet", ..] => assert_eq!(ports, before, "nothing of the ports themselves changes"),
        _ => assert!(ports.contains("prog/xdp") && !before.contains("prog/xdp"), "{ports}"),
    }
    reaches(&network.left, "10.0.2.2", 64, reply);

    let mut again = Forwarding::start(&network, options).expect("it could be started before");
    again.signal(libc::SIGKILL);
    again.child.wait().expect("an end");
    // The kernel removes the sockets and devices of the process, and forwards packets itself.
    until("the twins disappear", || (network.router.interfaces() == before).then_some(()));
    reaches(&network.left, "10.0.2.2", 64, reply);
}

#[test]
fn a_port_that_is_too_large_for_xdp_uses_packet_sockets() {
    let network = Network::new().expect("namespaces");
    network.router.ip("link set r1 mtu 9000\n");
    network.left.ip("link set ha mtu 9000\n");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let json = folder.path().join("counters.json");
    let options = ["--json", json.to_str().expect("a path")];
    let Some(forwarding) = Forwarding::start(&network, &options) else { return };
    reaches(&network.left, "10.0.2.2", 64, (address("10.0.2.2"), REPLY4, 0));
    forwarding.stop();
    let written = std::fs::read_to_string(json).expect("a file");
    let report: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!(report["ports"][0]["exchange"], "packet socket");
    assert_eq!(report["ports"][1]["exchange"], "AF_XDP, copied");
}

/// Waits for the end of the command and returns why it ended.
fn ended(mut forwarding: Forwarding) -> String {
    let end = until("the command ends", || {
        let ended = forwarding.child.try_wait().expect("a child");
        if ended.is_none() {
            std::thread::sleep(TRY);
        }
        ended
    });
    assert_eq!(end.code(), Some(2));
    let mut err = String::new();
    let mut stderr = forwarding.child.stderr.take().expect("a pipe");
    stderr.read_to_string(&mut err).expect("text");
    err
}

#[test]
fn a_port_that_is_removed_ends_the_command() {
    each_way(|way| {
        // Without the kernel's routes only the removal wakes the command. A device that is already
        // down no longer notifies its sockets.
        for more in [&[][..], &["--static"]] {
            for before in ["", "link set r2 down\n"] {
                let options = [way, more].concat();
                let Some((network, forwarding)) = start(&options) else { return };
                network.router.ip(&format!("{before}link delete r2\n"));
                let err = ended(forwarding);
                assert!(err.contains("port r2: the interface was removed"), "{err}");
            }
        }
    });
}

#[test]
fn neighbours_in_use_are_verified_and_counters_are_reported() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let json = folder.path().join("counters.json");
    let json = json.to_str().expect("a path");
    let options = ["--reconcile", "1", "--interval", "1", "--json", json];
    let Some((network, forwarding)) = start(&options) else { return };
    let reply = (address("10.0.2.2"), REPLY4, 0);
    reaches(&network.left, "10.0.2.2", 64, reply);
    // The neighbour gets another MAC address without an announcement. The kernel notices only if it
    // is told that the neighbour is in use.
    network.right.ip("link set hb address 02:00:00:00:99:99\n");
    network.router.ip("neighbour change 10.0.2.2 dev r2 nud stale\n");
    reaches(&network.left, "10.0.2.2", 64, reply);
    let text = forwarding.stop();
    assert!(text.matches("after ").count() > 1, "once each second, and at the end:\n{text}");
    let written = std::fs::read_to_string(json).expect("a file");
    let report: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!(report["ports"][0]["interface"], "r1");
    assert!(report["ports"][1]["sent_packets"].as_u64() > Some(0), "{written}");
    assert_eq!(report["kernel"]["repairs"], 0, "{written}");
}

/// The tables of the network, as table files.
const STATIC: &str = "\
    table ports\n0 mac=02:00:00:00:01:01\n1 mac=02:00:00:00:02:01\n\
    table next_hops\n\
    0 port=0 dst=02:00:00:00:01:02 src=02:00:00:00:01:01 mtu=1500\n\
    1 port=1 dst=02:00:00:00:02:02 src=02:00:00:00:02:01 mtu=1500\n\
    table destinations4\n10.0.1.0/24 next_hop=0 kind=1\n10.0.2.0/24 next_hop=1 kind=1\n\
    table sources4\n10.0.0.0/8 kind=1\n";

#[test]
fn tables_from_files_need_no_routes_of_the_kernel() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tables = folder.path().join("static.tables");
    std::fs::write(&tables, STATIC).expect("a file");
    let options = ["--static", "--tables", tables.to_str().expect("a path")];
    let Some((network, forwarding)) = start(&options) else { return };
    forwards(&network, "10.0.2.2", (address("10.0.2.2"), REPLY4, 0));
    let report = forwarding.stop();
    assert!(count(&report, "port 0") > 0 && count(&report, "port 1") > 0, "{report}");
    assert!(!report.contains("NO_NEIGHBOUR") && !report.contains("kernel:"), "{report}");
}

#[test]
fn captures_are_played_into_a_tap_device_again_and_again() {
    let Ok(network) = Network::new() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (tables, json) = (folder.path().join("tables"), folder.path().join("counters.json"));
    // The capture is from the demonstration's network, so the port accepts every MAC address.
    let text = "table ports\n0 any_mac=true\n\
                table next_hops\n0 port=1 dst=02:00:00:00:02:02 src=02:00:00:00:02:01 mtu=1500\n\
                table destinations4\n0.0.0.0/0 next_hop=0 kind=1\n\
                table sources4\n0.0.0.0/0 kind=1\n";
    std::fs::write(&tables, text).expect("a file");
    let capture = "programs/captures/first.pcapng";
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut reader = Reader::open(&root.join(capture)).expect("the capture");
    let mut packets = 0u64;
    while reader.read_into(&mut Packet::default()).expect("a packet") {
        packets += 1;
    }
    let ports = [&format!("pcap-loop:{capture}@0.01"), "tap:lan0"];
    let (tables, json) = (tables.to_str().expect("a path"), json.to_str().expect("a path"));
    let options = ["--static", "--tables", tables, "--json", json];
    let Some(forwarding) = Forwarding::start_in(&network.router, &ports, &options) else { return };
    until("packets of the capture on the TAP device", || {
        let text = network
            .router
            .run(|| std::fs::read_to_string("/proc/thread-self/net/dev").expect("counters"));
        let row = text.lines().find(|line| line.trim().starts_with("lan0:"))?;
        let arrived: u64 = row.split_whitespace().nth(2)?.parse().ok()?;
        (arrived > 2 * packets).then_some(())
    });
    forwarding.stop();
    let written = std::fs::read_to_string(json).expect("a file");
    let report: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    assert_eq!(report["ports"][0]["exchange"], "capture");
    assert_eq!(report["ports"][1]["exchange"], "TAP");
    assert!(!network.router.interfaces().contains("lan0"), "it is gone");
}

#[test]
fn what_is_missing_is_said() {
    let run = |options: &[&str], without: Option<libc::c_ulong>| {
        let mut command = command(options);
        // SAFETY: prctl(2) may be called between fork and exec.
        unsafe {
            command.pre_exec(move || {
                if let Some(right) = without {
                    libc::prctl(libc::PR_CAPBSET_DROP, right, 0, 0, 0);
                }
                Ok(())
            });
        }
        let output = command.output().expect("the command");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (status, err) = run(&["--port", "none-such"], None);
    assert_eq!(status, Some(2));
    assert!(err.contains("port none-such: there is no such interface"), "{err}");
    let (status, err) = run(&["--port", "pcap-loop:programs/captures/first.pcapng"], None);
    assert_eq!(status, Some(2));
    assert!(err.contains("again and again needs a rate"), "{err}");
    let (status, err) = run(&["--port", "lo", "--static", "--reconcile", "5"], None);
    assert_eq!(status, Some(2));
    assert!(err.contains("'--static' cannot be used with '--reconcile"), "{err}");
    // The privileges are checked before everything that takes time.
    const CAP_NET_RAW: libc::c_ulong = 13;
    let (status, err) = run(&["--static", "--port", "none-such"], Some(CAP_NET_RAW));
    assert_eq!(status, Some(2));
    let missing = "error: Operation not permitted: the process lacks CAP_NET_RAW\nhelp: ";
    for said in [missing, "`setcap cap_net_admin,cap_net_raw,cap_bpf+ep`"] {
        assert!(err.contains(said), "{err}");
    }
    // A capture needs no privilege.
    let (_, err) = run(&["--static", "--port", "pcap:/none-such"], Some(CAP_NET_RAW));
    assert!(err.contains("error: /none-such: "), "{err}");
}
