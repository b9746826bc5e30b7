//! The `np` machine: network processors in SystemVerilog from engines, templates (`hardware/`) and
//! machine descriptions.

pub mod area;
pub mod control;
pub mod description;
mod held;
pub mod machine;
pub mod processor;
pub mod realisation;
pub mod simulation;

pub use machine::KIND;
