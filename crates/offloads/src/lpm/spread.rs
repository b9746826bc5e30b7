//! The arrays that lookups read in tables of short keys: blocks of 64 entries instead of compressed
//! nodes. The module's documentation describes the layout.

use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use super::STRIDE;
use super::key::Key;
use crate::Refused;
use crate::memory::Dense;

/// The entries of a block.
const ENTRIES: usize = 1 << STRIDE;
/// Marks a direct entry that names a block.
const BLOCK: u32 = 1 << 31;
/// Marks an entry of a block that names another block.
const DEEPER: u16 = 1 << 15;
/// Values and deeper blocks are numbered below this.
pub(super) const LIMIT: usize = DEEPER as usize;
/// The widths of keys whose tables consist of blocks if their values are few enough: all but few
/// searches end in the first block.
pub const KEYS: std::ops::RangeInclusive<u32> = 19..=32;

/// Direct entries and blocks. Blocks that other blocks name have the numbers below `deep`.
pub(super) struct Spread {
    direct: Dense<AtomicU32>,
    entries: Dense<AtomicU16>,
}

/// What an entry says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// The number of the value.
    Value(u32),
    /// The block with the entries for the next bits.
    Block(u32),
}

impl Spread {
    pub(super) fn new(direct_bits: u32, blocks: usize) -> Result<Self, Refused> {
        Ok(Self { direct: Dense::new(1 << direct_bits)?, entries: Dense::new(blocks * ENTRIES)? })
    }

    /// The memory in bytes.
    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.direct) + size_of_val(&*self.entries)
    }

    /// The number of blocks.
    pub(super) fn block_count(&self) -> usize {
        self.entries.len() / ENTRIES
    }

    pub(super) fn direct(&self, slot: usize) -> Entry {
        let entry = self.direct[slot].load(Ordering::Acquire);
        if entry & BLOCK == 0 { Entry::Value(entry) } else { Entry::Block(entry & !BLOCK) }
    }

    /// Stores a direct entry, and publishes with it everything that was written before.
    pub(super) fn set_direct(&self, slot: usize, entry: Entry) {
        let word = match entry {
            Entry::Value(value) => value,
            Entry::Block(block) => BLOCK | block,
        };
        self.direct[slot].store(word, Ordering::Release);
    }

    pub(super) fn entry(&self, block: u32, slot: usize) -> Entry {
        let entry = self.entries[block as usize * ENTRIES + slot].load(Ordering::Acquire);
        if entry & DEEPER == 0 {
            Entry::Value(u32::from(entry))
        } else {
            Entry::Block(u32::from(entry & !DEEPER))
        }
    }

    /// Stores an entry of a block, and publishes with it everything that was written before.
    pub(super) fn set_entry(&self, block: u32, slot: usize, entry: Entry) {
        let word = match entry {
            Entry::Value(value) => value as u16,
            Entry::Block(block) => DEEPER | block as u16,
        };
        self.entries[block as usize * ENTRIES + slot].store(word, Ordering::Release);
    }

    /// Clears a block that no reader can see.
    pub(super) fn clear(&self, block: u32) {
        (0..ENTRIES).for_each(|slot| self.set_entry(block, slot, Entry::Value(0)));
    }

    /// Returns the number of the value of the longest prefix that matches a key, or 0 if none does.
    pub(super) fn lookup(&self, key: &impl Key, direct_bits: u32) -> u32 {
        let mut entry = self.direct(key.chunk(0, direct_bits));
        let mut at = direct_bits;
        loop {
            match entry {
                Entry::Value(value) => return value,
                Entry::Block(block) => entry = self.entry(block, key.chunk(at, STRIDE)),
            }
            at += STRIDE;
        }
    }

    /// The addresses of the direct entries and of the blocks' entries.
    pub(super) fn addresses(&self) -> (*const u32, *const u16) {
        (self.direct.as_ptr().cast(), self.entries.as_ptr().cast())
    }
}
