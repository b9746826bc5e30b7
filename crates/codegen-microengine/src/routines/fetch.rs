//! The routine that reads bytes of the whole packet: the window in the frame, the payload in SDRAM.

use super::super::code::Code;
use super::super::frame::END;
use super::super::operand::{Operand, Register, Shift, Target};
use super::super::routine::Routine;
use super::super::state::State;
use super::super::words;

/// Reads four bytes of the packet from byte `at` on into `word`, the first byte in the highest
/// bits. Bytes past the end are 0. Adds 4 to `at`.
pub struct Fetch {
    /// The number of the byte, less than 2^17.
    pub at: Register,
    pub word: Register,
}

impl Fetch {
    pub const ROUTINE: Routine =
        Routine::new(30, "Fetch", |code, state| Self::of(code).write(code, state));

    pub fn of(code: &mut Code) -> Self {
        Self { at: code.shared("fetch_at", true), word: code.shared("fetch_word", false) }
    }

    fn write(&self, code: &mut Code, state: State) {
        let Self { at, word } = *self;
        let number = Operand::Number;
        let (past, done) = (code.label(), code.label());
        let [byte, left, right, low, part] = [(); 5].map(|()| code.register());
        code.set(word, number(0));
        words::compare(code, &vec![at.into()], &vec![state.window.into()]);
        code.branch("br=cout", past);
        // The byte is in the window. Zeros follow the window.
        code.alu(byte, at.into(), "+", state.front.into());
        shifts(code, byte, left, right);
        code.shift(byte, Operand::None, "B", byte.into(), Shift::Right(2));
        code.command("sram[read", "$0", state.frame.into(), byte.into(), 2);
        code.shift_by(part, Operand::None, "B", Operand::Transfer(0), Shift::LeftIndirect, left);
        code.shift(low, Operand::None, "B", Operand::Transfer(1), Shift::Right(1));
        code.shift_by(word, part.into(), "OR", low.into(), Shift::RightIndirect, right);
        code.place(past);
        // The byte of the payload. The first one may be up to three bytes later.
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
        // Clear the bytes past the end.
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

/// Computes 8 times the offset of a byte in its word, and 31 less that.
fn shifts(code: &mut Code, byte: Register, left: Register, right: Register) {
    code.alu(left, byte.into(), "AND", Operand::Number(3));
    code.shift(left, Operand::None, "B", left.into(), Shift::Left(3));
    code.alu(right, Operand::Number(31), "-", left.into());
}
