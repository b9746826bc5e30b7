//! Source files and spans in them.

use std::path::PathBuf;

/// A file of a [`SourceMap`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FileId(pub u32);

/// A range of bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The file.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A file that was read.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The path as the user or the `#include` gave it.
    pub path: PathBuf,
    /// Its text.
    pub text: String,
}

/// All files of a program, in the order in which they were first opened: the one on the command
/// line is number 0.
#[derive(Clone, Debug, Default)]
pub struct SourceMap {
    /// The files.
    pub files: Vec<SourceFile>,
}

impl SourceMap {
    /// The line, from 1, on which a span starts.
    pub fn line(&self, span: Span) -> u32 {
        let text = &self.files[span.file.0 as usize].text;
        1 + text.as_bytes()[..span.start as usize].iter().filter(|&&b| b == b'\n').count() as u32
    }
}
