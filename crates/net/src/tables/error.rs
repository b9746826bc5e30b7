//! Errors in tables.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A position in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    Whole,
    Line(u64),
    Byte(u64),
}

/// Why a table could not be read or loaded: the file, the position and the problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableError {
    pub path: PathBuf,
    /// The line, from 1, if the file is text.
    pub line: Option<u64>,
    /// The byte offset in the (uncompressed) file, if the file is binary.
    pub offset: Option<u64>,
    /// The problem and the remedy.
    pub what: String,
}

/// Formats as `FILE:LINE: WHAT` or `FILE: byte OFFSET: WHAT`.
impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, "{line}:")?;
        }
        if let Some(offset) = self.offset {
            write!(f, " byte {offset}:")?;
        }
        write!(f, " {}", self.what)
    }
}

impl std::error::Error for TableError {}

impl TableError {
    pub(super) fn new(path: &Path, at: Position, what: impl Into<String>) -> Self {
        let (line, offset) = match at {
            Position::Whole => (None, None),
            Position::Line(line) => (Some(line), None),
            Position::Byte(offset) => (None, Some(offset)),
        };
        Self { path: path.to_owned(), line, offset, what: what.into() }
    }

    pub(super) fn io(path: &Path, at: Position, error: &io::Error) -> Self {
        let what = match error.kind() {
            io::ErrorKind::UnexpectedEof => {
                "the compressed file is truncated; fetch it again, or import less of it with limit=N"
                    .to_owned()
            }
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
                format!("the compressed file is damaged ({error}); fetch it again")
            }
            _ => format!("cannot read: {error}"),
        };
        Self::new(path, at, what)
    }

    /// Adds the position of the line that imported the file to the error.
    pub(super) fn imported_at(mut self, path: &Path, line: u64) -> Self {
        self.what = format!("{} (imported at {}:{line})", self.what, path.display());
        self
    }
}
