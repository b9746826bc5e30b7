//! `lpm`: the way down a trie.

use wireloom_codegen::trie::{NODE_BITS, root_bits};
use wireloom_ir::{Op, Value};

use super::super::code::{Operand, Register, Shift};
use super::super::frame::ARGUMENTS;
use super::super::layout::Unit;
use super::super::layout::prefixes::{ENTRY_BITS, KEY_BITS};
use super::super::lower::Lower;
use super::super::wide::is_wide;
use super::super::words::{self, Words};
use super::words_at;

/// The value of the longest prefix of a key. A trie is at a word of a memory.
pub fn search(
    lower: &mut Lower<'_>,
    op: &Op,
    trie: (Unit, u32),
    key: Value,
    width: u32,
) -> Option<Words> {
    let is_narrow = lower.width(key) <= KEY_BITS;
    let entry = if is_narrow { walk(lower, trie, key) } else { walk_frame(lower, trie, key) };
    if width <= ENTRY_BITS {
        return Some(vec![entry.into()]);
    }
    let unit = trie.0;
    let count = words::count(width);
    if !is_wide(width) {
        return Some(words::of(&words_at(lower, unit, 0, entry, count)));
    }
    const PART: usize = 8;
    let slot = lower.slot(op)?;
    for first in (0..count).step_by(PART) {
        let at = lower.code.register();
        lower.code.alu(at, entry.into(), "+", Operand::Number(first as u32));
        let read = words_at(lower, unit, 0, at, PART.min(count - first));
        lower.store(slot + first as u32, &words::of(&read));
    }
    None
}

/// The entry of a key in registers.
fn walk(lower: &mut Lower<'_>, (unit, base): (Unit, u32), key: Value) -> Register {
    let width = lower.width(key);
    let key = lower.get(key);
    let root = root_bits(width);
    // The key at the upper end of its words, so that its next bits are those of the last word.
    let whole = 32 * words::count(width) as u32;
    let mut rest = words::shift_left(lower.code, &key, whole - width, whole);
    let last = *rest.last().expect("a word at least");
    let offset = lower.code.register();
    lower.code.shift(offset, Operand::None, "B", last, Shift::Right(32 - root));
    let entry = words_at(lower, unit, base, offset, 1)[0];
    // Registers that change in the loop.
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

/// The entry of a key that is too wide for registers: it is in the frame, below zeros that fill its
/// highest word.
fn walk_frame(lower: &mut Lower<'_>, (unit, base): (Unit, u32), key: Value) -> Register {
    let width = lower.width(key);
    lower.store_value(ARGUMENTS, key);
    let last = ARGUMENTS + words::count(width) as u32 - 1;
    let top = lower.load(last, 1)[0];
    let root = root_bits(width);
    let offset = lower.code.register();
    lower.code.shift(offset, Operand::None, "B", top.into(), Shift::Right(32 - root));
    let entry = words_at(lower, unit, base, offset, 1)[0];
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

/// Makes a pointer the entry of its node that the highest bits of a word choose.
fn descend(lower: &mut Lower<'_>, unit: Unit, entry: Register, word: Register) {
    let code = &mut *lower.code;
    let [bits, node, at] = [(); 3].map(|()| code.register());
    code.shift(bits, Operand::None, "B", word.into(), Shift::Right(32 - NODE_BITS));
    code.shift(node, Operand::None, "B", entry.into(), Shift::Left(1));
    code.shift(node, Operand::None, "B", node.into(), Shift::Right(1));
    code.alu(at, node.into(), "+", bits.into());
    let read = words_at(lower, unit, 0, at, 1)[0];
    lower.code.set(entry, read.into());
}

/// Shifts words left.
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
