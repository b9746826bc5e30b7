//! Calls: the messages of the message passing engine to objects, servers and the platform.

use super::broker::Service;
use super::objects::{CallersPacket, PacketUse, Words};
use super::order_gate::Position;
use super::packet_message::PacketMessage;

/// The target of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A hardware element.
    Object { object: u32, method: u32 },
    /// Any server of a service.
    Service { service: Service, method: u32 },
    /// A request to the thread manager.
    ThreadManager { method: u32 },
    /// The console; the method is the number of bytes to print.
    Console { bytes: u32 },
}

/// The header of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Launch {
    pub(super) target: Target,
    pub(super) ticket: u32,
    pub(super) argument_words: u32,
    /// Whether the arguments are a field of the window: see [`FIELD`](super::mpe::FIELD).
    pub(super) is_field: bool,
    /// The number of words in the reply, as far as it is known in advance; 0 for a one-way call.
    pub(super) reply_words: u32,
    /// The way in which the object uses the bytes of the packet.
    pub(super) packet: PacketUse,
    /// Whether the object makes calls in the order of packets.
    pub(super) in_order: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) target: Target,
    pub(super) ticket: u32,
    /// The arguments; after execution, the reply.
    pub(super) words: Words,
    /// The number of words in the reply, as far as it is known in advance; 0 for a one-way call.
    pub(super) reply_words: u32,
    /// The packet of the thread.
    pub(super) caller: Option<CallersPacket>,
    /// The packet's current contents, if the object works on its bytes.
    pub(super) carried: Option<Box<PacketMessage>>,
    /// The number of the calling thread on the chip.
    pub(super) thread: u32,
    /// The position of the call in the order gate, if the object makes calls in the order of
    /// packets.
    pub(super) turn: Option<Position>,
    /// For a one-way call: whether the thread needs an acknowledgement when the call begins.
    pub(super) is_acknowledged: bool,
}

impl Call {
    /// The size of the call message in bytes.
    pub(super) fn launch_bytes(&self) -> u32 {
        4 * self.words.len() as u32
            + self.carried.as_ref().map_or(0, |carried| carried.message_bytes())
    }

    /// The size of the reply message in bytes, after execution.
    pub(super) fn reply_bytes(&self) -> u32 {
        let changed = self.carried.as_ref().filter(|carried| carried.may_change);
        4 * self.reply_words + changed.map_or(0, |carried| carried.message_bytes())
    }
}
