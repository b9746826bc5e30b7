//! Datapaths of 32 bits. Their energies are Wattch's, which come from measurements.
//!
//! Brooks, Tiwari and Martonosi, "Wattch" (ISCA 2000), and its published parameters: in a process
//! of 0.18 um at 733 MHz and 1.45 V a 64-bit adder takes 0.37 W, of which its clock takes 0.091 W;
//! a 16-bit multiplier takes 0.31 W (clock 0.095), a shifter 0.21 W (clock 0.089), and logic 0.04 W
//! (clock 0.015). The energies below leave out the clocks, assume one operation a cycle, and take
//! half of the adder for 32 bits. They scale with feature size and voltage.

use wireloom_sim::Energy;

use crate::joules;
use crate::process::Process;

/// The clock frequency of the measurements in hertz, their voltage, and the feature size in um.
const HERTZ: f64 = 733e6;
const VOLTS: f64 = 1.45;
const FEATURE_UM: f64 = 0.18;

/// The total width of the off transistors in a 32-bit datapath, in um of the 0.8 um process.
/// Assumed: an adder has 60 transistors a bit, a shifter 40, a multiplier 14 for each bit of a
/// partial product; each is 3 um wide.
const ADDER_LEAKS_UM: f64 = 32.0 * 60.0 * 3.0;
const SHIFTER_LEAKS_UM: f64 = 32.0 * 40.0 * 3.0;
const MULTIPLIER_LEAKS_UM: f64 = 32.0 * 32.0 * 14.0 * 3.0;
/// The number of 16-bit products in a 32-bit product, and of additions in a division: one for each
/// bit (assumed).
const PRODUCTS: u128 = 4;
const DIVISION_STEPS: u128 = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Addition, subtraction, comparison.
    Add,
    /// Bitwise logic.
    Logic,
    /// A shift by any amount.
    Shift,
    /// A product of 16 by 16 bits.
    Multiply16,
}

impl Operation {
    /// The measured power without the clock, in watts.
    fn watts(self) -> f64 {
        match self {
            Self::Add => (0.37 - 0.091) / 2.0,
            Self::Logic => 0.04 - 0.015,
            Self::Shift => 0.21 - 0.089,
            Self::Multiply16 => 0.31 - 0.095,
        }
    }
}

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

    /// The energy of a product of 32 by 32 bits, as four products of 16 by 16 bits.
    pub fn multiply(&self) -> Energy {
        Energy(PRODUCTS * self.energy(Operation::Multiply16).0)
    }

    /// The energy of a division of 32 bits, as one addition for each bit.
    pub fn divide(&self) -> Energy {
        Energy(DIVISION_STEPS * self.energy(Operation::Add).0)
    }

    /// The total width of the transistors that leak in adder and logic, in micrometres of this
    /// process.
    pub fn alu_leaking_um(&self) -> f64 {
        ADDER_LEAKS_UM * self.0.scale()
    }

    /// The total width of the transistors that leak in the shifter, in micrometres of this process.
    pub fn shifter_leaking_um(&self) -> f64 {
        SHIFTER_LEAKS_UM * self.0.scale()
    }

    /// The total width of the transistors that leak in the multiplier, in micrometres of this
    /// process.
    pub fn multiplier_leaking_um(&self) -> f64 {
        MULTIPLIER_LEAKS_UM * self.0.scale()
    }

    /// The energy of a step of a linear feedback network, as in a hash unit: `bits` two-input XORs,
    /// each a 32nd of a logical operation.
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
