//! Names of kinds in the sources of other crates. An offload kind is one file in each crate that
//! knows kinds. The unit tests of such crates check that no other file names one.

use std::path::Path;
use std::{fs, io};

use crate::KINDS;

/// Returns the places below a crate's folder of sources whose code has the name of a kind as a string
/// literal or between backticks, as `file:line: name`. Skips comments, unit tests and the folder with
/// these files of kinds, such as `kinds`.
///
/// # Errors
/// If a file cannot be read.
pub fn named_kinds(folder: &Path, kinds: &str) -> io::Result<Vec<String>> {
    let mut found = below(folder, &folder.join(kinds))?;
    found.sort();
    Ok(found)
}

fn below(folder: &Path, kinds: &Path) -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_of_tests = ["tests", "tests.rs", "testing.rs"].iter().any(|end| name.ends_with(end));
        if path.is_dir() {
            if path != kinds && name != "tests" {
                found.extend(below(&path, kinds)?);
            }
        } else if name.ends_with(".rs") && !is_of_tests {
            let literals = literals(&fs::read_to_string(&path)?);
            let place = |(line, kind)| format!("{}:{line}: {kind}", path.display());
            found.extend(literals.into_iter().map(place));
        }
    }
    Ok(found)
}

/// Returns the literals of a source text, with the numbers of their lines.
fn literals(source: &str) -> Vec<(usize, &'static str)> {
    let mut found = Vec::new();
    let mut lines = (1..).zip(source.lines()).peekable();
    while let Some((number, line)) = lines.next() {
        let is_module = |line: &str| line.starts_with("mod ") && line.ends_with('{');
        if line == "#[cfg(test)]" && lines.peek().is_some_and(|(_, next)| is_module(next)) {
            lines.by_ref().find(|(_, line)| *line == "}");
            continue;
        }
        let code = match line.trim_start().starts_with("//") {
            true => "",
            false => line.split(" // ").next().unwrap_or_default(),
        };
        let names = KINDS.iter().map(|kind| kind.name);
        let named = names.filter(|name| {
            ['"', '`'].iter().any(|quote| code.contains(&format!("{quote}{name}{quote}")))
        });
        found.extend(named.map(|name| (number, name)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_in_code_are_found() {
        let source = "let is_array = kind == \"array\";\n\n\"clock\" // \"exact\"\n";
        assert_eq!(literals(source), [(1, "array"), (3, "clock")]);
    }

    #[test]
    fn comments_and_unit_tests_are_skipped() {
        let source =
            "/// \"array\"\n// \"lpm\"\n#[cfg(test)]\nmod tests {\n    \"exact\"\n}\n\"meter\"";
        assert_eq!(literals(source), [(7, "meter")]);
    }

    #[test]
    fn parts_of_words_are_no_names() {
        assert_eq!(literals("\"array.h\" array \"arrays\""), []);
    }
}
