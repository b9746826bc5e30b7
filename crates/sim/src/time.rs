//! Time, and clocks that divide it.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// Picoseconds since the simulation began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The beginning.
    pub const ZERO: Self = Self(0);

    /// So many nanoseconds.
    pub const fn nanoseconds(count: u64) -> Self {
        Self(count * 1000)
    }

    /// In nanoseconds, for people and plots.
    pub fn as_nanoseconds(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// In seconds, for rates.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// How long it is since `earlier`; none if that is later.
    pub fn since(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl Add for Time {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Time {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Time {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0 - other.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} ns", self.0 / 1000, self.0 % 1000)
    }
}

/// A clock whose edges are at `n * numerator / denominator` picoseconds, rounded down: any ratio of two clocks can be had, and no clock drifts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    numerator: u64,
    denominator: u64,
}

impl Clock {
    /// Of so many hertz.
    ///
    /// # Panics
    /// If it is none, or faster than an edge each picosecond.
    pub fn hertz(hertz: u64) -> Self {
        Self::ratio(1_000_000_000_000, hertz)
    }

    /// With `denominator` periods in `numerator` picoseconds.
    ///
    /// # Panics
    /// If one is zero, or a period shorter than a picosecond.
    pub fn ratio(numerator: u64, denominator: u64) -> Self {
        assert!(denominator > 0 && numerator >= denominator, "a period is a picosecond or more");
        let divisor = greatest_common_divisor(numerator, denominator);
        Self { numerator: numerator / divisor, denominator: denominator / divisor }
    }

    /// When edge `number` is; the first, 0, is at time 0.
    pub fn edge(self, number: u64) -> Time {
        // Nearly always the product fits, and a division of 64 bits is several times as quick as one of 128.
        if let Some(product) = number.checked_mul(self.numerator) {
            return Time(if self.denominator == 1 { product } else { product / self.denominator });
        }
        Time((u128::from(number) * u128::from(self.numerator) / u128::from(self.denominator)) as u64)
    }

    /// The number of the first edge at that time or behind it.
    pub fn edge_from(self, time: Time) -> u64 {
        // Edge n is at or behind t if n * numerator >= t * denominator: rounding down cannot bring it before a whole picosecond.
        if let Some(product) = time.0.checked_mul(self.denominator) {
            return product.div_ceil(self.numerator);
        }
        (u128::from(time.0) * u128::from(self.denominator)).div_ceil(u128::from(self.numerator)) as u64
    }

    /// The first edge at that time or behind it.
    pub fn next(self, time: Time) -> Time {
        self.edge(self.edge_from(time))
    }

    /// How long so many cycles take from time 0 on.
    pub fn cycles(self, count: u64) -> Time {
        self.edge(count)
    }

    /// Cycles in a second.
    pub fn rate(self) -> f64 {
        1e12 * self.denominator as f64 / self.numerator as f64
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn edges_of_an_odd_clock_do_not_drift() {
        let clock = Clock::hertz(600_000_000);
        assert_eq!([0, 1, 2, 3].map(|n| clock.edge(n).0), [0, 1666, 3333, 5000]);
        assert_eq!(clock.edge(600_000_000), Time(1_000_000_000_000));
        assert_eq!(clock.edge(600_000_000 * 3600).0, 3_600_000_000_000_000);
        assert_eq!(Time(1666).to_string(), "1.666 ns");
    }

    proptest! {
        #[test]
        fn the_first_edge_from_a_time_on_is_the_first(hertz in 1u64..1_000_000_000_000, time in 0u64..1 << 62, shift in 0u32..40) {
            let (clock, time) = (Clock::hertz(hertz), time >> shift);
            let number = clock.edge_from(Time(time));
            prop_assert!(clock.edge(number) >= Time(time));
            prop_assert!(number == 0 || clock.edge(number - 1) < Time(time));
        }
    }
}
