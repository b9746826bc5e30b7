//! Writes images as text that assembles to the same words.

use std::collections::BTreeSet;
use std::fmt::Write;

use wireloom_isa::microengine::{Image, Instruction, Version, decode, text};

/// Disassembles an image. Registers have numbers. A word that is not an instruction, or that
/// branches out of the program, becomes `.word`.
pub fn disassemble(image: &Image) -> String {
    let count = image.words.len();
    let decoded: Vec<Option<Instruction>> = image
        .words
        .iter()
        .enumerate()
        .map(|(address, &word)| decode(image.version, word, u16::try_from(address).ok()?))
        .collect();
    let target = |instruction: &Instruction| match *instruction {
        Instruction::Jump { base, .. } => Some(base),
        ref other => other.target(),
    };
    let is_inside = |instruction: &Instruction| {
        target(instruction).is_none_or(|target| usize::from(target) < count)
    };
    let targets: BTreeSet<u16> =
        decoded.iter().flatten().filter(|one| is_inside(one)).filter_map(target).collect();
    let version = if image.version == Version::One { 1 } else { 2 };
    let mut out = format!(".version {version}\n");
    for (address, instruction) in decoded.iter().enumerate() {
        if targets.contains(&(address as u16)) {
            let _ = writeln!(out, "l{address}:");
        }
        let follows = decoded.get(address + 1).copied().flatten();
        let is_whole = !matches!(instruction, Some(Instruction::LocalCsrRead { .. }))
            || matches!(follows, Some(Instruction::Immediate { .. }));
        match instruction {
            Some(instruction) if is_inside(instruction) && is_whole => {
                let _ = writeln!(out, "    {}", text::disassemble(image.version, instruction));
            }
            _ => {
                let _ = writeln!(out, "    .word {:#x}", image.words[address]);
            }
        }
    }
    out
}
