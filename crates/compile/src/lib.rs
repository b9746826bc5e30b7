//! Lowers the checked program to step IR, and defines the passes over it.

pub mod analysis;
mod deep;
mod eval;
pub mod explain;
pub mod lower;
pub mod names;
pub mod passes;
pub mod pipeline;
pub mod share;
pub mod size;
pub mod specialise;

pub use explain::svg;
pub use lower::lower;
