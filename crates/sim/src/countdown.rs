//! What is on its way, for the naive kernel: each delay is counted down, as in a simulator without a wheel.

use crate::Time;
use crate::wheel::Order;

/// Things with the times that are left of their delays; those of one time come in their order, and of one order the one that was put in first comes first.
#[derive(Debug)]
pub(crate) struct Countdown<T> {
    /// Up to when all were counted down.
    counted: Time,
    /// What is due behind that: how much is left, its order and the how-manieth it was put in, and the thing.
    later: Vec<(u64, Place, T)>,
    /// What is due until then, the next one last.
    due: Vec<(Time, Place, T)>,
    /// Things put in so far.
    count: u64,
}

/// The order of a thing, and the how-manieth it was put in.
type Place = (Order, u64);

impl<T> Countdown<T> {
    pub(crate) fn new() -> Self {
        Self { counted: Time::ZERO, later: Vec::new(), due: Vec::new(), count: 0 }
    }

    /// Puts a thing in that is due then.
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

    /// Counts every delay down to a time, such as that of the next edge; answers when the next thing is due, if that is then or before.
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

    /// Takes the next thing out, if it is due at that time or before, and was counted down to it.
    pub(crate) fn take(&mut self, time: Time) -> Option<T> {
        self.due.pop_if(|(due, ..)| *due <= time).map(|(.., thing)| thing)
    }

    /// Whether nothing is on its way.
    pub(crate) fn is_empty(&self) -> bool {
        self.due.is_empty() && self.later.is_empty()
    }

    /// When the first of all is due.
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
                    // What is sent at once comes behind what is due already.
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
