//! Allocation of runs of an array's elements.

/// The longest run: a node has at most 64 children and 64 leaves.
pub(super) const LONGEST: usize = 64;

/// Allocates runs of 1 to 64 elements of an array. Freed runs are kept by length and reused whole;
/// space lost to lengths that are no longer requested is recovered when the array is laid out anew.
pub(super) struct Runs {
    free: Vec<Vec<u32>>,
    next: u32,
    capacity: u32,
}

impl Runs {
    /// Manages an array of `capacity` elements, the first `used` of them taken.
    pub(super) fn new(used: u32, capacity: u32) -> Self {
        Self { free: vec![Vec::new(); LONGEST + 1], next: used, capacity }
    }

    /// Elements that were never handed out.
    pub(super) fn untouched(&self) -> usize {
        (self.capacity - self.next) as usize
    }

    /// The first element of a run of `length`.
    ///
    /// # Panics
    /// If there is none: callers see to it that [`Runs::untouched`] suffices for a whole change.
    pub(super) fn take(&mut self, length: usize) -> u32 {
        if let Some(start) = self.free[length].pop() {
            return start;
        }
        let start = self.next;
        self.next += length as u32;
        assert!(self.next <= self.capacity, "room was made before the change began");
        start
    }

    /// Gives a run back.
    pub(super) fn give(&mut self, start: u32, length: usize) {
        self.free[length].push(start);
    }

    /// Bytes of memory.
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
    }
}
