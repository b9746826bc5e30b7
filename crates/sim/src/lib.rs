//! The kernel of the simulated machines, and the parts that they are made of.
//!
//! A machine is a [`Model`]: it holds its units, and says what each does in a cycle of its clock and what happens when something that was on its
//! way arrives. The [`Kernel`] says when: it keeps the time, in picoseconds, and touches nobody who has nothing to do.

pub mod agenda;
pub mod chance;
mod countdown;
pub mod kernel;
pub mod parts;
pub mod plot;
pub mod spec;
pub mod stats;
pub mod sweep;
pub mod time;
pub mod timeline;
pub mod waits;
pub mod wheel;

pub use agenda::Agenda;
pub use chance::Chance;
pub use kernel::{Activity, Effort, Kernel, Model, Stop, Unit};
pub use spec::SpecError;
pub use sweep::{sweep, sweep_longest_first};
pub use time::{Clock, Time};
pub use timeline::Timeline;
