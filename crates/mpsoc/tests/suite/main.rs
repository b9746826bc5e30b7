//! The integration tests of this crate, in one program, since each program takes long to link.

mod applications;
mod descriptions;
mod elements;
mod energy;
mod engine;
mod mpsoc;
mod order;
mod programs;
mod random;
mod runtime_headers;
mod services;
mod support;
mod timers;
mod updates;
mod whole_packets;
