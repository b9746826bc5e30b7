//! Table updates from another thread, and the descriptor that wakes the forwarder for them.

use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Weak};

use wireloom_machine::{Error, Result};
use wireloom_offloads::Update;

/// The forwarder's end: updates in the order in which they were sent.
pub struct Control {
    updates: Receiver<Vec<Update>>,
    waiting: std::vec::IntoIter<Update>,
    awake: UnixStream,
    /// Whether something has been written to `awake`: asking costs no system call.
    woken: Arc<AtomicBool>,
    /// Dropped with this end, which tells the other one.
    _open: Arc<()>,
}

/// The other thread's end.
pub struct Sending {
    updates: Sender<Vec<Update>>,
    wake: UnixStream,
    woken: Arc<AtomicBool>,
    open: Weak<()>,
}

/// Creates both ends.
///
/// # Errors
/// If the kernel refuses a socket.
pub fn pair() -> Result<(Sending, Control)> {
    let failed = |error| Error::new(format!("a pair of sockets: {error}"));
    let (wake, awake) = UnixStream::pair().map_err(failed)?;
    wake.set_nonblocking(true).map_err(failed)?;
    awake.set_nonblocking(true).map_err(failed)?;
    let (sender, updates) = mpsc::channel();
    let waiting = Vec::new().into_iter();
    let open_here = Arc::new(());
    let open = Arc::downgrade(&open_here);
    let woken = Arc::new(AtomicBool::new(false));
    let control = Control { updates, waiting, awake, woken: Arc::clone(&woken), _open: open_here };
    Ok((Sending { updates: sender, wake, woken, open }, control))
}

impl Sending {
    /// Whether the forwarder's end is gone.
    pub fn is_closed(&self) -> bool {
        self.open.strong_count() == 0
    }

    /// Sends updates. Returns false if the forwarder has ended.
    pub fn send(&mut self, updates: Vec<Update>) -> bool {
        let sent = self.updates.send(updates).is_ok();
        // If the buffer is full, the forwarder has not yet seen an earlier wake-up.
        let _ = self.wake.write(&[1]);
        // After the write: what it says must be there to be read.
        self.woken.store(true, Ordering::Release);
        sent
    }
}

impl Control {
    pub(crate) fn descriptor(&self) -> RawFd {
        self.awake.as_raw_fd()
    }

    /// Returns the next update, if there is one.
    pub(crate) fn next(&mut self) -> Option<Update> {
        loop {
            if let Some(update) = self.waiting.next() {
                return Some(update);
            }
            if self.woken.load(Ordering::Relaxed) && self.woken.swap(false, Ordering::Acquire) {
                let mut seen = [0; 64];
                while matches!(self.awake.read(&mut seen), Ok(length) if length > 0) {}
            }
            self.waiting = self.updates.try_recv().ok()?.into_iter();
        }
    }
}

#[cfg(test)]
mod tests {
    use wireloom_offloads::EntryKey;

    use super::*;

    #[test]
    fn updates_come_in_order_and_leave_the_descriptor_silent() {
        let (mut sending, mut control) = pair().expect("a pair");
        assert!(control.next().is_none());
        for round in 0..3 {
            for _ in 0..round {
                assert!(sending.send(vec![update(0), update(1)]));
            }
            let taken: Vec<u64> = std::iter::from_fn(|| control.next()).map(|u| u.packet).collect();
            assert_eq!(taken, [0, 1].repeat(round));
            assert!(control.awake.read(&mut [0]).is_err(), "nothing is left to be read");
        }
        drop(control);
        assert!(sending.is_closed());
    }

    fn update(packet: u64) -> Update {
        let key = EntryKey::Index(packet);
        Update { packet, offload: "table".into(), key, value: None, line: 1 }
    }
}
