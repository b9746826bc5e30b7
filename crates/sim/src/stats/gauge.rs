//! Levels that rise and fall over time.

use crate::Time;

/// A level and its mean over time: entries of a queue, threads that run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
    level: u64,
    most: u64,
    since: Time,
    /// Level times picoseconds, up to `since`.
    area: u128,
}

impl Gauge {
    /// The level is another one from now on; times do not go back.
    pub fn set(&mut self, now: Time, level: u64) {
        self.area += u128::from(self.level) * u128::from(now.since(self.since).0);
        self.since = now;
        self.level = level;
        self.most = self.most.max(level);
    }

    /// Raises the level by one.
    pub fn rise(&mut self, now: Time) {
        self.set(now, self.level + 1);
    }

    /// Lowers the level by one, unless it is 0.
    pub fn fall(&mut self, now: Time) {
        self.set(now, self.level.saturating_sub(1));
    }

    /// The level.
    pub fn level(&self) -> u64 {
        self.level
    }

    /// The highest level so far.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// The mean from time 0 to now; 0 at time 0.
    pub fn mean(&self, now: Time) -> f64 {
        let area = self.area + u128::from(self.level) * u128::from(now.since(self.since).0);
        if now == Time::ZERO { 0.0 } else { area as f64 / now.0 as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_weighs_each_level_with_its_time() {
        let mut gauge = Gauge::default();
        assert_eq!(gauge.mean(Time(0)), 0.0);
        gauge.rise(Time(10));
        gauge.rise(Time(20));
        gauge.fall(Time(50));
        // 0 for 10, 1 for 10, 2 for 30, 1 for 50.
        assert_eq!(gauge.mean(Time(100)), 1.2);
        assert_eq!((gauge.level(), gauge.most()), (1, 2));
    }
}
