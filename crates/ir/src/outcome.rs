//! What becomes of packets: the common language of all machines, and what `verify` compares.

use wireloom_net::Packet;

use crate::ReasonSetId;

/// A thread that jumps to the step it is in or an earlier one (in source order) more often than this is stopped: a
/// packet is dropped for [`Reason::Runaway`], a called engine replies zero.
pub const MAX_BACKWARD_JUMPS: u32 = 65_535;

/// Why a packet was dropped or handed to the control processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The engine said so.
    Program(ReasonSetId, u16),
    /// Too many backward jumps: [`MAX_BACKWARD_JUMPS`].
    Runaway,
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// Sent to a port.
    Sent {
        /// Which.
        port: u16,
    },
    /// Handed to the control processor.
    ToCpu(Reason),
    /// Dropped.
    Dropped(Reason),
}

/// A packet that left a machine. One arriving packet gives none (`done`), one, or many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output<'a> {
    /// Sequence number of the packet that arrived.
    pub sequence: u64,
    /// When that one arrived, in nanoseconds.
    pub arrival_ns: u64,
    /// The port that the packet in hand came in on.
    pub ingress: u16,
    /// What happened.
    pub verdict: Verdict,
    /// The packet as it left.
    pub bytes: &'a [u8],
}

/// A machine that executes an engine in software.
pub trait Execute {
    /// Processes packets, numbering them on from those before, and hands on what leaves: grouped by arriving packet,
    /// those in arrival order, the outputs of one packet in the order in which it sent them.
    fn execute(&mut self, packets: &[Packet], sink: &mut dyn FnMut(Output<'_>));
}
