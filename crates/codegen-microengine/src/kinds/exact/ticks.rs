//! Tables whose entries end at ticks, as the core of the chip works on them between packets: it
//! writes the time of the last tick, and removes entries that have ended if no step claims them.
//!
//! A removed entry goes to the free entries and is marked. The control plane still shows it until
//! the time of the table, which is that of the last call that changed it, has reached its end.

use wireloom_offloads::Config;
use wireloom_offloads::time::{NEVER, deadline};

use super::routines::{DURATION, HEAD, NEWER, OLDER, RING, STATIC, TICK, TOUCHED};
use super::{spacing, table};
use crate::unit::Region;

/// The mark of a free entry that has ended, in the word that says whether an entry is static.
const ENDED: u32 = 2;

/// Reads a word of a table by its address.
type Word<'a> = &'a dyn Fn(u32) -> u32;

/// Advances the table in a region to engine time. `words` are all words of its memory.
pub fn pass_tick(config: &Config, region: Region, now_ns: u64, words: &mut [u32]) {
    let (unit, base) = table(region);
    let mut memory = Spaced { words, spacing: spacing(unit) as u32 };
    let tick_ns = tick_ns(config);
    // No entry ends at the last nanosecond.
    let tick = (now_ns / tick_ns * tick_ns).min(NEVER - 1);
    memory.set(base + TICK, tick as u32);
    memory.set(base + TICK + 1, (tick >> 32) as u32);
    if !expires(config) {
        return;
    }
    let get = |at| memory.get(at);
    let ended = ageing(base, &get).filter(|entry| end(tick_ns, *entry, &get) <= now_ns);
    for entry in ended.collect::<Vec<_>>() {
        memory.remove(base, entry);
    }
}

/// Returns the earliest time at which an entry ends, in nanoseconds; `None` if all stay.
pub fn next_end(config: &Config, base: u32, word: Word<'_>) -> Option<u64> {
    let ends = ageing(base, word).map(|entry| end(tick_ns(config), entry, word));
    ends.min().filter(|end| *end != NEVER)
}

/// Returns the removed entries of a table that end after its time.
pub fn ended(config: &Config, base: u32, time_ns: u64, word: Word<'_>) -> Vec<u32> {
    if !expires(config) {
        return Vec::new();
    }
    let listed = |at: u32| Some(word(at)).filter(|entry| *entry != 0);
    let free = std::iter::successors(listed(base), |entry| listed(*entry));
    let ends_later = |entry: &u32| end(tick_ns(config), *entry, word) > time_ns;
    free.filter(|entry| word(entry + STATIC) == ENDED).filter(ends_later).collect()
}

fn tick_ns(config: &Config) -> u64 {
    config.param("tick").low_u64()
}

/// Whether entries end at ticks, and no step claims them. Timers have no values.
fn expires(config: &Config) -> bool {
    config.has_ticks() && !config.has_step() && config.value.is_some()
}

/// Returns the entries that are not static, the least recently touched one first.
fn ageing(base: u32, word: Word<'_>) -> impl Iterator<Item = u32> {
    let newer = move |entry: u32| Some(word(entry + NEWER)).filter(|next| *next != base + RING);
    std::iter::successors(newer(base + RING), move |entry| newer(*entry))
}

/// Returns when an entry ends, in nanoseconds.
fn end(tick_ns: u64, entry: u32, word: Word<'_>) -> u64 {
    let long = |at: u32| u64::from(word(at)) | u64::from(word(at + 1)) << 32;
    deadline(tick_ns, long(entry + TOUCHED), long(entry - DURATION))
}

/// A memory in which tables are spaced.
struct Spaced<'a> {
    words: &'a mut [u32],
    spacing: u32,
}

impl Spaced<'_> {
    fn get(&self, at: u32) -> u32 {
        self.words[(at * self.spacing) as usize]
    }

    fn set(&mut self, at: u32, word: u32) {
        self.words[(at * self.spacing) as usize] = word;
    }

    /// Takes an entry out of its bucket and out of the list by age, and adds it to the free
    /// entries.
    fn remove(&mut self, base: u32, entry: u32) {
        let mut before = self.get(entry + HEAD);
        while self.get(before) != entry {
            before = self.get(before);
        }
        self.set(before, self.get(entry));
        let [older, newer] = [OLDER, NEWER].map(|way| self.get(entry + way));
        self.set(older + NEWER, newer);
        self.set(newer + OLDER, older);
        self.set(entry + OLDER, entry);
        self.set(entry + NEWER, entry);
        self.set(entry, self.get(base));
        self.set(base, entry);
        self.set(entry + STATIC, ENDED);
    }
}
