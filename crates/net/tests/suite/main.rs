//! The integration tests of this crate, in one program, since each program takes long to link.

mod capture_read;
mod capture_real;
mod common;
mod dissect;
mod kernel;
mod tables;
mod traffic;
