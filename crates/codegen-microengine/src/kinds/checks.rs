//! Cyclic redundancy checks of keys, by tables that all offloads share.

use wireloom_codegen::refused::Refused;

use crate::check::Check;
use crate::code::Code;
use crate::frame::ARGUMENTS;
use crate::lower::Lower;
use crate::operand::{Operand, Register, Shift, Target};
use crate::routine::Routine;
use crate::state::State;

impl Check {
    /// Computes the check of the key in the arguments. Returns the register with it, which the
    /// routine shares.
    ///
    /// # Errors
    /// If its table does not fit.
    pub fn compute(self, lower: &mut Lower<'_>, bytes: u32) -> Result<Register, Refused> {
        let Some(table) = lower.layout.checks[self as usize] else {
            return Err(lower.refuse(None, "the tables of checks do not fit: SRAM is full".into()));
        };
        let routine = Crc::of(lower.code);
        lower.code.set(routine.table, Operand::Number(table));
        lower.code.set(routine.bytes, Operand::Number(bytes));
        lower.code.call(&Crc::ROUTINE);
        Ok(routine.check)
    }
}

/// Computes the check of the bytes of a key in network order, by a table of 256 words in SRAM. The
/// key is in the arguments, the lowest word first.
struct Crc {
    /// The address of the table.
    table: Register,
    /// The number of bytes of the key.
    bytes: Register,
    check: Register,
}

impl Crc {
    const ROUTINE: Routine =
        Routine::new(20, "Crc", |code, state| Self::of(code).write(code, state));

    fn of(code: &mut Code) -> Self {
        let (table, bytes) = (code.shared("crc_table", false), code.shared("crc_bytes", true));
        Self { table, bytes, check: code.shared("crc_check", true) }
    }

    fn write(&self, code: &mut Code, state: State) {
        let Self { table, bytes, check } = *self;
        let number = Operand::Number;
        let [place, word, by, byte, mask] = [(); 5].map(|()| code.register());
        let (next, begin) = (code.label(), code.copy(number(ARGUMENTS)));
        code.alu(check, number(0), "-", number(1));
        code.set(mask, number(0xff));
        code.place(next);
        code.alu(bytes, bytes.into(), "-", number(1));
        code.shift(place, Operand::None, "B", bytes.into(), Shift::Right(2));
        code.alu(place, place.into(), "+", begin.into());
        code.command("sram[read", "$0", state.frame.into(), place.into(), 1);
        code.set(word, Operand::Transfer(0));
        code.alu(by, bytes.into(), "AND", number(3));
        code.shift(by, Operand::None, "B", by.into(), Shift::Left(3));
        code.shift_by(byte, Operand::None, "B", word.into(), Shift::RightIndirect, by);
        code.alu(byte, byte.into(), "XOR", check.into());
        code.alu(byte, byte.into(), "AND", mask.into());
        code.command("sram[read", "$0", table.into(), byte.into(), 1);
        code.shift(check, Operand::Transfer(0), "XOR", check.into(), Shift::Right(8));
        code.alu(Target::None, bytes.into(), "-", number(0));
        code.branch("br!=0", next);
        code.alu(check, Operand::None, "~B", check.into());
    }
}
