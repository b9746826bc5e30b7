//! Hot replacement of the program and its tables.
//!
//! The asking thread does all slow work: it reads files, compiles, and reads the kernel's routes.
//! Then the forwarding thread exchanges the machine between two batches. State that packets made
//! (flows, counters, kept packets) moves over without a copy; the control plane's tables are read
//! anew. Tables that keep their state get the changes of their table files afterwards, entry by
//! entry.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, TryLockError};
use std::time::Instant;

use wireloom_machine::{Error, Result};

use crate::engine::{Built, Entries, Following, Loaded, Prepared, Where, changes};
use crate::forwarding::Handle;
use crate::kernel_capture::Watching;
use crate::kernel_conditions::KernelConditions;
use crate::status::Reloaded;

/// Fails if both engines with their tables do not fit into the memory at the same time.
fn unless_too_large(built: &Built, following: Option<&Following>) -> Result {
    let Some(memory) = following.and_then(|following| following.memory.as_ref()) else {
        return Ok(());
    };
    let unheld =
        built.kernel.as_ref().map_or(0, |kernel| kernel.counters.unheld.load(Ordering::Relaxed));
    if unheld == 0 && memory.has_room(0) {
        return Ok(());
    }
    Err(Error::new("the present tables and the new ones do not fit into --memory together")
        .with_help("restart, or start with a larger --memory"))
}

/// Reads program and tables again, in their present state.
pub type Load = Box<dyn FnMut() -> Result<Loaded> + Send>;

/// Entries that are changed in one job, while packets wait.
const AT_ONCE: usize = 64;
/// The most refused entries that a report names.
const NAMED: usize = 20;

/// Replaces program and tables.
#[derive(Clone)]
pub struct Reloader {
    inner: Arc<Mutex<Inner>>,
    handle: Handle,
    /// The kernel, and its features that forwarding ignores.
    following: Option<(Following, Arc<KernelConditions>)>,
    place: Where,
    /// Captures and traces of an engine in the kernel.
    watching: Option<Arc<Watching>>,
}

struct Inner {
    load: Load,
    /// The entries that files gave to the present offloads.
    entries: Entries,
}

impl Reloader {
    /// Creates a reloader. `entries` belong to the running program.
    pub fn new(
        load: Load,
        entries: Entries,
        handle: Handle,
        following: Option<(Following, Arc<KernelConditions>)>,
        place: Where,
        watching: Option<Arc<Watching>>,
    ) -> Self {
        let inner = Arc::new(Mutex::new(Inner { load, entries }));
        Self { inner, handle, following, place, watching }
    }

    /// Reads everything again and replaces the running program and tables.
    ///
    /// # Errors
    /// If another reload is under way, or the new program or tables cannot be used. Then nothing
    /// changes.
    pub fn reload(&self) -> Result<Reloaded> {
        let mut inner = match self.inner.try_lock() {
            Ok(inner) => inner,
            Err(TryLockError::WouldBlock) => return Err(Error::new("a reload is under way")),
            Err(TryLockError::Poisoned(_)) => {
                return Err(Error::new("an earlier reload has failed"));
            }
        };
        let begin = Instant::now();
        let mut loaded = (inner.load)()?;
        let needs_restart = std::mem::take(&mut loaded.needs_restart);
        let following = self.following.as_ref().map(|(following, _)| following);
        let stands_in = following.and_then(|following| following.place(&loaded));
        let prepared = Prepared::new(loaded, following.is_some(), &self.place, &|_| ())?;
        let mut built = Built::new(prepared, following, &self.place, &|_| ())?;
        unless_too_large(&built, following)?;
        let entries = std::mem::take(&mut built.entries);
        let engine = Arc::clone(&built.engine);
        let build_seconds = begin.elapsed().as_secs_f64();
        let (exchanged, replaced) = self.handle.ask(|forwarding| forwarding.exchange(built))??;
        replaced.end();
        if let Some((_, conditions)) = &self.following {
            conditions.replace(stands_in);
        }
        if let Some(watching) = &self.watching {
            watching.after_reload();
        }
        let mut reloaded = Reloaded {
            program: engine.file.clone(),
            engine: engine.name.clone(),
            read: exchanged.read,
            lost: exchanged.lost,
            needs_restart,
            build_seconds,
            swap_microseconds: exchanged.time.as_secs_f64() * 1e6,
            ..Reloaded::default()
        };
        for path in &exchanged.kept {
            for part in changes(path, &inner.entries, &entries).chunks(AT_ONCE) {
                let count = part.len() as u64;
                let part = part.to_vec();
                let refused = self.handle.ask(move |forwarding| forwarding.update(&part))?;
                reloaded.changed_entries += count - refused.len() as u64;
                reloaded.refused.extend(refused);
            }
        }
        reloaded.kept = exchanged.kept;
        if let Some(more) = reloaded.refused.len().checked_sub(NAMED).filter(|more| *more > 0) {
            reloaded.refused.truncate(NAMED);
            reloaded.refused.push(format!("and {more} more"));
        }
        inner.entries = entries;
        Ok(reloaded)
    }
}
