//! What lookup accelerators have in their memories: images of prefix tables, and the writes that change them while lookups go
//! on.
//!
//! An accelerator walks a trie (`programs/accelerators`); its leaves are numbers of values, which stand in a table of their own.
//! [`TrieImage`] lays such a trie out for the prefixes of an `lpm` offload, and answers each change of a prefix with a
//! list of [`Write`]s. docs/hardware/accelerators.md describes the layouts.
//!
//! # Changes
//! A lookup reads pointers and at last one leaf. A change replaces a leaf by one write; where blocks change their shape, new
//! ones are written first, then what points to them, so that a lookup sees either the old block or the whole new one. Blocks
//! that are left over are used again behind a [`Write::Barrier`] only, when no lookup can be on its way to them.

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
