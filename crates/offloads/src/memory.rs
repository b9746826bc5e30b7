//! Memory that begins as zeros and is refused, not fatal, when there is not enough.

use std::alloc::{self, Layout};

use crate::Refused;

/// `count` zero words. The system hands out the pages as they are first written, so that a large, sparsely used table
/// costs little.
///
/// # Errors
/// If there is not so much memory.
pub(crate) fn zeroed_words(count: usize) -> Result<Box<[u64]>, Refused> {
    if count == 0 {
        return Ok(Box::default());
    }
    let refused = || Refused(format!("there is no memory for its {count} words of 64 bits; make it smaller"));
    let layout = Layout::array::<u64>(count).map_err(|_| refused())?;
    // SAFETY: the layout's size is not zero.
    let start = unsafe { alloc::alloc_zeroed(layout) }.cast::<u64>();
    if start.is_null() {
        return Err(refused());
    }
    // SAFETY: `start` was allocated just now by the global allocator with the layout of `[u64; count]`, nothing else
    // owns it, and all-zero bytes are valid `u64`s.
    Ok(unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, count)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_zero_and_impossible_sizes_are_refused() {
        assert_eq!(&*zeroed_words(3).unwrap(), [0, 0, 0]);
        assert!(zeroed_words(0).unwrap().is_empty());
        assert!(zeroed_words(usize::MAX / 8).is_err());
        assert!(zeroed_words(usize::MAX).is_err());
    }
}
