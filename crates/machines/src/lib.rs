//! Simulated machines on the kernel and the parts of `wireloom-sim`.

pub mod mpsoc;
pub mod multiflex;
