//! Rings of words in a memory (version 2): first in, first out. Sizes and commands follow the
//! IXP2800 Hardware Reference Manual: section 7.1.2.3.2 for the scratchpad, table 75 for SRAM.

use super::Refused;

/// The number of rings of a memory.
pub const RINGS: usize = 16;
/// The free words below which a ring counts as full: as many as a command can move.
const ROOM: usize = crate::request::MAX_WORDS;

/// The field of a ring's register with its size: the number of bits, and the words of the smallest
/// ring. Each further size is twice the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    bits: u32,
    smallest: usize,
}

impl Scale {
    /// Rings of the scratchpad: 128 to 1,024 words.
    pub const SCRATCH: Self = Self { bits: 2, smallest: 128 };
    /// Rings of SRAM: 512 to 65,536 words.
    pub const SRAM: Self = Self { bits: 3, smallest: 512 };
}

/// The rings of a memory.
#[derive(Clone, Debug)]
pub struct Rings {
    rings: [Ring; RINGS],
    scale: Scale,
}

#[derive(Clone, Copy, Debug, Default)]
struct Ring {
    /// The index of the first word, and the number of words; 0 for a ring that is not set up.
    base: usize,
    size: usize,
    /// The offset of the next word to leave, and the number of words on the ring.
    head: usize,
    count: usize,
}

impl Rings {
    /// Creates rings that are not set up.
    pub fn new(scale: Scale) -> Self {
        Self { rings: Default::default(), scale }
    }

    /// Sets up a ring from its register value: the highest bits are the size, the rest is the byte
    /// address of the first word.
    ///
    /// # Errors
    /// If the ring does not lie within the memory of `words` words, or not at a multiple of its
    /// size.
    pub fn set(&mut self, number: usize, value: u32, words: usize) -> Result<(), Refused> {
        let shift = 32 - self.scale.bits;
        let size = self.scale.smallest << (value >> shift);
        let base = (value & ((1 << shift) - 1)) as usize / 4;
        if !base.is_multiple_of(size) || base + size > words {
            return Err(Refused(format!(
                "ring {number} of {size} words at byte {} is not at a multiple of its size in the \
                 memory of {} bytes",
                base * 4,
                words * 4
            )));
        }
        self.rings[number % RINGS] = Ring { base, size, head: 0, count: 0 };
        Ok(())
    }

    /// A bit mask of rings 0 to 3, set where a ring has no room for a whole command.
    pub fn full(&self) -> u8 {
        let full = |ring: &Ring| ring.size > 0 && ring.size - ring.count < ROOM;
        (0..4).filter(|number| full(&self.rings[*number])).map(|number| 1 << number).sum()
    }

    /// Puts words on a ring.
    ///
    /// # Errors
    /// If the ring is not set up or has no room for the words.
    pub fn put(&mut self, words: &mut [u32], number: usize, data: &[u32]) -> Result<(), Refused> {
        let ring = self.ring(number)?;
        if ring.count + data.len() > ring.size {
            return Err(Refused(format!(
                "ring {number} holds {} words of {}, and {} more are put: ask ring{number}_full \
                 before",
                ring.count,
                ring.size,
                data.len()
            )));
        }
        for word in data {
            words[ring.base + (ring.head + ring.count) % ring.size] = *word;
            ring.count += 1;
        }
        Ok(())
    }

    /// Takes words from a ring. A ring with fewer words keeps them, and all returned words are 0.
    ///
    /// # Errors
    /// If the ring is not set up.
    pub fn get(&mut self, words: &[u32], number: usize, data: &mut [u32]) -> Result<(), Refused> {
        let ring = self.ring(number)?;
        if ring.count < data.len() {
            data.fill(0);
            return Ok(());
        }
        for word in data {
            *word = words[ring.base + ring.head];
            ring.head = (ring.head + 1) % ring.size;
            ring.count -= 1;
        }
        Ok(())
    }

    fn ring(&mut self, number: usize) -> Result<&mut Ring, Refused> {
        let ring = self.rings.get_mut(number).filter(|ring| ring.size > 0);
        ring.ok_or_else(|| Refused(format!("ring {number} was not set up: write its base")))
    }
}
