//! The examples of the documentation compile.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::blocks::{Block, blocks};
use super::{root, texts};

/// Declarations that short examples of Loom C may use, at file level.
const FILE_LEVEL: &str = r#"
#include "programs/include/ethernet.loom"
#include "programs/include/ipv4.loom"
enum Reason : u8 { BAD_CHECKSUM, POLICED, QUEUE_FULL, SAMPLED };
struct Flow { u32 src; u32 dst; };
struct Port { u16 port; };
struct Route { u16 port; u8 class; };
const Route NOT_FOUND = { .port = 0, .class = 255 };
"#;

/// Declarations that short examples may use, inside the engine.
const IN_ENGINE: &str = "
Ethernet eth @ 0;
Ipv4 ip @ sizeof(Ethernet);
Flow flow;
Route route;
u16 port, uplinks, offset, payload_offset;
u32 next_hop, customer;
u512 chunk;
";

/// Completes an example without an engine to a program. Missing jump targets are added.
fn wrapped(example: &str) -> String {
    let is_type =
        |line: &&str| ["struct ", "header ", "enum "].iter().any(|word| line.starts_with(word));
    let (types, items): (Vec<&str>, Vec<&str>) = example.lines().partition(is_type);
    let items = items.join("\n");
    let mut steps: Vec<&str> = items
        .split("next ")
        .skip(1)
        .filter_map(|rest| rest.split_once(';').map(|(step, _)| step))
        .filter(|step| !items.contains(&format!("step {step} ")))
        .collect();
    steps.sort_unstable();
    steps.dedup();
    let added: String = steps.iter().map(|step| format!("step {step} {{ finish; }}\n")).collect();
    let types = types.join("\n");
    format!("{FILE_LEVEL}{types}\nengine example() {{{IN_ENGINE}{items}\n{added}}}\n")
}

/// Runs the command on the contents of a file. Returns its complaint, if any.
fn complaint(words: &[&str], name: &str, contents: &str) -> Option<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join(name), contents).expect("a file");
    let output = Command::new(env!("CARGO_BIN_EXE_wireloom"))
        .args(words)
        .arg(Path::new(".").join(name))
        .current_dir(folder.path())
        .output()
        .expect("the command starts");
    let complaint = || String::from_utf8_lossy(&output.stderr).into_owned();
    (!output.status.success()).then(complaint)
}

/// Checks the blocks in one language on the chosen pages. Returns their number.
fn check(
    language: &str,
    is_chosen: impl Fn(&str, &Block) -> bool,
    complaint: impl Fn(&Block) -> Option<String>,
) -> usize {
    let mut wrong = Vec::new();
    let mut count = 0;
    for (page, text) in texts() {
        for block in blocks(&text) {
            if block.is(language) && !block.says("fragment") && is_chosen(&page, &block) {
                count += 1;
                let found = complaint(&block);
                wrong.extend(found.map(|found| format!("{page}:{}: {found}", block.line)));
            }
        }
    }
    assert!(wrong.is_empty(), "examples that are wrong:\n{}", wrong.join("\n"));
    count
}

#[test]
fn examples_of_loom_c_compile() {
    // crates/lang/tests/suite/diagnostics.rs compiles the examples of docs/diagnostics.md.
    let is_chosen = |page: &str, _: &Block| page != "docs/diagnostics.md";
    let count = check("c", is_chosen, |block| {
        let is_program = block.text.contains("engine ");
        let program = if is_program { block.text.clone() } else { wrapped(&block.text) };
        // Examples of docs/language.md include headers by paths relative to `programs`.
        let programs = root().join("programs");
        let programs = programs.to_str().expect("a path in UTF-8");
        complaint(&["check", "-I", programs], "example.loom", &program)
    });
    assert!(count > 12, "{count} examples were found");
}

#[test]
fn examples_of_machines_are_accepted() {
    let is_machine = |_: &str, block: &Block| block.text.starts_with("extends = ");
    let count =
        check("toml", is_machine, |block| complaint(&["machines"], "example.toml", &block.text));
    assert!(count >= 3, "{count} examples were found");
}

#[test]
fn a_wrong_example_is_found() {
    let wrong = wrapped("step s { packet.egress = nothing; next t; }");
    assert!(complaint(&["check"], "x.loom", &wrong).expect("an error").contains("nothing"));
    let right = wrapped("step s { packet.egress = port; next t; }");
    assert_eq!(complaint(&["check"], "x.loom", &right), None);
}
