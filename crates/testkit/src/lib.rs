//! Common parts of tests: packets in a text notation, packet tests on any machine, tests whose
//! expectation stands in the input file, and golden's counts.

mod counting;
pub mod filetest;
mod mismatch;
pub mod notation;
mod packet_file;
mod state;
mod tester;

pub use counting::counts_of_golden;
pub use mismatch::Mismatch;
pub use packet_file::{Action, ActionKind, Expected, TestFile};
pub use tester::Tester;
