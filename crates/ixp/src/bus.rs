//! The push and pull buses between engines and units. All units share them; units with words ready
//! take turns.

use std::collections::VecDeque;

use crate::request::{Handle, Pool};
use crate::spec::DataBusSpec;

/// Words in flight over a bus, in one direction.
#[derive(Clone, Copy, Debug)]
struct Burst {
    handle: Handle,
    /// The first cycle in which the first granule can go.
    from: u64,
    interval: u64,
    granule: u64,
    words: u8,
}

impl Burst {
    /// Words that could have gone by this cycle.
    fn available(&self, now: u64) -> u64 {
        match now.checked_sub(self.from) {
            None => 0,
            Some(since) => {
                let granules = since / self.interval.max(1) + 1;
                (granules * self.granule).min(u64::from(self.words))
            }
        }
    }
}

/// The words that a bus carried in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// The command that they belong to.
    pub handle: Handle,
    /// The index of the first word within the command.
    pub first: u8,
    pub words: u8,
    /// Whether these are the last words of the burst.
    pub is_last: bool,
}

/// A bus in one direction.
#[derive(Clone, Debug)]
pub struct Bus {
    width: u8,
    /// Bursts of each unit, in order.
    waiting: Vec<VecDeque<Burst>>,
    next: usize,
    count: usize,
    /// Cycles in which the bus carried words.
    pub busy: u64,
    /// The count of carried words.
    pub words: u64,
    /// A fault for tests: the bus carries twice as many words as its width allows.
    pub is_doubled: bool,
}

impl Bus {
    /// Creates an idle bus for `units` units.
    pub fn new(spec: DataBusSpec, units: usize) -> Self {
        let waiting = vec![VecDeque::new(); units];
        let width = spec.words_per_cycle as u8;
        Self { width, waiting, next: 0, count: 0, busy: 0, words: 0, is_doubled: false }
    }

    /// Appends a burst of a unit to the unit's earlier ones.
    pub fn add(
        &mut self,
        unit: usize,
        handle: Handle,
        words: u8,
        from: u64,
        (interval, granule): (u64, u8),
    ) {
        let granule = u64::from(granule);
        self.waiting[unit].push_back(Burst { handle, from, interval, granule, words });
        self.count += 1;
    }

    /// Whether the bus has no burst, now or later.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The next cycle in which the bus can carry something.
    pub fn next_cycle(&self, now: u64) -> Option<u64> {
        let heads = self.waiting.iter().filter_map(VecDeque::front);
        heads.map(|burst| burst.from.max(now + 1)).min()
    }

    /// Carries words in this cycle.
    pub fn cycle(&mut self, now: u64, pool: &mut Pool) -> Option<Carried> {
        if self.count == 0 {
            return None;
        }
        let units = self.waiting.len();
        for turn in 0..units {
            let unit = (self.next + turn) % units;
            let Some(burst) = self.waiting[unit].front().copied() else { continue };
            let moved = pool[burst.handle].moved;
            let available = burst.available(now) as u8 - moved;
            if available == 0 {
                continue;
            }
            let words = available.min(self.width << u8::from(self.is_doubled));
            let is_last = moved + words == burst.words;
            pool[burst.handle].moved = if is_last { 0 } else { moved + words };
            if is_last {
                self.waiting[unit].pop_front();
                self.count -= 1;
            }
            self.next = (unit + 1) % units;
            self.busy += 1;
            self.words += u64::from(words);
            return Some(Carried { handle: burst.handle, first: moved, words, is_last });
        }
        None
    }
}
