//! Allocation of runs of array elements.

/// The longest run: a node has at most 64 children and 64 leaves.
pub(super) const LONGEST: usize = 64;

/// Allocates runs of 1 to 64 elements of an array. Freed runs are kept by length and reused without
/// splitting. Rebuilding the array recovers runs of lengths that are no longer requested.
pub(super) struct Runs {
    free: Vec<Vec<u32>>,
    next: u32,
    capacity: u32,
}

impl Runs {
    /// Manages an array of `capacity` elements, of which the first `used` are allocated.
    pub(super) fn new(used: u32, capacity: u32) -> Self {
        Self { free: vec![Vec::new(); LONGEST + 1], next: used, capacity }
    }

    /// Returns the number of elements that were never allocated.
    pub(super) fn untouched(&self) -> usize {
        (self.capacity - self.next) as usize
    }

    /// Returns the number of runs of `length` elements that can be allocated.
    pub(super) fn available(&self, length: usize) -> usize {
        self.untouched() / length + self.free[length].len()
    }

    /// Allocates a run of `length` elements and returns its first element.
    ///
    /// # Panics
    /// If there is no room. Callers check that [`Runs::untouched`] suffices for a complete change.
    pub(super) fn take(&mut self, length: usize) -> u32 {
        if let Some(start) = self.free[length].pop() {
            return start;
        }
        let start = self.next;
        self.next += length as u32;
        assert!(self.next <= self.capacity, "room was made before the change began");
        start
    }

    /// Frees a run.
    pub(super) fn give(&mut self, start: u32, length: usize) {
        self.free[length].push(start);
    }

    /// Returns the first element that was never allocated.
    #[cfg(test)]
    pub(super) fn next(&self) -> u32 {
        self.next
    }

    /// Returns the number of elements.
    #[cfg(test)]
    pub(super) fn end(&self) -> u32 {
        self.capacity
    }

    /// Returns the freed runs of `length` elements.
    #[cfg(test)]
    pub(super) fn free(&self, length: usize) -> &[u32] {
        &self.free[length]
    }

    /// Returns the memory in bytes.
    pub(super) fn memory(&self) -> usize {
        self.free.iter().map(|runs| runs.capacity() * 4 + size_of::<Vec<u32>>()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_do_not_overlap_and_come_back() {
        let mut runs = Runs::new(1, 20);
        assert_eq!((runs.take(3), runs.take(5), runs.take(3)), (1, 4, 9));
        runs.give(1, 3);
        assert_eq!((runs.take(4), runs.take(3), runs.untouched()), (12, 1, 4));
        assert_eq!((runs.available(1), runs.available(3)), (4, 1));
        runs.give(1, 3);
        assert_eq!((runs.available(1), runs.available(3)), (4, 2));
    }
}
