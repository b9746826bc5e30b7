//! Zero-initialised memory. Running out of memory is an error, and does not abort.

use std::alloc::{self, Layout};
use std::ops::{Deref, DerefMut};
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

/// Allocates `count` elements of zero bytes. The system provides a page at its first write, so a
/// large, sparsely used table costs little.
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

/// Fetches the cache line of a value that is soon needed.
pub(crate) fn prefetch<T>(value: &T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect that a program sees.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(value).cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = value;
}

/// The size in bytes of a huge page on x86-64 and AArch64.
const HUGE_PAGE: usize = 2 << 20;

/// Zeroed elements for random access. From half a huge page on, they lie in huge pages if the
/// system can provide them: random accesses to ordinary pages would miss the TLB nearly every time.
/// The system provides a page at its first write, so unused room to grow costs nothing.
/// it is used.
pub(crate) struct Dense<T> {
    start: NonNull<T>,
    count: usize,
    /// The layout of an allocation, or the length of a mapping in bytes.
    memory: Memory,
}

#[derive(Clone, Copy)]
enum Memory {
    Allocated(Layout),
    #[cfg(target_os = "linux")]
    Mapped(usize),
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
        const { assert!(align_of::<T>() <= HUGE_PAGE) };
        let bytes = count.saturating_mul(size_of::<T>());
        let refused =
            || Refused(format!("there is no memory for {bytes} bytes; make the table smaller"));
        let layout = Layout::array::<T>(count.max(1)).map_err(|_| refused())?;
        #[cfg(target_os = "linux")]
        if layout.size() >= HUGE_PAGE / 2 {
            let (start, length) = huge_pages(layout.size()).ok_or_else(refused)?;
            return Ok(Self { start: start.cast(), count, memory: Memory::Mapped(length) });
        }
        // SAFETY: the layout's size is not zero.
        let start = NonNull::new(unsafe { alloc::alloc_zeroed(layout) }).ok_or_else(refused)?;
        Ok(Self { start: start.cast(), count, memory: Memory::Allocated(layout) })
    }
}

/// Maps at least `bytes` zero bytes, starting at a huge page. Returns the start and the length of
/// the mapping, or `None` if there is not enough memory.
#[cfg(target_os = "linux")]
fn huge_pages(bytes: usize) -> Option<(NonNull<u8>, usize)> {
    let length = bytes.checked_next_multiple_of(HUGE_PAGE)?;
    let mapped = length.checked_add(HUGE_PAGE)?;
    let (access, flags) =
        (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
    // SAFETY: a new mapping, at an address that the system chooses.
    let all = unsafe { libc::mmap(std::ptr::null_mut(), mapped, access, flags, -1, 0) };
    if all == libc::MAP_FAILED {
        return None;
    }
    let before = all.addr().next_multiple_of(HUGE_PAGE) - all.addr();
    // SAFETY: all ranges are parts of the mapping and begin and end at pages, and the bytes before
    // and after `length` are given back before anything refers to them. `madvise` changes no
    // contents, and a refusal does no harm.
    unsafe {
        let start = all.byte_add(before);
        if before > 0 {
            libc::munmap(all, before);
        }
        libc::munmap(start.byte_add(length), HUGE_PAGE - before);
        libc::madvise(start, length, libc::MADV_HUGEPAGE);
        Some((NonNull::new(start.cast())?, length))
    }
}

impl<T> Deref for Dense<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `new` provided `count` elements of zero bytes, which `Zeroable` says are valid.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl<T> Drop for Dense<T> {
    fn drop(&mut self) {
        match self.memory {
            // SAFETY: allocated in `new` with this layout; `Zeroable` types need no drop.
            Memory::Allocated(layout) => unsafe {
                alloc::dealloc(self.start.as_ptr().cast(), layout);
            },
            #[cfg(target_os = "linux")]
            // SAFETY: mapped in `new` with this length, and nothing refers to it any more.
            Memory::Mapped(length) => unsafe {
                libc::munmap(self.start.as_ptr().cast(), length);
            },
        }
    }
}

/// Zeroed elements that use memory only once written. The system provides a page at its first use,
/// so addresses for the largest table cost nothing.
#[repr(C)]
pub(crate) struct Reserved<T> {
    start: NonNull<T>,
    count: usize,
}

// SAFETY: it owns its elements.
unsafe impl<T: Send> Send for Reserved<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Reserved<T> {}

/// From this number of bytes on, reserved elements are mapped as separate pages.
const MAPPED: usize = 1 << 20;
/// From this number of bytes on, the pages are huge if the system provides huge pages.
const MAPPED_HUGE: usize = 8 << 20;

impl<T: Zeroable> Reserved<T> {
    /// Reserves `count` elements of zero bytes.
    ///
    /// # Errors
    /// If the address space does not suffice.
    pub(crate) fn new(count: usize) -> Result<Self, Refused> {
        let refused = || {
            let bytes = count.saturating_mul(size_of::<T>());
            Refused(format!("there is no memory for {bytes} bytes; make the table smaller"))
        };
        let layout = Self::layout(count).ok_or_else(refused)?;
        let start = if Self::is_mapped(layout) {
            Self::map(layout)
        } else {
            // SAFETY: the layout's size is not zero.
            NonNull::new(unsafe { alloc::alloc_zeroed(layout) })
        };
        Ok(Self { start: start.ok_or_else(refused)?.cast(), count })
    }
}

impl<T> Reserved<T> {
    fn layout(count: usize) -> Option<Layout> {
        Layout::array::<T>(count.max(1)).ok()
    }

    fn is_mapped(layout: Layout) -> bool {
        cfg!(target_os = "linux") && layout.size() >= MAPPED
    }

    #[cfg(target_os = "linux")]
    fn map(layout: Layout) -> Option<NonNull<u8>> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping, which overlaps no other.
        let start = unsafe {
            let access = libc::PROT_READ | libc::PROT_WRITE;
            libc::mmap(std::ptr::null_mut(), layout.size(), access, flags, -1, 0)
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        if layout.size() >= MAPPED_HUGE {
            // SAFETY: advice about the new mapping; a refusal does no harm.
            unsafe { libc::madvise(start, layout.size(), libc::MADV_HUGEPAGE) };
        }
        NonNull::new(start.cast())
    }

    #[cfg(not(target_os = "linux"))]
    fn map(_: Layout) -> Option<NonNull<u8>> {
        None
    }
}

impl<T> Deref for Reserved<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: `count` elements were reserved, zeroed, which `Zeroable` says are valid.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.count) }
    }
}

impl<T> DerefMut for Reserved<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.count) }
    }
}

impl<T> Drop for Reserved<T> {
    fn drop(&mut self) {
        let layout = Self::layout(self.count).expect("`new` had this layout");
        let start = self.start.as_ptr();
        #[cfg(target_os = "linux")]
        if Self::is_mapped(layout) {
            // SAFETY: `map` mapped it with this size.
            unsafe { libc::munmap(start.cast(), layout.size()) };
            return;
        }
        // SAFETY: `new` allocated it with this layout; `Zeroable` types need no drop.
        unsafe { alloc::dealloc(start.cast(), layout) };
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
    fn reserved_elements_are_zero_and_cost_nothing_until_written() {
        for count in [0, 3, MAPPED / 8, MAPPED_HUGE / 8 + 5] {
            let mut reserved = Reserved::<u64>::new(count).unwrap();
            assert!(reserved.len() == count && reserved.iter().all(|word| *word == 0));
            reserved.fill(7);
            assert!(reserved.iter().all(|word| *word == 7));
        }
        // This is more than the memory of this computer.
        let mut most = Reserved::<u64>::new(1 << 37).unwrap();
        most[(1 << 37) - 1] = 1;
        assert!(Reserved::<u64>::new(usize::MAX / 8).is_err());
        assert!(Reserved::<u64>::new(usize::MAX / 64).is_err());
    }

    #[test]
    fn elements_are_zero_and_impossible_sizes_are_refused() {
        assert_eq!(&*zeroed::<u64>(3).unwrap(), [0, 0, 0]);
        assert!(zeroed::<u64>(0).unwrap().is_empty());
        assert!(zeroed::<u64>(usize::MAX / 8).is_err());
        assert!(zeroed::<AtomicU32>(usize::MAX).is_err());
    }
}
