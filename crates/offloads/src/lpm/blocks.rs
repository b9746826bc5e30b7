//! Allocation of the blocks of a table.

use super::runs::Runs;
use super::spread::{KEYS, MOST_LONG, MOST_SHORT_DEEP, SHORT_KEYS, most_values};
use super::{DIRECT_BITS, STRIDE};

/// A number of blocks. Entries of other blocks refer to deep blocks; direct entries refer to top
/// blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BlockCount {
    pub(super) deep: usize,
    pub(super) top: usize,
}

/// The allocated blocks. Deep blocks have the lowest numbers, since entries of blocks may have
/// fewer bits than direct entries.
pub(super) struct Blocks {
    deep: Runs,
    top: Runs,
}

/// Returns the maximum number of blocks of each sort that a change needs on the path to its prefix:
/// one for each stride of the key. It can need more blocks below that path (`Table::has_room`).
pub(super) fn spare(key_width: u32) -> usize {
    2 + key_width.saturating_sub(DIRECT_BITS).div_ceil(STRIDE) as usize
}

impl BlockCount {
    /// Returns the blocks for a table that needs `self` now, with room to grow. `None` if the table
    /// cannot consist of blocks.
    pub(super) fn with_room(self, key_width: u32, values: usize) -> Option<Self> {
        let is_short = SHORT_KEYS.contains(&key_width);
        // Most blocks of short keys are top blocks, and most blocks of wide keys are deep. The
        // other sort is rare, so generous room for it costs little.
        let (deep, top) = match is_short {
            true => (self.deep / 2, self.top / 16),
            false => (self.deep / 8, self.top / 2),
        };
        let deep = self.deep + deep + 2 * spare(key_width);
        let top = self.top + top + 2 * spare(key_width);
        let fits = if is_short { deep <= MOST_SHORT_DEEP } else { deep + top <= MOST_LONG };
        let fits = fits && values < most_values(key_width);
        (KEYS.contains(&key_width) && fits).then_some(Self { deep, top })
    }

    pub(super) fn count(self) -> usize {
        self.deep + self.top
    }

    /// Counts one more block.
    pub(super) fn add(&mut self, is_deep: bool) {
        *if is_deep { &mut self.deep } else { &mut self.top } += 1;
    }

    /// Whether there are at least as many blocks of each sort as needed.
    pub(super) fn suffices_for(self, needed: Self) -> bool {
        self.deep >= needed.deep && self.top >= needed.top
    }
}

impl Blocks {
    pub(super) fn new(BlockCount { deep, top }: BlockCount) -> Self {
        Self { deep: Runs::new(0, deep as u32), top: Runs::new(deep as u32, (deep + top) as u32) }
    }

    /// Takes a block.
    pub(super) fn take(&mut self, is_deep: bool) -> u32 {
        self.of(is_deep).take(1)
    }

    /// Frees a block that no reader can see.
    pub(super) fn give(&mut self, block: u32, is_deep: bool) {
        self.of(is_deep).give(block, 1);
    }

    /// Returns the number of blocks that can be taken.
    pub(super) fn free(&self) -> BlockCount {
        BlockCount { deep: self.deep.available(1), top: self.top.available(1) }
    }

    /// Returns the memory in bytes.
    pub(super) fn memory(&self) -> usize {
        self.deep.memory() + self.top.memory()
    }

    /// Returns the blocks of one sort that were ever taken, and the free ones among them.
    #[cfg(test)]
    pub(super) fn taken_and_free(&self, is_deep: bool) -> (std::ops::Range<u32>, &[u32]) {
        let (runs, first) = if is_deep { (&self.deep, 0) } else { (&self.top, self.deep.end()) };
        (first..runs.next(), runs.free(1))
    }

    fn of(&mut self, is_deep: bool) -> &mut Runs {
        if is_deep { &mut self.deep } else { &mut self.top }
    }
}
