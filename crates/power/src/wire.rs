//! Buses and crossbars, modelled by the length of their wires.

use wireloom_sim::Energy;

use crate::joules;
use crate::process::{Channel, Process, RangeError, within};

/// The factor by which repeaters raise the capacitance of a long wire. Assumed: they add about 0.6
/// times the capacitance of the wire, as in wires with the least delay.
pub(crate) const REPEATERS: f64 = 1.6;
/// The share of lines that change from word to word (Wattch: activity factor).
const ACTIVITY: f64 = 0.5;
/// The widths of the n and p transistors of a crossbar switch, in um of the 0.8 um process
/// (assumed).
const SWITCH_UM: [f64; 2] = [10.0, 20.0];
/// The distance between two lines of a crossbar, in um of the 0.8 um process (assumed).
const PITCH_UM: f64 = 4.0;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bus {
    process: Process,
    length_um: f64,
}

impl Bus {
    /// Creates a bus of a length in micrometres, 0 to 100,000.
    ///
    /// # Errors
    /// If the length is out of its range.
    pub fn new(process: Process, length_um: f64) -> Result<Self, RangeError> {
        within("length_um", length_um, 0.0..=1e5)?;
        Ok(Self { process, length_um })
    }

    /// The energy to carry `bits` bits.
    pub fn carry(&self, bits: u32) -> Energy {
        let line = REPEATERS * self.process.wire(self.length_um);
        joules(ACTIVITY * f64::from(bits) * self.process.switch(line))
    }
}

/// A matrix crossbar, modelled after Orion: a line for each input across all outputs, a line for
/// each output across all inputs, and a switch at each crossing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Crossbar {
    process: Process,
    inputs: u32,
    outputs: u32,
    bits: u32,
}

impl Crossbar {
    /// Creates a crossbar with `inputs` inputs and `outputs` outputs, 1 to 256 each, of `bits`
    /// bits, 1 to 1,024.
    ///
    /// # Errors
    /// If a number is out of its range.
    pub fn new(process: Process, inputs: u32, outputs: u32, bits: u32) -> Result<Self, RangeError> {
        within("inputs", inputs, 1..=256)?;
        within("outputs", outputs, 1..=256)?;
        within("bits", bits, 1..=1024)?;
        Ok(Self { process, inputs, outputs, bits })
    }

    /// The energy to carry a word from an input to an output.
    pub fn carry(&self) -> Energy {
        let process = &self.process;
        let drain =
            process.drain(SWITCH_UM[0], Channel::N) + process.drain(SWITCH_UM[1], Channel::P);
        let line = |count: u32| {
            let length = f64::from(count * self.bits) * PITCH_UM * process.scale();
            process.wire(length) + f64::from(count) * drain
        };
        let lines = line(self.outputs) + line(self.inputs);
        joules(ACTIVITY * f64::from(self.bits) * process.switch(lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bus_costs_by_length_and_bits() {
        let process = Process::new(250, 2000).unwrap();
        let bus = Bus::new(process, 1000.0).unwrap();
        // 32 lines of 275 fF with repeaters, of which half change: 0.5 * 32 * 440 fF * 4 V^2.
        assert!((bus.carry(32).as_picojoules() - 28.16).abs() < 1e-9);
        assert_eq!(bus.carry(64).0, 2 * bus.carry(32).0);
        assert_eq!(Bus::new(process, 2000.0).unwrap().carry(32).0, 2 * bus.carry(32).0);
        assert_eq!(Bus::new(process, -1.0).unwrap_err().key, "length_um");
    }

    #[test]
    fn a_crossbar_costs_more_with_each_port() {
        let process = Process::new(250, 2000).unwrap();
        let of = |ports| Crossbar::new(process, ports, ports, 32).unwrap().carry();
        assert!(of(2) < of(4) && of(4) < of(8));
        assert!(Crossbar::new(process, 4, 0, 32).is_err());
    }
}
