//! Writes what the RIB says into a FIB of blocks.

use std::ops::Range;

use super::STRIDE;
use super::key::Key;
use super::rib::Rib;
use super::spread::{Entry, Spread};
use super::table::{Blocks, Retired};

/// Writes what the RIB says into a FIB of blocks.
pub(super) struct Writer<'a> {
    pub(super) rib: &'a Rib,
    pub(super) spread: &'a Spread,
    pub(super) blocks: &'a mut Blocks,
    pub(super) replaced: &'a mut Vec<Retired>,
}

impl Writer<'_> {
    /// Writes everything below a direct entry. Each entry changes at once, so that a lookup sees
    /// the old value of its key or the new one.
    pub(super) fn refresh(&mut self, slot: usize) {
        let (node, value) = (self.rib.root(slot), self.rib.covering(slot));
        let before = self.spread.direct(slot);
        let after = self.entry(before, node, value, false);
        if after != before {
            self.spread.set_direct(slot, after);
            self.replace(before, false);
        }
    }

    /// Writes what the prefixes of this length have changed in the last of the nodes that the key leads
    /// to; or, if it was `pruned`, that this node has lost the child there.
    pub(super) fn refresh_path(
        &mut self,
        key: &impl Key,
        direct_bits: u32,
        length: u32,
        path: &[u32],
        pruned: bool,
    ) {
        let direct = key.chunk(0, direct_bits);
        let (Entry::Block(mut block), Some((&last, above))) =
            (self.spread.direct(direct), path.split_last())
        else {
            return self.refresh(direct);
        };
        let (mut at, mut value) = (direct_bits, self.rib.covering(direct));
        for (&node, &child) in above.iter().zip(&path[1..]) {
            let slot = key.chunk(at, STRIDE);
            value = or_above(self.rib.slots(node)[slot], value);
            match self.spread.entry(block, slot) {
                Entry::Block(below) => block = below,
                before @ Entry::Value(_) => {
                    let after = self.entry(before, child, value, true);
                    return self.spread.set_entry(block, slot, after);
                }
            }
            at += STRIDE;
        }
        // The slots that the prefix covers.
        let more = if pruned { STRIDE } else { length - at };
        let (first, count) = (key.chunk(at, more) << (STRIDE - more), 1 << (STRIDE - more));
        self.fill(block, last, value, first..first + count);
    }

    /// Returns the entry for a node of the RIB, or for the value if there is none. Keeps the block
    /// of the entry before, if it named one.
    fn entry(&mut self, before: Entry, node: u32, value: u32, is_deep: bool) -> Entry {
        if node == 0 {
            return Entry::Value(value);
        }
        let block = match before {
            Entry::Block(block) => block,
            Entry::Value(_) => {
                let block = self.blocks.of(is_deep).take(1);
                self.spread.clear(block);
                block
            }
        };
        self.fill(block, node, value, 0..1 << STRIDE);
        Entry::Block(block)
    }

    /// Writes these entries of a block: of each slot the value of the node's longest prefix, or the
    /// value from above.
    fn fill(&mut self, block: u32, node: u32, above: u32, range: Range<usize>) {
        let rib = self.rib;
        let (bitmap, children) = rib.children(node);
        let before = (bitmap & ((1 << range.start) - 1)).count_ones() as usize;
        let mut children = children[before..].iter().copied();
        let slots = rib.slots(node);
        for slot in range {
            let value = or_above(slots[slot], above);
            let child = if bitmap >> slot & 1 == 1 { children.next().unwrap_or(0) } else { 0 };
            let before = self.spread.entry(block, slot);
            let after = self.entry(before, child, value, true);
            if after != before {
                self.spread.set_entry(block, slot, after);
                self.replace(before, true);
            }
        }
    }

    /// Retires the blocks that an entry named before it was replaced.
    fn replace(&mut self, before: Entry, is_deep: bool) {
        let Entry::Block(block) = before else { return };
        self.replaced.push(Retired::Block(block, is_deep));
        for slot in 0..1 << STRIDE {
            let below = self.spread.entry(block, slot);
            self.replace(below, true);
        }
    }
}

/// The value of a node's longest prefix, or that from above if it has none.
fn or_above(own: u32, above: u32) -> u32 {
    if own == 0 { above } else { own }
}
