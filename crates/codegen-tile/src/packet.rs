//! Fields of the header window, and bytes of the payload.
//!
//! Several reads of a step share one check that their bytes are in the packet. If some bytes are
//! missing, the routine `fetch` makes a copy in the frame with zeros in their place, and the reads
//! use the copy.

use std::collections::HashMap;

use wireloom_ir::{OpKind, Value};
use wireloom_isa::raw::tile::Op as Do;

use super::calls;
use super::code::{Code, FRAME, FRONT, Instruction, NOTHING, Operand, Register, WINDOW, ZERO};
use super::frame;
use super::lower::Lower;
use super::words::{self, Words};

/// The maximum number of bytes for which one check is used.
const SPAN: u32 = 160;

/// A read of up to this many bytes after the beginning of a header leaves the fast way if they are
/// not in the window. All packets of IPv6, and of TCP over IPv4, have them.
const USUAL: u32 = 40;

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
    origin: Origin,
    /// Whether it includes the payload.
    is_whole: bool,
    /// The offset of its first byte from the origin. `end` is the offset after its last byte.
    first: u32,
    end: u32,
    /// The address of the first byte.
    address: Register,
    /// The address modulo 4, if it is the same for all packets.
    align: Option<u32>,
    /// The loaded pieces, by offset and size in bytes.
    loaded: HashMap<(i32, u32), Operand>,
}

impl Lower<'_> {
    /// Splits an offset into an origin, a constant, and the word of a run-time origin.
    fn origin(&self, base: Value) -> (Origin, u32, Operand) {
        match self.word(base) {
            Operand::Number(base) => (Origin::First, base, NOTHING),
            word => (Origin::Value(base), 0, word),
        }
    }

    /// Reads a field of the window.
    pub fn read_packet(&mut self, base: Value, bit: u32, width: u32) -> Words {
        let (origin, constant, word) = self.origin(base);
        let (first, end) = (constant + bit / 8, constant + (bit + width).div_ceil(8));
        let has = |view: &View| {
            !view.is_whole && view.origin == origin && view.first <= first && end <= view.end
        };
        if !self.view.as_ref().is_some_and(has) {
            let (first, end) = self.extent(origin, first, end);
            self.look(origin, word, first, end, false);
        }
        let bit = 8 * constant + bit;
        self.extract(bit, width)
    }

    /// Returns the range of bytes that this read and later ones need, up to the next change of the
    /// packet.
    fn extent(&self, origin: Origin, mut first: u32, mut end: u32) -> (u32, u32) {
        for op in &self.ops[self.at + 1..] {
            match &op.kind {
                OpKind::ReadPacket { base, bit } => {
                    // Offsets of later reads may not be computed yet.
                    if !self.values.contains_key(base) {
                        continue;
                    }
                    let (other, constant, _) = self.origin(*base);
                    let width = op.results.first().map_or(0, |result| self.width(*result));
                    let (own, to) = (constant + bit / 8, constant + (bit + width).div_ceil(8));
                    let both = (first.min(own), end.max(to));
                    if other == origin && both.1 - both.0 <= SPAN {
                        (first, end) = both;
                    }
                }
                OpKind::WritePacket { .. }
                | OpKind::Insert { .. }
                | OpKind::Remove { .. }
                | OpKind::Reset { .. } => break,
                OpKind::Call { offload, method, .. }
                    if calls::changes_packet(self.instance.engine, *offload, *method) =>
                {
                    break;
                }
                _ => {}
            }
        }
        (first, end)
    }

    /// Makes bytes of the window or of the whole packet readable.
    pub fn look(&mut self, origin: Origin, word: Operand, first: u32, end: u32, is_whole: bool) {
        let align = match origin {
            Origin::First => self.front,
            Origin::Value(base) => self.base_align(base),
        };
        if !is_whole && self.has_window(origin, word, end) {
            let address = self.code.two(Do::Addu, FRONT.into(), word);
            let address = self.code.in_register(address);
            let (first, loaded) = (0, HashMap::new());
            self.view = Some(View { origin, is_whole, first, end, address, align, loaded });
            return;
        }
        let align = align.map(|align| (align + first) % 4);
        let copy = (self.base + self.views) as i32 + align.unwrap_or(0) as i32;
        self.views += (end - first + 8).next_multiple_of(4);
        let limit = if is_whole { self.load(frame::LENGTH, 1)[0] } else { WINDOW.into() };
        let code = &mut self.code;
        let last = code.two(Do::Addu, word, Operand::Number(end));
        let is_short = code.two(Do::Sltu, limit, last);
        let start = code.two(Do::Addu, word, Operand::Number(first));
        let address = code.two(Do::Addu, FRONT.into(), start);
        let address = match address {
            // This register is new, so it may be changed.
            Operand::In(own @ Register::Value(_)) => own,
            other => code.fresh(other),
        };
        let (short, go_on) = (code.label(), code.label());
        let is_short = code.in_register(is_short);
        code.branch(Do::Bne, is_short, ZERO, &short);
        code.apart(|code| {
            code.place(&short);
            code.immediate(Do::Addiu, address, FRAME, copy);
            let arguments = [start, limit, Operand::Number(end - first), address.into()];
            for (at, argument) in arguments.into_iter().enumerate() {
                code.store(argument, FRAME, frame::FETCH as i32 + 4 * at as i32);
            }
            // The routine preserves all registers.
            code.push(Instruction { label: "fetch".into(), ..Instruction::new(Do::Jal) });
            code.needs("fetch");
            code.jump(&go_on);
        });
        code.place(&go_on);
        let loaded = HashMap::new();
        self.view = Some(View { origin, is_whole, first, end, address, align, loaded });
    }

    /// Whether the bytes up to an offset are always in the window. Before the first effect of the
    /// fast way, the code leaves the fast way if they are not.
    fn has_window(&mut self, origin: Origin, word: Operand, end: u32) -> bool {
        if self.window.get(&origin).is_some_and(|known| *known >= end) {
            return true;
        }
        // Loads of bytes that are not in the window must still have addresses in the buffer.
        let is_near = match origin {
            Origin::First => true,
            Origin::Value(base) => self.width(base) <= 16,
        };
        let Some(all) = self.leave.clone().filter(|_| is_near && end <= USUAL) else {
            return false;
        };
        let last = self.code.two(Do::Addu, word, Operand::Number(end));
        let is_short = self.code.two(Do::Sltu, WINDOW.into(), last);
        let is_short = self.code.in_register(is_short);
        self.code.branch(Do::Bne, is_short, ZERO, &all);
        self.window.insert(origin, end);
        true
    }

    /// Returns bits of the view, counted from its origin.
    pub fn extract(&mut self, bit: u32, width: u32) -> Words {
        let Some(view) = &mut self.view else { unreachable!("the bytes were looked for") };
        let end = bit - 8 * view.first + width;
        let part = |at: usize| {
            let wanted = (width - 32 * at as u32).min(32);
            view.part(&mut self.code, end - 32 * at as u32 - wanted, wanted)
        };
        (0..words::count(width)).map(part).collect()
    }

    /// Writes a field of the window if the whole field is in the window.
    pub fn write_packet(&mut self, base: Value, bit: u32, value: Value) {
        let (origin, constant, word) = self.origin(base);
        let (width, value) = (self.width(value), self.get(value));
        let end = constant + (bit + width).div_ceil(8);
        let is_there = self.window.get(&origin).is_some_and(|known| *known >= end);
        let skip = (!is_there).then(|| self.code.label());
        if let Some(skip) = &skip {
            let last = self.code.two(Do::Addu, word, Operand::Number(end));
            let is_short = self.code.two(Do::Sltu, WINDOW.into(), last);
            let is_short = self.code.in_register(is_short);
            self.code.branch(Do::Bne, is_short, ZERO, skip);
        }
        let address = self.code.two(Do::Addu, FRONT.into(), word);
        let address = self.code.in_register(address);
        let align = match origin {
            Origin::First => self.front,
            Origin::Value(base) => self.base_align(base),
        };
        // Fields past the window are not written, so constant offsets in written code are small.
        if end <= 256 {
            put(&mut self.code, address, align, 8 * constant + bit, &value, width);
        }
        skip.iter().for_each(|skip| self.code.place(skip));
        self.view = None;
    }

    /// Discards all facts about the packet, since its bytes or its length have changed.
    pub fn forget(&mut self) {
        self.view = None;
        self.window.clear();
    }

    /// Returns the facts about the packet, for [`Self::rejoin`].
    pub fn known(&self) -> (Option<View>, HashMap<Origin, u32>) {
        (self.view.clone(), self.window.clone())
    }

    /// Keeps the earlier facts that still hold, at the end of code that some packets skip.
    pub fn rejoin(&mut self, (view, mut window): (Option<View>, HashMap<Origin, u32>)) {
        self.view = self.view.take().and(view);
        window.retain(|origin, known| self.window.get(origin).is_some_and(|now| now >= known));
        self.window = window;
    }

    /// Returns the address modulo 4 of the byte at a run-time offset from the front.
    fn base_align(&self, base: Value) -> Option<u32> {
        let base = self.aligned.value(self.step, &self.ops, base)?;
        self.front.map(|front| (front + base) % 4)
    }

    /// Inserts or removes bytes or replaces the packet, by a routine. Returns whether that was
    /// possible.
    pub fn resize(&mut self, routine: &'static str, arguments: &[Value]) -> Words {
        let words: Words = arguments.iter().map(|value| self.word(*value)).collect();
        self.forget();
        let is_whole = arguments
            .last()
            .is_some_and(|count| self.aligned.value(self.step, &self.ops, *count) == Some(0));
        // The front stays the same modulo 4 only if success and failure leave it the same.
        self.front = match routine {
            "replace" if self.front != Some(frame::ALIGN) => None,
            _ => self.front.filter(|_| is_whole),
        };
        let done = self.code.call(routine, &words, 1);
        if routine == "replace" {
            self.cut_rest(|lower| lower.code.choose(done[0], Operand::Number(0xffff), NOTHING));
        }
        done
    }

    /// Removes bytes from the end of the packet's tail outside the tiles, at most all of them. The
    /// word that identifies the tail remains, since the keeper of the tail must be told in the end.
    pub fn cut_rest(&mut self, count: impl FnOnce(&mut Self) -> Operand) {
        if !self.layout.has_rest {
            return;
        }
        let count = count(self);
        let word = self.load(frame::REST, 1)[0];
        let bytes = self.code.two(Do::And, word, Operand::Number(0xffff));
        let is_more = self.code.two(Do::Sltu, bytes, count);
        let cut = self.code.choose(is_more, bytes, count);
        let word = self.code.two(Do::Subu, word, cut);
        self.store(frame::REST, &[word]);
    }
}

impl View {
    /// Returns at most 32 bits from a bit after the view's first byte.
    fn part(&mut self, code: &mut Code, bit: u32, width: u32) -> Operand {
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
