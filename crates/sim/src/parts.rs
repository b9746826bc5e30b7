//! What machines are composed of.
//!
//! There are two sorts. Of the first, the answer is known when it is asked for: a memory, a link, a line serve in a fixed order, so they keep when
//! they are free, and `request` or `send` says when it is done. The second has contenders that are chosen among: networks. They have queues, send
//! themselves events through an [`Agenda`](crate::Agenda), and do nothing while nobody waits.
//!
//! Each part is a specification (`...Spec`, as it stands in a machine file), its state, and its behaviour. `new` refuses a specification that makes no
//! sense, with a [`SpecError`](crate::SpecError).

pub mod arbiter;
pub mod bus;
pub mod cache;
pub mod calendar;
pub mod channel;
mod contention;
pub mod crossbar;
mod fabric;
pub mod interconnect;
pub mod line;
pub mod link;
pub mod memory;
pub mod mesh;
pub mod network;
pub mod queue;
pub mod ring;
