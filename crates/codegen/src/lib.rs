//! Code generators: step IR to the languages of the targets.
//!
//! [`c`] writes C for batches on the host and for single threads of 32-bit processors; [`hardware`]
//! writes SystemVerilog; [`microengine`] writes microcode; [`tile`] writes programs of tiles. All
//! depend only on step IR, and not on the timing of any machine.

pub mod c;
mod facts;
mod files;
pub mod hardware;
pub mod microengine;
mod refused;
pub mod tile;
