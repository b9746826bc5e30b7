//! A timing wheel: a queue of pending things, sorted by due time.
//!
//! Most delays are short and many are equal, so things are in the slots of a wheel. Each slot
//! covers a span of time and is sorted when the wheel reaches it. Things beyond the wheel's horizon
//! wait in a heap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::Time;

/// The number of slots.
const SLOTS: u64 = 1024;

/// The order of a thing among those due at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order {
    /// The time at which it was sent, which may be later than the time of insertion.
    pub sent: Time,
    /// The rank of its sender among all that send at that time.
    pub rank: u32,
}

/// Things with their due times. Things due at the same time are sorted by their order, and equal
/// ones by insertion.
#[derive(Clone, Debug)]
pub struct Wheel<T> {
    /// A slot is `1 << shift` picoseconds wide.
    shift: u32,
    /// The number of the slot that `now` holds, counted from time 0.
    slot: u64,
    /// Things due in the current slot or before, in reverse order: the next one is last.
    now: Vec<Entry<T>>,
    slots: Vec<Vec<Entry<T>>>,
    /// The earliest time in each slot that is not empty.
    earliest: Vec<Time>,
    /// A bit for each slot, set if the slot is not empty.
    filled: [u64; SLOTS as usize / 64],
    far: BinaryHeap<Reverse<Entry<T>>>,
    /// The number of insertions so far.
    count: u64,
}

#[derive(Clone, Debug)]
struct Entry<T> {
    time: Time,
    order: Order,
    number: u64,
    thing: T,
}

impl<T> Entry<T> {
    fn key(&self) -> (Time, Order, u64) {
        (self.time, self.order, self.number)
    }
}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Entry<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key().cmp(&other.key())
    }
}

impl<T> Wheel<T> {
    /// Creates an empty wheel with slots of this width, rounded up to a power of two. A few times
    /// the shortest delay works best.
    pub fn new(width: Time) -> Self {
        Self {
            shift: width.0.max(1).next_power_of_two().trailing_zeros(),
            slot: 0,
            now: Vec::new(),
            slots: (0..SLOTS).map(|_| Vec::new()).collect(),
            earliest: vec![Time(0); SLOTS as usize],
            filled: [0; SLOTS as usize / 64],
            far: BinaryHeap::new(),
            count: 0,
        }
    }

    /// Inserts a thing that is due at a time. If it is due before things already taken out, it is
    /// next.
    pub fn put(&mut self, time: Time, order: Order, thing: T) {
        let entry = Entry { time, order, number: self.count, thing };
        self.count += 1;
        let slot = time.0 >> self.shift;
        if slot <= self.slot {
            let place = self.now.partition_point(|other| *other > entry);
            self.now.insert(place, entry);
        } else if slot - self.slot < SLOTS {
            self.fill(slot, entry);
        } else {
            self.far.push(Reverse(entry));
        }
    }

    fn fill(&mut self, slot: u64, entry: Entry<T>) {
        let place = (slot % SLOTS) as usize;
        let is_first = self.slots[place].is_empty();
        self.earliest[place] =
            if is_first { entry.time } else { self.earliest[place].min(entry.time) };
        self.slots[place].push(entry);
        self.filled[place / 64] |= 1 << (place % 64);
    }

    /// Returns the due time of the next thing, if there is one.
    pub fn due(&self) -> Option<Time> {
        if let Some(entry) = self.now.last() {
            return Some(entry.time);
        }
        match self.next_filled() {
            Some(slot) => Some(self.earliest[(slot % SLOTS) as usize]),
            None => self.far.peek().map(|Reverse(entry)| entry.time),
        }
    }

    /// Takes the next thing out if it is due by this time.
    pub fn take(&mut self, time: Time) -> Option<T> {
        if self.now.is_empty() {
            self.turn(time);
        }
        if self.now.last()?.time > time {
            return None;
        }
        self.now.pop().map(|entry| entry.thing)
    }

    /// Whether the wheel is empty.
    pub fn is_empty(&self) -> bool {
        self.due().is_none()
    }

    /// Advances to the next slot that is not empty, but not beyond this time: later insertions
    /// before the current slot must be sorted in.
    fn turn(&mut self, time: Time) {
        let reached = time.0 >> self.shift;
        let next = self
            .next_filled()
            .or_else(|| self.far.peek().map(|Reverse(entry)| entry.time.0 >> self.shift));
        let slot = next.map_or(reached, |slot| slot.min(reached));
        if slot <= self.slot {
            return;
        }
        self.slot = slot;
        // Slots that have come within the horizon.
        while let Some(Reverse(entry)) = self.far.peek() {
            let slot = entry.time.0 >> self.shift;
            if slot - self.slot >= SLOTS {
                break;
            }
            let Some(Reverse(entry)) = self.far.pop() else { break };
            self.fill(slot, entry);
        }
        let place = (self.slot % SLOTS) as usize;
        self.filled[place / 64] &= !(1 << (place % 64));
        std::mem::swap(&mut self.now, &mut self.slots[place]);
        self.now.sort_unstable_by(|a, b| b.cmp(a));
    }

    /// The next slot after the current one that is not empty.
    fn next_filled(&self) -> Option<u64> {
        let begin = self.slot + 1;
        let mut slot = begin;
        while slot - self.slot < SLOTS {
            let place = slot % SLOTS;
            let word = self.filled[(place / 64) as usize] >> (place % 64);
            if word != 0 {
                let found = slot + u64::from(word.trailing_zeros());
                return (found - self.slot < SLOTS).then_some(found);
            }
            slot += 64 - place % 64;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: prop::test_runner::RngSeed::Fixed(3), failure_persistence: None, ..Default::default() })]

        /// Checks against a sorted list, over delays within a slot, within the wheel and far beyond
        /// it.
        #[test]
        fn things_come_in_the_order_of_their_times_and_of_putting_in(
            width in 1u64..5000,
            steps in prop::collection::vec((0u64..4, 0u64..3_000_000, 0u32..3, any::<bool>()), 1..400),
        ) {
            let mut wheel = Wheel::new(Time(width));
            let mut list: Vec<(Time, Order, usize)> = Vec::new();
            let mut now = Time(0);
            for (number, (scale, delay, rank, takes)) in steps.into_iter().enumerate() {
                let time = now + Time(delay >> (scale * 6));
                let order = Order { sent: now, rank };
                wheel.put(time, order, number);
                list.push((time, order, number));
                list.sort_unstable();
                if takes {
                    let (time, _, number) = list.remove(0);
                    prop_assert_eq!(wheel.due(), Some(time));
                    prop_assert!(time.0 == 0 || wheel.take(time - Time(1)).is_none());
                    prop_assert_eq!(wheel.take(time), Some(number));
                    now = time;
                }
            }
            for (time, _, number) in list {
                prop_assert_eq!(wheel.take(time), Some(number));
            }
            prop_assert!(wheel.is_empty());
        }
    }

    #[test]
    fn what_is_due_in_the_past_comes_next() {
        let mut wheel = Wheel::new(Time(16));
        let order = Order::default();
        wheel.put(Time(100_000), order, 'a');
        assert_eq!((wheel.due(), wheel.take(Time(99_999))), (Some(Time(100_000)), None));
        assert_eq!(wheel.take(Time(100_000)), Some('a'));
        wheel.put(Time(100_002), order, 'c');
        wheel.put(Time(50), order, 'b');
        assert_eq!((wheel.take(Time(100_002)), wheel.take(Time(100_002))), (Some('b'), Some('c')));
    }
}
