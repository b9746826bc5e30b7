//! Differential fuzzing: random well-typed engines on random packets, run in every way that must
//! agree.
//!
//! [`generate`] makes programs, [`input`] tables and packets for them, [`compare`] runs both on the
//! golden model before and after optimisation and as native code, [`shrink`] reduces failures,
//! [`regression`] keeps them as tests.

pub mod campaign;
pub mod compare;
pub mod generate;
pub mod input;
pub mod regression;
pub mod shrink;
pub mod tree;
