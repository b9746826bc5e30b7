//! The description of a chip.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::energy::PowerSpec;

/// The parameters of a chip. machines/raw.toml states every key, with the source of its value.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Always `raw`.
    pub kind: String,
    /// A description for users.
    pub about: String,
    /// Tiles in a row, 1 to 16.
    pub columns: u32,
    /// Tiles in a column, 1 to 16.
    pub rows: u32,
    /// The clock frequency in MHz.
    pub clock_mhz: u32,
    /// Words of each queue, 2 to 16.
    pub queue_words: u32,
    pub tile: TileSpec,
    /// The data caches of the tiles.
    pub cache: CacheSpec,
    pub switch: SwitchSpec,
    pub dynamic: DynamicSpec,
    /// Parameters of the energy models.
    pub power: PowerSpec,
}

/// A tile processor.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TileSpec {
    /// Words of the instruction memory, 1 to 65,536.
    pub instruction_words: u32,
    /// Cycles from a load to the use of its word, 1 to 100.
    pub load_cycles: u32,
    /// Cycles from a multiplication to the use of its result, 1 to 100.
    pub multiply_cycles: u32,
    /// Cycles from a division to the use of its result, 1 to 100.
    pub divide_cycles: u32,
    /// Cycles lost by a misprediction, 0 to 100.
    pub mispredicted_cycles: u32,
}

/// A data cache.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CacheSpec {
    /// The size in KB, a power of two from 1 to 1,024.
    pub kilobytes: u32,
}

/// A switch processor.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SwitchSpec {
    /// Words of the program memory, 1 to 8,192.
    pub instruction_words: u32,
    /// Cycles lost by a misprediction, 0 to 100.
    pub mispredicted_cycles: u32,
}

/// The dynamic networks.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DynamicSpec {
    /// Extra cycles of a header where it turns, 0 to 100.
    pub turn_cycles: u32,
}

/// The sections of a description that describe the surroundings of the chip.
const AROUND: [&str; 3] = ["memory", "mapping", "board"];

/// Why a description is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The description is malformed.
    #[error("{0}")]
    Form(String),
    /// A value is out of its range.
    #[error("`{key}` is {value}; it can be {} to {}", range.start(), range.end())]
    Range {
        /// The key with its section.
        key: &'static str,
        value: u32,
        /// The allowed values.
        range: RangeInclusive<u32>,
    },
    /// The cache's size is not a power of two.
    #[error("`cache.kilobytes` is {0}; it must be a power of two")]
    Cache(u32),
    /// A number of `power` is out of its range.
    #[error(transparent)]
    Power(#[from] wireloom_sim::SpecError),
    /// `kind` is not `raw`.
    #[error("`kind` is \"{0}\"; it must be \"raw\"")]
    Kind(String),
}

impl Spec {
    /// Returns the chip of the paper: machines/raw.toml.
    ///
    /// # Panics
    /// Never: a test reads the description.
    pub fn built_in() -> Self {
        Self::parse(include_str!("../../../machines/raw.toml")).expect("the built-in description")
    }

    /// Reads a description.
    ///
    /// # Errors
    /// If a key is missing, unknown, or out of range.
    pub fn parse(text: &str) -> Result<Self, SpecError> {
        let form = |error: toml::de::Error| SpecError::Form(error.to_string().trim().to_owned());
        Self::of(toml::from_str(text).map_err(form)?)
    }

    /// Reads the chip from a description that may also describe its surroundings.
    pub(crate) fn of(mut table: toml::Table) -> Result<Self, SpecError> {
        AROUND.iter().for_each(|section| _ = table.remove(*section));
        let spec = Self::deserialize(table);
        let spec = spec.map_err(|error| SpecError::Form(error.to_string().trim().to_owned()))?;
        spec.check()?;
        Ok(spec)
    }

    /// Checks all values.
    ///
    /// # Errors
    /// If a value is out of range.
    pub fn check(&self) -> Result<(), SpecError> {
        if self.kind != "raw" {
            return Err(SpecError::Kind(self.kind.clone()));
        }
        let rows = [
            ("columns", self.columns, 1..=16),
            ("rows", self.rows, 1..=16),
            ("clock_mhz", self.clock_mhz, 1..=10_000),
            ("queue_words", self.queue_words, 2..=16),
            ("tile.instruction_words", self.tile.instruction_words, 1..=65_536),
            ("tile.load_cycles", self.tile.load_cycles, 1..=100),
            ("tile.multiply_cycles", self.tile.multiply_cycles, 1..=100),
            ("tile.divide_cycles", self.tile.divide_cycles, 1..=100),
            ("tile.mispredicted_cycles", self.tile.mispredicted_cycles, 0..=100),
            ("cache.kilobytes", self.cache.kilobytes, 1..=1024),
            ("switch.instruction_words", self.switch.instruction_words, 1..=8192),
            ("switch.mispredicted_cycles", self.switch.mispredicted_cycles, 0..=100),
            ("dynamic.turn_cycles", self.dynamic.turn_cycles, 0..=100),
        ];
        for (key, value, range) in rows {
            if !range.contains(&value) {
                return Err(SpecError::Range { key, value, range });
            }
        }
        if !self.cache.kilobytes.is_power_of_two() {
            return Err(SpecError::Cache(self.cache.kilobytes));
        }
        Ok(self.power.check()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_values_are_refused_by_name() {
        let text = include_str!("../../../machines/raw.toml");
        let spec = Spec::built_in();
        assert_eq!((spec.columns, spec.rows, spec.clock_mhz), (4, 4, 425));
        for (old, new, message) in [
            ("columns = 4", "columns = 17", "`columns` is 17; it can be 1 to 16"),
            ("kilobytes = 32", "kilobytes = 33", "`cache.kilobytes` is 33"),
            ("kind = \"raw\"", "kind = \"np\"", "`kind` is \"np\""),
            ("rows = 4", "rows = 4\nlines = 3", "unknown field `lines`"),
            ("process_nm = 150", "process_nm = 15", "`power.process_nm`: is 15; it can be 65 to"),
            ("burst_ma = 195.0", "burst_ma = 5.0", "`power.dram.burst_ma`"),
        ] {
            let error = Spec::parse(&text.replacen(old, new, 1)).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }
}
