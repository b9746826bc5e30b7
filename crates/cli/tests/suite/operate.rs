//! Operations on a running `wireloom forward`: configure, observe, reload, stop.
//!
//! Needs root with the right to load BPF programs. Without it the tests print a warning and test
//! nothing.

#![cfg(target_os = "linux")]

mod ends;
mod kernel_conditions;
mod tables;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::echo::{Answer, Echo, REPLY4};
use crate::network::Network;
use crate::patience::{TRY, address, patience, until};
use serde_json::Value;
use tempfile::TempDir;

fn wireloom(args: &[&str]) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut command = Command::new("env");
    // Signals may be ignored where the tests run: under nohup, or in the background of a script.
    command.args(["--default-signal", env!("CARGO_BIN_EXE_wireloom")]);
    command.current_dir(root).args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A forwarder between `r1` and `r2`, and a folder for its files.
struct Operated {
    child: Child,
    out: BufReader<ChildStdout>,
    network: Network,
    folder: TempDir,
}

impl Operated {
    /// Starts the forwarder with a configuration and further options. Both may name the folder as
    /// `DIR`. Returns `None`, with a warning, if this computer does not permit it.
    fn start(config: &str, options: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        Self::start_in(folder, config, options, &[])
    }

    fn start_in(
        folder: TempDir,
        config: &str,
        options: &[&str],
        environment: &[(&str, &str)],
    ) -> Option<Self> {
        Self::start_after(folder, config, options, environment, |_| ())
    }

    /// Starts the forwarder after `prepare` has changed the network.
    fn start_after(
        folder: TempDir,
        config: &str,
        options: &[&str],
        environment: &[(&str, &str)],
        prepare: impl FnOnce(&Network),
    ) -> Option<Self> {
        let network = match Network::new() {
            Ok(network) => network,
            Err(error) => {
                eprintln!("warning: nothing was tested: network namespaces: {error}");
                return None;
            }
        };
        if options.contains(&"kernel") {
            // Without polling, virtual Ethernet takes no frames that a program redirects to it.
            network.left.poll("ha");
            network.right.poll("hb");
        }
        prepare(&network);
        let place = |text: &str| text.replace("DIR", &folder.path().display().to_string());
        let path = place("DIR/forward.toml");
        fs::write(&path, place(config)).expect("a file");
        let options: Vec<String> = options.iter().map(|option| place(option)).collect();
        let mut args = vec!["forward", "--config", &path];
        args.extend(options.iter().map(String::as_str));
        let mut command = wireloom(&args);
        command.envs(environment.iter().copied());
        let mut child = network.router.run(|| command.spawn().expect("the command"));
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
        assert_eq!(line, "forwarding on ports 0 r1, 1 r2\n");
        Some(Self { child, out, network, folder })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn signal(&self, signal: libc::c_int) {
        // SAFETY: the child has not been waited for, so the number is its own.
        let sent = unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
        assert_eq!(sent, 0);
    }

    /// Runs `wireloom ctl` with the forwarder's control socket.
    fn ctl(&self, args: &[&str]) -> Output {
        let socket = self.path("control");
        let all = [&["ctl", "--control", socket.to_str().expect("a path")], args].concat();
        wireloom(&all).output().expect("the command")
    }

    /// Runs `wireloom ctl` and returns its result as JSON.
    fn asked(&self, args: &[&str]) -> Value {
        let output = self.ctl(&[args, &["--json", "-"]].concat());
        let err = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{args:?}: {err}");
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Sends echo requests from the left host until one gets this reply.
    fn reaches(&self, to: &str, ttl: i32, expected: Answer) {
        self.network.left.run(|| {
            let mut echo = Echo::open(address(to), ttl);
            until(&format!("{to} with TTL {ttl}: {expected:?}"), || {
                echo.send();
                echo.receive(TRY).filter(|answer| *answer == expected)
            });
        });
    }

    /// Sends requests to a host, each after the reply to the one before, until `is_over`. Every
    /// request must be answered. Returns their number.
    fn answered(&self, to: &str, is_over: &AtomicBool) -> u64 {
        self.network.left.run(|| {
            let mut echo = Echo::open(address(to), 64);
            let mut sent = 0;
            while !is_over.load(Ordering::Relaxed) {
                assert!(echo.send());
                let reply = echo.receive(patience());
                assert_eq!(reply, Some((address(to), REPLY4, 0)), "packet {sent}");
                sent += 1;
            }
            sent
        })
    }

    fn reaches_the_right(&self) {
        self.reaches("10.0.2.2", 64, (address("10.0.2.2"), REPLY4, 0));
    }

    /// Waits until the machine forwards to the right host. The first packets go through the kernel,
    /// which resolves the neighbours.
    fn forwards(&self) {
        until("the machine forwards", || {
            self.reaches_the_right();
            let status = self.asked(&["status"]);
            let sent = status["sent"].as_array().expect("ports").iter();
            sent.map(|row| &row["port"]).any(|port| *port == 1).then_some(())
        });
    }

    /// Waits for the end of the command. Returns the status, the output, and the messages.
    fn end(&mut self) -> (Option<i32>, String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        self.out.read_to_string(&mut out).expect("text");
        self.child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
        (self.child.wait().expect("an end").code(), out, err)
    }
}

impl Drop for Operated {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if let Some(mut stderr) = self.child.stderr.take().filter(|_| std::thread::panicking()) {
            let mut said = String::new();
            let _ = stderr.read_to_string(&mut said);
            eprintln!("the command said: {said}");
        }
    }
}

const CONFIG: &str = "\
file = \"programs/router.loom\"
port = [\"r1\", \"r2\"]
io = \"packet\"
control = \"DIR/control\"
";

/// Returns the number of received packets, and the number of verdicts.
fn counts(status: &Value) -> (u64, u64) {
    let sum = |list: &Value, name: &str| -> u64 {
        let rows = list.as_array().expect("rows").iter();
        rows.map(|row| row[name].as_u64().expect("a number")).sum()
    };
    let fates = ["sent", "cpu", "dropped"].map(|what| sum(&status[what], "packets"));
    (sum(&status["ports"], "received_packets"), fates.iter().sum())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_configuration_is_equal_to_options_and_counters_are_served() {
    let config = format!(
        "{CONFIG}metrics = \"127.0.0.1:9999\"\ncontrol-mode = \"0640\"\nlog-format = \"json\"\n\
         [set]\nCHECK_SOURCE = false\n"
    );
    // An option replaces a key: the port for Prometheus.
    let Some(mut operated) = Operated::start(&config, &["--metrics", "9100"]) else { return };
    let mode = fs::metadata(operated.path("control")).expect("a socket").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    operated.forwards();
    operated.reaches("10.0.2.2", 1, (address("10.0.1.1"), 11, 0));

    let ask = |request: &str| {
        operated.network.router.run(|| {
            let mut stream = TcpStream::connect("127.0.0.1:9100").expect("an endpoint");
            stream.write_all(request.as_bytes()).expect("a request");
            let mut response = String::new();
            stream.read_to_string(&mut response).expect("a response");
            response
        })
    };
    let response = ask("GET /metrics HTTP/1.0\r\n\r\n");
    let number = |name: &str| {
        let line = response.lines().find(|line| line.starts_with(name));
        let line = line.unwrap_or_else(|| panic!("{name}: {response}"));
        line.split(' ').next_back().expect("a value").parse::<u64>().expect("a number")
    };
    assert!(response.starts_with("HTTP/1.0 200"), "{response}");
    assert!(number("wireloom_port_received_packets_total{port=\"0\",interface=\"r1\"}") > 1);
    assert!(number("wireloom_sent_packets_total{port=\"1\"}") > 0);
    assert!(number("wireloom_cpu_packets_total{reason=\"TTL_EXPIRED\"}") > 0);
    assert!(number("wireloom_offload_entries{offload=\"destinations4\"") > 3);
    let searches = |what: &str| {
        let labels = "{offload=\"destinations4\",method=\"search\"}";
        number(&format!("wireloom_offload_{what}_total{labels}"))
    };
    assert!(searches("found") > 0 && searches("found") <= searches("calls"), "{response}");
    assert!(number("wireloom_step_packets_total{step=\"ipv4_forward\"}") > 0);
    assert!(number("wireloom_kernel_routes ") > 3);
    assert_eq!(number("wireloom_kernel_repairs_total"), 0);
    assert!(ask("GET /other HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 404"));
    assert!(ask("POST /metrics HTTP/1.0\r\nContent-Length: 0\r\n\r\n").contains(" 405 "));

    let status = operated.asked(&["status"]);
    assert_eq!((&status["engine"], &status["reloads"]), (&"router".into(), &0.into()));
    assert_eq!(status["ports"][1]["interface"], "r2");
    let shown = text(&operated.ctl(&["status"]).stdout);
    let is_row = |line: &str| line.contains("destinations4 (lpm)") && line.contains("search");
    assert!(shown.lines().any(is_row) && shown.contains("ipv4_forward"), "{shown}");
    let socket = operated.path("control").display().to_string();
    let top = ["top", "--control", &socket, "--count", "1"];
    let top = text(&wireloom(&top).output().expect("the command").stdout);
    assert!(top.contains("port r1: in ") && top.contains("cpu: TTL_EXPIRED: "), "{top}");

    let stopped = operated.ctl(&["stop"]);
    assert_eq!((text(&stopped.stdout).as_str(), stopped.status.code()), ("stopping\n", Some(0)));
    let (status, out, err) = operated.end();
    assert_eq!(status, Some(0), "{err}");
    assert!(out.contains("cpu: TTL_EXPIRED"), "{out}");
    for line in err.lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        assert_eq!(message["level"], "INFO", "{line}");
    }
    assert!(err.contains("stopped through the control socket"), "{err}");
    assert!(!Path::new(&socket).exists(), "the socket goes with the command");
}

#[test]
fn reloads_lose_no_packet_and_say_what_is_kept() {
    reloads(1);
}

#[test]
fn reloads_on_two_cores_lose_no_packet_and_say_what_is_kept() {
    reloads(2);
}

fn reloads(cores: usize) {
    let config = format!("{CONFIG}tables = [\"DIR/a.tables\"]\ncores = {cores}\n");
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("a.tables"), "table labels\n16 next_hop=1\n").expect("a file");
    let Some(mut operated) = Operated::start_in(folder, &config, &[], &[]) else { return };
    operated.forwards();
    let labels = "table labels\n17 next_hop=2\n18 next_hop=3\n";
    fs::write(operated.path("a.tables"), labels).expect("a file");
    let path = operated.path("forward.toml");
    let changed =
        fs::read_to_string(&path).expect("a file") + "busy = true\n[set]\nCHECK_SOURCE = false\n";
    fs::write(&path, changed).expect("a file");

    // Each request is answered: before, during and after the replacement of everything.
    let is_over = AtomicBool::new(false);
    let (reloaded, sent) = std::thread::scope(|scope| {
        let sending = scope.spawn(|| operated.answered("10.0.2.2", &is_over));
        let reloaded = operated.asked(&["reload"]);
        is_over.store(true, Ordering::Relaxed);
        (reloaded, sending.join().expect("no packet is lost"))
    });
    assert!(sent > 10, "{sent}");
    let names = |what: &str| -> Vec<&str> {
        reloaded[what].as_array().expect("names").iter().filter_map(Value::as_str).collect()
    };
    assert!(names("kept").contains(&"flows") && names("kept").contains(&"labels"), "{reloaded}");
    assert!(names("read").contains(&"destinations4"), "{reloaded}");
    assert_eq!(names("lost"), Vec::<&str>::new(), "{reloaded}");
    assert_eq!(names("needs_restart"), ["busy"], "{reloaded}");
    // One label was removed, and two were added.
    assert_eq!(reloaded["changed_entries"], 3, "{reloaded}");
    let before = operated.asked(&["status"]);
    assert_eq!(before["reloads"], 1);
    let (received, fates) = counts(&before);
    assert!(received == fates && received >= 2 * sent, "both programs count: {before}");
    let steps = before["steps"].as_array().expect("steps");
    let first = steps.iter().find(|step| step["step"] == "ethernet").expect("the first step");
    assert_eq!(first["packets"], received, "both programs count steps: {before}");

    // The new program still follows the kernel.
    operated.network.right.ip("address add 198.51.100.1/32 dev lo\n");
    operated.network.router.ip("route add 198.51.100.0/24 via 10.0.2.2\n");
    operated.reaches("198.51.100.1", 64, (address("198.51.100.1"), REPLY4, 0));

    // A port keeps its interface when that is renamed, even if another interface takes the name.
    let names = "link set r2 down\nlink set r2 name old2\nlink set old2 up\nlink add r2 type veth peer name spare\n";
    operated.network.router.ip(names);
    let to_the_right = || {
        let status = operated.asked(&["status"]);
        let mut sent = status["sent"].as_array().expect("ports").iter();
        sent.find(|row| row["port"] == 1).map(|row| row["packets"].as_u64().expect("a number"))
    };

    // SIGHUP reloads too.
    operated.signal(libc::SIGHUP);
    until("a second reload", || (operated.asked(&["status"])["reloads"] == 2).then_some(()));
    let sent = to_the_right();
    until("the new program forwards to the right", || {
        operated.reaches_the_right();
        (to_the_right() > sent).then_some(())
    });

    // A program with errors changes nothing.
    let broken = operated.path("broken.loom");
    fs::write(&broken, "engine e() { step s { finish } }\n").expect("a file");
    let text_of = fs::read_to_string(&path).expect("a file");
    let broken = broken.display().to_string();
    fs::write(&path, text_of.replace("programs/router.loom", &broken)).expect("a file");
    let refused = operated.ctl(&["reload"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("broken.loom:1:"), "{}", text(&refused.stderr));
    operated.reaches_the_right();

    // A program of another kind takes over, and reports the state that is lost.
    let text_of = fs::read_to_string(&path).expect("a file");
    let other = text_of.replace(&broken, "programs/flowcount.loom");
    let other = other.replace("CHECK_SOURCE = false", "").replace("[set]", "");
    fs::write(&path, other.replace("tables =", "#")).expect("a file");
    let report = operated.ctl(&["reload"]);
    let reloads = if cores == 1 {
        let report = text(&report.stdout);
        assert!(report.contains("state lost: flows (declared in another way), "), "{report}");
        assert!(report.contains("labels (no longer declared)"), "{report}");
        3
    } else {
        // The packets of this program insert flows, in an order that matters.
        let refused = text(&report.stderr);
        assert_eq!(report.status.code(), Some(2), "{refused}");
        assert!(refused.contains("packets change `flows`"), "{refused}");
        operated.reaches_the_right();
        2
    };
    operated.signal(libc::SIGTERM);
    let (status, _, err) = operated.end();
    assert_eq!(status, Some(0), "{err}");
    assert_eq!(err.matches("INFO reloaded").count(), reloads, "{err}");
}

#[test]
fn live_packets_are_traced_and_captured() {
    watches(&[]);
}

#[test]
fn live_packets_of_two_cores_are_traced_and_captured() {
    watches(&["--cores", "2", "--io", "packet"]);
}

#[test]
fn packets_in_the_kernel_are_traced_and_captured() {
    if Path::new("/usr/sbin/ethtool").exists() {
        watches(&["--io", "kernel"]);
    } else {
        eprintln!("warning: nothing was tested with --io kernel: ethtool is missing");
    }
}

fn watches(options: &[&str]) {
    let Some(operated) = Operated::start(CONFIG, options) else { return };
    operated.forwards();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // One thread pings, and one sends packets that cannot be forwarded.
        scope.spawn(|| {
            operated.network.left.run(|| {
                while !is_over.load(Ordering::Relaxed) {
                    // Each socket sees every reply that arrives while it is open.
                    let mut echo = Echo::open(address("10.0.2.2"), 64);
                    echo.send();
                    let answer = echo.receive(patience());
                    assert_eq!(answer, Some((address("10.0.2.2"), REPLY4, 0)));
                    drop(echo);
                    let mut expired = Echo::open(address("10.0.2.2"), 1);
                    expired.send();
                    // The kernel limits the rate of its errors (icmp_msgs_per_sec).
                    let _ = expired.receive(TRY);
                }
            });
        });
        let watch = || {
            // Nothing matches; this trace must not block the next one.
            let none = operated.ctl(&["trace", "--filter", "arp && tcp", "--seconds", "0"]);
            let traces = operated.asked(&[
                "trace",
                "--count",
                "2",
                "--filter",
                "icmp && ip.src == 10.0.1.2 && ip.ttl == 64",
            ]);
            // Reports of multicast groups have a hop limit of 1, too.
            let expired = "ip.dst == 10.0.2.2 && ip.ttl == 1 && port == 0";
            let shown = operated.ctl(&["trace", "--filter", expired]);
            let capture = operated.path("all.pcapng").display().to_string();
            let points = ["--at", "in,out,cpu", "--filter", "icmp", "--count", "40"];
            let captured = operated.ctl(&[&["capture", "--out", &capture], &points[..]].concat());
            let wrong = operated.ctl(&["trace", "--filter", "speed > 3"]);
            (traces, shown, captured, wrong, none)
        };
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(watch));
        is_over.store(true, Ordering::Relaxed);
        let (traces, shown, captured, wrong, none) = match result {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        let traces = traces.as_array().expect("traces").clone();
        assert_eq!(traces.len(), 2);
        assert_eq!(traces[0]["outputs"][0]["verdict"], "sent to port 1", "{}", traces[0]);
        if options.contains(&"kernel") {
            assert!(traces.iter().all(|trace| trace["kernel"]["is_same"] == true), "{traces:?}");
        }
        let shown = text(&shown.stdout);
        for part in ["from port 0", "ip4.ttl", "TTL_EXPIRED"] {
            assert!(shown.contains(part), "{part}:\n{shown}");
        }
        assert!(text(&captured.stderr).starts_with("40 packets captured"), "{captured:?}");
        assert_eq!(wrong.status.code(), Some(2));
        assert!(text(&wrong.stderr).contains("filter, character 1: "), "{wrong:?}");
        assert_eq!(none.status.code(), Some(2));
        assert!(text(&none.stderr).contains("no packet matched"), "{none:?}");
    });
    let packets: Vec<_> = wireloom_net::capture::Reader::open(&operated.path("all.pcapng"))
        .expect("a capture")
        .map(|packet| packet.expect("a packet"))
        .collect();
    assert_eq!(packets.len(), 40);
    let bytes = fs::read(operated.path("all.pcapng")).expect("a file");
    let has = |text: &str| bytes.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(has("port0") && has("port1") && has("cpu") && has("TTL_EXPIRED"));
    // A traced packet is counted like every other.
    let status = operated.asked(&["status"]);
    let (received, fates) = counts(&status);
    assert_eq!(received, fates, "{status}");
}

/// Returns the blocks of a page whose fence has these words.
fn blocks(page: &str, words: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/operate").join(page);
    let page = fs::read_to_string(path).expect("a page");
    let fences = page.split("```").skip(1).step_by(2);
    fences
        .filter_map(|block| block.strip_prefix(&format!("{words}\n")))
        .map(str::to_owned)
        .collect()
}

#[test]
fn the_commands_of_the_pages_work() {
    // The configuration of the page, with the interfaces of this test.
    let config = blocks("deploy.md", "toml").remove(0);
    let config = config.replace("eth", "r").replace("/run/wireloom/control", "DIR/control");
    let config = format!("io = \"packet\"\n{config}");
    let Some(operated) = Operated::start(&config, &[]) else { return };
    operated.reaches_the_right();
    let mut tried = 0;
    for page in ["deploy.md", "observe.md", "upgrade.md"] {
        let commands = blocks(page, "sh setup").join("");
        let is_asking =
            |line: &&str| ["wireloom ctl ", "wireloom top "].iter().any(|c| line.starts_with(c));
        for line in commands.lines().filter(is_asking) {
            // Traces wait for packets that do not arrive here.
            let limit = if line.contains(" trace ") { " --seconds 1" } else { "" };
            let command = Path::new(env!("CARGO_BIN_EXE_wireloom")).display().to_string();
            let line = line.replacen("wireloom", &command, 1);
            let socket = operated.path("control");
            let script = format!("{line} --control {}{limit}", socket.display());
            let script = script
                .replace("--seconds 2", "--seconds 1")
                .replace("--count 100", "--count 1 --seconds 1");
            let output = Command::new("sh")
                .args(["-c", &script])
                .current_dir(operated.folder.path())
                .output()
                .expect("sh");
            let err = text(&output.stderr);
            let is_fine = output.status.success() || err.contains("no packet matched");
            assert!(is_fine, "{page}: {script}: {err}");
            tried += 1;
        }
    }
    assert!(tried >= 5, "{tried} commands were found");
}

#[test]
fn a_service_manager_learns_that_it_is_ready_alive_and_stopping() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("notify");
    let manager = UnixDatagram::bind(&path).expect("a socket");
    manager.set_read_timeout(Some(patience())).expect("a setting");
    let environment =
        [("NOTIFY_SOCKET", path.to_str().expect("a path")), ("WATCHDOG_USEC", "200000")];
    let Some(mut operated) = Operated::start_in(folder, CONFIG, &[], &environment) else { return };
    let told = |wanted: &str| {
        until(wanted, || {
            let mut message = [0; 256];
            let length = manager.recv(&mut message).expect("a message");
            text(&message[..length]).contains(wanted).then_some(())
        });
    };
    told("READY=1");
    (0..3).for_each(|_| told("WATCHDOG=1"));
    operated.signal(libc::SIGTERM);
    told("STOPPING=1");
    assert_eq!(operated.end().0, Some(0));
}

#[test]
fn the_control_socket_survives_what_clients_send() {
    let Some(mut operated) = Operated::start(CONFIG, &[]) else { return };
    let socket = operated.path("control");
    let ask = |bytes: &[u8]| {
        let mut stream = UnixStream::connect(&socket).expect("a socket");
        // A refused client may find the connection closed.
        let _ = stream.write_all(bytes);
        let mut line = String::new();
        let _ = BufReader::new(stream).read_line(&mut line);
        line
    };
    for wrong in [&b"x\n"[..], b"{\"do\":\"dance\"}\n", b"\xff\xfe\n", b"{\"do\":\"capture\"}\n"] {
        assert!(ask(wrong).starts_with("{\"error\":{\"message\":\"no request: "), "{wrong:?}");
    }
    assert!(ask(&vec![b'x'; 1 << 21]).contains("more than 1048576 bytes"));
    // Two requests on one connection; clients that leave; more clients than the limit.
    let mut stream = UnixStream::connect(&socket).expect("a socket");
    stream.write_all(b"{\"do\":\"status\"}\n{\"do\":\"status\"}\n").expect("sent");
    let mut lines = BufReader::new(stream).lines();
    (0..2).for_each(|_| {
        let line = lines.next().expect("a line").expect("text");
        assert!(line.starts_with("{\"status\":"), "{line}");
    });
    drop(lines);
    let capture =
        "{\"do\":\"capture\",\"at\":[\"in\"],\"packets\":9,\"bytes\":9999,\"seconds\":99}\n";
    for _ in 0..3 {
        let mut stream = UnixStream::connect(&socket).expect("a socket");
        stream.write_all(capture.as_bytes()).expect("sent");
    }
    let crowd: Vec<_> = (0..20).map(|_| UnixStream::connect(&socket).expect("one")).collect();
    drop(crowd);
    until("clients that have left make room", || {
        ask(b"{\"do\":\"status\"}\n").starts_with("{\"status\":").then_some(())
    });
    operated.reaches_the_right();

    // Another forwarder does not take the socket of a running one, but replaces one that was left
    // behind.
    let text_of = fs::read_to_string(operated.path("forward.toml")).expect("a file");
    let config = operated.path("second.toml");
    fs::write(&config, text_of).expect("a file");
    let args = ["forward", "--config", config.to_str().expect("a path")];
    let second = operated.network.router.run(|| wireloom(&args).output().expect("the command"));
    assert_eq!(second.status.code(), Some(2));
    let err = text(&second.stderr);
    assert!(err.contains("another process listens there"), "{err}");
    operated.signal(libc::SIGKILL);
    operated.child.wait().expect("an end");
    assert!(socket.exists(), "nobody could remove it");
    let mut second = operated.network.router.run(|| wireloom(&args).spawn().expect("one"));
    let mut line = String::new();
    let out = second.stdout.take().expect("a pipe");
    BufReader::new(out).read_line(&mut line).expect("a line");
    assert!(line.starts_with("forwarding on"), "{line}");
    assert!(operated.asked(&["status"])["seconds"].is_number());
    assert!(operated.ctl(&["stop"]).status.success());
    assert!(second.wait().expect("an end").success());
}

#[test]
fn wrong_configurations_are_refused_with_their_line() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("forward.toml");
    let refused = |config: &str, part: &str| {
        fs::write(&path, config).expect("a file");
        let args = ["forward", "--config", path.to_str().expect("a path")];
        let output = wireloom(&args).output().expect("the command");
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains(part), "{err}");
    };
    refused("port = [\"r1\"]\n\nports = 1\n", "forward.toml:3: unknown key `ports`");
    refused("io = \"fast\"\n", "forward.toml:1: `io`: invalid value 'fast'");
    refused("port = [\"r1\"]\n", "<FILE>");
    refused("file = \"x.loom\"\n", "--port <INTERFACE>");
    let missing = ["forward", "--config", "no-such.toml"];
    let output = wireloom(&missing).output().expect("the command");
    assert!(text(&output.stderr).contains("no-such.toml: cannot be read"), "{output:?}");
    let nobody = ["ctl", "--control", "/no/such/socket", "status"];
    let output = wireloom(&nobody).output().expect("the command");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no forwarder can be reached"), "{output:?}");
}
