//! The pipelined shell: a called engine as a straight pipeline that takes a request every cycle.
//!
//! Gorilla (section 3.3): if all jumps go forward and all delays are constant, the request and edit logic of the steps can be
//! put one behind the other. Each step is a stage: its request logic sends reads to its memories; the context marches along a
//! delay line as long as the memories take; its edit logic uses what they answer. A request whose thread is at another
//! step, or has ended, passes through without reading. Each call has a slot of its memory for itself, so that nothing ever
//! waits.
//!
//! - [`check`] says whether an engine can be built so, and in which order its steps stand;
//! - [`stage`] makes the logic of a step, out of what `core` makes of it, and finds out which bits of the context it needs;
//! - [`pipeline`] puts the stages together, `nets` has each one's nets; [`lookup`] adds the value table to a trie walk and makes a service of both;
//! - [`accelerators`] has the programs of `programs/accelerators`;
//! - [`packet`] does the same with an engine that takes packets, whose header windows march along.

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
