//! The contents of `exact` tables in SRAM, in the layout of the routines that work on them.

use std::any::Any;

use wireloom_bits::Bits;
use wireloom_offloads::kinds::exact::{Aged, Exact, State};
use wireloom_offloads::{Config, Instance};

use super::super::declared::{key_width, size, value_width};
use super::bucket::hash;
use super::routines::{ENTRY, HEADER, NEWER, OLDER, RING, key_words, padded};
use crate::words::{self, halves};

/// The widest values in bits. Replies and changes of values are computed in registers.
const WIDEST: u32 = 128;

/// Returns the number of words of a table.
///
/// # Errors
/// If the values are too wide.
pub fn wanted(config: &Config) -> Result<u64, String> {
    if value_width(config) > WIDEST {
        return Err(format!("values of more than {WIDEST} bits are not supported"));
    }
    let Shape { size, buckets, stride } = Shape::of(config);
    Ok(u64::from(HEADER) + buckets + size * stride)
}

/// The sizes of the parts of a table.
struct Shape {
    /// The number of entries.
    size: u64,
    buckets: u64,
    /// The number of words of an entry.
    stride: u64,
}

impl Shape {
    fn of(config: &Config) -> Self {
        let size = size(config);
        let key = u64::from(ENTRY + padded(key_width(config)));
        let stride = key + words::count(value_width(config)) as u64;
        Self { size, buckets: size.next_power_of_two(), stride }
    }
}

/// Returns the words of a table with its entries, from word address `base` on.
///
/// # Errors
/// If the instance is not a table.
pub fn image(
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
    // Entries that age form a list, from the oldest to the newest.
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

/// Copies the entries into the instance. `word` reads a word of the table by its address.
pub fn read_back(
    config: &Config,
    instance: &mut dyn Instance,
    base: u32,
    word: &dyn Fn(u32) -> u32,
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
                    state.ageing.push(Aged { key, value, touched_ns, duration_ns: None });
                }
                // The entry has expired, and no packet has looked for its key since.
                0 => {}
                _ => state.fixed.push((key, value)),
            }
            entry = word(entry);
        }
    }
    state.ageing.sort_by(|a, b| (a.touched_ns, &a.key).cmp(&(b.touched_ns, &b.key)));
    // The chip keeps the entries in the order of their times, and no more than the table's size.
    let _ = table.set_state(&state);
}
