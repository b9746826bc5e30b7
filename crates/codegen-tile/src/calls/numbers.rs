//! Hashes and random numbers.

use wireloom_ir::Value;
use wireloom_isa::raw::tile::Op as Do;
use wireloom_offloads::Config;
use wireloom_offloads::kinds::hash::{GENERATOR_48, GENERATOR_64};

use super::super::code::{FRAME, NOTHING, Operand};
use super::super::frame;
use super::super::layout::Place;
use super::super::lower::Lower;
use super::super::packet::put;
use super::super::words::{self, Words};

/// Two words of a constant.
fn long(value: u64) -> Words {
    vec![Operand::Number(value as u32), Operand::Number((value >> 32) as u32)]
}

/// CRC-32 (0) or CRC-32C (1) of a value's bytes.
pub fn crc32(lower: &mut Lower<'_>, data: Value, check: usize) -> Words {
    let (width, mut words) = (lower.width(data), lower.get(data));
    let bytes = width.div_ceil(8);
    words.resize(words::count(8 * bytes), NOTHING);
    let code = &mut lower.code;
    let from = code.two(Do::Addu, FRAME.into(), Operand::Number(frame::WORK));
    let from = code.in_register(from);
    put(code, from, Some(0), 0, &words, 8 * bytes);
    let table = lower.layout.checks[check].expect("the table of checks has a place");
    code.call("crc32", &[from.into(), Operand::Number(bytes), Operand::Number(table)], 1)
}

/// Adds a key to a filter, or tests whether it may be there.
pub fn bloom(
    lower: &mut Lower<'_>,
    place: Place,
    config: &Config,
    key: Value,
    is_add: bool,
) -> Words {
    let Place::Bits { base, .. } = place else { unreachable!("filters have bits") };
    let [size, hashes] = ["size", "hashes"].map(|name| config.param(name).low_u64() as u32);
    let mut hash = crc32(lower, key, 0)[0];
    let step = crc32(lower, key, 1)[0];
    let code = &mut lower.code;
    let step = code.two(Do::Or, step, Operand::Number(1));
    let mut all = Operand::Number(1);
    for number in 0..hashes {
        if number > 0 {
            hash = code.two(Do::Addu, hash, step);
        }
        // The bit is the upper word of the product of hash and size.
        let bit = code.product(&[hash, NOTHING], &[Operand::Number(size), NOTHING], 64)[1];
        let at = code.shift(Do::Srl, bit, 5);
        let at = code.shift(Do::Sll, at, 2);
        let at = code.two(Do::Addu, at, Operand::Number(base));
        let at = code.in_register(at);
        let word = code.load(at, 0).into();
        if is_add {
            let mask = code.shift_by(Do::Sllv, Operand::Number(1), bit);
            let word = code.two(Do::Or, word, mask);
            code.store(word, at, 0);
        } else {
            let word = code.shift_by(Do::Srlv, word, bit);
            all = code.two(Do::And, word, all);
        }
    }
    vec![all]
}

/// The hash unit's polynomial hashes, in memory: operands and the sum at `WORK`.
pub fn hash(lower: &mut Lower<'_>, config: &Config, method: &str, data: Value) -> Words {
    let (degree, generator, multiplier) = match method {
        "hash48" => (48, GENERATOR_48, "multiplier48"),
        _ => (64, GENERATOR_64, "multiplier64"),
    };
    let multiplier = config.param(multiplier).low_u64();
    let words = lower.get(data);
    let count = words.len() as u32;
    // The key with its highest word first, then the generator and the multiplier from bit 63 on.
    let up = 64 - degree;
    let key: Words = words.into_iter().rev().collect();
    lower.store(frame::WORK + 32, &key);
    let constants = [generator << up, multiplier << up];
    for (at, constant) in constants.into_iter().enumerate() {
        let [low, high] = [constant as u32, (constant >> 32) as u32].map(Operand::Number);
        lower.store(frame::WORK + 8 * at as u32, &[high, low]);
    }
    let arguments = [Operand::Number(count), Operand::Number(degree)];
    let result = lower.code.call("hash", &arguments, 2);
    lower.code.slice(&result, 64, up, degree)
}

/// SplitMix64 of seed, number of the packet and stream.
pub fn random(lower: &mut Lower<'_>, seed: u64, stream: Value) -> Words {
    let sequence = lower.load(frame::SEQUENCE, 2);
    let stream = vec![lower.word(stream), NOTHING];
    let first = split_mix(lower, &long(seed), &sequence);
    let second = split_mix(lower, &first, &stream);
    vec![second[1]]
}

fn split_mix(lower: &mut Lower<'_>, seed: &[Operand], index: &[Operand]) -> Words {
    let code = &mut lower.code;
    let number = code.sum(index, &long(1), 64, NOTHING);
    let number = code.product(&number, &long(0x9e37_79b9_7f4a_7c15), 64);
    let mut mixed = code.sum(seed, &number, 64, NOTHING);
    for (by, factor) in [(30, 0xbf58_476d_1ce4_e5b9), (27, 0x94d0_49bb_1331_11eb), (31, 1)] {
        let mut shifted = code.slice(&mixed, 64, by, 64 - by);
        shifted.resize(2, NOTHING);
        mixed = mixed.iter().zip(&shifted).map(|(a, b)| code.two(Do::Xor, *a, *b)).collect();
        if factor != 1 {
            mixed = code.product(&mixed, &long(factor), 64);
        }
    }
    mixed
}
