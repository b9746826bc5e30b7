//! The integration tests of this crate, in one program, since each program takes long to link.

mod diagnostics;
mod figure2;
mod filetests;
mod fuzz;
mod language;
