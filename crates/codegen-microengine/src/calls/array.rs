//! Changes of arrays. Packets come in order here, so an element is read and then written.

use wireloom_ir::Value;
use wireloom_offloads::Layout;

use super::super::code::{Operand, Register, Shift, Target};
use super::super::layout::{Place, Unit};
use super::super::lower::Lower;
use super::super::words::{self, Words};

/// The lowest bit and the width of each leaf of a value.
pub fn lanes(layout: &Layout) -> Vec<(u32, u32)> {
    let mut top = layout.width();
    let lane = |(_, width): &(String, u32)| {
        top -= width;
        (top, *width)
    };
    layout.fields.iter().map(lane).collect()
}

/// Adds leaf by leaf.
pub fn add(lower: &mut Lower<'_>, a: &Words, b: &Words, lanes: &[(u32, u32)]) -> Words {
    let code = &mut *lower.code;
    let mut sums = Vec::new();
    for (lo, width) in lanes {
        let (a, b) = (words::slice(code, a, *lo, *width), words::slice(code, b, *lo, *width));
        sums.push((words::sum(code, "+", &a, &b, *width), *width));
    }
    words::concat(code, &sums)
}

/// Writes words at an offset of a table.
fn write(lower: &mut Lower<'_>, unit: Unit, base: u32, offset: Register, value: &Words) {
    let code = &mut *lower.code;
    match unit {
        Unit::Sram | Unit::Scratch => {
            for (index, word) in value.iter().enumerate() {
                let word = code.copy(*word);
                code.set(Target::Transfer(index as u8), word.into());
            }
            let base = Operand::Number(base);
            let write = format!("{}[write", unit.name());
            code.command(&write, "$0", base, offset.into(), value.len() as u32);
        }
        Unit::Sdram => {
            let quad = code.register();
            code.shift(quad, Operand::None, "B", offset.into(), Shift::Right(1));
            let base = Operand::Number(base / 2);
            let quads = value.len().div_ceil(2) as u32;
            if let [word] = value[..] {
                // The other half of its quad word stays.
                code.command("sdram[read", "$$0", base, quad.into(), 1);
                let (other, odd, done) = (code.register(), code.label(), code.label());
                let word = code.copy(word);
                code.set(other, Operand::Wide(0));
                code.branch_clear(offset, 0, odd);
                code.set(Target::Wide(0), other.into());
                code.set(Target::Wide(1), word.into());
                code.branch("br", done);
                code.place(odd);
                code.set(other, Operand::Wide(1));
                code.set(Target::Wide(0), word.into());
                code.set(Target::Wide(1), other.into());
                code.place(done);
            } else {
                let mut all = value.clone();
                all.resize(2 * quads as usize, Operand::Number(0));
                for (index, word) in all.into_iter().enumerate() {
                    let word = code.copy(word);
                    code.set(Target::Wide(index as u8), word.into());
                }
            }
            code.command("sdram[write", "$$0", base, quad.into(), quads);
        }
    }
}

/// Every method of an array; the reply is the element before, and whether it was swapped.
pub fn change(
    lower: &mut Lower<'_>,
    method: &str,
    place: Place,
    args: &[Value],
    width: u32,
    lanes: &[(u32, u32)],
) -> Option<Words> {
    let Place::Elements { unit, base, shift, size } = place else { return None };
    let index = lower.get(args[0]);
    let zero = Operand::Number(0);
    let before = words::registers(lower.code, width);
    let swapped = lower.code.copy(zero);
    before.iter().for_each(|word| lower.code.set(*word, zero));
    let outside = lower.code.label();
    let offset = super::element(lower.code, &index, size, shift, outside);
    if method != "write" {
        let read = super::words_at(lower, unit, base, offset, before.len());
        for (word, read) in before.iter().zip(read) {
            lower.code.set(*word, read.into());
        }
    }
    let old = words::of(&before);
    match method {
        "read" => {}
        "write" | "exchange" => {
            let value = lower.get(args[1]);
            write(lower, unit, base, offset, &value);
        }
        "compare_swap" => {
            let (expected, value) = (lower.get(args[1]), lower.get(args[2]));
            let is_equal = words::equal(lower.code, &old, &expected);
            lower.code.set(swapped, is_equal[0]);
            lower.code.branch_clear(swapped, 0, outside);
            write(lower, unit, base, offset, &value);
        }
        _ => {
            let delta = lower.get(args[1]);
            let sum = add(lower, &old, &delta, lanes);
            write(lower, unit, base, offset, &sum);
        }
    }
    lower.code.place(outside);
    match method {
        "write" | "add" => None,
        "compare_swap" => {
            Some(words::concat(lower.code, &[(vec![swapped.into()], 1), (old, width)]))
        }
        _ => Some(old),
    }
}
