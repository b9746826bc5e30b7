//! The data that lookups read. The documentation of the parent module describes the layout.
//!
//! All memory consists of atomic words. Direct entries and entries of blocks are written with
//! release and read with acquire ordering, all other words without ordering. So even a mistake in
//! reclamation could not cause undefined behaviour.

use std::ffi::c_void;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use wireloom_bits::Bits;

use super::STRIDE;
use super::key::Key;
use super::spread::{self, Spread};
use crate::Refused;
use crate::memory::{Dense, Zeroable};

/// A node as C sees it: 24 bytes in native byte order, padded to 32. No node crosses a cache line,
/// so an access causes at most one miss, and one prefetch fetches the complete node.
#[repr(C, align(32))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LpmNode {
    /// Bit `s` is set if slot `s` has a child node.
    pub children: u64,
    /// Bit `s` is set if the value of slot `s` differs from that of slot `s - 1`. All bits are zero
    /// if no slot has a value; otherwise bit 0 is set.
    pub leaves: u64,
    /// The index of the first child node. The other children follow in the order of their slots.
    pub child_base: u32,
    /// The index of the first leaf. The other leaves follow.
    pub leaf_base: u32,
}

/// The location of a table's memory, for readers in C. It is valid while the guard that returned it
/// exists.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LpmView {
    /// `2^direct_bits` entries: the index of a node (0 for none) in the upper 32 bits, the number
    /// of a value in the lower 32 bits. Empty in tables of blocks.
    pub direct: *const u64,
    /// The nodes. Number 0 means none. It has neither children nor leaves, so reading it is
    /// harmless. Empty in tables of blocks.
    pub nodes: *const LpmNode,
    /// The leaves: numbers of values, or 0 for no better value. Empty in tables of blocks.
    pub leaves: *const u32,
    /// In tables of blocks, `2^direct_bits` entries: the number of a value, or 2^31 plus the number
    /// of a block. Null in tables of nodes.
    pub spread: *const u32,
    /// The blocks, 64 entries each. For keys of at most 32 bits, an entry has two bytes: the number
    /// of a value, or 2^15 plus the number of a block. For wider keys, an entry has four bytes and
    /// the form of a direct entry.
    pub blocks: *const c_void,
    /// The values, each of `value_words` little-endian 64-bit words. Number 0 is the miss value.
    pub values: *const u64,
    /// The number of words of a value.
    pub value_words: u32,
    /// The number of key bits that index the direct table.
    pub direct_bits: u32,
    /// The width of the key in bits.
    pub key_bits: u32,
    /// The size of all these arrays in bytes.
    pub bytes: usize,
    /// The number of direct entries, in both forms of table.
    pub direct_count: usize,
    /// The number of nodes, including number 0.
    pub node_count: usize,
    /// The number of leaves.
    pub leaf_count: usize,
    /// The number of blocks.
    pub block_count: usize,
    /// The number of values.
    pub value_count: usize,
}

impl LpmView {
    /// Returns the size of a block in bytes.
    pub fn block_bytes(&self) -> usize {
        spread::block_bytes(self.key_bits)
    }
}

/// An [`LpmNode`] that can be read while it is written.
#[repr(C, align(32))]
struct NodeCell {
    children: AtomicU64,
    leaves: AtomicU64,
    child_base: AtomicU32,
    leaf_base: AtomicU32,
}

// SAFETY: the fields are atomics, for which zero bytes are valid, and padding.
unsafe impl Zeroable for NodeCell {}

const _: () = assert!(size_of::<NodeCell>() == 32 && size_of::<LpmNode>() == 32);

/// The arrays of a table.
pub(super) struct Fib {
    direct: Dense<AtomicU64>,
    nodes: Dense<NodeCell>,
    leaves: Dense<AtomicU32>,
    /// The arrays of a table of blocks; `direct`, `nodes` and `leaves` are then empty.
    spread: Option<Spread>,
    values: Dense<AtomicU64>,
    value_width: u32,
    value_words: usize,
    direct_bits: u32,
    key_bits: u32,
}

/// The sizes of the arrays, in elements.
#[derive(Clone, Copy)]
pub(super) struct Capacity {
    pub(super) nodes: usize,
    pub(super) leaves: usize,
    pub(super) values: usize,
    /// The number of blocks; `None` in tables of nodes.
    pub(super) blocks: Option<usize>,
}

impl Fib {
    /// Creates the arrays of an empty table.
    pub(super) fn new(
        key_bits: u32,
        direct_bits: u32,
        value_width: u32,
        capacity: Capacity,
    ) -> Result<Self, Refused> {
        let value_words = crate::lanes::words(value_width);
        let spread = capacity.blocks.map(|blocks| Spread::new(key_bits, direct_bits, blocks));
        let spread = spread.transpose()?;
        Ok(Self {
            direct: Dense::new(if spread.is_some() { 0 } else { 1 << direct_bits })?,
            nodes: Dense::new(capacity.nodes)?,
            leaves: Dense::new(capacity.leaves)?,
            spread,
            values: Dense::new(capacity.values * value_words)?,
            value_width,
            value_words,
            direct_bits,
            key_bits,
        })
    }

    /// Returns the arrays of blocks; `None` in tables of nodes.
    pub(super) fn spread(&self) -> Option<&Spread> {
        self.spread.as_ref()
    }

    /// Returns the number of values that fit.
    pub(super) fn value_capacity(&self) -> usize {
        self.values.len() / self.value_words
    }

    /// Returns the memory in bytes.
    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.direct)
            + size_of_val(&*self.nodes)
            + size_of_val(&*self.leaves)
            + size_of_val(&*self.values)
            + self.spread.as_ref().map_or(0, Spread::memory)
    }

    /// Returns the node and the value of a direct entry.
    pub(super) fn direct(&self, slot: usize) -> (u32, u32) {
        let entry = self.direct[slot].load(Ordering::Acquire);
        ((entry >> 32) as u32, entry as u32)
    }

    /// Stores a direct entry, and publishes everything written before it.
    pub(super) fn publish(&self, slot: usize, node: u32, value: u32) {
        self.direct[slot].store(u64::from(node) << 32 | u64::from(value), Ordering::Release);
    }

    pub(super) fn node(&self, id: u32) -> LpmNode {
        let cell = &self.nodes[id as usize];
        LpmNode {
            children: cell.children.load(Ordering::Relaxed),
            leaves: cell.leaves.load(Ordering::Relaxed),
            child_base: cell.child_base.load(Ordering::Relaxed),
            leaf_base: cell.leaf_base.load(Ordering::Relaxed),
        }
    }

    pub(super) fn set_node(&self, id: u32, node: LpmNode) {
        let cell = &self.nodes[id as usize];
        cell.children.store(node.children, Ordering::Relaxed);
        cell.leaves.store(node.leaves, Ordering::Relaxed);
        cell.child_base.store(node.child_base, Ordering::Relaxed);
        cell.leaf_base.store(node.leaf_base, Ordering::Relaxed);
    }

    pub(super) fn set_leaf(&self, id: u32, value: u32) {
        self.leaves[id as usize].store(value, Ordering::Relaxed);
    }

    pub(super) fn set_value(&self, id: u32, words: &[u64]) {
        let cells = &self.values[id as usize * self.value_words..];
        for (cell, &word) in cells.iter().zip(words) {
            cell.store(word, Ordering::Relaxed);
        }
    }

    /// Returns a value by number.
    pub(super) fn value(&self, id: u32) -> Bits {
        let cells = &self.values[id as usize * self.value_words..][..self.value_words];
        match cells {
            [word] => Bits::new(self.value_width, u128::from(word.load(Ordering::Relaxed))),
            _ => {
                let words: Vec<u64> =
                    cells.iter().map(|cell| cell.load(Ordering::Relaxed)).collect();
                Bits::from_words(self.value_width, &words)
            }
        }
    }

    /// Returns the number of the value of the longest prefix that matches a key, or 0 if none does.
    pub(super) fn lookup(&self, key: &impl Key) -> u32 {
        if let Some(spread) = &self.spread {
            return spread.lookup(key, self.direct_bits);
        }
        let (mut id, mut best) = self.direct(key.chunk(0, self.direct_bits));
        let mut at = self.direct_bits;
        while id != 0 {
            let node = self.node(id);
            let slot = key.chunk(at, STRIDE);
            if node.leaves != 0 {
                let leaf = node.leaf_base as usize + rank(node.leaves, slot + 1) - 1;
                match self.leaves[leaf].load(Ordering::Relaxed) {
                    0 => {}
                    value => best = value,
                }
            }
            id = node.child(slot).unwrap_or(0);
            at += STRIDE;
        }
        best
    }

    /// Returns the location of the arrays.
    pub(super) fn view(&self) -> LpmView {
        let none = (std::ptr::null(), std::ptr::null());
        let (spread, blocks) = self.spread.as_ref().map_or(none, Spread::addresses);
        LpmView {
            direct: self.direct.as_ptr().cast(),
            nodes: self.nodes.as_ptr().cast(),
            leaves: self.leaves.as_ptr().cast(),
            spread,
            blocks,
            values: self.values.as_ptr().cast(),
            value_words: self.value_words as u32,
            direct_bits: self.direct_bits,
            key_bits: self.key_bits,
            bytes: self.memory(),
            direct_count: 1 << self.direct_bits,
            node_count: self.nodes.len(),
            leaf_count: self.leaves.len(),
            block_count: self.spread.as_ref().map_or(0, Spread::block_count),
            value_count: self.value_capacity(),
        }
    }
}

/// Returns the number of bits set below bit `index`, which is at most 64.
fn rank(bitmap: u64, index: usize) -> usize {
    let below = if index == 64 { bitmap } else { bitmap & ((1 << index) - 1) };
    below.count_ones() as usize
}

impl LpmNode {
    /// Returns the index of the child at a slot, if there is one.
    pub(super) fn child(&self, slot: usize) -> Option<u32> {
        (self.children >> slot & 1 == 1).then(|| self.child_base + rank(self.children, slot) as u32)
    }

    /// Returns the position of a slot's child among the children, or the position that it would
    /// have.
    pub(super) fn child_rank(&self, slot: usize) -> usize {
        rank(self.children, slot)
    }

    /// Returns the number of children.
    pub(super) fn child_count(&self) -> usize {
        self.children.count_ones() as usize
    }

    /// Returns the number of leaves.
    pub(super) fn leaf_count(&self) -> usize {
        self.leaves.count_ones() as usize
    }
}

/// Returns the bitmap of leaves for the values of the slots.
pub(super) fn leaf_bitmap(slots: &[u32; 64]) -> u64 {
    if slots.iter().all(|&value| value == 0) {
        return 0;
    }
    (1..64).filter(|&s| slots[s] != slots[s - 1]).fold(1, |bitmap, s| bitmap | 1 << s)
}
