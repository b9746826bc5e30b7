//! The free entries of a memory.
//!
//! Blocks have 1, 16, 256 or 4,096 entries and begin at a multiple of their size. If no block of
//! the requested size is free, a larger block is divided into sixteen; sixteen free neighbours
//! merge into one again.

use std::collections::BTreeSet;

/// The sizes of blocks, as powers of two.
const SIZES: [u32; 4] = [0, 4, 8, 12];

/// The free blocks of a part of a memory.
#[derive(Clone, Debug)]
pub(super) struct Region {
    free: [BTreeSet<u32>; SIZES.len()],
}

impl Region {
    /// Creates a region of the entries `from .. to`, all free. Both are multiples of 4,096.
    pub(super) fn new(from: u32, to: u32) -> Self {
        let mut free: [BTreeSet<u32>; SIZES.len()] = Default::default();
        free[3] = (from..to).step_by(1 << SIZES[3]).collect();
        Self { free }
    }

    /// Allocates the lowest free block of `1 << bits` entries, or the highest.
    pub(super) fn take(&mut self, bits: u32, lowest: bool) -> Option<u32> {
        let size = SIZES.iter().position(|&size| size == bits)?;
        let from = (size..SIZES.len()).find(|&larger| !self.free[larger].is_empty())?;
        let set = &mut self.free[from];
        let block = if lowest { set.pop_first() } else { set.pop_last() }?;
        // Divide it until it has the requested size.
        let mut block = block;
        for divided in (size..from).rev() {
            let parts = (0..16).map(|part| block + (part << SIZES[divided]));
            self.free[divided].extend(parts);
            let set = &mut self.free[divided];
            block = if lowest { set.pop_first() } else { set.pop_last() }?;
        }
        Some(block)
    }

    /// Frees a block of `1 << bits` entries.
    pub(super) fn give(&mut self, block: u32, bits: u32) {
        let mut block = block;
        for (size, &bits) in SIZES.iter().enumerate().skip_while(|&(_, &size)| size < bits) {
            self.free[size].insert(block);
            let group = block >> (bits + 4) << (bits + 4);
            let neighbours = group..group + (16 << bits);
            if size + 1 == SIZES.len() || self.free[size].range(neighbours.clone()).count() < 16 {
                return;
            }
            neighbours.step_by(1 << bits).for_each(|part| assert!(self.free[size].remove(&part)));
            block = group;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_do_not_overlap_and_come_together_again() {
        let mut region = Region::new(4096, 3 * 4096);
        let mut taken: Vec<(u32, u32)> = Vec::new();
        for i in 0..60 {
            let bits = SIZES[i % 3];
            let block = region.take(bits, i % 2 == 0).expect("there is room");
            assert_eq!(block % (1 << bits), 0);
            let end = block + (1 << bits);
            assert!(block >= 4096 && end <= 3 * 4096);
            assert!(
                taken.iter().all(|&(at, size)| end <= at || at + (1 << size) <= block),
                "{taken:?} {block}"
            );
            taken.push((block, bits));
        }
        taken.iter().rev().for_each(|&(block, bits)| region.give(block, bits));
        let whole = [region.take(12, true), region.take(12, true), region.take(12, true)];
        assert_eq!(whole, [Some(4096), Some(8192), None]);
        assert_eq!(region.take(0, true), None);
    }
}
