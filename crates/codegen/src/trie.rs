//! Longest-prefix match as a trie of words.
//!
//! The root has an entry for each value of the first 16 bits of a key (of all bits, if the key is
//! shorter). Nodes below the root have 16 entries for four bits each, so a lookup of 32 bits reads
//! one to five words. An entry is either a pointer to a node (bit 31 is set, bits 30 to 0 are the
//! word address of the node) or a value of 31 bits. The value of a prefix is copied to all entries
//! below it that no longer prefix takes, so a lookup needs no memory of shorter matches.
//!
//! ```text
//! 10.0.0.0/8 -> 1, 10.2.48.0/20 -> 2      root[0x0a00] = 1
//!                                         root[0x0a02] = node N
//!                                         N[0 to 2], N[4 to 15] = 1, N[3] = 2
//! ```

use wireloom_bits::Bits;

/// Key bits that each node below the root consumes.
pub const NODE_BITS: u32 = 4;
/// The maximum number of key bits that the root consumes.
const ROOT_BITS: u32 = 16;
const NODE: usize = 1 << NODE_BITS;
/// The bit that marks an entry as a pointer.
pub const POINTER: u32 = 1 << 31;
/// A key of a prefix. Bits are counted from the most significant one.
pub trait Key: Clone {
    /// The maximum width of a key in bits.
    const MOST: u32;

    /// Returns the `bits` bits that follow the first `done` bits. Bits past the end are 0.
    fn part(&self, done: u32, bits: u32) -> usize;
}

/// The key occupies the most significant bits, whatever its width.
impl Key for u128 {
    const MOST: u32 = 128;

    fn part(&self, done: u32, bits: u32) -> usize {
        let rest = self.checked_shl(done).unwrap_or(0);
        rest.checked_shr(Self::MOST - bits).unwrap_or(0) as usize
    }
}

/// The value has the width of the key.
impl Key for Bits {
    const MOST: u32 = wireloom_bits::MAX_WIDTH;

    fn part(&self, done: u32, bits: u32) -> usize {
        let there = bits.min(self.width().saturating_sub(done));
        let lo = self.width().saturating_sub(done + there);
        (self.extract(lo, there) << (bits - there)) as usize
    }
}

/// Returns the number of bits that the root consumes of a key of `width` bits.
pub fn root_bits(width: u32) -> u32 {
    width.min(ROOT_BITS)
}

/// A prefix and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route<K = u128> {
    /// The key. Bits after the prefix are ignored.
    pub key: K,
    /// Length of the prefix in bits.
    pub length: u32,
    /// The value, of at most 31 bits.
    pub value: u32,
}

/// The reason why a trie cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unplaced {
    /// The trie needs more words than are available.
    #[error("the routes need more than the {words} words of memory that are left")]
    Large {
        /// The available words.
        words: usize,
    },
    /// A prefix is longer than a key, or a value has more than 31 bits.
    #[error("a prefix is longer than the key, or its value has more than 31 bits")]
    Range,
}

/// Builds the words of a trie for keys of `width` bits, at most [`Key::MOST`]. The trie begins at
/// word address `base` and takes at most `words` words. Keys that match no prefix get `miss`.
///
/// # Errors
/// If the trie needs more words, or a route is out of range.
pub fn image<K: Key>(
    width: u32,
    routes: &[Route<K>],
    miss: u32,
    base: u32,
    words: usize,
) -> Result<Vec<u32>, Unplaced> {
    let is_valid = |route: &Route<K>| route.length <= width && route.value < POINTER;
    if width > K::MOST || !routes.iter().all(is_valid) || miss >= POINTER {
        return Err(Unplaced::Range);
    }
    // Longer prefixes come later and overwrite entries of shorter ones. Among equal prefixes the
    // last one wins.
    let mut routes = routes.to_vec();
    routes.sort_by_key(|route| route.length);
    let root = 1 << root_bits(width);
    if words < root {
        return Err(Unplaced::Large { words });
    }
    let mut image = vec![miss; root];
    for route in routes {
        insert(&mut image, root_bits(width), route, base, words)?;
    }
    Ok(image)
}

fn insert<K: Key>(
    image: &mut Vec<u32>,
    root: u32,
    route: Route<K>,
    base: u32,
    words: usize,
) -> Result<(), Unplaced> {
    let (mut node, mut bits, mut done) = (0, root, 0);
    loop {
        let index = route.key.part(done, bits);
        let left = route.length - done;
        if left <= bits {
            let free = bits - left;
            let first = node + (index >> free << free);
            // No nodes lie below these entries, since the prefixes so far are no longer than this
            // one.
            image[first..first + (1 << free)].fill(route.value);
            return Ok(());
        }
        let entry = image[node + index];
        node = if entry & POINTER != 0 {
            ((entry & !POINTER) - base) as usize
        } else {
            let place = image.len();
            if place + NODE > words {
                return Err(Unplaced::Large { words });
            }
            image.resize(place + NODE, entry);
            image[node + index] = POINTER | (base + place as u32);
            place
        };
        done += bits;
        bits = NODE_BITS;
    }
}

/// Looks a key up as microcode does. Returns the value and the number of words read.
pub fn look_up<K: Key>(width: u32, image: &[u32], base: u32, key: &K) -> (u32, u32) {
    let mut done = root_bits(width);
    let (mut entry, mut read) = (image[key.part(0, done)], 1);
    while entry & POINTER != 0 {
        let node = ((entry & !POINTER) - base) as usize;
        entry = image[node + key.part(done, NODE_BITS)];
        done += NODE_BITS;
        read += 1;
    }
    (entry, read)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BASE: u32 = 1024;
    const WORDS: usize = 1 << 20;

    fn key(address: u32) -> u128 {
        u128::from(address) << 96
    }

    fn naive(routes: &[Route], miss: u32, address: u32) -> u32 {
        let matches = |route: &&Route| {
            route.length == 0 || (route.key ^ key(address)) >> (128 - route.length) == 0
        };
        // `max_by_key` returns the last of equal lengths, as the trie does.
        let best = routes.iter().filter(matches).max_by_key(|route| route.length);
        best.map_or(miss, |route| route.value)
    }

    proptest! {
        #[test]
        fn it_finds_what_a_scan_finds(
            routes in proptest::collection::vec((0_u32..64, any::<u32>(), 0_u32..=32), 0..60),
            addresses in proptest::collection::vec(any::<u32>(), 50),
        ) {
            // The upper bits have few values, so that prefixes nest.
            let near = |seed: u32, low: u32| seed << 26 >> 10 << 4 | low & 0x000f_ffff;
            let routes: Vec<Route> = routes.iter().enumerate().map(|(at, &(seed, low, length))| {
                Route { key: key(near(seed, low)), length, value: at as u32 + 1 }
            }).collect();
            let image = image(32, &routes, 0, BASE, WORDS).expect("it fits");
            let own = routes.iter().map(|route| (route.key >> 96) as u32);
            let own = own.flat_map(|address| [address, address ^ 1]);
            for address in own.chain(addresses.iter().map(|&low| near(low >> 20, low))) {
                let (value, read) = look_up(32, &image, BASE, &key(address));
                prop_assert_eq!(value, naive(&routes, 0, address));
                prop_assert!((1..=5).contains(&read));
            }
        }
    }

    #[test]
    fn a_trie_that_is_too_large_is_refused() {
        let route = Route { key: key(0x0a00_0000), length: 32, value: 1 };
        assert_eq!(image(32, &[route], 0, 0, 1000), Err(Unplaced::Large { words: 1000 }));
        // The root, and one node for each four bits after the first 16.
        assert_eq!(
            image(32, &[route], 0, 0, (1 << 16) + 4 * NODE).map(|image| image.len()),
            Ok(65_600)
        );
        let less = (1 << 16) + 4 * NODE - 1;
        assert_eq!(image(32, &[route], 0, 0, less), Err(Unplaced::Large { words: less }));
    }

    #[test]
    fn values_and_prefixes_have_their_range() {
        let long = Route { key: 0, length: 33, value: 0 };
        assert_eq!(image(32, &[long], 0, 0, WORDS), Err(Unplaced::Range));
        let large = Route { key: 0, length: 8, value: POINTER };
        assert_eq!(image(32, &[large], 0, 0, WORDS), Err(Unplaced::Range));
    }

    #[test]
    fn keys_of_all_widths_have_a_trie() {
        for width in [1, 4, 15, 16, 17, 20, 30, 64, 127, 128] {
            let key = |value: u128| value << (128 - width);
            let route = |value: u128, length: u32, number: u32| Route {
                key: key(value),
                length,
                value: number,
            };
            let routes = [route(0, 0, 7), route(1, width, 8)];
            let image = image(width, &routes, 0, BASE, WORDS).expect("it fits");
            assert_eq!(look_up(width, &image, BASE, &key(1)).0, 8, "{width}");
            assert_eq!(look_up(width, &image, BASE, &key(0)).0, 7, "{width}");
        }
    }

    #[test]
    fn wide_keys_have_a_trie() {
        for width in [132, 160, 1024] {
            let key = |low: u128| Bits::new(width, low);
            let top = Bits::new(width, 5).shl(width - 3);
            let routes = [(key(1), width, 8), (top.clone(), 3, 9)];
            let routes = routes.map(|(key, length, value)| Route { key, length, value });
            let image = image(width, &routes, 7, BASE, WORDS).expect("it fits");
            for (key, value) in [(key(1), 8), (key(0), 7), (top, 9)] {
                assert_eq!(look_up(width, &image, BASE, &key).0, value, "{width}");
            }
        }
    }
}
