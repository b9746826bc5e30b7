//! The memory contents of lookup accelerators: images of prefix tables, and the writes that change
//! them during lookups.
//!
//! An accelerator walks a trie (`programs/accelerators`); its leaves are numbers of values, which
//! are stored in a table of their own. [`TrieImage`] lays such a trie out for the prefixes of an
//! `lpm` offload, and returns a list of [`Write`]s for each change of a prefix.
//! docs/hardware/accelerators.md describes the layouts.
//!
//! # Changes
//! A lookup reads pointers and finally one leaf. A change replaces a leaf by one write; where
//! blocks change their shape, new ones are written first, then what points to them, so that a
//! lookup sees either the old block or the whole new one. Freed blocks are reused only after a
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
