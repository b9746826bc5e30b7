//! Notifications to a service manager (sd_notify(3)). Without a manager nothing happens.

use std::thread;

use sd_notify::NotifyState;
use wireloom_machine::{Error, Result};

use crate::forwarding::Handle;

fn tell(states: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(states) {
        tracing::warn!(%error, "the service manager cannot be told");
    }
}

/// Reports that packets are forwarded. From then on it reports that the forwarding thread is alive,
/// twice in each interval that the manager asks for. A thread that hangs sends no report.
///
/// # Errors
/// If the system refuses a thread.
pub fn ready(handle: Handle, status: &str) -> Result {
    tell(&[NotifyState::Ready, NotifyState::Status(status)]);
    let Some(interval) = sd_notify::watchdog_enabled() else { return Ok(()) };
    let watch = move || {
        while handle.ask(|_| ()).is_ok() {
            tell(&[NotifyState::Watchdog]);
            thread::sleep(interval / 2);
        }
    };
    let failed = |error| Error::new(format!("a thread for the watchdog: {error}"));
    thread::Builder::new().name("watchdog".into()).spawn(watch).map_err(failed)?;
    Ok(())
}

/// Reports that forwarding ends.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}
