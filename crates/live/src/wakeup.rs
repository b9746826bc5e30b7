//! Interrupts forwarding so that its thread can do other work between two batches.

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use wireloom_machine::{Error, Result};

/// The forwarding thread's end of the pair.
pub struct Attention {
    asked: UnixStream,
}

/// The end that other threads ring. It can be cloned.
#[derive(Clone)]
pub struct Bell {
    asks: Arc<UnixStream>,
}

impl Attention {
    /// Creates both ends.
    ///
    /// # Errors
    /// If the kernel refuses a socket.
    pub fn new() -> Result<(Bell, Self)> {
        let failed = |error| Error::new(format!("a pair of sockets: {error}"));
        let (asks, asked) = UnixStream::pair().map_err(failed)?;
        asks.set_nonblocking(true).map_err(failed)?;
        asked.set_nonblocking(true).map_err(failed)?;
        Ok((Bell { asks: Arc::new(asks) }, Self { asked }))
    }

    pub(crate) fn descriptor(&self) -> RawFd {
        self.asked.as_raw_fd()
    }

    /// Clears all earlier rings. Look for work after this call, not before it: a later ring then
    /// stays visible.
    pub fn clear(&mut self) {
        let mut seen = [0; 64];
        while matches!(self.asked.read(&mut seen), Ok(length) if length > 0) {}
    }
}

impl Bell {
    /// Rings: asks the forwarding thread for attention.
    pub fn ring(&self) {
        // If the buffer is full, the forwarder has not yet seen an earlier ring.
        let _ = (&*self.asks).write(&[1]);
    }
}
