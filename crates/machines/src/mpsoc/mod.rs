//! The `mpsoc` machine: StepNP, a chip of multithreaded processors behind a network (Paulin, Pilkington, Bensoudane, Langevin and Lyonnard, 2004).
//!
//! ```text
//! line -> packet I/O -> object request broker -> a thread of a processor -> packet I/O -> line
//!                                                   |  |
//!                                             objects  shared memory
//! ```
//!
//! All of these are nodes of one network on the chip. [`Machine`] holds the platform and its kernel; what the processors execute is a
//! [`Workload`]: a compiled program, or the synthetic load of the paper's section 5.4. [docs/machines/mpsoc.md] says what is modelled, and what is assumed.

mod any;
pub mod application;
pub mod broker;
mod caches;
mod carried;
pub mod code;
mod context;
pub mod element;
pub mod engine;
pub mod evaluation;
mod handover;
mod hardware;
mod io;
mod launch;
mod machine;
pub mod mpe;
pub mod objects;
mod own;
mod parcel;
pub mod partition;
mod pipeline;
mod platform;
mod processor;
pub mod program;
mod sampler;
pub mod services;
mod shared;
pub mod spec;
pub mod synthetic;
mod tickets;
mod toolchain;
mod turns;
mod workload;

pub use code::Code;
pub use context::Context;
pub use io::{Delivered, Order, Reason, Verdict};
pub use machine::{Failure, Latency, Machine, Options, Problem, RunError, Totals};
pub use objects::{Called, MethodInterface, NoObjects, ObjectInterface, Objects, PacketUse, Words};
pub use spec::Spec;
pub use toolchain::BuildError;
pub use workload::{Issued, Outcome, Port, Start, Workload};
