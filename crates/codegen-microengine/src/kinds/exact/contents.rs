//! The contents of tables in SRAM or SDRAM, in the layout of the routines that work on them.

use std::any::Any;

use wireloom_bits::Bits;
use wireloom_offloads::kinds::exact::{Aged, Exact, State};
use wireloom_offloads::{Config, Instance};

use super::super::declared::{key_width, size, value_width};
use super::age;
use super::bucket::hash;
use super::routines::{DURATION, ENTRY, HEADER, NEWER, OLDER, RING, key_words, padded};
use super::ticks;
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
    let Shape { size, buckets, stride, .. } = Shape::of(config);
    Ok(u64::from(HEADER) + buckets + size * stride)
}

/// The sizes of the parts of a table.
pub struct Shape {
    /// The number of entries.
    size: u64,
    pub buckets: u64,
    /// The number of words of an entry, with the words before it.
    stride: u64,
    /// The number of words before an entry.
    before: u32,
}

impl Shape {
    pub fn of(config: &Config) -> Self {
        let size = size(config);
        let before = if config.has_ticks() { DURATION } else { 0 };
        let key = u64::from(before + ENTRY + padded(key_width(config)));
        // Timers have no values.
        let value = config.value.as_ref().map_or(0, |value| words::count(value.width()));
        Self { size, buckets: size.next_power_of_two(), stride: key + value as u64, before }
    }
}

/// An entry of a table.
pub struct Entry<'a> {
    pub key: &'a Bits,
    pub value: Option<&'a Bits>,
    /// The time of the last touch in nanoseconds; `None` for a static entry.
    pub touched_ns: Option<u64>,
    /// The duration in nanoseconds, in a table whose entries end at ticks.
    pub duration_ns: Option<u64>,
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
    let any: &dyn Any = instance;
    let table = any.downcast_ref::<Exact>().ok_or("it has no entries")?;
    let state = table.state();
    let fixed = state.fixed.iter().map(|(key, value)| Entry {
        key,
        value: Some(value),
        touched_ns: None,
        duration_ns: None,
    });
    let aged = state.ageing.iter().map(|aged| Entry {
        key: &aged.key,
        value: Some(&aged.value),
        touched_ns: Some(aged.touched_ns),
        duration_ns: aged.duration_ns,
    });
    Ok(table_of(config, state.time_ns, fixed.chain(aged).collect(), base, multiplier))
}

/// Returns the words of a table with these entries and this time, from word address `base` on.
pub fn table_of(
    config: &Config,
    time_ns: u64,
    mut entries: Vec<Entry<'_>>,
    base: u32,
    multiplier: u64,
) -> Vec<u32> {
    let Shape { size, buckets, stride, before } = Shape::of(config);
    // Entries that age form a list, from the oldest to the newest. Static entries come first.
    entries.sort_by_key(|entry| entry.touched_ns);
    let first = HEADER + buckets as u32 + before;
    let at = |number: u64| first + (number * stride) as u32;
    let pair = |number: u64| [number as u32, (number >> 32) as u32];
    let mut image = vec![0; (u64::from(HEADER) + buckets + size * stride) as usize];
    let ring = base + RING;
    let mut newest = ring;
    image[(RING + NEWER) as usize] = ring;
    let used = entries.len() as u64;
    for (number, Entry { key, value, touched_ns, duration_ns }) in (0..).zip(entries) {
        let (place, entry) = (at(number), base + at(number));
        let head = HEADER + (hash(multiplier, key) & (buckets as u32 - 1));
        let [low, high] = pair(touched_ns.unwrap_or(0));
        let (older, newer) = match touched_ns {
            None => (entry, entry),
            Some(_) => {
                image[(newest - base + NEWER) as usize] = entry;
                (std::mem::replace(&mut newest, entry), ring)
            }
        };
        let first = image[head as usize];
        let begin = [first, u32::from(touched_ns.is_none()), low, high, older, newer, base + head];
        let value = value.into_iter().flat_map(halves);
        let all = begin.into_iter().chain(key_words(key)).chain(value);
        image[place as usize..].iter_mut().zip(all).for_each(|(to, word)| *to = word);
        if let Some(duration_ns) = duration_ns {
            image[(place - DURATION) as usize..place as usize].copy_from_slice(&pair(duration_ns));
        }
        image[head as usize] = entry;
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
    let ([time, later], age) = (pair(time_ns), pair(age(config)));
    let header = [free, time, later, age[0], age[1]];
    image[..header.len()].copy_from_slice(&header);
    image
}

/// An entry that was read from memory.
pub struct Kept {
    pub key: Bits,
    /// The value; of one bit if the table has no values.
    pub value: Bits,
    pub touched_ns: u64,
    pub duration_ns: Option<u64>,
    pub is_static: bool,
}

/// Reads a table: its time, and its entries. `word` reads a word of the table by its address.
pub fn read(config: &Config, base: u32, word: &dyn Fn(u32) -> u32) -> (u64, Vec<Kept>) {
    let key_width = key_width(config);
    let value_width = value_width(config).max(1);
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
    let has_values = config.value.is_some();
    let kept = |entry: u32| Kept {
        key: bits(entry + ENTRY, key_width),
        value: match has_values {
            true => bits(entry + ENTRY + padded(key_width), value_width),
            false => Bits::zero(1),
        },
        touched_ns: long(entry + 2),
        duration_ns: config.has_ticks().then(|| long(entry - DURATION)),
        is_static: word(entry + 1) != 0,
    };
    let (time_ns, age) = (long(base + 1), long(base + 3));
    let mut all = Vec::new();
    for bucket in 0..Shape::of(config).buckets as u32 {
        let mut entry = word(base + HEADER + bucket);
        while entry != 0 {
            let read = kept(entry);
            // An expired entry stays until a packet looks for its key.
            if read.is_static || age == 0 || time_ns - read.touched_ns <= age {
                all.push(read);
            }
            entry = word(entry);
        }
    }
    let ended = ticks::ended(config, base, time_ns, word).into_iter();
    all.extend(ended.map(|entry| Kept { is_static: false, ..kept(entry) }));
    all.sort_by(|a, b| (a.touched_ns, &a.key).cmp(&(b.touched_ns, &b.key)));
    (time_ns, all)
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
    let (time_ns, entries) = read(config, base, word);
    let mut state = State { time_ns, ..State::default() };
    for Kept { key, value, touched_ns, duration_ns, is_static } in entries {
        match is_static {
            true => state.fixed.push((key, value)),
            false => state.ageing.push(Aged { key, value, touched_ns, duration_ns }),
        }
    }
    // The chip keeps the entries in the order of their times, and no more than the table's size.
    let _ = table.set_state(&state);
}
