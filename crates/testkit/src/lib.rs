//! Common parts of tests: packets in a text notation, and packet tests on any machine.

pub mod notation;
mod packet_file;
mod tester;

pub use packet_file::{Action, ActionKind, Expected, TestFile};
pub use tester::Tester;
