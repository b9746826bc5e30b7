//! The control side of live forwarding: what operators see and change while packets flow.
//!
//! ```text
//!   files ─> Built ──────────┐            ┌─ control socket ─ top, ctl
//!   kernel ─> Mirror ─┐      v            ├─ metrics ─ Prometheus
//!                     └> Forwarding <── Handle ─ SIGHUP, watchdog, intervals
//! ```
//!
//! One thread on each core forwards packets and does nothing else. Other threads send it jobs
//! through a [`Handle`](forwarding::Handle), which it serves between two batches. [`forward`]
//! starts all threads; [`Client`] is the other end of the control socket.
//!
//! On other systems than Linux this crate is empty.

#![cfg(target_os = "linux")]

mod budget;
mod capture;
mod client;
mod counts;
mod engine;
mod filter;
mod forwarding;
mod kernel_capture;
mod kernel_conditions;
mod limits;
pub mod logging;
mod metrics;
pub mod protocol;
mod reload;
mod server;
mod service;
mod status;
mod supervisor;
mod tables;

pub use capture::Point;
pub use client::Client;
pub use engine::Loaded;
pub use filter::Filter;
pub use limits::CpuRate;
pub use reload::Load;
pub use service::{Settings, Ticker, forward};
pub use status::{Called, Kernel, Memory, Offload, Policed, Reloaded, Status, Stepped};
pub use tracing;

use wireloom_machine::Result;

fn log_reload(reloaded: &Result<Reloaded>) {
    match reloaded {
        Ok(reloaded) => tracing::info!(
            program = reloaded.program,
            kept = reloaded.kept.join(","),
            lost = reloaded.lost.join(","),
            refused = reloaded.refused.join(","),
            needs_restart = reloaded.needs_restart.join(","),
            "reloaded"
        ),
        Err(error) => tracing::error!("not reloaded: {}", error.message),
    }
}
