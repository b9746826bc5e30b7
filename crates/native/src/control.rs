//! A control plane in another thread changes the offloads.
//!
//! Tables with a [`writer`](wireloom_offloads::Instance::writer) can be looked up while they
//! change, so the calling thread changes them itself. All other changes wait in a queue, and the
//! machine makes them between two batches. An entry may name an earlier one, so changes keep their
//! order: a change that the calling thread can make waits first for the queue to become empty. It
//! joins the queue if the machine has no packets at present.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use wireloom_offloads::{Refused, Store, TableWriter, Update};

/// Limit on the changes that wait for a machine.
const MOST_WAITING: usize = 4096;

/// The time that a change waits for earlier ones. A busy machine makes them within some 1,000
/// packets.
const PATIENCE: Duration = Duration::from_millis(1);
/// For this time a change polls and does not sleep. A busy machine needs less time than a thread
/// needs to wake up.
const SOON: Duration = Duration::from_micros(100);
/// The sleep between two polls after that.
const REST: Duration = Duration::from_micros(20);

/// A handle with which other threads change the offloads of a machine while packets flow. Changes
/// are made in order, and no packet sees a change in part.
#[derive(Clone)]
pub struct Control {
    changes: SyncSender<Update>,
    shared: Arc<Shared>,
}

/// Why a change was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// 4096 changes are waiting: the machine has had no packets for some time.
    Full(Box<Update>),
    /// The machine is gone.
    Gone(Box<Update>),
}

/// The state that the machine and all handles share.
#[derive(Default)]
struct Shared {
    writers: Mutex<Writers>,
    /// The number of changes that have joined the queue so far.
    asked: AtomicU64,
    /// The number of queued changes that the machine has made.
    made: AtomicU64,
    /// Whether the last change that waited for the queue has timed out.
    is_at_rest: AtomicBool,
    refused: Mutex<Vec<(Update, Refused)>>,
}

#[derive(Default)]
struct Writers {
    /// The tables that callers change, by the path of the offload. Empty while only the machine may
    /// change tables.
    tables: HashMap<String, Box<dyn TableWriter>>,
    /// The table whose last change packets may not see yet.
    unseen: Option<String>,
}

impl Writers {
    /// Whether packets see all changes that callers have made.
    fn are_seen(&mut self) -> bool {
        let table = self.unseen.as_ref().and_then(|path| self.tables.get_mut(path));
        let are_seen = table.is_none_or(|table| table.is_seen());
        if are_seen {
            self.unseen = None;
        }
        are_seen
    }
}

/// The machine's end of the queue.
pub(crate) struct Controlled {
    control: Control,
    changes: Receiver<Update>,
    /// Whether the handles have the writers of the machine's tables.
    is_open: bool,
}

impl Control {
    /// Makes a change, or queues it. If 4096 changes are waiting, this waits until the machine has
    /// made some. Packets that are offered after the call see the change.
    ///
    /// # Errors
    /// If the machine is gone. The error holds the change.
    pub fn change(&self, update: Update) -> Result<(), NotTaken> {
        let Some(update) = self.shared.make(update) else { return Ok(()) };
        self.changes.send(update).map_err(|error| {
            self.shared.made.fetch_add(1, Ordering::Release);
            NotTaken::Gone(Box::new(error.0))
        })
    }

    /// Makes or queues a change like [`change`](Self::change), but does not wait if the queue is
    /// full.
    ///
    /// # Errors
    /// If the queue is full, or the machine is gone. The error holds the change.
    pub fn try_change(&self, update: Update) -> Result<(), NotTaken> {
        let Some(update) = self.shared.make(update) else { return Ok(()) };
        self.changes.try_send(update).map_err(|error| {
            self.shared.made.fetch_add(1, Ordering::Release);
            match error {
                TrySendError::Full(update) => NotTaken::Full(Box::new(update)),
                TrySendError::Disconnected(update) => NotTaken::Gone(Box::new(update)),
            }
        })
    }

    /// Returns the changes that offloads have refused since the last call, with the reasons.
    pub fn refused(&self) -> Vec<(Update, Refused)> {
        std::mem::take(&mut *locked(&self.shared.refused))
    }
}

impl Shared {
    /// Makes a change, if the caller's thread can. Otherwise counts it as queued and returns it.
    fn make(&self, update: Update) -> Option<Update> {
        let begin = Instant::now();
        loop {
            let mut writers = locked(&self.writers);
            let is_ready = self.made.load(Ordering::Acquire) == self.asked.load(Ordering::Acquire)
                && writers.are_seen();
            let Some(table) = writers.tables.get_mut(&update.offload) else { break };
            if is_ready {
                self.is_at_rest.store(false, Ordering::Relaxed);
                match table.change(&update.key, update.value.as_ref()) {
                    Ok(true) => {
                        writers.unseen = (!table.is_seen()).then_some(update.offload);
                        return None;
                    }
                    Ok(false) => break,
                    Err(refused) => {
                        locked(&self.refused).push((update, refused));
                        return None;
                    }
                }
            }
            // After one timed-out wait, later waits return at once.
            if self.is_at_rest.load(Ordering::Relaxed) || begin.elapsed() > PATIENCE {
                self.is_at_rest.store(true, Ordering::Relaxed);
                break;
            }
            drop(writers);
            if begin.elapsed() < SOON {
                std::hint::spin_loop();
            } else {
                thread::sleep(REST);
            }
        }
        self.asked.fetch_add(1, Ordering::AcqRel);
        Some(update)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The contents are valid even if a change panicked.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Controlled {
    pub(crate) fn new() -> Self {
        let (sender, changes) = sync_channel(MOST_WAITING);
        let control = Control { changes: sender, shared: Arc::default() };
        Self { control, changes, is_open: false }
    }

    /// Returns a handle for changes of these offloads.
    pub(crate) fn control(&mut self, store: &Store) -> Control {
        self.open(store);
        self.control.clone()
    }

    /// Makes the changes that wait. Lets the handles make others while packets flow.
    pub(crate) fn apply(&mut self, store: &mut Store) {
        let mut made = 0;
        for update in self.changes.try_iter().take(MOST_WAITING) {
            if let Err(refused) = update.apply(store) {
                locked(&self.control.shared.refused).push((update, refused));
            }
            made += 1;
        }
        if made > 0 {
            self.control.shared.made.fetch_add(made, Ordering::Release);
        }
        if !self.is_open && Arc::strong_count(&self.control.shared) > 1 {
            self.open(store);
        }
    }

    fn open(&mut self, store: &Store) {
        if !std::mem::replace(&mut self.is_open, true) {
            let tables = store.writers();
            *locked(&self.control.shared.writers) = Writers { tables, unseen: None };
        }
    }

    /// Takes the tables from the handles until the next changes are applied. Changes in progress
    /// are complete on return, and later ones join the queue.
    pub(crate) fn close(&mut self) {
        if std::mem::take(&mut self.is_open) {
            *locked(&self.control.shared.writers) = Writers::default();
        }
    }
}

impl Drop for Controlled {
    fn drop(&mut self) {
        self.close();
    }
}
