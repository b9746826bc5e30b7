//! Packets that threads send, with the cost of each packet for its thread.

use wireloom_sim::Time;

use super::mpe::{is_kept, selected};
use super::order_gate::CallCounts;
use super::packet_message::{Kept, PacketChange};
use super::run::Run;

/// A packet that a thread sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Finish {
    /// The place of the packet in packet memory.
    pub(super) packet: u32,
    /// The sequence number among the packets that the thread sends while it holds this packet.
    pub(super) sequence: u32,
    /// The word that was written to [`SEND`](super::mpe::SEND).
    pub(super) kind: u32,
    /// The egress port.
    pub(super) egress: u16,
    /// The length of the whole packet in bytes.
    pub(super) length: u32,
    /// The bytes of it that are sent: an [`EXTENT`](super::mpe::EXTENT).
    pub(super) extent: u32,
    /// The window in network order; empty if packets have no contents.
    pub(super) window: Vec<u8>,
    /// The length of the window in bytes.
    pub(super) window_bytes: u32,
    /// The bytes that objects have changed after the window.
    pub(super) left: PacketChange,
    pub(super) spent: Spent,
    /// The number of the packet's calls to objects with an order gate.
    pub(super) counts: CallCounts,
    /// The part of the engine that sends the packet.
    pub(super) part: u32,
}

impl Finish {
    /// Whether the thread keeps the packet.
    pub(super) fn is_kept(&self) -> bool {
        is_kept(self.kind)
    }

    /// The part of the packet that packet memory holds outside the window. `came` is that part at
    /// arrival.
    pub(super) fn kept<'a>(&'a self, came: Kept<'a>) -> Kept<'a> {
        self.left.as_deref().map_or(came, |changed| changed.kept())
    }

    /// The outgoing packet. `came` is the content of packet memory after the window at arrival.
    pub(super) fn merge(&self, came: Kept<'_>) -> Vec<u8> {
        let body = (self.length - self.window_bytes) as usize;
        let whole = [&self.window, &self.kept(came).behind[..body]].concat();
        whole[selected(self.extent, whole.len())].to_vec()
    }

    /// The number of bytes that are sent.
    pub(super) fn sent_bytes(&self) -> u32 {
        selected(self.extent, self.length as usize).len() as u32
    }
}

/// The cost of a packet for its thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Spent {
    pub(super) instructions: u64,
    /// The cycles in which the instructions were issued.
    pub(super) cycles: u64,
    /// The number of calls, and of network accesses for which the thread has waited.
    pub(super) accesses: u64,
    /// The time for which the thread has waited for replies.
    pub(super) network: Time,
}

impl Spent {
    /// The sum of both.
    pub(super) fn plus(self, other: Self) -> Self {
        Self {
            instructions: self.instructions + other.instructions,
            cycles: self.cycles + other.cycles,
            accesses: self.accesses + other.accesses,
            network: self.network + other.network,
        }
    }

    /// Adds executed instructions.
    pub(super) fn add(&mut self, run: Run) {
        self.instructions += u64::from(run.count);
        self.cycles += run.cycles();
    }

    /// The difference from an earlier cost.
    pub(super) fn since(self, earlier: Self) -> Self {
        Self {
            instructions: self.instructions - earlier.instructions,
            cycles: self.cycles - earlier.cycles,
            accesses: self.accesses - earlier.accesses,
            network: self.network - earlier.network,
        }
    }
}
