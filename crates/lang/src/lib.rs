//! Loom C: from source text to a checked program. docs/language.md specifies the language, and
//! docs/diagnostics.md specifies the diagnostics.
//!
//! ```
//! let source = "engine wire() { step only { packet.egress = packet.ingress ^ 1; finish; } }";
//! let options = wireloom_lang::Options::default();
//! let checked = wireloom_lang::check_source("wire.loom", source, &options);
//! assert!(checked.diagnostics.is_empty());
//! assert_eq!(checked.program.unwrap().engines[0].steps.len(), 1);
//! ```

mod ast;
mod check;
pub mod codes;
pub mod diagnostics;
pub mod hir;
mod layout;
mod lexer;
mod parser;
pub mod source;
pub mod suggest;

use std::path::{Path, PathBuf};

pub use diagnostics::{Diagnostic, Label, Severity, render};
pub use source::SourceMap;

use diagnostics::Sink;
use source::{FileId, SourceFile, Span};

/// The options for reading a program.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Directories that `#include` searches, in order, after the folder of the including file.
    pub include_dirs: Vec<PathBuf>,
    /// Source files that are not on disk. `#include` searches them last.
    pub library: Option<Library>,
    /// Constants to set, as name and value of `--set NAME=VALUE`. For equal names the last one
    /// applies.
    pub sets: Vec<(String, String)>,
    /// The name of the main engine. The default is the last engine that takes packets.
    pub engine: Option<String>,
}

/// Returns the text of a library file by name, or the reason why it cannot be read; `None` if the
/// library has no such file. Paths of library files begin with [`LIBRARY`]. Includes in a library
/// file are resolved in the library, relative to the including file.
pub type Library = fn(&str) -> Option<Result<String, String>>;

/// The prefix of paths of library files, as in `wireloom:programs/router.loom`.
pub const LIBRARY: &str = "wireloom:";

/// The result of checking a source file.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The program. It is `None` if and only if one of the diagnostics is an error.
    pub program: Option<hir::Program>,
    pub diagnostics: Vec<Diagnostic>,
    /// The files that were read, for [`render`].
    pub sources: SourceMap,
}

/// Reads and checks a file and the files that it includes. If a file cannot be read, the
/// diagnostics contain an error.
pub fn check(path: &Path, options: &Options) -> Checked {
    match parser::read_source(path, options.library) {
        Ok(text) => check_text(path, text, options),
        Err(why) => {
            let span = Span { file: FileId(0), start: 0, end: 0 };
            let message = format!("cannot read `{}`: {why}", path.display());
            let diagnostic = Diagnostic::new("E0109", span, message);
            let sources = SourceMap {
                files: vec![SourceFile { path: path.to_owned(), text: String::new() }],
            };
            Checked { program: None, diagnostics: vec![diagnostic], sources }
        }
    }
}

/// Checks a text as the content of a file with this name.
pub fn check_source(name: &str, text: &str, options: &Options) -> Checked {
    check_text(Path::new(name), parser::without_mark(text.to_owned()), options)
}

fn check_text(path: &Path, text: String, options: &Options) -> Checked {
    let mut sources = SourceMap { files: vec![SourceFile { path: path.to_owned(), text }] };
    let mut sink = Sink::default();
    let parsed =
        parser::parse(&mut sources, options.include_dirs.clone(), options.library, &mut sink);
    let first_set = sources.files.len();
    let mut sets: Vec<check::Set> = Vec::new();
    for (name, value) in &options.sets {
        let file = FileId(sources.files.len() as u32);
        let span = Span { file, start: 0, end: value.len() as u32 };
        sources
            .files
            .push(SourceFile { path: format!("--set {name}").into(), text: value.clone() });
        let value = parser::parse_value(&mut sources, file, &mut sink);
        sets.retain(|s| s.name != *name);
        sets.extend(value.map(|value| check::Set { name: name.clone(), value, span }));
    }
    let program = check::check(&parsed, &sets, options.engine.as_deref(), &sources, &mut sink);
    let program = program.filter(|_| !sink.has_errors());
    let mut diagnostics = sink.finish();
    for diagnostic in &mut diagnostics {
        diagnostic.is_usage |= diagnostic.labels[0].span.file.0 as usize >= first_set;
    }
    Checked { program, diagnostics, sources }
}
