//! Tests of the compiler's diagnostics. Each code has a numbered program that provokes it, with the
//! rendered text.
//!
//! `tests/diagnostics/NNNN.loom` begins with `// CODE: what is tried`. The next lines may be `//
//! set NAME=VALUE` and `// engine NAME`, which are options of the command line.

use std::path::{Path, PathBuf};

use wireloom_lang::{Options, Severity, check_source, render};
use wireloom_testkit::filetest;

/// Returns the folder of the cases.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnostics")
}

/// Returns the code on the first line of a case.
pub fn code(text: &str) -> &str {
    let code = text.strip_prefix("// ").and_then(|text| text.split_once(':'));
    code.expect("a code on the first line").0
}

/// Returns the options on the first lines of a case.
pub fn options(text: &str) -> Options {
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
    filetest::check(folder(), |case| {
        if case.target != "diagnostics" {
            return case.unknown();
        }
        let (stem, code) = (case.stem(), code(case.input));
        // The name has no folders, so the text does not depend on the location of the repository.
        let checked = check_source(&format!("{stem}.loom"), case.input, &options(case.input));
        let shown = render(&checked.diagnostics, &checked.sources, false);
        let is_provoked = checked.diagnostics.iter().any(|d| d.code == code);
        assert!(is_provoked, "{stem} provokes {code}:\n{shown}");
        let is_refused = checked.diagnostics.iter().any(|d| d.severity == Severity::Error);
        let is_without = checked.program.is_none();
        assert_eq!(is_without, is_refused, "{stem}: a program there is iff there is no error");
        Ok(shown.replace(&folder().display().to_string(), "tests/diagnostics"))
    });
}
