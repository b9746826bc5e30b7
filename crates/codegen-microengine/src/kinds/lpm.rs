//! `lpm`: tables of prefixes as tries in SRAM or SDRAM, packed.

mod contents;

use wireloom_codegen::refused::Refused;
use wireloom_codegen::trie::{NODE_BITS, root_bits};
use wireloom_ir::Value;
use wireloom_offloads::{Config, Instance};

use self::contents::{ENTRY_BITS, KEY_BITS};
use super::declared::value_width;
use crate::calls::{Call, Methods};
use crate::frame::ARGUMENTS;
use crate::kind::{KindOnMicroengines, Wanted};
use crate::lower::Lower;
use crate::memory::read_packed;
use crate::operand::{Operand, Register, Shift};
use crate::unit::{Region, Unit};
use crate::words::{self, Words, is_wide};

pub struct Lpm;

impl KindOnMicroengines for Lpm {
    fn name(&self) -> &'static str {
        "lpm"
    }

    fn wanted(
        &self,
        config: &Config,
        instance: &mut dyn Instance,
        most: u32,
    ) -> Result<Option<Wanted>, String> {
        let words = contents::prefixes(config, instance, 0, most)?.len();
        Ok(Some(Wanted::growing(&[Unit::Sram, Unit::Sdram], words)))
    }

    fn image(
        &self,
        config: &Config,
        instance: &mut dyn Instance,
        region: Region,
        _: u64,
    ) -> Result<Vec<u32>, String> {
        contents::prefixes(config, instance, region.first, region.words)
    }

    fn keeps_registers(&self, method: &str) -> bool {
        method == "search"
    }
}

impl Methods for Lpm {
    fn call(&self, call: &mut Call<'_, '_>) -> Result<Option<Words>, Refused> {
        match call.method {
            "search" => Ok(search(call)),
            _ => Err(call.unsupported()),
        }
    }
}

/// Finds the value of the longest prefix of a key.
fn search(call: &mut Call<'_, '_>) -> Option<Words> {
    let Region { unit, first, .. } = call.region();
    let trie = (unit, first);
    let width = value_width(call.config);
    let Call { lower, op, args, .. } = call;
    let key = args[0];
    let is_narrow = lower.width(key) <= KEY_BITS;
    let entry = if is_narrow { walk(lower, trie, key) } else { walk_frame(lower, trie, key) };
    if width <= ENTRY_BITS {
        return Some(vec![entry.into()]);
    }
    let count = words::count(width);
    if !is_wide(width) {
        return Some(words::of(&read_packed(lower.code, unit, 0, entry, count)));
    }
    const PART: usize = 8;
    let slot = lower.slot(op)?;
    for first in (0..count).step_by(PART) {
        let at = lower.code.register();
        lower.code.alu(at, entry.into(), "+", Operand::Number(first as u32));
        let read = read_packed(lower.code, unit, 0, at, PART.min(count - first));
        lower.store(slot + first as u32, &words::of(&read));
    }
    None
}

/// Searches a key in registers. Returns the entry.
fn walk(lower: &mut Lower<'_>, (unit, base): (Unit, u32), key: Value) -> Register {
    let width = lower.width(key);
    let key = lower.get(key);
    let root = root_bits(width);
    // The key is at the upper end of its words, so that its next bits are at the top of the last
    // word.
    let whole = 32 * words::count(width) as u32;
    let mut rest = words::shift_left(lower.code, &key, whole - width, whole);
    let last = *rest.last().expect("a word at least");
    let offset = lower.code.register();
    lower.code.shift(offset, Operand::None, "B", last, Shift::Right(32 - root));
    let entry = read_packed(lower.code, unit, base, offset, 1)[0];
    // These registers change in the loop.
    let mut moving = Vec::new();
    for word in &mut rest {
        let register = lower.code.copy(*word);
        moving.push(register);
        *word = register.into();
    }
    let (next, found) = (lower.code.label(), lower.code.label());
    shift_up(lower, &moving, root);
    lower.code.place(next);
    lower.code.branch_clear(entry, 31, found);
    let top = *moving.last().expect("a word at least");
    descend(lower, unit, entry, top);
    shift_up(lower, &moving, NODE_BITS);
    lower.code.branch("br", next);
    lower.code.place(found);
    entry
}

/// Searches a key that is too wide for registers. It is in the frame, below zeros that fill its
/// highest word. Returns the entry.
fn walk_frame(lower: &mut Lower<'_>, (unit, base): (Unit, u32), key: Value) -> Register {
    let width = lower.width(key);
    lower.store_value(ARGUMENTS, key);
    let last = ARGUMENTS + words::count(width) as u32 - 1;
    let top = lower.load(last, 1)[0];
    let root = root_bits(width);
    let offset = lower.code.register();
    lower.code.shift(offset, Operand::None, "B", top.into(), Shift::Right(32 - root));
    let entry = read_packed(lower.code, unit, base, offset, 1)[0];
    let state = lower.state;
    let code = &mut *lower.code;
    let done = code.copy(Operand::Number(root));
    let end = code.copy(Operand::Number(last));
    let [at, by, word] = [(); 3].map(|()| code.register());
    let (next, found) = (code.label(), code.label());
    code.place(next);
    code.branch_clear(entry, 31, found);
    code.shift(at, Operand::None, "B", done.into(), Shift::Right(5));
    code.alu(at, end.into(), "-", at.into());
    code.command("sram[read", "$0", state.frame.into(), at.into(), 1);
    code.alu(by, done.into(), "AND", Operand::Number(31));
    code.shift_by(word, Operand::None, "B", Operand::Transfer(0), Shift::LeftIndirect, by);
    descend(lower, unit, entry, word);
    let code = &mut *lower.code;
    code.alu(done, done.into(), "+", Operand::Number(NODE_BITS));
    code.branch("br", next);
    code.place(found);
    entry
}

/// Replaces a pointer by the entry of its node that the highest bits of a word select.
fn descend(lower: &mut Lower<'_>, unit: Unit, entry: Register, word: Register) {
    let code = &mut *lower.code;
    let [bits, node, at] = [(); 3].map(|()| code.register());
    code.shift(bits, Operand::None, "B", word.into(), Shift::Right(32 - NODE_BITS));
    code.shift(node, Operand::None, "B", entry.into(), Shift::Left(1));
    code.shift(node, Operand::None, "B", node.into(), Shift::Right(1));
    code.alu(at, node.into(), "+", bits.into());
    let read = read_packed(lower.code, unit, 0, at, 1)[0];
    lower.code.set(entry, read.into());
}

/// Shifts words left as one number.
fn shift_up(lower: &mut Lower<'_>, moving: &[Register], by: u32) {
    for index in (0..moving.len()).rev() {
        let high = moving[index].into();
        let low = match index.checked_sub(1) {
            Some(below) => moving[below].into(),
            None => Operand::Number(0),
        };
        lower.code.double_shift(moving[index], high, low, 32 - by);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wireloom_bits::Bits;
    use wireloom_codegen::trie::{NODE_BITS, POINTER, root_bits};
    use wireloom_offloads::kinds::instantiate;
    use wireloom_offloads::{Entry, EntryKey};

    use super::super::tests::{Stored, call, config, stored, value};
    use super::contents::{ENTRY_BITS, padded};
    use crate::words::{self, bits};

    /// Searches as the microcode does.
    fn search(memory: &Stored, key: &Bits, width: u32) -> Bits {
        let whole = padded(key.width());
        let key = key.resize(whole);
        let word = |at: u32| memory.words[at as usize];
        // Bits past the end of the key are 0.
        let part = |done: u32, count: u32| {
            let there = count.min(whole.saturating_sub(done));
            (key.extract(whole - done - there, there) << (count - there)) as u32
        };
        let mut done = root_bits(whole);
        let mut entry = word(memory.region.first + part(0, done));
        while entry & POINTER != 0 {
            entry = word((entry & !POINTER) + part(done, NODE_BITS));
            done += NODE_BITS;
        }
        if width <= ENTRY_BITS {
            return Bits::new(width, entry.into());
        }
        // Commands of SDRAM read whole quad words.
        assert_eq!(entry % 2, 0);
        let first = entry as usize;
        bits(width, &memory.words[first..first + words::count(width)])
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn tries_in_every_memory_find_what_golden_finds(
            key_width in prop::sample::select(vec![1_u32, 8, 16, 17, 32, 56, 128, 129, 200]),
            width in prop::sample::select(vec![1_u32, 31, 32, 64, 96, 300]),
            prefixes in prop::collection::vec((0_u64..40, 0_u32..=200, 0_u64..9), 0..20),
            keys in prop::collection::vec(0_u64..60, 1..20),
        ) {
            let config = config("lpm", Some(key_width), Some(width), &[("miss", 1)]);
            let mut instance = instantiate(&config).expect("a valid declaration");
            for (seed, length, result) in prefixes {
                let length = length.min(key_width);
                let rest = key_width - length;
                // Bits after a prefix are 0.
                let kept = Bits::ones(key_width).shl(rest).and(&value(key_width, seed));
                let key = EntryKey::Prefix { bits: kept, length };
                instance.load(Entry { key, value: value(width, result) }).expect("there is room");
            }
            for memory in stored(&config, instance.as_mut()) {
                for key in &keys {
                    let key = value(key_width, *key);
                    let wanted =
                        call(&config, instance.as_mut(), "search", std::slice::from_ref(&key), 0, None);
                    assert_eq!(search(&memory, &key, width), wanted, "{:?}", memory.region.unit);
                }
            }
        }
    }
}
