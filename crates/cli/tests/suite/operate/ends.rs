//! Events that end a forwarder or a capture, and events that do not.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use wireloom_net::Packet;
use wireloom_net::capture::Reader;

use super::{CONFIG, Operated, text, until, wireloom};
use crate::network::Network;

/// Waits for the end of a process. Returns the status and the messages.
fn end(mut child: Child) -> (Option<i32>, String) {
    let mut err = String::new();
    child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("text");
    (child.wait().expect("an end").code(), err)
}

#[test]
fn a_signal_before_packets_flow_ends_it_in_order() {
    let Ok(network) = Network::new() else { return };
    // The signal goes to all processes, as with Ctrl-C, the compiler's included; and to the command
    // alone.
    for is_to_all in [true, false] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let socket = folder.path().join("control");
        let path = socket.to_str().expect("a path");
        let ports = ["--port", "r1", "--port", "r2", "--control", path];
        let mut command = wireloom(&[&["forward", "programs/router.loom"], &ports[..]].concat());
        let mut child = network.router.run(|| command.process_group(0).spawn().expect("one"));
        // The socket exists before the program is compiled.
        let begun = until("it begins", || {
            let has_ended = child.try_wait().expect("a child").is_some();
            (has_ended || socket.exists()).then_some(!has_ended)
        });
        if !begun {
            return eprintln!("warning: nothing was tested: {}", end(child).1);
        }
        let process = child.id() as libc::pid_t;
        // SAFETY: the child has not been waited for, so the numbers are its own.
        let sent = unsafe { libc::kill(if is_to_all { -process } else { process }, libc::SIGINT) };
        assert_eq!(sent, 0);
        let mut out = String::new();
        child.stdout.take().expect("a pipe").read_to_string(&mut out).expect("text");
        let (status, err) = end(child);
        assert_eq!((status, out.as_str()), (Some(0), ""), "{err}");
        assert!(err.contains("stopped before packets were forwarded"), "{err}");
        assert!(!socket.exists());
    }
}

#[test]
fn a_specialised_engine_that_is_under_way_at_the_end_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let temporary = folder.path().join("temporary");
    fs::create_dir(&temporary).expect("a folder");
    // A compiler that never finishes engines that are built in `TMPDIR`. Other engines are built in
    // the cache.
    let compiler = folder.path().join("compiler");
    let script = "#!/bin/sh\ncase \"$*\" in *temporary*) exec sleep 1000 ;; esac\nexec cc \"$@\"\n";
    fs::write(&compiler, script).expect("a file");
    fs::set_permissions(&compiler, fs::Permissions::from_mode(0o700)).expect("a program");
    let [compiler, path] =
        [&compiler, &temporary].map(|path| path.to_str().expect("a path").to_owned());
    let environment = [("CC", compiler.as_str()), ("TMPDIR", path.as_str())];
    let Some(mut operated) = Operated::start_in(folder, CONFIG, &[], &environment) else { return };
    let names = || -> Vec<_> {
        let entries = fs::read_dir(&temporary).expect("the folder").flatten();
        entries.map(|entry| entry.file_name()).collect()
    };
    until("it compiles", || (!names().is_empty()).then_some(()));
    operated.signal(libc::SIGTERM);
    assert_eq!(operated.end().0, Some(0));
    assert!(names().is_empty(), "{:?}", names());
}

#[test]
fn it_forwards_on_when_nobody_reads_the_counters_any_more() {
    let Ok(network) = Network::new() else { return };
    let args = ["forward", "programs/router.loom", "--port", "r1", "--interval", "1"];
    let mut child = network.router.run(|| wireloom(&args).spawn().expect("the command"));
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    out.read_line(&mut line).expect("a line");
    if line.is_empty() {
        return eprintln!("warning: nothing was tested: {}", end(child).1);
    }
    assert!(line.starts_with("forwarding on"), "{line}");
    drop(out);
    let mut lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
    let warned = lines.find_map(|line| Some(line.ok()?).filter(|line| line.contains(" WARN ")));
    let warned = warned.unwrap_or_default();
    assert!(warned.contains("the counters can be shown no more"), "{warned}");
    assert!(child.try_wait().expect("a child").is_none(), "it forwards on");
    // SAFETY: the child has not been waited for, so the number is its own.
    unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGTERM) };
    assert_eq!(child.wait().expect("an end").code(), Some(0));
}

/// Whether a process handles the interrupt signal.
fn handles_signals(process: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("a process");
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = u64::from_str_radix(caught.expect("its signals").trim(), 16).expect("a mask");
    caught >> (libc::SIGINT - 1) & 1 == 1
}

#[test]
fn captures_that_are_interrupted_are_kept() {
    let Some(operated) = Operated::start(CONFIG, &[]) else { return };
    operated.forwards();
    let capture = |name: &str| {
        let (socket, out) = (operated.path("control"), operated.path(name).join("c.pcapng"));
        fs::create_dir(operated.path(name)).expect("a folder");
        let place = ["ctl", "--control", socket.to_str().expect("a path")];
        let what = ["capture", "--filter", "icmp", "--out", out.to_str().expect("a path")];
        let mut command = wireloom(&[&place[..], &what].concat());
        let child = command.stdout(Stdio::null()).spawn().expect("the command");
        until("a packet is captured", || {
            // The temporary file appears with the first packet. Another temporary file appears
            // before that for a moment, as a test that files can be created; the signal handlers
            // are installed after it.
            let is_ready = handles_signals(child.id());
            operated.reaches_the_right();
            let mut files = fs::read_dir(operated.path(name)).expect("a folder");
            (is_ready && files.next().is_some()).then_some(())
        });
        (child, out)
    };
    let packets = |path: &Path| {
        let mut reader = Reader::open(path).expect("a capture");
        let mut packet = Packet::default();
        let mut count = 0;
        while reader.read_into(&mut packet).expect("a whole capture") {
            count += 1;
        }
        count
    };
    for (signal, name) in [(libc::SIGINT, "int"), (libc::SIGHUP, "hup"), (libc::SIGQUIT, "quit")] {
        let (child, path) = capture(name);
        // SAFETY: the child has not been waited for, so the number is its own.
        unsafe { libc::kill(child.id() as libc::pid_t, signal) };
        let (status, err) = end(child);
        assert_eq!(status, Some(0), "{err}");
        assert!(err.contains(" packets captured; interrupted") && packets(&path) > 0, "{err}");
        let files = fs::read_dir(operated.path(name)).expect("a folder").count();
        assert_eq!(files, 1, "nothing temporary remains");
    }

    let (child, path) = capture("ended");
    assert!(operated.ctl(&["stop"]).status.success());
    let (status, err) = end(child);
    // The forwarder may lack the time to report that the capture has ended.
    let said = if status == Some(0) { " packets captured" } else { "the connection is lost" };
    assert!(err.contains(said) && packets(&path) > 0, "{status:?}: {err}");
}

#[test]
fn traces_that_are_interrupted_are_kept() {
    let Some(operated) = Operated::start(CONFIG, &[]) else { return };
    operated.forwards();
    let (socket, json) = (operated.path("control"), operated.path("traces.json"));
    let place = ["ctl", "--control", socket.to_str().expect("a path"), "trace", "--filter", "icmp"];
    let what = ["--count", "1000", "--json", json.to_str().expect("a path")];
    let mut child = wireloom(&[&place[..], &what].concat()).spawn().expect("the command");
    let out = BufReader::new(child.stdout.take().expect("a pipe"));
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                operated.reaches_the_right();
            }
        });
        let mut lines = out.lines();
        let first = lines.next().transpose().expect("text");
        // SAFETY: the child has not been waited for, so the number is its own.
        unsafe { libc::kill(child.id() as libc::pid_t, libc::SIGINT) };
        lines.for_each(drop);
        is_over.store(true, Ordering::Relaxed);
        assert!(first.is_some(), "a trace");
    });
    let (status, err) = end(child);
    assert_eq!(status, Some(0), "{err}");
    assert!(err.contains(" packets traced; interrupted"), "{err}");
    let traces: Value = serde_json::from_slice(&fs::read(json).expect("a file")).expect("JSON");
    assert!(traces.as_array().is_some_and(|traces| !traces.is_empty()), "{traces}");
}

#[test]
fn errors_are_json_where_messages_are() {
    let args = ["forward", "programs/router.loom", "--port", "no-such", "--log-format", "json"];
    let output = wireloom(&args).output().expect("the command");
    assert_eq!(output.status.code(), Some(2));
    let err = text(&output.stderr);
    let last: Value = serde_json::from_str(err.lines().last().unwrap_or_default()).expect(&err);
    assert_eq!(last["level"], "ERROR", "{err}");
    assert!(last["message"].as_str().is_some_and(|message| !message.is_empty()), "{err}");
    assert!(last["help"].as_str().is_some_and(|help| help.contains('`')), "{err}");
}

/// Returns the names of the forwarder's threads.
fn threads(operated: &Operated) -> Vec<String> {
    let tasks = format!("/proc/{}/task", operated.child.id());
    let tasks = fs::read_dir(tasks).expect("threads").filter_map(Result::ok);
    let names = tasks.filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.map(|name| name.trim().to_owned()).collect()
}

#[test]
fn a_reload_leaves_nothing_of_the_mirror_before() {
    // The next comparison is an hour away: a mirror that waited for it would stay until then.
    let config = format!("{CONFIG}reconcile = 3600\n");
    let Some(operated) = Operated::start(&config, &[]) else { return };
    for _ in 0..5 {
        operated.asked(&["reload"]);
        // A joined thread may be visible for a moment.
        until("one thread of a mirror", || {
            let threads = threads(&operated);
            let is_of_mirror = |name: &&String| ["mirror", "reading"].contains(&&name[..]);
            (threads.iter().filter(is_of_mirror).count() == 1).then_some(())
        });
    }
    operated.reaches_the_right();
}

#[test]
fn threads_have_the_rights_that_the_documentation_says() {
    let config = format!("{CONFIG}metrics = \"127.0.0.1:9100\"\ninterval = 3600\n");
    let Some(operated) = Operated::start(&config, &[]) else { return };
    operated.asked(&["status"]);
    const CAP_DAC_OVERRIDE: u64 = 1 << 1;
    const CAP_DAC_READ_SEARCH: u64 = 1 << 2;
    const CAP_NET_ADMIN: u64 = 1 << 12;
    let tasks = format!("/proc/{}/task", operated.child.id());
    for task in fs::read_dir(tasks).expect("threads").filter_map(Result::ok) {
        let Ok(status) = fs::read_to_string(task.path().join("status")) else { continue };
        let row = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect(name);
            line.trim().to_owned()
        };
        let right = |name| u64::from_str_radix(&row(name), 16).expect("a set of rights");
        let name = row("Name:");
        let expected = match &name[..] {
            "mirror" | "reading" | "conditions" => CAP_NET_ADMIN,
            // These threads replace the program, its tables and its mirror.
            "reload" | "control" | "client" => {
                CAP_NET_ADMIN | CAP_DAC_READ_SEARCH | CAP_DAC_OVERRIDE
            }
            "holder" | "metrics" | "interval" => 0,
            // The control socket is removed at the end, wherever it is.
            "wireloom" | "core" | "specialise" | "command" => CAP_DAC_OVERRIDE,
            name => panic!("the rights of the thread `{name}` are not known"),
        };
        let beyond = |set| right(set) & !expected;
        assert_eq!((beyond("CapEff:"), beyond("CapPrm:")), (0, 0), "{name}:\n{status}");
        assert_eq!(row("NoNewPrivs:"), "1", "{name}");
    }
}
