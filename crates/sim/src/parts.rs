//! The parts that machines are composed of.
//!
//! There are two sorts. Parts of the first sort, such as a memory, a link or a line, serve in a
//! fixed order. They keep the time from which they are free, and `request` or `send` immediately
//! returns the time of completion. Parts of the second sort, the networks, choose among contenders.
//! They have queues, send themselves events through an [`EventSink`](crate::EventSink), and do
//! nothing while no message waits. In addition, there are parts that units share cycle by cycle:
//! FIFOs, and schemes by which threads issue instructions.
//!
//! Each part has a specification (`...Spec`, as in a machine file), its state, and its behaviour.
//! `new` refuses an invalid specification with a [`SpecError`](crate::SpecError).

pub mod arbiter;
pub mod bus;
pub mod cache;
pub mod calendar;
pub mod channel;
mod contention;
pub mod crossbar;
mod fabric;
pub mod fifo;
pub mod interconnect;
pub mod issue;
pub mod line;
pub mod link;
pub mod memory;
pub mod mesh;
pub mod network;
pub mod queue;
pub mod ring;
pub mod run_ahead;
pub mod wormhole;
