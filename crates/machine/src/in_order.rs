//! Packets that finish in any order, and are passed on in the order in which they came.
//!
//! [`Departures`] collects the outputs of packets. [`Sequence`] puts numbered items in order.

use std::collections::{BTreeMap, VecDeque};

/// The outputs of packets that a machine has taken, until they are passed on. Outputs of a packet
/// are passed on together, once the packet is over and all packets before it have been passed on.
#[derive(Clone, Debug)]
pub struct Departures<P, T> {
    /// The packets that were taken and not passed on, with their numbers, in order.
    taken: VecDeque<(u64, P)>,
    /// The outputs so far of each packet, by its number, and whether the packet is over.
    left: BTreeMap<u64, (Vec<T>, bool)>,
}

impl<P, T> Default for Departures<P, T> {
    fn default() -> Self {
        Self { taken: VecDeque::new(), left: BTreeMap::new() }
    }
}

impl<P, T> Departures<P, T> {
    /// Adds a packet after all others.
    pub fn take(&mut self, number: u64, packet: P) {
        self.taken.push_back((number, packet));
    }

    /// Adds an output of a packet. After its last output the packet is over.
    pub fn leave(&mut self, number: u64, output: T, is_last: bool) {
        let (all, is_over) = self.left.entry(number).or_default();
        *is_over |= is_last;
        all.push(output);
    }

    /// Removes the next packet, if it is over. Returns its number, the packet and its outputs.
    pub fn pop(&mut self) -> Option<(u64, P, Vec<T>)> {
        let (number, _) = self.taken.front()?;
        self.left.get(number).filter(|(_, is_over)| *is_over)?;
        let (number, packet) = self.taken.pop_front()?;
        let (all, _) = self.left.remove(&number)?;
        Some((number, packet, all))
    }

    /// Returns the number of packets that were taken and not passed on.
    pub fn len(&self) -> usize {
        self.taken.len()
    }

    pub fn is_empty(&self) -> bool {
        self.taken.is_empty()
    }
}

/// Items with consecutive numbers from 0, which come in any order and are taken in the order of
/// their numbers.
#[derive(Clone, Debug)]
pub struct Sequence<T> {
    next: u64,
    early: BTreeMap<u64, T>,
}

impl<T> Default for Sequence<T> {
    fn default() -> Self {
        Self { next: 0, early: BTreeMap::new() }
    }
}

impl<T> Sequence<T> {
    /// Adds an item.
    pub fn come(&mut self, number: u64, item: T) {
        self.early.insert(number, item);
    }

    /// Takes the next item, if it has come.
    pub fn pop(&mut self) -> Option<T> {
        let item = self.early.remove(&self.next)?;
        self.next += 1;
        Some(item)
    }

    /// Returns the number of the next item.
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// Continues with number 0.
    pub fn restart(&mut self) {
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A generator of numbers (Knuth's MMIX).
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 33) % limit as u64) as usize
        }

        fn shuffle<T>(&mut self, items: &mut [T]) {
            (1..items.len()).rev().for_each(|at| items.swap(at, self.below(at + 1)));
        }
    }

    #[test]
    fn outputs_are_passed_on_as_a_sort_by_packet_would() {
        for seed in 0..50 {
            let mut random = Random(seed);
            // Packets have their numbers from elsewhere; their order counts, not the numbers.
            let mut numbers: Vec<u64> = (0..40).map(|number| 3 * number).collect();
            random.shuffle(&mut numbers);
            let counts: Vec<usize> = numbers.iter().map(|_| 1 + random.below(3)).collect();
            let mut departures = Departures::default();
            for (place, number) in numbers.iter().enumerate() {
                departures.take(*number, place);
            }
            // Outputs in any order, but those of one packet in theirs.
            let all = counts.iter().enumerate().flat_map(|(place, n)| vec![place; *n]);
            let mut all: Vec<usize> = all.collect();
            random.shuffle(&mut all);
            let mut begun = vec![0; numbers.len()];
            let mut sorted = Vec::new();
            let mut passed = Vec::new();
            for place in all {
                let output = begun[place];
                begun[place] += 1;
                sorted.push((place, output));
                let is_last = begun[place] == counts[place];
                departures.leave(numbers[place], (place, output), is_last);
                while let Some((number, packet, outputs)) = departures.pop() {
                    assert_eq!(number, numbers[packet]);
                    assert_eq!(outputs.len(), counts[packet]);
                    passed.extend(outputs);
                }
                // Everything before the first packet that is not over has been passed on.
                let first = begun.iter().zip(&counts).position(|(begun, all)| begun < all);
                let first = first.unwrap_or(numbers.len());
                assert_eq!(passed.last().map_or(0, |(place, _)| place + 1), first);
            }
            sorted.sort_unstable();
            assert_eq!(passed, sorted);
            assert!(departures.is_empty() && departures.left.is_empty());
        }
    }

    #[test]
    fn a_packet_that_is_not_over_holds_up_all_after_it() {
        let mut departures = Departures::default();
        departures.leave(9, "early", true);
        assert_eq!(departures.pop(), None, "packet 9 has not been taken");
        departures.take(7, ());
        departures.take(9, ());
        departures.leave(7, "first", false);
        assert_eq!((departures.pop(), departures.len()), (None, 2));
        departures.leave(7, "second", true);
        assert_eq!(departures.pop(), Some((7, (), vec!["first", "second"])));
        assert_eq!(departures.pop(), Some((9, (), vec!["early"])));
        assert_eq!((departures.pop(), departures.len()), (None, 0));
    }

    #[test]
    fn items_are_taken_as_a_sort_would() {
        for seed in 0..50 {
            let mut random = Random(seed);
            let mut items: Vec<u64> = (0..100).collect();
            random.shuffle(&mut items);
            let mut sequence = Sequence::default();
            let mut taken = Vec::new();
            for (count, item) in items.iter().enumerate() {
                sequence.come(*item, *item);
                taken.extend(std::iter::from_fn(|| sequence.pop()));
                let missing = (0..100).find(|item| !items[..=count].contains(item)).unwrap_or(100);
                assert_eq!(sequence.next_number(), missing);
            }
            items.sort_unstable();
            assert_eq!(taken, items);
        }
    }

    #[test]
    fn a_sequence_restarts_at_0() {
        let mut sequence = Sequence::default();
        sequence.come(0, 'a');
        assert_eq!((sequence.pop(), sequence.next_number()), (Some('a'), 1));
        sequence.restart();
        assert_eq!(sequence.pop(), None);
        sequence.come(0, 'b');
        assert_eq!(sequence.pop(), Some('b'));
    }
}
