//! Writes the content of the RIB into a FIB of blocks.
//!
//! No block is uniform: a value replaces a block whose entries are all equal. A change can
//! therefore remove blocks, up to the direct entry, and can split a value into a block. The writer
//! first computes the new entries of a block, including the blocks below it. If they are all equal,
//! one store in the entry above publishes the value, and readers inside the block see it unchanged.
//! A new block is published when it is complete.

use std::ops::Range;

use super::STRIDE;
use super::blocks::{BlockCount, Blocks};
use super::key::Key;
use super::rib::{Change, Rib};
use super::spread::{ENTRIES, Entry, Spread};
use super::table::Retired;

/// Computes the entries that the RIB requires, and passes them to a memory.
pub(super) struct Writer<'a, M> {
    pub(super) rib: &'a Rib,
    pub(super) memory: M,
}

/// The entries before a change, and the treatment of the new ones.
pub(super) trait Memory {
    /// Returns a direct entry.
    fn direct(&self, slot: usize) -> Entry;

    /// Returns an entry of a block.
    fn entry(&self, block: u32, slot: usize) -> Entry;

    /// Returns the entries of a block.
    fn entries(&self, block: u32) -> [Entry; ENTRIES];

    /// Takes a new block and writes its entries. Returns the number of the block.
    fn create(&mut self, entries: &[Entry; ENTRIES], is_deep: bool) -> u32;

    /// Changes a direct entry.
    fn change_direct(&mut self, slot: usize, before: Entry, after: Entry);

    /// Changes an entry of a block.
    fn change(&mut self, block: u32, slot: usize, before: Entry, after: Entry);
}

/// A memory that writes blocks, and retires blocks that no entry refers to any more.
pub(super) struct Written<'a> {
    pub(super) spread: &'a Spread,
    pub(super) blocks: &'a mut Blocks,
    pub(super) replaced: &'a mut Vec<Retired>,
}

/// A memory that counts new blocks and writes nothing.
pub(super) struct Counted<'a> {
    /// The FIB before the change; `None` if all blocks are new.
    pub(super) spread: Option<&'a Spread>,
    pub(super) count: BlockCount,
}

/// A change of the RIB at a prefix.
pub(super) struct Changed<'a, K> {
    pub(super) key: &'a K,
    pub(super) direct_bits: u32,
    /// The length of the prefix in bits.
    pub(super) length: u32,
    pub(super) change: &'a Change,
}

/// The path of a changed prefix through the nodes below its direct entry.
struct Path<'a, K> {
    key: &'a K,
    /// The number of key bits above the first node.
    at: u32,
    nodes: &'a [u32],
    /// The number of key bits that select the changed slots in the last node.
    last: u32,
}

impl<M: Memory> Writer<'_, M> {
    /// Writes the entries that a change of the RIB affects.
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

    /// Returns the new direct entry for a slot to which short prefixes give this value.
    pub(super) fn below_direct(&mut self, before: Entry, slot: usize, value: u32) -> Entry {
        self.below(before, self.rib.root(slot), value, false)
    }

    /// Returns the new entry for the node at this depth of a path. Entries off the path have not
    /// changed. So only the path and everything below the changed prefix are computed.
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

    /// Returns the new entry for a node of the RIB and everything below it, or for the value if
    /// there is no node.
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

    /// Computes these entries of a block. Each slot gets the value of the longest prefix of the
    /// node, or the value from above.
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

    /// Returns the entry at a slot of the next bits. A value applies to all slots.
    fn entry(&self, entry: Entry, slot: usize) -> Entry {
        match entry {
            Entry::Block(block) => self.memory.entry(block, slot),
            Entry::Value(_) => entry,
        }
    }

    /// Gives a block new entries at these slots, and returns the entry that refers to the block. If
    /// the entry before was a block, the block is kept. Otherwise `new` contains the entry before
    /// at all other slots.
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
    /// Returns the path to the change; `None` if no node below the direct entry remains.
    fn path(&self) -> Option<Path<'_, K>> {
        let Change::Path { nodes, pruned } = self.change else { return None };
        let above = self.direct_bits + (nodes.len() as u32).checked_sub(1)? * STRIDE;
        let last = if *pruned { STRIDE } else { self.length - above };
        Some(Path { key: self.key, at: self.direct_bits, nodes, last })
    }

    /// Returns an upper bound of the blocks that the change needs. A bound above `limit` is not
    /// exact.
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
    /// Returns the slots that the change affects in the node at a depth.
    fn slots(&self, depth: usize) -> Range<usize> {
        let more = if depth + 1 == self.nodes.len() { self.last } else { STRIDE };
        let first = self.key.chunk(self.at + depth as u32 * STRIDE, more) << (STRIDE - more);
        first..first + (1 << (STRIDE - more))
    }
}

impl Written<'_> {
    /// Retires the blocks below an entry that was replaced.
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

/// Returns the value of a node's longest prefix, or the value from above if there is none.
fn or_above(own: u32, above: u32) -> u32 {
    if own == 0 { above } else { own }
}
