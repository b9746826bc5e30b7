//! Zero-initialised memory. A lack of memory is an error, not fatal.

use std::alloc::{self, Layout};
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU16, AtomicU32, AtomicU64};

use crate::Refused;

/// Types for which all-zero bytes are a valid value.
///
/// # Safety
/// All-zero bytes must be a valid value, and the type must not be of size zero.
pub(crate) unsafe trait Zeroable {}

// SAFETY: zero is a valid integer.
unsafe impl Zeroable for u64 {}
// SAFETY: atomics have the representation of their integers.
unsafe impl Zeroable for AtomicU64 {}
// SAFETY: as above.
unsafe impl Zeroable for AtomicU32 {}
// SAFETY: as above.
unsafe impl Zeroable for AtomicU16 {}

/// Allocates `count` elements of zero bytes. The system provides pages when they are first written,
/// so that a large, sparsely used table costs little.
///
/// # Errors
/// If there is not enough memory.
pub(crate) fn zeroed<T: Zeroable>(count: usize) -> Result<Box<[T]>, Refused> {
    if count == 0 {
        return Ok(Box::default());
    }
    let refused = || {
        let bytes = count.saturating_mul(size_of::<T>());
        Refused(format!("there is no memory for {bytes} bytes; make the table smaller"))
    };
    let layout = Layout::array::<T>(count).map_err(|_| refused())?;
    // SAFETY: the layout's size is not zero.
    let start = unsafe { alloc::alloc_zeroed(layout) }.cast::<T>();
    if start.is_null() {
        return Err(refused());
    }
    // SAFETY: `start` was allocated just now by the global allocator with the layout of `[T;
    // count]`, nothing else owns it, and `Zeroable` says that zero bytes are valid elements.
    Ok(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, count)) })
}

/// The size in bytes of a huge page on x86-64 and AArch64.
const HUGE_PAGE: usize = 2 << 20;

/// Zeroed elements for random access. From half a huge page on they lie in huge pages, if the
/// system can provide them: random accesses to ordinary pages would miss the TLB nearly every time.
/// All pages are backed by physical memory from the beginning.
pub(crate) struct Dense<T> {
    start: NonNull<T>,
    count: usize,
    layout: Layout,
}

// SAFETY: it owns its elements.
unsafe impl<T: Send> Send for Dense<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Dense<T> {}

impl<T: Zeroable> Dense<T> {
    /// Allocates `count` elements of zero bytes.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub(crate) fn new(count: usize) -> Result<Self, Refused> {
        let bytes = count.saturating_mul(size_of::<T>());
        let refused =
            || Refused(format!("there is no memory for {bytes} bytes; make the table smaller"));
        let layout = Layout::array::<T>(count.max(1)).map_err(|_| refused())?;
        let is_large = layout.size() >= HUGE_PAGE / 2;
        let layout =
            if is_large { layout.align_to(HUGE_PAGE).map_err(|_| refused())? } else { layout };
        // SAFETY: the layout's size is not zero.
        let start = NonNull::new(unsafe { alloc::alloc(layout) }).ok_or_else(refused)?;
        #[cfg(target_os = "linux")]
        if is_large {
            // SAFETY: advice about whole pages that were just allocated; it changes no contents,
            // and a refusal does no harm.
            unsafe { libc::madvise(start.as_ptr().cast(), layout.size(), libc::MADV_HUGEPAGE) };
        }
        // SAFETY: the allocation is as long as the layout.
        unsafe { start.as_ptr().write_bytes(0, layout.size()) };
        Ok(Self { start: start.cast(), count, layout })
    }
}

impl<T> Deref for Dense<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `count` elements were allocated and zeroed, which `Zeroable` says are valid.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl<T> Drop for Dense<T> {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout; `Zeroable` types need no drop.
        unsafe { alloc::dealloc(self.start.as_ptr().cast(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dense_elements_are_zero_whatever_their_number() {
        for count in [0, 3, HUGE_PAGE / 16, HUGE_PAGE / 8 + 5] {
            let dense = Dense::<u64>::new(count).unwrap();
            assert!(dense.len() == count && dense.iter().all(|word| *word == 0));
        }
        assert!(Dense::<u64>::new(usize::MAX / 8).is_err());
        assert!(Dense::<u64>::new(usize::MAX / 64).is_err());
    }

    #[test]
    fn elements_are_zero_and_impossible_sizes_are_refused() {
        assert_eq!(&*zeroed::<u64>(3).unwrap(), [0, 0, 0]);
        assert!(zeroed::<u64>(0).unwrap().is_empty());
        assert!(zeroed::<u64>(usize::MAX / 8).is_err());
        assert!(zeroed::<AtomicU32>(usize::MAX).is_err());
    }
}
