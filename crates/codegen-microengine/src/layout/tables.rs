//! The contents of `exact` tables in SRAM, in the layout of the routines that work on them.

use std::any::Any;

use wireloom_bits::Bits;
use wireloom_offloads::kinds::exact::{Aged, Exact, State};
use wireloom_offloads::kinds::hash::hash64;
use wireloom_offloads::{Config, Instance};

use super::super::routines::table::{ENTRY, HEADER, NEWER, OLDER, RING, padded};
use super::super::words;

/// Widest values: replies and changes of them are computed in registers.
const WIDEST: u32 = 128;

pub(super) fn halves(bits: &Bits) -> impl Iterator<Item = u32> {
    let all = bits.words().flat_map(|word| [word as u32, (word >> 32) as u32]);
    all.collect::<Vec<_>>().into_iter().take(words::count(bits.width()))
}

/// The words of a key in an entry.
pub(super) fn key_words(key: &Bits) -> Vec<u32> {
    let mut all: Vec<u32> = halves(key).collect();
    all.resize(padded(key.width()) as usize, 0);
    all
}

/// The hash of a key for its bucket: from its highest pair of words on, each is added to the hash, and that goes
/// through the hash unit with its multiplier of 64 bits; then the sum of its halves.
pub(super) fn hash(multiplier: u64, key: &Bits) -> u32 {
    let pairs = key_words(key);
    let hash = pairs.rchunks_exact(2).fold(0, |hash, pair| {
        let sum = hash ^ (u64::from(pair[1]) << 32 | u64::from(pair[0]));
        hash64(&Bits::new(64, sum.into()), multiplier)
    });
    // Their sum spreads keys in a row better than XOR, which is linear as the hash unit is.
    (hash as u32).wrapping_add((hash >> 32) as u32)
}

/// The words that a table takes.
///
/// # Errors
/// If its values are too wide.
pub(super) fn wanted(config: &Config) -> Result<u64, String> {
    if config.value.as_ref().is_some_and(|value| value.width() > WIDEST) {
        return Err(format!("values of at most {WIDEST} bits have a place"));
    }
    let Shape { size, buckets, stride } = Shape::of(config);
    Ok(u64::from(HEADER) + buckets + size * stride)
}

/// The parts of a table.
struct Shape {
    /// Entries.
    size: u64,
    buckets: u64,
    /// Words of an entry.
    stride: u64,
}

impl Shape {
    fn of(config: &Config) -> Self {
        let size = config.param("size").low_u64();
        let value = config.value.as_ref().map_or(0, |value| value.width());
        let key = config.key.as_ref().map_or(0, |key| key.width());
        let stride = u64::from(ENTRY + padded(key)) + words::count(value) as u64;
        Self { size, buckets: size.next_power_of_two(), stride }
    }
}

/// A table with its entries, from word address `base` on.
///
/// # Errors
/// If it is no table.
pub(super) fn image(
    config: &Config,
    instance: &mut dyn Instance,
    base: u32,
    multiplier: u64,
) -> Result<Vec<u32>, String> {
    let words = wanted(config)?;
    let Shape { size, buckets, stride } = Shape::of(config);
    let any: &dyn Any = instance;
    let table = any.downcast_ref::<Exact>().ok_or("it has no entries")?;
    let mut state = table.state();
    state.ageing.sort_by_key(|aged| aged.touched_ns);
    let aged = state.ageing.iter().map(|aged| (&aged.key, &aged.value, Some(aged.touched_ns)));
    let fixed = state.fixed.iter().map(|(key, value)| (key, value, None));
    let first = HEADER + buckets as u32;
    let at = |number: u64| first + (number * stride) as u32;
    let pair = |number: u64| [number as u32, (number >> 32) as u32];
    let mut image = vec![0; words as usize];
    // The list by age, from the oldest entry to the newest.
    let ring = base + RING;
    let mut newest = ring;
    image[(RING + NEWER) as usize] = ring;
    let mut used = 0;
    for (key, value, touched) in fixed.chain(aged) {
        let (place, entry) = (at(used), base + at(used));
        let head = HEADER + (hash(multiplier, key) & (buckets as u32 - 1));
        let [low, high] = pair(touched.unwrap_or(0));
        let (older, newer) = match touched {
            None => (entry, entry),
            Some(_) => {
                image[(newest - base + NEWER) as usize] = entry;
                (std::mem::replace(&mut newest, entry), ring)
            }
        };
        let first = image[head as usize];
        let begin = [first, u32::from(touched.is_none()), low, high, older, newer, base + head];
        let all = begin.into_iter().chain(key_words(key)).chain(halves(value));
        image[place as usize..].iter_mut().zip(all).for_each(|(to, word)| *to = word);
        image[head as usize] = entry;
        used += 1;
    }
    image[(RING + OLDER) as usize] = newest;
    let mut free = 0;
    for number in (used..size).rev() {
        let (place, entry) = (at(number), base + at(number));
        image[place as usize] = free;
        image[(place + OLDER) as usize] = entry;
        image[(place + NEWER) as usize] = entry;
        free = entry;
    }
    let ([time, later], age) = (pair(state.time_ns), pair(config.param("age").low_u64()));
    let header = [free, time, later, age[0], age[1]];
    image[..header.len()].copy_from_slice(&header);
    Ok(image)
}

/// Takes the entries back: `word` reads a word of SRAM.
pub(super) fn read_back(
    config: &Config,
    instance: &mut dyn Instance,
    base: u32,
    word: impl Fn(u32) -> u32,
) {
    let any: &mut dyn Any = instance;
    let Some(table) = any.downcast_mut::<Exact>() else { return };
    let (key_width, value_width) = table.widths();
    let long = |at: u32| u64::from(word(at)) | u64::from(word(at + 1)) << 32;
    let bits = |at: u32, width: u32| {
        let count = words::count(width) as u32;
        let pair = |index: u32| match index + 1 < count {
            true => long(at + index),
            false => u64::from(word(at + index)),
        };
        let all: Vec<u64> = (0..count).step_by(2).map(pair).collect();
        Bits::from_words(width, &all)
    };
    let (time_ns, age) = (long(base + 1), long(base + 3));
    let mut state = State { time_ns, ..State::default() };
    for bucket in 0..Shape::of(config).buckets as u32 {
        let mut entry = word(base + HEADER + bucket);
        while entry != 0 {
            let key = bits(entry + ENTRY, key_width);
            let value_at = entry + ENTRY + padded(key_width);
            let value = bits(value_at, value_width);
            let touched_ns = long(entry + 2);
            match word(entry + 1) {
                0 if age == 0 || time_ns - touched_ns <= age => {
                    state.ageing.push(Aged { key, value, touched_ns });
                }
                // It is too old, and was not looked for again.
                0 => {}
                _ => state.fixed.push((key, value)),
            }
            entry = word(entry);
        }
    }
    state.ageing.sort_by(|a, b| (a.touched_ns, &a.key).cmp(&(b.touched_ns, &b.key)));
    // What the chip holds is in the order of times, and no more than the table's size.
    let _ = table.set_state(&state);
}

#[cfg(test)]
mod tests {
    use super::hash;
    use wireloom_bits::Bits;

    /// Keys as they come: ports in a row, addresses in a row, both, and every sixteenth address.
    #[test]
    fn keys_in_a_row_spread_over_the_buckets() {
        let endpoint = |address: u128, port: u128| 6 << 48 | (0x0a00_0000 + address) << 16 | port;
        let keys: [Box<dyn Fn(u128) -> u128>; 4] = [
            Box::new(move |number| endpoint(1, number)),
            Box::new(move |number| endpoint(number, 80)),
            Box::new(move |number| endpoint(number % 64, 1024 + number / 64)),
            Box::new(move |number| endpoint(16 * number, 443)),
        ];
        let [_, multiplier] = super::super::default_multipliers();
        for (which, key) in keys.iter().enumerate() {
            for width in [56, 104, 300] {
                let mut buckets = vec![0_u32; 4096];
                for number in 0..4096 {
                    let key = Bits::new(width, key(number));
                    buckets[hash(multiplier, &key) as usize % 4096] += 1;
                }
                // At random a search would meet 1.5 entries on average.
                let met: u32 = buckets.iter().map(|count| count * (count + 1) / 2).sum();
                assert!(met < 2 * 4096, "keys {which} of {width} bits: {met} for 4096");
            }
        }
    }
}
