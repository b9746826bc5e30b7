//! The integration tests of this crate, in one program, since each program takes long to link.

mod analyses;
mod explain;
mod filetests;
#[path = "../../../ir/tests/suite/support/mod.rs"]
mod generate;
mod meaning;
mod passes;
mod random;
mod share;
mod storage;
mod support;
mod whole;
