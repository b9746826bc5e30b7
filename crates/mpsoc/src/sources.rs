//! The source lines of a program's instructions.

use wireloom_codegen_c::thread::Located;
use wireloom_isa::program::SourceLine;
use wireloom_machine::watch::{Place, Source};

use super::program::ENGINE_SOURCE;

/// The sources of a program, and the lines that each instruction comes from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The sources, the nearest to the machine first.
    pub(super) sources: Vec<Source>,
    /// For each instruction: at most one line of each source, in the order of the sources.
    places: Vec<Vec<Place>>,
}

impl Sources {
    /// The sources of an engine's program: the generated C, then the files in Loom C.
    pub fn of_engine(files: &[String], generated: &Located, built: &wireloom_isa::Program) -> Self {
        let c = Source { name: ENGINE_SOURCE.into(), text: Some(generated.text.clone()) };
        let loom = files.iter().map(|name| Source { name: name.clone(), text: None });
        let is_generated = |line: &&SourceLine| {
            let name = &built.lines.files()[line.file];
            name.rsplit('/').next() == Some(ENGINE_SOURCE)
        };
        // What the runtime's functions do is done for the line that calls them.
        let places = each_instruction(built).map(|lines| {
            let mut lines = lines.iter().filter(is_generated).map(|line| line.line).peekable();
            let first = lines.peek().copied();
            let loc = |line: u32| {
                let loc = generated.lines.get(line as usize - 1)?;
                (loc.line != 0).then_some((line, loc))
            };
            match lines.find_map(loc) {
                Some((line, loc)) => vec![
                    Place { source: 0, line },
                    Place { source: 1 + loc.file as usize, line: loc.line },
                ],
                None => first.map(|line| Place { source: 0, line }).into_iter().collect(),
            }
        });
        Self { places: places.collect(), sources: [c].into_iter().chain(loom).collect() }
    }

    /// The sources that a program's debug information names.
    pub fn of_program(program: &wireloom_isa::Program) -> Self {
        let source = |name: &String| Source { name: name.clone(), text: None };
        let place = |line: &SourceLine| Place { source: line.file, line: line.line };
        Self {
            sources: program.lines.files().iter().map(source).collect(),
            places: each_instruction(program)
                .map(|lines| lines.first().map(place).into_iter().collect())
                .collect(),
        }
    }

    /// The lines of an instruction, by its number.
    pub(super) fn places(&self, index: usize) -> &[Place] {
        self.places.get(index).map_or(&[], Vec::as_slice)
    }

    /// The line of an instruction in the source nearest to people, as `FILE:LINE`.
    pub(super) fn line(&self, index: usize) -> Option<String> {
        let place = self.places(index).last()?;
        Some(format!("{}:{}", self.sources[place.source].name, place.line))
    }
}

/// The lines of each instruction of a program.
fn each_instruction(program: &wireloom_isa::Program) -> impl Iterator<Item = &[SourceLine]> {
    let text = program.executable();
    let count = (text.bytes.len() / 4) as u32;
    (0..count).map(|index| program.lines.at(text.address + 4 * index))
}
