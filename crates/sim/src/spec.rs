//! What specifications of parts have in common: their units in machine files, and what is wrong with them.
//!
//! Times are in nanoseconds, clocks in MHz and line rates in Gb/s, all as whole or broken numbers; the key says which (`latency_ns`, `clock_mhz`,
//! `rate_gbps`). They are kept as picoseconds, ratios and bits per second.

use std::fmt::Display;
use std::ops::RangeInclusive;

use serde::{Deserialize, Deserializer, Serializer};

use crate::{Clock, Time};

/// What is wrong with a specification: the key, and a sentence that says what it can be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {problem}")]
pub struct SpecError {
    /// The key of the machine file, with dots between tables.
    pub key: String,
    /// What is wrong, and what would not be.
    pub problem: String,
}

impl SpecError {
    /// With the key as it stands in the part's own table.
    pub fn new(key: &str, problem: impl Into<String>) -> Self {
        Self { key: key.to_owned(), problem: problem.into() }
    }

    /// The same, seen from the table that holds the part's.
    pub fn within(self, table: &str) -> Self {
        Self { key: format!("{table}.{}", self.key), ..self }
    }
}

/// Refuses a number that lies outside of `range`.
///
/// # Errors
/// That, with the key and the range.
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

/// Refuses a number that is no power of two, or lies outside of `range`.
pub(crate) fn power_of_two(key: &str, value: u64, range: RangeInclusive<u64>) -> Result<(), SpecError> {
    if value.is_power_of_two() && range.contains(&value) {
        return Ok(());
    }
    Err(SpecError::new(
        key,
        format!("is {value}; it can be a power of two from {} to {}", range.start(), range.end()),
    ))
}

/// With serde: a time in nanoseconds, 0 to 1,000,000,000.
pub mod nanoseconds {
    use super::*;

    /// # Errors
    /// If it is no number, or outside of the range.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Time, D::Error> {
        number(from, 0.0..=1e9, "a time in nanoseconds, 0 to 1,000,000,000")
            .map(|ns| Time((ns * 1e3).round() as u64))
    }

    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(time: &Time, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(time.as_nanoseconds())
    }
}

/// With serde: a clock in MHz, 0.001 to 1,000,000, to the hertz.
pub mod megahertz {
    use super::*;

    /// # Errors
    /// If it is no number, or outside of the range.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Clock, D::Error> {
        let mhz = number(from, 0.001..=1e6, "a clock in MHz, 0.001 to 1,000,000")?;
        Ok(Clock::hertz((mhz * 1e6).round() as u64))
    }

    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(clock: &Clock, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(clock.rate() / 1e6)
    }
}

/// With serde: a line rate in Gb/s, 0.000001 to 100,000, kept in bits per second.
pub mod gigabits {
    use super::*;

    /// # Errors
    /// If it is no number, or outside of the range.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
        let gbps = number(from, 1e-6..=1e5, "a line rate in Gb/s, 0.000001 to 100,000")?;
        Ok((gbps * 1e9).round() as u64)
    }

    /// # Errors
    /// Those of the serializer.
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
