//! The assembler for programs of tile and switch processors.
//!
//! ```text
//! .tile 0 0                     # column and row
//! loop:   addiu $csto, $t0, 1
//!         bne $t0, $t1, loop
//!         break
//! .switch 0 0
//!         movei $1, 7
//! again:  bnezd $1, $1, again route $csto->$cEo, $cWi->$csti
//!         halt
//! ```
//!
//! Labels belong to their section. Tile programs have `nop`, `move`, `li` and `b` besides the
//! instructions of the table. All errors are reported, each with its place.

mod line;
mod listing;

use std::collections::BTreeMap;
use std::ops::Range;

use codespan_reporting::diagnostic::{Diagnostic as Shown, Label};
use codespan_reporting::files::SimpleFile;
use codespan_reporting::term;

pub use listing::listing;

/// Column and row of a tile.
pub type Place = (u8, u8);

/// The programs of a chip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The words of the tile and of the switch processor.
    code: BTreeMap<Place, (Vec<u32>, Vec<u64>)>,
}

impl Program {
    /// The words of a tile and of its switch.
    pub fn of(&self, place: Place) -> (&[u32], &[u64]) {
        self.code.get(&place).map_or((&[], &[]), |(tile, switch)| (tile, switch))
    }

    /// The tiles with programs.
    pub fn tiles(&self) -> impl Iterator<Item = Place> {
        self.code.keys().copied()
    }

    /// Sets the program of a tile processor.
    pub fn set_tile(&mut self, place: Place, words: Vec<u32>) {
        self.code.entry(place).or_default().0 = words;
    }

    /// Sets the program of a switch processor.
    pub fn set_switch(&mut self, place: Place, words: Vec<u64>) {
        self.code.entry(place).or_default().1 = words;
    }
}

/// An error in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The problem, in one line.
    pub message: String,
    /// The bytes of the source.
    pub bytes: Range<usize>,
    /// What to do.
    pub help: Option<String>,
}

/// A source that is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The errors, in the order of the source.
    pub diagnostics: Vec<Diagnostic>,
    path: String,
    text: String,
}

impl Refused {
    /// The errors as text: each with its line, the place underlined.
    pub fn render(&self) -> String {
        let file = SimpleFile::new(&self.path, &self.text);
        let mut buffer = term::termcolor::Buffer::no_color();
        for diagnostic in &self.diagnostics {
            let help = diagnostic.help.iter().map(|help| format!("help: {help}")).collect();
            let shown = Shown::error()
                .with_message(&diagnostic.message)
                .with_label(Label::primary((), diagnostic.bytes.clone()))
                .with_notes(help);
            // Writing to memory cannot fail, and places lie in the text.
            let _ = term::emit_to_write_style(&mut buffer, &term::Config::default(), &file, &shown);
        }
        String::from_utf8_lossy(buffer.as_slice()).trim_end().to_owned()
    }
}

/// The section that lines belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Section {
    Tile(Place),
    Switch(Place),
}

/// A statement with its place in the section.
struct Statement<'a> {
    section: Section,
    index: u32,
    line: line::Line<'a>,
}

/// Assembles a source; `path` is its name in messages.
///
/// # Errors
/// If anything in it is wrong; all errors are found in one go.
pub fn assemble(path: &str, text: &str) -> Result<Program, Refused> {
    let mut diagnostics = Vec::new();
    let mut labels: BTreeMap<(Section, &str), u32> = BTreeMap::new();
    let mut sizes: BTreeMap<Section, u32> = BTreeMap::new();
    let mut statements = Vec::new();
    let mut section = None;
    let mut start = 0;
    for whole in text.split_inclusive('\n') {
        let mut line = line::Line::new(text, start, whole);
        start += whole.len();
        if line.is_empty() {
            continue;
        }
        if line.text().starts_with('.') {
            match line.directive() {
                Ok(new) if sizes.contains_key(&new) => diagnostics
                    .push(line.error("this section has been begun before", Some("join the two"))),
                Ok(new) => {
                    sizes.insert(new, 0);
                    section = Some(new);
                }
                Err(error) => diagnostics.push(error),
            }
            continue;
        }
        let Some(section) = section else {
            let help = "begin with `.tile COLUMN ROW` or `.switch COLUMN ROW`";
            diagnostics.push(line.error("instruction outside a section", Some(help)));
            continue;
        };
        let size = sizes.entry(section).or_default();
        while let Some(label) = line.label() {
            if labels.insert((section, label), *size).is_some() {
                let message = format!("label `{label}` is declared twice in this section");
                diagnostics.push(line.error(&message, None));
            }
        }
        if !line.is_empty() {
            let index = *size;
            *size += line.words(section);
            statements.push(Statement { section, index, line });
        }
    }
    let mut program = Program::default();
    for statement in &statements {
        let find = |name: &str| labels.get(&(statement.section, name)).copied();
        let result = match statement.section {
            Section::Tile(place) => statement.line.tile(statement.index, &find).map(|words| {
                program.code.entry(place).or_default().0.extend(words);
            }),
            Section::Switch(place) => statement.line.switch(&find).map(|word| {
                program.code.entry(place).or_default().1.push(word);
            }),
        };
        diagnostics.extend(result.err());
    }
    if diagnostics.is_empty() {
        return Ok(program);
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.bytes.start);
    Err(Refused { diagnostics, path: path.to_owned(), text: text.to_owned() })
}
