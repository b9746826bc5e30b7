//! Output of subcommands: text on standard output, tables for people, JSON for machines, and files
//! that are written atomically.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use std::fmt;
use std::ops::{Deref, DerefMut};

use comfy_table::{
    CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, TableStyle, Width,
};
use serde::Serialize;

use wireloom_files::ResultPipe;
use wireloom_machine::{Error, Result};

/// Writes text to standard output. If the reader has exited (`| head`), the process ends quietly;
/// if the text cannot be written for another reason, such as a full disk, it ends with status 2.
pub fn print(text: &str) {
    if let Err(error) = result_to_standard_output(text.as_bytes()) {
        note(format!("error: standard output: cannot be written: {error}"));
        wireloom_files::exit(2)
    }
}

/// Writes to standard output, for a command that continues without it.
///
/// # Errors
/// If the reader has exited, or the text cannot be written.
pub fn try_print(text: &str) -> io::Result<()> {
    write_whole(wireloom_files::standard_output()?.lock(), text.as_bytes())
}

fn result_to_standard_output(bytes: &[u8]) -> io::Result<()> {
    write_whole(ResultPipe(wireloom_files::standard_output()?.lock()), bytes)
}

fn write_whole(mut out: impl Write, bytes: &[u8]) -> io::Result<()> {
    out.write_all(bytes)?;
    out.flush()
}

/// Writes a line to standard error: warnings, errors and everything else that is not the result.
/// Standard error may be closed.
pub fn note(text: impl AsRef<str>) {
    let _ = writeln!(io::stderr().lock(), "{}", text.as_ref());
}

/// Whether text on standard error may be coloured: standard error is a terminal that supports
/// colours (`TERM` is not `dumb`), and the user has not refused them (`NO_COLOR` is not set, or
/// empty).
pub fn has_colors() -> bool {
    io::stderr().is_terminal() && colors_are_wanted()
}

/// Whether text on standard output may be styled, by the rules of [`has_colors`].
pub fn is_styled() -> bool {
    io::stdout().is_terminal() && colors_are_wanted()
}

fn colors_are_wanted() -> bool {
    let set = |name| std::env::var_os(name).unwrap_or_default();
    wants_colors(&set("NO_COLOR"), &set("TERM"))
}

fn wants_colors(no_color: &OsStr, term: &OsStr) -> bool {
    no_color.is_empty() && term != "dumb"
}

/// `print` with a line end.
pub fn say(text: impl AsRef<str>) {
    print(&format!("{}\n", text.as_ref()));
}

/// A rule under the heads and no other lines, so that a table copies well and reads well without
/// colour.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table for people. On a terminal its columns become narrower, but no narrower than their
/// longest word.
#[derive(Clone, Debug)]
pub struct Table(comfy_table::Table);

impl Deref for Table {
    type Target = comfy_table::Table;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Table {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut table = self.0.clone();
        for column in table.column_iter_mut() {
            let longest = self.longest_word(column.index);
            // The space to the right of a cell counts as width.
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(longest + 2)));
        }
        write!(f, "{table}")
    }
}

impl Table {
    /// Returns the length in characters of the longest word in a column.
    fn longest_word(&self, column: usize) -> u16 {
        let rows = self.0.header().into_iter().chain(self.0.row_iter());
        let cells = rows.filter_map(|row| row.cell_iter().nth(column));
        let words = cells.map(|cell| longest_word(&cell.content()));
        words.max().unwrap_or(0) as u16
    }
}

fn longest_word(text: &str) -> usize {
    text.split_whitespace().map(|word| word.chars().count()).max().unwrap_or(0)
}

/// Creates a table for people with these column heads; the columns named in `numeric` are
/// right-aligned.
pub fn table(heads: &[&str], numeric: &[usize]) -> Table {
    let mut table = comfy_table::Table::new();
    table.load_style(STYLE);
    if let Some(width) = width() {
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(width);
    }
    table.set_header(heads.to_vec());
    for &index in numeric {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    Table(table)
}

/// Formats a rate with three significant digits and a suitable unit.
pub fn packet_rate(packets_per_second: f64) -> String {
    let (rate, unit) = match packets_per_second {
        rate if rate >= 999_500.0 => (rate / 1e6, "Mpps"),
        rate if rate >= 999.5 => (rate / 1e3, "kpps"),
        rate => (rate, "pps"),
    };
    let digits = match rate {
        rate if rate >= 99.95 => 0,
        rate if rate >= 9.995 => 1,
        _ => 2,
    };
    format!("{rate:.digits$} {unit}")
}

/// The least width, in characters, to which text is fitted. Columns of a few letters are
/// unreadable, while lines that the terminal wraps are readable.
const LEAST_WIDTH: u16 = 60;

/// Returns the width in characters to which text is fitted; `None` if standard output is not a
/// terminal that reports its width.
pub fn width() -> Option<u16> {
    comfy_table::Table::new().width().filter(|width| *width > 0).map(|width| width.max(LEAST_WIDTH))
}

/// Fits text to the terminal, if standard output is one. Long lines are wrapped between words; a
/// line of a name, two spaces and a description continues at the column of the description.
pub fn fitted(text: &str) -> String {
    match width() {
        Some(width) => wrapped(text, usize::from(width)),
        None => text.to_owned(),
    }
}

/// Fits text to a width in characters, as [`fitted`] does.
pub fn wrapped(text: &str, width: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (content, end) = match line.strip_suffix('\n') {
            Some(content) => (content, "\n"),
            None => (line, ""),
        };
        // Tables are fitted already.
        if content.chars().count() <= width || content.contains('─') {
            out.push_str(line);
            continue;
        }
        let begin = content.len() - content.trim_start().len();
        let named = content[begin..].find("  ").map(|at| {
            let rest = &content[begin + at..];
            begin + at + rest.len() - rest.trim_start().len()
        });
        let indent = named.filter(|indent| *indent <= width / 2).unwrap_or(begin + 2);
        let mut column = 0;
        // The first words keep the spaces between them, which align names and values.
        let (head, words) = content.split_at(named.map_or(begin, |at| at.min(content.len())));
        out.push_str(head);
        column += head.chars().count();
        let mut is_first = true;
        for word in words.split(' ') {
            let length = word.chars().count();
            if !is_first && column + 1 + length > width {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent));
                column = indent;
            } else if !is_first {
                out.push(' ');
                column += 1;
            }
            out.push_str(word);
            (column, is_first) = (column + length, false);
        }
        out.push_str(end);
    }
    out
}

/// The destination of JSON: a file, or standard output for `-`.
#[derive(Clone, Debug)]
pub enum JsonTarget {
    /// Standard output. Nothing else may be written there then.
    Stdout,
    File(PathBuf),
}

impl From<&OsStr> for JsonTarget {
    fn from(text: &OsStr) -> Self {
        if text == "-" { Self::Stdout } else { Self::File(PathBuf::from(text)) }
    }
}

/// Whether standard output takes text for people: not if it takes JSON.
pub fn for_people(json: Option<&JsonTarget>) -> bool {
    !matches!(json, Some(JsonTarget::Stdout))
}

/// Writes a report as JSON, if `target` is given.
///
/// # Errors
/// As [`write_json`].
pub fn json(target: Option<&JsonTarget>, report: &impl Serialize) -> Result {
    target.map_or(Ok(()), |target| write_json(target, report))
}

/// Writes a report as JSON.
///
/// # Errors
/// If the file cannot be written; nothing is left of it then.
pub fn write_json(target: &JsonTarget, report: &impl Serialize) -> Result {
    let mut text = serde_json::to_string_pretty(report)
        .expect("reports have string keys and no failing parts");
    text.push('\n');
    match target {
        JsonTarget::Stdout => {
            print(&text);
            Ok(())
        }
        JsonTarget::File(path) => write_file(path, text.as_bytes()),
    }
}

/// Writes a file whole or not at all: into a temporary neighbour, which is then renamed.
/// `-` is standard output; pipes and devices are written directly.
///
/// # Errors
/// If the file cannot be written; its old contents are then untouched.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result {
    if wireloom_files::is_standard_stream(path) {
        return result_to_standard_output(bytes)
            .map_err(|error| Error::new(format!("standard output: cannot be written: {error}")));
    }
    let failed =
        |error: io::Error| Error::new(format!("{}: cannot be written: {error}", path.display()));
    if path.metadata().is_ok_and(|m| !m.is_file()) {
        let pipe = std::fs::File::options().write(true).open(path).map_err(failed)?;
        return write_whole(ResultPipe(pipe), bytes).map_err(failed);
    }
    let mut file = wireloom_files::TemporaryFile::beside(path).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.persist(path).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_have_three_digits_and_a_unit() {
        let expected = [
            (0.0, "0.00 pps"),
            (12.345, "12.3 pps"),
            (999.6, "1.00 kpps"),
            (48_230.0, "48.2 kpps"),
            (999_499.0, "999 kpps"),
            (999_500.0, "1.00 Mpps"),
            (11_630_000.0, "11.6 Mpps"),
            (200_400_000.0, "200 Mpps"),
        ];
        for (rate, text) in expected {
            assert_eq!(packet_rate(rate), text);
        }
    }

    #[test]
    fn long_lines_go_on_under_what_they_say() {
        let text = "power          3.388 W, 600.5 nJ a packet: processors 0.092, network 0.049\n\
                    short\n\
                    a sentence without a name that is too long for the width of this terminal";
        let expected = "power          3.388 W, 600.5 nJ a\n               packet: processors 0.092,\n               \
                        network 0.049\nshort\na sentence without a name that is too\n  long for the \
                        width of this terminal";
        assert_eq!(wrapped(text, 40), expected);
        assert_eq!(
            wrapped("a_word_that_is_longer_than_the_width", 20),
            "a_word_that_is_longer_than_the_width"
        );
        assert_eq!(wrapped(text, 200), text);
    }

    #[test]
    fn tables_break_lines_between_words() {
        let mut table = table(&["unit", "what"], &[]);
        table.set_content_arrangement(ContentArrangement::Dynamic).set_width(44);
        table.add_row(["ports.read/written/jumped", "an explanation of some words that goes on"]);
        let text = table.to_string();
        for word in ["ports.read/written/jumped", "explanation", "words"] {
            assert!(text.contains(word), "{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 44), "{text}");
    }

    #[test]
    fn colors_can_be_refused() {
        let wants = |no_color: &str, term: &str| wants_colors(no_color.as_ref(), term.as_ref());
        assert!(wants("", "xterm") && wants("", ""));
        assert!(!wants("1", "xterm") && !wants("0", "") && !wants("", "dumb"));
    }

    #[test]
    fn a_file_that_cannot_be_renamed_into_place_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        assert!(write_file(&folder.path().join("no/such/folder.txt"), b"x").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 0);
    }

    #[test]
    fn a_file_replaces_the_one_before() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("report.json");
        write_file(&path, b"old").expect("writes");
        write_file(&path, b"new").expect("writes");
        assert_eq!(std::fs::read(&path).expect("reads"), b"new");
        assert_eq!(std::fs::read_dir(folder.path()).expect("the folder").count(), 1);
    }
}
