//! Longest-prefix match: a prefix table for keys of up to 1024 bits that can be searched while it
//! changes.
//!
//! # Structure and rationale
//! The *RIB* (`rib.rs`) is the source of truth. It is a multibit trie; each node contains the set
//! of prefixes that end in it. The first 18 bits of the key (all of them, if it has fewer) index a
//! *direct table*, and each further node takes 6 bits. 18 bits suit IPv4 tables best: one access
//! resolves prefixes of up to 18 bits, and one more node resolves prefixes of up to 24 bits, which
//! are nearly all others. For IPv6 the strides end at 24, 30, 36, 42 and 48 bits, so the common /32
//! and /48 take three and five nodes.
//!
//! Lookups read the *FIB* (`fib.rs`), which has one of two forms: blocks or nodes.
//!
//! **Blocks** (`spread.rs`) serve keys of 19 to 128 bits. The form follows DIR-24-8 (Gupta, Lin,
//! McKeown: Routing Lookups in Hardware at Memory Access Speeds, INFOCOM 1998) with smaller
//! strides. A direct entry is the number of a value, or of a block of 64 entries for the next six
//! bits. An entry of a block is either of these too. Entries inherit the values of shorter
//! prefixes, so the lookup of nearly every IPv4 address reads one or two entries and compares
//! nothing.
//!
//! No block is uniform: if all entries of a block had one value, the entry above would contain the
//! value instead. A longer prefix with the value of the one around it therefore takes no memory. A
//! change writes all entries that it concerns; for the prefix of no bits these are all blocks. When
//! the entries of a block become equal, the value replaces the block in the entry above, and so on
//! up to the direct entry. When the entries below a value become different, a new block replaces
//! the value (`writer.rs`).
//!
//! For keys of up to 32 bits, entries of blocks have two bytes, and a block fills two cache lines.
//! The 606,138 IPv4 routes of the demonstration need 36,191 blocks (62,086 if uniform blocks were
//! kept). With direct entries this is 5.4 MiB; a direct table of 24 bits takes 32 MiB. For wider
//! keys, other blocks refer to most blocks, so entries have four bytes. The 27,693 IPv6 routes of
//! the demonstration need 18,694 blocks (23,079), or 5.6 MiB with direct entries.
//!
//! **Nodes** serve all other tables: keys of other widths, tables of short keys with 32,768 or more
//! values or with more blocks below other blocks than 15 bits can number, and tables of wider keys
//! with more than 65,536 blocks (16 MiB). They are compressed as in Poptrie (Asai, Ohara: Poptrie,
//! SIGCOMM 2015). A node takes 32 bytes, half a cache line, regardless of how many of its 64 slots
//! are in use: a 64-bit word is the bitmap of its slots, and a population count computes an index.
//! Unlike in Poptrie, leaves do not inherit from shorter prefixes above their node: a lookup
//! remembers the last value on its path. A change thus touches one node, however much of the table
//! lies under the prefix, and needs no search of the RIB. The price is one access to a leaf in each
//! node on the path that has leaves. It does not depend on the access to the next node, so the two
//! overlap.
//!
//! # Memory layout
//! All arrays are at fixed addresses while a reader is pinned; [`LpmView`] contains the addresses.
//! C code reads tables of blocks as follows:
//! ```c
//! // spread[i]: the number of a value, or 2^31 | block; value 0 is `miss`. Entries of blocks have
//! // four bytes here. For two bytes, replace 2^31 by 2^15.
//! const uint64_t *lpm(const struct lpm_view *v, key k) {
//!     unsigned at = v->direct_bits;
//!     uint32_t entry = atomic_load_acquire(&v->spread[bits(k, 0, at)]);     // <- prefetch stage 1
//!     for (; entry & 1u << 31; at += 6) {
//!         size_t block = entry & ~(1u << 31);
//!         entry = atomic_load_acquire(&v->blocks[block * 64 + bits(k, at, 6)]);      // <- stage 2
//!     }
//!     return &v->values[(size_t)entry * v->value_words];
//! }
//! ```
//! and tables of nodes as follows:
//! ```c
//! // direct[i] = node << 32 | value; node 0 is none, value 0 is `miss` (or: no better value).
//! const uint64_t *lpm(const struct lpm_view *v, key k) {
//!     uint64_t entry = atomic_load_acquire(&v->direct[bits(k, 0, v->direct_bits)]);  // <- stage 1
//!     uint32_t best = (uint32_t)entry, node = entry >> 32;
//!     for (unsigned at = v->direct_bits; node != 0; at += 6) {
//!         const struct lpm_node *n = &v->nodes[node];                       // <- prefetch stage 2
//!         unsigned s = bits(k, at, 6);
//!         if (n->leaves) {
//!             unsigned at_leaf = popcount64(n->leaves & ((2ull << s) - 1)) - 1;
//!             uint32_t leaf = v->leaves[n->leaf_base + at_leaf];
//!             if (leaf) best = leaf;
//!         }
//!         if (!(n->children >> s & 1)) break;
//!         node = n->child_base + popcount64(n->children & ((1ull << s) - 1));
//!     }
//!     return &v->values[(size_t)best * v->value_words];   // little-endian 64-bit words
//! }
//! ```
//! `bits(k, at, n)` returns the `n` bits of the key that begin `at` bits after its most significant
//! end; bits past the end of the key are zero. Direct entries and entries of blocks need atomic
//! loads. All other data may be read with plain loads: it is written before the entry that leads to
//! it, and does not change while a pinned reader can refer to it. A prefetch of a node may race
//! with a change of the direct entry. It is then useless but not wrong, because the lookup loads
//! the entry again.
//!
//! # Concurrent changes
//! There is one writer. In tables of blocks it changes entries in place, each by one atomic store,
//! and publishes a new block when it is complete. In tables of nodes it never writes memory that a
//! reader may read: it copies the nodes on the path to a change, and publishes the copies by one
//! atomic store of the direct entry. A lookup sees the old value of its key or the new one. A
//! prefix usually concerns several entries, which change one after another; each lookup reads one
//! of them. A block that would become uniform is not written: one store replaces it, and readers
//! inside the block see the old entries. Replaced blocks and nodes are reused once every reader
//! that was pinned at the time is unpinned (epochs, `epoch.rs`). Readers never wait.
//!
//! When the arrays are full, or after a bulk load, the writer builds a new FIB from the RIB and
//! publishes it by one store of a pointer. A change of a short prefix can need many blocks at once.
//! The writer counts them before it begins. If they are not available, it builds a new FIB that
//! includes the change. If memory does not suffice for that, the change is refused.

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
