//! A hierarchical timing wheel: entries in the order of their ticks (Varghese and Lauck, "Hashed and
//! hierarchical timing wheels", SOSP 1987).
//!
//! Level 0 has a slot for each of the next 64 ticks, level 1 a slot for each 64 of them, and so on.
//! An entry is in the slot of the highest group of six bits in which its tick differs from the
//! wheel's own, so it is put in and taken out in constant time, and moves down at most once a level.
//!
//! The entries of a slot are in chunks, with their ticks. So the wheel moves entries down in the
//! order of memory, and does not read the entries themselves, which are far from each other. An
//! entry keeps its place ([`Places`]), by which it is taken out.

/// Bits of a tick that select a slot of a level.
const BITS: u32 = 6;
const SLOTS: usize = 1 << BITS;
/// Levels for ticks of 64 bits.
const LEVELS: usize = 64usize.div_ceil(BITS as usize);

/// Items of a chunk. A chunk has 1 KiB.
const ITEMS: usize = 63;
/// No chunk.
const NONE: u32 = u32::MAX;
/// How far ahead of a tick's entries the wheel fetches entries.
const AHEAD: usize = 8;

/// The place of an entry that is in no slot.
pub(crate) const LOOSE: u64 = u64::MAX;

/// The storage of the entries' places: a word for each entry, which the wheel alone interprets. The
/// word of an entry that is in no slot is [`LOOSE`].
pub(crate) trait Places {
    fn get(&self, entry: u32) -> u64;
    fn set(&mut self, entry: u32, place: u64);
    /// Fetches an entry that is soon needed.
    fn fetch(&self, entry: u32);
}

#[derive(Clone, Copy, Default)]
struct Item {
    tick: u64,
    entry: u32,
}

#[derive(Clone)]
struct Chunk {
    slot: u32,
    /// The next chunk of the slot, or the next free chunk.
    next: u32,
    /// The number of items. Only the first chunk of a slot is not full.
    count: u32,
    items: [Item; ITEMS],
}

/// A timing wheel.
#[derive(Clone)]
pub(crate) struct Wheel {
    /// The tick up to which the wheel has turned. No entry is before it.
    tick: u64,
    /// A bit for each slot of a level that has entries.
    filled: [u64; LEVELS],
    /// The first chunk of each slot.
    first: [u32; LEVELS * SLOTS],
    chunks: Vec<Chunk>,
    /// The first free chunk.
    free: u32,
}

impl Wheel {
    pub(crate) fn new() -> Self {
        Self {
            tick: 0,
            filled: [0; LEVELS],
            first: [NONE; LEVELS * SLOTS],
            chunks: Vec::new(),
            free: NONE,
        }
    }

    /// Puts a loose entry in the slot of a tick. A tick that has passed is due at once.
    pub(crate) fn put(&mut self, places: &mut impl Places, entry: u32, tick: u64) {
        let tick = tick.max(self.tick);
        let highest = (tick ^ self.tick | (SLOTS as u64 - 1)).ilog2();
        let level = (highest / BITS) as usize;
        let slot = level * SLOTS + (tick >> (BITS * level as u32)) as usize % SLOTS;
        let mut chunk = self.first[slot];
        if chunk == NONE || self.chunks[chunk as usize].count as usize == ITEMS {
            chunk = self.add_chunk(slot);
        }
        let Chunk { count, items, .. } = &mut self.chunks[chunk as usize];
        items[*count as usize] = Item { tick, entry };
        places.set(entry, u64::from(chunk) << 32 | u64::from(*count));
        *count += 1;
        self.filled[level] |= 1 << (slot % SLOTS);
    }

    /// Adds an empty chunk in front of those of a slot.
    fn add_chunk(&mut self, slot: usize) -> u32 {
        let next = std::mem::replace(&mut self.first[slot], NONE);
        let chunk = match self.free {
            NONE => {
                let items = [Item::default(); ITEMS];
                self.chunks.push(Chunk { slot: 0, next: NONE, count: 0, items });
                (self.chunks.len() - 1) as u32
            }
            free => {
                self.free = self.chunks[free as usize].next;
                free
            }
        };
        let added = &mut self.chunks[chunk as usize];
        (added.slot, added.next, added.count) = (slot as u32, next, 0);
        self.first[slot] = chunk;
        chunk
    }

    fn free_chunk(&mut self, chunk: u32) {
        self.chunks[chunk as usize].next = std::mem::replace(&mut self.free, chunk);
    }

    /// Takes an entry out of its slot, if it is in one. The last item of the slot gets its place.
    pub(crate) fn take(&mut self, places: &mut impl Places, entry: u32) {
        let place = places.get(entry);
        if place == LOOSE {
            return;
        }
        let (chunk, index) = ((place >> 32) as usize, place as u32 as usize);
        let last = self.remove_last(self.chunks[chunk].slot as usize);
        if last.entry != entry {
            self.chunks[chunk].items[index] = last;
            places.set(last.entry, place);
        }
        places.set(entry, LOOSE);
    }

    /// Removes the last item of a slot that has some.
    fn remove_last(&mut self, slot: usize) -> Item {
        let first = self.first[slot];
        let chunk = &mut self.chunks[first as usize];
        chunk.count -= 1;
        let last = chunk.items[chunk.count as usize];
        if chunk.count == 0 {
            self.first[slot] = chunk.next;
            self.free_chunk(first);
            if self.first[slot] == NONE {
                self.filled[slot / SLOTS] &= !(1 << (slot % SLOTS));
            }
        }
        last
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

    /// Turns the wheel towards a tick and takes out an entry that was put in for a tick by then. The
    /// caller puts entries that turn out to be due later back. `None`: the wheel has reached the
    /// tick, and all entries are due after it. The wheel does not turn back.
    pub(crate) fn pop(&mut self, places: &mut impl Places, to: u64) -> Option<u32> {
        while let Some((slot, start)) = self.next_slot().filter(|(_, start)| *start <= to) {
            self.tick = start;
            if slot >= SLOTS {
                self.distribute(places, slot);
                continue;
            }
            let Chunk { count, items, .. } = &self.chunks[self.first[slot] as usize];
            if let Some(ahead) = (*count as usize).checked_sub(1 + AHEAD) {
                places.fetch(items[ahead].entry);
            }
            let Item { entry, .. } = self.remove_last(slot);
            places.set(entry, LOOSE);
            return Some(entry);
        }
        self.tick = self.tick.max(to);
        None
    }

    /// Moves the entries of a slot, which begins at the wheel's tick, to slots of lower levels.
    fn distribute(&mut self, places: &mut impl Places, slot: usize) {
        let mut chunk = std::mem::replace(&mut self.first[slot], NONE);
        self.filled[slot / SLOTS] &= !(1 << (slot % SLOTS));
        while chunk != NONE {
            for index in 0..self.chunks[chunk as usize].count as usize {
                let Item { tick, entry } = self.chunks[chunk as usize].items[index];
                self.put(places, entry, tick);
            }
            let next = self.chunks[chunk as usize].next;
            self.free_chunk(chunk);
            chunk = next;
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

    impl Places for Vec<u64> {
        fn get(&self, entry: u32) -> u64 {
            self[entry as usize]
        }

        fn set(&mut self, entry: u32, place: u64) {
            self[entry as usize] = place;
        }

        fn fetch(&self, entry: u32) {
            assert!((entry as usize) < self.len());
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
            // Many entries fill several chunks of a slot, if their ticks are few.
            let (count, spread) = if seed % 4 == 0 { (300, 4) } else { (40, 64) };
            let mut places = vec![LOOSE; count];
            let mut ticks = vec![None; count];
            let mut wheel = Wheel::new();
            let mut expected = BTreeSet::new();
            let mut now = if seed % 3 == 0 { u64::MAX - (1 << (seed % 40)) } else { seed };
            while wheel.pop(&mut places, now).is_some() {}
            for _ in 0..10 * count {
                let entry = (next(&mut random) % count as u64) as u32;
                match next(&mut random) % if count == 300 { 100 } else { 4 } {
                    0 | 1 | 4..70 => {
                        wheel.take(&mut places, entry);
                        if let Some(tick) = ticks[entry as usize].take() {
                            expected.remove(&(tick, entry));
                        }
                        let far = next(&mut random) % (spread - 1);
                        let tick = now.saturating_add(1 + next(&mut random) % (1 << far));
                        wheel.put(&mut places, entry, tick);
                        ticks[entry as usize] = Some(tick);
                        expected.insert((tick, entry));
                    }
                    2 | 70.. => {
                        wheel.take(&mut places, entry);
                        if let Some(tick) = ticks[entry as usize].take() {
                            expected.remove(&(tick, entry));
                        }
                    }
                    _ => {
                        let far = next(&mut random) % spread;
                        let to = now.saturating_add(next(&mut random) % (1u64 << far).max(1));
                        // From one tick with entries to the next, as a machine does.
                        while let Some(bound) = wheel.next().filter(|bound| *bound <= to) {
                            let first = expected.first().expect("the wheel has entries").0;
                            assert!(bound <= first && bound >= now, "{bound} {first}");
                            now = bound;
                            let mut due = BTreeSet::new();
                            while let Some(entry) = wheel.pop(&mut places, bound) {
                                let tick = ticks[entry as usize].expect("it was put in");
                                if tick > bound {
                                    wheel.put(&mut places, entry, tick);
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
                        assert_eq!(wheel.pop(&mut places, now), None);
                    }
                }
                assert_eq!(wheel.next().is_none(), expected.is_empty());
            }
        }
    }
}
