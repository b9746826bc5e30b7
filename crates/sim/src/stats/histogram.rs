//! Histograms of values.

use hdrhistogram::Histogram as Counts;
use serde::Serialize;

use crate::Time;

/// The unit of a histogram's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// Times in picoseconds, shown in nanoseconds.
    Time,
    /// Plain counts.
    Count,
}

/// Values with their frequencies. Quantiles have two digits; mean and extremes are exact.
#[derive(Clone, Debug)]
pub struct Histogram {
    unit: Unit,
    counts: Counts<u64>,
    sum: u128,
    least: u64,
    most: u64,
}

impl Histogram {
    /// Creates an empty histogram of times.
    pub fn times() -> Self {
        Self::new(Unit::Time)
    }

    /// Creates an empty histogram of numbers.
    pub fn numbers() -> Self {
        Self::new(Unit::Count)
    }

    fn new(unit: Unit) -> Self {
        let counts = Counts::new(2).expect("two digits are a precision that the library has");
        Self { unit, counts, sum: 0, least: u64::MAX, most: 0 }
    }

    /// Adds a time.
    pub fn time(&mut self, time: Time) {
        self.number(time.0);
    }

    /// Adds a number.
    pub fn number(&mut self, value: u64) {
        self.counts.record(value).expect("a histogram that grows as values do has no bound");
        self.sum += u128::from(value);
        self.least = self.least.min(value);
        self.most = self.most.max(value);
    }

    /// Returns the number of values.
    pub fn count(&self) -> u64 {
        self.counts.len()
    }

    /// The mean, in picoseconds or as a plain number; 0 without values.
    pub fn mean(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum as f64 / self.count() as f64 }
    }

    /// Adds the values of another histogram of the same unit.
    pub fn merge(&mut self, other: &Self) {
        self.counts
            .add(&other.counts)
            .expect("a histogram that grows can hold what another one holds");
        self.sum += other.sum;
        self.least = self.least.min(other.least);
        self.most = self.most.max(other.most);
    }

    /// Returns a summary of the values.
    pub fn summary(&self) -> Summary {
        let scale = if self.unit == Unit::Time { 1e3 } else { 1.0 };
        let exact = |value: u64| if self.count() == 0 { 0.0 } else { value as f64 / scale };
        // The library returns the upper end of a bucket.
        let quantile =
            |q: f64| exact(self.counts.value_at_quantile(q).min(self.most).max(self.least));
        Summary {
            unit: self.unit,
            count: self.count(),
            mean: self.mean() / scale,
            min: exact(self.least),
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
            p999: quantile(0.999),
            max: exact(self.most),
        }
    }
}

/// A summary of a histogram, in nanoseconds for times. All numbers are 0 without values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Summary {
    /// The unit of the values.
    #[serde(skip)]
    pub unit: Unit,
    /// The number of values.
    pub count: u64,
    /// The exact mean.
    pub mean: f64,
    /// The exact minimum.
    pub min: f64,
    /// The median. Like all quantiles, it has two digits.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
    /// The exact maximum.
    pub max: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_two_digits_and_the_rest_exactly() {
        let mut histogram = Histogram::times();
        for ns in 1..=1000 {
            histogram.time(Time::nanoseconds(ns));
        }
        let summary = histogram.summary();
        assert_eq!(
            (summary.count, summary.mean, summary.min, summary.max),
            (1000, 500.5, 1.0, 1000.0)
        );
        for (value, expected) in [(summary.p50, 500.0), (summary.p90, 900.0), (summary.p99, 990.0)]
        {
            assert!((value / expected - 1.0f64).abs() < 0.01, "{value} for {expected}");
        }
    }

    #[test]
    fn two_merged_are_like_one() {
        let (mut one, mut other, mut both) =
            (Histogram::numbers(), Histogram::numbers(), Histogram::numbers());
        for value in 0..100u64 {
            if value % 3 == 0 {
                one.number(value)
            } else {
                other.number(value * value)
            }
            both.number(if value % 3 == 0 { value } else { value * value });
        }
        one.merge(&other);
        assert_eq!(one.summary(), both.summary());
        assert_eq!(Histogram::numbers().summary().max, 0.0);
    }
}
