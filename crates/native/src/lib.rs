//! The native machine: an engine as C, compiled by the system's compiler, and the runtime that
//! feeds it packets.
//!
//! `wireloom_codegen_c` writes the C, [`Library`] builds and loads it, and [`Native`] executes
//! packets with it. Results equal the golden model's, packet for packet. See
//! docs/machines/native.md.

mod abi;
mod control;
mod host;
mod library;
mod machine;
mod native;
mod special;

pub use control::{Control, NotTaken};
pub use library::{BuildError, BuildOptions, Library};
pub use machine::KIND;
pub use native::{Native, absorb, in_any_order};
pub use special::{Specialisation, SpecialisationListener};
