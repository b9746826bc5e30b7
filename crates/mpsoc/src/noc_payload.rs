//! The messages between the nodes of the chip's network.

use super::broker::Service;
use super::call::Call;
use super::finish::Finish;
use super::handover::Forward;
use super::objects::Words;
use super::one_way::Receiver;
use super::workload::Start;

/// The contents of a message. Long contents are kept in a table of the platform, and the message
/// holds their number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NocPayload {
    /// Packet I/O to the broker: a call of the engine with a packet's window.
    Process { packet: u32 },
    /// The broker to packet I/O: the call has been assigned to a server.
    Served,
    /// The broker to a thread: the packet's window.
    Work { packet: u32, thread: u32 },
    /// A thread to the broker: a call of another part with its packet.
    HandOver { number: u32 },
    /// The broker to a thread: the packet that another part hands over.
    TakeOver { number: u32, thread: u32 },
    /// A thread to the broker: it waits for work of a service.
    Idle { thread: u32, service: Service },
    /// The broker to a thread: a call to serve.
    Serve { call: u32, thread: u32 },
    /// The thread manager to a hardware thread: a thread to execute.
    Begin { hardware: u32, start: Start },
    /// A thread to packet I/O: the verdict on its packet.
    Finished { output: u32 },
    /// A thread to an object, or to the broker: a call.
    Call { call: u32 },
    /// A thread, or packet I/O, to an object with an order gate: a packet makes no more calls of
    /// the object.
    Released(Released),
    /// An object, or a server, to the calling thread: the reply.
    Reply { call: u32 },
    /// An object, or the broker, to a thread: its one-way call that requested an acknowledgement
    /// has begun.
    Acknowledged { thread: u32, receiver: Receiver },
    /// A thread to shared memory: an access with an immediate reply, for the synthetic load.
    Probe { thread: u32 },
    /// Shared memory to the thread: the reply.
    Probed { thread: u32 },
    /// A thread to shared memory: the access in the thread's context.
    Access { thread: u32 },
    /// Shared memory to the thread: the value that was read.
    Accessed { thread: u32, value: u32 },
    /// A processor to shared memory: a request for a cache line.
    Line { processor: u32, line: Line },
    /// Shared memory to the processor: the cache line.
    Filled { processor: u32, line: Line },
}

/// The notice that a packet makes no more calls of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Released {
    pub(super) object: u32,
    /// The number of the packet, among all packets that were taken.
    pub(super) packet: u64,
    /// The number of calls that the packet has made.
    pub(super) calls: u32,
}

/// A line of a processor's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) address: u32,
    /// The cache that holds the line.
    pub(super) cache: Which,
}

/// A cache of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The instruction cache.
    Instruction,
    /// The data cache.
    Data,
}

/// A request of a thread to the rest of the chip.
#[derive(Clone, Debug)]
pub(super) enum Request {
    /// Get work of a service.
    Idle(Service),
    /// Probe shared memory.
    Probe,
    /// Make the shared memory access in the thread's context.
    Access,
    /// Fetch a cache line.
    Line(Line),
    /// Make a call.
    Call(Call),
    /// Announce that the thread's packet makes no more calls of an object.
    Release(Released),
    /// Reply to a call that the thread has served.
    Answer { call: u32, words: Words },
    /// Hand the thread's packet over to another part.
    Forward(Box<Forward>),
    /// Finish the thread's packet, or send a packet before that.
    Finish(Box<Finish>),
}
