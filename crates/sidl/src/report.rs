//! The faults of a text, and their positions.

use std::ops::Range;

use codespan_reporting::diagnostic::{Diagnostic, Label};
use codespan_reporting::files::SimpleFile;
use codespan_reporting::term;

/// One fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The range of the text that the fault concerns, in bytes.
    pub place: Range<usize>,
    /// The fault, in one line.
    pub message: String,
    /// A proposed correction.
    pub help: Option<String>,
}

impl Fault {
    pub(crate) fn new(place: Range<usize>, message: impl Into<String>) -> Self {
        Self { place, message: message.into(), help: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// A text that is rejected. It displays each fault with its line and underlines the position.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{rendered}")]
pub struct Refused {
    /// The faults, in the order of their positions.
    pub faults: Vec<Fault>,
    rendered: String,
}

impl Refused {
    pub(crate) fn new(name: &str, text: &str, mut faults: Vec<Fault>) -> Self {
        faults.sort_by_key(|fault| fault.place.start);
        let file = SimpleFile::new(name, text);
        let mut buffer = term::termcolor::Buffer::no_color();
        for fault in &faults {
            let shown = Diagnostic::error()
                .with_message(&fault.message)
                .with_label(Label::primary((), fault.place.clone()))
                .with_notes(fault.help.iter().map(|help| format!("help: {help}")).collect());
            term::emit_to_write_style(&mut buffer, &term::Config::default(), &file, &shown)
                .expect("places lie in the text, and memory takes the report");
        }
        let rendered = String::from_utf8_lossy(buffer.as_slice()).trim_end().to_owned();
        Self { faults, rendered }
    }
}
