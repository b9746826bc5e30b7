//! The outcomes of packets: the common language of all machines, which `verify` compares.

use wireloom_net::{Frame, Packet};

use crate::ReasonSetId;

/// The limit on jumps of a thread to its current step or an earlier one (in source order). A thread
/// that exceeds it is stopped: its packet is dropped for [`Reason::Runaway`], and a called engine
/// replies zero.
pub const MAX_BACKWARD_JUMPS: u32 = 65_535;

/// Why a packet was dropped or handed to the control processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The engine chose it.
    Program(ReasonSetId, u16),
    /// More backward jumps than [`MAX_BACKWARD_JUMPS`].
    Runaway,
}

/// What happened to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// Sent to a port.
    Sent {
        /// The egress port.
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
    /// When the packet arrived, in nanoseconds.
    pub arrival_ns: u64,
    /// The port on which the processed packet came in.
    pub ingress: u16,
    /// What happened.
    pub verdict: Verdict,
    /// The packet as it left.
    pub bytes: &'a [u8],
}

/// A machine in software, which executes each packet to its end before the next call.
pub trait Execute {
    /// Processes frames, continuing the numbering of earlier calls, and passes on what leaves.
    /// Outputs are grouped by arriving packet, in arrival order; the outputs of one packet come in
    /// the order in which it sent them.
    fn offer(&mut self, frames: &[Frame<'_>], sink: &mut dyn FnMut(Output<'_>));

    /// Like [`offer`](Self::offer), but a packet may leave in two pieces: [`Output::bytes`], then the
    /// second argument of `sink`, which can be empty. A machine that leaves the end of a long packet
    /// where it arrived need not copy it then.
    fn offer_in_pieces(&mut self, frames: &[Frame<'_>], sink: &mut dyn FnMut(Output<'_>, &[u8])) {
        self.offer(frames, &mut |output| sink(output, &[]));
    }

    /// Like [`offer`](Self::offer), for packets that own their bytes.
    fn execute(&mut self, packets: &[Packet], sink: &mut dyn FnMut(Output<'_>)) {
        let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
        self.offer(&frames, sink);
    }
}
