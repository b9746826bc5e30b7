//! Counts of outputs by destination.

use serde::Serialize;

use crate::mpkt::{Control, Way};

/// Counts of outputs by destination. Each packet has one output, and one more for each copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Outputs {
    /// Outputs that left by a port.
    pub sent: u64,
    /// The bytes of packets sent.
    pub sent_bytes: u64,
    /// Outputs for the processor core.
    pub to_core: u64,
    pub dropped: u64,
    /// Outputs for a port that does not exist.
    pub nowhere: u64,
    /// Packets that ended without an output.
    pub consumed: u64,
    /// Outputs that are not the last one of their packet.
    pub further: u64,
}

impl Outputs {
    /// Counts an output of `bytes` bytes. `has_port` is whether its port exists.
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
