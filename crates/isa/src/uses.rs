//! What an instruction uses of its processor, for models of energy.

/// The operations, ports and accesses of one instruction, whether or not its condition holds.
///
/// A branch adds its offset to the program counter; one that compares registers subtracts them
/// too. Flags, the program counter and status registers are in no register file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// Additions, subtractions and comparisons, those of addresses included.
    pub add: u8,
    /// Logical operations and moves.
    pub logic: u8,
    /// Shifts and rotations.
    pub shift: u8,
    /// Products of two words.
    pub multiply: u8,
    /// Divisions and remainders.
    pub divide: u8,
    /// Registers that are read, each as often as an operand names it.
    pub reads: u8,
    /// Registers that are written.
    pub writes: u8,
    /// Words or parts of words that are loaded.
    pub loads: u8,
    /// The same of stores.
    pub stores: u8,
}
