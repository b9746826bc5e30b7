//! `counter` counts packets and bytes. Each tile has counters of its own, and the state is their
//! sum.

use std::sync::Arc;

use wireloom_bits::Bits;
use wireloom_isa::raw::tile::Op as Do;
use wireloom_offloads::{Config, Instance};

use super::elements::Elements;
use super::kind::{Call, KindOnTiles, Placed, Unsupported};
use crate::code::{Operand, ZERO};
use crate::lower::Lower;
use crate::memory::{LINE, Memory, value_at};
use crate::words::Words;

/// The bits of a counter: the upper 64 count packets, the lower 64 bytes.
const WIDTH: u32 = 128;

pub struct Counter;

impl KindOnTiles for Counter {
    fn name(&self) -> &'static str {
        "counter"
    }

    /// The first tile has the counts of the instance, the others begin at 0.
    fn place(
        &self,
        config: &Config,
        instance: &dyn Instance,
        memory: &mut Memory,
    ) -> Result<Arc<dyn Placed>, String> {
        let elements = Elements::place(WIDTH, config, instance, memory)?;
        let apart = (elements.stride * elements.size).next_multiple_of(LINE);
        memory.take(u64::from(apart) * u64::from(memory.tiles - 1))?;
        Ok(Arc::new(Counters { elements, apart, tiles: memory.tiles }))
    }

    fn has_copies(&self) -> bool {
        true
    }
}

#[derive(Debug)]
struct Counters {
    /// The counters of the first tile.
    elements: Elements,
    /// The bytes from the counters of one tile to the counters of the next tile.
    apart: u32,
    tiles: u32,
}

impl Placed for Counters {
    fn call(&self, lower: &mut Lower<'_>, call: &Call<'_>) -> Result<Option<Words>, Unsupported> {
        if call.method.name != "count" {
            return Err(Unsupported);
        }
        let Elements { base, stride, size } = self.elements;
        let base = base + lower.tile * self.apart;
        let (index, bytes) = (lower.word(call.args[0]), lower.word(call.args[1]));
        lower.or_zero(0, |lower, done| {
            let at = lower.inside(base, stride, size, index, done)?;
            for (place, more) in [(0, bytes), (8, Operand::Number(1))] {
                let code = &mut lower.code;
                let low: Operand = code.load(at, place).into();
                let sum = code.two(Do::Addu, low, more);
                code.store(sum, at, place);
                // A carry is rare, so the upper word is seldom touched.
                let carry = code.two(Do::Sltu, sum, low);
                let carry = code.in_register(carry);
                let (over, go_on) = (code.label(), code.label());
                code.branch(Do::Bne, carry, ZERO, &over);
                code.apart(|code| {
                    code.place(&over);
                    let high = code.load(at, place + 4).into();
                    let high = code.two(Do::Addu, high, Operand::Number(1));
                    code.store(high, at, place + 4);
                    code.jump(&go_on);
                });
                code.place(&go_on);
            }
            None
        });
        Ok(None)
    }

    fn read_back(
        &self,
        _config: &Config,
        instance: &mut dyn Instance,
        word: &mut dyn FnMut(u32) -> u32,
    ) {
        self.elements.read_back(instance, |at| {
            let mut sums = [0u64; 2];
            for tile in 0..self.tiles {
                let own = value_at(at + tile * self.apart, WIDTH, word);
                for (half, sum) in sums.iter_mut().enumerate() {
                    *sum = sum.wrapping_add(own.word(half));
                }
            }
            Bits::from_words(WIDTH, &sums)
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use wireloom_offloads::EntryKey;

    use super::*;
    use crate::memory::Memories;

    #[test]
    fn counts_are_the_sums_of_those_of_all_tiles() {
        let params: BTreeMap<_, _> = [("size".to_owned(), Bits::new(32, 2))].into();
        let config = Config { kind: Counter.name().to_owned(), key: None, value: None, params };
        let mut instance = wireloom_offloads::instantiate(&config).expect("valid counters");
        let memories = Memories { first: 64, end: 4096, tiles: 3, has_rest: false };
        let placed = Counter.place(&config, instance.as_ref(), &mut Memory::new(memories));
        // Tile `n` has counted 10 + n packets of 2^32 - 1 bytes at index 1.
        let mut words = BTreeMap::new();
        for tile in 0..3 {
            let at = 64 + 32 * tile + 16;
            words.extend([(at, u32::MAX), (at + 8, 10 + tile)]);
        }
        let mut word = |at| words.get(&at).copied().unwrap_or(0);
        placed.expect("a place").read_back(&config, instance.as_mut(), &mut word);
        let rows = instance.rows();
        let [row] = &rows[..] else { panic!("{rows:?}") };
        assert_eq!(row.key, EntryKey::Index(1));
        let sums = Bits::from_words(128, &[3 * u64::from(u32::MAX), 33]);
        assert_eq!(instance.entry(row).value, sums);
    }
}
