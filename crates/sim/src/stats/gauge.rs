//! Levels that rise and fall over time.

use crate::Time;

/// A level and its mean over time, such as the entries of a queue or the number of running threads.
#[derive(Clone, Copy, Debug, Default)]
pub struct Gauge {
    level: u64,
    most: u64,
    /// The start of the measurement of the mean.
    from: Time,
    since: Time,
    /// Level times picoseconds, up to `since`.
    area: u128,
}

impl Gauge {
    /// Sets the level from now on. Times must not go back.
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

    /// Restricts the mean and the highest level to the time from now on.
    pub fn begin_to_count(&mut self, now: Time) {
        (self.from, self.since, self.area, self.most) = (now, now, 0, self.level);
    }

    pub fn level(&self) -> u64 {
        self.level
    }

    /// The highest level since the measurement began.
    pub fn most(&self) -> u64 {
        self.most
    }

    /// The mean since the measurement began; 0 over no time.
    pub fn mean(&self, now: Time) -> f64 {
        let area = self.area + u128::from(self.level) * u128::from(now.since(self.since).0);
        let time = now.since(self.from);
        if time == Time::ZERO { 0.0 } else { area as f64 / time.0 as f64 }
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
        // The level is 0 for 10, 1 for 10, 2 for 30 and 1 for 50.
        assert_eq!(gauge.mean(Time(100)), 1.2);
        assert_eq!((gauge.level(), gauge.most()), (1, 2));
        // From 100, the level is 1 for 30 and 0 for 70.
        gauge.begin_to_count(Time(100));
        assert_eq!((gauge.mean(Time(100)), gauge.most()), (0.0, 1));
        gauge.fall(Time(130));
        assert_eq!(gauge.mean(Time(200)), 0.3);
    }
}
