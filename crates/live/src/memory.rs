//! The memory that this process may use, and what it uses.
//!
//! The limit is one of resident memory (`VmRSS`). What is sure to come is promised before it is
//! there; everything that grows with the kernel's routes asks first ([`Memory::has_room`]).

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};

use wireloom_machine::{Error, Result};

type Source = Box<dyn Fn() -> Option<u64> + Send + Sync>;

/// A limit, and what is used of it. All sizes are in bytes.
pub struct Memory {
    limit: u64,
    /// What will be used without a further question.
    promised: AtomicU64,
    /// What was in use before the mirror of the kernel's routes began to grow.
    base: AtomicU64,
    /// Returns what is in use.
    resident: Source,
}

impl Memory {
    /// Limits the memory of this process.
    ///
    /// # Errors
    /// If the kernel does not say what it uses.
    pub fn limited(limit: u64) -> Result<Self> {
        let unknown = || Error::new("--memory: /proc/self/statm does not say what is in use");
        resident().ok_or_else(unknown)?;
        Ok(Self::with(limit, Box::new(resident)))
    }

    pub(crate) fn with(limit: u64, resident: Source) -> Self {
        Self { limit, promised: AtomicU64::new(0), base: AtomicU64::new(0), resident }
    }

    /// The limit.
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// What is in use.
    pub fn used(&self) -> u64 {
        // Who does not know uses too much.
        (self.resident)().unwrap_or(u64::MAX)
    }

    /// Keeps so much for what does not ask.
    pub fn promise(&self, bytes: u64) {
        self.promised.store(bytes, Ordering::Relaxed);
    }

    /// From now on the mirror's tables grow. A mirror that replaces another one grows beside it.
    pub(crate) fn begin_growth(&self) {
        let ordering = Ordering::Relaxed;
        let _ = self.base.compare_exchange(0, self.used(), ordering, ordering);
    }

    /// Does something whose memory is none of the mirror's.
    pub fn apart<T>(&self, work: impl FnOnce() -> T) -> T {
        let before = self.used();
        let done = work();
        self.base.fetch_add(self.used().saturating_sub(before), Ordering::Relaxed);
        done
    }

    /// Whether so much more may be used, beside what is promised.
    pub fn has_room(&self, further: u64) -> bool {
        let promised = self.promised.load(Ordering::Relaxed);
        self.used().saturating_add(promised).saturating_add(further) <= self.limit
    }

    /// What tables of prefixes may need in addition while they are laid out anew: the new arrays
    /// have half as much room again as the prefixes need, and only one table is laid out at a time.
    /// `known` is what the mirror has grown by besides the tables. The tables have the rest; at most
    /// a third of it is the arrays of one of them, since each keeps its prefixes in another form too,
    /// and routes are entered into tables of destinations and of sources.
    pub(crate) fn layout(&self, known: u64) -> u64 {
        let grown = self.used().saturating_sub(self.base.load(Ordering::Relaxed));
        grown.saturating_sub(known) / 2
    }
}

/// The resident memory of this process.
fn resident() -> Option<u64> {
    let text = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    // SAFETY: plain system call.
    let page = u64::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok()?;
    Some(pages * page)
}

/// Returns memory that was freed to the system: a freed copy of all routes would otherwise count as
/// in use for ever.
pub(crate) fn give_back() {
    // SAFETY: plain call of the C library; other libraries give memory back by themselves.
    #[cfg(target_env = "gnu")]
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::Arc;

    use super::*;

    /// A memory whose use is the number that the test sets.
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
