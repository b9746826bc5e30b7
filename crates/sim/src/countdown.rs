//! What is on its way, for the naive kernel: each delay is counted down, as in a simulator without a wheel.

use crate::Time;

/// Things with the times that are left of their delays; of one time the one that was put in first comes first.
#[derive(Debug)]
pub(crate) struct Countdown<T> {
    /// Up to when all were counted down.
    counted: Time,
    /// What is due behind that: how much is left, the how-manieth it was put in, and the thing.
    later: Vec<(u64, u64, T)>,
    /// What is due until then, the next one last.
    due: Vec<(Time, u64, T)>,
    /// Things put in so far.
    count: u64,
}

impl<T> Countdown<T> {
    pub(crate) fn new() -> Self {
        Self { counted: Time::ZERO, later: Vec::new(), due: Vec::new(), count: 0 }
    }

    /// Puts a thing in that is due then.
    pub(crate) fn put(&mut self, time: Time, thing: T) {
        let number = self.count;
        self.count += 1;
        if time > self.counted {
            self.later.push((time.0 - self.counted.0, number, thing));
        } else {
            let place = self.due.partition_point(|(other, ..)| *other > time);
            self.due.insert(place, (time, number, thing));
        }
    }

    /// Counts every delay down to a time, such as that of the next edge; answers when the next thing is due, if that is then or before.
    pub(crate) fn count_down(&mut self, to: Time) -> Option<Time> {
        let passed = to.since(self.counted).0;
        if passed > 0 {
            let mut place = 0;
            while let Some((left, number, _)) = self.later.get_mut(place) {
                if *left > passed {
                    *left -= passed;
                    place += 1;
                } else {
                    let (time, number) = (self.counted + Time(*left), *number);
                    self.due.push((time, number, self.later.swap_remove(place).2));
                }
            }
            self.counted = to;
            self.due.sort_unstable_by_key(|(time, number, _)| std::cmp::Reverse((*time, *number)));
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
            steps in prop::collection::vec(prop::collection::vec(0u64..20_000, 0..4), 1..60),
        ) {
            let (mut countdown, mut wheel) = (Countdown::new(), Wheel::new(Time(64)));
            let (mut now, mut number) = (Time(0), 0);
            for (edge, delays) in steps.into_iter().enumerate() {
                for delay in delays {
                    countdown.put(now + Time(delay), number);
                    wheel.put(now + Time(delay), number);
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
                        countdown.put(now, number);
                        wheel.put(now, number);
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
