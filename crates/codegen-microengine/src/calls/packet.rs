//! Calls that read and write bytes of the whole packet.

use wireloom_ir::{Op, Value};

use super::super::code::{Code, Label, Operand, Register, Target};
use super::super::frame::{ARGUMENTS, END};
use super::super::layout::Place;
use super::super::lower::Lower;
use super::super::resize::fits;
use super::super::routines::{Gather, Move, Put, Routine, Scan, Sum};
use super::super::wide::{is_wide, pieces};
use super::super::words::{self, Words};

/// The bytes of the packet.
fn total(lower: &mut Lower<'_>) -> Register {
    let total = lower.code.register();
    let (window, payload) = (lower.state.window, lower.state.payload);
    lower.code.alu(total, window.into(), "+", payload.into());
    total
}

/// `first + count`, or the length of the packet if that is less.
fn end(lower: &mut Lower<'_>, target: Register, first: Operand, count: Operand) {
    let total = total(lower);
    let code = &mut *lower.code;
    let inside = code.label();
    code.alu(target, first, "+", count);
    words::compare(code, &vec![total.into()], &vec![target.into()]);
    code.branch("br=cout", inside);
    code.set(target, total.into());
    code.place(inside);
}

/// `payload.read`: a chunk of this width.
pub fn read(lower: &mut Lower<'_>, op: &Op, offset: Value, width: u32) -> Option<Words> {
    let offset = lower.get(offset)[0];
    let count = width.div_ceil(32);
    let code = &mut *lower.code;
    let gather = Gather::of(code);
    code.set(gather.at, offset);
    code.set(gather.to, Operand::Number(ARGUMENTS));
    code.set(gather.count, Operand::Number(count));
    code.call(&Routine::Gather);
    // The first byte is the highest.
    lower.reply(op, 32 * count - width, width)
}

/// Branches unless `count` bytes are at most those of a chunk.
fn within_chunk(code: &mut Code, count: Operand, width: u32, refused: Label) {
    fits(code, count, Operand::Number(width / 8), refused);
}

/// Writes the first `count` bytes of the value in the arguments from a byte of the packet on.
fn put(code: &mut Code, at: Operand, count: Operand, width: u32) {
    let put = Put::of(code);
    code.set(put.at, at);
    code.set(put.from, Operand::Number(width / 8 - 1));
    code.set(put.count, count);
    code.call(&Routine::Put);
}

/// `payload.write`.
pub fn write(lower: &mut Lower<'_>, offset: Value, data: Value, count: Value) -> Words {
    let width = lower.width(data);
    let (offset, count) = (lower.get(offset)[0], lower.get(count)[0]);
    let total = total(lower);
    let refused = lower.code.label();
    within_chunk(lower.code, count, width, refused);
    let last = lower.code.register();
    lower.code.alu(last, offset, "+", count);
    fits(lower.code, last.into(), total.into(), refused);
    lower.store_value(ARGUMENTS, data);
    put(lower.code, offset, count, width);
    lower.whether(refused)
}

/// `payload.append`.
pub fn append(lower: &mut Lower<'_>, data: Value, bytes: Value) -> Words {
    let width = lower.width(data);
    let count = lower.get(bytes)[0];
    let before = total(lower);
    let refused = lower.code.label();
    within_chunk(lower.code, count, width, refused);
    let more = lower.code.register();
    lower.code.alu(more, before.into(), "+", count);
    fits(lower.code, more.into(), Operand::Number(65_535), refused);
    lower.store_value(ARGUMENTS, data);
    let (window, payload, front) = (lower.state.window, lower.state.payload, lower.state.front);
    let code = &mut *lower.code;
    // A payload begins where the longest window ends: a shorter one without a payload moves there.
    let moved = Move::of(code);
    let joined = code.label();
    code.alu(Target::None, Operand::None, "B", payload.into());
    code.branch("br!=0", joined);
    let end = code.copy(Operand::Number(END));
    code.set(moved.from, front.into());
    code.alu(front, end.into(), "-", window.into());
    code.set(moved.to, front.into());
    code.set(moved.count, window.into());
    code.call(&Routine::Move);
    code.place(joined);
    let count = lower.again(bytes)[0];
    let before = total(lower);
    lower.code.alu(payload, payload.into(), "+", count);
    put(lower.code, before.into(), count, width);
    lower.whether(refused)
}

/// `checksum.sum`.
pub fn sum(lower: &mut Lower<'_>, offset: Value, length: Value, initial: Value) -> Words {
    let [offset, length, initial] = [offset, length, initial].map(|value| lower.get(value)[0]);
    let routine = Sum::of(lower.code);
    lower.code.set(routine.at, offset);
    lower.code.set(routine.sum, initial);
    end(lower, routine.end, offset, length);
    lower.code.call(&Routine::Sum);
    vec![lower.code.copy(routine.sum.into()).into()]
}

/// `match.scan`: found, offset and value. Values have at most 128 bits.
pub fn scan(
    lower: &mut Lower<'_>,
    place: Place,
    offset: Value,
    length: Value,
    width: u32,
) -> Words {
    let Place::Automaton { classes, start } = place else { return Words::new() };
    let (offset, length) = (lower.get(offset)[0], lower.get(length)[0]);
    let routine = Scan::of(lower.code);
    lower.code.set(routine.at, offset);
    lower.code.set(routine.classes, Operand::Number(classes));
    lower.code.set(routine.row, Operand::Number(start));
    end(lower, routine.end, offset, length);
    lower.code.call(&Routine::Scan);
    let code = &mut *lower.code;
    let (found, at) = (code.register(), code.register());
    let value = words::registers(code, width);
    let done = code.label();
    code.set(found, Operand::Number(0));
    code.set(at, Operand::Number(0));
    value.iter().for_each(|word| code.set(*word, Operand::Number(0)));
    code.alu(Target::None, Operand::None, "B", routine.record.into());
    code.branch("br=0", done);
    let count = value.len() as u32 + 1;
    code.command("sram[read", "$0", routine.record.into(), Operand::Number(0), count);
    code.alu(at, routine.after.into(), "-", Operand::Transfer(0));
    for (index, word) in value.iter().enumerate() {
        code.set(*word, Operand::Transfer(index as u8 + 1));
    }
    code.set(found, Operand::Number(1));
    code.place(done);
    let parts = [(vec![found.into()], 1), (vec![at.into()], 16), (words::of(&value), width)];
    words::concat(code, &parts)
}

impl Lower<'_> {
    /// The reply of this width in the arguments, from a bit on.
    pub(in super::super) fn reply(&mut self, op: &Op, lo: u32, width: u32) -> Option<Words> {
        let piece = |lower: &mut Self, lo: u32, width: u32| {
            let (first, count) = (lo / 32, (lo + width).div_ceil(32) - lo / 32);
            let words = lower.load(ARGUMENTS + first, count as usize);
            words::slice(lower.code, &words::of(&words), lo % 32, width)
        };
        if !is_wide(width) {
            return Some(piece(self, lo, width));
        }
        let slot = self.slot(op)?;
        for (at, part) in pieces(width) {
            let words = piece(self, lo + at, part);
            self.store(slot + at / 32, &words);
        }
        None
    }
}
