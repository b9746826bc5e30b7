//! Counts of packets by destination.

use serde::Serialize;

use crate::mpkt::{Control, Way};

/// Counts of outputs by destination. A packet has one output, and one more for each copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outputs {
    /// Outputs that left by a port.
    pub sent: u64,
    /// The bytes of packets sent.
    pub sent_bytes: u64,
    /// Outputs for the processor core.
    pub to_core: u64,
    /// Outputs that were dropped.
    pub dropped: u64,
    /// Outputs for a port that is not there.
    pub nowhere: u64,
    /// Ends of packets without an output.
    pub consumed: u64,
    /// Outputs after which their packet has further ones.
    pub further: u64,
}

impl Outputs {
    /// Counts an output of so many bytes, for a port that may not be there.
    pub(super) fn count(&mut self, control: &Control, has_port: bool, bytes: usize) {
        self.further += u64::from(control.more);
        match control.way {
            Way::Port if has_port => {
                self.sent += 1;
                self.sent_bytes += bytes as u64;
            }
            Way::Core => self.to_core += 1,
            Way::Drop => self.dropped += 1,
            Way::Port => self.nowhere += 1,
            Way::Done => self.consumed += 1,
        }
    }
}
