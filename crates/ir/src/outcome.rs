//! Outcomes of packets, as all machines report them. `verify` compares them.

use wireloom_net::{Frame, Packet};

use crate::ReasonSetId;
#[cfg(doc)]
use crate::TIMERS;

/// The maximum number of backward jumps of a thread. A jump is backward if it leads to the current
/// step or an earlier one in source order. A thread that exceeds the limit is stopped: its packet
/// is dropped for [`Reason::Runaway`], and a called engine returns zero.
pub const MAX_BACKWARD_JUMPS: u32 = 65_535;

/// The reason for dropping a packet or handing it to the control processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// A reason that the engine chose: the set and its value.
    Program(ReasonSetId, u16),
    /// The thread made more than [`MAX_BACKWARD_JUMPS`] backward jumps.
    Runaway,
}

/// The final decision on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Verdict {
    /// Sent to a port.
    Sent { port: u16 },
    /// Handed to the control processor.
    ToCpu(Reason),
    /// Dropped.
    Dropped(Reason),
}

/// A packet that left a machine. One arriving packet causes no output (`done`), one, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Output<'a> {
    /// Sequence number of the arriving packet, or of the timer that ran: [`TIMERS`] and more.
    pub sequence: u64,
    /// Arrival time of that packet in nanoseconds.
    pub arrival_ns: u64,
    /// Ingress port of that packet; [`TIMER`](wireloom_offloads::TIMER) for a timer.
    pub ingress: u16,
    pub verdict: Verdict,
    /// The bytes of the packet as it left.
    pub bytes: &'a [u8],
}

/// A machine in software. It executes all packets of a call before the call returns.
pub trait Execute {
    /// Processes frames and passes each output to `sink`. Sequence numbers continue from earlier
    /// calls. Outputs are in arrival order of their packets; the outputs of one packet are in the
    /// order in which the thread sent them.
    fn offer(&mut self, frames: &[Frame<'_>], sink: &mut dyn FnMut(Output<'_>));

    /// Runs the timers that are due by a time, in nanoseconds, as if a packet arrived then. A
    /// machine without timers does nothing.
    fn advance_to(&mut self, time_ns: u64, sink: &mut dyn FnMut(Output<'_>)) {
        let _ = (time_ns, sink);
    }

    /// Returns a time before which no timer is due, in nanoseconds; `None` if no timer is set.
    fn next_timer(&self) -> Option<u64> {
        None
    }

    /// Like [`offer`](Self::offer), but a packet may leave in two pieces: [`Output::bytes`], then
    /// the second argument of `sink`, which can be empty. With two pieces a machine need not copy
    /// the end of a long packet.
    fn offer_in_pieces(&mut self, frames: &[Frame<'_>], sink: &mut dyn FnMut(Output<'_>, &[u8])) {
        self.offer(frames, &mut |output| sink(output, &[]));
    }

    /// Like [`offer`](Self::offer), for packets that own their bytes.
    fn execute(&mut self, packets: &[Packet], sink: &mut dyn FnMut(Output<'_>)) {
        let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
        self.offer(&frames, sink);
    }
}
