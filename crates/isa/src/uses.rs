//! The parts of a processor that an instruction uses, for energy models.

/// The operations, ports and accesses of one instruction, whether or not its condition holds.
///
/// A branch adds its offset to the program counter. A branch that compares registers also subtracts
/// them. Flags, the program counter and status registers are not in a register file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Additions, subtractions and comparisons, including address computations.
    pub add: u8,
    /// Logical operations and moves.
    pub logic: u8,
    /// Shifts and rotations.
    pub shift: u8,
    /// Products of two words.
    pub multiply: u8,
    /// Divisions and remainders.
    pub divide: u8,
    /// Register reads. A register counts as often as operands name it.
    pub reads: u8,
    /// Registers that are written.
    pub writes: u8,
    /// Words or parts of words that are loaded.
    pub loads: u8,
    /// Words or parts of words that are stored.
    pub stores: u8,
}
