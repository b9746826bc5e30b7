//! The memory of an `exact` table. The C code of the native machine also reads and writes it
//! (runtime/c/exact.h), so nothing moves while packets are executed.
//!
//! # Layout
//! - *Entries* are numbered and never move. An entry has a time, its place in the order of touches,
//!   the words of its key and the words of its value. A removed entry joins a free list.
//! - *Buckets* have the size of a cache line: up to twelve numbers of entries, each with an
//!   eight-bit tag, which is part of the hash of its key. A search reads a bucket, then the entries
//!   with the right tag: two accesses that a batch can prefetch.
//! - A bucket with more than twelve entries continues in an *overflow* bucket. Chains have no gaps:
//!   the last entry of a chain takes the place of a removed one.
//!
//! # Growth
//! The system reserves addresses for `size` entries and provides a page at its first write. Buckets
//! multiply by linear hashing (Litwin, VLDB 1980): while their number doubles, each new entry
//! splits four buckets, so no call ever waits for a whole table to be rehashed.
//!
//! # The order of touches
//! In a table whose entries expire, a list links the entries in the order of touches. In any other
//! table, maintaining the list would cost time at each touch. There, an entry stores the number of
//! its last touch instead, and the first call of `expire` sorts the entries by these numbers and
//! builds the list.
//!
//! # Ticks
//! In a table whose entries end at ticks ([`Ends::AtTicks`]), each entry has a duration and a place
//! in a [`Wheel`]. A touch restarts the duration and leaves the place as it is, so the slot of an
//! entry may come before its deadline; the entry then moves on.

mod ticks;

use std::hash::{BuildHasher, RandomState};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use crate::Refused;
use crate::memory::{Reserved, Zeroable};
use crate::time::{LOOSE, NEVER, Wheel};

/// The number that means "no entry".
pub const NONE: u32 = u32::MAX;

/// The maximum number of entries of a bucket.
const PLACES: usize = 12;
/// The mean number of entries of a bucket at which the number of buckets begins to double.
const FULL: u32 = 8;
/// The number of buckets that a new entry splits while the number of buckets doubles.
const SPLITS: usize = 4;
/// The number of buckets of an empty table.
const FIRST: u32 = 4;

/// The number of words before the key of an entry: the time of the last touch, and the order.
const HEAD: usize = 2;
/// The same if entries end at ticks: also the duration, and the place in the wheel.
const HEAD_AT_TICKS: usize = 4;

/// How the entries of a table end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ends {
    /// Not by time.
    Never,
    /// When they are older than the age of the table.
    Old,
    /// At ticks, each after a duration of its own.
    AtTicks {
        /// The time from one tick to the next in nanoseconds.
        tick_ns: u64,
        /// The duration of a new entry in nanoseconds.
        duration_ns: u64,
        /// Whether an entry stays in the table until its step claims it.
        is_claimed: bool,
    },
}

/// The order of a static entry, which is not in the list.
const STATIC: u64 = 0xffff_fffe_ffff_fffe;
/// The upper half of the order of a free entry. The lower half is the next free entry.
const FREE: u32 = 0xffff_fffd;

/// Up to twelve entries whose keys have similar hashes; `struct wl_exact_bucket`.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
pub struct Bucket {
    /// Bits 56 to 63 of the hash of each key.
    tags: [u8; PLACES],
    entries: [u32; PLACES],
    /// Bits 0 to 3 are the number of entries. The other bits are the number of the next bucket of
    /// the chain: an overflow bucket, counted from 1, or 0 for none.
    state: u32,
}

// SAFETY: a bucket consists of integers.
unsafe impl Zeroable for Bucket {}

impl Bucket {
    const EMPTY: Self = Self { tags: [0; PLACES], entries: [0; PLACES], state: 0 };

    fn len(&self) -> usize {
        (self.state & 15) as usize
    }

    fn set_len(&mut self, len: usize) {
        self.state = self.state & !15 | len as u32;
    }

    fn next(&self) -> u32 {
        self.state >> 4
    }

    fn set_next(&mut self, next: u32) {
        self.state = self.state & 15 | next << 4;
    }
}

/// A bucket, by its kind and number.
#[derive(Clone, Copy, PartialEq, Eq)]
enum At {
    Main(usize),
    Overflow(u32),
}

/// Changes that C code leaves to Rust.
type Insert =
    unsafe extern "C" fn(table: *mut Raw, hash: u64, key: *const u64, value: *const u64) -> u32;
type Remove = unsafe extern "C" fn(table: *mut Raw, entry: u32);
type Expire = unsafe extern "C" fn(table: *mut Raw, older_than_ns: u64) -> u32;
type End = unsafe extern "C" fn(table: *mut Raw);
type Keep = unsafe extern "C" fn(table: *mut Raw, entry: u32, duration_ns: u64);
type Claim = unsafe extern "C" fn(table: *mut Raw, entry: u32) -> bool;

/// The table. Up to `claim`, `struct wl_exact` has the same fields.
#[repr(C)]
pub struct Raw {
    buckets: Reserved<Bucket>,
    overflow: Reserved<Bucket>,
    entries: Reserved<u64>,
    /// The latest time of a call that changes the table, in nanoseconds.
    pub time_ns: u64,
    /// Random numbers, so that nobody can construct packets whose keys all collide. The behaviour
    /// of a table does not depend on these seeds.
    seeds: [u64; 2],
    /// The number of the next touch, while touches are numbered.
    touches: u64,
    /// The number of changes of keys and values. A reply of `lookup` is valid until the next
    /// change.
    changes: u64,
    /// The time before which no entry ends at a tick, in nanoseconds.
    next_ns: u64,
    /// The number of buckets in use, and the mask of hashes for buckets that have not been split
    /// yet.
    used: u32,
    mask: u32,
    /// The least and the most recently touched entry of the list.
    oldest: u32,
    newest: u32,
    /// 1 if there is a list, 0 if touches are numbered.
    is_linked: u32,
    insert: Insert,
    remove: Remove,
    expire: Expire,
    end: End,
    keep: Keep,
    claim: Claim,
    /// The number of entries, and the maximum.
    count: u32,
    size: u32,
    /// Entries from `fresh` on have never been used. `free` is the first entry of the free list.
    fresh: u32,
    free: u32,
    /// Overflow buckets are managed in the same way, counted from 1.
    fresh_overflow: u32,
    free_overflow: u32,
    ends: Ends,
    wheel: Box<Wheel>,
    key_words: usize,
    value_words: usize,
}

impl Ends {
    fn head(self) -> usize {
        if let Self::AtTicks { .. } = self { HEAD_AT_TICKS } else { HEAD }
    }
}

impl Raw {
    fn head(&self) -> usize {
        self.ends.head()
    }

    fn stride(&self) -> usize {
        self.head() + self.key_words + self.value_words
    }

    fn start(&self, entry: u32) -> usize {
        entry as usize * self.stride()
    }

    fn word(&self, entry: u32, word: usize) -> u64 {
        self.entries[self.start(entry) + word]
    }

    fn set_word(&mut self, entry: u32, word: usize, value: u64) {
        let at = self.start(entry) + word;
        self.entries[at] = value;
    }

    /// Returns the time of the last touch of an entry, in nanoseconds.
    pub fn touched_ns(&self, entry: u32) -> u64 {
        self.word(entry, 0)
    }

    fn order(&self, entry: u32) -> u64 {
        self.word(entry, 1)
    }

    fn set_order(&mut self, entry: u32, order: u64) {
        self.set_word(entry, 1, order);
    }

    /// Whether the control plane loaded the entry.
    pub fn is_static(&self, entry: u32) -> bool {
        self.order(entry) == STATIC
    }

    /// Returns the words of an entry's key.
    pub fn key(&self, entry: u32) -> &[u64] {
        &self.entries[self.start(entry) + self.head()..][..self.key_words]
    }

    /// Returns the words of an entry's value.
    pub fn value(&self, entry: u32) -> &[u64] {
        &self.entries[self.start(entry) + self.head() + self.key_words..][..self.value_words]
    }

    /// Replaces the value of an entry.
    pub fn set_value(&mut self, entry: u32, value: impl Iterator<Item = u64>) {
        let at = self.start(entry) + self.head() + self.key_words;
        let count = self.value_words;
        self.changes += 1;
        self.entries[at..][..count].iter_mut().zip(value).for_each(|(to, from)| *to = from);
    }

    /// Returns the number of entries.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Whether there is no room for another entry.
    pub fn is_full(&self) -> bool {
        self.count >= self.size
    }

    /// Hashes a key with folded products of its words and the seeds, as wyhash does. The lowest
    /// bits select the bucket; the highest bits are the tag.
    pub fn hash(&self, key: &[u64]) -> u64 {
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product as u64 ^ (product >> 64) as u64
        };
        let [mut hash, other] = self.seeds;
        let mut pairs = key.chunks_exact(2);
        for pair in &mut pairs {
            hash = fold(pair[0] ^ hash, pair[1] ^ other);
        }
        match pairs.remainder() {
            [last] => fold(last ^ hash, other),
            _ => hash,
        }
    }

    fn home(&self, hash: u64) -> usize {
        let split = hash as u32 & (2 * self.mask + 1);
        (if split < self.used { split } else { split & self.mask }) as usize
    }

    fn bucket(&self, at: At) -> &Bucket {
        match at {
            At::Main(index) => &self.buckets[index],
            At::Overflow(number) => &self.overflow[number as usize - 1],
        }
    }

    fn bucket_mut(&mut self, at: At) -> &mut Bucket {
        match at {
            At::Main(index) => &mut self.buckets[index],
            At::Overflow(number) => &mut self.overflow[number as usize - 1],
        }
    }

    /// Returns the buckets of a chain.
    fn chain(&self, home: usize) -> impl Iterator<Item = At> + '_ {
        let next = |at: &At| match self.bucket(*at).next() {
            0 => None,
            number => Some(At::Overflow(number)),
        };
        std::iter::successors(Some(At::Main(home)), next)
    }

    /// Returns the entry with this key, expired or not.
    pub fn find(&self, key: &[u64]) -> Option<u32> {
        let hash = self.hash(key);
        let tag = (hash >> 56) as u8;
        self.chain(self.home(hash)).find_map(|at| {
            let bucket = self.bucket(at);
            let places = bucket.tags.iter().zip(&bucket.entries).take(bucket.len());
            let mut found = places.filter(|(own, _)| **own == tag).map(|(_, entry)| *entry);
            found.find(|entry| self.key(*entry) == key)
        })
    }

    /// Inserts an entry, which is static until it is linked. The key must be absent, and the table
    /// must not be full.
    pub fn insert(&mut self, key: &[u64], value: impl Iterator<Item = u64>) -> u32 {
        self.insert_hashed(self.hash(key), key, value)
    }

    fn insert_hashed(&mut self, hash: u64, key: &[u64], value: impl Iterator<Item = u64>) -> u32 {
        self.grow();
        let entry = match self.free {
            NONE => {
                self.fresh += 1;
                self.fresh - 1
            }
            free => {
                self.free = self.order(free) as u32;
                free
            }
        };
        let at = self.start(entry);
        let head = self.head();
        self.entries[at..][..head].copy_from_slice(&[0, STATIC, NEVER, LOOSE][..head]);
        self.entries[at + head..][..key.len()].copy_from_slice(key);
        self.set_value(entry, value);
        self.place(self.home(hash), (hash >> 56) as u8, entry);
        self.count += 1;
        entry
    }

    /// Appends an entry to a chain.
    fn place(&mut self, home: usize, tag: u8, entry: u32) {
        let last = self.chain(home).last().expect("a chain has a bucket");
        let mut at = last;
        if self.bucket(last).len() == PLACES {
            let number = match self.free_overflow {
                0 => {
                    self.fresh_overflow += 1;
                    self.fresh_overflow
                }
                free => {
                    self.free_overflow = self.bucket(At::Overflow(free)).next();
                    free
                }
            };
            self.bucket_mut(last).set_next(number);
            at = At::Overflow(number);
            *self.bucket_mut(at) = Bucket::EMPTY;
        }
        let bucket = self.bucket_mut(at);
        let len = bucket.len();
        (bucket.tags[len], bucket.entries[len]) = (tag, entry);
        bucket.set_len(len + 1);
    }

    /// Removes an entry.
    pub fn remove(&mut self, entry: u32) {
        let home = self.home(self.hash(self.key(entry)));
        let (mut before, mut last, mut hole) = (None, At::Main(home), None);
        for at in self.chain(home) {
            (before, last) = ((at != At::Main(home)).then_some(last), at);
            let bucket = self.bucket(at);
            let place = bucket.entries[..bucket.len()].iter().position(|own| *own == entry);
            hole = hole.or(place.map(|place| (at, place)));
        }
        let (at, place) = hole.expect("an entry is in the chain of its key");
        let bucket = self.bucket_mut(last);
        let len = bucket.len() - 1;
        let moved = (bucket.tags[len], bucket.entries[len]);
        bucket.set_len(len);
        let bucket = self.bucket_mut(at);
        (bucket.tags[place], bucket.entries[place]) = moved;
        if let (0, At::Overflow(number), Some(before)) = (len, last, before) {
            self.bucket_mut(before).set_next(0);
            let free = self.free_overflow;
            self.bucket_mut(last).set_next(free);
            self.free_overflow = number;
        }
        self.changes += 1;
        self.unlink(entry);
        self.leave_wheel(entry);
        let free = self.free;
        self.set_order(entry, u64::from(FREE) << 32 | u64::from(free));
        self.free = entry;
        self.count -= 1;
    }

    /// Splits some buckets if the mean number of entries of a bucket is too high.
    fn grow(&mut self) {
        let doubles = self.used > self.mask + 1 || self.count >= FULL * self.used;
        for _ in 0..SPLITS {
            if doubles && (self.used as usize) < self.buckets.len() {
                self.split();
            }
        }
    }

    /// Distributes the entries of the first unsplit bucket over itself and a new bucket.
    fn split(&mut self) {
        let home = (self.used - self.mask - 1) as usize;
        let chain: Vec<At> = self.chain(home).collect();
        let old: Vec<Bucket> = chain.iter().map(|at| *self.bucket(*at)).collect();
        self.buckets[home] = Bucket::EMPTY;
        for at in &chain {
            if let At::Overflow(number) = at {
                let free = self.free_overflow;
                self.bucket_mut(*at).set_next(free);
                self.free_overflow = *number;
            }
        }
        self.used += 1;
        for bucket in old {
            for place in 0..bucket.len() {
                let entry = bucket.entries[place];
                let home = self.home(self.hash(self.key(entry)));
                self.place(home, bucket.tags[place], entry);
            }
        }
        if self.used == 2 * (self.mask + 1) {
            self.mask = 2 * self.mask + 1;
        }
    }

    /// Removes an entry from the list if it is in the list.
    fn unlink(&mut self, entry: u32) {
        let order = self.order(entry);
        if self.is_linked == 0 || order == STATIC {
            return;
        }
        let (older, newer) = (order as u32, (order >> 32) as u32);
        match older {
            NONE => self.oldest = newer,
            _ => self.set_order(older, self.order(older) & 0xffff_ffff | u64::from(newer) << 32),
        }
        match newer {
            NONE => self.newest = older,
            _ => self.set_order(newer, self.order(newer) & !0xffff_ffff | u64::from(older)),
        }
    }

    /// Makes an entry that is not in the list the most recently touched one.
    pub fn link(&mut self, entry: u32, now_ns: u64) {
        self.set_word(entry, 0, now_ns);
        if self.is_linked == 0 {
            self.set_order(entry, self.touches);
            self.touches += 1;
            return;
        }
        let older = self.newest;
        self.set_order(entry, u64::from(NONE) << 32 | u64::from(older));
        match older {
            NONE => self.oldest = entry,
            _ => self.set_order(older, self.order(older) & 0xffff_ffff | u64::from(entry) << 32),
        }
        self.newest = entry;
    }

    /// Touches an entry at the table's time, unless it is static.
    pub fn touch(&mut self, entry: u32) {
        if !self.is_static(entry) {
            self.unlink(entry);
            self.link(entry, self.time_ns);
        }
    }

    /// Makes an entry static.
    pub fn fix(&mut self, entry: u32) {
        self.unlink(entry);
        self.leave_wheel(entry);
        self.set_order(entry, STATIC);
    }

    /// Builds the list of ageing entries.
    fn link_all(&mut self) {
        let ageing: Vec<u32> = self.ageing().collect();
        self.is_linked = 1;
        for entry in ageing {
            self.link(entry, self.touched_ns(entry));
        }
    }

    /// Removes every ageing entry that was touched more than this before the table's time. Returns
    /// the number of removed entries.
    pub fn expire(&mut self, older_than_ns: u64) -> usize {
        if self.is_linked == 0 {
            self.link_all();
        }
        let before = self.count;
        while self.oldest != NONE && self.time_ns - self.touched_ns(self.oldest) > older_than_ns {
            self.remove(self.oldest);
        }
        (before - self.count) as usize
    }

    /// Returns all entries in no particular order.
    pub fn all(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.fresh).filter_map(|slot| self.at(slot))
    }

    /// Returns the number of slots that have ever been used. An entry keeps its slot.
    pub fn slots(&self) -> u32 {
        self.fresh
    }

    /// Returns the entry in a slot that has been used, if it still has one.
    pub fn at(&self, slot: u32) -> Option<u32> {
        ((self.order(slot) >> 32) as u32 != FREE).then_some(slot)
    }

    /// Returns the ageing entries, the least recently touched one first.
    pub fn ageing(&self) -> impl Iterator<Item = u32> + '_ {
        let numbered = if self.is_linked == 0 {
            let mut entries: Vec<u32> =
                self.all().filter(|entry| !self.is_static(*entry)).collect();
            entries.sort_unstable_by_key(|entry| self.order(*entry));
            entries
        } else {
            Vec::new()
        };
        let exists = |entry: u32| (entry != NONE).then_some(entry);
        let first = if self.is_linked == 0 { None } else { exists(self.oldest) };
        let linked =
            std::iter::successors(first, move |entry| exists((self.order(*entry) >> 32) as u32));
        numbered.into_iter().chain(linked)
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        let used = self.used as usize;
        self.buckets[..used].fill(Bucket::EMPTY);
        self.reset();
    }

    fn reset(&mut self) {
        (self.used, self.mask) = (FIRST, FIRST - 1);
        (self.oldest, self.newest) = (NONE, NONE);
        (self.count, self.fresh, self.free) = (0, 0, NONE);
        (self.fresh_overflow, self.free_overflow) = (0, 0);
        (self.touches, self.is_linked) = (0, u32::from(self.ends == Ends::Old));
        self.wheel.clear();
        self.next_ns = NEVER;
    }
}

/// A table that owns its memory. Its address does not change.
pub struct Table(NonNull<Raw>);

// SAFETY: the table owns its memory.
unsafe impl Send for Table {}

impl Table {
    /// Creates an empty table for `size` entries.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn new(
        key_words: usize,
        value_words: usize,
        size: usize,
        ends: Ends,
    ) -> Result<Self, Refused> {
        let stride = ends.head() + key_words + value_words;
        // `size` is at most 2^28, `MOST_ENTRIES`.
        let buckets = size.div_ceil(FULL as usize).next_power_of_two().max(FIRST as usize);
        let random = RandomState::new();
        let mut raw = Raw {
            buckets: Reserved::new(buckets)?,
            // All buckets of a chain except the last one are full.
            overflow: Reserved::new(size.div_ceil(PLACES) + 1)?,
            entries: Reserved::new(size.saturating_mul(stride))?,
            time_ns: 0,
            seeds: [random.hash_one(0), random.hash_one(1) | 1],
            touches: 0,
            changes: 0,
            next_ns: NEVER,
            used: 0,
            mask: 0,
            oldest: NONE,
            newest: NONE,
            is_linked: 0,
            insert: insert_for_c,
            remove: remove_for_c,
            expire: expire_for_c,
            end: end_for_c,
            keep: keep_for_c,
            claim: claim_for_c,
            count: 0,
            size: size as u32,
            fresh: 0,
            free: NONE,
            fresh_overflow: 0,
            free_overflow: 0,
            ends,
            wheel: Box::new(Wheel::new()),
            key_words,
            value_words,
        };
        raw.reset();
        Ok(Self(NonNull::from(Box::leak(Box::new(raw)))))
    }

    /// Returns the address of the table for C code.
    pub fn as_ptr(&mut self) -> *mut Raw {
        self.0.as_ptr()
    }
}

impl Deref for Table {
    type Target = Raw;

    fn deref(&self) -> &Raw {
        // SAFETY: `new` allocated it, and `drop` frees it.
        unsafe { self.0.as_ref() }
    }
}

impl DerefMut for Table {
    fn deref_mut(&mut self) -> &mut Raw {
        // SAFETY: as above; C code does not run at the same time.
        unsafe { self.0.as_mut() }
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        // SAFETY: `new` leaked this box.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

impl Clone for Table {
    fn clone(&self) -> Self {
        let same = "what one table has addresses for has addresses in another";
        let mut copy =
            Self::new(self.key_words, self.value_words, self.size as usize, self.ends).expect(same);
        let (used, words) = (self.used as usize, self.start(self.fresh));
        let overflow = self.fresh_overflow as usize;
        copy.buckets[..used].copy_from_slice(&self.buckets[..used]);
        copy.overflow[..overflow].copy_from_slice(&self.overflow[..overflow]);
        copy.entries[..words].copy_from_slice(&self.entries[..words]);
        (copy.time_ns, copy.seeds, copy.touches) = (self.time_ns, self.seeds, self.touches);
        (copy.used, copy.mask, copy.is_linked) = (self.used, self.mask, self.is_linked);
        (copy.oldest, copy.newest) = (self.oldest, self.newest);
        copy.wheel.clone_from(&self.wheel);
        copy.next_ns = self.next_ns;
        (copy.count, copy.fresh, copy.free) = (self.count, self.fresh, self.free);
        (copy.fresh_overflow, copy.free_overflow) = (self.fresh_overflow, self.free_overflow);
        copy
    }
}

/// Inserts and touches an entry that is absent. Returns its number, or [`NONE`] if the table is
/// full.
///
/// # Safety
/// `key` and `value` have the numbers of words of the table's keys and values. Nothing else uses
/// the table.
unsafe extern "C" fn insert_for_c(
    table: *mut Raw,
    hash: u64,
    key: *const u64,
    value: *const u64,
) -> u32 {
    // SAFETY: as the caller promises.
    let (table, key, value) = unsafe {
        let table = &mut *table;
        let (key_words, value_words) = (table.key_words, table.value_words);
        let key = std::slice::from_raw_parts(key, key_words);
        (table, key, std::slice::from_raw_parts(value, value_words))
    };
    if table.is_full() {
        return NONE;
    }
    let entry = table.insert_hashed(hash, key, value.iter().copied());
    table.begin(entry, table.time_ns);
    entry
}

/// Removes an entry.
///
/// # Safety
/// The entry is in the table, and nothing else uses the table.
unsafe extern "C" fn remove_for_c(table: *mut Raw, entry: u32) {
    // SAFETY: as the caller promises.
    unsafe { &mut *table }.remove(entry);
}

/// Calls [`Raw::expire`].
///
/// # Safety
/// Nothing else uses the table.
unsafe extern "C" fn expire_for_c(table: *mut Raw, older_than_ns: u64) -> u32 {
    // SAFETY: as the caller promises.
    unsafe { &mut *table }.expire(older_than_ns) as u32
}

/// Calls [`Raw::end`].
///
/// # Safety
/// Nothing else uses the table.
unsafe extern "C" fn end_for_c(table: *mut Raw) {
    // SAFETY: as the caller promises.
    unsafe { &mut *table }.end();
}

/// Calls [`Raw::keep`].
///
/// # Safety
/// The entry is in the table, and nothing else uses the table.
unsafe extern "C" fn keep_for_c(table: *mut Raw, entry: u32, duration_ns: u64) {
    // SAFETY: as the caller promises.
    unsafe { &mut *table }.keep(entry, duration_ns);
}

/// Calls [`Raw::is_over`].
///
/// # Safety
/// The entry is in the table, and nothing else uses the table.
unsafe extern "C" fn claim_for_c(table: *mut Raw, entry: u32) -> bool {
    // SAFETY: as the caller promises.
    unsafe { &mut *table }.is_over(entry)
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
