//! `hash`: CRC-32, and hashes by the hash unit.

use wireloom_codegen::refused::Refused;
use wireloom_offloads::kinds::hash::{GENERATOR_48, GENERATOR_64};
use wireloom_offloads::{Config, registry};

use crate::calls::{Call, Methods};
use crate::check::Check;
use crate::code::Code;
use crate::frame::ARGUMENTS;
use crate::kind::{HashUnit, KindOnMicroengines};
use crate::operand::{Operand, Register, Shift, Target};
use crate::routine::Routine;
use crate::state::State;
use crate::words::{self, Words};

pub struct Hash;

const NAME: &str = "hash";
/// The parameters with the multipliers for 48 and 64 bits.
const MULTIPLIERS: [&str; 2] = ["multiplier48", "multiplier64"];

impl KindOnMicroengines for Hash {
    fn name(&self) -> &'static str {
        NAME
    }

    fn checks(&self) -> &'static [Check] {
        &[Check::Ieee]
    }

    fn hash_unit(&self, config: &Config) -> HashUnit {
        HashUnit::Requires(MULTIPLIERS.map(|name| config.param(name).low_u64()))
    }
}

impl Methods for Hash {
    fn call(&self, call: &mut Call<'_, '_>) -> Result<Option<Words>, Refused> {
        match call.method {
            "crc32" => crc32(call).map(Some),
            "hash48" => Ok(Some(hash(call, 48))),
            "hash64" => Ok(Some(hash(call, 64))),
            _ => Err(call.unsupported()),
        }
    }
}

/// Returns the multipliers of a declaration that does not give others, for 48 and 64 bits.
pub fn default_multipliers() -> [u64; 2] {
    let kind = registry::kind(NAME).expect("a kind of the registry");
    MULTIPLIERS.map(|name| {
        let param = kind.params.iter().find(|param| param.name == name);
        param.and_then(|param| param.default).expect("a parameter with a default value")
    })
}

fn crc32(call: &mut Call<'_, '_>) -> Result<Words, Refused> {
    let lower = &mut *call.lower;
    let key = call.args[0];
    let bytes = lower.width(key).div_ceil(8);
    lower.store_value(ARGUMENTS, key);
    let value = Check::Ieee.compute(lower, bytes)?;
    Ok(vec![lower.code.copy(value.into()).into()])
}

/// Computes a hash of this width by the hash unit, which has the multiplier of the offload.
fn hash(call: &mut Call<'_, '_>, bits: u32) -> Words {
    let lower = &mut *call.lower;
    let key = call.args[0];
    let width = lower.width(key);
    let reduce = if width > bits {
        // The unit takes keys of the width of the hash, so a wider key is reduced first.
        lower.store_value(ARGUMENTS, key);
        let reduce = Reduce::of(lower.code, bits == 64);
        lower.code.set(reduce.words, Operand::Number(words::count(width) as u32));
        lower.code.call(if bits == 64 { &Reduce::MODULO_64 } else { &Reduce::MODULO_48 });
        words::of(&reduce.rest)
    } else {
        let mut key = lower.get(key);
        key.resize(2, Operand::Number(0));
        key
    };
    let code = &mut *lower.code;
    let result = code.hash(bits, &[reduce[0], reduce[1]]);
    words::slice(code, &words::of(&result), 0, bits)
}

/// Reduces the key in the arguments modulo the generator polynomial of the hash unit over GF(2), of
/// 48 or 64 bits. It takes the bits from the highest word on.
struct Reduce {
    /// Whether the generator has 64 bits.
    is_long: bool,
    /// The number of words of the key.
    words: Register,
    /// The remainder: the low word and the high word.
    rest: [Register; 2],
}

impl Reduce {
    const MODULO_48: Routine =
        Routine::new(90, "Reduce48", |code, state| Self::of(code, false).write(code, state));
    const MODULO_64: Routine =
        Routine::new(91, "Reduce64", |code, state| Self::of(code, true).write(code, state));

    fn of(code: &mut Code, is_long: bool) -> Self {
        let words = code.shared("reduce_words", true);
        let rest = [code.shared("reduce_low", true), code.shared("reduce_high", false)];
        Self { is_long, words, rest }
    }

    fn write(&self, code: &mut Code, state: State) {
        let Self { is_long, words, rest: [low, high] } = *self;
        let number = Operand::Number;
        let generator = if is_long { GENERATOR_64 } else { GENERATOR_48 };
        let [word, bits, place, top] = [(); 4].map(|()| code.register());
        let (next, bit, less) = (code.label(), code.label(), code.label());
        let begin = code.copy(number(ARGUMENTS));
        code.set(low, number(0));
        code.set(high, number(0));
        code.place(next);
        code.alu(words, words.into(), "-", number(1));
        code.alu(place, begin.into(), "+", words.into());
        code.command("sram[read", "$0", state.frame.into(), place.into(), 1);
        code.set(word, Operand::Transfer(0));
        code.set(bits, number(32));
        code.place(bit);
        code.set(top, high.into());
        code.double_shift(high, high.into(), low.into(), 31);
        code.double_shift(low, low.into(), word.into(), 31);
        code.shift(word, Operand::None, "B", word.into(), Shift::Left(1));
        code.branch_clear(top, if is_long { 31 } else { 15 }, less);
        code.alu(low, low.into(), "XOR", number(generator as u32));
        code.alu(high, high.into(), "XOR", number((generator >> 32) as u32));
        if !is_long {
            // Drops the bit beyond the generator's 48 bits.
            code.shift(high, Operand::None, "B", high.into(), Shift::Left(16));
            code.shift(high, Operand::None, "B", high.into(), Shift::Right(16));
        }
        code.place(less);
        code.alu(bits, bits.into(), "-", number(1));
        code.branch("br!=0", bit);
        code.alu(Target::None, words.into(), "-", number(0));
        code.branch("br!=0", next);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::config;
    use super::{Hash, default_multipliers};
    use crate::kind::{HashUnit, KindOnMicroengines};

    #[test]
    fn the_hash_unit_gets_the_multipliers_of_the_declaration() {
        let plain = config("hash", Some(32), None, &[]);
        assert_eq!(Hash.hash_unit(&plain), HashUnit::Requires(default_multipliers()));
        let own = config("hash", Some(32), None, &[("multiplier48", 3), ("multiplier64", 5)]);
        assert_eq!(Hash.hash_unit(&own), HashUnit::Requires([3, 5]));
    }
}
