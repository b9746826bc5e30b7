//! The number of entries that a table takes in a trie of fixed strides, and the trie that would fit
//! a memory.

use wireloom_net::tables::Prefix;

use super::shape::{KEY_BITS, Key, head};

/// Counts of the blocks of a table. The number of entries of a trie with any strides follows from
/// them.
#[derive(Clone, Debug)]
pub struct Storage {
    key_bits: u32,
    /// For each number of bits, the number of different sequences of leading bits of that length
    /// among longer prefixes.
    beginnings: Vec<u64>,
}

impl Storage {
    /// Computes the storage of prefixes of one family.
    pub fn of_prefixes(prefixes: &[Prefix]) -> Self {
        let key_bits = prefixes.first().map_or(32, |prefix| prefix.family().width());
        let aligned = prefixes
            .iter()
            .map(|prefix| (Key::from(prefix.bits()) << (KEY_BITS - key_bits), prefix.length()));
        Self::new(key_bits, aligned.collect())
    }

    /// Computes the storage of prefixes. Each is given by its bits, left-aligned, and its length.
    pub(super) fn new(key_bits: u32, mut prefixes: Vec<(Key, u32)>) -> Self {
        prefixes.sort_unstable();
        let mut beginnings = vec![0; key_bits as usize];
        let mut last = vec![None; key_bits as usize];
        for (key, length) in prefixes {
            for bits in 0..length {
                let beginning = Some(head(key, bits));
                if last[bits as usize] != beginning {
                    last[bits as usize] = beginning;
                    beginnings[bits as usize] += 1;
                }
            }
        }
        Self { key_bits, beginnings }
    }

    /// Returns the number of entries of each level of a trie with these strides.
    ///
    /// The first level is always complete. A further level has a block for each sequence of leading
    /// bits that a longer prefix has. Gorilla counts in the same way (Figure 6).
    pub fn entries(&self, strides: &[u32]) -> Vec<u64> {
        let mut at = 0;
        let mut entries = Vec::with_capacity(strides.len());
        for &stride in strides {
            let blocks = if at == 0 { 1 } else { self.beginnings[at as usize] };
            entries.push(blocks.saturating_mul(1 << stride));
            at += stride;
        }
        assert!(at <= self.key_bits, "{strides:?}");
        entries
    }

    /// Returns the strides of three levels that take the fewest entries, and that number of
    /// entries.
    pub fn best_of_three(&self) -> ([u32; 3], u64) {
        let bits = self.key_bits;
        let all = (1..bits.min(32))
            .flat_map(|first| (1..bits - first).map(move |second| (first, second)));
        let cost = |&(first, second): &(u32, u32)| {
            let strides = [first, second, bits - first - second];
            let widest = strides.iter().copied().max().unwrap_or(0);
            // Blocks wider than that never pay off, and their number of entries might overflow.
            let total = if widest > 40 { u64::MAX } else { self.entries(&strides).iter().sum() };
            (strides, total)
        };
        all.map(|split| cost(&split)).min_by_key(|&(_, total)| total).expect("keys have three bits")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_has_a_block_for_each_beginning_of_a_longer_prefix() {
        let prefixes: Vec<Prefix> = [
            "0.0.0.0/0",
            "10.0.0.0/8",
            "10.1.2.0/24",
            "10.1.15.0/24",
            "10.1.16.0/21",
            "10.1.16.1/32",
            "10.1.16.2/32",
        ]
        .iter()
        .map(|text| text.parse().unwrap())
        .collect();
        let storage = Storage::of_prefixes(&prefixes);
        // 10.1.0.0/20 and 10.1.16.0/20 contain longer prefixes, and so does 10.1.16.0/24.
        assert_eq!(storage.entries(&[20, 4, 8]), [1 << 20, 32, 256]);
        assert_eq!(storage.entries(&[16, 8, 8]), [1 << 16, 256, 256]);
        assert_eq!(storage.entries(&[24, 4, 4]), [1 << 24, 16, 16]);
        let (strides, total) = storage.best_of_three();
        assert_eq!(storage.entries(&strides).iter().sum::<u64>(), total);
        assert!(total <= storage.entries(&[11, 11, 10]).iter().sum());
    }

    #[test]
    fn a_table_without_prefixes_has_a_first_level() {
        assert_eq!(Storage::of_prefixes(&[]).entries(&[20, 4, 8]), [1 << 20, 0, 0]);
    }
}
