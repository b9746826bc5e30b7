//! Tests that the registered codes, the cases and docs/diagnostics.md agree. `filetests` compares the
//! text of each case.

use std::collections::BTreeSet;
use std::path::Path;

use wireloom_lang::codes::CODES;
use wireloom_lang::{check_source, render};

use crate::filetests::{code, folder, options};

/// Returns the code of each case.
fn codes_of_cases() -> BTreeSet<String> {
    let entries = std::fs::read_dir(folder()).expect("the folder of cases");
    let paths = entries.map(|entry| entry.expect("an entry of the folder").path());
    let files = paths.filter(|path| path.is_file());
    let texts = files.map(|path| std::fs::read_to_string(path).expect("a case is text"));
    texts.map(|text| code(&text).to_owned()).collect()
}

/// Codes that are reported after the checker. The command has tests for them.
const AFTER: [&str; 2] = ["E0801", "E0802"];

#[test]
fn every_code_has_a_case_and_no_case_is_without_a_code() {
    let mut tested = codes_of_cases();
    tested.extend(AFTER.map(str::to_owned));
    let registered: BTreeSet<String> = CODES.iter().map(|c| c.code.to_owned()).collect();
    assert_eq!(tested, registered);
    assert_eq!(registered.len(), CODES.len(), "codes are distinct");
    assert!(CODES.len() >= 60);
}

/// Returns code, title and text of each section of docs/diagnostics.md.
fn sections() -> Vec<(String, String, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/diagnostics.md");
    let text = std::fs::read_to_string(path).expect("docs/diagnostics.md");
    text.split("\n### ")
        .skip(1)
        .map(|section| {
            let (heading, body) = section.split_once('\n').expect("a heading has a body");
            let (code, title) = heading.split_once(' ').expect("a code and a title");
            (code.to_owned(), title.to_owned(), body.to_owned())
        })
        .collect()
}

#[test]
fn every_code_has_its_section_in_the_documentation() {
    let documented: Vec<(String, String)> =
        sections().into_iter().map(|(c, t, _)| (c, t)).collect();
    let registered: Vec<(String, String)> =
        CODES.iter().map(|c| (c.code.to_owned(), c.title.to_owned())).collect();
    assert_eq!(documented, registered);
}

#[test]
fn the_examples_of_the_documentation_provoke_what_they_explain() {
    for (code, _, body) in sections() {
        let Some((_, rest)) = body.split_once("```c\n") else { continue };
        if AFTER.contains(&code.as_str()) {
            continue;
        }
        let (example, _) = rest.split_once("```").expect("the example is closed");
        let checked = check_source("example.loom", example, &options(example));
        let shown = render(&checked.diagnostics, &checked.sources, false);
        assert!(checked.diagnostics.iter().any(|d| d.code == code), "{code}:\n{example}\n{shown}");
    }
}
