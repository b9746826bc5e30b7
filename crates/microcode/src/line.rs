//! Lines of a program after includes and macros.

use std::ops::Range;
use std::rc::Rc;

use crate::diagnostic::{Diagnostic, Place};

/// A line without its comment.
#[derive(Clone, Debug)]
pub struct Line {
    pub text: String,
    /// The place of the line in its file.
    pub place: Place,
    /// Whether `text` is the text of the file at that place, so that columns can be shown.
    pub is_exact: bool,
    /// The macro calls that generated the line, from the innermost.
    pub calls: Option<Rc<Call>>,
}

/// A call of a macro.
#[derive(Debug)]
pub struct Call {
    pub name: String,
    pub place: Place,
    pub outer: Option<Rc<Call>>,
}

impl Line {
    /// The place of a byte range of the text. It is the whole line if substitution generated the
    /// text.
    pub fn place_of(&self, bytes: Range<usize>) -> Place {
        if self.is_exact {
            let start = self.place.bytes.start;
            Place { file: self.place.file, bytes: start + bytes.start..start + bytes.end }
        } else {
            self.place.clone()
        }
    }

    /// An error at bytes of the text.
    pub fn error(
        &self,
        code: &'static str,
        bytes: Range<usize>,
        message: impl Into<String>,
    ) -> Diagnostic {
        let mut diagnostic = Diagnostic::new(code, self.place_of(bytes), message);
        if !self.is_exact {
            let text = self.text.trim();
            diagnostic.help = Some(format!("after substitution the line is `{text}`"));
        }
        let mut call = self.calls.as_ref();
        // The innermost calls, at most four: deep recursion would fill pages.
        for _ in 0..4 {
            let Some(Call { name, place, outer }) = call.map(Rc::as_ref) else { break };
            diagnostic = diagnostic.also(place.clone(), format!("`{name}` is called here"));
            call = outer.as_ref();
        }
        diagnostic
    }

    /// An error about the whole line.
    pub fn error_here(&self, code: &'static str, message: impl Into<String>) -> Diagnostic {
        let start = self.text.len() - self.text.trim_start().len();
        self.error(code, start..self.text.trim_end().len().max(start), message)
    }
}

/// Whether a character can be part of a name.
pub fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Cuts off a comment (`;` or `//` to the end of the line).
pub fn without_comment(text: &str) -> &str {
    let end = [text.find(';'), text.find("//")].into_iter().flatten().min();
    &text[..end.unwrap_or(text.len())]
}

/// Splits at commas outside brackets. Returns each part trimmed, with its place.
pub fn split(text: &str, start: usize) -> Vec<(String, Range<usize>)> {
    let mut parts = Vec::new();
    if text.trim().is_empty() {
        return parts;
    }
    let mut add = |from: usize, to: usize| {
        let part = &text[from..to];
        let at = start + from + part.len() - part.trim_start().len();
        let part = part.trim();
        parts.push((part.to_owned(), at..at + part.len()));
    };
    let (mut depth, mut from) = (0_usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                add(from, at);
                from = at + 1;
            }
            _ => {}
        }
    }
    add(from, text.len());
    parts
}

/// The position of the bracket that closes the one at the start of the text.
pub fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '[' | '(' => depth += 1,
            ']' | ')' => {
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}
