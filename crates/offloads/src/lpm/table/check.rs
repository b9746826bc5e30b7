//! Invariants of a table of blocks between two changes.

use std::collections::HashSet;

use super::super::blocks::BlockCount;
use super::super::spread::Entry;
use super::super::writer::{Counted, Writer};
use super::{Retired, Table};

impl Table {
    /// Checks that no block is uniform, that the number of blocks is what the prefixes need, and
    /// that every other taken block is free or retired. Returns the number of blocks; `None` for a
    /// table of nodes.
    pub(in crate::lpm) fn checked_blocks(&self) -> Option<BlockCount> {
        let spread = self.fib.spread()?;
        let mut reached: [HashSet<u32>; 2] = Default::default();
        let direct = (0..1 << self.direct_bits).map(|slot| spread.direct(slot));
        let mut ahead: Vec<(u32, bool)> =
            direct.filter_map(Entry::block).map(|block| (block, false)).collect();
        while let Some((block, is_deep)) = ahead.pop() {
            assert!(reached[usize::from(is_deep)].insert(block), "block {block} has two places");
            let entries = spread.entries(block);
            let first = entries[0];
            assert!(entries.iter().any(|entry| *entry != first), "block {block} is uniform");
            ahead.extend(entries.into_iter().filter_map(Entry::block).map(|block| (block, true)));
        }
        let found = BlockCount { deep: reached[1].len(), top: reached[0].len() };

        let memory = Counted { spread: None, count: BlockCount::default() };
        let mut counter = Writer { rib: &self.rib, memory };
        for (slot, _) in self.rib.roots() {
            let value = self.rib.covering(slot);
            counter.below_direct(Entry::Value(value), slot, value);
        }
        assert_eq!(found, counter.memory.count, "the blocks that the prefixes need");

        for is_deep in [false, true] {
            let reached = &mut reached[usize::from(is_deep)];
            let retired = self.retired.iter().filter_map(|(_, retired)| match *retired {
                Retired::Block(block, deep) if deep == is_deep => Some(block),
                _ => None,
            });
            let (taken, free) = self.blocks.taken_and_free(is_deep);
            for block in retired.chain(free.iter().copied()) {
                assert!(reached.insert(block), "block {block} is in use, or was freed twice");
            }
            assert_eq!(*reached, taken.collect(), "deep: {is_deep}");
        }
        Some(found)
    }

    /// Makes all attempts to build new arrays fail, or succeed again.
    pub(in crate::lpm) fn be_without_memory(&mut self, is_without: bool) {
        self.is_without_memory = is_without;
    }
}
