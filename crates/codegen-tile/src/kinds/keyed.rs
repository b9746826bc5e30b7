//! Tables of entries with keys: the entries of `exact`, and the parked packets of `park`. The
//! routines of keyed.s work on them.
//!
//! ```text
//! byte 0      4..8   12       16       20      24..28 32      36     40         44       48
//!      | free | time | newest | oldest | fresh | age  | limit | mask | key size | stride | buckets
//!
//! entry 0      4..8      12      16      20     24    24 + key size
//!       | next | touched | older | newer | back | key | value, or a parked packet
//! ```
//!
//! A bucket is the address of its first entry. The entries of a bucket are in the order of their
//! insertion, and `back` is the address of the word that points to an entry. The list by age is a
//! ring through the header, as if the header were an entry. Each static entry is a ring of its own.
//! `free` begins the list of removed entries, whose `back` is 0. The entries from `fresh` to
//! `limit` were never used.
//!
//! A table whose entries end at ticks has no age. The duration of an entry in nanoseconds follows
//! its value. `ticks.rs` has the rest.

use wireloom_bits::Bits;
use wireloom_ir::Value;
use wireloom_offloads::{Config, Layout};

use super::ticks;

use crate::code::Operand;
use crate::lower::Lower;
use crate::memory::{LINE, Memory, words_of};
use crate::words::{self, Words};

/// The routines whose names begin with `table_`.
pub const ROUTINES: &str = include_str!("keyed.s");

/// Bytes of a header.
const BUCKETS: u32 = 48;
/// Bytes of an entry before its key.
pub const KEY: u32 = 24;

// Fields of headers and entries, and fields of headers alone.
const TIME: u32 = 4;
pub const TOUCHED: u32 = 4;
pub const OLDER: u32 = 12;
pub const NEWER: u32 = 16;
pub const BACK: u32 = 20;
const FRESH: u32 = 20;

/// The factor of Fibonacci hashing for 32 bits.
const FACTOR: u32 = 0x9e37_79b9;

/// The numbers that keyed.s uses by name.
pub const NAMES: [(&str, u32); 15] = [
    ("HASH_FACTOR", FACTOR),
    ("BUCKETS", BUCKETS),
    ("KEY_BYTES", 40),
    ("KEY", KEY),
    ("FREE", 0),
    ("TIME", TIME),
    ("FRESH", FRESH),
    ("LIFE", 24),
    ("LIMIT", 32),
    ("MASK", 36),
    ("STRIDE", 44),
    ("TOUCHED", TOUCHED),
    ("OLDER", OLDER),
    ("NEWER", NEWER),
    ("BACK", BACK),
];

/// Returns the hash of a key as the routine `table_hash` computes it.
fn hash(key: &[u32]) -> u32 {
    key.iter().fold(FACTOR, |hash, word| {
        let mixed = (hash ^ word).wrapping_mul(FACTOR);
        mixed ^ mixed >> 16
    })
}

/// An entry of a table.
pub struct Entry {
    /// When the entry was touched, in nanoseconds; `None` for static entries.
    pub touched_ns: Option<u64>,
    pub key: Vec<u32>,
    pub value: Vec<u32>,
    /// The duration in nanoseconds, in a table whose entries end at ticks.
    pub duration_ns: Option<u64>,
}

/// The sizes of a table.
#[derive(Clone, Copy)]
pub struct Shape {
    /// The most entries.
    size: u32,
    buckets: u32,
    key_words: u32,
    /// Bytes of an entry.
    stride: u32,
}

impl Shape {
    /// Returns the sizes of an offload's table with values of this many bytes.
    pub fn of(config: &Config, value_bytes: u32) -> Self {
        let size = config.param("size").low_u64() as u32;
        let key_words = words::count(key_width(config)) as u32;
        let duration = if config.has_ticks() { ticks::DURATION } else { 0 };
        let stride = (KEY + 4 * key_words + value_bytes + duration).next_multiple_of(LINE);
        Self { size, buckets: size.next_power_of_two(), key_words, stride }
    }

    /// Returns the bytes of header and buckets.
    fn head(&self) -> u64 {
        (u64::from(BUCKETS) + 4 * u64::from(self.buckets)).next_multiple_of(LINE.into())
    }

    /// Returns the bytes of an entry before its value.
    pub fn value(&self) -> u32 {
        KEY + 4 * self.key_words
    }

    /// Takes memory for a table, writes its entries there and returns its address. Ageing entries
    /// are in the order of their times.
    ///
    /// # Errors
    /// If the memory is too small.
    pub fn place(
        &self,
        config: &Config,
        time_ns: u64,
        entries: &[Entry],
        memory: &mut Memory,
    ) -> Result<u32, String> {
        let all = u64::from(self.size) * u64::from(self.stride);
        let base = memory.take(self.head() + all)?;
        let first = base + self.head() as u32;
        let at = |number: usize| first + number as u32 * self.stride;
        let age_ns = if config.has_ticks() { 0 } else { config.param("age").low_u64() };
        let [time, age] = [time_ns, age_ns].map(|long| [long as u32, (long >> 32) as u32]);
        let mask = 4 * (self.buckets - 1);
        // For each bucket, the address of the word that is to point to its next entry.
        let mut ends: Vec<u32> = (0..self.buckets).map(|at| base + BUCKETS + 4 * at).collect();
        let mut buckets = vec![0; if entries.is_empty() { 0 } else { ends.len() }];
        let mut images: Vec<Vec<u32>> = Vec::new();
        let (mut newest, mut oldest) = (base, base);
        for (number, entry) in entries.iter().enumerate() {
            let own = at(number);
            let bucket = (hash(&entry.key) & mask) as usize / 4;
            let back = std::mem::replace(&mut ends[bucket], own);
            if back >= first {
                images[((back - first) / self.stride) as usize][0] = own;
            } else {
                buckets[bucket] = own;
            }
            let touched = entry.touched_ns.unwrap_or(0);
            let mut image = vec![0, touched as u32, (touched >> 32) as u32, own, own, back];
            if entry.touched_ns.is_some() {
                image[OLDER as usize / 4] = newest;
                image[NEWER as usize / 4] = base;
                if newest == base {
                    oldest = own;
                } else {
                    images[((newest - first) / self.stride) as usize][NEWER as usize / 4] = own;
                }
                newest = own;
            }
            image.extend(entry.key.iter().chain(&entry.value));
            let duration = entry.duration_ns.map(|long| [long as u32, (long >> 32) as u32]);
            image.extend(duration.into_iter().flatten());
            images.push(image);
        }
        let (fresh, limit) = (at(entries.len()), at(self.size as usize));
        let sizes = [mask, 4 * self.key_words, self.stride];
        let head = [0, time[0], time[1], newest, oldest, fresh, age[0], age[1], limit];
        memory.images.push((base, [&head[..], &sizes, &buckets].concat()));
        let entries = images.into_iter().enumerate();
        memory.images.extend(entries.map(|(number, image)| (at(number), image)));
        Ok(base)
    }

    /// Returns the addresses of the static entries of the table at an address.
    pub fn fixed(&self, base: u32, word: &mut dyn FnMut(u32) -> u32) -> Vec<u32> {
        let first = base + self.head() as u32;
        let used = (first..word(base + FRESH)).step_by(self.stride as usize);
        used.filter(|entry| word(entry + BACK) != 0 && word(entry + OLDER) == *entry).collect()
    }
}

/// Returns the addresses of the ageing entries of the table at an address, the oldest first.
pub fn by_age(base: u32, word: &mut dyn FnMut(u32) -> u32) -> Vec<u32> {
    let mut all = Vec::new();
    let mut entry = word(base + NEWER);
    while entry != base {
        all.push(entry);
        entry = word(entry + NEWER);
    }
    all
}

/// Returns the time of the table at an address, in nanoseconds.
pub fn time_ns(base: u32, word: &mut dyn FnMut(u32) -> u32) -> u64 {
    long(base + TIME, word)
}

/// Returns when the entry at an address was touched, in nanoseconds.
pub fn touched_ns(entry: u32, word: &mut dyn FnMut(u32) -> u32) -> u64 {
    long(entry + TOUCHED, word)
}

/// Returns a value of 64 bits in memory, whose lower word comes first.
pub fn long(at: u32, word: &mut dyn FnMut(u32) -> u32) -> u64 {
    u64::from(word(at)) | u64::from(word(at + 4)) << 32
}

/// Returns the words of a key or a value, the lowest first.
pub fn words_of_width(value: &Bits) -> Vec<u32> {
    words_of(value).take(words::count(value.width())).collect()
}

pub fn key_width(config: &Config) -> u32 {
    config.key.as_ref().map_or(1, Layout::width)
}

/// Removes the entries of a table that are older than an age, and returns their number.
pub fn expire(lower: &mut Lower<'_>, table: Operand, older_than: Value) -> Words {
    let age = lower.get(older_than);
    lower.code.call("table_advance", &[table], 0);
    lower.code.call("table_sweep", &[table, age[0], age[1]], 1)
}
