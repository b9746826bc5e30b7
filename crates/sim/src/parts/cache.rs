//! Caches: the lines present, and the effect of a miss on them. Timing is up to the machine.

use serde::{Deserialize, Serialize};

use crate::rng::Rng;
use crate::spec::{SpecError, power_of_two, within};
use crate::stats::Record;

/// A set-associative cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CacheSpec {
    /// The size of the cache in bytes: a power of two from 16 to 2^30.
    pub bytes: u64,
    /// The size of a line in bytes: a power of two from 4 to 4,096, at most the cache's size.
    pub line_bytes: u64,
    /// Lines of a set: a power of two from 1 (direct-mapped) to 64, at most the number of lines.
    pub ways: u64,
    /// The replacement policy within a set.
    #[serde(default)]
    pub replacement: Replacement,
    /// The write policy.
    #[serde(default)]
    pub write: WritePolicy,
    /// The number of lines after a missing one that are fetched with it, 0 to 16.
    #[serde(default)]
    pub prefetch_lines: u64,
}

/// The replacement policy of a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// Replaces the least recently used line.
    #[default]
    Lru,
    /// Fills empty lines first, then replaces a random line.
    Random,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WritePolicy {
    /// Write-back: a write changes the line, which is fetched if it is absent and written to memory
    /// when it is replaced.
    #[default]
    Back,
    /// Write-through: a write changes memory, and the line only if it is present.
    Through,
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// A load, or an instruction fetch.
    Read,
    /// A store.
    Write,
}

/// The accesses to memory that follow from an access to the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whether the line was present.
    pub hit: bool,
    /// Whether the line must be fetched.
    pub fetches: bool,
    /// Whether the write itself goes to memory.
    pub writes_through: bool,
    /// The address of an evicted line that must first be written to memory.
    pub writes_back: Option<u64>,
}

/// A cache and its lines.
#[derive(Clone, Debug)]
pub struct Cache {
    spec: CacheSpec,
    line_shift: u32,
    set_mask: u64,
    ways: usize,
    /// The lines, set by set.
    lines: Vec<Line>,
    rng: Rng,
    done: Done,
    /// The counts at the start of the measurement.
    before: Done,
}

/// Counts since time 0.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    reads: Counts,
    writes: Counts,
    evicted: u64,
    written_back: u64,
    prefetched: u64,
}

/// A line, or room for one.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// The flags [`VALID`] and [`DIRTY`]; the line's number is above them.
    tag: u64,
    /// The time of the last use.
    used: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    all: u64,
    misses: u64,
}

impl Counts {
    fn since(self, earlier: Self) -> Self {
        Self { all: self.all - earlier.all, misses: self.misses - earlier.misses }
    }
}

const VALID: u64 = 1;
const DIRTY: u64 = 2;
const FLAGS: u32 = 2;

impl Line {
    #[inline(always)]
    fn touch(&mut self, time: u64) {
        self.used = self.used.max(time);
    }
}

impl Cache {
    /// Creates an empty cache. `rng` is for random replacement.
    ///
    /// # Errors
    /// If a number of the specification is out of range.
    pub fn new(spec: CacheSpec, rng: Rng) -> Result<Self, SpecError> {
        power_of_two("bytes", spec.bytes, 16..=1 << 30)?;
        power_of_two("line_bytes", spec.line_bytes, 4..=spec.bytes.min(4096))?;
        let lines = spec.bytes / spec.line_bytes;
        power_of_two("ways", spec.ways, 1..=lines.min(64))?;
        within("prefetch_lines", spec.prefetch_lines, 0..=16)?;
        Ok(Self {
            line_shift: spec.line_bytes.trailing_zeros(),
            set_mask: lines / spec.ways - 1,
            ways: spec.ways as usize,
            lines: vec![Line::default(); lines as usize],
            rng,
            done: Done::default(),
            before: Done::default(),
            spec,
        })
    }

    /// Returns the specification.
    pub fn spec(&self) -> &CacheSpec {
        &self.spec
    }

    /// The place of the line that holds an address below 2^62, if it is present. A place stays
    /// valid until a miss.
    #[inline(always)]
    pub fn place(&self, address: u64) -> Option<u32> {
        let (begin, tag) = self.sought(address);
        let set = &self.lines[begin..begin + self.ways];
        set.iter().position(|line| line.tag & !DIRTY == tag).map(|way| (begin + way) as u32)
    }

    /// Reads the line of a place: an [`access`](Self::access) that changes only the time of the
    /// last use.
    ///
    /// # Panics
    /// If the place does not exist.
    #[inline(always)]
    pub fn read_at(&mut self, place: u32, time: u64) {
        self.done.reads.all += 1;
        self.lines[place as usize].touch(time);
    }

    /// Accesses the line that holds an address below 2^62, at a time in any unit. An access that
    /// crosses lines needs one call for each. Times may decrease, as long as all accesses before a
    /// miss are reported before it.
    pub fn access(&mut self, address: u64, usage: Use, time: u64) -> Access {
        let is_write = usage == Use::Write;
        let is_through = is_write && self.spec.write == WritePolicy::Through;
        let dirt = if is_write && !is_through { DIRTY } else { 0 };
        let place = self.place(address);
        let counts = if is_write { &mut self.done.writes } else { &mut self.done.reads };
        counts.all += 1;
        if let Some(place) = place {
            let line = &mut self.lines[place as usize];
            line.tag |= dirt;
            line.touch(time);
            return Access {
                hit: true,
                fetches: false,
                writes_through: is_through,
                writes_back: None,
            };
        }
        counts.misses += 1;
        if is_through {
            return Access { hit: false, fetches: false, writes_through: true, writes_back: None };
        }
        let writes_back = self.allocate(address, dirt, time);
        Access { hit: false, fetches: true, writes_through: false, writes_back }
    }

    /// Fetches the absent line that holds an address before its first use, at a time. Caches with
    /// dirty lines must not use this: a dirty line would be lost.
    pub fn prefetch(&mut self, address: u64, time: u64) {
        self.done.prefetched += 1;
        let written_back = self.allocate(address, 0, time);
        debug_assert!(written_back.is_none(), "the cache holds read-only data");
    }

    /// Allocates an absent line. Returns the address of a dirty line that is evicted.
    fn allocate(&mut self, address: u64, dirt: u64, time: u64) -> Option<u64> {
        let (begin, tag) = self.sought(address);
        let set = &mut self.lines[begin..begin + self.ways];
        let is_empty = |line: &Line| line.tag & VALID == 0;
        let victim = match (set.iter().position(is_empty), self.spec.replacement) {
            (Some(empty), _) => empty,
            (None, Replacement::Lru) => {
                (0..set.len()).min_by_key(|way| set[*way].used).unwrap_or(0)
            }
            (None, Replacement::Random) => self.rng.below(set.len() as u64) as usize,
        };
        let old = std::mem::replace(&mut set[victim], Line { tag: tag | dirt, used: time }).tag;
        self.done.evicted += u64::from(old & VALID != 0);
        let is_dirty = old & (VALID | DIRTY) == VALID | DIRTY;
        self.done.written_back += u64::from(is_dirty);
        is_dirty.then(|| old >> FLAGS << self.line_shift)
    }

    /// Returns the index of an address's set, and the tag of its line.
    #[inline(always)]
    fn sought(&self, address: u64) -> (usize, u64) {
        let number = address >> self.line_shift;
        ((number & self.set_mask) as usize * self.ways, number << FLAGS | VALID)
    }

    /// Invalidates every line; lines that were not written back are lost.
    pub fn clear(&mut self) {
        self.lines.fill(Line::default());
    }

    /// The counts since time 0 of reads, and of lines fetched by reads and prefetches.
    pub fn reads_and_fetches(&self) -> [u64; 2] {
        [self.done.reads.all, self.done.reads.misses + self.done.prefetched]
    }

    /// Restricts the record to accesses from now on.
    pub fn begin_to_count(&mut self) {
        self.before = self.done;
    }

    /// The record: `reads` and `writes`, each with `misses`; `miss_rate` over all accesses; the
    /// numbers of lines `evicted`, `written_back` and `prefetched`.
    pub fn record(&self) -> Record {
        let Done { reads, writes, evicted, written_back, prefetched } = self.done;
        let reads = reads.since(self.before.reads);
        let writes = writes.since(self.before.writes);
        let all = reads.all + writes.all;
        let misses = reads.misses + writes.misses;
        Record::new()
            .with("reads", reads.all)
            .with("read_misses", reads.misses)
            .with("writes", writes.all)
            .with("write_misses", writes.misses)
            .with("miss_rate", if all == 0 { 0.0 } else { misses as f64 / all as f64 })
            .with("evicted", evicted - self.before.evicted)
            .with("written_back", written_back - self.before.written_back)
            .with("prefetched", prefetched - self.before.prefetched)
    }
}

#[cfg(test)]
mod tests;
