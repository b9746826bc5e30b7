//! The distribution of a clock: an H-tree of wires with its repeaters, and the registers at its
//! leaves. Every cycle charges and discharges both.
//!
//! The tree follows Wattch and Duarte, Vijaykrishnan and Irwin, "A Clock Power Model to Evaluate
//! Impact of Architectural and Technology Optimizations" (TVLSI 2002). Each level halves the side
//! of the squares that it serves: an H in a square of side s is three wires of s / 2. Level k has
//! 4^(k - 1) such squares of side D / 2^(k - 1). So n levels over a square of side D have 1.5 D
//! (2^n - 1) of wire and 4^n leaves.

use wireloom_sim::Energy;

use crate::joules;
use crate::process::{Process, RangeError, within};
use crate::wire::REPEATERS;

/// The total width of the gates that the clock drives in a one-bit register, in um of the 0.8 um
/// process (assumed: two inverters and four pass transistors of 2.4 um).
const REGISTER_UM: f64 = 8.0 * 2.4;
/// The maximum number of registers that a leaf of the tree serves (assumed).
const REGISTERS_A_LEAF: u32 = 32;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockTree {
    process: Process,
    side_um: f64,
    levels: u32,
    registers: u32,
}

impl ClockTree {
    /// Creates the tree over a square that serves `registers` one-bit registers, up to 2^20. The
    /// side is in micrometres, 0 to 100,000. The tree has the fewest levels that suffice.
    ///
    /// # Errors
    /// If a value is out of its range.
    pub fn new(process: Process, side_um: f64, registers: u32) -> Result<Self, RangeError> {
        within("registers", registers, 0..=1 << 20)?;
        let leaves = registers.div_ceil(REGISTERS_A_LEAF).max(1);
        Self::to_leaves(process, side_um, leaves).map(|tree| Self { registers, ..tree })
    }

    /// Creates the tree over a square to `leaves` places, up to 2^16. The side is in micrometres, 0
    /// to 100,000. The clocks inside the places are not included.
    ///
    /// # Errors
    /// If a value is out of its range.
    pub fn to_leaves(process: Process, side_um: f64, leaves: u32) -> Result<Self, RangeError> {
        within("side_um", side_um, 0.0..=1e5)?;
        within("leaves", leaves, 1..=1 << 16)?;
        let levels = (0..).find(|levels| 4u64.pow(*levels) >= u64::from(leaves)).unwrap_or(0);
        Ok(Self { process, side_um, levels, registers: 0 })
    }

    /// The total length of the wires, in micrometres.
    pub fn wire_um(&self) -> f64 {
        1.5 * self.side_um * (2f64.powi(self.levels as i32) - 1.0)
    }

    /// The energy of a cycle. Every line rises and falls once.
    pub fn cycle(&self) -> Energy {
        let wires = REPEATERS * self.process.wire(self.wire_um());
        let registers = f64::from(self.registers) * self.process.gate(REGISTER_UM);
        joules(self.process.switch(wires + registers))
    }

    /// The total width of the transistors that leak in the registers, in micrometres of this
    /// process. Half of the transistors are off.
    pub fn leaking_um(&self) -> f64 {
        f64::from(self.registers) * REGISTER_UM / 2.0 * self.process.scale()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process() -> Process {
        Process::new(250, 2000).unwrap()
    }

    #[test]
    fn a_tree_has_the_wires_of_its_levels() {
        let of = |leaves| ClockTree::to_leaves(process(), 1000.0, leaves).unwrap();
        // One H has 3 * 500 um. The second level has four H of half the side.
        assert_eq!([1, 4, 5, 16].map(|leaves| of(leaves).wire_um()), [0.0, 1500.0, 4500.0, 4500.0]);
        // 1,500 um * 275 aF * 1.6 * 4 V^2.
        assert!((of(4).cycle().as_picojoules() - 2.64).abs() < 1e-9);
        assert_eq!(of(4).leaking_um(), 0.0);
    }

    #[test]
    fn registers_load_the_leaves() {
        let tree = ClockTree::new(process(), 1000.0, 128).unwrap();
        assert_eq!(tree.levels, 1);
        let gates = 128.0 * process().gate(19.2) * 4.0 * 1e12;
        assert!((tree.cycle().as_picojoules() - 2.64 - gates).abs() < 1e-6);
        assert!(ClockTree::new(process(), 1000.0, 129).unwrap().levels == 2);
        assert!((tree.leaking_um() - 128.0 * 9.6 * 0.3125).abs() < 1e-9);
        assert_eq!(ClockTree::new(process(), -1.0, 4).unwrap_err().key, "side_um");
        assert!(ClockTree::to_leaves(process(), 1.0, 0).is_err());
    }
}
