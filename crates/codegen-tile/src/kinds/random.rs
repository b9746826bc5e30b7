//! `random` computes SplitMix64 of the seed, the sequence number of the packet and the stream.

use std::sync::Arc;

use wireloom_isa::raw::tile::Op as Do;
use wireloom_offloads::{Config, Instance};

use super::kind::{Call, KindOnTiles, Placed, Unsupported};
use crate::code::{NOTHING, Operand};
use crate::frame;
use crate::lower::Lower;
use crate::memory::Memory;
use crate::words::Words;

#[derive(Debug)]
pub struct Random;

impl KindOnTiles for Random {
    fn name(&self) -> &'static str {
        "random"
    }

    fn place(
        &self,
        _config: &Config,
        _instance: &dyn Instance,
        _memory: &mut Memory,
    ) -> Result<Arc<dyn Placed>, String> {
        Ok(Arc::new(Self))
    }
}

impl Placed for Random {
    fn call(&self, lower: &mut Lower<'_>, call: &Call<'_>) -> Result<Option<Words>, Unsupported> {
        if call.method.name != "next" {
            return Err(Unsupported);
        }
        let seed = call.config.param("seed").low_u64();
        let sequence = lower.load(frame::SEQUENCE, 2);
        let stream = vec![lower.word(call.args[0]), NOTHING];
        let first = split_mix(lower, &long(seed), &sequence);
        let second = split_mix(lower, &first, &stream);
        Ok(Some(vec![second[1]]))
    }
}

/// Returns the two words of a constant.
fn long(value: u64) -> Words {
    vec![Operand::Number(value as u32), Operand::Number((value >> 32) as u32)]
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
