//! Diagnostics of the assembler: a code, a message, the place, and help.

use std::ops::Range;

use codespan_reporting::diagnostic::{Diagnostic as Shown, Label};
use codespan_reporting::files::SimpleFiles;
use codespan_reporting::term;
use wireloom_files::printable;

/// A file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// The path as the user or the `#include` gave it.
    pub path: String,
    pub text: String,
}

/// A byte range of a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// The index of the file in [`Refused::files`].
    pub file: usize,
    pub bytes: Range<usize>,
}

/// All codes and their titles. docs/microcode.md has a section for each.
pub const CODES: &[(&str, &str)] = &[
    ("U0101", "malformed line"),
    ("U0102", "unknown directive"),
    ("U0103", "block is not closed, or closed without being opened"),
    ("U0104", "malformed or unknown constant"),
    ("U0105", "file cannot be read, or is not named as a source file is"),
    ("U0106", "includes, macros or repetitions beyond the limit"),
    ("U0107", "malformed macro or its call"),
    ("U0108", "raised by `#error`"),
    ("U0201", "unknown instruction"),
    ("U0202", "operands do not fit the instruction"),
    ("U0203", "unknown register"),
    ("U0204", "unknown signal"),
    ("U0205", "unknown label"),
    ("U0206", "name declared twice"),
    ("U0207", "token does not fit the instruction"),
    ("U0208", "unknown control and status register"),
    ("U0301", "both operands are in one bank"),
    ("U0302", "operand has no encoding"),
    ("U0303", "branch target too far"),
    ("U0304", "control store is full"),
    ("U0305", "too many registers"),
    ("U0306", "too many signals"),
    ("U0307", "too many instructions are deferred"),
    ("U0308", "command moves more words than transfer registers follow"),
    ("U0401", "transfer register read before its signal"),
    ("U0402", "register is read and never written"),
    ("U0403", "branch in a defer slot"),
    ("U0404", "instruction must follow another"),
];

/// An error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// One of [`CODES`].
    pub code: &'static str,
    /// The problem, in one line.
    pub message: String,
    pub place: Place,
    /// Related places with a remark each.
    pub also: Vec<(Place, String)>,
    /// A proposed correction.
    pub help: Option<String>,
}

impl Diagnostic {
    pub(crate) fn new(code: &'static str, place: Place, message: impl Into<String>) -> Self {
        debug_assert!(CODES.iter().any(|row| row.0 == code), "{code} is listed");
        Self { code, message: message.into(), place, also: Vec::new(), help: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn also(mut self, place: Place, remark: impl Into<String>) -> Self {
        self.also.push((place, remark.into()));
        self
    }
}

/// A program that is rejected.
#[derive(Clone, Debug)]
pub struct Refused {
    pub diagnostics: Vec<Diagnostic>,
    pub files: Vec<SourceFile>,
}

/// The maximum length of a line that is shown, in bytes.
const LONGEST_LINE: usize = 1000;

impl Refused {
    /// The diagnostics as text. Each shows its line and underlines the place. With `color` the text
    /// has ANSI escapes.
    pub fn render(&self, color: bool) -> String {
        let mut files = SimpleFiles::new();
        for file in &self.files {
            files.add(printable(&file.path), printable(&file.text));
        }
        let mut buffer = if color {
            term::termcolor::Buffer::ansi()
        } else {
            term::termcolor::Buffer::no_color()
        };
        for diagnostic in &self.diagnostics {
            let mut shown = Shown::error()
                .with_code(diagnostic.code)
                .with_message(printable(&diagnostic.message))
                .with_notes(
                    diagnostic
                        .help
                        .iter()
                        .map(|help| format!("help: {}", printable(help)))
                        .collect(),
                );
            let places = std::iter::once((&diagnostic.place, ""))
                .chain(diagnostic.also.iter().map(|(place, remark)| (place, remark.as_str())));
            for (number, (place, remark)) in places.enumerate() {
                if !self.is_shown(place) {
                    continue;
                }
                let label = match number {
                    0 => Label::primary(place.file, place.bytes.clone()),
                    _ => Label::secondary(place.file, place.bytes.clone()),
                };
                shown = shown.with_label(label.with_message(printable(remark)));
            }
            let config = term::Config::default();
            if term::emit_to_write_style(&mut buffer, &config, &files, &shown).is_err() {
                // A label that cannot be shown must not hide the message.
                let bare = Shown::error().with_code(diagnostic.code);
                let bare = bare.with_message(printable(&diagnostic.message));
                let _ = term::emit_to_write_style(&mut buffer, &config, &files, &bare);
            }
        }
        String::from_utf8_lossy(buffer.as_slice()).trim_end().to_owned()
    }

    /// Whether a place lies on a line that is short enough to show.
    fn is_shown(&self, place: &Place) -> bool {
        let Some(text) = self.files.get(place.file).map(|file| file.text.as_str()) else {
            return false;
        };
        let Some(before) = text.get(..place.bytes.start) else { return false };
        let Some(after) = text.get(place.bytes.end..) else { return false };
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let end = place.bytes.end + after.find('\n').unwrap_or(after.len());
        end - start <= LONGEST_LINE
    }
}
