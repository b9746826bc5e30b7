//! `bloom` keeps the bits of its filter in memory.

use std::sync::Arc;

use wireloom_bits::Bits;
use wireloom_isa::raw::tile::Op as Do;
use wireloom_offloads::kinds::bloom::WORD_BITS;
use wireloom_offloads::{Config, Entry, EntryKey, Instance};

use super::checks::{self, Check};
use super::kind::{Call, KindOnTiles, Placed, Unsupported};
use crate::code::{NOTHING, Operand};
use crate::lower::Lower;
use crate::memory::Memory;
use crate::words::Words;

pub struct Bloom;

impl KindOnTiles for Bloom {
    fn name(&self) -> &'static str {
        "bloom"
    }

    fn place(
        &self,
        config: &Config,
        instance: &dyn Instance,
        memory: &mut Memory,
    ) -> Result<Arc<dyn Placed>, String> {
        let checks =
            [Check::place(checks::IEEE, memory)?, Check::place(checks::CASTAGNOLI, memory)?];
        let words = config.param("size").low_u64().div_ceil(WORD_BITS.into()) as u32;
        let base = memory.take(4 * u64::from(words))?;
        let mut image = vec![0; words as usize];
        instance.for_each_row(&mut |row| {
            if let EntryKey::Index(number) = row.key {
                image[number as usize] = row.fields[0].1.low_u64() as u32;
            }
        });
        memory.images.push((base, image));
        Ok(Arc::new(Filter { base, words, checks }))
    }

    fn routines(&self) -> &'static [&'static str] {
        &[checks::ROUTINES]
    }
}

#[derive(Debug)]
struct Filter {
    base: u32,
    words: u32,
    /// The checks whose values choose the bits of a key.
    checks: [Check; 2],
}

impl Placed for Filter {
    fn call(&self, lower: &mut Lower<'_>, call: &Call<'_>) -> Result<Option<Words>, Unsupported> {
        let is_add = match call.method.name {
            "add" => true,
            "test" => false,
            _ => return Err(Unsupported),
        };
        let [size, hashes] =
            ["size", "hashes"].map(|name| call.config.param(name).low_u64() as u32);
        let [mut hash, step] = self.checks.map(|check| check.of(lower, call.args[0])[0]);
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
            let at = code.two(Do::Addu, at, Operand::Number(self.base));
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
        Ok((!is_add).then_some(vec![all]))
    }

    fn read_back(
        &self,
        _config: &Config,
        instance: &mut dyn Instance,
        word: &mut dyn FnMut(u32) -> u32,
    ) {
        for number in 0..self.words {
            let value = Bits::new(WORD_BITS, u128::from(word(self.base + 4 * number)));
            // The filter has all of these words.
            let _ = instance.load(Entry { key: EntryKey::Index(number.into()), value });
        }
    }
}
