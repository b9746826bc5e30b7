//! The control port of a machine, as far as realisations use it to read entries back.

use wireloom_bits::Bits;

use crate::simulation::Fault;

/// A control port.
pub trait ControlBus {
    /// Reads entries of a control target. Each entry has the width of the control bus.
    ///
    /// # Errors
    /// If the machine fails, or the target does not exist.
    fn read_entries(&mut self, target: u8, addresses: &[u32]) -> Result<Vec<Bits>, Fault>;

    /// Writes an entry of a control target.
    ///
    /// # Errors
    /// If the machine fails, or the target does not exist.
    fn write_entry(&mut self, target: u8, address: u32, value: &Bits) -> Result<(), Fault>;
}

/// A reason why state cannot be read back.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The machine fails.
    #[error(transparent)]
    Machine(#[from] Fault),
    /// The golden instance refuses an entry.
    #[error("{0}")]
    Refused(String),
}
