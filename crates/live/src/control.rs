//! Table updates from another thread, and the descriptors that wake the cores for them. That thread
//! itself changes the tables that allow lookups during a change, so that packets do not wait.

use std::collections::{BTreeSet, HashMap};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use wireloom_machine::{Error, Result};
use wireloom_offloads::{TableWriter, Update};

/// Update batches that may wait for a core; then the sender waits. So a busy core costs no memory,
/// and the memory in use when a batch is sent includes nearly all of the earlier batches.
pub const WAITING: usize = 2;

/// Interval at which the sender polls whether packets see a change.
const REST: Duration = Duration::from_micros(20);

/// A core's end: it receives updates in the order in which they were sent.
pub struct Control {
    updates: Receiver<Vec<Update>>,
    waiting: std::vec::IntoIter<Update>,
    /// Whether the last update of a batch was handed out. It is applied by the time the next one is
    /// asked for.
    is_last: bool,
    /// Reports each applied batch.
    applied: Sender<()>,
    awake: UnixStream,
    /// Whether `awake` has data. Reading this flag costs no system call.
    woken: Arc<AtomicBool>,
    /// Dropped with this end. The other end detects that.
    _open: Arc<()>,
}

/// The sending thread's end.
pub struct Sending {
    cores: Vec<Core>,
    /// Offloads shared by all cores. The first core changes their entries.
    of_all_cores: BTreeSet<String>,
    /// Tables that this end changes itself.
    writers: HashMap<String, Box<dyn TableWriter>>,
    /// Batches that no core has reported as applied.
    pending: usize,
    applied: Receiver<()>,
    open: Weak<()>,
}

/// Where an entry is changed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the sending thread.
    Here,
    /// On the first core, for all cores.
    First,
    /// On each core.
    Each,
}

/// The channel to a core.
struct Core {
    updates: SyncSender<Vec<Update>>,
    wake: UnixStream,
    woken: Arc<AtomicBool>,
}

/// Creates both ends for `cores` cores. The first core changes the offloads `of_all_cores` for all
/// of them. The sending end changes those with a writer.
///
/// # Errors
/// If the kernel refuses a socket.
pub fn channel(
    cores: usize,
    of_all_cores: BTreeSet<String>,
    writers: HashMap<String, Box<dyn TableWriter>>,
) -> Result<(Sending, Vec<Control>)> {
    let failed = |error| Error::new(format!("a pair of sockets: {error}"));
    let (tell, applied) = mpsc::channel();
    let open = Arc::new(());
    let (ways, weak) = (Vec::new(), Arc::downgrade(&open));
    let mut sending =
        Sending { cores: ways, of_all_cores, writers, pending: 0, applied, open: weak };
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
            applied: tell.clone(),
            awake,
            woken: Arc::clone(&woken),
            _open: Arc::clone(&open),
        });
        sending.cores.push(Core { updates: sender, wake, woken });
    }
    Ok((sending, controls))
}

impl Sending {
    /// Returns whether all of the cores' ends are gone.
    pub fn is_closed(&self) -> bool {
        self.open.strong_count() == 0
    }

    /// Returns a descriptor whose peer is closed with the cores' ends.
    pub fn descriptor(&self) -> RawFd {
        self.cores.first().map_or(-1, |core| core.wake.as_raw_fd())
    }

    /// Applies updates or sends them. Returns false if forwarding has ended.
    ///
    /// An entry may refer to entries that were changed before it. Therefore a change in one place
    /// waits until the changes before it have been applied in the others.
    pub fn send(&mut self, updates: Vec<Update>) -> bool {
        // A single core keeps the order of updates.
        if self.cores.len() == 1 && self.writers.is_empty() {
            return self.send_to(1, &updates);
        }
        let place = |update: &Update| match &update.offload {
            path if self.writers.contains_key(path) => Place::Here,
            path if self.of_all_cores.contains(path) || self.cores.len() == 1 => Place::First,
            _ => Place::Each,
        };
        let runs = updates.chunk_by(|a, b| place(a) == place(b));
        let runs: Vec<_> = runs.map(|run| (place(&run[0]), run)).collect();
        runs.into_iter().all(|(place, run)| match place {
            Place::Here => self.make(run),
            Place::First => self.send_to(1, run),
            Place::Each => self.send_to(self.cores.len(), run),
        })
    }

    fn make(&mut self, updates: &[Update]) -> bool {
        self.settle() && updates.iter().all(|update| self.make_one(update))
    }

    fn make_one(&mut self, update: &Update) -> bool {
        if let Some(table) = self.writers.get_mut(&update.offload)
            && matches!(table.change(&update.key, update.value.as_ref()), Ok(true))
        {
            // Waits at most until the cores have finished their present packets.
            while !table.is_seen() {
                if self.open.strong_count() == 0 {
                    return false;
                }
                thread::sleep(REST);
            }
            return true;
        }
        // The core applies changes that packets must not see yet. It also reports why it cannot
        // apply one.
        self.send_to(1, std::slice::from_ref(update)) && self.settle()
    }

    fn send_to(&mut self, cores: usize, updates: &[Update]) -> bool {
        self.pending -= self.applied.try_iter().count();
        for core in &mut self.cores[..cores] {
            if !core.send(updates.to_vec()) {
                return false;
            }
            self.pending += 1;
        }
        self.cores.len() == 1 || self.settle()
    }

    /// Waits until the cores have applied all updates that were sent. Returns false if they are
    /// gone.
    fn settle(&mut self) -> bool {
        while self.pending > 0 {
            if self.applied.recv().is_err() {
                return false;
            }
            self.pending -= 1;
        }
        true
    }
}

impl Core {
    fn send(&mut self, updates: Vec<Update>) -> bool {
        let sent = self.updates.send(updates).is_ok();
        // If the buffer is full, the core has not yet seen an earlier wake-up.
        let _ = self.wake.write(&[1]);
        // Store after the write: the flag promises data to read.
        self.woken.store(true, Ordering::Release);
        sent
    }
}

impl Control {
    pub(crate) fn descriptor(&self) -> RawFd {
        self.awake.as_raw_fd()
    }

    /// Returns the next update, if there is one. The caller must have applied the previous one.
    pub(crate) fn next(&mut self) -> Option<Update> {
        if std::mem::take(&mut self.is_last) {
            // If the other end is gone, no thread waits for this.
            let _ = self.applied.send(());
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
    use std::sync::Mutex;

    use wireloom_bits::Bits;
    use wireloom_offloads::{EntryKey, Refused};

    use super::*;

    #[test]
    fn updates_come_in_order_and_leave_the_descriptor_silent() {
        let (mut sending, mut controls) =
            channel(1, BTreeSet::new(), HashMap::new()).expect("both ends");
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
        let (mut sending, controls) = channel(3, shared, HashMap::new()).expect("both ends");
        // For each core the hops that it has changed; and the routes that the first core has
        // changed for all.
        let state = Mutex::new(([0u64; 3], 0u64));
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

    /// A table that records its changes and refuses values above 1000.
    struct Noting(Arc<Mutex<Vec<u64>>>);

    impl TableWriter for Noting {
        fn change(
            &mut self,
            key: &EntryKey,
            _: Option<&Bits>,
        ) -> std::result::Result<bool, Refused> {
            let EntryKey::Index(number) = *key else { unreachable!("an index") };
            if number % 10 == 9 {
                return Ok(false);
            }
            if number > 1000 {
                return Err(Refused("too large".into()));
            }
            self.0.lock().expect("no panic").push(number);
            Ok(true)
        }

        fn is_seen(&mut self) -> bool {
            true
        }
    }

    #[test]
    fn the_sending_end_changes_its_tables_in_the_order_of_all_updates() {
        for cores in [1, 2] {
            let made: Arc<Mutex<Vec<u64>>> = Arc::default();
            let writer: Box<dyn TableWriter> = Box::new(Noting(Arc::clone(&made)));
            let shared = BTreeSet::from(["routes".to_owned()]);
            let writers = HashMap::from([("routes".to_owned(), writer)]);
            let (mut sending, controls) = channel(cores, shared, writers).expect("both ends");
            std::thread::scope(|scope| {
                for (core, mut control) in controls.into_iter().enumerate() {
                    let made = &made;
                    scope.spawn(move || {
                        let mut last = 0;
                        while last != u64::MAX {
                            let Some(update) = control.next() else {
                                std::thread::yield_now();
                                continue;
                            };
                            last = update.packet;
                            let is_route = update.offload == "routes";
                            assert!(core == 0 || !is_route, "one core makes what no writer may");
                            // One core records for all.
                            if core == 0 && last != u64::MAX {
                                made.lock().expect("no panic").push(last);
                            }
                        }
                        // This call reports the last update as applied.
                        assert!(control.next().is_none());
                    });
                }
                let mut updates: Vec<Update> = (1..=1010).map(update).collect();
                updates.iter_mut().filter(|u| u.packet % 5 != 0).for_each(|update| {
                    update.offload = "routes".into();
                });
                assert!(updates.chunks(7).all(|updates| sending.send(updates.to_vec())));
                assert!(sending.send(vec![update(u64::MAX)]));
            });
            assert_eq!(*made.lock().expect("no panic"), (1..=1010).collect::<Vec<u64>>());
            assert!(sending.is_closed());
        }
    }

    fn update(packet: u64) -> Update {
        let key = EntryKey::Index(packet);
        Update { packet, offload: "table".into(), key, value: None, line: 1 }
    }
}
