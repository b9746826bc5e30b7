//! Longest-prefix match: a prefix table for keys of up to 1024 bits that can be searched while it
//! changes.
//!
//! # Structure and rationale
//! The *RIB* (`rib.rs`) is the source of truth: for each node of a multibit trie, it contains the
//! set of prefixes that end in the node. The first 18 bits of the key (all of them, if it has fewer)
//! index a *direct table*, and each further node takes 6 bits. 18 bits pay off most for IPv4 tables:
//! one access resolves prefixes of up to 18 bits, and one more node resolves those of up to 24 bits,
//! which are nearly all others. For IPv6 the strides then end at 24, 30, 36, 42 and 48 bits, so that
//! the common /32 and /48 take three and five nodes.
//!
//! Lookups read the *FIB* (`fib.rs`), which has one of two forms.
//!
//! Tables of keys of 19 to 128 bits consist of *blocks* (`spread.rs`), as in DIR-24-8 (Gupta, Lin,
//! McKeown: Routing Lookups in Hardware at Memory Access Speeds, INFOCOM 1998) but with smaller
//! strides. A direct entry is the number of a value, or of a block of 64 entries for the next six
//! bits; so is each entry of a block. Entries have inherited the values of shorter prefixes, so that
//! the lookup of nearly every IPv4 address reads one entry or two, and decides nothing.
//!
//! The entries of a block do not all have one value: the entry that would name such a block has the
//! value instead. So a longer prefix with the value of the one around it takes no room. A change
//! writes all entries that it concerns, up to all blocks for the prefix of no bits. If the entries of a
//! block agree then, the value takes its place in the entry above, and so on up to the direct entry.
//! If the entries below a value begin to differ, there is a block again (`writer.rs`).
//!
//! Of keys of up to 32 bits, entries of blocks have two bytes: a block fills two cache lines. The
//! 606,138 IPv4 routes of the demonstration need 36,191 blocks (62,086 if blocks could agree): with
//! direct entries 5.4 MiB, where a direct table of 24 bits takes 32 MiB. Of wider keys, most blocks are
//! named by others, so entries have four bytes: its 27,693 IPv6 routes need 18,694 blocks (23,079),
//! 5.6 MiB with direct entries.
//!
//! Tables of other keys, those with so many values (32,768) or such deep prefixes that 15 bits cannot
//! number them, and those of wider keys with more than 65,536 blocks (16 MiB) consist of *nodes*, compressed as in Poptrie (Asai, Ohara: Poptrie, SIGCOMM
//! 2015). A node takes 32 bytes, half a cache line, regardless of how many of its 64 slots are in
//! use: a 64-bit word is the bitmap of its slots, and a population count computes an index. Unlike
//! in Poptrie, leaves do not inherit from shorter prefixes above their node: a lookup remembers the
//! last value on its path. A change thus touches one node, however much of the table lies under the
//! prefix, and needs no search of the RIB. The price is one access to a leaf in each node on the
//! path that has leaves. It does not depend on the access to the next node, so that the two overlap.
//!
//! # Memory layout
//! All arrays are at fixed addresses while a reader is pinned; [`LpmView`] contains the addresses. C
//! code reads tables of blocks as follows:
//! ```c
//! // spread[i]: the number of a value, or 2^31 | block; value 0 is `miss`. Entries of blocks have four
//! // bytes here. Where they have two, 2^15 takes the place of 2^31.
//! const uint64_t *lpm(const struct lpm_view *v, key k) {
//!     unsigned at = v->direct_bits;
//!     uint32_t entry = atomic_load_acquire(&v->spread[bits(k, 0, at)]);               // <- prefetch stage 1
//!     for (; entry & 1u << 31; at += 6)
//!         entry = atomic_load_acquire(&v->blocks[(entry & ~(1u << 31)) * 64 + bits(k, at, 6)]); // <- stage 2
//!     return &v->values[(size_t)entry * v->value_words];
//! }
//! ```
//! and those of nodes as follows:
//! ```c
//! // direct[i] = node << 32 | value; node 0 is none, value 0 is `miss` (or: nothing better than before).
//! const uint64_t *lpm(const struct lpm_view *v, key k) {
//!     uint64_t entry = atomic_load_acquire(&v->direct[bits(k, 0, v->direct_bits)]);   // <- prefetch stage 1
//!     uint32_t best = (uint32_t)entry, node = entry >> 32;
//!     for (unsigned at = v->direct_bits; node != 0; at += 6) {
//!         const struct lpm_node *n = &v->nodes[node];                                // <- prefetch stage 2
//!         unsigned s = bits(k, at, 6);
//!         if (n->leaves) {
//!             uint32_t leaf = v->leaves[n->leaf_base + popcount64(n->leaves & ((2ull << s) - 1)) - 1];
//!             if (leaf) best = leaf;
//!         }
//!         if (!(n->children >> s & 1)) break;
//!         node = n->child_base + popcount64(n->children & ((1ull << s) - 1));
//!     }
//!     return &v->values[(size_t)best * v->value_words];   // little-endian 64-bit words
//! }
//! ```
//! `bits(k, at, n)` are the `n` bits of the key that begin `at` bits from its most significant one;
//! bits after the key's end are zero. All data but the direct entry may be read with plain loads:
//! everything that a direct entry leads to is written before the entry, and does not change until
//! no pinned reader can refer to it. A prefetch of a node may race with a change of the direct
//! entry. It is then useless but not wrong, because the lookup loads the entry again.
//!
//! # Concurrent changes
//! There is one writer. In tables of blocks it changes entries in place, each by one atomic store,
//! and publishes a new block when it is complete. In tables of nodes it never writes where a reader
//! may read: it copies the nodes on the path to a change and publishes the copies by one atomic store
//! of the direct entry. A lookup sees the old value of its key or the new one. A prefix usually
//! concerns several entries, which change one after another; each lookup reads one of them. A block
//! whose entries would agree is not written: one store replaces it, and readers in it see what was there
//! before. Replaced blocks and nodes are reused when every reader that was pinned at the time has been
//! unpinned (epochs, `epoch.rs`). Readers never wait. When the arrays are full, or after a bulk load,
//! a new FIB is built from the RIB and published by one store of a pointer. A change of a short prefix
//! can need many blocks at once: they are counted before it begins, and if they are not there, the
//! change comes with a new FIB. If there is no memory for that, there is no change.

mod blocks;
mod epoch;
mod fib;
mod key;
mod lists;
mod present;
mod reader;
mod rib;
mod runs;
mod spread;
mod table;
mod values;
mod writer;

pub use fib::{LpmNode, LpmView};
pub use reader::{Guard, Reader};
pub use spread::SHORT_KEYS;
pub use table::Table;
pub use values::Certain;

/// The number of key bits that index the direct table, if the key has that many.
pub const DIRECT_BITS: u32 = 18;
/// The number of key bits that a node takes.
pub const STRIDE: u32 = 6;

#[cfg(test)]
mod tests;
