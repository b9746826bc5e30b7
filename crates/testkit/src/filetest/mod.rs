//! Tests whose expectation stands in the input file.
//!
//! A file is an input, followed by sections. A section is a line with its target, which options may
//! follow, and the expected text as comments. Loom C and step IR have the same comments:
//!
//! ```text
//! engine e() { step s { finish; } }
//!
//! //~ c
//! // int main(void)
//! //
//! // { }
//!
//! //~ c optimised
//! // int main;
//! ```
//!
//! [`check`] compares the sections of all files of a folder. If `WIRELOOM_BLESS` is 1, it rewrites
//! the sections that differ; `make bless` does this for all such tests. One empty line before a
//! section separates it from what is above, and does not belong to the input.

mod diff;
mod section;
#[cfg(test)]
mod tests;

use std::fs;
use std::path::{Path, PathBuf};

use section::Sections;
use wireloom_ir::Program;

/// The most lines of a section: more are not reviewed.
const MOST_LINES: usize = 300;

/// The input of a file, and the target and options of one of its sections.
pub struct Case<'a> {
    pub path: &'a Path,
    pub input: &'a str,
    pub target: &'a str,
    /// The rest of the line after the target. It may be empty.
    pub options: &'a str,
}

impl Case<'_> {
    /// Returns the name of the file without folders and extension.
    pub fn stem(&self) -> &str {
        self.path.file_stem().and_then(|stem| stem.to_str()).expect("names of files are UTF-8")
    }

    /// Returns the input as step IR before all passes: compiled if the file is `*.loom`, parsed if it
    /// is `*.ir`.
    ///
    /// # Errors
    /// The diagnostics of the input.
    pub fn program(&self) -> Result<Program, String> {
        if self.path.extension().is_some_and(|extension| extension == "ir") {
            let program = wireloom_ir::parse(self.input).map_err(|error| format!("{error:?}"))?;
            wireloom_ir::verify(&program).map_err(|problems| format!("{problems:?}"))?;
            return Ok(program);
        }
        // The name has no folders, so the text does not depend on the location of the repository.
        let name = format!("{}.loom", self.stem());
        let checked = wireloom_lang::check_source(&name, self.input, &Default::default());
        let diagnostics = wireloom_lang::render(&checked.diagnostics, &checked.sources, false);
        checked.program.as_ref().map(wireloom_compile::lower).ok_or(diagnostics)
    }

    /// Returns the message for a target or options that the test does not know.
    pub fn unknown<T>(&self) -> Result<T, String> {
        Err(format!(
            "the test has no target `{}`",
            [self.target, self.options].join(" ").trim_end()
        ))
    }
}

/// Compares each section of each file of a folder with the text that `produce` returns for it. The
/// files are `*.loom` and `*.ir`. Line ends at the end of the text do not count.
///
/// # Panics
/// If a file has no section or a section differs, with all differences.
pub fn check(folder: impl AsRef<Path>, mut produce: impl FnMut(&Case) -> Result<String, String>) {
    let is_bless = std::env::var_os("WIRELOOM_BLESS").is_some_and(|value| value == "1");
    let paths = files(folder.as_ref());
    assert!(!paths.is_empty(), "{}: no file with sections", folder.as_ref().display());
    let failures: Vec<String> =
        paths.iter().flat_map(|path| check_file(path, is_bless, &mut produce)).collect();
    assert!(
        failures.is_empty(),
        "{}\n`make bless` writes produced texts into the files; review them with `git diff`.",
        failures.join("\n")
    );
}

/// Returns the input of a file's text. Without a section this is the whole text.
pub fn input(text: &str) -> &str {
    &text[..section::end_of_input(text).unwrap_or(text.len())]
}

/// Returns the paths of the files in Loom C and in step IR in a folder, sorted.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("an entry of the folder").path());
    let is_input = |path: &PathBuf| path.extension().is_some_and(|e| e == "loom" || e == "ir");
    let mut paths: Vec<PathBuf> = paths.filter(is_input).collect();
    paths.sort();
    paths
}

/// Compares the sections of a file, or rewrites them. Returns the failures.
fn check_file(
    path: &Path,
    is_bless: bool,
    produce: &mut impl FnMut(&Case) -> Result<String, String>,
) -> Vec<String> {
    let failed = |error| format!("{}: {error}", path.display());
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) => return vec![failed(error)],
    };
    let (blessed, mut failures) = compare(path, &text, is_bless, produce);
    if is_bless && blessed != text {
        failures.extend(fs::write(path, blessed).err().map(failed));
    }
    failures
}

/// Compares the sections of a text. Returns the text, with the produced sections if `is_bless`, and
/// the failures.
fn compare(
    path: &Path,
    text: &str,
    is_bless: bool,
    produce: &mut impl FnMut(&Case) -> Result<String, String>,
) -> (String, Vec<String>) {
    let at = |line: usize, message: String| format!("{}:{line}: {message}", path.display());
    let mut file = match Sections::parse(text) {
        Ok(file) => file,
        Err((line, message)) => return (text.to_owned(), vec![at(line, message)]),
    };
    let mut failures = Vec::new();
    for section in &mut file.sections {
        let (target, options) = (section.target, section.options);
        let produced = match produce(&Case { path, input: file.input, target, options }) {
            Ok(produced) => section::lines(&produced),
            Err(message) => {
                failures.push(at(section.line, message));
                continue;
            }
        };
        if produced.len() > MOST_LINES {
            let count = produced.len();
            let message = format!("a section has at most {MOST_LINES} lines, not {count}");
            failures.push(at(section.line, message));
        } else if is_bless {
            section.text = produced;
        } else if let Some(difference) = diff::difference(&section.text, &produced) {
            let message = format!(
                "the text differs from the section (`-` expected, `+` produced):\n{}",
                difference.text
            );
            failures.push(at(section.line + 1 + difference.line, message));
        }
    }
    (file.print(), failures)
}
