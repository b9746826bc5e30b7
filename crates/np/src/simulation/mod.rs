//! Simulation of network processors. Verilator translates the SystemVerilog, and a small C++
//! harness drives its ports.
//!
//! [`build()`] builds a [`Model`] of a [`Source`], or loads it from the cache. A [`Simulation`] of
//! the model takes packets, each with the cycle in which it arrives, and returns the outputs in
//! order. A [`Meter`] measures rate and latency. An [`Execution`] combines them into a machine that
//! executes packets.

mod build;
mod control;
mod error;
mod execution;
mod follow;
mod measure;
mod model;
mod rig;
mod run;
mod settings;
mod source;
#[cfg(test)]
mod tests;
mod trial;

pub use build::{BuildOptions, build};
pub(crate) use build::{HARNESS, STANDARD, definitions};
pub use error::{BuildError, Fault};
pub use execution::{
    Counts, Execution, Operation, Resolved, SimulationResult, Times, Update, Updated, Use,
};
pub use follow::{Event, Followed, Happened, PipelinedStep};
pub use measure::{Bin, Distribution, Meter, Pace, Pacer, mlffr};
pub use model::{Model, State};
pub use rig::{RigReport, RigRun};
pub use run::{Access, Arrival, Departure, Fate, Simulation};
pub use settings::Settings;
pub use source::{Geometry, NarrowPorts, Probe, Routers, Source};
pub use trial::{OnLoss, Trial, beats};
