//! Bytes of the packet that code can access: the loads that read bits of them, and the stores that
//! change bits.

use std::collections::HashMap;

use wireloom_ir::Value;
use wireloom_isa::raw::tile::Op as Do;

use super::code::{Code, NOTHING, Operand, Register};
use super::words;

/// The origin of an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// The packet's first byte.
    First,
    /// The byte at a run-time offset.
    Value(Value),
}

/// Bytes of the packet that are readable.
#[derive(Clone, Debug)]
pub struct View {
    pub origin: Origin,
    /// Whether it includes the payload.
    pub is_whole: bool,
    /// The offset of its first byte from the origin. `end` is the offset after its last byte.
    pub first: u32,
    pub end: u32,
    /// The address of the first byte.
    pub address: Register,
    /// The address modulo 4, if it is the same for all packets.
    pub align: Option<u32>,
    /// The loaded pieces, by offset and size in bytes.
    pub loaded: HashMap<(i32, u32), Operand>,
}

impl View {
    /// Returns at most 32 bits from a bit after the view's first byte.
    pub fn part(&mut self, code: &mut Code, bit: u32, width: u32) -> Operand {
        let (first, end) = (bit / 8, (bit + width).div_ceil(8));
        let trailing = 8 * end - (bit + width);
        let into = self.align.map(|align| (align + first) % 4);
        let pieces = match into {
            // One aligned word contains all bits.
            Some(into) if into + (end - first) <= 4 && !is_piece(into, end - first) => {
                vec![(first as i32 - into as i32, 4)]
            }
            _ => pieces(first, end, self.align),
        };
        let mut all = NOTHING;
        let mut leading = 0;
        for (offset, size) in pieces {
            let word = *self.loaded.entry((offset, size)).or_insert_with(|| {
                let op = [Do::Lbu, Do::Lbu, Do::Lhu, Do::Lw, Do::Lw][size as usize];
                let word = code.register();
                code.memory(op, word, self.address, offset);
                word.into()
            });
            leading = leading.max(8 * first as i32 - 8 * offset);
            let up = 8 * (end as i32 - offset - size as i32) - trailing as i32;
            let op = if up < 0 { Do::Srl } else { Do::Sll };
            let word = code.shift(op, word, up.unsigned_abs());
            all = code.two(Do::Or, all, word);
        }
        let is_clean = width == 32 || leading + (bit - 8 * first) as i32 == 0;
        if is_clean { all } else { code.two(Do::And, all, Operand::Number(words::top(width))) }
    }
}

/// Whether bytes at an address modulo 4 can be loaded at once.
fn is_piece(into: u32, size: u32) -> bool {
    size == 1 || size == 2 && into.is_multiple_of(2)
}

/// Cuts bytes into pieces that loads and stores can access at once: offset and size.
fn pieces(first: u32, end: u32, align: Option<u32>) -> Vec<(i32, u32)> {
    let mut pieces = Vec::new();
    let mut at = first;
    while at < end {
        let size = match align.map(|align| (align + at) % 4) {
            Some(0) if end - at >= 4 => 4,
            Some(0 | 2) if end - at >= 2 => 2,
            _ => 1,
        };
        pieces.push((at as i32, size));
        at += size;
    }
    pieces
}

/// Stores a value at a bit after an address, which is `align` modulo 4 if that is known.
pub fn put(
    code: &mut Code,
    address: Register,
    align: Option<u32>,
    bit: u32,
    value: &[Operand],
    width: u32,
) {
    let end = bit + width;
    let (first, last) = (bit.div_ceil(8), end / 8);
    // Stores some bits of a byte and keeps the others.
    let mut partial = |from: u32, to: u32| {
        let byte = from / 8;
        let (up, count) = (8 * (byte + 1) - to, to - from);
        let mask = ((1 << count) - 1) << up;
        let own = code.slice(value, width, end - to, count)[0];
        let own = code.shift(Do::Sll, own, up);
        let there = code.register();
        code.memory(Do::Lbu, there, address, byte as i32);
        let kept = code.two(Do::And, there.into(), Operand::Number(0xff & !mask));
        let both = code.two(Do::Or, kept, own);
        let both = code.in_register(both);
        code.memory(Do::Sb, both, address, byte as i32);
    };
    if bit / 8 == (end - 1) / 8 && width < 8 {
        return partial(bit, end);
    }
    if !bit.is_multiple_of(8) {
        partial(bit, 8 * first);
    }
    if !end.is_multiple_of(8) {
        partial(8 * last, end);
    }
    for (offset, size) in pieces(first, last, align) {
        let to = 8 * (offset as u32 + size);
        let low = end - to;
        // A store uses the low bits of its register, so the bits above them need not be cleared.
        let (skip, by) = ((low / 32) as usize, low % 32);
        let word = match by {
            0 => value[skip],
            _ if 8 * size <= 32 - by => code.shift(Do::Srl, value[skip], by),
            _ => code.slice(value, width, low, 8 * size)[0],
        };
        let word = code.in_register(word);
        let op = [Do::Sb, Do::Sb, Do::Sh, Do::Sw, Do::Sw][size as usize];
        code.memory(op, word, address, offset);
    }
}
