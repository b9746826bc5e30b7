//! Writes what the RIB says into a FIB of blocks.
//!
//! The entries of a block do not all have one value: if they would, the value stands in place of the
//! block. So a change can end blocks, up to the direct entry, and can split a value into a block.
//! The new entries of a block are computed first, those of the blocks below it included. If they agree,
//! readers see the value by one store in the entry above, and the block stays as it was for those that
//! are in it. A new block is published when it is complete.

use std::ops::Range;

use super::STRIDE;
use super::blocks::{BlockCount, Blocks};
use super::key::Key;
use super::rib::{Change, Rib};
use super::spread::{ENTRIES, Entry, Spread};
use super::table::Retired;

/// Computes what the RIB says, and makes it so.
pub(super) struct Writer<'a, M> {
    pub(super) rib: &'a Rib,
    pub(super) memory: M,
}

/// What becomes of the entries that are computed.
pub(super) trait Memory {
    /// A direct entry.
    fn direct(&self, slot: usize) -> Entry;

    /// An entry of a block.
    fn entry(&self, block: u32, slot: usize) -> Entry;

    /// The entries of a block.
    fn entries(&self, block: u32) -> [Entry; ENTRIES];

    /// Takes a new block and writes its entries. Returns its number.
    fn create(&mut self, entries: &[Entry; ENTRIES], is_deep: bool) -> u32;

    /// Changes a direct entry.
    fn change_direct(&mut self, slot: usize, before: Entry, after: Entry);

    /// Changes an entry of a block.
    fn change(&mut self, block: u32, slot: usize, before: Entry, after: Entry);
}

/// Blocks are written, and those that are no longer named are retired.
pub(super) struct Written<'a> {
    pub(super) spread: &'a Spread,
    pub(super) blocks: &'a mut Blocks,
    pub(super) replaced: &'a mut Vec<Retired>,
}

/// New blocks are counted and nothing is written.
pub(super) struct Counted<'a> {
    /// The FIB before a change; `None` if all blocks are new.
    pub(super) spread: Option<&'a Spread>,
    pub(super) count: BlockCount,
}

/// A change of the RIB at a prefix.
pub(super) struct Changed<'a, K> {
    pub(super) key: &'a K,
    pub(super) direct_bits: u32,
    /// The length of the prefix.
    pub(super) length: u32,
    pub(super) change: &'a Change,
}

/// The path of a changed prefix through the nodes below its direct entry.
struct Path<'a, K> {
    key: &'a K,
    /// The key's bits above the first node.
    at: u32,
    nodes: &'a [u32],
    /// The bits by which the last node chooses the slots that have changed.
    last: u32,
}

impl<M: Memory> Writer<'_, M> {
    /// Writes what a change of the RIB has changed.
    pub(super) fn apply<K: Key>(&mut self, changed: &Changed<'_, K>) {
        match changed.change {
            Change::Direct(slots, value) => {
                for &slot in slots {
                    let before = self.memory.direct(slot);
                    let after = self.below_direct(before, slot, *value);
                    self.memory.change_direct(slot, before, after);
                }
            }
            Change::Path { .. } => {
                let slot = changed.key.chunk(0, changed.direct_bits);
                let (before, value) = (self.memory.direct(slot), self.rib.covering(slot));
                let after = match changed.path() {
                    Some(path) => self.along(before, &path, 0, value),
                    None => Entry::Value(value),
                };
                self.memory.change_direct(slot, before, after);
            }
        }
    }

    /// Returns the entry for everything below a direct entry that short prefixes give this value.
    pub(super) fn below_direct(&mut self, before: Entry, slot: usize, value: u32) -> Entry {
        self.below(before, self.rib.root(slot), value, false)
    }

    /// Returns the entry for the node of a path at this depth. What is not on the path has not changed,
    /// so that only the path is computed, and all that is below the changed prefix.
    fn along<K: Key>(
        &mut self,
        before: Entry,
        path: &Path<'_, K>,
        depth: usize,
        above: u32,
    ) -> Entry {
        let (node, range) = (path.nodes[depth], path.slots(depth));
        let mut new = [before; ENTRIES];
        for slot in range.clone() {
            new[slot] = self.entry(before, slot);
        }
        match path.nodes.get(depth + 1) {
            None => self.fill(&mut new, node, above, range.clone()),
            Some(_) => {
                let slot = range.start;
                let value = or_above(self.rib.slot(node, slot), above);
                new[slot] = self.along(new[slot], path, depth + 1, value);
            }
        }
        self.store(before, &new, range, depth > 0)
    }

    /// Returns the entry for everything below a node of the RIB, or for the value if there is none.
    fn below(&mut self, before: Entry, node: u32, above: u32, is_deep: bool) -> Entry {
        if node == 0 {
            return Entry::Value(above);
        }
        let mut new = match before {
            Entry::Block(block) => self.memory.entries(block),
            Entry::Value(_) => [before; ENTRIES],
        };
        self.fill(&mut new, node, above, 0..ENTRIES);
        self.store(before, &new, 0..ENTRIES, is_deep)
    }

    /// Computes these entries of a block from those of before: of each slot the value of the node's
    /// longest prefix, or the value from above.
    fn fill(&mut self, entries: &mut [Entry; ENTRIES], node: u32, above: u32, range: Range<usize>) {
        let rib = self.rib;
        let (bitmap, mut children) = rib.children_in(node, range.clone());
        let slots = rib.slots(node);
        for slot in range {
            let value = or_above(slots[slot], above);
            entries[slot] = match bitmap >> slot & 1 {
                0 => Entry::Value(value),
                _ => self.below(entries[slot], children.next().unwrap_or(0), value, true),
            };
        }
    }

    /// The entry that an entry stands for at a slot of the next bits.
    fn entry(&self, entry: Entry, slot: usize) -> Entry {
        match entry {
            Entry::Block(block) => self.memory.entry(block, slot),
            Entry::Value(_) => entry,
        }
    }

    /// Makes a block have new entries at these slots, and returns the entry that stands for the block.
    /// Keeps the block that the entry before named; without one, `new` has that entry at all other
    /// slots.
    fn store(
        &mut self,
        before: Entry,
        new: &[Entry; ENTRIES],
        range: Range<usize>,
        is_deep: bool,
    ) -> Entry {
        let first = new[range.start];
        let is_uniform = matches!(first, Entry::Value(_))
            && new[range.clone()].iter().all(|entry| *entry == first)
            && (0..range.start).chain(range.end..ENTRIES).all(|s| self.entry(before, s) == first);
        if is_uniform {
            return first;
        }
        let Entry::Block(block) = before else {
            return Entry::Block(self.memory.create(new, is_deep));
        };
        for slot in range {
            let old = self.memory.entry(block, slot);
            if old != new[slot] {
                self.memory.change(block, slot, old, new[slot]);
            }
        }
        before
    }
}

impl<K: Key> Changed<'_, K> {
    /// The path to the change, if it is below a direct entry and a node is left there.
    fn path(&self) -> Option<Path<'_, K>> {
        let Change::Path { nodes, pruned } = self.change else { return None };
        let above = self.direct_bits + (nodes.len() as u32).checked_sub(1)? * STRIDE;
        let last = if *pruned { STRIDE } else { self.length - above };
        Some(Path { key: self.key, at: self.direct_bits, nodes, last })
    }

    /// An upper bound of the blocks that the change needs. One of more than `limit` is not exact.
    pub(super) fn most_blocks(&self, rib: &Rib, limit: usize) -> usize {
        if let Change::Direct(slots, _) = self.change {
            return slots.iter().fold(0, |count, &slot| rib.size(rib.root(slot), count, limit));
        }
        let Some(path) = self.path() else { return 0 };
        let depth = path.nodes.len() - 1;
        let (_, children) = rib.children_in(path.nodes[depth], path.slots(depth));
        children.fold(depth + 1, |count, child| rib.size(child, count, limit))
    }
}

impl<K: Key> Path<'_, K> {
    /// The slots of the node at a depth that the change concerns.
    fn slots(&self, depth: usize) -> Range<usize> {
        let more = if depth + 1 == self.nodes.len() { self.last } else { STRIDE };
        let first = self.key.chunk(self.at + depth as u32 * STRIDE, more) << (STRIDE - more);
        first..first + (1 << (STRIDE - more))
    }
}

impl Written<'_> {
    /// Retires the blocks that an entry named before it was replaced.
    fn retire(&mut self, before: Entry, is_deep: bool) {
        let Entry::Block(block) = before else { return };
        self.replaced.push(Retired::Block(block, is_deep));
        for below in self.spread.entries(block) {
            self.retire(below, true);
        }
    }
}

impl Memory for Written<'_> {
    fn direct(&self, slot: usize) -> Entry {
        self.spread.direct(slot)
    }

    fn entry(&self, block: u32, slot: usize) -> Entry {
        self.spread.entry(block, slot)
    }

    fn entries(&self, block: u32) -> [Entry; ENTRIES] {
        self.spread.entries(block)
    }

    fn create(&mut self, entries: &[Entry; ENTRIES], is_deep: bool) -> u32 {
        let block = self.blocks.take(is_deep);
        for (slot, &entry) in entries.iter().enumerate() {
            self.spread.set_entry(block, slot, entry);
        }
        block
    }

    fn change_direct(&mut self, slot: usize, before: Entry, after: Entry) {
        if after != before {
            self.spread.set_direct(slot, after);
            self.retire(before, false);
        }
    }

    fn change(&mut self, block: u32, slot: usize, before: Entry, after: Entry) {
        self.spread.set_entry(block, slot, after);
        self.retire(before, true);
    }
}

impl Memory for Counted<'_> {
    fn direct(&self, slot: usize) -> Entry {
        self.spread.expect("a change is one of a FIB").direct(slot)
    }

    fn entry(&self, block: u32, slot: usize) -> Entry {
        self.spread.expect("it has this block").entry(block, slot)
    }

    fn entries(&self, block: u32) -> [Entry; ENTRIES] {
        self.spread.expect("it has this block").entries(block)
    }

    fn create(&mut self, _: &[Entry; ENTRIES], is_deep: bool) -> u32 {
        self.count.add(is_deep);
        u32::MAX
    }

    fn change_direct(&mut self, _: usize, _: Entry, _: Entry) {}

    fn change(&mut self, _: u32, _: usize, _: Entry, _: Entry) {}
}

/// The value of a node's longest prefix, or that from above if it has none.
fn or_above(own: u32, above: u32) -> u32 {
    if own == 0 { above } else { own }
}
