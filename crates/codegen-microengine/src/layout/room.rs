//! Free words of the memories.

use super::super::unit::{Region, Unit};

/// The free words of the memories during placement.
pub(super) struct Room {
    pub next: [u32; 3],
    /// Words that are reserved for offloads whose contents can grow. These are placed last.
    pub promised: [u32; 3],
    pub most: [u32; 3],
}

impl Room {
    /// Returns the number of free words of a memory.
    pub fn left(&self, unit: Unit) -> u32 {
        let unit = unit as usize;
        self.most[unit].saturating_sub(self.next[unit]).saturating_sub(self.promised[unit])
    }

    /// Takes words of the first of these memories that has enough.
    pub fn take(&mut self, wanted: &[(Unit, u64)]) -> Option<Region> {
        let (unit, words) = self.first(wanted)?;
        let (first, words) = (self.next[unit as usize], words as u32);
        self.next[unit as usize] = (first + words).next_multiple_of(unit.aligned());
        Some(Region { unit, first, words })
    }

    /// Reserves words of the first of these memories that has enough.
    pub fn promise(&mut self, wanted: &[(Unit, u64)]) -> Option<(Unit, u32)> {
        let (unit, words) = self.first(wanted)?;
        let words = (words as u32).next_multiple_of(unit.aligned());
        self.promised[unit as usize] += words;
        Some((unit, words))
    }

    fn first(&self, wanted: &[(Unit, u64)]) -> Option<(Unit, u64)> {
        wanted.iter().copied().find(|(unit, words)| *words <= u64::from(self.left(*unit)))
    }
}
