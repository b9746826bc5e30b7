//! Routines for the header window in local memory: moving it to the frame, and clearing bytes.

use super::super::code::Code;
use super::super::operand::{Operand, Register, Shift, Target};
use super::super::routine::Routine;
use super::super::state::State;
use super::super::window::{BASE, FIRST, MOVED};
use super::Clear;

/// The number of words that one command writes.
const COMMAND: u32 = 8;

/// Moves the window from local memory to the frame.
pub const TO_FRAME: Routine = Routine::new(13, "ToFrame", write_to_frame);

/// Moves the window to the frame, and records that in local memory.
fn write_to_frame(code: &mut Code, state: State) {
    let (word, next) = (code.copy(Operand::Number(FIRST)), code.label());
    let (at, left) = (code.copy(Operand::Number(4 * FIRST)), code.register());
    code.add_near(at, at, BASE);
    code.point(at);
    code.set(left, Operand::Number(MOVED / COMMAND));
    code.place(next);
    for transfer in 0..COMMAND {
        code.line(&format!("    alu[${transfer}, --, B, *l$index1++]"));
    }
    code.command("sram[write", "$0", state.frame.into(), word.into(), COMMAND);
    code.alu(word, word.into(), "+", Operand::Number(COMMAND));
    code.alu(left, left.into(), "-", Operand::Number(1));
    code.branch("br!=0", next);
    code.line("    alu[*l$index0[0], --, B, 1]");
}

impl Clear {
    /// The routine in local memory.
    pub const NEAR: Routine =
        Routine::new(12, "ClearNear", |code, _| Self::of(code).write_near(code));

    /// Clears bytes at the front of the window in local memory. Bytes before them are undefined.
    fn write_near(&self, code: &mut Code) {
        let Self { from, count } = *self;
        let (next, last, done) = (code.label(), code.label(), code.label());
        let [at, left, by] = [(); 3].map(|()| code.register());
        code.add_near(at, from, BASE);
        code.point_later(at);
        // Whole words up to the end, and the bytes in the last, partial word.
        code.alu(left, from.into(), "AND", Operand::Number(3));
        code.alu(left, left.into(), "+", count.into());
        code.alu(by, left.into(), "AND", Operand::Number(3));
        code.shift(left, Operand::None, "B", left.into(), Shift::Right(2));
        code.place(next);
        code.alu(left, left.into(), "-", Operand::Number(1));
        code.branch("br<0", last);
        code.line("    alu[*l$index1++, --, B, 0]");
        code.branch("br", next);
        code.place(last);
        code.alu(Target::None, Operand::None, "B", by.into());
        code.branch("br=0", done);
        code.shift(by, Operand::None, "B", by.into(), Shift::Left(3));
        let kept: Register = code.register();
        code.shift_by(kept, Operand::None, "B", Operand::Local(0), Shift::LeftIndirect, by);
        let word = Target::Local(0);
        code.shift_by(word, Operand::None, "B", kept.into(), Shift::RightIndirect, by);
        code.place(done);
    }
}
