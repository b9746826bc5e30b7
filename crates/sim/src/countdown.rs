//! The event queue of the naive kernel: it counts each delay down, like a simulator without a
//! timing wheel.

use crate::Time;
use crate::wheel::Order;

/// Things with the remaining times of their delays. Things due at the same time are sorted by their
/// order, and equal ones by insertion.
#[derive(Clone, Debug)]
pub(crate) struct Countdown<T> {
    /// The time up to which all delays were counted down.
    counted: Time,
    /// Things due after `counted`: the time left, the order and number, and the thing.
    later: Vec<(u64, Place, T)>,
    /// Things due by `counted`, in reverse order: the next one is last.
    due: Vec<(Time, Place, T)>,
    /// The number of insertions so far.
    count: u64,
}

/// The order of a thing, and its number among all insertions.
type Place = (Order, u64);

impl<T> Countdown<T> {
    pub(crate) fn new() -> Self {
        Self { counted: Time::ZERO, later: Vec::new(), due: Vec::new(), count: 0 }
    }

    /// Inserts a thing that is due at a time.
    pub(crate) fn put(&mut self, time: Time, order: Order, thing: T) {
        let own = (order, self.count);
        self.count += 1;
        if time > self.counted {
            self.later.push((time.0 - self.counted.0, own, thing));
        } else {
            let place = self.due.partition_point(|(other, its, _)| (*other, *its) > (time, own));
            self.due.insert(place, (time, own, thing));
        }
    }

    /// Counts every delay down to a time, such as the next edge. Returns the time of the next
    /// thing, if it is due by then.
    pub(crate) fn count_down(&mut self, to: Time) -> Option<Time> {
        let passed = to.since(self.counted).0;
        if passed > 0 {
            let mut place = 0;
            while let Some((left, its, _)) = self.later.get_mut(place) {
                if *left > passed {
                    *left -= passed;
                    place += 1;
                } else {
                    let (time, its) = (self.counted + Time(*left), *its);
                    self.due.push((time, its, self.later.swap_remove(place).2));
                }
            }
            self.counted = to;
            self.due.sort_unstable_by_key(|(time, its, _)| std::cmp::Reverse((*time, *its)));
        }
        self.due.last().map(|(time, ..)| *time)
    }

    /// Removes the next thing if it is due by this time and was counted down.
    pub(crate) fn take(&mut self, time: Time) -> Option<T> {
        self.due.pop_if(|(due, ..)| *due <= time).map(|(.., thing)| thing)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.due.is_empty() && self.later.is_empty()
    }

    /// Returns the time of the first thing.
    pub(crate) fn first(&self) -> Option<Time> {
        let later = self.later.iter().map(|(left, ..)| self.counted + Time(*left)).min();
        self.due.last().map(|(time, ..)| *time).or(later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wheel::Wheel;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { rng_seed: prop::test_runner::RngSeed::Fixed(5), failure_persistence: None, ..Default::default() })]

        #[test]
        fn things_come_as_from_a_wheel(
            period in 1u64..3000,
            steps in prop::collection::vec(prop::collection::vec((0u64..200, 0u32..3), 0..4), 1..60),
        ) {
            let (mut countdown, mut wheel) = (Countdown::new(), Wheel::new(Time(64)));
            let (mut now, mut number) = (Time(0), 0);
            for (edge, delays) in steps.into_iter().enumerate() {
                for (delay, rank) in delays {
                    let (time, order) = (now + Time(100 * delay), Order { sent: now, rank });
                    countdown.put(time, order, number);
                    wheel.put(time, order, number);
                    number += 1;
                }
                prop_assert_eq!(countdown.first(), wheel.due());
                prop_assert_eq!(countdown.is_empty(), wheel.is_empty());
                let next = Time(period * (edge as u64 + 1));
                while let Some(due) = countdown.count_down(next) {
                    prop_assert_eq!(wheel.due(), Some(due));
                    now = due;
                    // A thing sent without delay comes after those that are already due.
                    if number % 3 == 0 {
                        let order = Order { sent: now, rank: 0 };
                        countdown.put(now, order, number);
                        wheel.put(now, order, number);
                        number += 1;
                    }
                    prop_assert_eq!(countdown.take(now), wheel.take(now));
                }
                prop_assert!(wheel.due().is_none_or(|due| due > next));
                now = next;
            }
        }
    }
}
