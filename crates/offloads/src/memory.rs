//! Memory that begins as zeros and is refused, not fatal, when there is not enough.

use std::alloc::{self, Layout};
use std::sync::atomic::{AtomicU32, AtomicU64};

use crate::Refused;

/// Types that may be made of zero bytes.
///
/// # Safety
/// All-zero bytes must be a valid value, and the type must not be of size zero.
pub(crate) unsafe trait Zeroable {}

// SAFETY: integers, of which zero is one.
unsafe impl Zeroable for u64 {}
// SAFETY: atomics have the representation of their integers.
unsafe impl Zeroable for AtomicU64 {}
// SAFETY: as above.
unsafe impl Zeroable for AtomicU32 {}

/// `count` elements of zero bytes. The system hands out the pages as they are first written, so that a large, sparsely
/// used table costs little.
///
/// # Errors
/// If there is not so much memory.
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
    // SAFETY: `start` was allocated just now by the global allocator with the layout of `[T; count]`, nothing else owns
    // it, and `Zeroable` says that zero bytes are valid elements.
    Ok(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, count)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_zero_and_impossible_sizes_are_refused() {
        assert_eq!(&*zeroed::<u64>(3).unwrap(), [0, 0, 0]);
        assert!(zeroed::<u64>(0).unwrap().is_empty());
        assert!(zeroed::<u64>(usize::MAX / 8).is_err());
        assert!(zeroed::<AtomicU32>(usize::MAX).is_err());
    }
}
