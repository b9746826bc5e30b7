//! The integration tests of this crate, in one program, since each program takes long to link.

mod changes;
mod compiled;
mod disassembly;
mod microengine;
mod random_programs;
mod raw;
mod tile;
