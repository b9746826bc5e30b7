//! DIR-24-8-BASIC (Gupta, Lin and McKeown 1998, as in the paper of the router): a table of 2^24
//! entries of 16 bits for the first 24 bits of an address, and segments of 256 for the last 8.
//!
//! ```text
//! 10.0.0.0/8 -> 1, 10.0.0.7/32 -> 2      first[0x0a0000] = 0x8000 | 0, the others of 10/8 = 1
//!                                        second[0][7] = 2, the others = 1
//! ```
//!
//! An entry with bit 15 set is the number of a segment; other entries are numbers of values.

use wireloom_codegen::trie::Route;

/// The bit of entries that are numbers of segments.
const SEGMENT: u16 = 1 << 15;

/// The two tables.
pub struct Direct {
    first: Vec<u16>,
    second: Vec<u16>,
}

impl Direct {
    /// The bytes of the first table.
    pub const FIRST_BYTES: u32 = 2 << 24;
    /// The bytes of free memory from which on the tables are built.
    pub const LEAST: u32 = Self::FIRST_BYTES + (1 << 20);

    /// Builds the tables of routes, which are sorted by length. Returns `None` if there are too
    /// many values or long prefixes for entries of 16 bits.
    pub fn new(routes: &[Route]) -> Option<Self> {
        let mut tables = Self { first: vec![0; 1 << 24], second: Vec::new() };
        for route in routes {
            let value = u16::try_from(route.value).ok().filter(|value| value & SEGMENT == 0)?;
            let address = (route.key >> 96) as u32;
            if route.length <= 24 {
                let at = (address >> 8) as usize;
                tables.first[at..at + (1 << (24 - route.length))].fill(value);
                continue;
            }
            let entry = &mut tables.first[(address >> 8) as usize];
            if *entry & SEGMENT == 0 {
                let segment = u16::try_from(tables.second.len() / 256).ok()?;
                tables.second.extend([*entry; 256]);
                if segment & SEGMENT != 0 {
                    return None;
                }
                *entry = SEGMENT | segment;
            }
            let at = usize::from(*entry & !SEGMENT) * 256 + (address & 0xff) as usize;
            tables.second[at..at + (1 << (32 - route.length))].fill(value);
        }
        Some(tables)
    }

    /// Returns the bytes of the second table.
    pub fn second_bytes(&self) -> u64 {
        2 * self.second.len() as u64
    }

    /// Returns the words of both tables with their addresses, without parts that are all 0.
    pub fn images(&self, first: u32, second: u32) -> Vec<(u32, Vec<u32>)> {
        const PART: usize = 2048;
        let mut images = Vec::new();
        for (base, entries) in [(first, &self.first), (second, &self.second)] {
            for (part, entries) in entries.chunks(PART).enumerate() {
                if entries.iter().any(|entry| *entry != 0) {
                    let word = |pair: &[u16]| u32::from(pair[0]) << 16 | u32::from(pair[1]);
                    let words = entries.chunks_exact(2).map(word).collect();
                    images.push((base + (2 * PART * part) as u32, words));
                }
            }
        }
        images
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_finds_its_longest_prefix() {
        let route =
            |address: u32, length, value| Route { key: u128::from(address) << 96, length, value };
        let routes = [
            route(0x0a00_0000, 8, 1),
            route(0x0a00_0100, 24, 3),
            route(0x0a00_0000, 25, 4),
            route(0x0a00_0007, 32, 2),
        ];
        let tables = Direct::new(&routes).expect("they fit");
        let find = |address: u32| match tables.first[(address >> 8) as usize] {
            entry if entry & SEGMENT == 0 => entry,
            entry => tables.second[usize::from(entry & !SEGMENT) * 256 + (address & 0xff) as usize],
        };
        for (address, value) in [
            (0x0b00_0000, 0),
            (0x0a00_0007, 2),
            (0x0a00_0008, 4),
            (0x0a00_0080, 1),
            (0x0a00_01ff, 3),
            (0x0aff_ffff, 1),
        ] {
            assert_eq!(find(address), value, "{address:#x}");
        }
        assert!(Direct::new(&[route(0, 8, 1 << 15)]).is_none());
    }
}
