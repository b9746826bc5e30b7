//! The pipelined shell: a called engine as a straight pipeline that takes a request every cycle.
//!
//! Gorilla (section 3.3): if all jumps go forward and all delays are constant, the request and edit
//! logic of all steps can be chained. Each step is a stage. Its request logic sends reads to its
//! memories; the context passes through a delay line of the memories' latency; its edit logic uses
//! the data read. A request whose thread is at another step, or has ended, passes through without
//! reading. Each call has its own slot of its memory, so nothing ever waits.
//!
//! - [`check`] decides whether an engine can be built this way, and the order of its steps;
//! - [`stage`] makes the logic of a step from the output of `core`, and determines which bits of
//!   the context it needs;
//! - [`pipeline`] chains the stages, and `nets` writes the nets of each; [`lookup`] combines a trie
//!   walk and its value table into a service;
//! - [`accelerators`] compiles the programs of `programs/accelerators`;
//! - [`packet`] builds the same kind of pipeline for an engine that takes packets, whose header
//!   windows pass through the pipeline.

pub mod accelerators;
pub mod check;
pub mod lookup;
mod nets;
pub mod packet;
pub mod pipeline;
pub mod stage;

pub use accelerators::{Accelerator, accelerator, caller};
pub use lookup::{Control, Lookup, lookup};
pub use pipeline::{MemoryPort, Pipeline, pipeline};

#[cfg(test)]
mod tests;
