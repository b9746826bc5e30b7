//! The source of truth: the prefixes of the table, by the trie node that they end in.

use std::collections::BTreeMap;
use std::ops::Bound;

use wireloom_bits::Bits;

use super::STRIDE;
use super::fib::leaf_bitmap;
use super::key::Key;
use super::lists::{List, Lists};
use super::present::{Bitmaps, Present};

/// A node: the prefixes that end 1 to 6 bits after its first bit, and its children. Tables of long,
/// scattered prefixes have many nodes with one child and no prefix, so nodes are small.
#[derive(Clone, Copy, Default)]
struct RibNode {
    /// The bitmap of the 64 slots that have a child.
    children: u64,
    /// The prefixes that end in the node.
    present: Present,
    /// The numbers of the values in the order of `present`, then the children in the order of their
    /// slots. Most nodes have one word in total.
    words: List,
}

const _: () = assert!(size_of::<RibNode>() == 16);

/// Returns the number of bits set below bit `index`.
fn rank(bitmap: u64, index: usize) -> usize {
    (bitmap & ((1 << index) - 1)).count_ones() as usize
}

/// Returns whether a set contains a prefix, and the number of prefixes before it.
fn place(present: &[u64; 2], position: usize) -> (bool, usize) {
    let below = if position < 64 { 0 } else { present[0].count_ones() as usize };
    let word = present[position / 64];
    (word >> (position % 64) & 1 == 1, below + rank(word, position % 64))
}

fn count(present: &[u64; 2]) -> usize {
    present.iter().map(|word| word.count_ones() as usize).sum()
}

impl RibNode {
    /// Returns the number of words of a node with this set of prefixes.
    fn word_count(&self, present: &[u64; 2]) -> usize {
        count(present) + self.children.count_ones() as usize
    }

    fn is_empty(&self) -> bool {
        self.present == Present::default() && self.children == 0
    }
}

pub(super) struct Rib {
    direct_bits: u32,
    /// The prefixes of at most `direct_bits` bits. The key is the right-aligned bits and the
    /// length, the value the number of the prefix's value.
    short: BTreeMap<(u32, u32), u32>,
    /// For each direct entry, 1 plus the length of the longest short prefix that covers it; 0 if
    /// there is none.
    covered: Vec<u8>,
    /// For each direct entry, the node below it; 0 if there is none.
    roots: Vec<u32>,
    nodes: Vec<RibNode>,
    /// The sets of nodes with several prefixes.
    bitmaps: Bitmaps,
    /// The words of all nodes.
    lists: Lists,
    free: Vec<u32>,
    count: usize,
}

/// The update of the FIB that a change of the RIB requires.
pub(super) enum Change {
    /// The direct entries that have a new value, and the value.
    Direct(Vec<usize>, u32),
    /// A change below a direct entry. Either the prefixes of the last node have changed, or the
    /// node has lost the child that the key leads to.
    Path {
        /// The nodes from the root down to the changed one. Empty if none remains.
        nodes: Vec<u32>,
        /// Whether the last node lost a child (or the direct entry lost its root).
        pruned: bool,
    },
}

impl Rib {
    pub(super) fn new(direct_bits: u32) -> Self {
        Self {
            direct_bits,
            short: BTreeMap::new(),
            covered: vec![0; 1 << direct_bits],
            roots: vec![0; 1 << direct_bits],
            nodes: vec![RibNode::default()],
            bitmaps: Bitmaps::default(),
            lists: Lists::default(),
            free: Vec::new(),
            count: 0,
        }
    }

    /// Returns the number of prefixes.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Returns the number of nodes.
    pub(super) fn node_count(&self) -> usize {
        self.nodes.len() - 1 - self.free.len()
    }

    /// Returns the set of prefixes of a node, the numbers of their values, and the children.
    fn parts(&self, id: u32) -> ([u64; 2], &[u32], &[u32]) {
        let node = &self.nodes[id as usize];
        let present = self.bitmaps.bits(node.present);
        let words = self.lists.words(&node.words, node.word_count(&present));
        let (values, children) = words.split_at(count(&present));
        (present, values, children)
    }

    /// Returns the bitmap of the slots with a child, and the children.
    pub(super) fn children(&self, id: u32) -> (u64, &[u32]) {
        let (_, _, children) = self.parts(id);
        (self.nodes[id as usize].children, children)
    }

    /// Returns the bitmap of all slots with a child, and the children at these slots.
    pub(super) fn children_in(
        &self,
        id: u32,
        slots: std::ops::Range<usize>,
    ) -> (u64, impl Iterator<Item = u32>) {
        let (bitmap, children) = self.children(id);
        let within = bitmap & u64::MAX >> (64 - slots.len()) << slots.start;
        let first = rank(bitmap, slots.start);
        (bitmap, children[first..first + within.count_ones() as usize].iter().copied())
    }

    /// Returns `count` plus the number of nodes of a subtree. A result above `limit` is not exact.
    pub(super) fn size(&self, id: u32, count: usize, limit: usize) -> usize {
        if id == 0 || count > limit {
            return count;
        }
        let (_, children) = self.children(id);
        children.iter().fold(count + 1, |count, &child| self.size(child, count, limit))
    }

    fn child(&self, id: u32, slot: usize) -> Option<u32> {
        let (bitmap, children) = self.children(id);
        (bitmap >> slot & 1 == 1).then(|| children[rank(bitmap, slot)])
    }

    fn add_child(&mut self, id: u32, slot: usize, child: u32) {
        let Self { nodes, bitmaps, lists, .. } = self;
        let node = &mut nodes[id as usize];
        let present = bitmaps.bits(node.present);
        let at = count(&present) + rank(node.children, slot);
        let words = node.word_count(&present);
        lists.insert(&mut node.words, words, at, child);
        node.children |= 1 << slot;
    }

    fn remove_child(&mut self, id: u32, slot: usize) {
        let Self { nodes, bitmaps, lists, .. } = self;
        let node = &mut nodes[id as usize];
        let present = bitmaps.bits(node.present);
        let at = count(&present) + rank(node.children, slot);
        let words = node.word_count(&present);
        lists.remove(&mut node.words, words, at);
        node.children &= !(1 << slot);
    }

    fn set(&mut self, id: u32, position: usize, value: u32) -> Option<u32> {
        let Self { nodes, bitmaps, lists, .. } = self;
        let node = &mut nodes[id as usize];
        let mut present = bitmaps.bits(node.present);
        let (words, (there, at)) = (node.word_count(&present), place(&present, position));
        if there {
            let words = lists.words_mut(&mut node.words, words);
            return Some(std::mem::replace(&mut words[at], value));
        }
        lists.insert(&mut node.words, words, at, value);
        present[position / 64] |= 1 << (position % 64);
        bitmaps.set(&mut node.present, present);
        None
    }

    fn unset(&mut self, id: u32, position: usize) -> Option<u32> {
        let Self { nodes, bitmaps, lists, .. } = self;
        let node = &mut nodes[id as usize];
        let mut present = bitmaps.bits(node.present);
        let (words, (there, at)) = (node.word_count(&present), place(&present, position));
        if !there {
            return None;
        }
        let value = lists.remove(&mut node.words, words, at);
        present[position / 64] &= !(1 << (position % 64));
        bitmaps.set(&mut node.present, present);
        Some(value)
    }

    /// Returns the position of each prefix of a node and the number of its value, shorter prefixes
    /// first.
    fn prefixes(&self, id: u32) -> impl Iterator<Item = (usize, u32)> {
        let (present, values, _) = self.parts(id);
        let mut left = u128::from(present[1]) << 64 | u128::from(present[0]);
        values.iter().map(move |&value| {
            let position = left.trailing_zeros() as usize;
            left &= left - 1;
            (position, value)
        })
    }

    /// Returns the number of the best value for each slot of a node, or 0 if no prefix of this node
    /// covers it.
    pub(super) fn slots(&self, id: u32) -> [u32; 64] {
        let mut slots = [0; 64];
        for (position, value) in self.prefixes(id) {
            let length = position.ilog2();
            let shift = STRIDE - length;
            let first = (position - (1 << length)) << shift;
            slots[first..first + (1 << shift)].fill(value);
        }
        slots
    }

    /// Returns the number of the best value for one slot of a node, or 0 if no prefix of this node
    /// covers it.
    pub(super) fn slot(&self, id: u32, slot: usize) -> u32 {
        let (present, values, _) = self.parts(id);
        if values.is_empty() {
            return 0;
        }
        let covering = (1..=STRIDE).rev().map(|length| (1 << length) + (slot >> (STRIDE - length)));
        let mut places = covering.map(|position| place(&present, position));
        places.find(|(there, _)| *there).map_or(0, |(_, at)| values[at])
    }

    /// Returns the number of leaves of all nodes.
    pub(super) fn leaf_count(&self) -> usize {
        let nodes = 0..self.nodes.len() as u32;
        nodes.map(|id| leaf_bitmap(&self.slots(id)).count_ones() as usize).sum()
    }

    /// Returns the direct entries with a node below, and the node.
    pub(super) fn roots(&self) -> impl Iterator<Item = (usize, u32)> {
        self.roots.iter().copied().enumerate().filter(|(_, root)| *root != 0)
    }

    /// Returns, for each direct entry, the number of the value of the longest short prefix that
    /// covers it; 0 if there is none.
    pub(super) fn all_covering(&self) -> Vec<u32> {
        let mut values = vec![0; 1 << self.direct_bits];
        for (range, value) in self.short_ranges() {
            values[range].fill(value);
        }
        values
    }

    /// Returns the short prefixes, shortest first, as ranges of direct entries and numbers of
    /// values.
    pub(super) fn short_ranges(&self) -> Vec<(std::ops::Range<usize>, u32)> {
        let mut all: Vec<_> =
            self.short.iter().map(|(&(bits, length), &value)| (length, bits, value)).collect();
        all.sort_unstable();
        all.into_iter().map(|(length, bits, value)| (self.range(bits, length), value)).collect()
    }

    /// Returns the node below a direct entry; 0 if there is none.
    pub(super) fn root(&self, slot: usize) -> u32 {
        self.roots[slot]
    }

    /// Returns the number of the value of the longest short prefix that covers a direct entry; 0 if
    /// there is none.
    pub(super) fn covering(&self, slot: usize) -> u32 {
        let Some(length) = self.covered[slot].checked_sub(1) else { return 0 };
        let length = u32::from(length);
        self.short[&((slot as u64 >> (self.direct_bits - length)) as u32, length)]
    }

    fn range(&self, bits: u32, length: u32) -> std::ops::Range<usize> {
        let shift = self.direct_bits - length;
        (bits as usize) << shift..(bits as usize + 1) << shift
    }

    fn short_bits(key: &impl Key, length: u32) -> u32 {
        if length == 0 { 0 } else { key.chunk(0, length) as u32 }
    }

    /// Returns the location of a prefix of `length` bits: the number of key bits before its node,
    /// and the position in the node.
    fn position(&self, key: &impl Key, length: u32) -> (u32, usize) {
        let depth = (length - self.direct_bits - 1) / STRIDE;
        let at = self.direct_bits + depth * STRIDE;
        let more = length - at;
        (at, (1 << more) + key.chunk(at, more))
    }

    /// Returns the number of a prefix's value.
    pub(super) fn find(&self, key: &impl Key, length: u32) -> Option<u32> {
        if length <= self.direct_bits {
            return self.short.get(&(Self::short_bits(key, length), length)).copied();
        }
        let (end, position) = self.position(key, length);
        let mut node = self.roots[key.chunk(0, self.direct_bits)];
        let mut at = self.direct_bits;
        while node != 0 && at < end {
            node = self.child(node, key.chunk(at, STRIDE)).unwrap_or(0);
            at += STRIDE;
        }
        if node == 0 {
            return None;
        }
        let (present, values, _) = self.parts(node);
        let (there, at) = place(&present, position);
        there.then(|| values[at])
    }

    /// Inserts or replaces a prefix. Returns the number of its previous value, if any.
    pub(super) fn insert(
        &mut self,
        key: &impl Key,
        length: u32,
        value: u32,
    ) -> (Option<u32>, Change) {
        if length <= self.direct_bits {
            let bits = Self::short_bits(key, length);
            let before = self.short.insert((bits, length), value);
            self.count += usize::from(before.is_none());
            let mark = length as u8 + 1;
            let mut changed = Vec::new();
            for slot in self.range(bits, length) {
                if self.covered[slot] <= mark {
                    self.covered[slot] = mark;
                    changed.push(slot);
                }
            }
            return (before, Change::Direct(changed, value));
        }
        let (end, position) = self.position(key, length);
        let slot = key.chunk(0, self.direct_bits);
        if self.roots[slot] == 0 {
            self.roots[slot] = self.add_node();
        }
        let mut path = vec![self.roots[slot]];
        let mut at = self.direct_bits;
        while at < end {
            let (node, slot) = (path[path.len() - 1], key.chunk(at, STRIDE));
            let child = self.child(node, slot).unwrap_or_else(|| {
                let child = self.add_node();
                self.add_child(node, slot, child);
                child
            });
            path.push(child);
            at += STRIDE;
        }
        let before = self.set(path[path.len() - 1], position, value);
        self.count += usize::from(before.is_none());
        (before, Change::Path { nodes: path, pruned: false })
    }

    /// Removes a prefix. Returns the number of its value, or `None` if the prefix is absent.
    pub(super) fn remove(&mut self, key: &impl Key, length: u32) -> Option<(u32, Change)> {
        if length <= self.direct_bits {
            return self.remove_short(Self::short_bits(key, length), length);
        }
        let (end, position) = self.position(key, length);
        let mut path = vec![self.roots[key.chunk(0, self.direct_bits)]];
        let mut at = self.direct_bits;
        while path[path.len() - 1] != 0 && at < end {
            path.push(self.child(path[path.len() - 1], key.chunk(at, STRIDE)).unwrap_or(0));
            at += STRIDE;
        }
        let last = path[path.len() - 1];
        if last == 0 {
            return None;
        }
        let before = self.unset(last, position)?;
        self.count -= 1;
        let mut pruned = false;
        while let Some(&last) = path.last()
            && self.nodes[last as usize].is_empty()
        {
            path.pop();
            self.nodes[last as usize] = RibNode::default();
            self.free.push(last);
            pruned = true;
            match path.last() {
                Some(&parent) => {
                    let at = self.direct_bits + (path.len() as u32 - 1) * STRIDE;
                    self.remove_child(parent, key.chunk(at, STRIDE));
                }
                None => self.roots[key.chunk(0, self.direct_bits)] = 0,
            }
        }
        Some((before, Change::Path { nodes: path, pruned }))
    }

    fn remove_short(&mut self, bits: u32, length: u32) -> Option<(u32, Change)> {
        let before = self.short.remove(&(bits, length))?;
        self.count -= 1;
        let cover = (0..length).rev().find_map(|l| {
            self.short.get(&(bits >> (length - l), l)).map(|&value| (l as u8 + 1, value))
        });
        let (cover, value) = cover.unwrap_or((0, 0));
        let mut changed = Vec::new();
        for slot in self.range(bits, length) {
            if self.covered[slot] == length as u8 + 1 {
                self.covered[slot] = cover;
                changed.push(slot);
            }
        }
        Some((before, Change::Direct(changed, value)))
    }

    fn add_node(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.nodes.push(RibNode::default());
            (self.nodes.len() - 1) as u32
        })
    }

    /// Visits the prefixes after another one, or all, while `visit` returns true. `visit` takes the
    /// bits at the key's `width` (zero after the length), the length and the number of the value.
    ///
    /// First come the prefixes of at most `direct_bits` bits, by their bits and lengths. The others
    /// follow by their first `direct_bits` bits, and then in the order of the trie, a node before
    /// its children.
    pub(super) fn for_each_after(
        &self,
        width: u32,
        after: Option<(&Bits, u32)>,
        visit: &mut dyn FnMut(Bits, u32, u32) -> bool,
    ) {
        let top = |bits: u32, length: u32| {
            Bits::zero(width).with_slice(width - length, &Bits::new(32, u128::from(bits)))
        };
        let leading = |bits: &Bits, count: u32| match count {
            0 => 0,
            count => bits.extract(width - count, count) as u32,
        };
        let is_short = |length: u32| length <= self.direct_bits;
        let (short, long) = match after {
            None => (Some(Bound::Unbounded), None),
            Some((bits, length)) if is_short(length) => {
                (Some(Bound::Excluded((leading(bits, length), length))), None)
            }
            Some(after) => (None, Some(after)),
        };
        if let Some(first) = short {
            for (&(bits, length), &value) in self.short.range((first, Bound::Unbounded)) {
                if !visit(top(bits, length), length, value) {
                    return;
                }
            }
        }
        let first = long.map_or(0, |(bits, _)| leading(bits, self.direct_bits) as usize);
        for (slot, &root) in self.roots.iter().enumerate().skip(first) {
            let after = long.filter(|_| slot == first);
            if root != 0
                && !self.visit_node(
                    root,
                    self.direct_bits,
                    &top(slot as u32, self.direct_bits),
                    after,
                    visit,
                )
            {
                return;
            }
        }
    }

    /// Visits the prefixes of a subtree, whose root begins at bit `at` of the keys. Those that are
    /// not after `after`, a prefix in this subtree, are left out. Returns the last result of
    /// `visit`.
    fn visit_node(
        &self,
        id: u32,
        at: u32,
        base: &Bits,
        after: Option<(&Bits, u32)>,
        visit: &mut dyn FnMut(Bits, u32, u32) -> bool,
    ) -> bool {
        let ((bitmap, children), width) = (self.children(id), base.width());
        // The last position that is left out, and the child in which `after` is.
        let (last, inside) = match after {
            None => (0, None),
            Some((bits, length)) if length <= at + STRIDE => {
                let more = length - at;
                ((1 << more) + bits.extract(width - length, more) as usize, None)
            }
            Some((bits, _)) => (usize::MAX, Some(bits.extract(width - at - STRIDE, STRIDE))),
        };
        for (position, value) in self.prefixes(id).filter(|(position, _)| *position > last) {
            let more = position.ilog2();
            let bits = Bits::new(6, (position - (1 << more)) as u128).resize(more);
            if !visit(base.with_slice(width - at - more, &bits), at + more, value) {
                return false;
            }
        }
        let slots = (0..64u64).filter(|slot| bitmap >> slot & 1 == 1);
        for (slot, &child) in slots.zip(children).filter(|(slot, _)| inside <= Some(*slot)) {
            let base = base.with_slice(width - at - STRIDE, &Bits::new(STRIDE, u128::from(slot)));
            let after = after.filter(|_| inside == Some(slot));
            if !self.visit_node(child, at + STRIDE, &base, after, visit) {
                return false;
            }
        }
        true
    }

    /// Returns the memory in bytes.
    pub(super) fn memory(&self) -> usize {
        // The nodes of a B-tree are two thirds full on average.
        let short = self.short.len() * 12 * 3 / 2;
        let flat = self.covered.len() + self.roots.len() * 4 + self.free.capacity() * 4;
        let nodes = self.nodes.capacity() * size_of::<RibNode>();
        nodes + self.bitmaps.memory() + self.lists.memory() + short + flat
    }
}
