//! The common parts of specifications: units in machine files, and errors.
//!
//! Times are in nanoseconds, clocks in MHz and line rates in Gb/s, as integers or fractions. The
//! key names the unit (`latency_ns`, `clock_mhz`, `rate_gbps`). They are kept as picoseconds,
//! ratios and bits per second.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde::{Deserialize, Deserializer, Serializer};

use crate::{Clock, Time};

/// An error in a specification: the key, and a sentence on its valid values.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {problem}")]
pub struct SpecError {
    /// The key of the machine file, with dots between tables.
    pub key: String,
    /// The problem, and the valid values.
    pub problem: String,
}

impl SpecError {
    /// Creates an error at a key of the part's own table.
    pub fn new(key: &str, problem: impl Into<String>) -> Self {
        Self { key: key.to_owned(), problem: problem.into() }
    }

    /// Returns the error as seen from the enclosing table.
    pub fn within(self, table: &str) -> Self {
        Self { key: format!("{table}.{}", self.key), ..self }
    }
}

/// Refuses a number outside `range`.
///
/// # Errors
/// If the number is outside. The error names the key and the range.
pub fn within<T: PartialOrd + Display>(
    key: &str,
    value: T,
    range: RangeInclusive<T>,
) -> Result<(), SpecError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(SpecError::new(key, format!("is {value}; it can be {} to {}", range.start(), range.end())))
}

/// Refuses a number that is not a power of two or is outside `range`.
pub(crate) fn power_of_two(
    key: &str,
    value: u64,
    range: RangeInclusive<u64>,
) -> Result<(), SpecError> {
    if value.is_power_of_two() && range.contains(&value) {
        return Ok(());
    }
    Err(SpecError::new(
        key,
        format!("is {value}; it can be a power of two from {} to {}", range.start(), range.end()),
    ))
}

/// For serde: a time in nanoseconds, 0 to 1,000,000,000.
pub mod nanoseconds {
    use super::*;

    /// # Errors
    /// If the value is not a number or is out of range.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Time, D::Error> {
        number(from, 0.0..=1e9, "a time in nanoseconds, 0 to 1,000,000,000")
            .map(|ns| Time((ns * 1e3).round() as u64))
    }

    /// # Errors
    /// If the serializer fails.
    pub fn serialize<S: Serializer>(time: &Time, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(time.as_nanoseconds())
    }
}

/// For serde: a clock in MHz, 0.001 to 1,000,000, to the hertz.
pub mod megahertz {
    use super::*;

    /// # Errors
    /// If the value is not a number or is out of range.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Clock, D::Error> {
        let mhz = number(from, 0.001..=1e6, "a clock in MHz, 0.001 to 1,000,000")?;
        Ok(Clock::hertz((mhz * 1e6).round() as u64))
    }

    /// # Errors
    /// If the serializer fails.
    pub fn serialize<S: Serializer>(clock: &Clock, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(clock.rate() / 1e6)
    }
}

/// For serde: a line rate in Gb/s, 0.000001 to 100,000, kept in bits per second.
pub mod gigabits {
    use super::*;

    /// # Errors
    /// If the value is not a number or is out of range.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let gbps = number(from, 1e-6..=1e5, "a line rate in Gb/s, 0.000001 to 100,000")?;
        Ok((gbps * 1e9).round() as u64)
    }

    /// # Errors
    /// If the serializer fails.
    pub fn serialize<S: Serializer>(rate: &u64, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(*rate as f64 / 1e9)
    }
}

fn number<'de, D: Deserializer<'de>>(
    from: D,
    range: std::ops::RangeInclusive<f64>,
    what: &str,
) -> Result<f64, D::Error> {
    let value = f64::deserialize(from)?;
    if range.contains(&value) {
        return Ok(value);
    }
    Err(serde::de::Error::custom(format!("{value} is not {what}")))
}
