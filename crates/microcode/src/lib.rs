//! Assembler and linker of microengine programs: from text to the contents of a control store, and
//! back.
//!
//! `preprocess` (includes, macros, conditions) turns files into lines. `program` reads directives,
//! blocks and instructions. `flow` and `allocate` assign registers. Then the tables of
//! `wireloom_isa::microengine` encode each instruction. docs/microcode.md describes the language.

mod allocate;
mod blocks;
mod defer;
pub mod diagnostic;
mod expression;
mod flow;
mod line;
mod link;
mod listing;
mod names;
mod object;
mod preprocess;
mod program;
mod registers;
mod statement;

use std::path::Path;

use wireloom_isa::microengine::{Image, Version};

pub use diagnostic::{CODES, Diagnostic, Refused, SourceFile};
pub use listing::disassemble;
pub use object::{Malformed, read_object, write_object};

/// The inputs of the assembler besides the text.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The names that are defined before the first line, as by `#define`.
    pub definitions: Vec<(String, String)>,
    /// The version, unless the text states it.
    pub version: Option<Version>,
    /// The size of the control store in words, unless the text states it; by default the largest of
    /// the version.
    pub control_store: Option<usize>,
    /// Whether to fill defer slots (`.optimise` in the text does so too).
    pub optimise: bool,
}

/// Assembles a program. `read` reads the files that the program includes.
pub fn assemble(
    path: &str,
    text: &str,
    options: &Options,
    read: &mut dyn FnMut(&Path) -> Result<String, String>,
) -> Result<Image, Refused> {
    let mut preprocessor = preprocess::Preprocessor::new(read);
    for (name, value) in &options.definitions {
        preprocessor.define(name, value);
    }
    preprocessor.file(path, text.to_owned(), 0);
    let preprocess::Preprocessor { files, lines, mut errors, .. } = preprocessor;
    let result = if errors.is_empty() {
        program::read(lines, options).and_then(|program| link::link(program, &files))
    } else {
        Err(Vec::new())
    };
    match result {
        Ok(image) => Ok(image),
        Err(more) => {
            errors.extend(more);
            errors.sort_by_key(|error| (error.place.file, error.place.bytes.start));
            errors.dedup();
            errors.truncate(preprocess::MAX_ERRORS);
            Err(Refused { diagnostics: errors, files })
        }
    }
}

/// Writes the values of imported names into an image. Names that the image does not import are
/// ignored. The error is the name of an import without a value.
pub fn supply(image: &mut Image, values: &[(&str, u32)]) -> Result<(), String> {
    use wireloom_isa::microengine::{Instruction, decode, encode};
    let imports = std::mem::take(&mut image.imports);
    for import in &imports {
        let value = values.iter().find(|(name, _)| *name == import.name);
        let (_, value) = value.ok_or_else(|| import.name.clone())?;
        let halves = [(&import.low, *value as u16), (&import.high, (*value >> 16) as u16)];
        for (addresses, half) in halves {
            for &address in addresses {
                let Some(word) = image.words.get_mut(usize::from(address)) else { continue };
                let Some(Instruction::ImmediateWord { destination, word: which, .. }) =
                    decode(image.version, *word, address)
                else {
                    continue;
                };
                let loaded = Instruction::ImmediateWord { destination, word: which, value: half };
                if let Ok(encoded) = encode(image.version, &loaded, address) {
                    *word = encoded;
                }
            }
        }
    }
    Ok(())
}
