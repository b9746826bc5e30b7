//! Listings of the programs of tiles and switches: instructions next to the assembler's source and
//! Loom C.

use wireloom_isa::raw::{switch, tile};
use wireloom_machine::watch::{Instruction, Listing, Place, Source, loom_lines};
use wireloom_machine::{Profile, Profiler};

use crate::Chip;
use crate::asm::{Assembled, Program, UnitOf, assemble_whole};

/// The name of the source that the compiler writes.
const SOURCE: &str = "engine.rasm";
/// Instructions after which execution never continues with the next one.
const JUMPS: [&str; 4] = ["j", "jr", "b", "break"];

/// The programs of a machine, without duplicates.
#[derive(Clone, Debug, Default)]
pub struct Programs {
    pub listings: Vec<Listing>,
    /// The program of each thread: of a tile and of its switch, in turn.
    pub of: Vec<Option<usize>>,
}

/// The sources of programs.
struct Sources {
    /// Assembler sources first.
    sources: Vec<Source>,
    /// For each line of the first source the line of Loom C that it comes from.
    loom: Vec<Option<Place>>,
}

impl Sources {
    /// Whether the compiler wrote the assembler source.
    fn is_engine(&self) -> bool {
        !self.loom.is_empty()
    }

    /// Returns the number of assembler sources. An engine has one, and all others are in Loom C.
    fn own(&self) -> usize {
        if self.is_engine() { 1 } else { self.sources.len() }
    }
}

/// Returns the instructions of a unit as text.
fn texts(program: &Program, (place, is_switch): UnitOf) -> Vec<String> {
    let (words, switch_words) = program.of(place);
    if is_switch {
        let decoded = switch_words.iter().filter_map(|word| switch::decode(*word).ok());
        return decoded.map(|instruction| switch::disassemble(&instruction)).collect();
    }
    let decoded = words.iter().map(|word| tile::decode(*word));
    let decoded = (0..).zip(decoded).filter_map(|(index, code)| Some((index, code.ok()?)));
    decoded.map(|(index, instruction)| tile::disassemble(&instruction, index)).collect()
}

/// Returns the text of an instruction, with the label of its target.
fn with_label(text: String, labels: &[(String, u32)]) -> String {
    let last = text
        .split([' ', ','])
        .find(|word| word.strip_prefix('l').is_some_and(|number| number.parse::<u32>().is_ok()));
    let Some(word) = last.map(str::to_owned) else { return text };
    let label = labels.iter().find(|(_, index)| word[1..] == index.to_string());
    match label {
        Some((name, _)) => text.replacen(&word, name, 1),
        None => text,
    }
}

impl Programs {
    /// Makes the listings of an engine's programs, on a chip of `size` columns and rows. `text` is
    /// their source, `files` are the sources in Loom C.
    pub fn of_engine(program: &Program, text: &str, files: &[String], size: (u8, u8)) -> Self {
        // The text was assembled before. If this failed, there would be no names and lines.
        let assembled = assemble_whole(SOURCE, text, &crate::routers::part).unwrap_or_default();
        let own = Source { name: SOURCE.to_owned(), text: Some(text.to_owned()) };
        let others = files.iter().map(|name| Source { name: name.clone(), text: None });
        let sources = [own].into_iter().chain(others).collect();
        let lines = loom_lines(text, files, &JUMPS).into_iter();
        let loom = lines.map(|line| line.map(|(file, line)| Place { source: 1 + file, line }));
        Self::of(program, &assembled, &Sources { sources, loom: loom.collect() }, size)
    }

    /// Makes the listings of hand-written programs. `sources` are the files that
    /// [`Assembled::files`] names.
    pub fn by_hand(assembled: &Assembled, sources: Vec<Source>, size: (u8, u8)) -> Self {
        Self::of(&assembled.program, assembled, &Sources { sources, loom: Vec::new() }, size)
    }

    /// Whether the processor of a tile has a program, on a chip with `columns` columns.
    pub fn has_processor(&self, (x, y): (u8, u8), columns: usize) -> bool {
        self.of[super::THREADS * (usize::from(y) * columns + usize::from(x))].is_some()
    }

    /// Returns the line of an instruction of a thread, as `FILE:LINE` in the highest-level source,
    /// and its text.
    pub fn place(&self, thread: usize, address: u64) -> Option<(String, &str)> {
        let listing = &self.listings[self.of.get(thread).copied().flatten()?];
        let line = listing.line_of(address)?;
        Some((line, &listing.instructions.get(usize::try_from(address).ok()?)?.text))
    }

    /// Returns the counts of processors and switches for each line. `is_compiled` is whether the
    /// programs belong to an engine.
    pub fn profile(&self, chip: &Chip, is_compiled: bool) -> Profile {
        let mut profiler = Profiler::default();
        for (thread, listing) in self.of.iter().enumerate() {
            let Some(listing) = listing.map(|number| &self.listings[number]) else { continue };
            let tile = thread / super::THREADS;
            match thread % super::THREADS {
                0 => profiler.add(listing, is_compiled, chip.tiles[tile].counts()),
                _ => profiler.add(listing, is_compiled, chip.switches[tile].counts()),
            }
        }
        profiler.profile()
    }

    fn of(program: &Program, assembled: &Assembled, sources: &Sources, size: (u8, u8)) -> Self {
        let mut programs = Self::default();
        let mut known: Vec<UnitOf> = Vec::new();
        for place in (0..size.1).flat_map(|y| (0..size.0).map(move |x| (x, y))) {
            for is_switch in [false, true] {
                let unit = (place, is_switch);
                let has_none = match program.of(place) {
                    (words, _) if !is_switch => words.is_empty(),
                    (_, words) => words.is_empty(),
                };
                if has_none {
                    programs.of.push(None);
                    continue;
                }
                // In an engine many tiles have the same program. By hand, one section is one
                // program.
                let has_same_lines = |other: &UnitOf| {
                    sources.is_engine() || assembled.lines.get(other) == assembled.lines.get(&unit)
                };
                let is_same = |other: &UnitOf| {
                    other.1 == is_switch
                        && has_same_lines(other)
                        && match (program.of(other.0), program.of(place)) {
                            ((one, _), (two, _)) if !is_switch => one == two,
                            ((_, one), (_, two)) => one == two,
                        }
                };
                let number = known.iter().position(is_same).unwrap_or_else(|| {
                    known.push(unit);
                    programs.listings.push(listing(program, unit, assembled, sources));
                    known.len() - 1
                });
                programs.of.push(Some(number));
            }
        }
        programs
    }
}

fn listing(program: &Program, unit: UnitOf, assembled: &Assembled, sources: &Sources) -> Listing {
    let ((x, y), is_switch) = unit;
    let kind = if is_switch { "switch" } else { "tile" };
    let labels = assembled.labels.get(&unit).map_or(&[][..], Vec::as_slice);
    let lines = assembled.lines.get(&unit).map_or(&[][..], Vec::as_slice);
    let instruction = |(number, text): (usize, String)| {
        let mut places = Vec::new();
        if let Some(&(source, line)) = lines.get(number).filter(|(file, _)| *file < sources.own()) {
            places.push(Place { source, line });
            // The compiler's comments are part of that source.
            let above = sources.loom.get(line as usize - 1).filter(|_| source == 0);
            places.extend(above.copied().flatten());
        }
        Instruction { text: with_label(text, labels), places }
    };
    Listing {
        name: format!("{kind}-{x}-{y}"),
        instructions: texts(program, unit).into_iter().enumerate().map(instruction).collect(),
        labels: labels.iter().map(|(name, index)| (name.clone(), u64::from(*index))).collect(),
        sources: sources.sources.clone(),
    }
}
