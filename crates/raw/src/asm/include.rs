//! `.include`: the text of another file in place of a line, with parameters.
//!
//! ```text
//! .include parts/head.rasm WORDS=15 ROUTES="$cNi->$csti, $cNi->$cSo"
//! ```
//!
//! In the file, `{WORDS}` is replaced by the value. File names are relative to the folder of the
//! first source. Each inclusion is a separate text, so errors show the line with its values.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use super::Diagnostic;

/// Limit on the nesting of included files.
const MOST_DEPTH: usize = 16;

/// Reads a file by its name. The error says why it cannot be read.
pub type Read<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// One of the texts that make up the whole source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct File {
    pub name: String,
    pub text: String,
}

/// A run of bytes of the whole source that comes from one file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Segment {
    whole: Range<usize>,
    file: usize,
    /// The offset of the run in the file.
    offset: usize,
}

/// A source with the files that it includes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Whole {
    pub text: String,
    pub files: Vec<File>,
    segments: Vec<Segment>,
    pub diagnostics: Vec<Diagnostic>,
}

impl Whole {
    pub fn new(path: &str, text: &str, read: Read<'_>) -> Self {
        let mut whole = Self::default();
        whole.add(path, text.to_owned(), read, 0);
        whole
    }

    /// Returns the file that contains bytes of the whole source, and their place in that file.
    pub fn place(&self, bytes: &Range<usize>) -> (usize, Range<usize>) {
        let at = self.segments.partition_point(|segment| segment.whole.end <= bytes.start);
        let segment = self.segments.get(at).or(self.segments.last());
        let Some(segment) = segment else { return (0, 0..0) };
        let here = |at: usize| segment.offset + at.min(segment.whole.end) - segment.whole.start;
        (segment.file, here(bytes.start)..here(bytes.end))
    }

    fn add(&mut self, name: &str, text: String, read: Read<'_>, depth: usize) {
        let file = self.files.len();
        self.files.push(File { name: name.to_owned(), text: text.clone() });
        let mut offset = 0;
        for line in text.split_inclusive('\n') {
            let begin = self.text.len();
            self.text += line;
            self.segments.push(Segment { whole: begin..self.text.len(), file, offset });
            offset += line.len();
            let statement = line.split('#').next().unwrap_or_default().trim();
            let Some(rest) = statement.strip_prefix(".include") else { continue };
            // The line itself remains as a comment, so that errors can show places in it.
            let indent = line.len() - line.trim_start().len();
            let bytes = begin + indent..begin + indent + statement.len();
            self.text.replace_range(bytes.start..=bytes.start, "#");
            self.end_line(file, offset);
            match included(rest, read, depth) {
                Ok((name, text)) => self.add(&name, text, read, depth + 1),
                Err((message, help)) => {
                    let help = help.map(str::to_owned);
                    self.diagnostics.push(Diagnostic { message, bytes, help });
                }
            }
            self.end_line(file, offset);
        }
    }

    /// Ends the line. The last line of a file may lack its newline.
    fn end_line(&mut self, file: usize, offset: usize) {
        if !self.text.ends_with('\n') {
            let begin = self.text.len();
            self.text.push('\n');
            self.segments.push(Segment { whole: begin..begin + 1, file, offset });
        }
    }
}

type Why = (String, Option<&'static str>);

/// Returns the name and the text of a file that a line includes.
fn included(rest: &str, read: Read<'_>, depth: usize) -> Result<(String, String), Why> {
    let form = "a file is included by `.include FILE NAME=VALUE ...`";
    if depth >= MOST_DEPTH {
        return Err((format!("more than {MOST_DEPTH} files inside each other"), None));
    }
    let (name, rest) = rest.trim().split_once(char::is_whitespace).unwrap_or((rest.trim(), ""));
    if name.is_empty() {
        return Err(("the name of a file is needed here".to_owned(), Some(form)));
    }
    // Errors quote lines of the file. A program must not be able to show files that its author
    // cannot read.
    if Path::new(name).extension().is_none_or(|end| end != "rasm") {
        let help = "only files whose names end in `.rasm` can be included";
        return Err((format!("`{name}` is not named as a source file is"), Some(help)));
    }
    let parameters = parameters(rest).ok_or(("malformed parameter".to_owned(), Some(form)))?;
    let text = read(name).map_err(|why| (format!("{name}: {why}"), None))?;
    Ok((name.to_owned(), filled(name, &text, &parameters)?))
}

/// Returns parameters by name: `NAME=VALUE` or `NAME="VALUE"`.
fn parameters(mut rest: &str) -> Option<BTreeMap<&str, &str>> {
    let mut parameters = BTreeMap::new();
    while !rest.trim_start().is_empty() {
        let (name, after) = rest.trim_start().split_once('=')?;
        if !super::line::is_name(name) {
            return None;
        }
        let value;
        (value, rest) = match after.strip_prefix('"') {
            Some(after) => after.split_once('"')?,
            None => after.split_once(char::is_whitespace).unwrap_or((after, "")),
        };
        parameters.insert(name, value);
    }
    Some(parameters)
}

/// Returns a text with its parameters replaced.
fn filled(name: &str, text: &str, parameters: &BTreeMap<&str, &str>) -> Result<String, Why> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('{') {
        let (parameter, after) = after.split_once('}').unwrap_or((after, ""));
        let value = parameters.get(parameter).ok_or_else(|| {
            (format!("{name} needs a parameter `{parameter}`"), Some("add NAME=VALUE"))
        })?;
        filled += before;
        filled += value;
        rest = after;
    }
    Ok(filled + rest)
}
