//! The commands of the documentation run as written, and print what the pages show.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::blocks::{Block, blocks};
use super::root;

/// Runs the commands of a page, in a folder that has the programs, machines and documentation of
/// the repository. Blocks `sh hardware`, and their output, are checked only with `hardware`.
fn run_page(page: &str, hardware: bool) {
    let text = fs::read_to_string(root().join(page)).expect("a page");
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["programs", "machines", "docs"] {
        symlink(root().join(name), folder.path().join(name)).expect("a link");
    }
    let mut output = None;
    let mut ran = 0;
    for block in blocks(&text) {
        let at = format!("{page}:{}", block.line);
        if block.is("sh") {
            let runs = !block.says("setup") && (hardware || !block.says("hardware"));
            output = runs.then(|| run_block(&block, folder.path(), &at));
            ran += usize::from(runs);
        } else if block.says("output") {
            if let Some(output) = &output {
                assert_shown(&block.text, output, &at);
            }
        } else if let Some(name) = block.file() {
            fs::write(folder.path().join(name), &block.text).expect("a file");
        }
    }
    assert!(ran > 0, "{page} has commands");
}

/// Runs a block's commands and returns what they print.
fn run_block(block: &Block, folder: &Path, at: &str) -> String {
    let command = Path::new(env!("CARGO_BIN_EXE_wireloom")).parent().expect("a folder");
    let path = format!("{}:{}", command.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("bash")
        .args(["-euo", "pipefail", "-c", &format!("exec 2>&1\n{}", block.text)])
        .env("PATH", path)
        // Models run briefly here, so the time to build them matters more than their speed.
        .env("WIRELOOM_NP_OPTIMISE", "0")
        .current_dir(folder)
        .output()
        .expect("bash");
    let text = String::from_utf8(output.stdout).expect("text");
    assert_eq!(output.status.success(), !block.says("fails"), "{at}: {text}");
    text
}

/// Whether a word is a number: digits with points and commas.
fn is_number(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_digit())
        && word.chars().all(|c| c.is_ascii_digit() || ".,".contains(c))
}

/// Masks words that vary from run to run: times and rates of the host, and the simulators' speed.
fn masked(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let word = |at: usize| words.get(at).map_or("", |word| word.trim_end_matches([',', ':']));
    let is_unit = |at: usize| ["s", "ms", "pps", "kpps", "Mpps"].contains(&word(at));
    let varies = |at: usize| {
        is_number(words[at])
            && (is_unit(at + 1) || (word(at + 1) == "a" && word(at + 2) == "second"))
    };
    let mask = |at: usize| match at {
        _ if varies(at) => "#",
        at if at > 0 && is_unit(at) && varies(at - 1) => "#",
        at => words[at],
    };
    (0..words.len()).map(mask).collect::<Vec<_>>().join(" ")
}

/// Returns the lines to be compared: without table rules, empty lines, and the progress of long
/// work, which only a slow computer shows.
fn lines(text: &str) -> Vec<String> {
    let is_rule = |line: &str| line.chars().all(|c| "─═ ".contains(c));
    let is_left_out = |line: &&str| is_rule(line) || line.ends_with(" so far");
    text.lines().filter(|line| !is_left_out(line)).map(masked).collect()
}

/// Whether lines match a pattern, in which `...` stands for any number of lines.
fn matches(pattern: &[String], lines: &[String]) -> bool {
    match pattern.split_first() {
        None => lines.is_empty(),
        Some((first, rest)) if first == "..." => {
            (0..=lines.len()).any(|skipped| matches(rest, &lines[skipped..]))
        }
        Some((first, rest)) => lines.first() == Some(first) && matches(rest, &lines[1..]),
    }
}

fn assert_shown(shown: &str, output: &str, at: &str) {
    assert!(
        matches(&lines(shown), &lines(output)),
        "{at} shows\n{shown}\nbut the commands print\n{output}"
    );
}

#[test]
fn outputs_are_compared_without_times() {
    let output = "compiling a.cpp, 3 of 13: 30 s so far\nbuilt in 1.69 s\n───\n golden   993 kpps   -\n native  5.3 Mpps  no\n port 1  64\n";
    let shown = "built in 0.20 s\ngolden 1.02 Mpps -\n...\nport 1 64\n";
    assert!(matches(&lines(shown), &lines(output)));
    assert!(!matches(&lines(&shown.replace("64", "65")), &lines(output)));
    assert!(!matches(&lines(&shown.replace("...\n", "")), &lines(output)));
    assert_eq!(masked("27,161 cycles, 220,102 a second"), "27,161 cycles, # a second");
    assert_eq!(masked("ixp1200  695 pps  -"), masked("ixp1200 3.54 kpps -"));
}

/// Makes tests of pages. In `first` are those that users read first: `make test` also runs their
/// commands that need hardware tools, for which models of network processors are built. It runs no
/// command of those in `long`.
macro_rules! pages {
    (first: $($first:ident $first_page:literal)* ; others: $($name:ident $page:literal)* ; long: $($long:ident $long_page:literal)*) => {
        mod commands_run_as_written {
            $(#[test] fn $first() { super::run_page($first_page, super::has_hardware_tools()); })*
            $(#[test] fn $name() { super::run_page($page, false); })*
        }
        mod commands_that_need_hardware_tools_run_as_written {
            $(
                #[test]
                #[ignore = "builds models of network processors: minutes"]
                fn $name() { super::run_page($page, true); }
            )*
            $(
                #[test]
                #[ignore = "builds models of network processors: minutes"]
                fn $long() { super::run_page($long_page, true); }
            )*
        }
    };
}

pages! {
    first:
        readme "README.md"
        tutorial "docs/tutorial.md";
    others:
        tutorial_of_microcode "docs/tutorial-microcode.md"
        teaching "docs/teaching.md"
        exercises "docs/teaching/exercises.md"
        fpga "docs/fpga.md"
        firewall "docs/firewall.md"
        ebpf "docs/ebpf.md"
        p4 "docs/p4.md"
        faq "docs/faq.md"
        monitor "docs/monitor.md"
        tune "docs/operate/tune.md";
    long:
        architect "docs/architect.md"
        teaching_with_ixp "docs/teaching/ixp.md"
        teaching_with_raw "docs/teaching/raw.md"
        solutions "docs/teaching/solutions/README.md"
}

fn has_hardware_tools() -> bool {
    let found = wireloom_install::tools::verilator().is_ok();
    if !found {
        eprintln!("warning: commands for network processors are not tested: run `make tools`");
    }
    found
}
