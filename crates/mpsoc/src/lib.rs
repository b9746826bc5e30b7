//! The `mpsoc` machine: StepNP, a chip of multithreaded processors connected by a network (Paulin,
//! Pilkington, Bensoudane, Langevin and Lyonnard, 2004).
//!
//! ```text
//! line -> packet I/O -> object request broker -> a thread of a processor -> packet I/O -> line
//!                                                   |  |
//!                                             objects  shared memory
//! ```
//!
//! All of these are nodes of one network on the chip. [`Multiprocessor`] holds the platform and its
//! kernel. The processors execute a [`Workload`]: a compiled program, or the synthetic load of the
//! paper's section 5.4. [docs/machines/mpsoc.md] states the model and its assumptions.

mod any;
pub mod application;
pub mod broker;
mod caches;
mod call;
pub mod code;
mod context;
pub mod element;
pub mod energy;
pub mod engine;
pub mod evaluation;
mod finish;
mod handover;
mod hardware;
mod io;
mod kind;
mod launch;
mod local_memory;
mod machine;
pub mod mpe;
pub mod multiflex;
mod noc_payload;
pub mod objects;
mod one_way;
mod options;
mod order_gate;
mod packet_message;
pub mod partition;
mod platform;
mod problem;
mod processor;
pub mod program;
mod run;
mod sampler;
pub mod services;
mod shared;
mod sources;
pub mod spec;
pub mod synthetic;
mod tally;
mod tickets;
mod toolchain;
mod totals;
mod watch;
mod workload;

pub use code::Code;
pub use context::Context;
pub use io::{Delivered, IoSpec, Order, Reason, Verdict};
pub use kind::{KIND, for_threads};
pub use machine::{Latency, Multiprocessor, RunError, View};
pub use objects::{Called, MethodInterface, NoObjects, ObjectInterface, Objects, PacketUse, Words};
pub use options::Options;
pub use platform::CourseEvent;
pub use problem::{Failure, Problem};
pub use spec::Spec;
pub use toolchain::{BuildError, Optimisation};
pub use totals::Totals;
pub use workload::{Issued, Outcome, Port, Start, Workload};
