//! `random`: numbers of SplitMix64 from the seed, the number of the packet and a stream.

use wireloom_codegen::refused::Refused;

use crate::calls::{Call, Methods};
use crate::code::Code;
use crate::frame::{ARGUMENTS, NUMBER};
use crate::kind::KindOnMicroengines;
use crate::operand::{Operand, Shift, Target};
use crate::routine::Routine;
use crate::routines::{Multiply, Pair, both, give, keep, pair};
use crate::state::State;
use crate::words::{self, Words};

pub struct Random;

impl KindOnMicroengines for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn numbers_packets(&self) -> bool {
        true
    }
}

impl Methods for Random {
    fn call(&self, call: &mut Call<'_, '_>) -> Result<Option<Words>, Refused> {
        match call.method {
            "next" => Ok(Some(next(call))),
            _ => Err(call.unsupported()),
        }
    }
}

fn next(call: &mut Call<'_, '_>) -> Words {
    let seed = call.config.param("seed").low_u64();
    let lower = &mut *call.lower;
    // Routines keep no register, and the stream is used only after the first number.
    lower.store_value(ARGUMENTS, call.args[0]);
    // Golden counts packets in the order in which the chip took them, which may come through
    // several ports. The chip counts them likewise.
    let mut sequence = words::of(&lower.load(NUMBER, 1));
    let numbers = lower.layout.numbers;
    let code = &mut *lower.code;
    if let Some(first) = numbers {
        sequence = sequence_of(code, sequence[0], first);
    }
    let mix = Mix::of(code);
    give(
        code,
        mix.value,
        &vec![Operand::Number(seed as u32), Operand::Number((seed >> 32) as u32)],
    );
    give(code, mix.index, &sequence);
    code.call(&Mix::ROUTINE);
    let stream = words::of(&lower.load(ARGUMENTS, 1));
    give(lower.code, mix.index, &stream);
    lower.code.call(&Mix::ROUTINE);
    vec![lower.code.copy(mix.value[1].into()).into()]
}

/// Returns the sequence number of a packet in a program with timers, which have numbers of their
/// own: the sum of the packet's number on the chip and of a number that the core writes to two words
/// of SRAM between packets and timers.
fn sequence_of(code: &mut Code, number: Operand, first: u32) -> Words {
    code.command("sram[read", "$0", Operand::Number(first), Operand::Number(0), 2);
    let own = [0, 1].map(|word| code.copy(Operand::Transfer(word)));
    let number = vec![number, Operand::Number(0)];
    words::sum(code, "+", &number, &words::of(&own), 64)
}

/// Computes output `index` of the SplitMix64 generator with a seed.
struct Mix {
    /// The seed, then the output.
    value: Pair,
    index: Pair,
}

impl Mix {
    const ROUTINE: Routine =
        Routine::new(50, "Mix", |code, state| Self::of(code).write(code, state));

    fn of(code: &mut Code) -> Self {
        Self { value: pair(code, "mix_value", true), index: Multiply::of(code).a }
    }

    fn write(&self, code: &mut Code, state: State) {
        let Self { value, index } = *self;
        let Multiply { a, b, product } = Multiply::of(code);
        let by = |code: &mut Code, factor: u64| {
            code.set(b[0], Operand::Number(factor as u32));
            code.set(b[1], Operand::Number((factor >> 32) as u32));
            keep(code, state, &value, &Multiply::ROUTINE);
        };
        let one = [Operand::Number(1), Operand::Number(0)];
        code.chain(&index.map(Target::from), "+", "+carry", &both(index), &one);
        by(code, 0x9e37_79b9_7f4a_7c15);
        code.chain(&value.map(Target::from), "+", "+carry", &both(value), &both(product));
        for (shift, factor) in [(30, 0xbf58_476d_1ce4_e5b9), (27, 0x94d0_49bb_1331_11eb)] {
            mixed(code, value, shift);
            code.set(a[0], value[0].into());
            code.set(a[1], value[1].into());
            by(code, factor);
            code.set(value[0], product[0].into());
            code.set(value[1], product[1].into());
        }
        mixed(code, value, 31);
    }
}

/// `value ^= value >> shift`, for shifts of less than 32.
fn mixed(code: &mut Code, value: Pair, shift: u32) {
    let (low, high) = (code.register(), code.register());
    code.double_shift(low, value[1].into(), value[0].into(), shift);
    code.shift(high, Operand::None, "B", value[1].into(), Shift::Right(shift));
    code.alu(value[0], value[0].into(), "XOR", low.into());
    code.alu(value[1], value[1].into(), "XOR", high.into());
}
