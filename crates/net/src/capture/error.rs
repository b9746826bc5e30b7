//! Errors in captures.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a capture could not be read or written: the file, the position, the problem and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureError {
    pub path: PathBuf,
    /// Byte offset from the start of the (uncompressed) capture, if it applies.
    pub offset: Option<u64>,
    pub what: String,
    /// The remedy. It may be empty.
    pub hint: String,
    /// Whether only one packet is damaged, so that the reader can find the next one
    /// ([`super::Damaged::Skip`]).
    pub is_skippable: bool,
}

/// Formats as `FILE: byte OFFSET: WHAT; HINT`.
impl fmt::Display for CaptureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        if let Some(offset) = self.offset {
            write!(f, "byte {offset}: ")?;
        }
        f.write_str(&self.what)?;
        if !self.hint.is_empty() {
            write!(f, "; {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for CaptureError {}

impl CaptureError {
    pub(super) fn io(path: &Path, doing: &str, error: &io::Error) -> Self {
        Self {
            path: path.to_owned(),
            offset: None,
            what: format!("cannot {doing}: {error}"),
            hint: String::new(),
            is_skippable: false,
        }
    }
}

/// A [`CaptureError`] whose file is not yet known.
#[derive(Debug)]
pub(super) struct Fault {
    pub(super) offset: u64,
    pub(super) what: String,
    pub(super) hint: &'static str,
    /// Whether the file ends here, inside a record. Everything before is complete.
    pub(super) is_end: bool,
    /// Whether the contents of a record are contradictory.
    pub(super) is_damage: bool,
    /// Whether the end of a damaged record is known, so that the reader can find the next one.
    pub(super) is_skippable: bool,
}

impl Fault {
    pub(super) fn new(offset: u64, what: impl Into<String>, hint: &'static str) -> Self {
        let (is_end, is_damage, is_skippable) = (false, false, false);
        Self { offset, what: what.into(), hint, is_end, is_damage, is_skippable }
    }

    pub(super) fn damaged(offset: u64, what: impl Into<String>) -> Self {
        Self { is_damage: true, ..Self::new(offset, what, "the file is damaged here") }
    }

    pub(super) fn io(offset: u64, error: &io::Error) -> Self {
        let hint = match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidData => {
                "the compressed file is damaged or truncated; fetch it again"
            }
            _ => "",
        };
        let is_end = error.kind() == io::ErrorKind::UnexpectedEof;
        Self { is_end, ..Self::new(offset, format!("cannot continue reading: {error}"), hint) }
    }

    pub(super) fn cut_off(offset: u64, thing: &str) -> Self {
        Self {
            is_end: true,
            ..Self::new(
                offset,
                format!("the file ends inside {thing} that begins here"),
                "writing the capture was interrupted; `editcap FILE FIXED` (Wireshark) keeps the complete packets",
            )
        }
    }

    pub(super) fn at(self, path: &Path) -> CaptureError {
        CaptureError {
            path: path.to_owned(),
            offset: Some(self.offset),
            what: self.what,
            hint: self.hint.to_owned(),
            is_skippable: self.is_skippable,
        }
    }
}
