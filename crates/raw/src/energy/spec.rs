//! The description of a chip's energy in machine files.

use serde::{Deserialize, Serialize};
use wireloom_power::{DramChips, Technology};
use wireloom_sim::SpecError;
use wireloom_sim::spec::within;

/// Process and voltages, and parameters that the models of `wireloom-power` lack.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PowerSpec {
    /// Process, voltages and temperature.
    #[serde(flatten)]
    pub technology: Technology,
    /// The energy of a port in a cycle without access, in percent of an access, 0 to 100.
    pub idle_percent: u32,
    /// The energy of a functional unit or memory that is turned off, in percent of an access, 0 to
    /// 100. The chip turns units off when it does not need them.
    pub off_percent: u32,
    /// The side of a tile in micrometres, 0 to 100,000. Wires to a neighbour have this length.
    pub tile_um: u32,
    /// The capacitance of a line of a port with its pins, in picofarads, 0 to 1,000.
    pub pin_pf: u32,
    /// The time of a word on the pins of a memory, in picoseconds, 1 to 1,000,000.
    pub dram_word_ps: u32,
    /// The time between two refreshes of a memory, in nanoseconds, 1 to 1,000,000.
    pub dram_refresh_ns: u32,
    /// The chips of each memory.
    pub dram: DramChips,
}

impl PowerSpec {
    /// Checks the range of all numbers.
    ///
    /// # Errors
    /// The first number out of range, with its key.
    pub fn check(&self) -> Result<(), SpecError> {
        self.technology.check().map_err(|error| error.in_table("power"))?;
        within("power.idle_percent", self.idle_percent, 0..=100)?;
        within("power.off_percent", self.off_percent, 0..=100)?;
        within("power.tile_um", self.tile_um, 0..=100_000)?;
        within("power.pin_pf", self.pin_pf, 0..=1000)?;
        within("power.dram_word_ps", self.dram_word_ps, 1..=1_000_000)?;
        within("power.dram_refresh_ns", self.dram_refresh_ns, 1..=1_000_000)?;
        self.dram.check().map_err(|error| error.in_table("power.dram"))
    }
}
