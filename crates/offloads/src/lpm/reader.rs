//! Lookups by other threads while the table changes.

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use wireloom_bits::Bits;

use super::epoch::{Epochs, Note};
use super::fib::{Fib, LpmView};
use super::key::with_key;

/// The data that readers share with the writer.
pub(super) struct Shared {
    /// The FIB that readers use. It is one of `owned`.
    fib: AtomicPtr<Fib>,
    /// The current FIB, and older ones with the epoch that ended when they were replaced.
    owned: Mutex<Vec<(u64, Arc<Fib>)>>,
    pub(super) epochs: Epochs,
}

/// A handle with which a thread can look up keys while the table changes.
pub struct Reader {
    shared: Arc<Shared>,
    note: Note,
    key_width: u32,
}

/// A pinned reader. Everything that it sees stays in memory until the guard is dropped. Keep a
/// guard for a batch of lookups, but not longer: objects that the writer replaces meanwhile cannot
/// be reused.
pub struct Guard<'a> {
    reader: &'a Reader,
}

impl Shared {
    pub(super) fn new(fib: &Arc<Fib>) -> Self {
        Self {
            fib: AtomicPtr::new(Arc::as_ptr(fib).cast_mut()),
            owned: Mutex::new(vec![(u64::MAX, Arc::clone(fib))]),
            epochs: Epochs::new(),
        }
    }

    /// Returns the memory of all FIBs in bytes.
    pub(super) fn memory(&self) -> usize {
        let owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
        owned.iter().map(|(_, fib)| fib.memory()).sum()
    }

    /// Publishes a new FIB.
    pub(super) fn replace(&self, fib: &Arc<Fib>) {
        let mut owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
        owned.push((u64::MAX, Arc::clone(fib)));
        self.fib.store(Arc::as_ptr(fib).cast_mut(), Ordering::SeqCst);
        let epoch = self.epochs.end();
        let last = owned.len() - 1;
        for (until, _) in &mut owned[..last] {
            *until = epoch.min(*until);
        }
    }

    /// Drops the FIBs that no reader can see. Returns whether old FIBs remain.
    pub(super) fn reclaim(&self, oldest_pinned: u64) -> bool {
        let mut owned = self.owned.lock().unwrap_or_else(PoisonError::into_inner);
        owned.retain(|(until, _)| *until == u64::MAX || *until >= oldest_pinned);
        owned.len() > 1
    }
}

impl Reader {
    pub(super) fn of(shared: &Arc<Shared>, key_width: u32) -> Self {
        Self { shared: Arc::clone(shared), note: shared.epochs.register(), key_width }
    }

    /// Pins the reader, for a batch of lookups. Never waits.
    pub fn pin(&mut self) -> Guard<'_> {
        self.shared.epochs.pin(&self.note);
        Guard { reader: self }
    }

    /// Pins the reader until it is pinned again or released, and returns the location of the table.
    /// This is for machines that cannot keep a guard.
    pub fn hold(&mut self) -> LpmView {
        self.shared.epochs.pin(&self.note);
        let guard = ManuallyDrop::new(Guard { reader: self });
        guard.view()
    }

    /// Releases the view that [`Reader::hold`] returned.
    pub fn let_go(&mut self) {
        self.note.unpin();
    }
}

impl Clone for Reader {
    fn clone(&self) -> Self {
        Self::of(&self.shared, self.key_width)
    }
}

impl Guard<'_> {
    fn fib(&self) -> &Fib {
        // SAFETY: the pointer refers to the content of an `Arc` in `Shared::owned`, and this reader
        // keeps the `Shared` alive. The writer removes the `Arc` only after another pointer was
        // stored and every reader that was pinned then has been unpinned (`Epochs`), which happens
        // when this guard is dropped.
        unsafe { &*self.reader.shared.fib.load(Ordering::SeqCst) }
    }

    /// Returns the value of the longest prefix that matches a key, or the miss value.
    ///
    /// # Panics
    /// If the key does not have the table's width.
    pub fn lookup(&self, key: &Bits) -> Bits {
        assert_eq!(key.width(), self.reader.key_width, "a key of the table's width");
        let fib = self.fib();
        fib.value(with_key!(key, |key| fib.lookup(key)))
    }

    /// Returns the current location of the table in memory. Changes are visible through it until
    /// one needs new arrays.
    pub fn view(&self) -> LpmView {
        self.fib().view()
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        self.reader.note.unpin();
    }
}
