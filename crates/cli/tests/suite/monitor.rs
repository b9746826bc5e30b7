//! `wireloom debug` and `wireloom monitor` from outside: answers, exit statuses, refused requests,
//! and the page in a browser.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::workplace::{self, Workplace};

const DEBUG: &str = "debug hub.loom --on ixp1200 --tables hub.tables --in frames.pcap";

/// Creates a folder with packets that the machine accepts.
fn place() -> Workplace {
    let place = Workplace::new();
    let frames = [workplace::frame(0x0800), workplace::frame(0x0806), workplace::frame(0x0800)];
    place.write("frames.pcap", &workplace::pcap(&frames));
    place
}

/// Returns a capture of packets that are 2 us apart.
fn close(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut capture: Vec<u8> = Vec::new();
    let head = [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65535, 1];
    capture.extend(head.iter().flat_map(|word| word.to_le_bytes()));
    for (number, frame) in (0_u32..).zip(frames) {
        let length = frame.len() as u32;
        let record = [1, 2 * number, length, length];
        capture.extend(record.iter().flat_map(|word| word.to_le_bytes()));
        capture.extend(frame);
    }
    capture
}

#[test]
fn a_script_debugs_a_program_in_loom_c() {
    let place = place();
    let script = "break hub.loom:13\ncontinue\nwhere # the line of the source\nregs window\n\
                  break packet 2\ndelete 1\ncontinue\ncontinue\npackets\n";
    place.write("script", script.as_bytes());
    let ran = place.wireloom(&format!("{DEBUG} --script script"));
    ran.status(0).says(&[
        " with a program; 232 MHz",
        "breakpoint 1: break hub.loom:13 (address",
        ": breakpoint 1, break hub.loom:13",
        "hub.loom:13  seen.count(packet.ingress, packet.length);",
        "window",
        ": breakpoint 2, break packet 2",
        ": every packet has left",
        "packet 0: sent to port 7, 60 bytes",
        "packet 1: to the cpu: NOT_IPV4, 60 bytes",
    ]);
    // A second run has the same output to the letter.
    assert_eq!(ran.out, place.wireloom(&format!("{DEBUG} --script script")).out);
}

#[test]
fn tiles_and_switches_are_debugged_too() {
    let place = place();
    let script = "threads\nbreak hub.loom:13\ncontinue\nwhere\nregs $sp $a0\nlist 0 4\ndelete\n\
                  thread 0.1\nstep 2\nbreak read memory 0-0x1ffffff\ntrace on\ncontinue\n\
                  trace off\ndelete\nbreak packet 2\ncontinue\nmem memory 0x40 2\nqueues\nuse\n\
                  delete\ncontinue\npackets\n";
    place.write("script", script.as_bytes());
    let debug = "debug hub.loom --on raw-3 --tables hub.tables --in frames.pcap --script script";
    let ran = place.wireloom(debug);
    ran.status(0).says(&[
        "raw-3: 32 threads, 6 with a program; 425 MHz",
        " of tile-",
        ": breakpoint 1, break hub.loom:13",
        "hub.loom:13  seen.count(packet.ingress, packet.length);",
        "thread 0.1 ",
        ": breakpoint 2, break read memory",
        "reads 8 words of memory at 0x",
        ": breakpoint 3, break packet 2",
        "static network 1",
        ": every packet has left",
        "packet 0: sent to port 7, 60 bytes",
        "packet 1: to the cpu: NOT_IPV4, 60 bytes",
    ]);
    assert_eq!(ran.out, place.wireloom(debug).out);
    let words = debug.replace("--script script", "--script wrong");
    place.write("wrong", b"break signal any\n");
    place.wireloom(&words).status(2).complains(&["threads of raw-3 have no signals"]);
    place.write("wrong", b"break read memory 0x2000000\n");
    place.wireloom(&words).status(2).complains(&["memory has the addresses from 0 to 0x1ffffff"]);
}

#[test]
fn multithreaded_processors_are_debugged_too() {
    let place = place();
    let script = "where\nlist 0 3\nstep 3\nregs pc\ntrace on\ncycle 40\ntrace off\n\
                  break packet 2\ncontinue\ndelete\nthreads\nmem shared 0 2\nqueues\nuse\n\
                  next\ncontinue\npackets\n";
    place.write("script", script.as_bytes());
    let debug = "debug hub.loom --on mpsoc --tables hub.tables --in frames.pcap --script script";
    let ran = place.wireloom(debug);
    ran.status(0).says(&[
        "mpsoc: 128 threads, 128 with a program; 500 MHz",
        "thread 0.0 ",
        "waits for a line of instructions",
        ": breakpoint 1, break packet 2",
        "packet I/O",
        ": every packet has left",
        "packet 0: sent to port 7, 60 bytes",
        "packet 1: to the cpu: NOT_IPV4, 60 bytes",
    ]);
    assert_eq!(ran.out, place.wireloom(debug).out);
}

/// The packets before the change, and no others, find the old entry.
#[test]
fn entries_change_between_two_packets_of_a_watched_machine() {
    let place = Workplace::new();
    let counted = "seen.count(ports.read(packet.ingress).out, packet.length)";
    let program = workplace::HUB.replace("seen.count(packet.ingress, packet.length)", counted);
    place.write("slots.loom", program.as_bytes());
    place.write("many.pcap", &close(&vec![workplace::frame(0x0800); 400]));
    let script = "next 3\nbreak packet 20\ntables show ports 0\ntables replace ports 0 out=9\n\
                  tables show ports\ndelete\ncontinue\ntables show seen\n\
                  tables change replace ports 1 out=3; delete ports 0;\ntables show ports\n\
                  tables show ports 7\ntables\n";
    place.write("script", script.as_bytes());
    for on in ["ixp1200", "raw-3", "mpsoc"] {
        let debug = format!("debug slots.loom --on {on} --tables hub.tables --in many.pcap");
        let ran = place.wireloom(&format!("{debug} --script script"));
        let said = ran.status(0).out.clone();
        let number = |before: &str| -> u64 {
            let (_, after) = said.split_once(before).unwrap_or_else(|| panic!("{on}: {said}"));
            let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().unwrap_or_else(|_| panic!("{on}: {said}"))
        };
        let first = number("changed before packet ");
        assert!(first > 20 && first < 300, "{on}: {said}");
        let [old, new] = ["> tables show seen\n7 packets=", "\n9 packets="].map(number);
        assert_eq!((old, new), (first, 400 - first), "{on}: {said}");
        ran.says(&[
            "> tables show ports 0\n0 out=7\n> tables replace",
            "> tables show ports\n0 out=9\n> delete",
            "changed before packet 400, at cycle ",
            "> tables show ports\n1 out=3\n",
            "ports has no entry with the key 7\n",
            "ports                    array                       16\n",
        ]);
        // If one change is refused, none is made.
        for (change, why) in [
            ("tables change replace ports 1 out=3; delete ports 0; delete ports 0", "no entry"),
            ("tables insert ports 0 out=3", "there is an entry with this key already"),
            ("tables insert port 0 out=3", "no offload 'port'"),
            ("tables insert seen 0 = 3", "the value has fields; write packets=..., bytes=..."),
            ("tables insert ports 16 out=3", "out of range"),
        ] {
            let mut child = Command::new(env!("CARGO_BIN_EXE_wireloom"));
            child.args(debug.split_whitespace()).current_dir(place.path("."));
            child.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let mut child = child.spawn().expect("it starts");
            let script = format!("{change}\ntables show ports\n");
            let stdin = child.stdin.take().expect("a pipe");
            (&stdin).write_all(script.as_bytes()).expect("a pipe");
            drop(stdin);
            let output = child.wait_with_output().expect("it ends");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{on}, {change}: {said}");
            assert!(said.contains(why), "{on}, {change}: {said}");
        }
    }
}

#[test]
fn wrong_commands_and_machines_are_status_2() {
    let place = place();
    place.write("script", b"# a comment\n\nstep\nfly\nstep\n");
    let ran = place.wireloom(&format!("{DEBUG} --script script"));
    ran.status(2).complains(&["error: script:4: there is no command `fly`", "help: help lists"]);
    assert_eq!(ran.out.matches("> step").count(), 1, "{}", ran.out);
    place
        .wireloom(&format!("{DEBUG} --script none"))
        .status(2)
        .complains(&["none: cannot be read"]);
    let words = "debug hub.loom --on native --tables hub.tables --in frames.pcap";
    place.wireloom(words).status(2).complains(&["native cannot be watched", "--on ixp1200"]);
    let words = "monitor hub.loom --on golden --tables hub.tables --in frames.pcap";
    place.wireloom(words).status(2).complains(&["golden cannot be watched"]);
}

/// A running monitor.
struct Running {
    child: Child,
    url: String,
    _place: Workplace,
}

impl Running {
    fn start() -> Self {
        Self::on("ixp1200")
    }

    fn on(machine: &str) -> Self {
        let place = place();
        let frames: Vec<Vec<u8>> =
            (0..60).map(|number| workplace::frame(0x0800 + 6 * (number % 3 / 2))).collect();
        place.write("close.pcap", &close(&frames));
        let words = format!("monitor hub.loom --on {machine} --tables hub.tables --in close.pcap");
        let mut child = Command::new(env!("CARGO_BIN_EXE_wireloom"))
            .args(words.split_whitespace())
            .current_dir(place.path("."))
            .stdout(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut line = String::new();
        let out = child.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut line).expect("a line");
        let url = line.split_whitespace().find(|word| word.starts_with("http://"));
        let url = url.unwrap_or_else(|| panic!("no address in {line:?}")).to_owned();
        Self { child, url, _place: place }
    }

    /// Returns `HOST:PORT` and the path of the page.
    fn parts(&self) -> (&str, &str) {
        let rest = self.url.strip_prefix("http://").expect("an address");
        let slash = rest.find('/').expect("a path");
        rest.split_at(slash)
    }

    /// Sends a request and returns the head and the body of the reply.
    fn ask(&self, method: &str, path: &str, headers: &str, body: &str) -> String {
        let (host, _) = self.parts();
        let mut stream = TcpStream::connect(host).expect("it listens");
        let length = body.len();
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        )
        .expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_monitor_answers_this_computer_only_and_ends_cleanly() {
    let mut running = Running::start();
    let (host, path) = running.parts();
    assert!(host.starts_with("127.0.0.1:") && path.len() == 34, "{}", running.url);
    let (host, path) = (format!("Host: {host}\r\n"), path.to_owned());
    let status = |answer: &str| answer.split(' ').nth(1).unwrap_or_default().to_owned();
    let state = format!("{path}api/state?thread=0");

    let page = running.ask("GET", &path, &host, "");
    assert!(status(&page) == "200" && page.contains("Wireloom monitor"), "{page}");
    assert!(page.contains("Content-Security-Policy: default-src 'none'"), "{page}");
    let now = running.ask("GET", &state, &host, "");
    assert!(now.contains("\"cycle\":0") && now.contains("\"running\":false"), "{now}");

    // Refused requests: without the token, under another name, from another site, from a link.
    assert_eq!(status(&running.ask("GET", "/", &host, "")), "404");
    assert_eq!(status(&running.ask("GET", "/api/state?thread=0", &host, "")), "404");
    let named = "Host: evil.example\r\n";
    assert_eq!(status(&running.ask("GET", &state, named, "")), "403");
    let site = format!("{host}Origin: http://evil.example\r\n");
    let command = format!("{path}api/command");
    assert_eq!(status(&running.ask("POST", &command, &site, "step")), "403");
    assert_eq!(status(&running.ask("GET", &command, &host, "")), "405");

    let step = running.ask("POST", &command, &host, "step");
    assert!(status(&step) == "200" && step.contains("thread 0.0"), "{step}");
    assert_eq!(status(&running.ask("POST", &command, &host, "fly")), "400");
    running.ask("POST", &format!("{path}api/run"), &host, "");
    let ended = (0..200).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(50));
        running.ask("GET", &state, &host, "").contains("every packet has left")
    });
    assert!(ended, "{}", running.ask("GET", &state, &host, ""));
    let history =
        running.ask("GET", &format!("{path}api/history?from=0&to=100000&points=50"), &host, "");
    assert!(history.contains("\"cycles\":[0,"), "{history}");

    let id = rustix::process::Pid::from_child(&running.child);
    rustix::process::kill_process(id, rustix::process::Signal::INT).expect("it runs");
    let ended = running.child.wait().expect("it ends");
    assert!(ended.success(), "{ended:?}");
}

/// The folder of the packages that `make page` installs, with the test of the page.
fn packages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/page")
}

/// Uses the page of a machine in a browser.
fn page_works(machine: &str) {
    let test = packages().join("test.mjs");
    let has = |file: &Path| file.exists();
    if !has(&test) || !has(Path::new("/usr/bin/chromium")) {
        assert!(std::env::var_os("CI").is_none(), "make test installs npm's packages and Chromium");
        eprintln!("note: the page is not tested: run make page, and install chromium");
        return;
    }
    let running = Running::on(machine);
    let mut command = Command::new("node");
    command.arg(&test).arg(&running.url).arg(machine);
    command.args(std::env::var_os("WIRELOOM_SCREENSHOT"));
    let output = command.output().expect("node starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
}

#[test]
#[ignore = "takes long: make test-all"]
fn the_page_shows_microengines_in_a_browser() {
    page_works("ixp1200");
}

#[test]
#[ignore = "takes long: make test-all"]
fn the_page_shows_multithreaded_processors_in_a_browser() {
    page_works("mpsoc");
}

#[test]
fn the_page_shows_tiles_and_networks_in_a_browser() {
    page_works("raw-3");
}
