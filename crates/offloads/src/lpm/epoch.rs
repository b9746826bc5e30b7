//! Epochs: they determine when no reader can access an object any longer.
//!
//! A pinned reader notes the epoch in which it was pinned. The writer unlinks an object, then ends
//! the epoch; readers that pin later cannot see the object. The object is free once every pinned
//! reader has noted a later epoch than the ended one.
//!
//! Two sequentially consistent fences ensure that no reader is overlooked: the reader's, between
//! noting its epoch and any access, and the writer's, between unlinking an object and reading the
//! readers' notes. Either the writer sees the note, or the reader sees the object unlinked.

use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, PoisonError};

/// The note of a reader that is not pinned.
const IDLE: u64 = 0;

/// The epoch and the readers' notes.
pub(super) struct Epochs {
    now: AtomicU64,
    notes: Mutex<Vec<Arc<AtomicU64>>>,
}

/// A reader's note.
pub(super) struct Note(Arc<AtomicU64>);

impl Epochs {
    pub(super) fn new() -> Self {
        Self { now: AtomicU64::new(IDLE + 1), notes: Mutex::new(Vec::new()) }
    }

    /// Registers a new reader, which is not pinned.
    pub(super) fn register(&self) -> Note {
        let note = Arc::new(AtomicU64::new(IDLE));
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&note));
        Note(note)
    }

    /// Pins a reader. Objects that it sees from now on remain valid until [`Note::unpin`].
    pub(super) fn pin(&self, note: &Note) {
        note.0.store(self.now.load(Ordering::SeqCst), Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// Ends the epoch after an object was unlinked. Returns the ended epoch.
    pub(super) fn end(&self) -> u64 {
        self.now.fetch_add(1, Ordering::SeqCst)
    }

    /// Returns the oldest pinned epoch. Objects unlinked in earlier epochs are free.
    pub(super) fn oldest_pinned(&self) -> u64 {
        fence(Ordering::SeqCst);
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.retain(|note| Arc::strong_count(note) > 1);
        let pinned =
            notes.iter().map(|note| note.load(Ordering::SeqCst)).filter(|&epoch| epoch != IDLE);
        pinned.min().unwrap_or(u64::MAX)
    }
}

impl Note {
    /// Unpins the reader. It must not access shared objects until it is pinned again.
    pub(super) fn unpin(&self) {
        self.0.store(IDLE, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_free_when_all_who_might_see_them_have_let_go() {
        let epochs = Epochs::new();
        let (early, late) = (epochs.register(), epochs.register());
        assert_eq!(epochs.oldest_pinned(), u64::MAX);
        epochs.pin(&early);
        let first = epochs.end();
        epochs.pin(&late);
        let second = epochs.end();
        assert!(epochs.oldest_pinned() <= first, "the early reader may see the first thing");
        early.unpin();
        assert!(epochs.oldest_pinned() > first && epochs.oldest_pinned() <= second);
        drop(late);
        assert_eq!(epochs.oldest_pinned(), u64::MAX, "a reader that is gone sees nothing");
    }
}
