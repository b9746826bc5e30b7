//! Ends forwarding in order on SIGINT and SIGTERM.

use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;

use signal_hook::consts::{SIGINT, SIGTERM};
use wireloom_files::signals;
use wireloom_machine::{Error, Result};

/// A descriptor that becomes readable when a signal asks the process to end.
pub struct Stop {
    asked: UnixStream,
}

impl Stop {
    /// Handles the signals from now on.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn on_signals() -> Result<Self> {
        let asked = signals([SIGINT, SIGTERM]);
        let asked =
            asked.map_err(|error| Error::new(format!("signals cannot be handled: {error}")))?;
        Ok(Self { asked })
    }

    /// Returns whether a signal has arrived.
    pub fn is_asked(&self) -> bool {
        let mut polled = libc::pollfd { fd: self.descriptor(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor, as counted.
        unsafe { libc::poll(&raw mut polled, 1, 0) > 0 }
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.asked.as_raw_fd()
    }
}
