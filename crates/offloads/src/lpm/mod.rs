//! Longest-prefix match: a prefix table for keys of up to 1024 bits that can be searched while it
//! changes.
//!
//! # Structure and rationale
//! The *RIB* (`rib.rs`) is the source of truth: for each node of a multibit trie, it contains the
//! set of prefixes that end in the node. Lookups read the *FIB* (`fib.rs`): the same trie,
//! compressed as in Poptrie (Asai, Ohara: Poptrie, SIGCOMM 2015), so that a node takes 32 bytes,
//! half a cache line, regardless of how many of its 64 slots are in use:
//! - The first 18 bits of the key (all of them, if it has fewer) index a *direct table*. 18 bits
//!   pay off most for IPv4 tables: one access resolves prefixes of up to 18 bits, and one more node
//!   resolves those of up to 24 bits, which are nearly all others. For IPv6 the strides then end at
//!   24, 30, 36, 42 and 48 bits, so that the common /32 and /48 take three and five nodes.
//! - Each further node takes 6 bits: a 64-bit word is then the bitmap of its slots, and a
//!   population count computes an index.
//!
//! Unlike in Poptrie, leaves do not inherit from shorter prefixes above their node: a lookup
//! remembers the last value on its path. A change thus touches one node, however much of the table
//! lies under the prefix, and needs no search of the RIB. The price is one access to a leaf in each
//! node on the path that has leaves. It does not depend on the access to the next node, so that the
//! two overlap.
//!
//! # Memory layout
//! The table consists of four arrays, all at fixed addresses while a reader is pinned; [`LpmView`]
//! contains the addresses. C code reads them as follows:
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
//! There is one writer. It never writes where a reader may read: it copies the nodes on the path to
//! a change and publishes the copies by one atomic store of the direct entry. A lookup sees the old
//! entry or the new one. A prefix of 18 bits or less occupies several direct entries, which change
//! one after another; each lookup reads one. Replaced nodes are reused when every reader that was
//! pinned at the time has been unpinned (epochs, `epoch.rs`). Readers never wait. When the arrays
//! are full, or after a bulk load, a new FIB is built from the RIB and published by one store of a
//! pointer.

mod epoch;
mod fib;
mod key;
mod lists;
mod present;
mod rib;
mod runs;
mod table;
mod values;

pub use fib::{LpmNode, LpmView};
pub use table::{Guard, Reader, Table};

/// The number of key bits that index the direct table, if the key has that many.
pub const DIRECT_BITS: u32 = 18;
/// The number of key bits that a node takes.
pub const STRIDE: u32 = 6;

#[cfg(test)]
mod tests;
