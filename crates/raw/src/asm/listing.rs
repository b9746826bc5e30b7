//! Disassembles programs into a source that the assembler reads.

use std::collections::BTreeSet;
use std::fmt::Write;

use wireloom_isa::raw::switch::{self, CONTROL};
use wireloom_isa::raw::tile::{self, Slot};

use super::Program;

/// Disassembles a program. Assembling the text gives the same words.
///
/// # Errors
/// If a word is not an instruction, or a target is outside its program: the text names it.
pub fn listing(program: &Program) -> Result<String, String> {
    let mut text = String::new();
    for (x, y) in program.tiles() {
        let (words, switch_words) = program.of((x, y));
        if !words.is_empty() {
            let mut lines = Vec::new();
            let mut targets = BTreeSet::new();
            for (index, word) in (0..).zip(words) {
                let code = tile::decode(*word).map_err(|e| format!("tile ({x},{y}): {e}"))?;
                let slots = code.op.row().slots;
                if slots.contains(&Slot::Jump) {
                    targets.insert(code.immediate);
                } else if slots.contains(&Slot::Branch) {
                    targets.insert(code.immediate.wrapping_add(index + 1));
                }
                lines.push(tile::disassemble(&code, index));
            }
            let _ = writeln!(text, ".tile {x} {y}");
            write(&mut text, &lines, &targets).map_err(|e| format!("tile ({x},{y}): {e}"))?;
        }
        if !switch_words.is_empty() {
            let mut lines = Vec::new();
            let mut targets = BTreeSet::new();
            for word in switch_words {
                let code = switch::decode(*word).map_err(|e| format!("switch ({x},{y}): {e}"))?;
                if CONTROL[code.control as usize].2.contains(&switch::Slot::Target) {
                    targets.insert(u32::from(code.constant));
                }
                lines.push(switch::disassemble(&code));
            }
            let _ = writeln!(text, ".switch {x} {y}");
            write(&mut text, &lines, &targets).map_err(|e| format!("switch ({x},{y}): {e}"))?;
        }
    }
    for (address, words) in program.data() {
        let _ = writeln!(text, ".data {address:#x}");
        for words in words.chunks(8) {
            let words: Vec<_> = words.iter().map(|word| format!("{word:#x}")).collect();
            let _ = writeln!(text, "        .word {}", words.join(", "));
        }
    }
    Ok(text)
}

/// Writes lines with the labels of their targets. A target can be the end of the program.
fn write(text: &mut String, lines: &[String], targets: &BTreeSet<u32>) -> Result<(), String> {
    if let Some(target) = targets.last().filter(|target| **target as usize > lines.len()) {
        return Err(format!("the target {target} is past the program's end"));
    }
    for (index, line) in (0..).zip(lines) {
        if targets.contains(&index) {
            let _ = writeln!(text, "l{index}:");
        }
        let _ = writeln!(text, "        {line}");
    }
    if targets.contains(&(lines.len() as u32)) {
        let _ = writeln!(text, "l{}:", lines.len());
    }
    Ok(())
}
