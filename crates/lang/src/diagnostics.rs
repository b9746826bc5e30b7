//! Diagnostics of the compiler: code, message, labels on the source, and help text.
//!
//! [`CODES`](crate::codes::CODES) lists all codes, and docs/diagnostics.md has a section for each
//! of them.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;

use codespan_reporting::diagnostic as report;
use codespan_reporting::files::{Error, Files, line_starts};
use codespan_reporting::term;
use wireloom_files::printable;

use crate::source::{SourceMap, Span};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The program is accepted.
    Warning,
    /// The program is refused.
    Error,
}

/// A span of the source with a remark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    pub span: Span,
    /// The remark. It may be empty for the primary label, which the message describes.
    pub text: String,
}

/// A message to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The code, such as `E0201`: a letter for the severity, two digits for the subject, two for
    /// the case.
    pub code: &'static str,
    pub severity: Severity,
    /// The problem in one line.
    pub message: String,
    /// The first label marks the problem; the others mark related spans.
    pub labels: Vec<Label>,
    /// A remedy, if there is one.
    pub help: Option<String>,
    /// Whether the fault is in an option of the command line, not in the program.
    pub is_usage: bool,
}

impl Diagnostic {
    /// Creates a diagnostic at a span. The letter of the code determines the severity.
    pub(crate) fn new(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        let severity = if code.starts_with('E') { Severity::Error } else { Severity::Warning };
        let labels = vec![Label { span, text: String::new() }];
        Self { code, severity, message: message.into(), labels, help: None, is_usage: false }
    }

    /// Creates the error that a machine cannot hold the construct at a span.
    pub fn refused(machine: &str, span: Span, why: &str) -> Self {
        Self::new("E0801", span, format!("{machine} cannot hold this program: {why}"))
    }

    /// Creates the error that compilers would take too long for a program. `step` is the span of
    /// its largest step.
    pub fn too_large(step: Span, what: &str, help: &str) -> Self {
        Self::new("E0802", step, what).help(help)
    }

    /// Sets the remark at the primary span.
    pub(crate) fn here(mut self, text: impl Into<String>) -> Self {
        self.labels[0].text = text.into();
        self
    }

    /// Adds a remark at a related span.
    pub(crate) fn also(mut self, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { span, text: text.into() });
        self
    }

    /// Marks the fault as one of a command line option, not of the program.
    pub(crate) fn usage(mut self) -> Self {
        self.is_usage = true;
        self
    }

    /// Sets the help text.
    pub(crate) fn help(mut self, text: impl Into<String>) -> Self {
        self.help = Some(text.into());
        self
    }

    /// Sets the help text, if there is one.
    pub(crate) fn help_if(mut self, text: Option<String>) -> Self {
        if text.is_some() {
            self.help = text;
        }
        self
    }
}

/// The maximum number of errors that are kept. Further errors are only counted.
const MAX_ERRORS: usize = 100;

/// Collects diagnostics. A code is reported once at each span, even if a shared file or function is
/// checked several times.
#[derive(Default)]
pub(crate) struct Sink {
    diagnostics: Vec<Diagnostic>,
    seen: HashSet<(&'static str, Span)>,
    errors: usize,
}

impl Sink {
    /// Adds a diagnostic, unless its code has been reported at its span.
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        debug_assert!(
            crate::codes::find(diagnostic.code).is_some(),
            "{} is registered",
            diagnostic.code
        );
        if !self.seen.insert((diagnostic.code, diagnostic.labels[0].span)) {
            return;
        }
        if diagnostic.severity == Severity::Error {
            self.errors += 1;
            if self.errors > MAX_ERRORS {
                return;
            }
        }
        self.diagnostics.push(diagnostic);
    }

    /// Whether there are errors, which refuse the program.
    pub(crate) fn has_errors(&self) -> bool {
        self.errors > 0
    }

    /// Whether further errors would be dropped.
    pub(crate) fn is_full(&self) -> bool {
        self.errors >= MAX_ERRORS
    }

    /// Returns all diagnostics in source order. At equal positions, errors come before warnings. If
    /// there are errors, warnings about unused declarations are omitted.
    pub(crate) fn finish(mut self) -> Vec<Diagnostic> {
        if self.has_errors() {
            self.diagnostics.retain(|d| !crate::codes::UNUSED.contains(&d.code));
        }
        let place = |d: &Diagnostic| (d.labels[0].span.file, d.labels[0].span.start);
        self.diagnostics.sort_by(|a, b| {
            place(a).cmp(&place(b)).then(b.severity.cmp(&a.severity)).then(a.code.cmp(b.code))
        });
        self.diagnostics
    }
}

/// An adapter from the source map to `codespan-reporting`.
struct Reported<'a> {
    sources: &'a SourceMap,
    /// The texts without characters that a terminal would interpret.
    texts: Vec<Cow<'a, str>>,
    lines: Vec<Vec<usize>>,
}

impl<'a> Files<'a> for Reported<'a> {
    type FileId = usize;
    type Name = String;
    type Source = &'a str;

    fn name(&'a self, id: usize) -> Result<String, Error> {
        let file = self.sources.files.get(id).ok_or(Error::FileMissing)?;
        Ok(printable(&file.path.display().to_string()).into_owned())
    }

    fn source(&'a self, id: usize) -> Result<&'a str, Error> {
        self.texts.get(id).map(AsRef::as_ref).ok_or(Error::FileMissing)
    }

    fn line_index(&'a self, id: usize, byte_index: usize) -> Result<usize, Error> {
        let lines = self.lines.get(id).ok_or(Error::FileMissing)?;
        Ok(lines.binary_search(&byte_index).unwrap_or_else(|next| next - 1))
    }

    fn line_range(&'a self, id: usize, line_index: usize) -> Result<Range<usize>, Error> {
        let lines = self.lines.get(id).ok_or(Error::FileMissing)?;
        let start = *lines
            .get(line_index)
            .ok_or(Error::LineTooLarge { given: line_index, max: lines.len().saturating_sub(1) })?;
        let end = lines.get(line_index + 1).copied().unwrap_or(self.sources.files[id].text.len());
        Ok(start..end)
    }
}

/// The length in bytes of the longest source line that is shown. A program of one line of a
/// megabyte would otherwise be shown for each of its errors.
const LONGEST_LINE: usize = 1000;

/// Returns the position of a span if its line is too long to be shown.
fn unshown(files: &Reported<'_>, span: Span) -> Option<String> {
    let (id, start) = (span.file.0 as usize, span.start as usize);
    let line = files.line_index(id, start).ok()?;
    let range = files.line_range(id, line).ok()?;
    (range.len() > LONGEST_LINE).then(|| {
        let (file, column) = (files.sources.files[id].path.display(), start - range.start + 1);
        let place = format!("{file}:{}:{column}, in a line of {} bytes", line + 1, range.len());
        printable(&place).into_owned()
    })
}

/// Renders the diagnostics as text: source lines with underlined spans, position notes for lines
/// that are too long, and help lines. `color` adds ANSI escapes.
pub fn render(diagnostics: &[Diagnostic], sources: &SourceMap, color: bool) -> String {
    let files = Reported {
        sources,
        texts: sources.files.iter().map(|f| printable(&f.text)).collect(),
        lines: sources.files.iter().map(|f| line_starts(&f.text).collect()).collect(),
    };
    let config = term::Config::default();
    let mut buffer =
        if color { term::termcolor::Buffer::ansi() } else { term::termcolor::Buffer::no_color() };
    for diagnostic in diagnostics {
        let severity = match diagnostic.severity {
            Severity::Error => report::Severity::Error,
            Severity::Warning => report::Severity::Warning,
        };
        let places: Vec<String> =
            diagnostic.labels.iter().filter_map(|label| unshown(&files, label.span)).collect();
        let shown = diagnostic.labels.iter().filter(|label| unshown(&files, label.span).is_none());
        let labels = shown.enumerate().map(|(i, label)| {
            let (id, range) =
                (label.span.file.0 as usize, label.span.start as usize..label.span.end as usize);
            let shape = if i == 0 {
                report::Label::primary(id, range)
            } else {
                report::Label::secondary(id, range)
            };
            shape.with_message(printable(&label.text))
        });
        let shown = report::Diagnostic::new(severity)
            .with_code(diagnostic.code)
            .with_message(printable(&diagnostic.message))
            .with_labels(labels.collect())
            .with_notes(
                places
                    .into_iter()
                    .chain(diagnostic.help.iter().map(|h| format!("help: {}", printable(h))))
                    .collect(),
            );
        term::emit_to_write_style(&mut buffer, &config, &files, &shown)
            .expect("every span lies in a file of the source map, and memory takes the text");
    }
    String::from_utf8_lossy(buffer.as_slice()).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{FileId, SourceFile};

    fn span(start: u32) -> Span {
        Span { file: FileId(0), start, end: start + 1 }
    }

    #[test]
    fn one_code_at_one_place_is_told_once_and_all_come_in_source_order() {
        let mut sink = Sink::default();
        sink.push(Diagnostic::new("W0601", span(5), "narrow"));
        sink.push(Diagnostic::new("W0601", span(5), "narrow again"));
        sink.push(Diagnostic::new("E0201", span(5), "unknown"));
        sink.push(Diagnostic::new("E0201", span(1), "unknown"));
        let codes: Vec<_> =
            sink.finish().iter().map(|d| (d.code, d.labels[0].span.start)).collect();
        assert_eq!(codes, [("E0201", 1), ("E0201", 5), ("W0601", 5)]);
    }

    #[test]
    fn long_lines_are_named_and_not_shown() {
        let text = format!("u8 x;\n{}y;\n", "u8 z; ".repeat(1000));
        let at = text.rfind('y').expect("it is there") as u32;
        let sources =
            SourceMap { files: vec![SourceFile { path: "a.loom".into(), text: text.clone() }] };
        let error = Diagnostic::new("E0201", span(at), "unknown name `y`").help("declare it");
        let text = render(&[error], &sources, false);
        for part in ["unknown name `y`", "a.loom:2:6001, in a line of 6003 bytes", "declare it"] {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert!(text.len() < 300, "{text}");
    }

    #[test]
    fn rendering_shows_line_caret_and_help() {
        let sources = SourceMap {
            files: vec![SourceFile { path: "a.loom".into(), text: "u8 x;\nu8 y;\n".into() }],
        };
        let d = Diagnostic::new(
            "E0201",
            Span { file: FileId(0), start: 9, end: 10 },
            "unknown name `y`",
        )
        .here("not declared")
        .help("did you mean `x`?");
        let text = render(&[d], &sources, false);
        assert!(text.contains("a.loom:2:4"), "{text}");
        assert!(text.contains("^ not declared"), "{text}");
        assert!(text.contains("help: did you mean `x`?"), "{text}");
    }
}
