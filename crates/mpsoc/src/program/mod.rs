//! Engines as programs of the chip's processors.
//!
//! [`build()`] compiles the C that `wireloom_codegen_c::thread` writes. [`marshal`] defines the
//! representation of packets and calls in a thread. [`Functional`] executes a program with
//! immediate replies. It is untimed, and is compared with the golden model like every machine.

mod build;
mod functional;
pub mod marshal;
mod memory;
mod profile;

pub(super) use build::ENGINE_SOURCE;
pub use build::{BuildOptions, Built, build};
pub use functional::Functional;
pub use profile::{Count, Profile};
pub use wireloom_codegen_c::thread::{Elements, PARTS, Partition};
