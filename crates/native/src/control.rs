//! Changes of the offloads by a control plane in another thread.

use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use wireloom_offloads::{Refused, Store, Update};

/// The most changes that wait for a machine.
const MOST_WAITING: usize = 4096;

/// A handle with which other threads change the offloads of a machine while packets flow. The
/// machine makes the changes, in their order, between two batches: no packet sees a part of one.
#[derive(Clone)]
pub struct Control {
    changes: SyncSender<Update>,
    refused: Arc<Mutex<Vec<(Update, Refused)>>>,
}

/// Why a change was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotTaken {
    /// 4096 changes wait already: the machine has had no packets for some time.
    Full(Box<Update>),
    /// The machine is gone.
    Gone(Box<Update>),
}

/// The machine's end.
pub(crate) struct Controlled {
    control: Control,
    changes: Receiver<Update>,
}

impl Control {
    /// Asks for a change. If 4096 of them wait already, this waits until the machine has made some.
    ///
    /// # Errors
    /// If the machine is gone: the change.
    pub fn change(&self, update: Update) -> Result<(), NotTaken> {
        self.changes.send(update).map_err(|error| NotTaken::Gone(Box::new(error.0)))
    }

    /// Asks for a change if it need not wait for that.
    ///
    /// # Errors
    /// If too many changes wait, or the machine is gone: the change.
    pub fn try_change(&self, update: Update) -> Result<(), NotTaken> {
        self.changes.try_send(update).map_err(|error| match error {
            TrySendError::Full(update) => NotTaken::Full(Box::new(update)),
            TrySendError::Disconnected(update) => NotTaken::Gone(Box::new(update)),
        })
    }

    /// Returns the changes that offloads have refused since the last call, with the reasons.
    pub fn refused(&self) -> Vec<(Update, Refused)> {
        std::mem::take(&mut *self.refused.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Controlled {
    pub(crate) fn new() -> Self {
        let (sender, changes) = sync_channel(MOST_WAITING);
        Self { control: Control { changes: sender, refused: Arc::default() }, changes }
    }

    pub(crate) fn control(&self) -> Control {
        self.control.clone()
    }

    /// Makes the changes that wait.
    pub(crate) fn apply(&self, store: &mut Store) {
        for update in self.changes.try_iter().take(MOST_WAITING) {
            if let Err(refused) = update.apply(store) {
                let all = &self.control.refused;
                all.lock().unwrap_or_else(PoisonError::into_inner).push((update, refused));
            }
        }
    }
}
