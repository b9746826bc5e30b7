//! The assembler for programs of tile and switch processors.
//!
//! ```text
//! .tile 0 0                     # column and row
//! loop:   addiu $csto, $t0, 1
//!         bne $t0, $t1, loop
//!         break
//! .switch 0-3 0                 # columns 0 to 3: each of them has this program
//!         movei $1, COUNT
//! again:  bnezd $1, $1, again route $csto->$cEo, $cWi->$csti
//!         halt
//! .equ COUNT, 7
//! .include parts/more.rasm NAME=1 # the text of a file, in which {NAME} is 1
//! .data 0x10000                 # the address, for the memory that holds it
//! table:  .word 1, 2, table
//!         .half -1
//! ```
//!
//! Labels of programs belong to their section. Labels of data belong to the whole source. Tile
//! programs have `nop`, `move`, `li`, `la` and `b` in addition to the instructions of the table.
//! The assembler reports all errors, each with its place.

mod data;
mod directives;
mod elf;
mod include;
mod line;
mod listing;
mod object;
mod source;

use std::collections::BTreeMap;
use std::ops::Range;

use codespan_reporting::diagnostic::{Diagnostic as Shown, Label};
use codespan_reporting::files::SimpleFiles;
use codespan_reporting::term;
use wireloom_files::printable;

pub use elf::add_elf;
pub use include::Read;
pub use listing::listing;
pub use object::{read_object, write_object};
pub use source::{
    Assembled, Labels, Lines, UnitOf, assemble, assemble_whole, assemble_with, assemble_with_labels,
};

use include::Whole;

/// Column and row of a tile.
pub type Place = (u8, u8);

/// The programs of a chip.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The words of the tile processor and of the switch processor.
    code: BTreeMap<Place, (Vec<u32>, Vec<u64>)>,
    /// Words for memories, by the address of the first word.
    data: BTreeMap<u32, Vec<u32>>,
}

impl Program {
    /// Returns the words of a tile processor and of its switch.
    pub fn of(&self, place: Place) -> (&[u32], &[u64]) {
        self.code.get(&place).map_or((&[], &[]), |(tile, switch)| (tile, switch))
    }

    /// Returns the tiles that have programs.
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

    /// Returns the words for memories, each run with the address of its first word, in order of
    /// addresses.
    pub fn data(&self) -> impl Iterator<Item = (u32, &[u32])> {
        self.data.iter().map(|(address, words)| (*address, words.as_slice()))
    }

    /// Sets words of a memory from an address, a multiple of 4.
    pub fn set_data(&mut self, address: u32, words: Vec<u32>) {
        self.data.insert(address, words);
    }
}

/// An error in a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The problem, in one line.
    pub message: String,
    /// A range of bytes in the source, with included files expanded.
    pub bytes: Range<usize>,
    /// How to fix the problem, if the assembler can say.
    pub help: Option<String>,
}

/// A source with errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The errors, in the order of the source.
    pub diagnostics: Vec<Diagnostic>,
    whole: Whole,
}

impl Refused {
    /// Returns the errors as text: each with its line, the place underlined.
    pub fn render(&self) -> String {
        let mut files = SimpleFiles::new();
        for file in &self.whole.files {
            files.add(printable(&file.name), printable(&file.text));
        }
        let mut buffer = term::termcolor::Buffer::no_color();
        for diagnostic in &self.diagnostics {
            let help = diagnostic.help.iter().map(|help| format!("help: {}", printable(help)));
            let (file, bytes) = self.whole.place(&diagnostic.bytes);
            let shown = Shown::error()
                .with_message(printable(&diagnostic.message))
                .with_label(Label::primary(file, bytes))
                .with_notes(help.collect());
            // Writing to memory cannot fail, and all places lie within the text.
            let config = term::Config::default();
            let _ = term::emit_to_write_style(&mut buffer, &config, &files, &shown);
        }
        String::from_utf8_lossy(buffer.as_slice()).trim_end().to_owned()
    }
}
