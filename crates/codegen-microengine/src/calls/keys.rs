//! Hashes, filters and random numbers.

use wireloom_codegen::refused::Refused;
use wireloom_ir::Value;

use super::super::code::{Code, Operand, Register, Shift, Target};
use super::super::frame::{ARGUMENTS, NUMBER, State};
use super::super::layout::Place;
use super::super::lower::Lower;
use super::super::routines::table::{Find, HEADER, padded};
use super::super::routines::{Bucket, Crc, Mix, Multiply, Reduce, Routine, give};
use super::super::wide::is_wide;
use super::super::words::{self, Words};

/// Which check.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// CRC-32 of IEEE 802.3.
    Ieee,
    /// CRC-32C.
    Castagnoli,
}

/// The check of a key, in a register of the routine.
pub fn check(lower: &mut Lower<'_>, check: Check, bytes: u32) -> Result<Register, Refused> {
    let Some(table) = lower.layout.checks[check as usize] else {
        return Err(lower.refuse(None, "the tables of checks have no place: SRAM is full".into()));
    };
    let routine = Crc::of(lower.code);
    lower.code.set(routine.table, Operand::Number(table));
    lower.code.set(routine.bytes, Operand::Number(bytes));
    lower.code.call(&Routine::Crc);
    Ok(routine.check)
}

/// Puts a key into the arguments, and the address of the head of its bucket into the register of
/// [`Find`], for a table at this word with this number of buckets, a power of two. Neither needs the turn
/// at the table.
pub fn bucket(lower: &mut Lower<'_>, key: Value, base: u32, buckets: u32) {
    let width = lower.width(key);
    let (own, all) = (words::count(width) as u32, padded(width));
    lower.store_value(ARGUMENTS, key);
    if own < all {
        lower.store(ARGUMENTS + own, &[Operand::Number(0)]);
    }
    let [low, high] = if is_wide(width) {
        let bucket = Bucket::of(lower.code);
        lower.code.set(bucket.words, Operand::Number(all));
        lower.code.call(&Routine::Bucket);
        bucket.hash
    } else {
        let mut key = lower.get(key);
        key.resize(all as usize, Operand::Number(0));
        let code = &mut *lower.code;
        let pairs: Vec<[Operand; 2]> = key.chunks_exact(2).map(|two| [two[0], two[1]]).collect();
        let (last, rest) = pairs.split_last().expect("a key has words");
        rest.iter().rev().fold(code.hash(64, last), |hash, pair| {
            for (sum, word) in hash.iter().zip(pair) {
                code.alu(*sum, (*sum).into(), "XOR", *word);
            }
            code.hash(64, &hash.map(Operand::from))
        })
    };
    let code = &mut *lower.code;
    let find = Find::of(code);
    let number = Operand::Number;
    code.alu(find.head, low.into(), "+", high.into());
    code.alu(find.head, find.head.into(), "AND", number(buckets - 1));
    code.alu(find.head, find.head.into(), "+", number(base + HEADER));
    code.set(find.words, number(all));
}

/// `hash.crc32`.
pub fn crc32(lower: &mut Lower<'_>, key: Value) -> Result<Words, Refused> {
    let bytes = lower.width(key).div_ceil(8);
    lower.store_value(ARGUMENTS, key);
    let value = check(lower, Check::Ieee, bytes)?;
    Ok(vec![lower.code.copy(value.into()).into()])
}

/// `hash.hash48` and `hash.hash64`, by the hash unit, which has the multiplier of the offload.
pub fn hash(lower: &mut Lower<'_>, key: Value, bits: u32) -> Words {
    let width = lower.width(key);
    let reduce = if width > bits {
        // The unit takes keys of its own width: wider ones are reduced first.
        lower.store_value(ARGUMENTS, key);
        let reduce = Reduce::of(lower.code, bits == 64);
        lower.code.set(reduce.words, Operand::Number(words::count(width) as u32));
        lower.code.call(if bits == 64 { &Routine::Reduce64 } else { &Routine::Reduce48 });
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

/// `random.next`.
pub fn random(lower: &mut Lower<'_>, seed: u64, stream: Value) -> Words {
    // The stream is wanted after the first number: routines keep no register.
    lower.store_value(ARGUMENTS, stream);
    // Golden counts packets in the order in which the chip took them, as the chip does: they may
    // come through several ports.
    let sequence = words::of(&lower.load(NUMBER, 1));
    let code = &mut *lower.code;
    let mix = Mix::of(code);
    give(
        code,
        mix.value,
        &vec![Operand::Number(seed as u32), Operand::Number((seed >> 32) as u32)],
    );
    give(code, mix.index, &sequence);
    code.call(&Routine::Mix);
    let stream = words::of(&lower.load(ARGUMENTS, 1));
    give(lower.code, mix.index, &stream);
    lower.code.call(&Routine::Mix);
    vec![lower.code.copy(mix.value[1].into()).into()]
}

/// `bloom.add` and `bloom.test`. A key has `hashes` bits among `size`.
pub fn bloom(
    lower: &mut Lower<'_>,
    place: Place,
    key: Value,
    (size, hashes): (u32, u32),
    is_add: bool,
) -> Result<Option<Words>, Refused> {
    let Place::Bits { base } = place else { return Ok(None) };
    let bytes = lower.width(key).div_ceil(8);
    lower.store_value(ARGUMENTS, key);
    let first = check(lower, Check::Ieee, bytes)?;
    // After the longest key.
    const LATER: u32 = ARGUMENTS + 40;
    lower.store(LATER, &[first.into()]);
    let step = check(lower, Check::Castagnoli, bytes)?;
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
    code.call(&Routine::Multiply);
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
