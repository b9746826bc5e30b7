//! Source files and spans in them.

use std::path::PathBuf;

/// The index of a file in [`SourceMap::files`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(pub u32);

/// A range of bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    pub file: FileId,
    /// The first byte.
    pub start: u32,
    /// The byte after the last one.
    pub end: u32,
}

/// A source file that was read.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The path as the user or the `#include` gave it.
    pub path: PathBuf,
    pub text: String,
}

/// All files of a program, in the order in which they were first opened. File 0 is the file on the
/// command line.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    pub files: Vec<SourceFile>,
}

impl SourceMap {
    /// Returns the line, from 1, on which a span starts.
    pub fn line(&self, span: Span) -> u32 {
        let text = &self.files[span.file.0 as usize].text;
        1 + text.as_bytes()[..span.start as usize].iter().filter(|&&b| b == b'\n').count() as u32
    }
}
