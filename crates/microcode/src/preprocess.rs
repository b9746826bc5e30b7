//! Includes, definitions, macros and conditions: turns files into lines.

use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;

use crate::diagnostic::{Diagnostic, Place, SourceFile};
use crate::expression::evaluate;
use crate::line::{Call, Line, closing, is_name, split, without_comment};

/// Limits that bound the time for any text: the number of included files, the nesting depths of
/// includes and of calls, the total number of lines, and the length of a line after substitution.
const MAX_FILES: usize = 500;
const MAX_INCLUDES: usize = 32;
const MAX_CALLS: usize = 64;
/// The maximum nesting depth of conditions and repetitions.
const MAX_BLOCKS: usize = 64;
const MAX_LINES: usize = 100_000;
const MAX_LENGTH: usize = 1_000;
/// The maximum nesting depth of substitutions.
const MAX_ROUNDS: usize = 16;
/// The maximum number of errors that are kept.
pub const MAX_ERRORS: usize = 50;

/// The extensions of files that can be included.
const SOURCES: [&str; 3] = ["uc", "inc", "h"];

/// Reads an included file. Its path is relative to the folder of the file that includes it.
pub type Read<'a> = dyn FnMut(&Path) -> Result<String, String> + 'a;

struct Macro {
    parameters: Vec<String>,
    body: Vec<Line>,
    /// The labels that the body defines; each call gets its own.
    labels: Vec<String>,
}

pub struct Preprocessor<'a> {
    read: &'a mut Read<'a>,
    pub files: Vec<SourceFile>,
    definitions: HashMap<String, String>,
    macros: HashMap<String, Rc<Macro>>,
    pub lines: Vec<Line>,
    pub errors: Vec<Diagnostic>,
    calls: usize,
    /// The number of open calls, conditions and repetitions.
    blocks: usize,
    /// The number of lines processed, also of lines that conditions skip.
    work: usize,
    is_full: bool,
}

impl<'a> Preprocessor<'a> {
    pub fn new(read: &'a mut Read<'a>) -> Self {
        Self {
            read,
            files: Vec::new(),
            definitions: HashMap::new(),
            macros: HashMap::new(),
            lines: Vec::new(),
            errors: Vec::new(),
            calls: 0,
            blocks: 0,
            work: 0,
            is_full: false,
        }
    }

    /// Defines a name before the first line.
    pub fn define(&mut self, name: &str, value: &str) {
        self.definitions.insert(name.to_owned(), value.to_owned());
    }

    /// Adds a file.
    pub fn file(&mut self, path: &str, text: String, depth: usize) {
        let file = self.files.len();
        let mut lines = Vec::new();
        let mut start = 0;
        for whole in text.split('\n') {
            let kept = without_comment(whole.trim_end_matches('\r'));
            lines.push(Line {
                text: kept.to_owned(),
                place: Place { file, bytes: start..start + kept.trim_end().len() },
                is_exact: true,
                calls: None,
            });
            start += whole.len() + 1;
        }
        self.files.push(SourceFile { path: path.to_owned(), text });
        self.block(&lines, depth, 0);
    }

    fn error(&mut self, error: Diagnostic) {
        if self.errors.len() < MAX_ERRORS {
            self.errors.push(error);
        }
    }

    /// Stops the work because the program is too large.
    fn full(&mut self, line: &Line, message: String) {
        if !self.is_full {
            self.is_full = true;
            let error = line.error_here("U0106", message);
            self.error(error);
        }
    }

    /// Adds lines. `depth` counts includes, `level` calls of macros.
    fn block(&mut self, lines: &[Line], depth: usize, level: usize) {
        let most = MAX_BLOCKS + MAX_CALLS + MAX_INCLUDES;
        match lines.first() {
            Some(first) if self.blocks > most => {
                return self.full(first, "blocks are nested too deeply".to_owned());
            }
            _ => {}
        }
        self.blocks += 1;
        self.lines_of(lines, depth, level);
        self.blocks -= 1;
    }

    fn lines_of(&mut self, lines: &[Line], depth: usize, level: usize) {
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            if self.is_full {
                return;
            }
            self.work += 1;
            if self.work > MAX_LINES {
                return self.full(line, format!("the program has more than {MAX_LINES} lines"));
            }
            at += 1;
            let text = line.text.trim();
            let Some(directive) = text.strip_prefix('#') else {
                if !text.is_empty() {
                    self.plain(line, depth, level);
                }
                continue;
            };
            let end = directive.find(|c| !is_name(c)).unwrap_or(directive.len());
            let (word, rest) = (&directive[..end], directive[end..].trim());
            match word {
                "include" => self.include(line, rest, depth),
                "define" => {
                    let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                    let (name, value) = (&rest[..end], rest[end..].trim());
                    if name.is_empty() || !name.chars().all(is_name) {
                        self.error(line.error_here("U0101", "`#define` needs a name"));
                    } else {
                        self.definitions.insert(name.to_owned(), value.to_owned());
                    }
                }
                "undef" => {
                    self.definitions.remove(rest);
                }
                "error" => self.error(line.error_here("U0108", rest)),
                "macro" => {
                    let body = until(lines, at, &["macro"], &["endm"]);
                    self.macro_(line, rest, &lines[at..body.min(lines.len())]);
                    at = self.past(lines, body, line, "#endm");
                }
                "repeat" => {
                    let body = until(lines, at, &["repeat"], &["endr"]);
                    let end = body.min(lines.len());
                    match self.constant(line, rest) {
                        Some(times) => {
                            for _ in 0..times.max(0) {
                                if self.is_full {
                                    return;
                                }
                                self.work += 1;
                                if self.work > MAX_LINES {
                                    let message = format!("more than {MAX_LINES} repetitions");
                                    return self.full(line, message);
                                }
                                self.block(&lines[at..end], depth, level);
                            }
                        }
                        None => return,
                    }
                    at = self.past(lines, body, line, "#endr");
                }
                "if" | "ifdef" | "ifndef" => at = self.condition(lines, at, depth, level),
                "endm" | "endr" | "endif" | "else" | "elif" => {
                    self.error(line.error_here("U0103", format!("`#{word}` closes nothing")));
                }
                _ => self.error(line.error_here("U0102", format!("`#{word}` is unknown"))),
            }
        }
    }

    /// Returns the number of the line after the one that closes a block. Reports an error if none
    /// closes it.
    fn past(&mut self, lines: &[Line], end: usize, opened: &Line, close: &str) -> usize {
        if end >= lines.len() {
            self.error(opened.error_here("U0103", format!("`{close}` is missing")));
        }
        end + 1
    }

    fn constant(&mut self, line: &Line, text: &str) -> Option<i64> {
        let text = self.substitute(line, text)?;
        match evaluate(&text) {
            Ok(value) => Some(value),
            Err(why) => {
                self.error(line.error_here("U0104", why));
                None
            }
        }
    }

    fn holds(&mut self, line: &Line) -> bool {
        let text = line.text.trim().trim_start_matches('#');
        let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
        let rest = text[end..].trim();
        match &text[..end] {
            "ifdef" => self.definitions.contains_key(rest),
            "ifndef" => !self.definitions.contains_key(rest),
            _ => self.constant(line, rest).is_some_and(|value| value != 0),
        }
    }

    /// Adds the branch of `#if` whose condition holds. The opening line is before `at`. Returns the
    /// number of the line after `#endif`.
    fn condition(&mut self, lines: &[Line], at: usize, depth: usize, level: usize) -> usize {
        let opened = &lines[at - 1];
        let (mut head, mut start, mut is_done) = (opened, at, false);
        loop {
            let is_else = head.text.trim().starts_with("#else");
            let end = until(lines, start, &["if", "ifdef", "ifndef"], &["elif", "else", "endif"]);
            if !is_done && (is_else || self.holds(head)) {
                is_done = true;
                self.block(&lines[start..end.min(lines.len())], depth, level);
            } else {
                self.work += end - start;
            }
            match lines.get(end) {
                None => return self.past(lines, end, opened, "#endif"),
                Some(line) if line.text.trim().starts_with("#endif") => return end + 1,
                Some(line) => (head, start) = (line, end + 1),
            }
        }
    }

    fn include(&mut self, line: &Line, rest: &str, depth: usize) {
        let name = rest.trim_matches(|c| "\"<>".contains(c)).trim();
        if name.is_empty() {
            return self.error(line.error_here("U0101", "`#include` needs the name of a file"));
        }
        // Errors quote the files that they are about. A program must not be able to show files that
        // its author cannot read.
        let end = Path::new(name).extension().and_then(|end| end.to_str());
        if !end.is_some_and(|end| SOURCES.contains(&end)) {
            let message = format!("`{name}` is not named as a source file is");
            let help = "only files whose names end in `.uc`, `.inc` or `.h` can be included";
            return self.error(line.error_here("U0105", message).help(help));
        }
        if depth >= MAX_INCLUDES || self.files.len() >= MAX_FILES {
            return self
                .full(line, format!("`{name}` is included too deeply; does it include itself?"));
        }
        let from = &self.files[line.place.file].path;
        let path = Path::new(from).parent().unwrap_or(Path::new("")).join(name);
        match (self.read)(&path) {
            Ok(text) => self.file(&path.display().to_string(), text, depth + 1),
            Err(why) => self.error(line.error_here("U0105", format!("{}: {why}", path.display()))),
        }
    }

    fn macro_(&mut self, line: &Line, head: &str, body: &[Line]) {
        let end = head.find(|c| !is_name(c)).unwrap_or(head.len());
        let (name, rest) = (&head[..end], head[end..].trim());
        let inside = match closing(rest) {
            Some(end) if end + 1 == rest.len() => &rest[1..end],
            None if rest.is_empty() => "",
            _ => {
                return self
                    .error(line.error_here("U0107", "parameters stand in one pair of brackets"));
            }
        };
        let parameters: Vec<String> = split(inside, 0).into_iter().map(|part| part.0).collect();
        if name.is_empty() || parameters.iter().any(|name| !is_parameter(name)) {
            return self.error(line.error_here("U0107", "a macro and its parameters need names"));
        }
        let labels = body.iter().filter_map(|line| label(&line.text)).map(str::to_owned).collect();
        let made = Macro { parameters, body: body.to_vec(), labels };
        self.macros.insert(name.to_owned(), Rc::new(made));
    }

    /// Adds a line that is not a directive: a call of a macro, or a line of the program.
    fn plain(&mut self, line: &Line, depth: usize, level: usize) {
        let text = line.text.trim();
        let end = text.find(|c| !is_name(c)).unwrap_or(text.len());
        if let Some(called) = self.macros.get(&text[..end]).map(Rc::clone) {
            return self.call(line, &text[..end], &called, text[end..].trim(), depth, level);
        }
        let Some(text) = self.substitute(line, &line.text) else { return };
        let is_exact = line.is_exact && text == line.text;
        self.lines.push(Line { text, is_exact, ..line.clone() });
    }

    fn call(
        &mut self,
        line: &Line,
        name: &str,
        called: &Macro,
        rest: &str,
        depth: usize,
        level: usize,
    ) {
        let inside = match closing(rest) {
            Some(end) if end + 1 == rest.len() => &rest[1..end],
            None if rest.is_empty() => "",
            _ => {
                return self
                    .error(line.error_here("U0107", "arguments stand in one pair of brackets"));
            }
        };
        let arguments: Vec<String> = split(inside, 0).into_iter().map(|part| part.0).collect();
        if arguments.len() != called.parameters.len() {
            let count = called.parameters.len();
            let message = format!("`{name}` takes {count} arguments, not {}", arguments.len());
            return self.error(line.error_here("U0107", message));
        }
        if level >= MAX_CALLS {
            return self.full(line, format!("`{name}` is called too deeply; does it call itself?"));
        }
        self.calls += 1;
        let unique = |label: &String| (label.clone(), format!("{label}__{}", self.calls));
        let mut names: HashMap<String, String> = called.labels.iter().map(unique).collect();
        names.extend(called.parameters.iter().cloned().zip(arguments));
        let calls = Some(Rc::new(Call {
            name: name.to_owned(),
            place: line.place.clone(),
            outer: line.calls.clone(),
        }));
        let mut body = Vec::with_capacity(called.body.len());
        for inner in &called.body {
            let Ok(text) = replace(&inner.text, &names) else {
                return self.full(line, format!("a line of `{name}` becomes too long"));
            };
            let is_exact = inner.is_exact && text == inner.text;
            body.push(Line { text, is_exact, calls: calls.clone(), place: inner.place.clone() });
        }
        self.block(&body, depth, level + 1);
    }

    /// Replaces defined names until none is left.
    fn substitute(&mut self, line: &Line, text: &str) -> Option<String> {
        let mut text = text.to_owned();
        for _ in 0..MAX_ROUNDS {
            match replace(&text, &self.definitions) {
                Ok(next) if next == text => return Some(text),
                Ok(next) => text = next,
                Err(TooLong) => break,
            }
        }
        self.error(line.error_here("U0106", "definitions lead to each other, or to a long line"));
        None
    }
}

struct TooLong;

/// Replaces names by their values.
fn replace(text: &str, names: &HashMap<String, String>) -> Result<String, TooLong> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        // A parameter can have the marks of a register, `$x` or `@x`; they belong to the
        // parameter's name.
        let marks = rest.len() - rest.trim_start_matches(['$', '@']).len();
        let end = rest[marks..].find(|c| !is_name(c)).map_or(rest.len(), |end| marks + end);
        let word = &rest[..end];
        let bare = &rest[marks..end];
        if bare.is_empty() || bare.starts_with(|c: char| c.is_ascii_digit()) {
            let length = end.max(c.len_utf8());
            out.push_str(&rest[..length]);
            rest = &rest[length..];
        } else {
            match names.get(word) {
                Some(value) => out.push_str(value),
                None => {
                    out.push_str(&rest[..marks]);
                    out.push_str(names.get(bare).map_or(bare, String::as_str));
                }
            }
            rest = &rest[end..];
        }
        if out.len() > MAX_LENGTH.max(text.len()) {
            return Err(TooLong);
        }
    }
    Ok(out)
}

fn is_parameter(name: &str) -> bool {
    let bare = name.trim_start_matches(['$', '@']);
    !bare.is_empty() && bare.chars().all(is_name)
}

/// The label that a line defines: `name:` or `name#:`.
pub fn label(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let end = text.find(|c| !is_name(c))?;
    let (name, rest) = text.split_at(end);
    let rest = rest.strip_prefix('#').unwrap_or(rest);
    (!name.is_empty() && rest.starts_with(':')).then_some(name)
}

/// The number of the first line from `at` on that has one of the closing directives and is not
/// inside an inner block; the number of lines if there is none.
fn until(lines: &[Line], at: usize, open: &[&str], close: &[&str]) -> usize {
    let mut depth = 0_usize;
    let end = *close.last().unwrap_or(&"");
    for (number, line) in lines.iter().enumerate().skip(at) {
        let Some(directive) = line.text.trim().strip_prefix('#') else { continue };
        let length = directive.find(|c| !is_name(c)).unwrap_or(directive.len());
        let word = &directive[..length];
        if open.contains(&word) {
            depth += 1;
        } else if depth == 0 && close.contains(&word) {
            return number;
        } else if word == end {
            depth = depth.saturating_sub(1);
        }
    }
    lines.len()
}
