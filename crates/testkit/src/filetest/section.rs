//! The sections of a file.

use std::fmt::Write;

/// The beginning of a section.
const MARK: &str = "//~";

/// A file's input and sections.
pub struct Sections<'a> {
    pub input: &'a str,
    /// The text before the first section: the input, and the empty line after it.
    head: &'a str,
    /// The end of each line of the sections.
    line_end: &'static str,
    pub sections: Vec<Section<'a>>,
}

/// A section of a file.
pub struct Section<'a> {
    /// The number of its first line, from 1.
    pub line: usize,
    pub target: &'a str,
    pub options: &'a str,
    /// The expected lines.
    pub text: Vec<String>,
}

impl<'a> Sections<'a> {
    /// Reads the sections of a file.
    ///
    /// # Errors
    /// The number of a line, and what is wrong there.
    pub fn parse(text: &'a str) -> Result<Self, (usize, String)> {
        let Some(start) = start(text) else {
            let last = text.lines().count().max(1);
            let message = "the file has no section: end it with a line `//~ TARGET`";
            return Err((last, message.to_owned()));
        };
        let (head, rest) = text.split_at(start);
        let is_crlf = rest.split('\n').next().is_some_and(|line| line.ends_with('\r'));
        let mut sections: Vec<Section> = Vec::new();
        // The number of the first empty line after the last section.
        let mut gap = None;
        for (number, line) in (head.lines().count() + 1..).zip(rest.lines()) {
            if let Some(header) = line.strip_prefix(MARK) {
                let header = header.trim();
                let (target, options) = header.split_once(' ').unwrap_or((header, ""));
                if target.is_empty() {
                    return Err((number, format!("a section begins with `{MARK} TARGET`")));
                }
                let options = options.trim_start();
                sections.push(Section { line: number, target, options, text: Vec::new() });
                gap = None;
            } else if line.is_empty() {
                gap = gap.or(Some(number));
            } else if let Some(empty) = gap {
                let message = "the section ends here: write an empty line of its text as `//`";
                return Err((empty, message.to_owned()));
            } else if let Some(line) = expected(line) {
                sections.last_mut().expect("the first line begins one").text.push(line.to_owned());
            } else {
                let message = "a line of a section is `// TEXT`, or `//` if it is empty";
                return Err((number, message.to_owned()));
            }
        }
        let line_end = if is_crlf { "\r\n" } else { "\n" };
        Ok(Self { input: &text[..end_before(text, start)], head, line_end, sections })
    }

    /// Returns the text of the file.
    pub fn print(&self) -> String {
        let mut out = self.head.to_owned();
        let mut write = |words: &[&str]| {
            let _ = write!(out, "{}{}", words.join(" "), self.line_end);
        };
        for (number, section) in self.sections.iter().enumerate() {
            if number > 0 {
                write(&[]);
            }
            match section.options {
                "" => write(&[MARK, section.target]),
                options => write(&[MARK, section.target, options]),
            }
            for line in &section.text {
                match line.as_str() {
                    "" => write(&["//"]),
                    line => write(&["//", line]),
                }
            }
        }
        out
    }
}

/// Returns the lines of a text without the empty ones at its end.
pub fn lines(text: &str) -> Vec<String> {
    text.trim_end_matches(['\r', '\n']).lines().map(str::to_owned).collect()
}

/// Returns the end of the input, if a section follows it.
pub fn end_of_input(text: &str) -> Option<usize> {
    start(text).map(|start| end_before(text, start))
}

/// Returns the position of the first section.
fn start(text: &str) -> Option<usize> {
    match text.starts_with(MARK) {
        true => Some(0),
        false => text.find("\n//~").map(|end| end + 1),
    }
}

/// Returns the end of the input before the first section, without one empty line.
fn end_before(text: &str, start: usize) -> usize {
    let head = &text[..start];
    let without = head.strip_suffix('\n').map(|head| head.strip_suffix('\r').unwrap_or(head));
    without.filter(|head| head.ends_with('\n')).map_or(start, str::len)
}

/// Returns the text of an expected line, without the comment sign.
fn expected(line: &str) -> Option<&str> {
    let text = line.strip_prefix("//")?;
    if text.is_empty() { Some(text) } else { text.strip_prefix(' ') }
}
