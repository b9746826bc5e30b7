//! The layout of the tries of `programs/accelerators` in their memories.

use ethnum::U256;
use wireloom_bits::Bits;

/// A key, or the bits of a prefix. It is either right-aligned or *aligned*, which means that its
/// most significant bit is the most significant bit of the type.
pub type Key = U256;

/// The number of bits of a [`Key`]. An accelerator's keys use some of them.
pub(super) const KEY_BITS: u32 = 256;

/// A memory that contains a part of a trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryShape {
    /// The name of the offload in the accelerator's source.
    pub name: &'static str,
    pub entries: u32,
    /// The width of an entry in bits.
    pub width: u32,
    /// The number of entries in one burst of two memory words. A burst is read and written at once.
    /// It is 1 for memories on the chip.
    pub burst: u32,
}

/// A level of a trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// The number of key bits that index its blocks.
    pub stride: u32,
    /// The index of the memory that contains its blocks.
    pub memory: usize,
    /// The entry of the memory at which block 0 begins. An entry that leads to block `n` contains
    /// `n`.
    pub base: u32,
    /// The regions that may contain its blocks, in order of preference, and whether to take the
    /// lowest or the highest free block.
    pub(super) places: &'static [(usize, bool)],
}

/// A part of a memory that contains blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RegionShape {
    pub(super) memory: usize,
    pub(super) from: u32,
    pub(super) to: u32,
}

/// On-chip trees for the key bits after the bits that the trie covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tails {
    /// The index of the memory of the first level. The memories of the other levels follow.
    pub memory: usize,
    /// The number of levels. Each has its own memory; a node has four ranges.
    pub levels: u32,
}

/// An accelerator's trie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The name of the engine; its source is `programs/accelerators/NAME.loom`.
    pub engine: &'static str,
    /// The width of the key in bits.
    pub key_bits: u32,
    pub memories: &'static [MemoryShape],
    /// The levels. The first one is a single block that begins at entry 0 of the first memory.
    pub levels: &'static [Level],
    pub(super) regions: &'static [RegionShape],
    /// The trees for prefixes that are longer than the sum of the levels' strides.
    pub tails: Option<Tails>,
}

/// The width in bits of the numbers of values and blocks in an entry. The next higher bit marks a
/// leaf.
pub const VALUE_BITS: u32 = 17;

const fn channel(name: &'static str) -> MemoryShape {
    MemoryShape { name, entries: 1 << 22, width: VALUE_BITS + 1, burst: 2 }
}

const fn tail(name: &'static str) -> MemoryShape {
    MemoryShape { name, entries: 512, width: 3 * 64 + 4 * (VALUE_BITS + 1), burst: 1 }
}

const MILLION: u32 = 1 << 20;

/// The trie with strides of 20, 4 and 8 bits (Gorilla, section 4.2), in a memory part of four
/// million 18-bit words.
pub const IPV4: Shape = Shape {
    engine: "ipv4_trie",
    key_bits: 32,
    memories: &[channel("memory")],
    levels: &[
        Level { stride: 20, memory: 0, base: 0, places: &[] },
        Level { stride: 4, memory: 0, base: 2 * MILLION, places: &[(1, true)] },
        // First below the blocks of the second level, then at the upper end of their region.
        Level { stride: 8, memory: 0, base: 0, places: &[(0, true), (1, false)] },
    ],
    regions: &[
        RegionShape { memory: 0, from: MILLION, to: 2 * MILLION },
        RegionShape { memory: 0, from: 2 * MILLION, to: 4 * MILLION },
    ],
    tails: None,
};

/// The trie with strides of 20, 8 and 8 bits over four bits of a virtual router's number and an
/// IPv4 address, in a memory part of the same size. It serves up to 16 routers.
pub const IPV4_SHARED: Shape = Shape {
    engine: "ipv4_shared_trie",
    key_bits: 36,
    memories: &[channel("memory")],
    levels: &[
        Level { stride: 20, memory: 0, base: 0, places: &[] },
        Level { stride: 8, memory: 0, base: 0, places: &[(0, true)] },
        Level { stride: 8, memory: 0, base: 0, places: &[(0, false)] },
    ],
    regions: &[RegionShape { memory: 0, from: MILLION, to: 4 * MILLION }],
    tails: None,
};

/// The trie with strides of 20, 12, 8, 8, 8 and 8 bits in two such memory parts.
pub const IPV6: Shape = Shape {
    engine: "ipv6_trie",
    key_bits: 128,
    memories: &[
        channel("near"),
        channel("far"),
        tail("tail1"),
        tail("tail2"),
        tail("tail3"),
        tail("tail4"),
        tail("tail5"),
    ],
    levels: &[
        Level { stride: 20, memory: 0, base: 0, places: &[] },
        Level { stride: 12, memory: 0, base: 0, places: &[(0, true)] },
        Level { stride: 8, memory: 0, base: 0, places: &[(0, false)] },
        Level { stride: 8, memory: 1, base: 0, places: &[(1, true)] },
        Level { stride: 8, memory: 1, base: 0, places: &[(1, true)] },
        Level { stride: 8, memory: 1, base: 0, places: &[(1, true)] },
    ],
    regions: &[
        RegionShape { memory: 0, from: MILLION, to: 4 * MILLION },
        RegionShape { memory: 1, from: 0, to: 4 * MILLION },
    ],
    tails: Some(Tails { memory: 2, levels: 5 }),
};

/// The trie with a stride of 20 bits and six strides of 8 bits over four bits of a virtual router's
/// number and an IPv6 address. It serves up to 16 routers. It uses two such memory parts and has
/// the second level on the chip, so that neither part is read more than three times a cycle.
pub const IPV6_SHARED: Shape = Shape {
    engine: "ipv6_shared_trie",
    key_bits: 132,
    memories: &[
        channel("near"),
        channel("far"),
        MemoryShape { name: "second", entries: 1 << 16, width: VALUE_BITS + 1, burst: 1 },
        tail("tail1"),
        tail("tail2"),
        tail("tail3"),
        tail("tail4"),
        tail("tail5"),
    ],
    levels: &[
        Level { stride: 20, memory: 0, base: 0, places: &[] },
        Level { stride: 8, memory: 2, base: 0, places: &[(2, true)] },
        Level { stride: 8, memory: 0, base: 0, places: &[(0, true)] },
        Level { stride: 8, memory: 0, base: 0, places: &[(0, true)] },
        Level { stride: 8, memory: 1, base: 0, places: &[(1, true)] },
        Level { stride: 8, memory: 1, base: 0, places: &[(1, true)] },
        Level { stride: 8, memory: 1, base: 0, places: &[(1, true)] },
    ],
    regions: &[
        RegionShape { memory: 0, from: MILLION, to: 4 * MILLION },
        RegionShape { memory: 1, from: 0, to: 4 * MILLION },
        RegionShape { memory: 2, from: 0, to: 1 << 16 },
    ],
    tails: Some(Tails { memory: 3, levels: 5 }),
};

impl Shape {
    /// Returns the accelerator for keys of `key_bits` bits.
    ///
    /// # Errors
    /// If there is no such accelerator. The error is a sentence without a final period.
    pub fn for_key(key_bits: u32) -> Result<Self, String> {
        [IPV4, IPV4_SHARED, IPV6, IPV6_SHARED].into_iter().find(|shape| shape.key_bits == key_bits).ok_or_else(|| {
            format!(
                "there is no lookup accelerator for keys of {key_bits} bits, only for 32 (IPv4) \
                 and 128 (IPv6), and for 36 and 132 (those of virtual routers that share a \
                 processor)"
            )
        })
    }

    /// Returns the strides of the levels.
    pub fn strides(&self) -> Vec<u32> {
        self.levels.iter().map(|level| level.stride).collect()
    }

    /// Returns the number of key bits that the first level uses.
    pub(super) fn root_bits(&self) -> u32 {
        self.levels[0].stride
    }

    /// Returns the number of key bits that all levels together use.
    pub(super) fn trie_bits(&self) -> u32 {
        self.levels.iter().map(|level| level.stride).sum()
    }

    /// Aligns a right-aligned key.
    pub(super) fn align(&self, key: Key) -> Key {
        key << (KEY_BITS - self.key_bits)
    }

    /// Converts a right-aligned key to the representation of the golden model.
    pub fn golden_key(&self, key: Key) -> Bits {
        let (high, low) = key.into_words();
        Bits::new(128, high).concat(&Bits::new(128, low)).resize(self.key_bits)
    }

    /// Returns the entry of the first level that an aligned key leads to.
    pub(super) fn slot(&self, aligned: Key) -> u32 {
        bits(aligned, 0, self.root_bits())
    }
}

/// Returns an aligned key with all bits after the first `length` cleared.
pub(super) fn head(aligned: Key, length: u32) -> Key {
    if length == 0 { Key::ZERO } else { aligned & Key::MAX << (KEY_BITS - length) }
}

/// Returns the `count` bits (1 to 32) after the first `at` of an aligned key, as a number.
pub(super) fn bits(aligned: Key, at: u32, count: u32) -> u32 {
    (aligned << at >> (KEY_BITS - count)).as_u32()
}

/// Returns the right-aligned key with these bits.
///
/// # Panics
/// If there are more bits than a [`Key`] has.
pub fn key(bits: &Bits) -> Key {
    assert!(bits.width() <= KEY_BITS, "no accelerator has keys of {} bits", bits.width());
    bits.words()
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .fold(Key::ZERO, |key, word| key << 64 | Key::from(word))
}
