//! Fields of the header window, and bytes of the payload.
//!
//! Several reads of a step share one check that their bytes are in the packet. If some bytes are
//! missing, the routine `fetch` makes a copy in the frame with zeros in their place, and the reads
//! use the copy.

use std::collections::HashMap;

use wireloom_compile::analysis::resources::writes_packet;
use wireloom_ir::{OpKind, Value};
use wireloom_isa::raw::tile::Op as Do;

use super::code::{FRAME, FRONT, Instruction, NOTHING, Operand, Register, WINDOW, ZERO};
use super::frame;
use super::lower::Lower;
use super::view::{Origin, View, put};
use super::words::{self, Words};

/// The maximum number of bytes for which one check is used.
const SPAN: u32 = 160;

/// A read of up to this many bytes after the beginning of a header leaves the fast way if they are
/// not in the window. All packets of IPv6, and of TCP over IPv4, have them.
const USUAL: u32 = 40;

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
                call if writes_packet(self.instance.engine, call) => break,
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
