//! Longest-prefix match over addresses of 32 bits as a trie in SRAM.
//!
//! The root has an entry for each value of the upper 16 bits; below it are nodes of 16 entries for
//! four bits each. So a lookup reads one to five words. An entry is a pointer to a node (bit 31,
//! and the word address of the node in bits 30 to 0), or a value of 31 bits. The value of a prefix
//! is in all entries below it that no longer prefix takes, so a lookup remembers nothing on its way.
//!
//! ```text
//! 10.0.0.0/8 -> 1, 10.2.48.0/20 -> 2      root[0x0a00] = 1
//!                                         root[0x0a02] = node N
//!                                         N[0 to 2], N[4 to 15] = 1, N[3] = 2
//! ```

/// Bits that the root takes, and those that each node below takes.
const ROOT_BITS: u32 = 16;
const NODE_BITS: u32 = 4;
const ROOT: usize = 1 << ROOT_BITS;
const NODE: usize = 1 << NODE_BITS;
/// The bit of a pointer.
const POINTER: u32 = 1 << 31;

/// A prefix and its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The address; the bits after the prefix are of no interest.
    pub address: u32,
    /// Bits of the prefix, at most 32.
    pub length: u32,
    /// At most 31 bits.
    pub value: u32,
}

/// A trie does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unplaced {
    /// It needs more words than there are.
    #[error("the routes need more than the {words} words of SRAM that are left")]
    Large {
        /// Those that there are.
        words: usize,
    },
    /// A prefix is longer than an address, or a value has more than 31 bits.
    #[error("a prefix has more than 32 bits, or its value more than 31")]
    Range,
}

/// Makes the words of a trie that begins at word address `base` and takes at most `words` words.
/// Addresses that no prefix matches get `miss`.
///
/// # Errors
/// If the trie is larger, or a route is out of range.
pub fn image(routes: &[Route], miss: u32, base: u32, words: usize) -> Result<Vec<u32>, Unplaced> {
    let is_valid = |route: &Route| route.length <= 32 && route.value < POINTER;
    if !routes.iter().all(is_valid) || miss >= POINTER {
        return Err(Unplaced::Range);
    }
    // Longer prefixes come later and take entries from the shorter. Of equal ones the last stays.
    let mut routes = routes.to_vec();
    routes.sort_by_key(|route| route.length);
    if words < ROOT {
        return Err(Unplaced::Large { words });
    }
    let mut image = vec![miss; ROOT];
    for route in routes {
        insert(&mut image, route, base, words)?;
    }
    Ok(image)
}

fn insert(image: &mut Vec<u32>, route: Route, base: u32, words: usize) -> Result<(), Unplaced> {
    let (mut node, mut bits, mut done) = (0, ROOT_BITS, 0);
    loop {
        let index = (route.address << done >> (32 - bits)) as usize;
        let left = route.length - done;
        if left <= bits {
            let free = bits - left;
            let first = node + (index >> free << free);
            // What is below belongs to shorter prefixes: there are no nodes.
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

/// Looks an address up as microcode does; also the words that it reads.
pub fn look_up(image: &[u32], base: u32, address: u32) -> (u32, u32) {
    let mut entry = image[(address >> ROOT_BITS) as usize];
    let (mut done, mut read) = (ROOT_BITS, 1);
    while entry & POINTER != 0 {
        let node = ((entry & !POINTER) - base) as usize;
        entry = image[node + (address << done >> (32 - NODE_BITS)) as usize];
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

    fn naive(routes: &[Route], miss: u32, address: u32) -> u32 {
        let matches = |route: &&Route| {
            route.length == 0 || (route.address ^ address) >> (32 - route.length) == 0
        };
        // The last of the longest, as the trie keeps it.
        let best = routes.iter().filter(matches).max_by_key(|route| route.length);
        best.map_or(miss, |route| route.value)
    }

    proptest! {
        #[test]
        fn it_finds_what_a_scan_finds(
            routes in proptest::collection::vec((0_u32..64, any::<u32>(), 0_u32..=32), 0..60),
            addresses in proptest::collection::vec(any::<u32>(), 50),
        ) {
            // Few upper bits, so that prefixes lie in each other.
            let near = |seed: u32, low: u32| seed << 26 >> 10 << 4 | low & 0x000f_ffff;
            let routes: Vec<Route> = routes.iter().enumerate().map(|(at, &(seed, low, length))| {
                Route { address: near(seed, low), length, value: at as u32 + 1 }
            }).collect();
            let image = image(&routes, 0, BASE, WORDS).expect("it fits");
            let own = routes.iter().flat_map(|route| [route.address, route.address ^ 1]);
            for address in own.chain(addresses.iter().map(|&low| near(low >> 20, low))) {
                let (value, read) = look_up(&image, BASE, address);
                prop_assert_eq!(value, naive(&routes, 0, address));
                prop_assert!((1..=5).contains(&read));
            }
        }
    }

    #[test]
    fn a_trie_that_is_too_large_is_refused() {
        let route = Route { address: 0x0a00_0000, length: 32, value: 1 };
        assert_eq!(image(&[route], 0, 0, 1000), Err(Unplaced::Large { words: 1000 }));
        // The root and a node for each four bits after it.
        assert_eq!(image(&[route], 0, 0, ROOT + 4 * NODE).map(|image| image.len()), Ok(65_600));
        let less = ROOT + 4 * NODE - 1;
        assert_eq!(image(&[route], 0, 0, less), Err(Unplaced::Large { words: less }));
    }

    #[test]
    fn values_and_prefixes_have_their_range() {
        let long = Route { address: 0, length: 33, value: 0 };
        assert_eq!(image(&[long], 0, 0, WORDS), Err(Unplaced::Range));
        let large = Route { address: 0, length: 8, value: POINTER };
        assert_eq!(image(&[large], 0, 0, WORDS), Err(Unplaced::Range));
    }
}
