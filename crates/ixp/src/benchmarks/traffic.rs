//! Packets of the benchmarks, generated from a seed.

use wireloom_sim::Rng;

use super::Benchmark;
use super::contents::{Binding, Contents, NextHop, Pattern, PortAddress, Route, RouteKind};

/// Lengths in bytes of the Ethernet, IPv4, and UDP or TCP headers.
const ETHERNET: usize = 14;
const IPV4: usize = 20;
const TCP: usize = 20;

/// The numbers of routes, patterns and flows of a workload.
const ROUTES: usize = 1000;
const NEXT_HOPS: u16 = 64;
const PATTERNS: usize = 64;
const FLOWS: u64 = 2000;

/// Generates packets.
#[derive(Clone, Debug)]
pub struct Traffic {
    /// The benchmark that receives them.
    pub benchmark: Benchmark,
    /// The number of ports of the chip.
    pub ports: u16,
    /// Frame lengths without the check sequence, 60 to 1,514 bytes, each with its weight.
    pub sizes: Vec<(usize, u32)>,
    /// The seed of the generator.
    pub seed: u64,
}

/// A generated packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generated {
    /// The ingress port.
    pub port: u16,
    pub bytes: Vec<u8>,
}

impl Traffic {
    /// The simple IMIX: seven frames of 64 bytes, four of 594 and one of 1,518, check sequence
    /// included.
    pub fn mix() -> Vec<(usize, u32)> {
        vec![(60, 7), (590, 4), (1514, 1)]
    }

    /// The memory contents for this traffic.
    pub fn contents(&self) -> Contents {
        let mut rng = Rng::new(self.seed, "contents");
        match self.benchmark {
            Benchmark::Ipfwdr => self.router(&mut rng),
            Benchmark::Url => Contents::Url(self.patterns(&mut rng)),
            Benchmark::Nat => Contents::Nat {
                outside: [192, 0, 2, 1],
                bindings: (0..FLOWS).map(|flow| flow_of(self.seed, flow)).collect(),
            },
            Benchmark::Md4 => Contents::Md4,
        }
    }

    fn router(&self, rng: &mut Rng) -> Contents {
        let own = |port: u16| 0x0200_0000_0000 | u64::from(port);
        let ports = (0..self.ports).map(|port| PortAddress { mac: own(port), any_station: false });
        let next_hops = (0..NEXT_HOPS).map(|number| {
            let port = number % self.ports;
            let neighbour = 0x0200_0001_0000 | u64::from(number);
            NextHop { port, neighbour, own: own(port), mtu: 1500 }
        });
        let mut routes: Vec<Route> = Vec::new();
        while routes.len() < ROUTES {
            // Prefix lengths resemble routing tables: half have 24 bits, the others 12 to 30.
            let length = if rng.below(2) == 0 { 24 } else { 12 + rng.below(19) as u8 };
            let first = 1 + rng.below(100) as u32;
            let address = (first << 24 | rng.below(1 << 24) as u32) & (u32::MAX << (32 - length));
            let address = address.to_be_bytes();
            if routes.iter().all(|route| (route.address, route.length) != (address, length)) {
                let next_hop = rng.below(u64::from(NEXT_HOPS)) as u16;
                routes.push(Route { address, length, kind: RouteKind::Forward, next_hop });
            }
        }
        Contents::Ipfwdr { ports: ports.collect(), routes, next_hops: next_hops.collect() }
    }

    fn patterns(&self, rng: &mut Rng) -> Vec<Pattern> {
        let mut patterns: Vec<Pattern> = Vec::new();
        for number in 0..PATTERNS {
            // The number makes sure that no pattern contains another.
            let mut bytes = format!("/{number:02}").into_bytes();
            let length = 8 + rng.below(13);
            bytes.extend((0..length).map(|_| b'a' + rng.below(26) as u8));
            patterns.push(Pattern { bytes, port: number as u16 % self.ports });
        }
        patterns
    }

    /// An endless sequence of packets. The ports take turns.
    pub fn packets(&self) -> impl Iterator<Item = Generated> + use<> {
        let traffic = self.clone();
        let contents = self.contents();
        let mut rng = Rng::new(self.seed, "packets");
        (0_u64..).map(move |number| {
            let port = (number % u64::from(traffic.ports)) as u16;
            let bytes = traffic.packet(port, &contents, &mut rng);
            Generated { port, bytes }
        })
    }

    fn packet(&self, port: u16, contents: &Contents, rng: &mut Rng) -> Vec<u8> {
        let all = self.sizes.iter().map(|(_, weight)| u64::from(*weight)).sum::<u64>().max(1);
        let mut drawn = rng.below(all);
        let size = self.sizes.iter().find(|(_, weight)| {
            let is_it = drawn < u64::from(*weight);
            drawn = drawn.saturating_sub(u64::from(*weight));
            is_it
        });
        let size = size.map_or(60, |(size, _)| *size).clamp(ETHERNET + IPV4 + TCP, 1514);
        let mut bytes: Vec<u8> = (0..size).map(|_| rng.below(256) as u8).collect();
        bytes[..12].copy_from_slice(&[2, 0, 0, 0, 0, port as u8, 2, 0, 0, 9, 0, port as u8]);
        bytes[12..14].copy_from_slice(&[8, 0]);
        let mut header = Header {
            source: [10, rng.below(256) as u8, rng.below(256) as u8, 1 + rng.below(254) as u8],
            destination: [10, 1, 2, 3],
            protocol: 17,
            ports: [1024 + rng.below(60_000) as u16, 80],
        };
        match contents {
            Contents::Ipfwdr { routes, .. } => {
                header.source = within(&routes[rng.below(routes.len() as u64) as usize], rng);
                header.destination = within(&routes[rng.below(routes.len() as u64) as usize], rng);
            }
            Contents::Url(patterns) => {
                header.protocol = 6;
                let text = ETHERNET + IPV4 + TCP;
                bytes[text..].iter_mut().for_each(|byte| *byte = 32 + *byte % 95);
                // One packet in eight contains a pattern, if it has room for one.
                let pattern = &patterns[rng.below(patterns.len() as u64) as usize].bytes;
                let room = (size - text).checked_sub(pattern.len());
                if rng.below(8) == 0
                    && let Some(room) = room
                {
                    let at = text + rng.below(room as u64 + 1) as usize;
                    bytes[at..at + pattern.len()].copy_from_slice(pattern);
                }
            }
            Contents::Nat { outside, bindings } => {
                let place = rng.below(bindings.len().max(1) as u64) as usize;
                let peer = ([198, 51, 100, 1 + rng.below(200) as u8], 443);
                if let Some(binding) = bindings.get(place) {
                    header.protocol = binding.protocol;
                    if port.is_multiple_of(2) {
                        (header.source, header.destination) = (binding.address, peer.0);
                        header.ports = [binding.port, peer.1];
                    } else {
                        (header.source, header.destination) = (peer.0, *outside);
                        header.ports = [peer.1, Contents::FIRST_PORT + 1 + place as u16];
                    }
                }
            }
            Contents::Md4 => {}
        }
        header.write(&mut bytes);
        bytes
    }
}

/// A random address within a route.
fn within(route: &Route, rng: &mut Rng) -> [u8; 4] {
    let host = rng.below(1 << (32 - route.length)) as u32;
    (u32::from_be_bytes(route.address) | host).to_be_bytes()
}

/// The inside endpoint of a flow. No two flows have the same one.
fn flow_of(seed: u64, flow: u64) -> Binding {
    let mut rng = Rng::new(seed, &format!("flow {flow}"));
    Binding {
        protocol: [6, 17][rng.below(2) as usize],
        address: [10, 0, (flow / 250) as u8, (flow % 250) as u8 + 1],
        port: 1024 + rng.below(60_000) as u16,
    }
}

/// The header fields of a packet.
struct Header {
    source: [u8; 4],
    destination: [u8; 4],
    protocol: u8,
    ports: [u16; 2],
}

impl Header {
    /// Writes IPv4 and TCP or UDP headers with correct checksums.
    fn write(&self, bytes: &mut [u8]) {
        let total = (bytes.len() - ETHERNET) as u16;
        let (header, segment) = bytes[ETHERNET..].split_at_mut(IPV4);
        header.fill(0);
        header[0] = 0x45;
        header[2..4].copy_from_slice(&total.to_be_bytes());
        (header[8], header[9]) = (64, self.protocol);
        header[12..16].copy_from_slice(&self.source);
        header[16..20].copy_from_slice(&self.destination);
        let sum = checksum(header, 0);
        header[10..12].copy_from_slice(&sum.to_be_bytes());
        segment[..2].copy_from_slice(&self.ports[0].to_be_bytes());
        segment[2..4].copy_from_slice(&self.ports[1].to_be_bytes());
        let length = segment.len() as u16;
        let at = if self.protocol == 6 {
            segment[4..20].fill(0);
            (segment[12], segment[13]) = (0x50, 0x18);
            16
        } else {
            segment[4..6].copy_from_slice(&length.to_be_bytes());
            6
        };
        segment[at..at + 2].fill(0);
        let pseudo = u32::from(self.protocol) + u32::from(length);
        let pseudo = pseudo + sum_of(&self.source) + sum_of(&self.destination);
        let sum = match (checksum(segment, pseudo), self.protocol) {
            (0, 17) => 0xffff,
            (sum, _) => sum,
        };
        segment[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
}

/// The sum of the 16-bit words.
fn sum_of(bytes: &[u8]) -> u32 {
    let word = |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0));
    bytes.chunks(2).map(word).sum()
}

/// The Internet checksum (RFC 1071) over bytes and an initial sum.
fn checksum(bytes: &[u8], sum: u32) -> u16 {
    let mut sum = sum + sum_of(bytes);
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
