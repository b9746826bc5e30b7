//! Datapaths of 32 bits: the energies of Wattch, which come from measurements.
//!
//! Brooks, Tiwari and Martonosi, "Wattch" (ISCA 2000), and its published parameters: in a process
//! of 0.18 um at 733 MHz and 1.45 V an adder of 64 bits takes 0.37 W, of which 0.091 W are its
//! clock, a multiplier of 16 bits 0.31 W (clock 0.095), a shifter 0.21 W (clock 0.089), and logic
//! 0.04 W (clock 0.015). Without their clocks, at one operation a cycle, and with half of the
//! adder for 32 bits, this gives the energies below. They scale with feature size and voltage.

use wireloom_sim::Energy;

use crate::joules;
use crate::process::Process;

/// The clock of the measurements, in hertz, their voltage, and the feature size in um.
const HERTZ: f64 = 733e6;
const VOLTS: f64 = 1.45;
const FEATURE_UM: f64 = 0.18;

/// The widths of transistors that are off in a datapath of 32 bits, in um of the process of 0.8 um
/// (assumed: 60 and 40 for each bit, 14 for each bit of a product, 3 um each).
const ADDER_LEAKS_UM: f64 = 32.0 * 60.0 * 3.0;
const SHIFTER_LEAKS_UM: f64 = 32.0 * 40.0 * 3.0;
const MULTIPLIER_LEAKS_UM: f64 = 32.0 * 32.0 * 14.0 * 3.0;
/// Products of 16 bits in one of 32, and additions in a division, a bit each (assumed).
const PRODUCTS: u128 = 4;
const DIVISION_STEPS: u128 = 32;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Addition, subtraction, comparison.
    Add,
    /// Logic bit by bit.
    Logic,
    /// A shift by any amount.
    Shift,
    /// A product of 16 by 16 bits.
    Multiply16,
}

impl Operation {
    /// The power in the measurements, without the clock, in watts.
    fn watts(self) -> f64 {
        match self {
            Self::Add => (0.37 - 0.091) / 2.0,
            Self::Logic => 0.04 - 0.015,
            Self::Shift => 0.21 - 0.089,
            Self::Multiply16 => 0.31 - 0.095,
        }
    }
}

/// A datapath.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Datapath(Process);

impl Datapath {
    /// Creates the datapath of a process.
    pub fn new(process: Process) -> Self {
        Self(process)
    }

    /// The energy of an operation.
    pub fn energy(&self, operation: Operation) -> Energy {
        let volts = self.0.volts() / VOLTS;
        let length = self.0.feature_um() / FEATURE_UM;
        joules(operation.watts() / HERTZ * volts * volts * length)
    }

    /// The energy of a product of 32 by 32 bits, of four products of 16.
    pub fn multiply(&self) -> Energy {
        Energy(PRODUCTS * self.energy(Operation::Multiply16).0)
    }

    /// The energy of a division of 32 bits, an addition for each of them.
    pub fn divide(&self) -> Energy {
        Energy(DIVISION_STEPS * self.energy(Operation::Add).0)
    }

    /// The widths of transistors that leak in adder and logic, in micrometres of this process.
    pub fn alu_leaking_um(&self) -> f64 {
        ADDER_LEAKS_UM * self.0.scale()
    }

    /// The same of the shifter.
    pub fn shifter_leaking_um(&self) -> f64 {
        SHIFTER_LEAKS_UM * self.0.scale()
    }

    /// The same of the multiplier.
    pub fn multiplier_leaking_um(&self) -> f64 {
        MULTIPLIER_LEAKS_UM * self.0.scale()
    }

    /// The energy of a step of a linear feedback network, as in a hash unit: `bits` exclusive ors
    /// of two, each a 32nd of a logical operation.
    pub fn network(&self, bits: u32) -> Energy {
        Energy(self.energy(Operation::Logic).0 * u128::from(bits) / 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn energies_in_the_process_of_the_measurements_are_power_over_clock() {
        let datapath = Datapath::new(Process::new(180, 1450).unwrap());
        for (operation, picojoules) in [
            (Operation::Add, 190.314),
            (Operation::Logic, 34.106),
            (Operation::Shift, 165.075),
            (Operation::Multiply16, 293.315),
        ] {
            let found = datapath.energy(operation).as_picojoules();
            assert!((found - picojoules).abs() < 1e-3, "{operation:?}: {found}");
        }
        let step = datapath.network(64).as_picojoules();
        assert!((step - 2.0 * 34.1064).abs() < 1e-3, "{step}");
    }

    #[test]
    fn they_scale_with_length_and_the_square_of_the_voltage() {
        let add = |nm, millivolts| {
            Datapath::new(Process::new(nm, millivolts).unwrap())
                .energy(Operation::Add)
                .as_picojoules()
        };
        assert!((add(360, 1450) / add(180, 1450) - 2.0).abs() < 1e-9);
        assert!((add(180, 2900) / add(180, 1450) - 4.0).abs() < 1e-9);
    }
}
