//! The technology of a chip: the keys that all machine files with an account of energy have.

use serde::{Deserialize, Serialize};
use wireloom_sim::{Energy, SpecError};

use crate::leakage;
use crate::process::{Process, RangeError, within};

/// The process, the voltages and the temperature of a chip: the first keys of `[power]`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Technology {
    /// The feature size, in nanometres, 65 to 2,000.
    pub process_nm: u32,
    /// The supply voltage of the chip, in millivolts, 500 to 5,500.
    pub voltage_mv: u32,
    /// The supply voltage of the pins, in millivolts, 500 to 5,500.
    pub pins_mv: u32,
    /// The temperature, in degrees Celsius, -40 to 125.
    pub celsius: i32,
}

impl Technology {
    /// Checks the range of all numbers.
    ///
    /// # Errors
    /// The first number out of range, by its key.
    pub fn check(&self) -> Result<(), RangeError> {
        self.process()?;
        within("pins_mv", self.pins_mv, 500..=5500)?;
        within("celsius", self.celsius, -40..=125)
    }

    /// The process at the supply voltage.
    ///
    /// # Errors
    /// If a value is out of its range.
    pub fn process(&self) -> Result<Process, RangeError> {
        Process::new(self.process_nm, self.voltage_mv)
    }

    /// The power that transistors of a total width in micrometres leak in a process, in nanowatts.
    pub fn leak(&self, process: Process, width_um: f64) -> u64 {
        leakage::nanowatts(process, width_um, self.celsius.into())
    }

    /// The energy of a word on 32 board lines of `line_pf` picofarads each, half of which change.
    pub fn board_word(&self, line_pf: u32) -> Energy {
        let volts = f64::from(self.pins_mv) / 1e3;
        let picojoules = 16.0 * f64::from(line_pf) * volts * volts;
        Energy::femtojoules((picojoules * 1e3).round() as u64)
    }
}

/// A share of an energy, in percent.
pub fn percent_of(energy: Energy, percent: u32) -> Energy {
    Energy(energy.0 * u128::from(percent) / 100)
}

impl RangeError {
    /// Converts the error into an error of a machine file, at a key of this table.
    pub fn in_table(self, table: &str) -> SpecError {
        let Self { key, value, range } = self;
        SpecError::new(&format!("{table}.{key}"), format!("is {value}; it can be {range}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHIP: Technology =
        Technology { process_nm: 250, voltage_mv: 2000, pins_mv: 3000, celsius: 25 };

    #[test]
    fn words_leave_over_half_of_the_lines_at_the_voltage_of_pins() {
        // 16 lines * 10 pF * 9 V^2.
        assert_eq!(CHIP.board_word(10), Energy::picojoules(1440));
        assert_eq!(percent_of(CHIP.board_word(10), 25), Energy::picojoules(360));
        let process = CHIP.process().unwrap();
        // A metre of width leaks 1 mA at 2 V.
        assert_eq!(CHIP.leak(process, 1e6), 2_000_000);
    }

    #[test]
    fn what_is_out_of_range_is_refused_by_its_key() {
        CHIP.check().unwrap();
        assert_eq!(Technology { pins_mv: 6000, ..CHIP }.check().unwrap_err().key, "pins_mv");
        assert_eq!(Technology { celsius: 126, ..CHIP }.check().unwrap_err().key, "celsius");
        let refused = Technology { process_nm: 20, ..CHIP }.check().unwrap_err().in_table("power");
        assert_eq!(refused.to_string(), "`power.process_nm`: is 20; it can be 65 to 2000");
    }
}
