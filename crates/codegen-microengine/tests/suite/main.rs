//! The integration tests of this crate, in one program, since each program takes long to link.

mod filetests;
