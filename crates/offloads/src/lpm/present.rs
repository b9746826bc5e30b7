//! Sets of prefixes of a trie node. Most nodes have at most one prefix, which is stored in the
//! node. The bitmap of a node with several prefixes is stored separately.

/// A set of positions from 2 to 127. The number is 0 for the empty set, the position of a single
/// element, or 128 plus the index of a bitmap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Present(u32);

const FIRST_BITMAP: u32 = 128;

/// The bitmaps of all sets with more than one position.
#[derive(Default)]
pub(super) struct Bitmaps {
    bitmaps: Vec<[u64; 2]>,
    free: Vec<u32>,
}

impl Bitmaps {
    /// Returns a set as a bitmap.
    pub(super) fn bits(&self, present: Present) -> [u64; 2] {
        match present.0 {
            0 => [0, 0],
            position @ 1..64 => [1 << position, 0],
            position @ 64..FIRST_BITMAP => [0, 1 << (position - 64)],
            stored => self.bitmaps[(stored - FIRST_BITMAP) as usize],
        }
    }

    /// Replaces a set.
    pub(super) fn set(&mut self, present: &mut Present, bits: [u64; 2]) {
        let count = bits[0].count_ones() + bits[1].count_ones();
        let stored = present.0.checked_sub(FIRST_BITMAP);
        if count > 1 {
            let index = stored.or_else(|| self.free.pop()).unwrap_or_else(|| {
                self.bitmaps.push([0, 0]);
                (self.bitmaps.len() - 1) as u32
            });
            self.bitmaps[index as usize] = bits;
            *present = Present(FIRST_BITMAP + index);
            return;
        }
        self.free.extend(stored);
        *present = Present(match bits {
            [0, 0] => 0,
            [0, high] => 64 + high.trailing_zeros(),
            [low, _] => low.trailing_zeros(),
        });
    }

    /// Returns the memory in bytes.
    pub(super) fn memory(&self) -> usize {
        self.bitmaps.capacity() * 16 + self.free.capacity() * 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_kept_whatever_their_size() {
        let (mut bitmaps, mut sets) = (Bitmaps::default(), [Present::default(); 3]);
        let mut wanted = [[0u64; 2]; 3];
        let mut state = 1u32;
        for _ in 0..5000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (index, draw) = ((state >> 8) as usize % 3, (state >> 16) as usize);
            let position = 2 + draw % 126;
            // Sets become empty now and then.
            wanted[index] = match draw % 7 {
                0 => [0, 0],
                _ => {
                    let mut bits = wanted[index];
                    bits[position / 64] ^= 1 << (position % 64);
                    bits
                }
            };
            bitmaps.set(&mut sets[index], wanted[index]);
            assert_eq!(sets.map(|set| bitmaps.bits(set)), wanted);
        }
        assert!(bitmaps.bitmaps.len() <= 3, "freed bitmaps are used again");
    }
}
