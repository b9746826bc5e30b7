//! The routine that moves bytes of the header window.

use super::super::code::Code;
use super::super::operand::{Operand, Register, Shift, Target};
use super::super::routine::Routine;
use super::super::state::State;
use super::super::words;

/// Moves bytes within the frame, word by word. It destroys the bytes before `to` in the same word,
/// which are before the window.
pub struct Move {
    /// The byte of the frame at which the source begins.
    pub from: Register,
    /// The byte of the frame at which the target begins.
    pub to: Register,
    /// The number of bytes.
    pub count: Register,
}

impl Move {
    pub const ROUTINE: Routine =
        Routine::new(10, "Move", |code, state| Self::of(code).write(code, state));

    pub fn of(code: &mut Code) -> Self {
        let names = [("move_from", true), ("move_to", false), ("move_count", true)];
        let [from, to, count] = names.map(|(name, is_a)| code.shared(name, is_a));
        Self { from, to, count }
    }

    fn write(&self, code: &mut Code, state: State) {
        let Self { from, to, count } = *self;
        let (done, next, up, begin) = (code.label(), code.label(), code.label(), code.label());
        let number = Operand::Number;
        code.alu(Target::None, number(0), "-", count.into());
        code.branch("br=cout", done);
        // The first word and the last word of the target, the step, and the distance from target to
        // source.
        let [end, word, last, step, distance] = [(); 5].map(|()| code.register());
        code.alu(end, to.into(), "+", count.into());
        code.alu(distance, from.into(), "-", to.into());
        code.shift(word, Operand::None, "B", to.into(), Shift::Right(2));
        code.alu(last, end.into(), "-", number(1));
        code.shift(last, Operand::None, "B", last.into(), Shift::Right(2));
        code.set(step, number(1));
        words::compare(code, &vec![from.into()], &vec![to.into()]);
        code.branch("br=cout", up);
        // A move to higher addresses begins with the last word.
        let first = code.copy(word.into());
        code.set(word, last.into());
        code.set(last, first.into());
        code.alu(step, number(0), "-", number(1));
        code.place(up);
        code.branch("br", begin);
        code.place(next);
        code.alu(word, word.into(), "+", step.into());
        code.place(begin);
        let [at, left, right, high, low] = [(); 5].map(|()| code.register());
        code.shift(at, Operand::None, "B", word.into(), Shift::Left(2));
        code.alu(at, at.into(), "+", distance.into());
        code.alu(left, at.into(), "AND", number(3));
        code.shift(left, Operand::None, "B", left.into(), Shift::Left(3));
        code.alu(right, number(31), "-", left.into());
        code.shift(at, Operand::None, "B", at.into(), Shift::Right(2));
        code.command("sram[read", "$0", state.frame.into(), at.into(), 2);
        code.shift_by(high, Operand::None, "B", Operand::Transfer(0), Shift::LeftIndirect, left);
        code.shift(low, Operand::None, "B", Operand::Transfer(1), Shift::Right(1));
        code.shift_by(high, high.into(), "OR", low.into(), Shift::RightIndirect, right);
        // The last word keeps `over` bytes after the target.
        let (over, whole) = (code.register(), code.label());
        code.shift(over, Operand::None, "B", word.into(), Shift::Left(2));
        code.alu(over, over.into(), "+", number(4));
        code.alu(over, over.into(), "-", end.into());
        code.branch("br<=0", whole);
        let kept = code.register();
        code.shift(over, Operand::None, "B", over.into(), Shift::Left(3));
        code.alu(left, number(0), "-", over.into());
        code.alu(left, left.into(), "AND", number(31));
        code.command("sram[read", "$0", state.frame.into(), word.into(), 1);
        code.shift_by(kept, Operand::None, "B", Operand::Transfer(0), Shift::LeftIndirect, left);
        code.shift_by(kept, Operand::None, "B", kept.into(), Shift::RightIndirect, left);
        code.shift_by(high, Operand::None, "B", high.into(), Shift::RightIndirect, over);
        code.shift_by(high, kept.into(), "OR", high.into(), Shift::LeftIndirect, over);
        code.place(whole);
        state.store(code, word.into(), &[high.into()]);
        code.alu(Target::None, word.into(), "-", last.into());
        code.branch("br!=0", next);
        code.place(done);
    }
}
