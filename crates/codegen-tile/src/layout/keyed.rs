//! Tables of entries with keys: those of `exact`, and the parked packets of `park`. The routines of
//! tables.s work on them.
//!
//! ```text
//! byte 0      4..8   12       16       20      24..28 32      36     40         44       48
//!      | free | time | newest | oldest | fresh | age  | limit | mask | key size | stride | buckets
//!
//! entry 0      4..8      12      16      20     24    24 + key size
//!       | next | touched | older | newer | back | key | value, or a parked packet
//!
//! value of a parked packet
//!       0         4        8        12       16..20    26
//!       | ingress | egress | length | window | arrival | bytes
//! ```
//!
//! A bucket is the address of its first entry; its entries are in the order in which they came,
//! and `back` is where the address of an entry is. The list by age is a ring through the header,
//! which is in it as if it were an entry. Static entries are rings of their own. `free` begins the
//! list of entries that were removed, whose `back` is 0; those from `fresh` to `limit` were never
//! used.

use std::any::Any;

use wireloom_bits::Bits;
use wireloom_net::packet::MAX_LENGTH;
use wireloom_net::{Frame, PacketInHand};
use wireloom_offloads::kinds::exact::{Aged, Exact, State};
use wireloom_offloads::kinds::park::{self, Park, Parked};
use wireloom_offloads::{Config, Instance};

use super::super::words;
use super::read_back::value_at;
use super::{LINE, Place, Room, words_of};

/// Bytes of a header, and of an entry before its key.
const BUCKETS: u32 = 48;
pub const KEY: u32 = 24;
const TIME: u32 = 4;
const TOUCHED: u32 = 4;
const OLDER: u32 = 12;
const NEWER: u32 = 16;
const BACK: u32 = 20;
const FRESH: u32 = 20;
/// Bytes of a parked packet's value before its bytes: what belongs to it, and two that align.
const PACKET: u32 = 26;
/// The factor of the hash of keys: that of Fibonacci hashing for 32 bits.
const FACTOR: u32 = 0x9e37_79b9;

/// What is in memory: addresses and words.
type Images = Vec<(u32, Vec<u32>)>;

/// The names of numbers in tables.s. A name comes before those that it begins with.
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

/// The hash of a key, as the routine `table_hash` computes it.
fn hash(key: &[u32]) -> u32 {
    key.iter().fold(FACTOR, |hash, word| {
        let mixed = (hash ^ word).wrapping_mul(FACTOR);
        mixed ^ mixed >> 16
    })
}

/// An entry: when it was touched, unless it is static, its key and its value.
struct Entry {
    touched_ns: Option<u64>,
    key: Vec<u32>,
    value: Vec<u32>,
}

/// The sizes of a table.
#[derive(Clone, Copy)]
struct Shape {
    size: u32,
    buckets: u32,
    key_words: u32,
    /// Bytes of an entry.
    stride: u32,
}

impl Shape {
    fn of(config: &Config, value_bytes: u32) -> Self {
        let size = config.param("size").low_u64() as u32;
        let key = config.key.as_ref().map_or(1, |key| key.width());
        let key_words = words::count(key) as u32;
        let stride = (KEY + 4 * key_words + value_bytes).next_multiple_of(LINE);
        Self { size, buckets: size.next_power_of_two(), key_words, stride }
    }

    /// The bytes of header and buckets.
    fn head(&self) -> u64 {
        (u64::from(BUCKETS) + 4 * u64::from(self.buckets)).next_multiple_of(LINE.into())
    }

    /// Takes room for a table, and makes what is in it.
    fn image(
        &self,
        room: &mut Room,
        time_ns: u64,
        age_ns: u64,
        entries: &[Entry],
    ) -> Result<(u32, Images), String> {
        let all = u64::from(self.size) * u64::from(self.stride);
        let base = room.take(self.head() + all)?;
        let first = base + self.head() as u32;
        let at = |number: usize| first + number as u32 * self.stride;
        let [time, age] = [time_ns, age_ns].map(|long| [long as u32, (long >> 32) as u32]);
        let mask = 4 * (self.buckets - 1);
        // Of each bucket the word where the next entry's address goes.
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
            images.push(image);
        }
        let (fresh, limit) = (at(entries.len()), at(self.size as usize));
        let sizes = [mask, 4 * self.key_words, self.stride];
        let head = [0, time[0], time[1], newest, oldest, fresh, age[0], age[1], limit];
        let mut all = vec![(base, [&head[..], &sizes, &buckets].concat())];
        all.extend(images.into_iter().enumerate().map(|(number, image)| (at(number), image)));
        Ok((base, all))
    }

    /// The addresses of the entries in the list by age, the oldest first.
    fn by_age(base: u32, word: &mut dyn FnMut(u32) -> u32) -> Vec<u32> {
        let mut all = Vec::new();
        let mut entry = word(base + NEWER);
        while entry != base {
            all.push(entry);
            entry = word(entry + NEWER);
        }
        all
    }
}

fn key_words(key: &Bits) -> Vec<u32> {
    words_of(key).take(words::count(key.width())).collect()
}

fn long(at: u32, word: &mut dyn FnMut(u32) -> u32) -> u64 {
    u64::from(word(at)) | u64::from(word(at + 4)) << 32
}

/// Places an `exact` table.
///
/// # Errors
/// If it has no place.
pub(super) fn exact(
    config: &Config,
    instance: &dyn Instance,
    room: &mut Room,
) -> Result<(Place, Images), String> {
    let any: &dyn Any = instance;
    let table = any.downcast_ref::<Exact>().ok_or("it has no entries")?;
    let (_, value_width) = table.widths();
    let state = table.state();
    let entry = |key: &Bits, value: &Bits, touched_ns| Entry {
        touched_ns,
        key: key_words(key),
        value: key_words(value),
    };
    let fixed = state.fixed.iter().map(|(key, value)| entry(key, value, None));
    let ageing = state.ageing.iter();
    let ageing = ageing.map(|aged| entry(&aged.key, &aged.value, Some(aged.touched_ns)));
    let entries: Vec<Entry> = fixed.chain(ageing).collect();
    let shape = Shape::of(config, 4 * words::count(value_width) as u32);
    let age_ns = config.param("age").low_u64();
    let (base, images) = shape.image(room, state.time_ns, age_ns, &entries)?;
    Ok((Place::Table { base }, images))
}

/// Places parked packets.
///
/// # Errors
/// If they have no place.
pub(super) fn park(
    config: &Config,
    instance: &dyn Instance,
    room: &mut Room,
) -> Result<(Place, Images), String> {
    let any: &dyn Any = instance;
    let park::State { time_ns, packets } =
        any.downcast_ref::<Park>().ok_or("it has no packets")?.state();
    let entry = |parked: &Parked| {
        let packet = &parked.packet;
        let belongs = [
            u32::from(packet.ingress),
            packet.egress.into(),
            packet.len() as u32,
            packet.window_len() as u32,
            packet.arrival_ns as u32,
            (packet.arrival_ns >> 32) as u32,
        ];
        // Two bytes that align.
        let bytes = [&[0; 2], packet.bytes()].concat();
        let word = |chunk: &[u8]| {
            let mut word = [0; 4];
            word[..chunk.len()].copy_from_slice(chunk);
            u32::from_be_bytes(word)
        };
        let value = belongs.into_iter().chain(bytes.chunks(4).map(word)).collect();
        Entry { touched_ns: Some(parked.since_ns), key: key_words(&parked.key), value }
    };
    let entries: Vec<Entry> = packets.iter().map(entry).collect();
    let shape = Shape::of(config, (PACKET + MAX_LENGTH as u32).next_multiple_of(4));
    let age_ns = config.param("age").low_u64();
    let (base, images) = shape.image(room, time_ns, age_ns, &entries)?;
    Ok((Place::Park { base }, images))
}

/// Takes the entries of an `exact` table back.
pub(super) fn read_exact(
    config: &Config,
    instance: &mut dyn Instance,
    base: u32,
    word: &mut dyn FnMut(u32) -> u32,
) {
    let any: &mut dyn Any = instance;
    let Some(table) = any.downcast_mut::<Exact>() else { return };
    let (key_width, value_width) = table.widths();
    let shape = Shape::of(config, 4 * words::count(value_width) as u32);
    let pair = |entry: u32, word: &mut dyn FnMut(u32) -> u32| {
        let key = value_at(entry + KEY, key_width, word);
        (key, value_at(entry + KEY + 4 * shape.key_words, value_width, word))
    };
    let mut state = State { time_ns: long(base + TIME, word), ..State::default() };
    let first = base + shape.head() as u32;
    for entry in (first..word(base + FRESH)).step_by(shape.stride as usize) {
        if word(entry + BACK) != 0 && word(entry + OLDER) == entry {
            state.fixed.push(pair(entry, word));
        }
    }
    for entry in Shape::by_age(base, word) {
        let (key, value) = pair(entry, word);
        state.ageing.push(Aged { key, value, touched_ns: long(entry + TOUCHED, word) });
    }
    // What the chip holds is in the order of times, and no more than the table's size.
    let _ = table.set_state(&state);
}

/// Takes parked packets back.
pub(super) fn read_park(
    config: &Config,
    instance: &mut dyn Instance,
    base: u32,
    word: &mut dyn FnMut(u32) -> u32,
) {
    let any: &mut dyn Any = instance;
    let Some(park) = any.downcast_mut::<Park>() else { return };
    let key_width = config.key.as_ref().map_or(1, |key| key.width());
    let key_bytes = 4 * words::count(key_width) as u32;
    let parked = Shape::by_age(base, word).into_iter().map(|entry| {
        let key = value_at(entry + KEY, key_width, word);
        let at = entry + KEY + key_bytes;
        let [ingress, egress, length, window] = [0, 4, 8, 12].map(|field| word(at + field));
        let arrival_ns = long(at + 16, word);
        let end = PACKET + length;
        let bytes = (PACKET - 2..end).step_by(4).flat_map(|byte| word(at + byte).to_be_bytes());
        let bytes: Vec<u8> = bytes.skip(2).take(length as usize).collect();
        let (window, payload) = bytes.split_at(window as usize);
        let frame = Frame { ingress: ingress as u16, arrival_ns, bytes: &[] };
        let mut packet = PacketInHand::arrive(frame, 0);
        packet.egress = egress as u16;
        packet.assign(window, payload);
        Parked { key, since_ns: long(entry + TOUCHED, word), packet }
    });
    let packets = parked.collect();
    // What the chip holds is in the order of times, and no more than the park's size.
    let _ = park.set_state(park::State { time_ns: long(base + TIME, word), packets });
}
