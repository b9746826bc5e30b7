//! Step IR to SystemVerilog: network processors from engines, templates (`hardware/`) and machine descriptions.

pub mod area;
pub mod core;
pub mod engine;
pub mod machine;
pub mod np;
pub mod pipelined;
pub mod sim;
pub mod sv;
pub mod tables;
pub mod tools;
