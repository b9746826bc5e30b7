//! Loom C: from source text to a checked program. The language is specified in docs/language.md, what the compiler
//! may say in docs/diagnostics.md.
//!
//! ```
//! let source = "engine wire() { step only { packet.egress = packet.ingress ^ 1; finish; } }";
//! let checked = wireloom_lang::check_source("wire.loom", source, &wireloom_lang::Options::default());
//! assert!(checked.diagnostics.is_empty());
//! assert_eq!(checked.program.unwrap().engines[0].steps.len(), 1);
//! ```

mod ast;
mod check;
pub mod codes;
pub mod diagnostics;
pub mod hir;
mod lexer;
mod parser;
pub mod source;
pub mod suggest;

use std::path::{Path, PathBuf};

pub use diagnostics::{Diagnostic, Label, Severity, render};
pub use source::SourceMap;

use diagnostics::Sink;
use source::{FileId, SourceFile, Span};

/// How a program is to be read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Where `#include` looks after the including file's own folder, in order.
    pub include_dirs: Vec<PathBuf>,
    /// Constants to set: name and value, as `--set NAME=VALUE` gives them. A later one replaces an earlier one.
    pub sets: Vec<(String, String)>,
    /// The engine that is to run, instead of the last that takes packets.
    pub engine: Option<String>,
}

/// What became of a source file.
#[derive(Clone, Debug)]
pub struct Checked {
    /// The program; `None` if and only if one of the diagnostics is an error.
    pub program: Option<hir::Program>,
    /// What there is to say, in source order.
    pub diagnostics: Vec<Diagnostic>,
    /// The files that were read, for [`render`].
    pub sources: SourceMap,
}

/// Reads and checks a file and what it includes. A file that cannot be read is an error among the diagnostics.
pub fn check(path: &Path, options: &Options) -> Checked {
    match parser::read_source(path) {
        Ok(text) => check_text(path, text, options),
        Err(why) => {
            let span = Span { file: FileId(0), start: 0, end: 0 };
            let message = format!("cannot read `{}`: {why}", path.display());
            let diagnostic = Diagnostic::new("E0109", span, message);
            let sources =
                SourceMap { files: vec![SourceFile { path: path.to_owned(), text: String::new() }] };
            Checked { program: None, diagnostics: vec![diagnostic], sources }
        }
    }
}

/// Checks a text as if it were a file of that name.
pub fn check_source(name: &str, text: &str, options: &Options) -> Checked {
    check_text(Path::new(name), text.to_owned(), options)
}

fn check_text(path: &Path, text: String, options: &Options) -> Checked {
    let mut sources = SourceMap { files: vec![SourceFile { path: path.to_owned(), text }] };
    let mut sink = Sink::default();
    let parsed = parser::parse(&mut sources, options.include_dirs.clone(), &mut sink);
    let mut sets: Vec<check::Set> = Vec::new();
    for (name, value) in &options.sets {
        let file = FileId(sources.files.len() as u32);
        let span = Span { file, start: 0, end: value.len() as u32 };
        sources.files.push(SourceFile { path: format!("--set {name}").into(), text: value.clone() });
        let value = parser::parse_value(&mut sources, file, &mut sink);
        sets.retain(|s| s.name != *name);
        sets.extend(value.map(|value| check::Set { name: name.clone(), value, span }));
    }
    let program = check::check(&parsed, &sets, options.engine.as_deref(), &sources, &mut sink);
    let program = program.filter(|_| !sink.has_errors());
    Checked { program, diagnostics: sink.finish(), sources }
}
