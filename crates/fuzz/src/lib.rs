//! Differential fuzzing: random well-typed engines process random packets in every way whose
//! results must agree.
//!
//! [`generate`] makes programs, and [`input`] makes tables and packets for them. [`compare`] runs
//! both on the golden model before and after optimisation and as native code; with [`calls`] it
//! also checks what hardware relies on. [`shrink`] reduces failures, and [`regression`] saves them
//! as tests. [`crash`] prints the seed of a program that crashes.

pub mod calls;
pub mod campaign;
pub mod compare;
pub mod crash;
pub mod generate;
pub mod input;
pub mod regression;
pub mod shrink;
pub mod tree;
