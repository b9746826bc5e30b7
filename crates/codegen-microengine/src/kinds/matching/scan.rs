//! The routine that searches the packet for many patterns.
//!
//! The automaton is in SRAM: 256 words with the class of each byte, from 1, and a row of words for
//! each state. A row begins with the address of a record, if patterns end at the state. A word for
//! each class follows: the address of the next row, with bit 31 set if patterns end there, or 0 if
//! the search is over. A record is the length of the pattern and its value.

use crate::code::Code;
use crate::operand::{Operand, Register, Shift, Target};
use crate::routine::Routine;
use crate::routines::{Fetch, keep};
use crate::state::State;

/// Finds the leftmost match.
pub struct Scan {
    /// The byte of the packet at which the search begins.
    pub at: Register,
    /// The byte of the packet at which the search ends, at most the length of the packet.
    pub end: Register,
    /// The address of the classes of bytes.
    pub classes: Register,
    /// The row of the first state, then of the present state.
    pub row: Register,
    /// The record of the match, or 0.
    pub record: Register,
    /// The byte after the match.
    pub after: Register,
}

impl Scan {
    pub const ROUTINE: Routine =
        Routine::new(34, "Scan", |code, state| Self::of(code).write(code, state));

    pub fn of(code: &mut Code) -> Self {
        let names = [("end", true), ("classes", false), ("row", false), ("record", true)];
        let [end, classes, row, record] =
            names.map(|(name, is_a)| code.shared(&format!("scan_{name}"), is_a));
        let after = code.shared("scan_after", true);
        Self { at: Fetch::of(code).at, end, classes, row, record, after }
    }

    fn write(&self, code: &mut Code, state: State) {
        let Self { at, end, classes, row, record, after } = *self;
        let word = Fetch::of(code).word;
        let number = Operand::Number;
        let (more, next, done, dull) = (code.label(), code.label(), code.label(), code.label());
        // The number of bytes left in the word.
        let [left, byte, place, class] = [(); 4].map(|()| code.register());
        code.set(record, number(0));
        code.place(more);
        code.alu(Target::None, at.into(), "-", end.into());
        code.branch("br>=0", done);
        let kept = [end, classes, row, record, after];
        keep(code, state, &kept, &Fetch::ROUTINE);
        code.set(left, number(4));
        code.place(next);
        // The present byte is `left` bytes before `at`.
        code.alu(place, at.into(), "-", left.into());
        code.alu(Target::None, place.into(), "-", end.into());
        code.branch("br>=0", done);
        code.shift(byte, Operand::None, "B", word.into(), Shift::Right(24));
        code.shift(word, Operand::None, "B", word.into(), Shift::Left(8));
        code.command("sram[read", "$0", classes.into(), byte.into(), 1);
        code.set(class, Operand::Transfer(0));
        code.command("sram[read", "$0", row.into(), class.into(), 1);
        code.set(row, Operand::Transfer(0));
        code.alu(Target::None, Operand::None, "B", row.into());
        code.branch("br=0", done);
        code.branch_clear(row, 31, dull);
        code.shift(row, Operand::None, "B", row.into(), Shift::Left(1));
        code.shift(row, Operand::None, "B", row.into(), Shift::Right(1));
        code.command("sram[read", "$0", row.into(), number(0), 1);
        code.set(record, Operand::Transfer(0));
        code.alu(after, place.into(), "+", number(1));
        code.place(dull);
        code.alu(left, left.into(), "-", number(1));
        code.branch("br!=0", next);
        code.branch("br", more);
        code.place(done);
    }
}
