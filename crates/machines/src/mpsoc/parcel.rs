//! What the nodes of the chip's network say to each other.

use super::broker::Service;
use super::handover::Forward;
use super::mpe::{Call, Finish};
use super::objects::Words;
use super::workload::Start;

/// The contents of a message. What is long stands in a table of the platform, and its number here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parcel {
    /// Packet I/O to the broker: a call of the engine with a packet's window.
    Process { packet: u32 },
    /// The broker to packet I/O: the call has its server.
    Served,
    /// The broker to a thread: the packet's window.
    Work { packet: u32, thread: u32 },
    /// A thread to the broker: a call of another part with its packet.
    HandOver { number: u32 },
    /// The broker to a thread: the packet that another part hands over.
    TakeOver { number: u32, thread: u32 },
    /// A thread to the broker: it waits for something of a service.
    Idle { thread: u32, service: Service },
    /// The broker to a thread: a call that it is to serve.
    Serve { call: u32, thread: u32 },
    /// The thread manager to a hardware thread: what it is to execute.
    Begin { hardware: u32, start: Start },
    /// A thread to packet I/O: what has become of its packet.
    Finished { output: u32 },
    /// A thread to an object, or to the broker.
    Call { call: u32 },
    /// A thread, or packet I/O, to an object that takes turns: a packet makes no more calls of it.
    Released(Released),
    /// An object, or a server, to the thread that has called it.
    Reply { call: u32 },
    /// A thread to shared memory: an access that is answered at once, for the synthetic load.
    Probe { thread: u32 },
    /// Shared memory to the thread.
    Probed { thread: u32 },
    /// A thread to shared memory: the access that it waits for.
    Access { thread: u32 },
    /// Shared memory to the thread, with what was read.
    Accessed { thread: u32, value: u32 },
    /// A processor to shared memory: a line of a cache.
    Line { processor: u32, line: Line },
    /// Shared memory to the processor.
    Filled { processor: u32, line: Line },
}

/// A packet makes no more calls of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Released {
    /// The number of the object.
    pub(super) object: u32,
    /// That of the packet, among all that were taken.
    pub(super) packet: u64,
    /// How many calls it has made.
    pub(super) calls: u32,
}

/// A line of a processor's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    /// Where it begins.
    pub(super) address: u32,
    /// Whose it is.
    pub(super) cache: Which,
}

/// Which cache of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// That of instructions.
    Instruction,
    /// That of data.
    Data,
}

/// What a thread asks of the rest of the chip.
#[derive(Clone, Debug)]
pub(super) enum Request {
    /// To be given something of a service.
    Idle(Service),
    /// An answer that says nothing.
    Probe,
    /// The access to shared memory that stands in its context.
    Access,
    /// A line for a cache.
    Line(Line),
    /// A call.
    Call(Call),
    /// To be told that its packet makes no more calls of an object.
    Release(Released),
    /// The answer to a call that the thread has served.
    Answer { call: u32, words: Words },
    /// That another part goes on with its packet.
    Forward(Box<Forward>),
    /// The end of its packet, or a packet sent before that.
    Finish(Box<Finish>),
}
