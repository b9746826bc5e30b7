//! Reading bytes of the whole packet: the window is in the frame, the payload in SDRAM.

use super::super::code::{Code, Operand, Register, Shift, Target};
use super::super::frame::{END, State};
use super::super::words;
use super::{Routine, keep};

/// `word` = four bytes of the packet from byte `at` on, the first one in the highest bits; bytes
/// past the end are 0. Then `at` is four more.
pub struct Fetch {
    /// The byte, which is less than 2^17.
    pub at: Register,
    /// The bytes.
    pub word: Register,
}

impl Fetch {
    /// Its registers.
    pub fn of(code: &mut Code) -> Self {
        Self { at: code.shared("fetch_at", true), word: code.shared("fetch_word", false) }
    }

    pub(super) fn write(&self, code: &mut Code, state: State) {
        let Self { at, word } = *self;
        let number = Operand::Number;
        let (past, done) = (code.label(), code.label());
        let [byte, left, right, low, part] = [(); 5].map(|()| code.register());
        code.set(word, number(0));
        words::compare(code, &vec![at.into()], &vec![state.window.into()]);
        code.branch("br=cout", past);
        // In the window; zeros are after it.
        code.alu(byte, at.into(), "+", state.front.into());
        shifts(code, byte, left, right);
        code.shift(byte, Operand::None, "B", byte.into(), Shift::Right(2));
        code.command("sram[read", "$0", state.frame.into(), byte.into(), 2);
        code.shift_by(part, Operand::None, "B", Operand::Transfer(0), Shift::LeftIndirect, left);
        code.shift(low, Operand::None, "B", Operand::Transfer(1), Shift::Right(1));
        code.shift_by(word, part.into(), "OR", low.into(), Shift::RightIndirect, right);
        code.place(past);
        // The byte of the payload, which may be one of the three before it.
        let before = code.register();
        code.alu(byte, at.into(), "-", state.window.into());
        code.alu(before, byte.into(), "+", number(3));
        code.branch("br<0", done);
        let (inside, begin) = (code.label(), code.register());
        code.set(before, number(0));
        code.alu(Target::None, byte.into(), "-", number(0));
        code.branch("br>=0", inside);
        code.alu(before, number(0), "-", byte.into());
        code.shift(before, Operand::None, "B", before.into(), Shift::Left(3));
        code.set(byte, number(0));
        code.place(inside);
        code.alu(Target::None, byte.into(), "-", state.payload.into());
        code.branch("br>=0", done);
        code.set(begin, number(END));
        code.alu(begin, begin.into(), "+", byte.into());
        let [quad, high] = [(); 2].map(|()| code.register());
        shifts(code, begin, left, right);
        code.shift(quad, Operand::None, "B", begin.into(), Shift::Right(3));
        let buffer = super::buffer(code);
        code.command("sdram[read", "$$0", buffer.into(), quad.into(), 2);
        let (odd, both) = (code.label(), code.label());
        code.set(high, Operand::Wide(0));
        code.set(low, Operand::Wide(1));
        code.branch_clear(begin, 2, odd);
        code.set(high, Operand::Wide(1));
        code.set(low, Operand::Wide(2));
        code.place(odd);
        code.shift_by(part, Operand::None, "B", high.into(), Shift::LeftIndirect, left);
        code.shift(low, Operand::None, "B", low.into(), Shift::Right(1));
        code.shift_by(part, part.into(), "OR", low.into(), Shift::RightIndirect, right);
        // Bytes past the end.
        let rest = code.register();
        code.alu(rest, state.payload.into(), "-", byte.into());
        code.alu(rest, number(4), "-", rest.into());
        code.branch("br<=0", both);
        code.shift(rest, Operand::None, "B", rest.into(), Shift::Left(3));
        code.shift_by(part, Operand::None, "B", part.into(), Shift::RightIndirect, rest);
        code.shift_by(part, Operand::None, "B", part.into(), Shift::LeftIndirect, rest);
        code.place(both);
        code.shift_by(word, word.into(), "OR", part.into(), Shift::RightIndirect, before);
        code.place(done);
        code.alu(at, at.into(), "+", number(4));
    }
}

/// For a byte address: 8 times its offset in a word, and 31 less that.
fn shifts(code: &mut Code, byte: Register, left: Register, right: Register) {
    code.alu(left, byte.into(), "AND", Operand::Number(3));
    code.shift(left, Operand::None, "B", left.into(), Shift::Left(3));
    code.alu(right, Operand::Number(31), "-", left.into());
}

/// Reads words of the packet into the frame.
pub struct Gather {
    /// The first byte.
    pub at: Register,
    /// The word of the frame for the last four bytes: those before them follow it.
    pub to: Register,
    /// Words.
    pub count: Register,
}

impl Gather {
    /// Its registers.
    pub fn of(code: &mut Code) -> Self {
        let to = code.shared("gather_to", true);
        Self { at: Fetch::of(code).at, to, count: code.shared("gather_count", false) }
    }

    pub(super) fn write(&self, code: &mut Code, state: State) {
        let Self { to, count, .. } = *self;
        let next = code.label();
        let word = Fetch::of(code).word;
        code.place(next);
        code.alu(count, count.into(), "-", Operand::Number(1));
        keep(code, state, &[to, count], &Routine::Fetch);
        let place = code.register();
        code.alu(place, to.into(), "+", count.into());
        state.store(code, place.into(), &[word.into()]);
        code.alu(Target::None, count.into(), "-", Operand::Number(0));
        code.branch("br!=0", next);
    }
}

/// Adds words of 16 bits of the packet, with end-around carry (RFC 1071).
pub struct Sum {
    /// The first byte.
    pub at: Register,
    /// The byte after the last one, at most the length of the packet.
    pub end: Register,
    /// The sum so far, then with them.
    pub sum: Register,
}

impl Sum {
    /// Its registers.
    pub fn of(code: &mut Code) -> Self {
        let (end, sum) = (code.shared("sum_end", true), code.shared("sum", false));
        Self { at: Fetch::of(code).at, end, sum }
    }

    pub(super) fn write(&self, code: &mut Code, state: State) {
        let Self { at, end, sum } = *self;
        let word = Fetch::of(code).word;
        let (next, done, whole) = (code.label(), code.label(), code.label());
        let (rest, part) = (code.register(), code.register());
        code.place(next);
        code.alu(Target::None, at.into(), "-", end.into());
        code.branch("br>=0", done);
        keep(code, state, &[end, sum], &Routine::Fetch);
        // `at` is four more now.
        code.alu(rest, at.into(), "-", end.into());
        code.branch("br<=0", whole);
        code.shift(rest, Operand::None, "B", rest.into(), Shift::Left(3));
        code.shift_by(word, Operand::None, "B", word.into(), Shift::RightIndirect, rest);
        code.shift_by(word, Operand::None, "B", word.into(), Shift::LeftIndirect, rest);
        code.place(whole);
        code.shift(part, Operand::None, "B", word.into(), Shift::Right(16));
        code.alu(sum, sum.into(), "+", part.into());
        code.shift(part, Operand::None, "B", word.into(), Shift::Left(16));
        code.shift(part, Operand::None, "B", part.into(), Shift::Right(16));
        code.alu(sum, sum.into(), "+", part.into());
        code.branch("br", next);
        code.place(done);
        for _ in 0..2 {
            code.shift(part, Operand::None, "B", sum.into(), Shift::Right(16));
            code.shift(sum, Operand::None, "B", sum.into(), Shift::Left(16));
            code.shift(sum, Operand::None, "B", sum.into(), Shift::Right(16));
            code.alu(sum, sum.into(), "+", part.into());
        }
    }
}
