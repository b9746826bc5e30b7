//! The walk of an accelerator through its memories, level by level.

use wireloom_bits::Bits;

use super::image::TrieImage;
use super::memory::Memory;
use super::shape::{KEY_BITS, Key, Shape, VALUE_BITS, bits};

/// A lookup in progress.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    shape: Shape,
    /// The number of entries read.
    level: usize,
    at: u32,
    /// The bits that have not been used, aligned.
    rest: Key,
}

impl Walk {
    /// Starts the walk for a right-aligned key.
    pub fn new(shape: Shape, key: Key) -> Self {
        let aligned = shape.align(key);
        Self { shape, level: 0, at: shape.slot(aligned), rest: aligned << shape.root_bits() }
    }

    /// Reads one entry, as the accelerator does. Returns the number of the value once it is found.
    ///
    /// # Panics
    /// If the value has already been found.
    pub fn read(&mut self, memories: &[Memory]) -> Option<u32> {
        let entry = match self.shape.levels.get(self.level) {
            Some(level) => memories[level.memory].low(self.at),
            None => self.range(memories),
        };
        self.level += 1;
        let next = entry as u32 & ((1 << VALUE_BITS) - 1);
        if entry >> VALUE_BITS == 1 {
            return Some(next);
        }
        self.at = next;
        if let Some(level) = self.shape.levels.get(self.level) {
            self.at = level.base + (next << level.stride) + bits(self.rest, 0, level.stride);
            self.rest <<= level.stride;
        }
        None
    }

    /// Returns the entry of the range that contains the rest of the key.
    fn range(&self, memories: &[Memory]) -> u64 {
        let tails = self.shape.tails.expect("only leaves at the last level of other tries");
        let node = memories[tails.memory + self.level - self.shape.levels.len()].get(self.at);
        let width = VALUE_BITS + 1;
        let id = (self.rest >> (KEY_BITS - 64)).as_u64();
        let passed = (0..3)
            .filter(|bound| id >= node.slice(4 * width + 64 * (2 - bound), 64).low_u64())
            .count();
        node.slice(width * (3 - passed as u32), width).low_u64()
    }
}

impl TrieImage {
    /// Returns the reply of the accelerator and its value table to a right-aligned key.
    pub fn lookup(&self, key: Key) -> &Bits {
        let mut walk = Walk::new(*self.shape(), key);
        loop {
            if let Some(number) = walk.read(self.memories()) {
                return &self.values()[number as usize];
            }
        }
    }
}
