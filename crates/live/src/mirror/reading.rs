//! Reads the kernel's whole state in a separate thread, while the mirror follows notifications.
//!
//! A dump of a full table takes a second or more. The mirror applies a change that arrives
//! meanwhile at once, and keeps it: the change is entered into the dump as well, which may be
//! older.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, TryRecvError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use wireloom_machine::{Error, Result};

use super::netlink::{self, Change};
use super::rows::State;
use super::{Noticed, failed};
use crate::memory::Memory;

/// The most notifications that are kept until a read ends, of some hundred bytes each. After more
/// of them, everything is read once more.
const MOST_CHANGES: usize = 1 << 18;
/// Notifications between two checks of the memory, and the most bytes that they use.
const LOOK_EVERY: usize = 1024;
const NEXT: u64 = 1 << 20;
/// Interval at which the mirror polls whether a read has ended.
pub const LOOK: Duration = Duration::from_millis(10);

/// A read in progress.
pub struct Reading {
    read: Receiver<Result<State>>,
    pub began: Instant,
    /// Whether comparing is the only reason for the read: every difference is then a repair.
    pub compares: bool,
    /// Notifications since the read began, in order.
    pub changes: Vec<Change>,
    /// The effect of these notifications.
    pub noticed: Noticed,
    memory: Option<Arc<Memory>>,
    _thread: Joined,
}

/// A thread that is joined on drop: when a mirror has ended, no copy of the routes is left.
struct Joined(Option<JoinHandle<()>>);

impl Drop for Joined {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            let _ = thread.join();
        }
    }
}

impl Reading {
    /// Begins to read the kernel's state, with these routing tables.
    ///
    /// # Errors
    /// If the system refuses a thread.
    pub fn begin(
        tables: Vec<u32>,
        compares: bool,
        memory: Option<Arc<Memory>>,
    ) -> io::Result<Self> {
        let (tell, read) = mpsc::channel();
        let of_state = memory.clone();
        let work = move || {
            // The mirror may have ended.
            let _ = tell.send(state(&tables, of_state.as_ref()));
        };
        let thread = thread::Builder::new().name("reading".into()).spawn(work)?;
        let _thread = Joined(Some(thread));
        let (changes, noticed) = (Vec::new(), Noticed::default());
        Ok(Self { read, began: Instant::now(), compares, changes, noticed, memory, _thread })
    }

    /// Keeps a notification that arrived meanwhile.
    pub fn keep(&mut self, change: &Change) {
        let count = self.changes.len();
        let is_looked_at = count > 0 && count.is_multiple_of(LOOK_EVERY);
        let has_room = |memory: &Arc<Memory>| !is_looked_at || memory.has_room(NEXT);
        if count < MOST_CHANGES && self.memory.as_ref().is_none_or(has_room) {
            self.changes.push(change.clone());
        } else {
            self.noticed.read_all = true;
        }
    }

    /// Returns the state when the read has ended, `None` before.
    pub fn read(&self) -> Option<Result<State>> {
        match self.read.try_recv() {
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => {
                Some(Err(Error::new("the kernel's routes: no read")))
            }
            Ok(read) => Some(read),
        }
    }
}

/// Reads the kernel's state.
///
/// # Errors
/// If the kernel does not report it.
pub fn state(tables: &[u32], memory: Option<&Arc<Memory>>) -> Result<State> {
    Ok(State {
        neighbours: netlink::neighbours().map_err(failed)?,
        links: netlink::links().map_err(failed)?,
        fib: netlink::routes(tables, memory).map_err(failed)?,
    })
}
