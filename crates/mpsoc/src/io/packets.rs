//! Packets between their arrival and their end.

use wireloom_sim::Time;

use super::supply::Supply;
use super::verdict::Verdict;
use crate::finish::Finish;
use crate::mpe::Information;
use crate::packet_message::Kept;

/// A packet between its arrival and its end.
#[derive(Clone, Debug)]
pub(super) struct InFlight {
    pub(super) number: u64,
    pub(super) offered: u64,
    pub(super) information: Information,
    pub(super) arrived: Time,
    /// The packets that the thread has sent, until they leave in order.
    pub(super) finished: Vec<Finish>,
    /// The number of sent packets that have left.
    pub(super) left: u32,
    pub(super) done: Time,
}

impl InFlight {
    /// The part of the arrived packet that packet memory holds outside its window.
    pub(super) fn kept<'a>(&self, supply: &'a Supply) -> Kept<'a> {
        let Information { ingress, arrival_ns, loaded, .. } = self.information;
        let bytes = supply.packet(self.offered).map_or(&[][..], |packet| &packet.bytes);
        Kept { ingress, arrival_ns, behind: &bytes[bytes.len().min(loaded as usize)..] }
    }
}

/// Packets in transit from packet memory to the line.
#[derive(Clone, Debug)]
pub(super) struct Leaving {
    pub(super) packet: u32,
    pub(super) length: u32,
    /// The time at which the packet has been read from packet memory.
    pub(super) loaded: Time,
    pub(super) delivered: Delivered,
}

/// A packet that has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The number of the arrived packet among all packets that were taken.
    pub number: u64,
    /// The number of the arrived packet among all offered packets.
    pub offered: u64,
    pub ingress: u16,
    /// The arrival time in nanoseconds, as the packet came with it.
    pub arrival_ns: u64,
    /// Whether this is the last output of the arrived packet.
    pub is_last: bool,
    pub verdict: Verdict,
    /// The bytes of the packet; empty if packets have no contents.
    pub bytes: Vec<u8>,
    /// The time at which the packet's last bit left, or at which it was dropped.
    pub at: Time,
}
