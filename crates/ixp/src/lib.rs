//! The `ixp` machine: a network processor of microengines, simulated to the cycle.
//!
//! ```text
//! ports -- IX bus -- FIFOs --+
//!                            |        commands, and words by push and pull buses
//! SRAM, SDRAM, scratchpad, hash unit ------------------------------ engines of four contexts
//! ```
//!
//! [`Chip`] holds all parts; [`Processor`] is the chip with its simulation kernel.
//! [docs/machines/ixp.md] states what is modelled and assumed.

pub mod assertions;
pub mod benchmarks;
pub mod bus;
mod by_hand;
pub mod cards;
pub mod chip;
mod compiled;
pub mod energy;
pub mod engine;
pub mod forwarder;
pub mod governor;
pub mod harness;
mod kind;
mod machine;
pub mod mpkt;
pub mod network;
pub mod options;
mod processor;
pub mod report;
pub mod request;
pub mod spec;
mod tables;
pub mod trace;
pub mod units;
mod watch;

pub use chip::Chip;
pub use compiled::{Compiled, compile};
pub use engine::{Microengine, Program};
pub use kind::KIND;
pub use machine::Ixp;
pub use options::{Fault, Options};
pub use processor::{Processor, RunError};
pub use spec::Spec;
pub use watch::Sources;
