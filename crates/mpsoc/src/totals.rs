//! The totals of a run.

use wireloom_sim::Time;

/// The totals up to a time; the difference of two totals describes the interval between them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    /// The simulated time.
    pub now: Time,
    /// The number of packets that packet I/O has taken.
    pub taken: u64,
    /// The number of packets that threads have finished.
    pub done: u64,
    /// The number of packets that left by a port, copies among them.
    pub sent: u64,
    /// The bytes of packets that left by a port.
    pub sent_bytes: u64,
    /// The number of packets lost at the input.
    pub lost: u64,
    /// The number of instructions.
    pub instructions: u64,
    /// The cycles in which a processor issued an instruction or was blocked by a multi-cycle
    /// instruction; summed over all processors.
    pub busy: u64,
}

impl Totals {
    /// The difference from earlier totals; its time is the length of the interval.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            now: self.now - earlier.now,
            taken: self.taken - earlier.taken,
            done: self.done - earlier.done,
            sent: self.sent - earlier.sent,
            sent_bytes: self.sent_bytes - earlier.sent_bytes,
            lost: self.lost - earlier.lost,
            instructions: self.instructions - earlier.instructions,
            busy: self.busy - earlier.busy,
        }
    }
}
