//! The kernel of the simulated machines, and the parts that they are made of.
//!
//! A machine is a [`Model`]: it holds its units, and defines the effect of a clock cycle of each
//! unit and of each arriving event. The [`Kernel`] does the scheduling: it keeps the time, in
//! picoseconds, and spends nothing on idle units.

mod countdown;
pub mod energy;
pub mod event_sink;
pub mod kernel;
pub mod parts;
pub mod rng;
pub mod spec;
pub mod stats;
pub mod sweep;
pub mod time;
pub mod timeline;
pub mod wait_graph;
pub mod wheel;

pub use energy::{Energy, EnergyMeter, EnergySink};
pub use event_sink::EventSink;
pub use kernel::{
    Activity, Breakpoint, Checkpoint, Effort, Happened, Kernel, Model, Observer, SingleStep, Stop,
    Unit,
};
pub use rng::Rng;
pub use spec::SpecError;
pub use sweep::{sweep, sweep_longest_first};
pub use time::{Clock, Time, Timebase};
pub use timeline::Timeline;
