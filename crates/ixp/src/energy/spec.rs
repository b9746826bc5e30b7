//! The description of a chip's energy in machine files.

use serde::{Deserialize, Serialize};
use wireloom_power::{DramChips, RangeError, Regulator, SramChips, Technology};
use wireloom_sim::SpecError;
use wireloom_sim::spec::within;

/// The process, the voltages, and what the models of `wireloom-power` do not know by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PowerSpec {
    /// Process, voltages and temperature; the supply voltage is that of engines and units.
    #[serde(flatten)]
    pub technology: Technology,
    /// What a port that is not used in a cycle takes, in percent of an access, 0 to 100.
    pub idle_percent: u32,
    /// The array of a control store.
    pub control_store: ControlStore,
    /// Bits of a command on its bus and in queues, 16 to 256.
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
    /// The efficiency of that regulator in a change of voltage, in percent, 0 to 100.
    pub regulator_percent: u32,
    /// The chips of SRAM.
    pub sram: SramChips,
    /// The chips of SDRAM.
    pub sdram: DramChips,
}

/// How the array of a control store is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlStore {
    /// Cut into subarrays, in the way that takes the least energy.
    Cut,
    /// In one piece: a word in each row.
    Whole,
}

impl PowerSpec {
    /// Checks the range of all numbers.
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

    /// The regulator of an engine.
    pub(super) fn regulator(&self) -> Result<Regulator, RangeError> {
        Regulator::new(self.regulator_uf, f64::from(self.regulator_percent) / 100.0)
    }
}
