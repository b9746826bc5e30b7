//! Voltage regulators: the energy of a change of voltage.
//!
//! Burd and Brodersen, "Design Issues for Dynamic Voltage Scaling" (ISLPED 2000): a change from V1
//! to V2 costs (1 - efficiency) C |V2^2 - V1^2|, where C is the capacitor at the regulator's
//! output.

use wireloom_sim::Energy;

use crate::joules;
use crate::process::{RangeError, within};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Regulator {
    microfarads: f64,
    efficiency: f64,
}

impl Regulator {
    /// Creates a regulator with an output capacitor in microfarads, 0 to 1,000, and an efficiency,
    /// 0 to 1.
    ///
    /// # Errors
    /// If a value is out of its range.
    pub fn new(microfarads: f64, efficiency: f64) -> Result<Self, RangeError> {
        within("regulator_uf", microfarads, 0.0..=1000.0)?;
        within("efficiency", efficiency, 0.0..=1.0)?;
        Ok(Self { microfarads, efficiency })
    }

    /// The energy of a change between two voltages in millivolts, in either direction.
    pub fn change(&self, one: u32, other: u32) -> Energy {
        let square = |millivolts: u32| (f64::from(millivolts) / 1e3).powi(2);
        let farads = self.microfarads * 1e-6;
        joules((1.0 - self.efficiency) * farads * (square(one) - square(other)).abs())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_costs_by_the_difference_of_the_squares() {
        let regulator = Regulator::new(5.0, 0.9).unwrap();
        // 0.1 * 5 uF * (4 - 1) V^2 = 1.5 uJ, both ways.
        assert!((regulator.change(2000, 1000).as_picojoules() - 1.5e6).abs() < 1e-3);
        assert_eq!(regulator.change(1000, 2000), regulator.change(2000, 1000));
        assert_eq!(regulator.change(1300, 1300), Energy(0));
        assert_eq!(Regulator::new(5.0, 1.5).unwrap_err().key, "efficiency");
    }
}
