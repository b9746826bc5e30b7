//! Numbers and tables in the pages of the documentation, written from docs/figures.
//!
//! A number is followed by a comment that names it, `259<!-- mpsoc-router KEY -->`; `x100` after the
//! key multiplies it. It keeps its number of decimals, and its `+` if it has one. A table that a
//! figure writes whole stands between `<!-- figure: NAME TABLE -->` and `<!-- end -->`. Comments of
//! other kinds are errors, so that none is mistyped unseen.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use wireloom_machine::{Error, Result};

use super::figure::FIGURES;
use super::store::Stored;
use super::values::{Values, decimal};

/// A table of Markdown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    heads: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these heads of columns.
    pub fn new<T: Into<String>>(heads: impl IntoIterator<Item = T>) -> Self {
        Self { heads: heads.into_iter().map(Into::into).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row<T: Into<String>>(&mut self, cells: impl IntoIterator<Item = T>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The lines of the table.
    fn lines(&self) -> Vec<String> {
        let line = |cells: &Vec<String>| {
            let cells: String = cells
                .iter()
                .map(|cell| if cell.is_empty() { " |".to_owned() } else { format!(" {cell} |") })
                .collect();
            format!("|{cells}")
        };
        let rule = format!("|{}", "---|".repeat(self.heads.len()));
        [line(&self.heads), rule].into_iter().chain(self.rows.iter().map(line)).collect()
    }
}

/// A table of a figure in pages.
pub struct PageTable {
    /// The name after the figure's.
    pub name: &'static str,
    /// Writes it.
    pub write: fn(&Values) -> Result<Table>,
}

/// All numbers of docs/figures.
pub struct Store(BTreeMap<String, Stored>);

impl Store {
    /// Reads all files.
    ///
    /// # Errors
    /// If one is not as it should be.
    pub fn read(root: &Path) -> Result<Self> {
        let names = Stored::names(root)?;
        let read = |name: String| Ok((name.clone(), Stored::read(root, &name)?));
        Ok(Self(names.into_iter().map(read).collect::<Result<_>>()?))
    }

    /// The file of a figure or benchmark.
    ///
    /// # Errors
    /// If there is none.
    pub fn of(&self, name: &str) -> Result<&Stored> {
        self.0.get(name).ok_or_else(|| {
            let names: Vec<&str> = self.0.keys().map(String::as_str).collect();
            Error::new(format!("docs/figures has no '{name}'"))
                .with_help(format!("there are {}", names.join(", ")))
        })
    }

    fn table(&self, figure: &str, table: &str) -> Result<Table> {
        let known = FIGURES.iter().find(|known| known.name == figure);
        let known = known.ok_or_else(|| Error::new(format!("there is no figure '{figure}'")))?;
        let found =
            known.kept.tables.iter().find(|known| known.name == table).ok_or_else(|| {
                let names: Vec<&str> = known.kept.tables.iter().map(|table| table.name).collect();
                Error::new(format!("{figure} has no table '{table}'"))
                    .with_help(format!("it has {}", names.join(", ")))
            })?;
        (found.write)(&self.of(figure)?.values)
    }

    /// Writes the numbers and tables of a page anew.
    ///
    /// # Errors
    /// With the line, if a comment is none of those above, or names what is not there.
    pub fn rewritten(&self, text: &str) -> Result<String> {
        let mut written = String::new();
        let mut is_code = false;
        let mut lines = text.lines().enumerate();
        while let Some((at, line)) = lines.next() {
            let here = |error| placed(&format!("line {}", at + 1), error);
            is_code ^= line.trim_start().starts_with("```");
            if is_code {
                written += line;
            } else if let Some(names) = comment(line.trim(), "figure: ") {
                let Some((figure, table)) = names.split_once(' ') else {
                    return Err(here(Error::new("expected `<!-- figure: NAME TABLE -->`")));
                };
                let table = self.table(figure, table).map_err(here)?;
                let is_end = |line: &str| comment(line.trim(), "end").is_some();
                if !lines.any(|(_, line)| is_end(line)) {
                    return Err(here(Error::new("no line `<!-- end -->` follows")));
                }
                written += line;
                table.lines().iter().for_each(|line| written += &format!("\n{line}"));
                written += "\n<!-- end -->";
            } else {
                written += &self.line(line).map_err(here)?;
            }
            written.push('\n');
        }
        Ok(written)
    }

    /// Writes the numbers of a line anew.
    fn line(&self, line: &str) -> Result<String> {
        let mut written = String::new();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once(OPEN) {
            let Some((names, after)) = after.split_once(CLOSE) else {
                return Err(Error::new("a comment does not end in its line"));
            };
            let (text, number) = before.split_at(start_of_number(before));
            if number.is_empty() {
                return Err(Error::new(format!("`{OPEN}{names}{CLOSE}` follows no number")));
            }
            let value = self.value(names.trim())?;
            written += &format!("{text}{}{OPEN}{names}{CLOSE}", like(number, value));
            rest = after;
        }
        Ok(written + rest)
    }

    /// The number that a comment names.
    fn value(&self, names: &str) -> Result<f64> {
        let words: Vec<&str> = names.split(' ').collect();
        let (name, key, factor) = match words[..] {
            [name, key] => (name, key, 1.0),
            [name, key, factor] => {
                let factor = factor.strip_prefix('x').and_then(|factor| factor.parse().ok());
                let wrong = || Error::new(format!("'{names}': expected NAME KEY xFACTOR"));
                (name, key, factor.ok_or_else(wrong)?)
            }
            _ => return Err(Error::new(format!("'{names}': expected NAME KEY"))),
        };
        let value = self.of(name)?.values.get(key);
        Ok(factor * value.map_err(|error| placed(name, error))?)
    }
}

const OPEN: &str = "<!--";
const CLOSE: &str = "-->";

/// Returns what follows a word in a line that is one comment.
fn comment<'a>(line: &'a str, word: &str) -> Option<&'a str> {
    let inside = line.strip_prefix(OPEN)?.strip_suffix(CLOSE)?;
    (!inside.contains(OPEN)).then(|| inside.trim().strip_prefix(word))?
}

/// Returns the place in a text at which the number at its end begins; the text's length if it ends
/// in none. A hyphen after a letter or digit is no sign.
fn start_of_number(text: &str) -> usize {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_digit() || ",.".contains(c));
    let start = digits.len() + text[digits.len()..].find(|c: char| c.is_ascii_digit()).unwrap_or(0);
    if !text[start..].starts_with(|c: char| c.is_ascii_digit()) {
        return text.len();
    }
    let before = &text[..start];
    let unsigned = before.strip_suffix(['+', '-']);
    let is_sign = unsigned.is_some_and(|text| !text.ends_with(|c: char| c.is_alphanumeric()));
    if is_sign { start - 1 } else { start }
}

/// Writes a value with the decimals of a number, and with a `+` if that has one.
fn like(number: &str, value: f64) -> String {
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let text = decimal(value, decimals);
    let has_sign = text.starts_with('-') || !number.starts_with(['+', '-']);
    if has_sign { text } else { format!("+{text}") }
}

/// The pages whose numbers are written: README.md, and those below docs.
///
/// # Errors
/// If a folder cannot be read.
pub fn pages(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = vec![root.join("README.md")];
    let mut folders = vec![root.join("docs")];
    while let Some(folder) = folders.pop() {
        let unreadable = |error| Error::new(format!("{}: {error}", folder.display()));
        for entry in std::fs::read_dir(&folder).map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Returns the text of a page, and what it would be if it were written anew.
///
/// # Errors
/// With page and line, if a comment in it is not understood.
pub fn page(store: &Store, path: &Path) -> Result<(String, String)> {
    let here = |error| placed(&path.display().to_string(), error);
    let text = std::fs::read_to_string(path).map_err(|error| here(Error::new(error)))?;
    let written = store.rewritten(&text).map_err(here)?;
    Ok((text, written))
}

/// Says where an error is.
fn placed(place: &str, error: Error) -> Error {
    Error { message: format!("{place}: {}", error.message), ..error }
}

#[cfg(test)]
mod tests {
    use super::super::store::{Class, Cost, Provenance};
    use super::*;

    fn store() -> Store {
        let mut values = Values::default();
        for (key, value) in [("words", 2_816_096.0), ("share", 0.0772), ("less", -0.5)] {
            values.set(key, value).expect("it is new");
        }
        let stored = Stored {
            command: String::new(),
            built: String::new(),
            class: Class::Exact,
            cost: Cost::Cheap,
            measured: Provenance::default(),
            values,
        };
        Store(BTreeMap::from([("fig".to_owned(), stored)]))
    }

    #[test]
    fn numbers_are_written_as_they_stood() {
        for (old, new) in [
            ("It takes 1<!-- fig words -->.", "It takes 2,816,096<!-- fig words -->."),
            ("| 9.9<!-- fig share x100 --> % |", "| 7.7<!-- fig share x100 --> % |"),
            ("(+1.0<!-- fig share -->)", "(+0.1<!-- fig share -->)"),
            ("(+1.0<!-- fig less -->)", "(-0.5<!-- fig less -->)"),
            ("-2.00<!-- fig share -->", "+0.08<!-- fig share -->"),
            ("1-0<!-- fig words -->", "1-2,816,096<!-- fig words -->"),
            ("a, 1,0<!-- fig less -->, b", "a, 0<!-- fig less -->, b"),
            ("```\n1<!-- fig no -->\n```", "```\n1<!-- fig no -->\n```"),
        ] {
            assert_eq!(store().rewritten(&format!("{old}\n")).expect(old), format!("{new}\n"));
        }
    }

    #[test]
    fn comments_that_name_nothing_are_refused_with_their_line() {
        for (line, why) in [
            ("x<!-- fig words -->", "follows no number"),
            ("1<!-- fig word -->", "there is no value 'word'"),
            ("1<!-- fug words -->", "docs/figures has no 'fug'"),
            ("1<!-- fig words 100 -->", "NAME KEY xFACTOR"),
            ("1<!-- words -->", "NAME KEY"),
            ("1<!-- fig words", "does not end"),
            ("<!-- figure: np-area -->", "figure: NAME TABLE"),
            ("<!-- figure: np-area none -->", "has no table 'none'"),
            ("<!-- figure: none all -->", "no figure 'none'"),
            ("<!-- end -->", "follows no number"),
        ] {
            let error = store().rewritten(&format!("first\n{line}\n")).expect_err(line).to_string();
            assert!(error.starts_with("line 2: ") && error.contains(why), "{line}: {error}");
        }
    }

    #[test]
    fn a_table_has_a_rule_and_empty_cells() {
        let mut table = Table::new(["a", "b"]);
        table.row(["1", ""]);
        assert_eq!(table.lines(), ["| a | b |", "|---|---|", "| 1 | |"]);
    }
}
