//! Tests of the compiler's diagnostics. Each code has a numbered program that provokes it and a
//! snapshot of the rendered text.
//!
//! `tests/diagnostics/NNNN.loom` begins with `// CODE: what is tried`. The next lines may be `//
//! set NAME=VALUE` and `// engine NAME`, which are options of the command line.
//! `tests/diagnostics/snapshots` contains the expected texts.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use wireloom_lang::codes::CODES;
use wireloom_lang::{Options, Severity, check_source, render};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics")
}

/// Returns the path of each numbered case, and the code on its first line.
fn cases() -> BTreeMap<PathBuf, String> {
    let mut out = BTreeMap::new();
    for entry in std::fs::read_dir(folder()).expect("the folder of cases") {
        let path = entry.expect("an entry of the folder").path();
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        if path.extension().is_some_and(|e| e == "loom") && stem.bytes().all(|b| b.is_ascii_digit())
        {
            let text = std::fs::read_to_string(&path).expect("a case is text");
            let code = text
                .strip_prefix("// ")
                .and_then(|t| t.split_once(':'))
                .expect("a code on the first line")
                .0;
            out.insert(path, code.to_owned());
        }
    }
    out
}

fn options(text: &str) -> Options {
    let mut options =
        Options { include_dirs: vec![folder().join("include")], ..Options::default() };
    for line in text.lines().take_while(|l| l.starts_with("//")) {
        if let Some((name, value)) = line.strip_prefix("// set ").and_then(|s| s.split_once('=')) {
            options.sets.push((name.to_owned(), value.to_owned()));
        }
        if let Some(engine) = line.strip_prefix("// engine ") {
            options.engine = Some(engine.to_owned());
        }
    }
    options
}

#[test]
fn every_case_shows_what_it_always_showed() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../diagnostics/snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for (path, code) in cases() {
        let text = std::fs::read_to_string(&path).expect("a case is text");
        let stem = path.file_stem().expect("a name").to_string_lossy().into_owned();
        // The name has no folders, so the snapshot does not depend on the location of the
        // repository.
        let checked = check_source(&format!("{stem}.loom"), &text, &options(&text));
        let shown = render(&checked.diagnostics, &checked.sources, false);
        assert!(
            checked.diagnostics.iter().any(|d| d.code == code),
            "{stem} provokes {code}:\n{shown}"
        );
        let refused = checked.diagnostics.iter().any(|d| d.severity == Severity::Error);
        assert_eq!(
            checked.program.is_none(),
            refused,
            "{stem}: a program there is iff there is no error"
        );
        let shown = shown.replace(&folder().display().to_string(), "tests/diagnostics");
        settings.bind(|| insta::assert_snapshot!(stem, shown));
    }
}

/// Codes that are reported after the checker. The command has tests for them.
const AFTER: [&str; 2] = ["E0801", "E0802"];

#[test]
fn every_code_has_a_case_and_no_case_is_without_a_code() {
    let mut tested: BTreeSet<String> = cases().into_values().collect();
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
