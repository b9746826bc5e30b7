//! A reservation table: the cycles in which a resource is occupied.

use std::collections::VecDeque;

/// The cycles in which a resource that serves one user at a time is occupied. A later reservation
/// may fill a gap, but never moves another one.
#[derive(Clone, Debug, Default)]
pub struct Calendar {
    /// The first cycle of each reservation, and the cycle after its last. Reservations are disjoint
    /// and sorted.
    taken: VecDeque<(u64, u64)>,
}

impl Calendar {
    /// Returns the first run of this many consecutive free cycles, from a cycle on.
    pub fn free_from(&self, from: u64, cycles: u64) -> u64 {
        self.place(from, cycles).0
    }

    /// Reserves the first run of this many consecutive free cycles from a cycle on. Returns its
    /// first cycle.
    pub fn take(&mut self, from: u64, cycles: u64) -> u64 {
        let (start, index) = self.place(from, cycles);
        let end = start + cycles;
        let joins_earlier = index > 0 && self.taken[index - 1].1 == start;
        let joins_later = self.taken.get(index).is_some_and(|later| later.0 == end);
        match (joins_earlier, joins_later) {
            (true, true) => {
                self.taken[index - 1].1 = self.taken[index].1;
                self.taken.remove(index);
            }
            (true, false) => self.taken[index - 1].1 = end,
            (false, true) => self.taken[index].0 = start,
            (false, false) => self.taken.insert(index, (start, end)),
        }
        start
    }

    /// Forgets reservations before a cycle. Earlier cycles must not be queried again.
    pub fn forget(&mut self, before: u64) {
        while self.taken.front().is_some_and(|taken| taken.1 <= before) {
            self.taken.pop_front();
        }
    }

    /// Returns the place of a free run of this many cycles, and the index of the entry after it.
    fn place(&self, from: u64, cycles: u64) -> (u64, usize) {
        let mut start = from;
        let mut index = self.taken.partition_point(|taken| taken.1 <= from);
        while let Some(&(first, behind)) = self.taken.get(index) {
            if start + cycles <= first {
                break;
            }
            start = start.max(behind);
            index += 1;
        }
        (start, index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: prop::test_runner::RngSeed::Fixed(11), failure_persistence: None, ..Default::default() })]

        #[test]
        fn each_gets_the_first_gap_that_holds_it(asks in prop::collection::vec((0u64..60, 1u64..6), 1..60)) {
            let mut calendar = Calendar::default();
            let mut taken = vec![false; 1000];
            for (from, cycles) in asks {
                let naive = (from as usize..).find(|&at| !taken[at..at + cycles as usize].contains(&true)).unwrap();
                prop_assert_eq!(calendar.free_from(from, cycles), naive as u64);
                prop_assert_eq!(calendar.take(from, cycles), naive as u64);
                taken[naive..naive + cycles as usize].fill(true);
            }
            calendar.forget(30);
            prop_assert!(calendar.taken.iter().all(|taken| taken.1 > 30));
        }
    }

    #[test]
    fn what_touches_is_one() {
        let mut calendar = Calendar::default();
        for from in [0, 4, 2] {
            calendar.take(from, 2);
        }
        assert_eq!(calendar.taken, [(0, 6)]);
    }
}
