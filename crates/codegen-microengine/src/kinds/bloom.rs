//! `bloom`: the bits of a filter in SRAM, 32 to a word. SRAM sets bits itself, so calls may
//! overlap.

use wireloom_codegen::refused::Refused;
use wireloom_offloads::{Config, Instance};

use super::declared::size;
use super::indexed::{load_words, rows};
use crate::calls::{Call, Methods};
use crate::check::Check;
use crate::code::Code;
use crate::frame::ARGUMENTS;
use crate::kind::{KindOnMicroengines, Wanted};
use crate::operand::{Operand, Register, Shift, Target};
use crate::routines::{Multiply, give};
use crate::state::State;
use crate::unit::{Region, Unit};
use crate::words::{self, Words};

pub struct Bloom;

impl KindOnMicroengines for Bloom {
    fn name(&self) -> &'static str {
        "bloom"
    }

    fn wanted(
        &self,
        config: &Config,
        _: &mut dyn Instance,
        _: u32,
    ) -> Result<Option<Wanted>, String> {
        Ok(Some(Wanted::fixed(&[Unit::Sram], size(config).div_ceil(32))))
    }

    fn checks(&self) -> &'static [Check] {
        &[Check::Ieee, Check::Castagnoli]
    }

    fn image(
        &self,
        _: &Config,
        instance: &mut dyn Instance,
        region: Region,
        _: u64,
    ) -> Result<Vec<u32>, String> {
        Ok(rows(instance, region.words, 1, |row, words| {
            words[0] = row.fields[0].1.low_u64() as u32;
        }))
    }

    fn read_back(
        &self,
        config: &Config,
        instance: &mut dyn Instance,
        region: Region,
        word: &dyn Fn(u32) -> u32,
    ) {
        let words = size(config).div_ceil(32) as u32;
        load_words(instance, (region.first..region.first + words).map(word));
    }

    fn is_atomic(&self) -> bool {
        true
    }
}

impl Methods for Bloom {
    fn call(&self, call: &mut Call<'_, '_>) -> Result<Option<Words>, Refused> {
        match call.method {
            "add" => access(call, true),
            "test" => access(call, false),
            _ => Err(call.unsupported()),
        }
    }
}

/// Writes `add` or `test`. A key has `hashes` bits among `size`.
fn access(call: &mut Call<'_, '_>, is_add: bool) -> Result<Option<Words>, Refused> {
    let base = call.region().first;
    let [size, hashes] = ["size", "hashes"].map(|name| call.config.param(name).low_u64() as u32);
    let lower = &mut *call.lower;
    let key = call.args[0];
    let bytes = lower.width(key).div_ceil(8);
    lower.store_value(ARGUMENTS, key);
    let first = Check::Ieee.compute(lower, bytes)?;
    // Words of the frame after the longest key.
    const LATER: u32 = ARGUMENTS + 40;
    lower.store(LATER, &[first.into()]);
    let step = Check::Castagnoli.compute(lower, bytes)?;
    lower.store(LATER + 1, &[step.into(), Operand::Number(hashes), Operand::Number(1)]);
    let code = &mut *lower.code;
    let next = code.label();
    code.place(next);
    let state = lower.state;
    let [hash, step, left] = three(code, state, LATER);
    let multiply = Multiply::of(code);
    let one = Operand::Number(1);
    // The bit is the high word of the product of hash and size.
    give(code, multiply.a, &vec![hash.into()]);
    give(code, multiply.b, &vec![Operand::Number(size)]);
    code.alu(step, step.into(), "OR", one);
    code.alu(hash, hash.into(), "+", step.into());
    code.alu(left, left.into(), "-", one);
    state.store(code, Operand::Number(LATER), &[hash.into(), step.into(), left.into()]);
    code.call(&Multiply::ROUTINE);
    let [bit, place] = [(); 2].map(|()| code.register());
    code.set(bit, multiply.product[1].into());
    code.shift(place, Operand::None, "B", bit.into(), Shift::Right(5));
    let mask = code.copy(one);
    code.alu(bit, bit.into(), "AND", Operand::Number(31));
    code.shift_by(mask, Operand::None, "B", mask.into(), Shift::LeftIndirect, bit);
    let base = Operand::from(code.copy(Operand::Number(base)));
    let left = if is_add {
        code.set(Target::Transfer(0), mask.into());
        code.set_bits(base, place.into());
        state.load(code, Operand::Number(LATER + 2), 1)[0]
    } else {
        code.command("sram[read", "$0", base, place.into(), 1);
        let missed = code.label();
        code.alu(Target::None, Operand::Transfer(0), "AND", mask.into());
        code.branch("br!=0", missed);
        state.store(code, Operand::Number(LATER + 2), &[Operand::Number(0), Operand::Number(0)]);
        code.place(missed);
        state.load(code, Operand::Number(LATER + 2), 1)[0]
    };
    code.alu(Target::None, Operand::None, "B", left.into());
    code.branch("br!=0", next);
    if is_add {
        return Ok(None);
    }
    Ok(Some(words::of(&lower.load(LATER + 3, 1))))
}

fn three(code: &mut Code, state: State, at: u32) -> [Register; 3] {
    let words = state.load(code, Operand::Number(at), 3);
    [words[0], words[1], words[2]]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use wireloom_offloads::kinds::instantiate;

    use super::super::tests::{call, config, round_trip, value};

    proptest! {
        #[test]
        fn bits_come_back(
            size in 1_u64..300,
            hashes in 1_u64..6,
            keys in prop::collection::vec(any::<u32>(), 0..40),
        ) {
            let config =
                config("bloom", Some(48), None, &[("size", size), ("hashes", hashes)]);
            let mut instance = instantiate(&config).expect("a valid declaration");
            for key in &keys {
                call(&config, instance.as_mut(), "add", &[value(48, (*key).into())], 0, None);
            }
            round_trip(&config, instance.as_mut(), |_, fresh| {
                for key in &keys {
                    let found = call(&config, fresh, "test", &[value(48, (*key).into())], 0, None);
                    assert!(found.bit(0));
                }
            });
        }
    }
}
