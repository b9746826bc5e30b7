//! Files of images (`.uo`). They are lines of text, so that people can read and compare them.
//!
//! ```text
//! wireloom microcode 1
//! version 1
//! entry 0
//! file ipv4.uc
//! label receive 4
//! register ttl a3 0 120
//! import ROUTES 17 18
//! word 4a0b0c2d 0:12
//! ```

use std::fmt::Write;

use wireloom_isa::microengine::{
    Bank, Image, Import, Index, Register, RegisterName, Signal, SourceLine, TransferFile, Version,
};

use crate::names::{Named, raw_gpr, raw_transfer};

const HEAD: &str = "wireloom microcode 1";

/// The reason why a file is not an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The line, from 1.
    pub line: usize,
    pub why: String,
}

impl std::fmt::Display for Malformed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.why)
    }
}

fn register(register: Register) -> String {
    let indexed = |prefix: &str, index| match index {
        Index::Relative(number) => format!("{prefix}{number}"),
        Index::Absolute(number) => format!("@{prefix}{number}"),
    };
    match register {
        Register::Gpr(Bank::A, index) => indexed("a", index),
        Register::Gpr(Bank::B, index) => indexed("b", index),
        Register::Transfer(TransferFile::Sram, index) => indexed("$", index),
        Register::Transfer(TransferFile::Sdram, index) => indexed("$$", index),
        Register::Neighbour(index) => indexed("n$", index),
        Register::Signal(Signal(number)) => format!("s{number}"),
    }
}

fn numbers(numbers: &[u16]) -> String {
    let words: Vec<String> = numbers.iter().map(u16::to_string).collect();
    if words.is_empty() { "-".to_owned() } else { words.join(",") }
}

/// Writes an image as text.
pub fn write_object(image: &Image) -> String {
    let version = if image.version == Version::One { 1 } else { 2 };
    let mut out = format!("{HEAD}\nversion {version}\nentry {}\n", image.entry);
    for file in &image.files {
        let _ = writeln!(out, "file {}", file.replace(['\n', '\r'], " "));
    }
    for (name, address) in &image.labels {
        let _ = writeln!(out, "label {name} {address}");
    }
    for RegisterName { name, register: place, range } in &image.registers {
        let _ = writeln!(out, "register {name} {} {} {}", register(*place), range.0, range.1);
    }
    for Import { name, low, high } in &image.imports {
        let _ = writeln!(out, "import {name} {} {}", numbers(low), numbers(high));
    }
    for (at, word) in image.words.iter().enumerate() {
        let _ = write!(out, "word {word:x}");
        if let Some(SourceLine { file, line }) = image.lines.get(at).copied().flatten() {
            let _ = write!(out, " {file}:{line}");
        }
        out.push('\n');
    }
    out
}

/// Reads an image from text.
pub fn read_object(text: &str) -> Result<Image, Malformed> {
    let mut image = Image {
        version: Version::One,
        words: Vec::new(),
        entry: 0,
        files: Vec::new(),
        lines: Vec::new(),
        registers: Vec::new(),
        labels: Vec::new(),
        imports: Vec::new(),
    };
    let mut lines = text.lines().enumerate();
    if lines.next().map(|(_, line)| line) != Some(HEAD) {
        return Err(Malformed {
            line: 1,
            why: "this is no file of `wireloom assemble`".to_owned(),
        });
    }
    for (number, line) in lines {
        read_line(&mut image, line)
            .map_err(|why| Malformed { line: number + 1, why: why.to_owned() })?;
    }
    let last = image.words.len();
    let is_inside = |address: u16| usize::from(address) < last.max(1);
    let imports = image.imports.iter().flat_map(|import| import.low.iter().chain(&import.high));
    if !is_inside(image.entry) || !imports.copied().all(is_inside) {
        let why = "an address is beyond the program".to_owned();
        return Err(Malformed { line: text.lines().count(), why });
    }
    Ok(image)
}

fn read_line(image: &mut Image, line: &str) -> Result<(), &'static str> {
    let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
    let fields: Vec<&str> = rest.split(' ').collect();
    match (key, fields.as_slice()) {
        ("version", ["1"]) => image.version = Version::One,
        ("version", ["2"]) => image.version = Version::Two,
        ("entry", [entry]) => image.entry = entry.parse().map_err(|_| "malformed entry")?,
        ("file", _) => image.files.push(rest.to_owned()),
        ("label", [name, address]) => {
            let address = address.parse().map_err(|_| "malformed label")?;
            image.labels.push(((*name).to_owned(), address));
        }
        ("register", [name, place, from, to]) => {
            let register = read_register(place).ok_or("malformed register")?;
            let number = |text: &str| text.parse().map_err(|_| "malformed range");
            let range = (number(from)?, number(to)?);
            image.registers.push(RegisterName { name: (*name).to_owned(), register, range });
        }
        ("import", [name, low, high]) => {
            let (low, high) = (read_numbers(low)?, read_numbers(high)?);
            image.imports.push(Import { name: (*name).to_owned(), low, high });
        }
        ("word", [word, place @ ..]) if place.len() <= 1 => {
            let word = u64::from_str_radix(word, 16).map_err(|_| "malformed word")?;
            if word >> image.version.word_bits() != 0 {
                return Err("the word has more bits than an instruction");
            }
            if image.words.len() >= image.version.sizes().control_store {
                return Err("more words than a control store has");
            }
            let place = place.first().map(|place| read_place(place)).transpose()?;
            image.words.push(word);
            image.lines.push(place);
        }
        ("", _) => {}
        _ => return Err("malformed line"),
    }
    Ok(())
}

fn read_numbers(text: &str) -> Result<Vec<u16>, &'static str> {
    if text == "-" {
        return Ok(Vec::new());
    }
    text.split(',').map(|number| number.parse().map_err(|_| "malformed address")).collect()
}

fn read_place(text: &str) -> Result<SourceLine, &'static str> {
    let (file, line) = text.split_once(':').ok_or("malformed source line")?;
    let file = file.parse().map_err(|_| "malformed source line")?;
    let line = line.parse().map_err(|_| "malformed source line")?;
    Ok(SourceLine { file, line })
}

fn read_register(text: &str) -> Option<Register> {
    if let Some((bank, index)) = raw_gpr(text) {
        return Some(Register::Gpr(bank, index));
    }
    if let Some(number) = text.strip_prefix('s') {
        let number = number.parse().ok().filter(|&number: &u8| number < 16)?;
        return Some(Register::Signal(Signal(number)));
    }
    match raw_transfer(text)? {
        Named::Transfer(file, number) => Some(Register::Transfer(file, Index::Relative(number))),
        Named::Neighbour(number) => Some(Register::Neighbour(Index::Relative(number))),
        _ => None,
    }
}
