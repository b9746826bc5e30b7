//! Loom C: from source text to a checked program. docs/language.md specifies the language,
//! docs/diagnostics.md the diagnostics.
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

/// How to read a program.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where `#include` searches after the including file's own folder, in order.
    pub include_dirs: Vec<PathBuf>,
    /// Source files that are not on disk: where `#include` looks last.
    pub library: Option<Library>,
    /// Constants to set: name and value, as in `--set NAME=VALUE`. A later one replaces an earlier
    /// one.
    pub sets: Vec<(String, String)>,
    /// The engine to run, instead of the last that takes packets.
    pub engine: Option<String>,
}

/// Gives the text of a source file by its name in a library, or why it cannot be read; `None` if
/// the library has no such file. A library's files have paths that begin with [`LIBRARY`], and what
/// they include is looked for in the library, relative to the file that includes it.
pub type Library = fn(&str) -> Option<Result<String, String>>;

/// How the path of a library's file begins: `wireloom:programs/router.loom`.
pub const LIBRARY: &str = "wireloom:";

/// The result of checking a source file.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The program; `None` if and only if one of the diagnostics is an error.
    pub program: Option<hir::Program>,
    /// The diagnostics, in source order.
    pub diagnostics: Vec<Diagnostic>,
    /// The files that were read, for [`render`].
    pub sources: SourceMap,
}

/// Reads and checks a file and the files that it includes. A file that cannot be read is an error
/// among the diagnostics.
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

/// Checks a text as if it were a file of that name.
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
