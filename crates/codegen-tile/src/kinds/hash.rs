//! `hash` computes checks by table, and polynomial hashes by a routine.

use std::sync::Arc;

use wireloom_ir::Value;
use wireloom_offloads::kinds::hash::{GENERATOR_48, GENERATOR_64};
use wireloom_offloads::{Config, Instance};

use super::checks::{self, Check};
use super::kind::{Call, KindOnTiles, Placed, Unsupported};
use crate::code::Operand;
use crate::frame;
use crate::lower::Lower;
use crate::memory::Memory;
use crate::words::Words;

pub struct Hash;

impl KindOnTiles for Hash {
    fn name(&self) -> &'static str {
        "hash"
    }

    fn place(
        &self,
        _config: &Config,
        _instance: &dyn Instance,
        memory: &mut Memory,
    ) -> Result<Arc<dyn Placed>, String> {
        Ok(Arc::new(Unit { check: Check::place(checks::IEEE, memory)? }))
    }

    fn routines(&self) -> &'static [&'static str] {
        &[checks::ROUTINES, include_str!("hash.s")]
    }
}

#[derive(Debug)]
struct Unit {
    check: Check,
}

impl Placed for Unit {
    fn call(&self, lower: &mut Lower<'_>, call: &Call<'_>) -> Result<Option<Words>, Unsupported> {
        let data = call.args[0];
        let multiplier = |name| call.config.param(name).low_u64();
        Ok(Some(match call.method.name {
            "crc32" => self.check.of(lower, data),
            "hash48" => polynomial(lower, 48, GENERATOR_48, multiplier("multiplier48"), data),
            "hash64" => polynomial(lower, 64, GENERATOR_64, multiplier("multiplier64"), data),
            _ => return Err(Unsupported),
        }))
    }
}

/// Returns the product of a key and a multiplier modulo a generator over GF(2). The routine `hash`
/// takes its operands from the frame's work area.
fn polynomial(
    lower: &mut Lower<'_>,
    degree: u32,
    generator: u64,
    multiplier: u64,
    data: Value,
) -> Words {
    let words = lower.get(data);
    let count = words.len() as u32;
    // The routine takes the key with its highest word first, and generator and multiplier from bit
    // 63 on.
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
