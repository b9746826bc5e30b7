//! Output of the command: on a terminal of 80 columns, to a reader that has exited, and as JSON on
//! standard output.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::{Command, Stdio};

use super::*;

const WIDTH: usize = 80;

/// Runs the command in a terminal of this many columns, and returns its output.
fn shown(place: &Workplace, words: &str, columns: u16) -> String {
    let size = libc::winsize { ws_row: 50, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 };
    let (mut master, mut slave) = (-1, -1);
    // SAFETY: the pointers are to two integers and to a size, or null where that is allowed.
    let opened = unsafe {
        libc::openpty(&mut master, &mut slave, std::ptr::null_mut(), std::ptr::null(), &size)
    };
    assert_eq!(opened, 0, "a terminal can be opened");
    // SAFETY: both have just been opened, and nothing else owns them.
    let (mut master, slave) = unsafe { (File::from_raw_fd(master), File::from_raw_fd(slave)) };
    assert!(master.as_raw_fd() >= 0);
    let mut command = Command::new(env!("CARGO_BIN_EXE_wireloom"));
    command.args(words.split_whitespace()).current_dir(place.path("."));
    // Without colours, which CI=1 turns on in any terminal.
    command.env("TERM", "dumb").env("NO_COLOR", "1").env("PAGER", "cat").env_remove("COLUMNS");
    command.stdin(Stdio::null()).stdout(slave).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    // The command holds the last handle of its end.
    drop(command);
    let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
    // Reading from a terminal whose other end is closed is an error on Linux.
    while let Ok(count @ 1..) = master.read(&mut part) {
        bytes.extend_from_slice(&part[..count]);
    }
    child.wait().expect("it ends");
    String::from_utf8(bytes).expect("it is UTF-8").replace("\r\n", "\n")
}

/// Returns the names of all subcommands, nested ones included: `np search`.
pub fn subcommands(place: &Workplace) -> Vec<String> {
    /// Returns the names in a help text, which precede its options.
    fn named(help: &str) -> Vec<String> {
        let lines = help.lines().take_while(|line| *line != "Options:");
        let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        names.filter(|name| !["", "help"].contains(name)).map(str::to_owned).collect()
    }
    let mut names = named(&place.wireloom("--help").status(0).out);
    for group in ["np", "raw", "mpsoc"] {
        let below = named(&place.wireloom(&format!("{group} --help")).status(0).out);
        assert!(below.len() > 1, "{group} {below:?}");
        names.extend(below.iter().map(|name| format!("{group} {name}")));
    }
    assert!(names.len() > 30, "{names:?}");
    names
}

/// Checks that no line is too long, and that each word also occurs in the output on a wide screen.
fn fits(place: &Workplace, words: &str) {
    let (narrow, wide) = (shown(place, words, WIDTH as u16), shown(place, words, 2000));
    assert!(!narrow.trim().is_empty(), "{words} shows nothing");
    for line in narrow.lines() {
        assert!(line.chars().count() <= WIDTH, "{words}: too long: {line}");
    }
    let known: std::collections::HashSet<&str> = wide.split_whitespace().collect();
    // Times and rates of this computer vary from run to run, and short build times are left out.
    let varies = |word: &str| {
        ["ready", "in", "s;", "pps", "kpps", "Mpps"].contains(&word)
            || word.contains(|c: char| c.is_ascii_digit())
            || !word.contains(char::is_alphabetic)
    };
    for word in narrow.split_whitespace().filter(|word| !varies(word)) {
        assert!(known.contains(word), "{words}: {word} is no word of\n{wide}\nbut of\n{narrow}");
    }
}

#[test]
fn help_fits_a_terminal_of_80_columns() {
    let place = Workplace::new();
    fits(&place, "--help");
    for command in subcommands(&place) {
        fits(&place, &format!("{command} --help"));
    }
}

#[test]
fn reports_fit_a_terminal_of_80_columns() {
    let place = Workplace::new();
    let input = "hub.loom --tables hub.tables --in three.pcap";
    for words in ["machines", "bench list", "explain hub.loom", "check hub.loom", "example"] {
        fits(&place, words);
    }
    for machine in ["golden", "mpsoc-oc48", "ixp1200", "ixp2400", "raw-1", "raw-queues"] {
        fits(&place, &format!("run {input} --on {machine} --dump seen"));
    }
    fits(&place, &format!("verify {input} --on mpsoc-oc48,raw-rows,ixp2400"));
    fits(&place, &format!("trace {input} --packet 0 --on mpsoc-oc48"));
}

#[test]
fn json_is_all_that_is_on_standard_output() {
    let place = Workplace::new();
    place.wireloom("traffic --packets 200 --ports 1 --out many.pcap").status(0);
    let input = "hub.loom --tables hub.tables --in three.pcap";
    let commands = [
        "check hub.loom".to_owned(),
        "explain hub.loom".to_owned(),
        "machines".to_owned(),
        "machines raw-1".to_owned(),
        "tables hub.loom --tables hub.tables".to_owned(),
        format!("run {input}"),
        format!("run {input} --on raw-1"),
        format!("verify {input} --on native,mpsoc-oc48"),
        format!("trace {input} --packet 1"),
        "raw map hub.loom --tables hub.tables --in many.pcap --packets 100".to_owned(),
        format!("test {}", repository().join("programs/tests/ipv4.packets").display()),
    ];
    // Subcommands that need hardware tools, a forwarder, programs of their own or a checkout write
    // their reports by the same function.
    const OTHERS: [&str; 8] = [
        "bench",
        "ctl",
        "forward",
        "np rig",
        "np search",
        "raw tile",
        "np virtual",
        "mpsoc application",
    ];
    for name in subcommands(&place) {
        let help = place.wireloom(&format!("{name} --help")).out.clone();
        let is_run =
            commands.iter().any(|words| words.starts_with(&format!("{name} ")) || *words == name);
        let is_known = is_run || OTHERS.contains(&name.as_str());
        assert!(is_known || !help.contains("--json"), "{name} has --json and is not tested here");
    }
    for words in commands {
        let ran = place.wireloom(&format!("{words} --json -"));
        assert!(ran.status != 2, "{words}: {}", ran.err);
        let parsed: Result<serde_json::Value, _> = serde_json::from_str(&ran.out);
        assert!(parsed.is_ok(), "{words} writes {}", ran.out);
    }
}

#[test]
fn a_reader_that_goes_away_ends_a_command_quietly() {
    let place = Workplace::new();
    let input = "hub.loom --tables hub.tables --in three.pcap";
    let commands = [
        "--help".to_owned(),
        "machines".to_owned(),
        "machines mpsoc".to_owned(),
        "machines --json -".to_owned(),
        "bench list".to_owned(),
        "docs language".to_owned(),
        "explain hub.loom".to_owned(),
        "explain hub.loom --ir lower".to_owned(),
        "run --help".to_owned(),
        format!("run {input} --on mpsoc-oc48 --json -"),
        format!("run {input} --out -"),
        format!("verify {input} --on native --json -"),
        format!("trace {input} --packet 0"),
        "traffic --packets 100000 --out -".to_owned(),
    ];
    for words in commands {
        let mut command = Command::new(env!("CARGO_BIN_EXE_wireloom"));
        command.args(words.split_whitespace()).current_dir(place.path("."));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        // The reader exits before the first line.
        drop(child.stdout.take());
        let mut err = String::new();
        child.stderr.take().expect("a pipe").read_to_string(&mut err).expect("it is UTF-8");
        let status = child.wait().expect("it ends");
        for word in ["panicked", "Broken pipe", "cannot be written"] {
            assert!(!err.contains(word), "{words}: {err}");
        }
        assert_eq!(status.code(), Some(0), "{words}: {err}");
    }
    // The reader exits after the first line.
    let mut command = Command::new(env!("CARGO_BIN_EXE_wireloom"));
    command.args(["bench", "list"]).stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut first = String::new();
    let out = child.stdout.take().expect("a pipe");
    BufReader::with_capacity(16, out).read_line(&mut first).expect("a line");
    assert_eq!(child.wait().expect("it ends").code(), Some(0), "{first}");
}
