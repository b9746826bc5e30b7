//! Object files (`.robj`): lines of text, so that people can read and compare them.
//!
//! ```text
//! wireloom raw 1
//! tile 0 0 24080001 0000000d
//! switch 0 0 0000000000020000
//! data 00010000 00000001
//! ```

use std::fmt::Write;

use super::{Place, Program};

const HEAD: &str = "wireloom raw 1";

/// Writes a program as an object file.
pub fn write_object(program: &Program) -> String {
    let mut text = format!("{HEAD}\n");
    for (x, y) in program.tiles() {
        let (tile, switch) = program.of((x, y));
        if !tile.is_empty() {
            let _ = write!(text, "tile {x} {y}");
            tile.iter().for_each(|word| _ = write!(text, " {word:08x}"));
            text.push('\n');
        }
        if !switch.is_empty() {
            let _ = write!(text, "switch {x} {y}");
            switch.iter().for_each(|word| _ = write!(text, " {word:016x}"));
            text.push('\n');
        }
    }
    for (address, words) in program.data() {
        let _ = write!(text, "data {address:08x}");
        words.iter().for_each(|word| _ = write!(text, " {word:08x}"));
        text.push('\n');
    }
    text
}

/// Reads an object file.
///
/// # Errors
/// If the text is not an object file: the line and the reason.
pub fn read_object(text: &str) -> Result<Program, String> {
    let mut program = Program::default();
    if text.lines().next() != Some(HEAD) {
        return Err(format!("line 1: no object file of a tiled processor: `{HEAD}` is missing"));
    }
    for (number, line) in text.lines().enumerate().skip(1) {
        let wrong = || format!("line {}: malformed: {:.40}", number + 1, line);
        let mut parts = line.split_ascii_whitespace();
        let Some(kind) = parts.next() else { continue };
        let place = |parts: &mut dyn Iterator<Item = &str>| -> Option<Place> {
            Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
        };
        match kind {
            "tile" => {
                let place = place(&mut parts).ok_or_else(wrong)?;
                let words = parts.map(|word| u32::from_str_radix(word, 16));
                program.set_tile(place, words.collect::<Result<_, _>>().map_err(|_| wrong())?);
            }
            "switch" => {
                let place = place(&mut parts).ok_or_else(wrong)?;
                let words = parts.map(|word| u64::from_str_radix(word, 16));
                program.set_switch(place, words.collect::<Result<_, _>>().map_err(|_| wrong())?);
            }
            "data" => {
                let address = parts.next().and_then(|word| u32::from_str_radix(word, 16).ok());
                let address = address.filter(|address| address % 4 == 0).ok_or_else(wrong)?;
                let words = parts.map(|word| u32::from_str_radix(word, 16));
                program.set_data(address, words.collect::<Result<_, _>>().map_err(|_| wrong())?);
            }
            _ => return Err(wrong()),
        }
    }
    Ok(program)
}
