//! The integration tests of this crate, in one program, since each program takes long to link.

mod engine;
mod filetests;
mod folder;
mod formal;
mod hardware;
mod lookup;
mod pages;
mod pipelined;
mod templates;
mod updates;
