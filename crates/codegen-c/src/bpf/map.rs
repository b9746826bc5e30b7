//! The maps in which the kernel keeps the state of offloads.

/// The map of an offload.
#[derive(Clone, Debug)]
pub struct Map {
    /// The map's symbol in the program.
    pub symbol: String,
    /// The index of the offload in the engine.
    pub offload: usize,
    pub content: Content,
}

/// The content of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Elements that packets change: an array map.
    Elements {
        /// The number of elements.
        count: u64,
        /// Words per element.
        words: u32,
    },
    /// Counts of packets and bytes, which packets change: an array map with all counters of each
    /// processor, one processor after the other.
    Counters {
        /// The number of counters per processor.
        count: u64,
    },
    /// Elements that packets only read: a map that holds one array map, which another array map can
    /// replace.
    ReadOnly {
        /// The number of elements.
        count: u64,
        /// Words per element.
        words: u32,
    },
    /// Values by key, each after two words with its last touch: a hash map, and an array map of one
    /// element with the table's clock.
    Keys {
        /// The largest number of keys.
        count: u64,
        /// Words per key.
        key: u32,
        /// Words per value.
        words: u32,
    },
    /// A prefix table: a map that holds one array map. runtime/c/bpf/lpm.h describes its contents.
    Prefixes {
        /// The distance of values in words, a power of two.
        stride: u32,
        /// The binary logarithm of the bytes of an element.
        part_bits: u32,
    },
}

impl Map {
    /// Returns the symbol of the clock of a table of keys.
    pub fn clock(&self) -> String {
        format!("{}_clock", self.symbol)
    }
}
