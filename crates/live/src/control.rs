//! Table updates from another thread, and the descriptors that wake the cores for them.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Weak};

use wireloom_machine::{Error, Result};
use wireloom_offloads::Update;

/// Batches of updates that wait for a core; who sends more waits. So a core that is busy costs no
/// memory, and what is in use when a batch is sent shows nearly all that batches before it cost.
pub const WAITING: usize = 2;

/// A core's end: updates in the order in which they were sent.
pub struct Control {
    updates: Receiver<Vec<Update>>,
    waiting: std::vec::IntoIter<Update>,
    /// Whether the last update of a batch was handed out, and is applied when the next is asked for.
    is_last: bool,
    /// Tells that; nobody waits for a single core.
    applied: Option<Sender<()>>,
    awake: UnixStream,
    /// Whether something has been written to `awake`: asking costs no system call.
    woken: Arc<AtomicBool>,
    /// Dropped with this end, which tells the other one.
    _open: Arc<()>,
}

/// The other thread's end.
pub struct Sending {
    cores: Vec<Core>,
    /// The offloads whose entries the first core changes for all.
    of_all_cores: BTreeSet<String>,
    applied: Receiver<()>,
    open: Weak<()>,
}

/// The way to a core.
struct Core {
    updates: SyncSender<Vec<Update>>,
    wake: UnixStream,
    woken: Arc<AtomicBool>,
}

/// Creates both ends for so many cores. The first core changes these offloads for all of them.
///
/// # Errors
/// If the kernel refuses a socket.
pub fn channel(cores: usize, of_all_cores: BTreeSet<String>) -> Result<(Sending, Vec<Control>)> {
    let failed = |error| Error::new(format!("a pair of sockets: {error}"));
    let (tell, applied) = mpsc::channel();
    let open = Arc::new(());
    let (ways, weak) = (Vec::new(), Arc::downgrade(&open));
    let mut sending = Sending { cores: ways, of_all_cores, applied, open: weak };
    let mut controls = Vec::new();
    for _ in 0..cores {
        let (wake, awake) = UnixStream::pair().map_err(failed)?;
        wake.set_nonblocking(true).map_err(failed)?;
        awake.set_nonblocking(true).map_err(failed)?;
        let (sender, updates) = mpsc::sync_channel(WAITING);
        let woken = Arc::new(AtomicBool::new(false));
        controls.push(Control {
            updates,
            waiting: Vec::new().into_iter(),
            is_last: false,
            applied: (cores > 1).then(|| tell.clone()),
            awake,
            woken: Arc::clone(&woken),
            _open: Arc::clone(&open),
        });
        sending.cores.push(Core { updates: sender, wake, woken });
    }
    Ok((sending, controls))
}

impl Sending {
    /// Whether the cores' ends are gone.
    pub fn is_closed(&self) -> bool {
        self.open.strong_count() == 0
    }

    /// Sends updates. Returns false if forwarding has ended.
    ///
    /// Entries may name other ones, which are changed before. Therefore, if there are several cores,
    /// each change of shared entries waits until all cores have made the changes before it, and the
    /// other way round.
    pub fn send(&mut self, updates: Vec<Update>) -> bool {
        if let [core] = &mut self.cores[..] {
            return core.send(updates);
        }
        let is_shared = |update: &Update| self.of_all_cores.contains(&update.offload);
        for run in updates.chunk_by(|a, b| is_shared(a) == is_shared(b)) {
            let all = self.cores.len();
            let cores = if is_shared(&run[0]) { 1 } else { all };
            if !self.cores[..cores].iter_mut().all(|core| core.send(run.to_vec()))
                || !(0..cores).all(|_| self.applied.recv().is_ok())
            {
                return false;
            }
        }
        true
    }
}

impl Core {
    fn send(&mut self, updates: Vec<Update>) -> bool {
        let sent = self.updates.send(updates).is_ok();
        // If the buffer is full, the core has not yet seen an earlier wake-up.
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

    /// Returns the next update, if there is one. The one before must have been applied.
    pub(crate) fn next(&mut self) -> Option<Update> {
        if std::mem::take(&mut self.is_last)
            && let Some(applied) = &self.applied
        {
            // If the other end is gone, nobody waits.
            let _ = applied.send(());
        }
        loop {
            if let Some(update) = self.waiting.next() {
                self.is_last = self.waiting.len() == 0;
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
        let (mut sending, mut controls) = channel(1, BTreeSet::new()).expect("both ends");
        let mut control = controls.pop().expect("one core's");
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

    #[test]
    fn cores_change_shared_entries_once_and_never_before_the_others_are_ready() {
        let shared = BTreeSet::from(["routes".to_owned()]);
        let (mut sending, controls) = channel(3, shared).expect("both ends");
        // Per core, hops that it has changed, and routes that the first one has changed for all.
        let state = std::sync::Mutex::new(([0u64; 3], 0u64));
        std::thread::scope(|scope| {
            for (core, mut control) in controls.into_iter().enumerate() {
                let state = &state;
                scope.spawn(move || {
                    loop {
                        let Some(update) = control.next() else {
                            if state.lock().expect("no panic").1 == 100 {
                                break;
                            }
                            std::thread::yield_now();
                            continue;
                        };
                        let (hops, routes) = &mut *state.lock().expect("no panic");
                        if update.offload == "routes" {
                            assert_eq!(core, 0, "one core changes what all share");
                            *routes = update.packet;
                            assert_eq!(*hops, [update.packet; 3], "hops are there before routes");
                        } else {
                            hops[core] = update.packet;
                            assert_eq!(*routes + 1, update.packet, "routes are there before hops");
                        }
                    }
                });
            }
            for number in 1..=100 {
                let update = |offload: &str| Update { offload: offload.into(), ..update(number) };
                assert!(sending.send(vec![update("hops"), update("routes")]));
            }
        });
        assert!(sending.is_closed() && !sending.send(vec![update(0)]));
    }

    fn update(packet: u64) -> Update {
        let key = EntryKey::Index(packet);
        Update { packet, offload: "table".into(), key, value: None, line: 1 }
    }
}
