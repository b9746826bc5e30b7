//! Differential fuzzing: random well-typed engines process random packets in every way whose
//! results must agree.
//!
//! [`generate`] makes programs, [`input`] makes tables and packets for them, [`compare`] runs both
//! on the golden model before and after optimisation and as native code, and with [`calls`] what
//! hardware relies on; [`shrink`] reduces failures, and [`regression`] saves them as tests. [`crash`]
//! names the program of a crash.

pub mod calls;
pub mod campaign;
pub mod compare;
pub mod crash;
pub mod generate;
pub mod input;
pub mod regression;
pub mod shrink;
pub mod tree;
