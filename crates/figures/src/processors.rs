//! Pins threads to processors. On a busy computer the system may put two threads of a measurement
//! on one processor, where each evicts the other's data from the caches.

#[cfg(target_os = "linux")]
pub use linux::{Pinned, allowed};
#[cfg(not(target_os = "linux"))]
pub use other::{Pinned, allowed};

#[cfg(target_os = "linux")]
mod linux {
    /// Keeps the thread that created this on one processor until it is dropped.
    pub struct Pinned(libc::cpu_set_t);

    impl Pinned {
        /// Pins this thread to a processor, if the system permits it.
        pub fn to(processor: usize) -> Option<Self> {
            let before = mask()?;
            // SAFETY: a set of processors is plain bits; the number came from such a set.
            let only = unsafe {
                let mut only: libc::cpu_set_t = std::mem::zeroed();
                libc::CPU_SET(processor, &mut only);
                only
            };
            set(&only).then_some(Self(before))
        }
    }

    impl Drop for Pinned {
        fn drop(&mut self) {
            set(&self.0);
        }
    }

    pub fn allowed() -> Vec<usize> {
        let Some(mask) = mask() else { return Vec::new() };
        // SAFETY: the numbers are those that a set can have.
        (0..libc::CPU_SETSIZE as usize)
            .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu, &mask) })
            .collect()
    }

    fn mask() -> Option<libc::cpu_set_t> {
        // SAFETY: a set of processors is plain bits, and the call writes at most its size.
        unsafe {
            let mut mask: libc::cpu_set_t = std::mem::zeroed();
            (libc::sched_getaffinity(0, size_of_val(&mask), &mut mask) == 0).then_some(mask)
        }
    }

    fn set(mask: &libc::cpu_set_t) -> bool {
        // SAFETY: the call reads the set.
        unsafe { libc::sched_setaffinity(0, size_of_val(mask), mask) == 0 }
    }
}

#[cfg(not(target_os = "linux"))]
mod other {
    /// Has no effect: pinning is supported on Linux only.
    pub struct Pinned;

    impl Pinned {
        /// Leaves the thread where it is.
        pub fn to(_processor: usize) -> Option<Self> {
            None
        }
    }

    /// Returns no processors: pinning is not supported.
    pub fn allowed() -> Vec<usize> {
        Vec::new()
    }
}
