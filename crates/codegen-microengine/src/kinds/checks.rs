//! Cyclic redundancy checks of keys, by tables that all offloads share.

use wireloom_codegen::refused::Refused;

use crate::code::{Code, Operand, Register, Shift, Target};
use crate::frame::{ARGUMENTS, State};
use crate::lower::Lower;
use crate::routines::Routine;

/// A check of 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// CRC-32 of IEEE 802.3.
    Ieee,
    /// CRC-32C.
    Castagnoli,
}

impl Check {
    /// The number of checks.
    pub const COUNT: usize = 2;

    /// Returns the words of its table: the check of each byte.
    pub fn table(self) -> Vec<u32> {
        // The reflected polynomial.
        let polynomial = match self {
            Self::Ieee => 0xedb8_8320,
            Self::Castagnoli => 0x82f6_3b78,
        };
        let step =
            |check: u32, _| if check & 1 == 1 { check >> 1 ^ polynomial } else { check >> 1 };
        (0..256).map(|byte| (0..8).fold(byte, step)).collect()
    }

    /// Computes the check of the key in the arguments. Returns the register with it, which the
    /// routine shares.
    ///
    /// # Errors
    /// If its table has no place.
    pub fn compute(self, lower: &mut Lower<'_>, bytes: u32) -> Result<Register, Refused> {
        let Some(table) = lower.layout.checks[self as usize] else {
            return Err(
                lower.refuse(None, "the tables of checks have no place: SRAM is full".into())
            );
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

#[cfg(test)]
mod tests {
    use super::Check;

    /// The check values of the catalogue of parametrised CRC algorithms.
    #[test]
    fn tables_give_the_checks_of_the_catalogue() {
        let check = |check: Check| {
            let table = check.table();
            let sum = b"123456789"
                .iter()
                .fold(u32::MAX, |sum, byte| table[usize::from(sum as u8 ^ byte)] ^ sum >> 8);
            !sum
        };
        assert_eq!(check(Check::Ieee), 0xcbf4_3926);
        assert_eq!(check(Check::Castagnoli), 0xe306_9283);
    }
}
