//! Time, and the clocks that divide it.

use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// Picoseconds since the start of the simulation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// The start of the simulation.
    pub const ZERO: Self = Self(0);

    /// Creates a time from nanoseconds.
    pub const fn nanoseconds(count: u64) -> Self {
        Self(count * 1000)
    }

    /// The time in nanoseconds, for users and plots.
    pub fn as_nanoseconds(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// The time in seconds, for rates.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// Returns the time since `earlier`; zero if `earlier` is later.
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

/// A clock whose edges are at `n * numerator / denominator` picoseconds, rounded down. Every ratio
/// of two clocks is possible, and no clock drifts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    numerator: u64,
    denominator: u64,
}

impl Clock {
    /// Creates a clock with this rate in hertz.
    ///
    /// # Panics
    /// If the rate is zero, or if it is more than one edge in a picosecond.
    pub fn hertz(hertz: u64) -> Self {
        Self::ratio(1_000_000_000_000, hertz)
    }

    /// Creates a clock with `denominator` periods in `numerator` picoseconds.
    ///
    /// # Panics
    /// If either is zero, or if a period is shorter than a picosecond.
    pub fn ratio(numerator: u64, denominator: u64) -> Self {
        assert!(denominator > 0 && numerator >= denominator, "a period is a picosecond or more");
        let divisor = greatest_common_divisor(numerator, denominator);
        Self { numerator: numerator / divisor, denominator: denominator / divisor }
    }

    /// The time of edge `number`. Edge 0 is at time 0.
    pub fn edge(self, number: u64) -> Time {
        // The product nearly always fits, and a 64-bit division is several times as fast as a
        // 128-bit one.
        if let Some(product) = number.checked_mul(self.numerator) {
            return Time(if self.denominator == 1 { product } else { product / self.denominator });
        }
        let product = u128::from(number) * u128::from(self.numerator);
        Time((product / u128::from(self.denominator)) as u64)
    }

    /// The number of the first edge at or after a time.
    pub fn edge_from(self, time: Time) -> u64 {
        // Edge n is at or after t if n * numerator >= t * denominator: rounding down cannot move it
        // before a whole picosecond.
        if let Some(product) = time.0.checked_mul(self.denominator) {
            return product.div_ceil(self.numerator);
        }
        let product = u128::from(time.0) * u128::from(self.denominator);
        product.div_ceil(u128::from(self.numerator)) as u64
    }

    /// The time of the first edge at or after a time.
    pub fn next(self, time: Time) -> Time {
        self.edge(self.edge_from(time))
    }

    /// Returns the duration of this number of cycles, starting at time 0.
    pub fn cycles(self, count: u64) -> Time {
        self.edge(count)
    }

    /// The rate in hertz.
    pub fn rate(self) -> f64 {
        1e12 * self.denominator as f64 / self.numerator as f64
    }
}

/// The numbers and times of a clock's edges. The rate of the clock can change, and the clock can be
/// gated.
///
/// A timebase describes the current piece of constant rate. Edge numbers continue from piece to
/// piece, so a number is never used twice. The times of edges before the piece are not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timebase {
    rate: Clock,
    /// The time from which the periods of this piece are counted.
    origin: Time,
    /// The number of the first edge of this piece.
    first: u64,
    /// Periods since the origin whose edges were gated. They have no numbers.
    gated: u64,
}

impl From<Clock> for Timebase {
    /// Creates a timebase of constant rate from time 0 on.
    fn from(rate: Clock) -> Self {
        Self { rate, origin: Time::ZERO, first: 0, gated: 0 }
    }
}

impl Timebase {
    pub fn rate(&self) -> Clock {
        self.rate
    }

    /// The time of an edge, provided that the rate does not change and the clock is not gated
    /// before it. For an edge before the current piece, the start of the piece.
    #[inline]
    pub fn edge(&self, number: u64) -> Time {
        self.origin + self.rate.edge(number.saturating_sub(self.first) + self.gated)
    }

    /// Returns the number of the first edge at or after a time, under the same condition.
    #[inline]
    pub fn edge_from(&self, time: Time) -> u64 {
        self.first + self.rate.edge_from(time.since(self.origin)).saturating_sub(self.gated)
    }

    /// Changes the rate. Edge `next` is the first one that is not over: the period before it keeps
    /// its length, and later periods have the new one. It comes at `settled` if that is later.
    pub fn set_rate(&mut self, next: u64, rate: Clock, settled: Time) {
        *self = Self { rate, origin: self.edge(next).max(settled), first: next, gated: 0 };
    }

    /// Changes the rate while the clock is gated. Edge `next`, the next one to come, may come as
    /// soon as the clock has settled.
    pub(crate) fn set_gated_rate(&mut self, next: u64, rate: Clock, settled: Time) {
        *self = Self { rate, origin: self.origin.max(settled), first: next, gated: 0 };
    }

    /// Assigns edge `next`, the next one to come, to the first period that ends at or after `from`.
    /// The clock keeps its phase.
    pub(crate) fn ungate(&mut self, next: u64, from: Time) {
        self.gated += self.edge_from(from).saturating_sub(next);
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

    #[test]
    fn edges_go_on_across_changes_of_the_rate_and_gating() {
        let mut base = Timebase::from(Clock::ratio(100, 1));
        // Edge 3 is still at 300; from then on, periods are 40.
        base.set_rate(3, Clock::ratio(40, 1), Time(250));
        assert_eq!([3, 4, 13].map(|n| base.edge(n).0), [300, 340, 700]);
        assert_eq!([250, 300, 301, 700].map(|t| base.edge_from(Time(t))), [3, 3, 4, 13]);
        // Edge 5 would be at 380, but the clock does not settle before 1000.
        base.set_rate(5, Clock::ratio(7, 3), Time(1000));
        assert_eq!([5, 6, 7, 8].map(|n| base.edge(n).0), [1000, 1002, 1004, 1007]);
        // Edges 7 to 306 of this piece are gated; the next edge is the first one from 1703 on.
        base.ungate(7, Time(1703));
        assert_eq!([7, 8, 9].map(|n| base.edge(n).0), [1704, 1707, 1709]);
        assert_eq!([1000, 1704, 1705, 1709].map(|t| base.edge_from(Time(t))), [5, 7, 8, 9]);
    }

    proptest! {
        #[test]
        fn the_first_edge_from_a_time_on_is_the_first(
            hertz in 1u64..1_000_000_000_000,
            time in 0u64..1 << 62,
            shift in 0u32..40,
        ) {
            let (clock, time) = (Clock::hertz(hertz), time >> shift);
            let number = clock.edge_from(Time(time));
            prop_assert!(clock.edge(number) >= Time(time));
            prop_assert!(number == 0 || clock.edge(number - 1) < Time(time));
        }
    }
}
