//! `checksum`: sums over bytes of the packet (RFC 1071).

use wireloom_codegen::refused::Refused;

use super::packet;
use crate::calls::{Call, Methods};
use crate::code::Code;
use crate::kind::KindOnMicroengines;
use crate::operand::{Operand, Register, Shift, Target};
use crate::routine::Routine;
use crate::routines::{Fetch, keep};
use crate::state::State;
use crate::words::Words;

pub struct Checksum;

impl KindOnMicroengines for Checksum {
    fn name(&self) -> &'static str {
        "checksum"
    }

    fn reaches_packet(&self, _: &str) -> bool {
        true
    }
}

impl Methods for Checksum {
    fn call(&self, call: &mut Call<'_, '_>) -> Result<Option<Words>, Refused> {
        match call.method {
            "sum" => Ok(Some(sum(call))),
            _ => Err(call.unsupported()),
        }
    }
}

fn sum(call: &mut Call<'_, '_>) -> Words {
    let lower = &mut *call.lower;
    let [offset, length, initial] = [0, 1, 2].map(|arg| lower.get(call.args[arg])[0]);
    let routine = Sum::of(lower.code);
    lower.code.set(routine.at, offset);
    lower.code.set(routine.sum, initial);
    packet::end(lower, routine.end, offset, length);
    lower.code.call(&Sum::ROUTINE);
    vec![lower.code.copy(routine.sum.into()).into()]
}

/// Adds 16-bit words of the packet with end-around carry (RFC 1071).
struct Sum {
    /// The byte of the packet at which the sum begins.
    at: Register,
    /// The byte of the packet at which the sum ends, at most the length of the packet.
    end: Register,
    /// The initial sum, then the result.
    sum: Register,
}

impl Sum {
    const ROUTINE: Routine =
        Routine::new(32, "Sum", |code, state| Self::of(code).write(code, state));

    fn of(code: &mut Code) -> Self {
        let (end, sum) = (code.shared("sum_end", true), code.shared("sum", false));
        Self { at: Fetch::of(code).at, end, sum }
    }

    fn write(&self, code: &mut Code, state: State) {
        let Self { at, end, sum } = *self;
        let word = Fetch::of(code).word;
        let (next, done, whole) = (code.label(), code.label(), code.label());
        let (rest, part) = (code.register(), code.register());
        code.place(next);
        code.alu(Target::None, at.into(), "-", end.into());
        code.branch("br>=0", done);
        keep(code, state, &[end, sum], &Fetch::ROUTINE);
        // The routine has added 4 to `at`.
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
