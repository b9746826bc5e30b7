//! The description of a machine's energy in machine files.

use serde::{Deserialize, Serialize};
use wireloom_power::Technology;
use wireloom_sim::SpecError;
use wireloom_sim::spec::within;

/// The process, the voltages, and the parameters that the models of `wireloom-power` need.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PowerSpec {
    /// Process, voltages and temperature.
    #[serde(flatten)]
    pub technology: Technology,
    /// The side of a processor with its local memories and caches, in micrometres, 0 to 100,000.
    /// The processor's clock tree covers it.
    pub processor_um: u32,
    /// The side of the chip, in micrometres, 0 to 100,000. The network's wires and the clock tree
    /// to the processors cover it.
    pub chip_um: u32,
    /// The registers of a pipeline stage, in bits, 0 to 4,096.
    pub stage_bits: u32,
    /// The capacitance of a line of the board with its pins, in picofarads, 0 to 1,000.
    pub pin_pf: u32,
    /// The size of packet memory, in kilobytes, 1 to 65,536.
    pub packet_memory_kilobytes: u32,
    /// The memory of each search engine and automaton (`lpm`, `match`), in kilobytes, 1 to 65,536.
    pub search_kilobytes: u32,
}

impl PowerSpec {
    /// Checks the range of all numbers.
    ///
    /// # Errors
    /// The first number out of range, by its key.
    pub fn check(&self) -> Result<(), SpecError> {
        self.technology.check().map_err(|error| error.in_table("power"))?;
        within("power.processor_um", self.processor_um, 0..=100_000)?;
        within("power.chip_um", self.chip_um, 0..=100_000)?;
        within("power.stage_bits", self.stage_bits, 0..=4096)?;
        within("power.pin_pf", self.pin_pf, 0..=1000)?;
        within("power.packet_memory_kilobytes", self.packet_memory_kilobytes, 1..=1 << 16)?;
        within("power.search_kilobytes", self.search_kilobytes, 1..=1 << 16)
    }
}
