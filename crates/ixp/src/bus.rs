//! The push and pull buses between engines and units. Words of all units share them; where several
//! have words, they take turns.

use std::collections::VecDeque;

use crate::request::{Handle, Pool};
use crate::spec::DataBusSpec;

/// Words on their way over a bus, in one direction.
#[derive(Clone, Copy, Debug)]
struct Burst {
    handle: Handle,
    /// The cycle in which the first granule can go.
    from: u64,
    interval: u64,
    granule: u64,
    words: u8,
}

impl Burst {
    /// Words that could go by this cycle.
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

/// Words that a bus has carried in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Carried {
    /// Whose they are.
    pub handle: Handle,
    /// The first of them.
    pub first: u8,
    /// How many.
    pub words: u8,
    /// Whether they are the last.
    pub is_last: bool,
}

/// A bus in one direction.
#[derive(Clone, Debug)]
pub struct Bus {
    width: u8,
    /// Bursts by unit, each unit's in their order.
    waiting: Vec<VecDeque<Burst>>,
    next: usize,
    count: usize,
    /// Cycles in which it carried words.
    pub busy: u64,
    /// Words that it carried.
    pub words: u64,
    /// Whether it carries twice as many words as it can: a fault, for tests.
    pub is_doubled: bool,
}

impl Bus {
    /// Creates an idle bus for this number of units.
    pub fn new(spec: DataBusSpec, units: usize) -> Self {
        let waiting = vec![VecDeque::new(); units];
        let width = spec.words_per_cycle as u8;
        Self { width, waiting, next: 0, count: 0, busy: 0, words: 0, is_doubled: false }
    }

    /// Adds words of a unit after those that it has added before.
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

    /// Whether it has nothing to carry, now or later.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// When it can carry something again.
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
