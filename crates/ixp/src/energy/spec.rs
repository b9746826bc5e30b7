//! The energy section of a machine description.

use serde::{Deserialize, Serialize};
use wireloom_power::{DramChips, RangeError, Regulator, SramChips, Technology};
use wireloom_sim::SpecError;
use wireloom_sim::spec::within;

/// Process, voltages, and the parameters that the models of `wireloom-power` need.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PowerSpec {
    /// Process, voltages and temperature. The supply voltage applies to engines and units.
    #[serde(flatten)]
    pub technology: Technology,
    /// The energy of an unused port in a cycle, in percent of an access, 0 to 100.
    pub idle_percent: u32,
    /// The array structure of a control store.
    pub control_store: ControlStore,
    /// Bits of a command on the command bus and in queues, 16 to 256.
    pub command_bits: u32,
    /// The length of the command bus, in micrometres, 0 to 100,000.
    pub command_bus_um: u32,
    /// The length of the pull and push buses of SRAM, in micrometres, 0 to 100,000.
    pub sram_bus_um: u32,
    /// The length of the pull and push buses of SDRAM, in micrometres, 0 to 100,000.
    pub sdram_bus_um: u32,
    /// The capacitance of a line of the IX bus, in picofarads, 0 to 1,000.
    pub ix_bus_pf: u32,
    /// The output capacitor of the voltage regulator of an engine, in microfarads, 0 to 1,000.
    pub regulator_uf: f64,
    /// The efficiency of this regulator during a voltage change, in percent, 0 to 100.
    pub regulator_percent: u32,
    /// The SRAM chips.
    pub sram: SramChips,
    /// The SDRAM chips.
    pub sdram: DramChips,
}

/// The array structure of a control store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlStore {
    /// Divided into subarrays, in the way that takes the least energy.
    Cut,
    /// A single array with one word in each row.
    Whole,
}

impl PowerSpec {
    /// Checks the ranges of all numbers.
    ///
    /// # Errors
    /// The first number out of range, by its key.
    pub fn check(&self) -> Result<(), SpecError> {
        let wrong = |error: RangeError| error.in_table("power");
        self.technology.check().map_err(wrong)?;
        self.regulator().map_err(wrong)?;
        within("power.idle_percent", self.idle_percent, 0..=100)?;
        within("power.command_bits", self.command_bits, 16..=256)?;
        within("power.command_bus_um", self.command_bus_um, 0..=100_000)?;
        within("power.sram_bus_um", self.sram_bus_um, 0..=100_000)?;
        within("power.sdram_bus_um", self.sdram_bus_um, 0..=100_000)?;
        within("power.ix_bus_pf", self.ix_bus_pf, 0..=1000)?;
        self.sram.check().map_err(|error| error.in_table("power.sram"))?;
        self.sdram.check().map_err(|error| error.in_table("power.sdram"))
    }

    /// The voltage regulator of an engine.
    pub(super) fn regulator(&self) -> Result<Regulator, RangeError> {
        Regulator::new(self.regulator_uf, f64::from(self.regulator_percent) / 100.0)
    }
}
