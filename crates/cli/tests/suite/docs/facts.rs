//! Checks sentences of the README and the tutorial against numbers in the repository or from the
//! command. [`super::commands`] compares the output of commands, and crates/figures the measured
//! numbers.

use std::fs;
use std::process::Command;

use serde_json::Value;

use super::root;

/// Runs a command with `--json -` and returns the report.
fn report(words: &str) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_wireloom"))
        .args(words.split_whitespace())
        .args(["--json", "-"])
        .current_dir(root())
        .output()
        .expect("the command starts");
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("a report")
}

/// Returns the words of a page with single spaces, without comments.
fn words(page: &str) -> String {
    let text = fs::read_to_string(root().join(page)).expect("a page");
    let mut visible = String::new();
    let mut rest = text.as_str();
    while let Some((before, comment)) = rest.split_once("<!--") {
        visible += before;
        rest = comment.split_once("-->").expect("comments end").1;
    }
    visible += rest;
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn assert_says(page: &str, sentences: &[String]) {
    let words = words(page);
    for sentence in sentences {
        assert!(words.contains(sentence), "{page} does not say \"{sentence}\"");
    }
}

#[test]
fn the_oldest_compiler_is_the_manifests() {
    let manifest = fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    let version = manifest.lines().find_map(|line| line.strip_prefix("rust-version = "));
    let version = version.expect("a version").trim_matches('"');
    assert_says("README.md", &[format!("with Rust {version}:")]);
    assert_says("docs/installing.md", &[format!("Rust {version} or newer")]);
}

#[test]
fn shapes_of_machines_are_those_of_their_descriptions() {
    let network_processor = |name: &str| {
        let machine = report(&format!("machines {name}"));
        let [clusters, engines, threads] =
            ["clusters", "engines", "threads"].map(|key| machine[key].to_string());
        format!("`{name}` ({clusters} clusters of {engines} engines of {threads} threads")
    };
    let mpsoc = report("machines mpsoc-oc48");
    let [processors, threads] = ["processors", "threads"].map(|key| mpsoc[key].to_string());
    assert_says(
        "README.md",
        &[
            network_processor("np-200mpps"),
            network_processor("np-line-rate"),
            format!("{processors} ARMs of {threads} threads"),
        ],
    );
    let rate = mpsoc["io"]["input"]["rate_gbps"].to_string();
    assert_says(
        "docs/tutorial.md",
        &[
            format!("{processors} ARM processors of {threads} threads"),
            format!("packet I/O at {rate} Gb/s"),
        ],
    );
}

/// The rows of "How fast" state the goals that `wireloom bench` compares with.
#[test]
fn goals_are_those_of_the_benchmarks() {
    let listed = report("bench list");
    let readme = fs::read_to_string(root().join("README.md")).expect("a page");
    let goal = |name: &str| {
        let row = listed.as_array().expect("a list").iter().find(|row| row["name"] == name);
        row.and_then(|row| row["goal"].as_f64()).unwrap_or_else(|| panic!("{name} has a goal"))
    };
    let mut rows = 0;
    for line in readme.lines().filter(|line| line.contains("`wireloom bench ")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").collect();
        let [_, _, goals, command] = cells[..] else { continue };
        let names = command.trim_end_matches(" |").replace("wireloom bench ", "");
        let names: Vec<&str> =
            names.split('`').filter(|name| name.contains('-') || *name == "check").collect();
        let goals: Vec<&str> = goals.split([';', ',']).map(str::trim).collect();
        assert_eq!(names.len(), goals.len(), "{line}");
        for (name, stated) in names.iter().zip(goals) {
            let number: f64 =
                stated.split(' ').next().and_then(|n| n.parse().ok()).expect("a number");
            assert_eq!(number, goal(name), "{name}: {stated}");
            rows += 1;
        }
    }
    assert!(rows >= 9, "{rows} goals are stated");
}
