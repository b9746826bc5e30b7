//! Limits the memory of this process, and measures its use.
//!
//! The limit applies to resident memory (`VmRSS`). Memory that is certain to be used is promised
//! before it is allocated. Everything that grows with the kernel's routes asks first
//! ([`Memory::has_room`]).

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use wireloom_machine::{Error, Result};

type Source = Box<dyn Fn() -> Option<u64> + Send + Sync>;

/// A limit on memory, and the use of it. All sizes are in bytes.
pub struct Memory {
    limit: u64,
    /// Memory that will be used without asking first.
    promised: AtomicU64,
    /// The use before the mirror of the kernel's routes began to grow.
    base: AtomicU64,
    /// Returns the present use. `None` if it is unknown.
    resident: Source,
}

impl Memory {
    /// Limits the memory of this process.
    ///
    /// # Errors
    /// If the kernel does not report how much memory is in use.
    pub fn limited(limit: u64) -> Result<Self> {
        let unknown = || Error::new("--memory: /proc/self/statm does not say what is in use");
        resident().ok_or_else(unknown)?;
        Ok(Self::with(limit, Box::new(resident)))
    }

    pub(crate) fn with(limit: u64, resident: Source) -> Self {
        Self { limit, promised: AtomicU64::new(0), base: AtomicU64::new(0), resident }
    }

    /// Returns the limit in bytes.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns the present use in bytes.
    pub fn used(&self) -> u64 {
        // An unknown use counts as too much.
        (self.resident)().unwrap_or(u64::MAX)
    }

    /// Reserves memory for parts that do not ask.
    pub fn promise(&self, bytes: u64) {
        self.promised.store(bytes, Ordering::Relaxed);
    }

    /// Marks the point from which the mirror's tables grow. It stays if a mirror replaces another
    /// one: the new one grows next to the old one.
    pub(crate) fn begin_growth(&self) {
        let ordering = Ordering::Relaxed;
        let _ = self.base.compare_exchange(0, self.used(), ordering, ordering);
    }

    /// Does work whose memory does not count as the mirror's.
    pub fn apart<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = self.used();
        let done = work();
        self.base.fetch_add(self.used().saturating_sub(before), Ordering::Relaxed);
        done
    }

    /// Returns whether `further` bytes may be used in addition to the promised ones.
    pub fn has_room(&self, further: u64) -> bool {
        let promised = self.promised.load(Ordering::Relaxed);
        self.used().saturating_add(promised).saturating_add(further) <= self.limit
    }

    /// Returns what prefix tables may need in addition while one of them is laid out anew. The new
    /// arrays have half as much room again as the prefixes need, and only one table is laid out at
    /// a time. `known` is the mirror's growth outside the tables. The tables account for the rest.
    /// At most a third of it is the arrays of one table, since each table also keeps its prefixes
    /// in another form, and routes are entered into tables of destinations and of sources.
    pub(crate) fn layout(&self, known: u64) -> u64 {
        let grown = self.used().saturating_sub(self.base.load(Ordering::Relaxed));
        grown.saturating_sub(known) / 2
    }
}

/// Returns the resident memory of this process in bytes.
fn resident() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    // SAFETY: plain system call.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    Some(pages * page)
}

/// Returns freed memory to the system. A freed copy of all routes would otherwise count as in use
/// for ever.
pub(crate) fn give_back() {
    // SAFETY: plain call of the C library. Other libraries return memory by themselves.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use super::*;

    /// Creates a memory whose use is the number that the test sets.
    pub(crate) fn fake(limit: u64, used: &Arc<AtomicU64>) -> Memory {
        let used = Arc::clone(used);
        Memory::with(limit, Box::new(move || Some(used.load(Ordering::Relaxed))))
    }

    #[test]
    fn what_is_promised_is_not_there_for_others() {
        let used = Arc::new(AtomicU64::new(60));
        let memory = fake(100, &used);
        assert!(memory.has_room(40) && !memory.has_room(41));
        memory.promise(30);
        assert!(memory.has_room(10) && !memory.has_room(11));
        memory.begin_growth();
        used.store(90, Ordering::Relaxed);
        assert_eq!((memory.layout(10), memory.layout(31)), (10, 0));
        memory.apart(|| used.store(100, Ordering::Relaxed));
        assert_eq!((memory.layout(10), memory.layout(31)), (10, 0));
        assert!(!memory.has_room(0));
    }

    #[test]
    fn a_process_knows_what_it_uses() {
        let memory = Memory::limited(u64::MAX).expect("/proc");
        let before = memory.used();
        let block = vec![1u8; 64 << 20];
        assert!(memory.used() >= before + (48 << 20), "{before}, {}", block.len());
    }
}
