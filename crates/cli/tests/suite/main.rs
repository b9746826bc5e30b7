//! The integration tests of this crate, in one program, since each program takes long to link.

mod alone;
mod command;
mod docs;
#[cfg(target_os = "linux")]
mod echo;
mod linux;
mod live;
mod monitor;
#[cfg(target_os = "linux")]
mod network;
mod np;
mod operate;
#[cfg(target_os = "linux")]
mod patience;
mod wire;
mod workplace;
