//! Engines as programs of the chip's processors.
//!
//! [`build()`] compiles the C that `wireloom_native::thread` writes; [`marshal`] says how packets and calls look to a thread;
//! [`Functional`] executes a program with everything else done at once: it knows no time, and is held to the golden model like
//! every machine.

mod build;
mod functional;
pub mod marshal;
mod memory;
mod profile;

pub use build::{BuildOptions, Built, build};
pub use functional::Functional;
pub use profile::{Count, Profile};
pub use wireloom_native::thread::{Elements, PARTS, Partition};
