//! Routes in SRAM, as programs/microcode/include/ipv4.inc explains them.

use wireloom_codegen::trie;

use super::contents::{NextHop, PortAddress, Route};

/// The most words of a trie, as a pointer has 31 bits. The memory's size is checked later.
const MOST: usize = 1 << 31;

/// The two words of a port.
pub fn port(port: &PortAddress) -> [u32; 2] {
    [(port.mac >> 16) as u32, (port.mac << 16) as u32 | u32::from(port.any_station)]
}

/// The four words of a next hop.
pub fn next_hop(hop: &NextHop) -> [u32; 4] {
    [
        (hop.neighbour >> 16) as u32,
        (hop.neighbour << 16) as u32 | (hop.own >> 32) as u32,
        hop.own as u32,
        u32::from(hop.port) << 16 | u32::from(hop.mtu),
    ]
}

/// The words of a trie that begins at word address `base`. Engines in Loom C use the same trie.
///
/// # Errors
/// If a prefix has no bits, or more than 32.
pub fn trie(base: u32, routes: &[Route]) -> Result<Vec<u32>, String> {
    if let Some(wrong) = routes.iter().find(|route| !(1..=32).contains(&route.length)) {
        return Err(format!("a route has {} bits; it can have 1 to 32", wrong.length));
    }
    let route = |route: &Route| trie::Route {
        key: u128::from(u32::from_be_bytes(route.address)) << 96,
        length: route.length.into(),
        value: (route.kind as u32) << 24 | u32::from(route.next_hop),
    };
    let routes: Vec<trie::Route> = routes.iter().map(route).collect();
    trie::image(32, &routes, 0, base, MOST).map_err(|unplaced| unplaced.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmarks::RouteKind;
    use wireloom_sim::Rng;

    /// The bit of an entry that is a pointer.
    const POINTER: u32 = 1 << 31;

    fn look_up(words: &[u32], base: u32, address: u32) -> u32 {
        let mut entry = words[(address >> 16) as usize];
        let mut shift = 12;
        while entry & POINTER != 0 {
            let node = (entry & !POINTER) - base;
            entry = words[(node + (address >> shift & 15)) as usize];
            shift -= 4;
        }
        entry
    }

    #[test]
    fn the_trie_finds_the_longest_prefix() {
        let mut rng = Rng::new(1, "routes");
        let mut routes: Vec<Route> = Vec::new();
        while routes.len() < 200 {
            let length = 1 + rng.below(32) as u8;
            let mask = u32::MAX << (32 - length);
            let address = ((rng.below(4) as u32) << 30 | rng.below(1 << 18) as u32) & mask;
            let address = address.to_be_bytes();
            let next_hop = routes.len() as u16;
            if routes.iter().all(|route| (route.address, route.length) != (address, length)) {
                routes.push(Route { address, length, kind: RouteKind::Forward, next_hop });
            }
        }
        let words = trie(0x1000, &routes).expect("they are routes");
        for _ in 0..20_000 {
            let near = routes[rng.below(200) as usize];
            let bits = rng.below(33);
            let noise = rng.below(1 << bits) as u32;
            let address = u32::from_be_bytes(near.address) ^ noise;
            let has = |route: &&Route| {
                let mask = u32::MAX << (32 - route.length);
                (u32::from_be_bytes(route.address) ^ address) & mask == 0
            };
            let longest = routes.iter().filter(has).max_by_key(|route| route.length);
            let expected = longest.map_or(0, |route| 1 << 24 | u32::from(route.next_hop));
            assert_eq!(look_up(&words, 0x1000, address), expected, "{address:#x}");
        }
    }
}
