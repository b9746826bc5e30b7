//! The arrays of a FIB of blocks, each with 64 entries. The documentation of the parent module
//! describes the layout.

use std::ffi::c_void;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};

use super::STRIDE;
use super::key::Key;
use crate::Refused;
use crate::memory::Dense;

/// The number of entries of a block.
pub(super) const ENTRIES: usize = 1 << STRIDE;
/// Marks a direct entry, or a long entry of a block, that refers to a block.
const BLOCK: u32 = 1 << 31;
/// Marks a short entry of a block that refers to a deep block.
const DEEPER: u16 = 1 << 15;
/// Widths of keys for which tables can consist of blocks.
pub(super) const KEYS: RangeInclusive<u32> = 19..=128;
/// Widths of keys for which entries of blocks are short, with two bytes. For these keys nearly all
/// lookups end in the first block, so few blocks need a number in an entry.
pub const SHORT_KEYS: RangeInclusive<u32> = 19..=32;
/// The maximum number of blocks with long entries, of four bytes each: 16 MiB.
pub(super) const MOST_LONG: usize = 1 << 16;
/// The maximum number of deep blocks that short entries can number.
pub(super) const MOST_SHORT_DEEP: usize = DEEPER as usize;

/// Direct entries and blocks. Deep blocks have the lowest numbers.
pub(super) struct Spread {
    direct: Dense<AtomicU32>,
    entries: Entries,
}

/// The entries of all blocks.
enum Entries {
    Short(Dense<AtomicU16>),
    Long(Dense<AtomicU32>),
}

/// Returns the maximum number of values that entries can number for keys of this width.
pub(super) fn most_values(key_width: u32) -> usize {
    if SHORT_KEYS.contains(&key_width) { DEEPER.into() } else { BLOCK as usize }
}

/// Returns the size of a block in bytes for keys of this width.
pub(super) fn block_bytes(key_width: u32) -> usize {
    ENTRIES * if SHORT_KEYS.contains(&key_width) { 2 } else { 4 }
}

/// A decoded entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// The number of a value.
    Value(u32),
    /// The number of the block with the entries for the next bits.
    Block(u32),
}

impl Spread {
    pub(super) fn new(key_width: u32, direct_bits: u32, blocks: usize) -> Result<Self, Refused> {
        let count = blocks * ENTRIES;
        let entries = match SHORT_KEYS.contains(&key_width) {
            true => Entries::Short(Dense::new(count)?),
            false => Entries::Long(Dense::new(count)?),
        };
        Ok(Self { direct: Dense::new(1 << direct_bits)?, entries })
    }

    /// Returns the memory in bytes.
    pub(super) fn memory(&self) -> usize {
        let blocks = match &self.entries {
            Entries::Short(entries) => size_of_val(&**entries),
            Entries::Long(entries) => size_of_val(&**entries),
        };
        size_of_val(&*self.direct) + blocks
    }

    /// Returns the number of blocks.
    pub(super) fn block_count(&self) -> usize {
        let entries = match &self.entries {
            Entries::Short(entries) => entries.len(),
            Entries::Long(entries) => entries.len(),
        };
        entries / ENTRIES
    }

    pub(super) fn direct(&self, slot: usize) -> Entry {
        Entry::of_word(self.direct[slot].load(Ordering::Acquire))
    }

    /// Stores a direct entry, and publishes everything written before it.
    pub(super) fn set_direct(&self, slot: usize, entry: Entry) {
        self.direct[slot].store(entry.word(), Ordering::Release);
    }

    pub(super) fn entry(&self, block: u32, slot: usize) -> Entry {
        let place = block as usize * ENTRIES + slot;
        match &self.entries {
            Entries::Long(entries) => Entry::of_word(entries[place].load(Ordering::Acquire)),
            Entries::Short(entries) => {
                let entry = entries[place].load(Ordering::Acquire);
                match entry & DEEPER {
                    0 => Entry::Value(u32::from(entry)),
                    _ => Entry::Block(u32::from(entry & !DEEPER)),
                }
            }
        }
    }

    /// Returns all entries of a block.
    pub(super) fn entries(&self, block: u32) -> [Entry; ENTRIES] {
        std::array::from_fn(|slot| self.entry(block, slot))
    }

    /// Stores an entry of a block, and publishes everything written before it.
    pub(super) fn set_entry(&self, block: u32, slot: usize, entry: Entry) {
        let place = block as usize * ENTRIES + slot;
        match &self.entries {
            Entries::Long(entries) => entries[place].store(entry.word(), Ordering::Release),
            Entries::Short(entries) => {
                let word = match entry {
                    Entry::Value(value) => value as u16,
                    Entry::Block(block) => DEEPER | block as u16,
                };
                entries[place].store(word, Ordering::Release);
            }
        }
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

    /// Returns the addresses of the direct entries and of the blocks' entries.
    pub(super) fn addresses(&self) -> (*const u32, *const c_void) {
        let blocks = match &self.entries {
            Entries::Short(entries) => entries.as_ptr().cast(),
            Entries::Long(entries) => entries.as_ptr().cast(),
        };
        (self.direct.as_ptr().cast(), blocks)
    }
}

impl Entry {
    /// Decodes a direct entry or a long entry of a block.
    fn of_word(word: u32) -> Self {
        if word & BLOCK == 0 { Self::Value(word) } else { Self::Block(word & !BLOCK) }
    }

    /// Returns the block that the entry refers to.
    #[cfg(test)]
    pub(super) fn block(self) -> Option<u32> {
        if let Self::Block(block) = self { Some(block) } else { None }
    }

    fn word(self) -> u32 {
        match self {
            Self::Value(value) => value,
            Self::Block(block) => BLOCK | block,
        }
    }
}
