//! Source lines of instructions, from a program's debug information (DWARF).

use addr2line::Context;
use addr2line::gimli::{Dwarf, EndianSlice, LittleEndian, Reader, SectionId};

/// The source lines of a program's instructions. A program without debug information has none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    files: Vec<String>,
    /// The address of the first instruction.
    first: u32,
    /// For each instruction: the end of its lines in `lines`.
    ends: Vec<u32>,
    lines: Vec<SourceLine>,
}

/// A line of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The number of the file in [`Lines::files`].
    pub file: usize,
    /// The line, from 1.
    pub line: u32,
}

impl Lines {
    /// Takes the lines of so many instructions of 4 bytes from the debug information in `section`,
    /// which returns the contents of a section by its name. Damaged information counts as none.
    pub(super) fn read<'a>(
        section: impl Fn(&str) -> &'a [u8],
        first: u32,
        instructions: u32,
    ) -> Self {
        let mut lines = Self { first, ..Self::default() };
        let load = |id: SectionId| {
            Ok::<_, std::convert::Infallible>(EndianSlice::new(section(id.name()), LittleEndian))
        };
        let Ok(dwarf) = Dwarf::load(load);
        let Ok(context) = Context::from_dwarf(dwarf) else { return lines };
        if section(".debug_line").is_empty() {
            return lines;
        }
        for address in (0..instructions).map(|index| u64::from(first) + 4 * u64::from(index)) {
            lines.add(&context, address);
            lines.ends.push(lines.lines.len() as u32);
        }
        lines
    }

    /// Appends the lines of an instruction.
    fn add<R: Reader>(&mut self, context: &Context<R>, address: u64) {
        let Ok(mut frames) = context.find_frames(address).skip_all_loads() else { return };
        while let Ok(Some(frame)) = frames.next() {
            let Some(place) = frame.location else { continue };
            let (Some(file), Some(line)) = (place.file, place.line.filter(|line| *line != 0))
            else {
                continue;
            };
            let number = self.files.iter().position(|known| known == file).unwrap_or_else(|| {
                self.files.push(file.to_owned());
                self.files.len() - 1
            });
            self.lines.push(SourceLine { file: number, line });
        }
    }

    /// The paths of the sources, as the compiler wrote them.
    pub fn files(&self) -> &[String] {
        &self.files
    }

    /// The line of the instruction at an address, and after it the lines of the calls that it was
    /// inlined for, the innermost first; empty if nothing is known.
    pub fn at(&self, address: u32) -> &[SourceLine] {
        let index = (address.wrapping_sub(self.first) / 4) as usize;
        let Some(&end) = self.ends.get(index) else { return &[] };
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.lines[start as usize..end as usize]
    }
}
