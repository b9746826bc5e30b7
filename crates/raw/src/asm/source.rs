//! The two passes over a source. The first finds the places of statements and labels, the second
//! encodes words.

use std::collections::BTreeMap;

use super::data::Block;
use super::include::{Read, Whole};
use super::line::{Constants, Line};
use super::{Diagnostic, Place, Program, Refused};

/// The tiles of a section: columns and rows, the last ones included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Area {
    pub columns: (u8, u8),
    pub rows: (u8, u8),
}

impl Area {
    fn places(self) -> impl Iterator<Item = Place> {
        (self.rows.0..=self.rows.1)
            .flat_map(move |y| (self.columns.0..=self.columns.1).map(move |x| (x, y)))
    }
}

/// The section that lines belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Section {
    Tile(Area),
    Switch(Area),
    /// Data from an address on.
    Data(u32),
}

impl Section {
    /// Returns the units that run the program of the section.
    fn units(self) -> impl Iterator<Item = UnitOf> {
        let (area, is_switch) = match self {
            Self::Tile(area) => (Some(area), false),
            Self::Switch(area) => (Some(area), true),
            Self::Data(_) => (None, false),
        };
        area.into_iter().flat_map(Area::places).map(move |place| (place, is_switch))
    }

    /// Whether two sections are programs for the same unit.
    fn overlaps(self, other: Self) -> bool {
        let (one, two) = match (self, other) {
            (Self::Tile(one), Self::Tile(two)) | (Self::Switch(one), Self::Switch(two)) => {
                (one, two)
            }
            (Self::Data(one), Self::Data(two)) => return one == two,
            _ => return false,
        };
        let meets = |one: (u8, u8), two: (u8, u8)| one.0 <= two.1 && two.0 <= one.1;
        meets(one.columns, two.columns) && meets(one.rows, two.rows)
    }
}

/// A statement with its place in the section: instructions, or bytes.
struct Statement<'a> {
    section: Section,
    index: u32,
    line: Line<'a>,
}

/// Results of the first pass.
#[derive(Default)]
struct Found<'a> {
    sections: Vec<Section>,
    labels: BTreeMap<(Section, &'a str), u32>,
    /// Labels of data, with their addresses.
    addresses: BTreeMap<&'a str, u32>,
    statements: Vec<Statement<'a>>,
    diagnostics: Vec<Diagnostic>,
}

/// Addresses of instructions, by tile and label.
pub type Labels = BTreeMap<(Place, String), u32>;

/// The program of a unit: its tile, and whether it is the switch.
pub type UnitOf = (Place, bool);

/// The file of each instruction of a unit, by its number, and the line there, from 1.
pub type Lines = BTreeMap<UnitOf, Vec<(usize, u32)>>;

/// A program with its labels and source lines.
#[derive(Clone, Debug, Default)]
pub struct Assembled {
    pub program: Program,
    /// The labels of each unit, with the number of their instruction.
    pub labels: BTreeMap<UnitOf, Vec<(String, u32)>>,
    /// Names of the files with instructions: the source first, then the files that it includes.
    pub files: Vec<String>,
    /// The lines of instructions. File numbers are indices into `files`.
    pub lines: Lines,
}

/// Assembles a source. `path` is its name in messages. Included files come from
/// [`routers`](crate::routers).
///
/// # Errors
/// If the source has errors. One run reports all of them.
pub fn assemble(path: &str, text: &str) -> Result<Program, Refused> {
    assemble_with_labels(path, text).map(|(program, _)| program)
}

/// Assembles a source. Also returns its labels: the addresses of a tile's instructions, by tile and
/// name.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_with_labels(path: &str, text: &str) -> Result<(Program, Labels), Refused> {
    assemble_with(path, text, &crate::routers::part)
}

/// Assembles a source that includes files.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_with(path: &str, text: &str, read: Read<'_>) -> Result<(Program, Labels), Refused> {
    let Assembled { program, labels, .. } = assemble_whole(path, text, read)?;
    let of_tiles = labels.into_iter().filter(|((_, is_switch), _)| !is_switch);
    let labels = of_tiles.flat_map(|((place, _), labels)| {
        labels.into_iter().map(move |(name, index)| ((place, name), 4 * index))
    });
    Ok((program, labels.collect()))
}

/// Assembles a source. Also returns the labels and lines of its instructions.
///
/// # Errors
/// As [`assemble`].
pub fn assemble_whole(path: &str, text: &str, read: Read<'_>) -> Result<Assembled, Refused> {
    let mut whole = Whole::new(path, text, read);
    let mut diagnostics = std::mem::take(&mut whole.diagnostics);
    let constants = constants(&whole.text, &mut diagnostics);
    let mut found = Found { diagnostics, ..Found::default() };
    found.read(&whole.text, &constants);
    let program = found.program();
    if found.diagnostics.is_empty() {
        let (files, lines) = found.lines(&whole);
        return Ok(Assembled { program, labels: found.named(), files, lines });
    }
    let mut diagnostics = found.diagnostics;
    diagnostics.sort_by_key(|diagnostic| diagnostic.bytes.start);
    Err(Refused { diagnostics, whole })
}

/// Returns the lines of a source that are not blank.
fn lines<'a>(text: &'a str, constants: &'a Constants) -> impl Iterator<Item = Line<'a>> {
    let mut start = 0;
    text.split_inclusive('\n')
        .map(move |whole| {
            let line = Line::new(text, start, whole, constants);
            start += whole.len();
            line
        })
        .filter(|line| !line.is_empty())
}

/// Returns the constants of all `.equ` lines, wherever they are.
fn constants(text: &str, diagnostics: &mut Vec<Diagnostic>) -> Constants {
    let mut constants = Constants::new();
    for line in lines(text, &Constants::new()) {
        let Some(constant) = line.constant() else { continue };
        match constant {
            Ok((name, value)) if constants.insert(name.to_owned(), value).is_none() => {}
            Ok((name, _)) => {
                let message = format!("constant `{name}` is declared twice");
                diagnostics.push(line.error(&message, None));
            }
            Err(error) => diagnostics.push(error),
        }
    }
    constants
}

impl<'a> Found<'a> {
    /// Runs the first pass.
    fn read(&mut self, text: &'a str, constants: &'a Constants) {
        let (mut section, mut size) = (None, 0);
        for mut line in lines(text, constants) {
            if line.constant().is_some() {
                continue;
            }
            if line.begins_section() {
                match line.section() {
                    Ok(new) if self.sections.iter().any(|old| old.overlaps(new)) => {
                        let message = "this section has been begun before";
                        self.diagnostics.push(line.error(message, Some("join the two")));
                    }
                    Ok(new) => {
                        self.sections.push(new);
                        (section, size) = (Some(new), 0);
                    }
                    Err(error) => self.diagnostics.push(error),
                }
                continue;
            }
            let Some(section) = section else {
                let help = "begin with `.tile COLUMN ROW`, `.switch COLUMN ROW` or `.data ADDRESS`";
                self.diagnostics.push(line.error("statement outside a section", Some(help)));
                continue;
            };
            while let Some(label) = line.label() {
                let old = match section {
                    Section::Data(base) => self.addresses.insert(label, base + size),
                    _ => self.labels.insert((section, label), size),
                };
                if old.is_some() {
                    let message = format!("label `{label}` is declared twice in this section");
                    self.diagnostics.push(line.error(&message, None));
                }
            }
            if line.is_empty() {
                continue;
            }
            let words = match section {
                Section::Data(base) => line.data_bytes(base + size),
                Section::Tile(_) => Ok(line.words()),
                Section::Switch(_) => Ok(1),
            };
            match words {
                Ok(words) => {
                    self.statements.push(Statement { section, index: size, line });
                    size += words;
                }
                Err(error) => self.diagnostics.push(error),
            }
        }
    }

    /// Returns the labels of each unit, with the numbers of their instructions.
    fn named(&self) -> BTreeMap<UnitOf, Vec<(String, u32)>> {
        let mut named: BTreeMap<UnitOf, Vec<(String, u32)>> = BTreeMap::new();
        for ((section, name), index) in &self.labels {
            for unit in section.units() {
                named.entry(unit).or_default().push(((*name).to_owned(), *index));
            }
        }
        named.values_mut().for_each(|labels| labels.sort_by_key(|(_, index)| *index));
        named
    }

    /// Returns the names of the files, each once, and the file and line of each instruction.
    fn lines(&self, whole: &Whole) -> (Vec<String>, Lines) {
        let mut names: Vec<String> = Vec::new();
        // Each inclusion of a file is a separate text.
        let mut number_of = |name: &String| {
            names.iter().position(|known| known == name).unwrap_or_else(|| {
                names.push(name.clone());
                names.len() - 1
            })
        };
        let numbers: Vec<usize> = whole.files.iter().map(|file| number_of(&file.name)).collect();
        let ends_of = |text: &str| text.match_indices('\n').map(|(at, _)| at).collect();
        let ends: Vec<Vec<usize>> = whole.files.iter().map(|file| ends_of(&file.text)).collect();
        let mut lines = Lines::new();
        for Statement { section, line, .. } in &self.statements {
            let (file, bytes) = whole.place(&line.bytes());
            let number = ends[file].partition_point(|end| *end < bytes.start) as u32 + 1;
            let words = if let Section::Tile(_) = section { line.words() } else { 1 };
            for unit in section.units() {
                lines.entry(unit).or_default().extend((0..words).map(|_| (numbers[file], number)));
            }
        }
        (names, lines)
    }

    /// Runs the second pass.
    fn program(&mut self) -> Program {
        let mut program = Program::default();
        let mut blocks: BTreeMap<u32, Block> = BTreeMap::new();
        for Statement { section, index, line } in &self.statements {
            let find = |name: &str| self.labels.get(&(*section, name)).copied();
            let address = |name: &str| self.addresses.get(name).copied();
            let result = match section {
                Section::Tile(area) => line.tile(*index, &find, &address).map(|words| {
                    for place in area.places() {
                        program.code.entry(place).or_default().0.extend(&words);
                    }
                }),
                Section::Switch(area) => line.switch(&find).map(|word| {
                    for place in area.places() {
                        program.code.entry(place).or_default().1.push(word);
                    }
                }),
                Section::Data(base) => {
                    let block = blocks.entry(*base).or_insert_with(|| Block::new(*line));
                    line.data(&address, block)
                }
            };
            self.diagnostics.extend(result.err());
        }
        let mut end = 0;
        for (base, block) in blocks {
            if u64::from(base) < end {
                let message = "this data lies over that of another section";
                self.diagnostics.push(block.line.error(message, Some("change an address")));
            }
            let words = block.words();
            end = u64::from(base) + 4 * words.len() as u64;
            if !words.is_empty() {
                program.data.insert(base, words);
            }
        }
        program
    }
}
