//! Step IR to SystemVerilog: engine cores, pipelines of called engines, and the images of the
//! tables that they read.

pub mod core;
pub mod engine;
pub mod pipelined;
pub mod sv;
pub mod tables;
