//! The memory contents of lookup accelerators: images of prefix tables, and the writes that change
//! them during lookups.
//!
//! An accelerator walks a trie (`programs/accelerators`). The trie's leaves are numbers of values,
//! and the values are stored in a separate table. [`TrieImage`] builds such a trie for the prefixes
//! of an `lpm` offload, and returns a list of [`Write`]s for each change of a prefix.
//! docs/hardware/accelerators.md describes the layouts.
//!
//! # Changes
//! A lookup reads pointers and finally one leaf. A change replaces a leaf by one write. If blocks
//! change their shape, the new blocks are written before the entries that point to them, so that a
//! lookup sees either the old block or the complete new one. Freed blocks are reused only after a
//! [`Write::Barrier`], when no lookup can still reach them.

mod blocks;
mod image;
mod memory;
mod places;
mod plan;
mod refusal;
mod shape;
mod storage;
mod values;
mod walk;

pub use image::{TrieImage, Write};
pub use memory::Memory;
pub use refusal::DoesNotFit;
pub use shape::{
    IPV4, IPV4_SHARED, IPV6, IPV6_SHARED, Key, Level, MemoryShape, Shape, Tails, VALUE_BITS, key,
};
pub use storage::Storage;
pub use walk::Walk;

#[cfg(test)]
mod tests;
