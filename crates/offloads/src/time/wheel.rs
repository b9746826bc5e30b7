//! A hierarchical timing wheel: entries in the order of their ticks (Varghese and Lauck, "Hashed and
//! hierarchical timing wheels", SOSP 1987).
//!
//! Level 0 has a slot for each of the next 64 ticks, level 1 a slot for each 64 of them, and so on.
//! An entry is in the slot of the highest group of six bits in which its tick differs from the
//! wheel's own, so it is put in and taken out in constant time, and moves down at most once a level.
//! The entries of a slot are a list, which the entries themselves contain ([`Links`]).

/// Bits of a tick that select a slot of a level.
const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
/// Levels for ticks of 64 bits.
const LEVELS: usize = 64usize.div_ceil(BITS as usize);

/// The links of an entry that is in no slot.
pub(crate) const LOOSE: u64 = u64::MAX;
/// The end of a list.
const END: u32 = u32::MAX;
/// The predecessor of the first entry of a list: this number and the number of the slot.
const FIRST: u32 = 0xf000_0000;

/// The storage of the lists: a word for each entry, which the wheel alone interprets. Entries are
/// numbered below 0xf000_0000. The word of an entry that is in no slot is [`LOOSE`].
pub(crate) trait Links {
    fn get(&self, entry: u32) -> u64;
    fn set(&mut self, entry: u32, links: u64);
}

/// The predecessor and the successor of an entry.
fn split(links: u64) -> (u32, u32) {
    (links as u32, (links >> 32) as u32)
}

fn join(before: u32, after: u32) -> u64 {
    u64::from(after) << 32 | u64::from(before)
}

/// A timing wheel.
#[derive(Clone)]
pub(crate) struct Wheel {
    /// The tick up to which the wheel has turned. No entry is before it.
    tick: u64,
    /// A bit for each slot of a level that has entries.
    filled: [u64; LEVELS],
    /// The first entry of each slot.
    first: [u32; LEVELS * SLOTS],
}

impl Wheel {
    pub(crate) fn new() -> Self {
        Self { tick: 0, filled: [0; LEVELS], first: [END; LEVELS * SLOTS] }
    }

    /// Puts a loose entry in the slot of a tick. A tick that has passed is due at once.
    pub(crate) fn put(&mut self, links: &mut impl Links, entry: u32, tick: u64) {
        let tick = tick.max(self.tick);
        let highest = (tick ^ self.tick | (SLOTS as u64 - 1)).ilog2();
        let level = (highest / BITS) as usize;
        let place = (tick >> (BITS * level as u32)) as usize % SLOTS;
        let slot = level * SLOTS + place;
        let after = std::mem::replace(&mut self.first[slot], entry);
        links.set(entry, join(FIRST + slot as u32, after));
        if after != END {
            links.set(after, join(entry, split(links.get(after)).1));
        }
        self.filled[level] |= 1 << place;
    }

    /// Takes an entry out of its slot, if it is in one.
    pub(crate) fn take(&mut self, links: &mut impl Links, entry: u32) {
        let own = links.get(entry);
        if own == LOOSE {
            return;
        }
        let (before, after) = split(own);
        if after != END {
            links.set(after, join(before, split(links.get(after)).1));
        }
        if before >= FIRST {
            let slot = (before - FIRST) as usize;
            self.first[slot] = after;
            if after == END {
                self.filled[slot / SLOTS] &= !(1 << (slot % SLOTS));
            }
        } else {
            links.set(before, join(split(links.get(before)).0, after));
        }
        links.set(entry, LOOSE);
    }

    /// Returns a tick before which no entry is due; `None` if there are no entries.
    pub(crate) fn next(&self) -> Option<u64> {
        self.next_slot().map(|(_, start)| start)
    }

    /// Returns the slot with entries that begins first, and its first tick. If two slots begin at one
    /// tick, it is the one of the higher level: its entries are still to be distributed.
    fn next_slot(&self) -> Option<(usize, u64)> {
        let mut next: Option<(usize, u64)> = None;
        for level in (0..LEVELS).rev().filter(|level| self.filled[*level] != 0) {
            let place = self.filled[level].trailing_zeros();
            let shift = BITS * level as u32;
            // The ticks of a slot agree with the wheel's tick above the level's bits.
            let above = self.tick.checked_shr(shift + BITS).unwrap_or(0);
            let above = above.checked_shl(shift + BITS).unwrap_or(0);
            let start = above | u64::from(place) << shift;
            if next.is_none_or(|(_, first)| start < first) {
                next = Some((level * SLOTS + place as usize, start));
            }
        }
        next
    }

    /// Turns the wheel towards a tick and takes out an entry whose slot begins by then. The caller
    /// puts entries that turn out to be due later back. `None`: the wheel has reached the tick, and
    /// all entries are due after it. The wheel does not turn back.
    pub(crate) fn pop(&mut self, links: &mut impl Links, to: u64) -> Option<u32> {
        match self.next_slot() {
            Some((slot, start)) if start <= to => {
                self.tick = start;
                let entry = self.first[slot];
                self.take(links, entry);
                Some(entry)
            }
            _ => {
                self.tick = self.tick.max(to);
                None
            }
        }
    }

    /// Forgets all entries, and turns back to tick 0.
    pub(crate) fn clear(&mut self) {
        *self = Self::new();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    impl Links for Vec<u64> {
        fn get(&self, entry: u32) -> u64 {
            self[entry as usize]
        }

        fn set(&mut self, entry: u32, links: u64) {
            self[entry as usize] = links;
        }
    }

    /// A small generator of numbers.
    fn next(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state
    }

    /// Random entries are put in, taken out and popped. An ordered set says which are due.
    #[test]
    fn entries_come_in_the_order_of_their_ticks() {
        for seed in 1..=200u64 {
            let mut random = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let mut links = vec![LOOSE; 40];
            let mut ticks = [None; 40];
            let mut wheel = Wheel::new();
            let mut expected = BTreeSet::new();
            let mut now = if seed % 3 == 0 { u64::MAX - (1 << (seed % 40)) } else { seed };
            while wheel.pop(&mut links, now).is_some() {}
            for _ in 0..400 {
                let entry = (next(&mut random) % 40) as u32;
                match next(&mut random) % 4 {
                    0 | 1 => {
                        wheel.take(&mut links, entry);
                        if let Some(tick) = ticks[entry as usize].take() {
                            expected.remove(&(tick, entry));
                        }
                        let far = next(&mut random) % 63;
                        let tick = now.saturating_add(1 + next(&mut random) % (1 << far));
                        wheel.put(&mut links, entry, tick);
                        ticks[entry as usize] = Some(tick);
                        expected.insert((tick, entry));
                    }
                    2 => {
                        wheel.take(&mut links, entry);
                        if let Some(tick) = ticks[entry as usize].take() {
                            expected.remove(&(tick, entry));
                        }
                    }
                    _ => {
                        let far = next(&mut random) % 64;
                        let to = now.saturating_add(next(&mut random) % (1u64 << far).max(1));
                        // From one tick with entries to the next, as a machine does.
                        while let Some(bound) = wheel.next().filter(|bound| *bound <= to) {
                            let first = expected.first().expect("the wheel has entries").0;
                            assert!(bound <= first && bound >= now, "{bound} {first}");
                            now = bound;
                            let mut due = BTreeSet::new();
                            while let Some(entry) = wheel.pop(&mut links, bound) {
                                let tick = ticks[entry as usize].expect("it was put in");
                                if tick > bound {
                                    wheel.put(&mut links, entry, tick);
                                } else {
                                    due.insert((tick, entry));
                                    ticks[entry as usize] = None;
                                }
                            }
                            let later = match bound.checked_add(1) {
                                Some(next) => expected.split_off(&(next, 0)),
                                None => BTreeSet::new(),
                            };
                            assert_eq!(due, std::mem::replace(&mut expected, later));
                        }
                        now = to;
                        assert_eq!(wheel.pop(&mut links, now), None);
                    }
                }
                assert_eq!(wheel.next().is_none(), expected.is_empty());
            }
        }
    }
}
