//! `match` searches the packet by an automaton in memory.
//!
//! The automaton has the class of each byte, as the offset of the class's word in a row; a row for
//! each state; and a record for each pattern, with the pattern's length and value. A row begins
//! with the address of a record if patterns end at its state, or else with 0. One word for each
//! class follows: the address of the next row, with bit 31 if patterns end there, or 0 if the
//! search is over.

use std::any::Any;
use std::sync::Arc;

use wireloom_isa::raw::tile::Op as Do;
use wireloom_offloads::kinds::matching;
use wireloom_offloads::{Config, Instance, Layout};

use super::kind::{Call, KindOnTiles, Placed, Unsupported};
use crate::code::Operand;
use crate::lower::Lower;
use crate::memory::{Memory, words_of};
use crate::words::{self, Words};

pub struct Match;

impl KindOnTiles for Match {
    fn name(&self) -> &'static str {
        "match"
    }

    fn place(
        &self,
        config: &Config,
        instance: &dyn Instance,
        memory: &mut Memory,
    ) -> Result<Arc<dyn Placed>, String> {
        Ok(Arc::new(automaton(config, instance, memory)?))
    }

    fn routines(&self) -> &'static [&'static str] {
        &[include_str!("matching.s")]
    }
}

/// Places the automaton of the patterns of an instance.
fn automaton(
    config: &Config,
    instance: &dyn Instance,
    memory: &mut Memory,
) -> Result<Automaton, String> {
    let mut own = instance.duplicate();
    let any: &mut dyn Any = own.as_mut();
    let patterns = any.downcast_mut::<matching::Match>().ok_or("it has no patterns")?;
    let found = patterns.walk().ok_or("it has too many patterns")?;
    let count = found.class_count;
    let record = 4 * (1 + words::count(width(config)) as u32);
    let rows = found.next.len() as u32 / count;
    let base = memory.next();
    let row = |state: u32| base + 4 * (256 + state / count * (count + 1));
    let records = base + 4 * (256 + rows * (count + 1));
    let is_match = |state: u32| state != 0 && state <= found.last_match;
    let mut image: Vec<u32> =
        found.classes.iter().map(|class| 4 * (u32::from(*class) + 1)).collect();
    for state in 0..rows {
        let first = state * count;
        image.push(match is_match(first) {
            true => records + record * found.patterns[state as usize],
            false => 0,
        });
        let next = &found.next[first as usize..][..count as usize];
        image.extend(next.iter().map(|next| match *next {
            0 => 0,
            next if is_match(next) => row(next) | 1 << 31,
            next => row(next),
        }));
    }
    for (length, value) in found.lengths.iter().zip(&found.values) {
        image.push(*length);
        let words = words_of(value).chain(std::iter::repeat(0));
        image.extend(words.take(record as usize / 4 - 1));
    }
    let start = row(found.start);
    Ok(Automaton { classes: memory.put(image)?, row: start })
}

#[derive(Debug)]
struct Automaton {
    /// The address of the classes of bytes.
    classes: u32,
    /// The address of the first state's row.
    row: u32,
}

impl Placed for Automaton {
    fn call(&self, lower: &mut Lower<'_>, call: &Call<'_>) -> Result<Option<Words>, Unsupported> {
        if call.method.name != "scan" {
            return Err(Unsupported);
        }
        let width = width(call.config);
        let (offset, length) = (lower.word(call.args[0]), lower.word(call.args[1]));
        let arguments = [offset, length, Operand::Number(self.classes), Operand::Number(self.row)];
        let found = lower.code.call("scan", &arguments, 2);
        let (record, after) = (found[0], found[1]);
        let count = words::count(width);
        let words = lower.or_zero(1 + count, |lower, done| {
            lower.unless(record, done);
            let record = lower.code.in_register(record);
            let length = lower.code.load(record, 0).into();
            let at = lower.code.two(Do::Subu, after, length);
            let value = |word| lower.code.load(record, 4 + 4 * word as i32).into();
            Some([at].into_iter().chain((0..count).map(value)).collect())
        });
        let is_found = lower.code.is_set(record);
        let parts = [(vec![is_found], 1), (vec![words[0]], 16), (words[1..].to_vec(), width)];
        Ok(Some(lower.code.concat(&parts)))
    }
}

/// Returns the bits of a pattern's value.
fn width(config: &Config) -> u32 {
    config.value.as_ref().map_or(1, Layout::width)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use wireloom_bits::Bits;
    use wireloom_net::{Packet, PacketInHand};
    use wireloom_offloads::{Entry, EntryKey, Env};

    use super::*;
    use crate::memory::{Memories, value_at};
    use crate::testing::Random;

    /// Returns the address of the record that a search of bytes ends with, and the byte after the
    /// match.
    fn searched(
        automaton: &Automaton,
        words: &BTreeMap<u32, u32>,
        bytes: &[u8],
    ) -> Option<(u32, usize)> {
        let (mut row, mut found) = (automaton.row, None);
        for (at, byte) in bytes.iter().enumerate() {
            let class = words[&(automaton.classes + 4 * u32::from(*byte))];
            let next = words[&(row + class)];
            if next == 0 {
                break;
            }
            row = next & 0x7fff_ffff;
            if next >> 31 == 1 {
                found = Some((words[&row], at + 1));
            }
        }
        found
    }

    #[test]
    fn automata_find_what_golden_finds() {
        let mut hits = 0;
        for seed in 0..200 {
            let mut random = Random::new(seed);
            let width = random.one_of(&[1, 16, 32, 70]);
            let value = Some(Layout::scalar(width));
            let kind = Match.name().to_owned();
            let config = Config { kind, key: None, value, params: Default::default() };
            let mut instance = wireloom_offloads::instantiate(&config).expect("a valid search");
            for _ in 0..random.below(6) {
                let count = 1 + random.below(4);
                let pattern = (0..count).map(|_| random.one_of(b"ab")).collect();
                let key = EntryKey::Pattern(pattern);
                instance.load(Entry { key, value: random.bits(width) }).expect("a pattern");
            }
            let memories = Memories { first: 64, end: 1 << 20, tiles: 1, has_rest: false };
            let mut memory = Memory::new(memories);
            let automaton =
                automaton(&config, instance.as_ref(), &mut memory).expect("a large memory");
            let [(base, image)] = &memory.images[..] else { panic!("one image") };
            let words: BTreeMap<u32, u32> =
                (*base..).step_by(4).zip(image.iter().copied()).collect();
            for _ in 0..20 {
                let bytes: Vec<u8> = (0..random.below(9)).map(|_| random.one_of(b"abc")).collect();
                let own = match searched(&automaton, &words, &bytes) {
                    None => Bits::zero(17 + width),
                    Some((record, end)) => {
                        let at = end - words[&record] as usize;
                        let value = value_at(record + 4, width, &mut |at| words[&at]);
                        Bits::bool(true).concat(&Bits::new(16, at as u128)).concat(&value)
                    }
                };
                hits += u32::from(!own.is_zero());
                let packet = Packet { ingress: 0, arrival_ns: 0, bytes };
                let mut packet = PacketInHand::arrive(&packet, 0);
                let args = [Bits::zero(16), Bits::ones(16)];
                let mut env = Env { packet: Some(&mut packet), now_ns: 0, sequence: 0 };
                assert_eq!(own, instance.call(0, &args, &mut env), "{seed} {packet:?}");
            }
        }
        assert!(hits > 500, "{hits}");
    }
}
