//! `#include` and `#pragma once`.

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use super::{Cursor, Parser};
use crate::diagnostics::Diagnostic;
use crate::lexer::{Lexeme, Token};
use crate::source::{FileId, SourceFile, Span};
use crate::{LIBRARY, Library};

/// The maximum nesting of open files.
const MAX_DEPTH: usize = 32;
/// The maximum number of includes in total. Without it, files that include each other twice would
/// double their number with each level.
const MAX_INCLUDES: u32 = 1024;
/// The extensions of files that can be included.
const SOURCES: [&str; 2] = ["loom", "h"];
/// The maximum size of a source file in bytes.
pub(crate) const MAX_FILE_BYTES: u64 = 4 << 20;

/// The state of the included files.
pub(super) struct Includes {
    dirs: Vec<PathBuf>,
    library: Option<Library>,
    /// The open files, outermost first.
    open: Vec<PathBuf>,
    /// For each enclosing scope, the files with `#pragma once` that have been read in it.
    once: Vec<HashSet<FileId>>,
    loaded: HashMap<PathBuf, Loaded>,
    count: u32,
    /// Whether too many includes have been reported.
    exhausted: bool,
}

#[derive(Clone)]
struct Loaded {
    file: FileId,
    text: Rc<str>,
    tokens: Rc<[Lexeme]>,
    once: bool,
}

impl Includes {
    pub(super) fn new(root: &Path, dirs: Vec<PathBuf>, library: Option<Library>) -> Self {
        let root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        Self {
            dirs,
            library,
            open: vec![root],
            once: vec![HashSet::new()],
            loaded: HashMap::new(),
            count: 0,
            exhausted: false,
        }
    }
}

/// Returns the text of a source file, or the reason why it cannot be read (for "cannot read `x`:
/// ...").
pub(crate) fn read(path: &Path, library: Option<Library>) -> Result<String, String> {
    if let Some(name) = in_library(path) {
        return match library.and_then(|library| library(&name)) {
            Some(Ok(text)) if text.len() as u64 > MAX_FILE_BYTES => Err(too_long()),
            Some(text) => text,
            None => Err("there is no such file in the library".into()),
        };
    }
    if path.is_dir() {
        return Err("not a file".into());
    }
    let text =
        wireloom_files::read_text(path, MAX_FILE_BYTES).map_err(|error| error.to_string())?;
    Ok(without_mark(text))
}

/// Removes the byte order mark that some editors put at the start of a text.
pub(crate) fn without_mark(text: String) -> String {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    }
}

fn too_long() -> String {
    format!("longer than {MAX_FILE_BYTES} bytes")
}

/// Returns the name of a library file without `.` and `..`. Returns `None` if the path denotes a
/// file on disk or leads out of the library.
fn in_library(path: &Path) -> Option<String> {
    let name = path.to_str()?.strip_prefix(LIBRARY)?;
    let mut parts: Vec<&str> = Vec::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::ParentDir => {
                parts.pop()?;
            }
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts.join("/"))
}

impl Parser<'_> {
    /// Runs `parse` in a new scope, in which `#pragma once` files have not yet been read.
    pub(super) fn scoped<T>(&mut self, parse: impl FnOnce(&mut Self) -> T) -> T {
        self.includes.once.push(HashSet::new());
        let out = parse(self);
        self.includes.once.pop();
        out
    }

    /// Parses a directive. `parse` parses the included file.
    pub(super) fn directive(&mut self, parse: impl FnOnce(&mut Self)) {
        let span = self.advance();
        let line = self.text(span)[1..].trim().to_owned();
        let (word, rest) =
            line.split_at(line.find(|c: char| !c.is_alphanumeric()).unwrap_or(line.len()));
        match word {
            "include" => self.include(span, rest.trim(), parse),
            "pragma" if rest.trim() == "once" => {
                if self.cursor.at != 1 {
                    self.sink.push(
                        Diagnostic::new(
                            "E0112",
                            span,
                            "`#pragma once` must be the first thing in its file",
                        )
                        .help("move it to the first line; only comments may come before it"),
                    );
                }
            }
            _ => {
                let shown: String = word.chars().take(24).collect();
                let help = match word {
                    "define" => "write `const TYPE NAME = value;` or a function",
                    "if" | "ifdef" | "ifndef" => {
                        "use a `const` and `if`; a constant can be set with `--set`"
                    }
                    _ => "the only directives are `#include \"file\"` and `#pragma once`",
                };
                let message = format!("there is no directive `#{shown}`");
                self.sink.push(Diagnostic::new("E0112", span, message).help(help));
            }
        }
    }

    fn include(&mut self, span: Span, rest: &str, parse: impl FnOnce(&mut Self)) {
        let quoted = rest.strip_prefix('"').and_then(|r| r.split_once('"'));
        let Some((wanted, behind)) = quoted.filter(|(name, _)| !name.is_empty()) else {
            self.sink.push(
                Diagnostic::new("E0112", span, "`#include` needs the name of a file")
                    .help("write `#include \"file.loom\"`"),
            );
            return;
        };
        let behind = behind.trim();
        if !behind.is_empty() && !behind.starts_with("//") && !behind.starts_with("/*") {
            self.sink.push(
                Diagnostic::new("E0112", span, "unexpected text after the name of the file")
                    .help("write nothing else on the line of an `#include`"),
            );
        }
        // Diagnostics quote the files that they concern. A program must not reveal files that its
        // author cannot read.
        let named = Path::new(wanted).extension().and_then(|end| end.to_str());
        if !named.is_some_and(|end| SOURCES.contains(&end)) {
            let message = format!("`{wanted}` is not named as a source file is");
            self.sink.push(
                Diagnostic::new("E0112", span, message)
                    .help("only files whose names end in `.loom` or `.h` can be included"),
            );
            return;
        }
        let Some(path) = self.find(span, wanted) else { return };
        let identity = path.canonicalize().unwrap_or_else(|_| path.clone());
        if self.includes.open.contains(&identity) {
            let message = format!("`{wanted}` includes itself");
            let help = self
                .includes
                .open
                .iter()
                .map(|p| p.file_name().unwrap_or_default().to_string_lossy());
            let chain: Vec<_> = help.collect();
            self.sink.push(
                Diagnostic::new("E0110", span, message)
                    .help(format!("the chain of includes is {}", chain.join(" > "))),
            );
            return;
        }
        if self.includes.exhausted {
            return;
        }
        self.includes.count += 1;
        if self.includes.open.len() >= MAX_DEPTH || self.includes.count > MAX_INCLUDES {
            self.includes.exhausted = true;
            let message = format!(
                "includes are nested more than {MAX_DEPTH} deep, or there are more than {MAX_INCLUDES} in total"
            );
            self.sink.push(
                Diagnostic::new("E0111", span, message)
                    .help("begin each file that several others include with `#pragma once`"),
            );
            return;
        }
        let Some(loaded) = self.load(span, &path, &identity) else { return };
        let scope = self.includes.once.last_mut().expect("the file's scope is always there");
        if loaded.once && !scope.insert(loaded.file) {
            return;
        }
        let cursor = Cursor { file: loaded.file, text: loaded.text, tokens: loaded.tokens, at: 0 };
        let outer = std::mem::replace(&mut self.cursor, cursor);
        self.includes.open.push(identity);
        parse(self);
        while self.peek() != Token::End {
            let span = self.advance();
            self.sink.push(
                Diagnostic::new("E0107", span, "this `}` closes nothing in its file")
                    .help("an included file must hold whole declarations or statements"),
            );
            self.skip_to_end();
        }
        self.includes.open.pop();
        self.cursor = outer;
    }

    /// Finds a file: relative to the including file, then in each include directory, then at the
    /// root of the library. For a library file, the first search is inside the library.
    fn find(&mut self, span: Span, wanted: &str) -> Option<PathBuf> {
        let includer = &self.sources.files[self.cursor.file.0 as usize].path;
        let beside = includer.parent().unwrap_or(Path::new("")).to_owned();
        let tried: Vec<PathBuf> = std::iter::once(&beside)
            .chain(&self.includes.dirs)
            .map(|dir| dir.join(wanted))
            .collect();
        let of_library = |path: &Path| {
            let name = in_library(path)?;
            (self.includes.library?)(&name).map(|_| PathBuf::from(format!("{LIBRARY}{name}")))
        };
        let found = tried
            .iter()
            .find_map(|path| of_library(path).or_else(|| path.is_file().then(|| path.clone())));
        let found = found.or_else(|| of_library(Path::new(&format!("{LIBRARY}{wanted}"))));
        if found.is_none() {
            let places: Vec<String> = tried.iter().map(|p| format!("`{}`", p.display())).collect();
            self.sink.push(
                Diagnostic::new("E0109", span, format!("there is no file `{wanted}`")).help(
                    format!(
                        "looked for {}; `-I DIR` adds a directory to look in",
                        places.join(", ")
                    ),
                ),
            );
        }
        found
    }

    fn load(&mut self, span: Span, path: &Path, identity: &Path) -> Option<Loaded> {
        if let Some(loaded) = self.includes.loaded.get(identity) {
            return Some(loaded.clone());
        }
        let text = match read(path, self.includes.library) {
            Ok(text) => text,
            Err(why) => {
                let message = format!("cannot read `{}`: {why}", path.display());
                self.sink.push(Diagnostic::new("E0109", span, message));
                return None;
            }
        };
        let file = FileId(self.sources.files.len() as u32);
        let tokens = crate::lexer::tokens(file, &text, self.sink);
        let once = tokens[0].token == Token::Directive && {
            let first = tokens[0].span;
            let words = text[first.start as usize + 1..first.end as usize].split_whitespace();
            words.collect::<Vec<_>>() == ["pragma", "once"]
        };
        let loaded = Loaded { file, text: text.as_str().into(), tokens: tokens.into(), once };
        self.sources.files.push(SourceFile { path: path.to_owned(), text });
        self.includes.loaded.insert(identity.to_owned(), loaded.clone());
        Some(loaded)
    }
}
