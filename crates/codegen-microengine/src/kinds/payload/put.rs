//! The routine that writes bytes of the whole packet.

use crate::code::Code;
use crate::frame::{ARGUMENTS, END};
use crate::operand::{Operand, Register, Shift, Target};
use crate::routine::Routine;
use crate::routines;
use crate::state::State;
use crate::words;

/// Writes bytes of a value in the arguments into the packet, one at a time, since each may be in
/// any byte of a word of the frame or of SDRAM.
pub struct Put {
    /// The byte of the packet at which it begins.
    pub at: Register,
    /// The byte of the value at which it begins, counted from the least significant. It continues
    /// downwards.
    pub from: Register,
    /// The number of bytes.
    pub count: Register,
}

impl Put {
    pub const ROUTINE: Routine =
        Routine::new(33, "Put", |code, state| Self::of(code).write(code, state));

    pub fn of(code: &mut Code) -> Self {
        let names = [("put_at", true), ("put_from", true), ("put_count", false)];
        let [at, from, count] = names.map(|(name, is_a)| code.shared(name, is_a));
        Self { at, from, count }
    }

    fn write(&self, code: &mut Code, state: State) {
        let Self { at, from, count } = *self;
        let number = Operand::Number;
        let (next, done, past, stored) = (code.label(), code.label(), code.label(), code.label());
        let [byte, by, place, mask, old, own] = [(); 6].map(|()| code.register());
        code.place(next);
        code.alu(Target::None, Operand::None, "B", count.into());
        code.branch("br=0", done);
        code.shift(place, Operand::None, "B", from.into(), Shift::Right(2));
        let begin = code.copy(number(ARGUMENTS));
        code.alu(place, place.into(), "+", begin.into());
        code.command("sram[read", "$0", state.frame.into(), place.into(), 1);
        code.alu(by, from.into(), "AND", number(3));
        code.shift(by, Operand::None, "B", by.into(), Shift::Left(3));
        code.shift_by(byte, Operand::None, "B", Operand::Transfer(0), Shift::RightIndirect, by);
        code.set(mask, number(0xff));
        code.alu(byte, byte.into(), "AND", mask.into());
        words::compare(code, &vec![at.into()], &vec![state.window.into()]);
        code.branch("br=cout", past);
        code.alu(place, at.into(), "+", state.front.into());
        lane(code, place, by);
        code.shift(place, Operand::None, "B", place.into(), Shift::Right(2));
        code.command("sram[read", "$0", state.frame.into(), place.into(), 1);
        code.set(old, Operand::Transfer(0));
        replace(code, old, mask, byte, by, own);
        state.store(code, place.into(), &[own.into()]);
        code.branch("br", stored);
        code.place(past);
        let (quad, other, odd) = (code.register(), code.register(), code.label());
        code.set(place, number(END));
        code.alu(place, place.into(), "+", at.into());
        code.alu(place, place.into(), "-", state.window.into());
        lane(code, place, by);
        code.shift(quad, Operand::None, "B", place.into(), Shift::Right(3));
        let buffer = routines::buffer(code);
        code.command("sdram[read", "$$0", buffer.into(), quad.into(), 1);
        let written = code.label();
        code.shift(place, Operand::None, "B", place.into(), Shift::Right(2));
        code.branch_clear(place, 0, odd);
        code.set(old, Operand::Wide(1));
        code.set(other, Operand::Wide(0));
        replace(code, old, mask, byte, by, own);
        code.set(Target::Wide(0), other.into());
        code.set(Target::Wide(1), own.into());
        code.branch("br", written);
        code.place(odd);
        code.set(old, Operand::Wide(0));
        code.set(other, Operand::Wide(1));
        replace(code, old, mask, byte, by, own);
        code.set(Target::Wide(0), own.into());
        code.set(Target::Wide(1), other.into());
        code.place(written);
        code.command("sdram[write", "$$0", buffer.into(), quad.into(), 1);
        code.place(stored);
        code.alu(at, at.into(), "+", number(1));
        code.alu(from, from.into(), "-", number(1));
        code.alu(count, count.into(), "-", number(1));
        code.branch("br", next);
        code.place(done);
    }
}

/// Computes the number of bits of a word below a byte.
fn lane(code: &mut Code, place: Register, by: Register) {
    code.alu(by, place.into(), "AND", Operand::Number(3));
    code.alu(by, Operand::Number(3), "-", by.into());
    code.shift(by, Operand::None, "B", by.into(), Shift::Left(3));
}

/// `own` = `old` with a byte replaced.
fn replace(
    code: &mut Code,
    old: Register,
    mask: Register,
    byte: Register,
    by: Register,
    own: Register,
) {
    code.shift_by(own, old.into(), "AND~", mask.into(), Shift::LeftIndirect, by);
    code.shift_by(own, own.into(), "OR", byte.into(), Shift::LeftIndirect, by);
}
