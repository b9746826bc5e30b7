//! The routine that clears bytes of the header window.

use super::super::code::Code;
use super::super::operand::{Operand, Register, Shift, Target};
use super::super::routine::Routine;
use super::super::state::State;

/// Clears bytes of the frame.
pub struct Clear {
    /// The byte of the frame at which they begin.
    pub from: Register,
    /// The number of bytes.
    pub count: Register,
}

impl Clear {
    pub const ROUTINE: Routine =
        Routine::new(11, "Clear", |code, state| Self::of(code).write(code, state));

    pub fn of(code: &mut Code) -> Self {
        Self { from: code.shared("clear_from", true), count: code.shared("clear_count", false) }
    }

    fn write(&self, code: &mut Code, state: State) {
        let Self { from, count } = *self;
        let number = Operand::Number;
        let (next, done) = (code.label(), code.label());
        let [end, at, mask, by, word] = [(); 5].map(|()| code.register());
        code.alu(end, from.into(), "+", count.into());
        code.alu(at, from.into(), "AND~", number(3));
        code.place(next);
        code.alu(Target::None, at.into(), "-", end.into());
        code.branch("br>=0", done);
        code.alu(mask, number(0), "-", number(1));
        // The bytes of this word before the range stay.
        let (first, last) = (code.label(), code.label());
        code.alu(by, from.into(), "-", at.into());
        code.branch("br<=0", first);
        code.shift(by, Operand::None, "B", by.into(), Shift::Left(3));
        code.shift_by(mask, Operand::None, "B", mask.into(), Shift::RightIndirect, by);
        code.place(first);
        // The bytes of this word after the range stay.
        code.alu(by, at.into(), "+", number(4));
        code.alu(by, by.into(), "-", end.into());
        code.branch("br<=0", last);
        code.shift(by, Operand::None, "B", by.into(), Shift::Left(3));
        code.shift_by(mask, Operand::None, "B", mask.into(), Shift::RightIndirect, by);
        code.shift_by(mask, Operand::None, "B", mask.into(), Shift::LeftIndirect, by);
        code.place(last);
        code.shift(word, Operand::None, "B", at.into(), Shift::Right(2));
        code.command("sram[read", "$0", state.frame.into(), word.into(), 1);
        let kept = code.register();
        code.alu(kept, Operand::Transfer(0), "AND~", mask.into());
        state.store(code, word.into(), &[kept.into()]);
        code.alu(at, at.into(), "+", number(4));
        code.branch("br", next);
        code.place(done);
    }
}
