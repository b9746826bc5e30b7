//! The initial memory contents of a benchmark.

use super::Benchmark;

/// The initial memory contents of a benchmark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Tables for [`Benchmark::Ipfwdr`].
    Ipfwdr {
        /// The addresses of the ports, from port 0.
        ports: Vec<PortAddress>,
        /// Routes of destinations and sources.
        routes: Vec<Route>,
        /// Neighbours, indexed by [`Route::next_hop`].
        next_hops: Vec<NextHop>,
    },
    /// Patterns for [`Benchmark::Url`].
    Url(Vec<Pattern>),
    /// [`Benchmark::Nat`]: the outside address. Its ports from [`FIRST_PORT`](Self::FIRST_PORT) are
    /// for bindings.
    Nat {
        outside: [u8; 4],
        /// Bindings that exist at the start. The first one has the port after
        /// [`FIRST_PORT`](Contents::FIRST_PORT).
        bindings: Vec<Binding>,
    },
    /// [`Benchmark::Md4`] has no tables.
    Md4,
}

impl Contents {
    /// Binding n of [`Benchmark::Nat`], from 1, has the outside port `FIRST_PORT + n`.
    pub const FIRST_PORT: u16 = 0x4000;
    /// The exclusive upper bound on binding numbers of [`Benchmark::Nat`].
    pub const BINDINGS: u32 = 0x8000;

    /// The benchmark that these contents are for.
    pub fn benchmark(&self) -> Benchmark {
        match self {
            Self::Ipfwdr { .. } => Benchmark::Ipfwdr,
            Self::Url(_) => Benchmark::Url,
            Self::Nat { .. } => Benchmark::Nat,
            Self::Md4 => Benchmark::Md4,
        }
    }
}

/// The link-layer address of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortAddress {
    /// The address, 48 bits.
    pub mac: u64,
    /// Whether the port accepts frames for any station.
    pub any_station: bool,
}

/// The kind of a route, with its number in programs/include/forwarding.loom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteKind {
    /// Forwarded to the next hop.
    Forward = 1,
    /// An address of the router itself.
    Own = 2,
    /// The broadcast address of a link.
    DirectedBroadcast = 3,
    /// A directly connected link, without a known neighbour.
    Connected = 4,
    /// Refused with an ICMP message.
    Reject = 5,
    /// Dropped.
    Blackhole = 6,
}

/// An IPv4 route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    pub address: [u8; 4],
    /// The prefix length in bits, 1 to 32.
    pub length: u8,
    pub kind: RouteKind,
    /// An index into the next hops.
    pub next_hop: u16,
}

/// A neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// The egress port.
    pub port: u16,
    /// The neighbour's link-layer address; 0 if it is not known.
    pub neighbour: u64,
    /// The router's own link-layer address.
    pub own: u64,
    /// The length of the longest packet in bytes.
    pub mtu: u16,
}

/// A pattern, and the egress port of packets that contain it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    pub bytes: Vec<u8>,
    pub port: u16,
}

/// The inside endpoint of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Binding {
    /// 6 for TCP, 17 for UDP.
    pub protocol: u8,
    pub address: [u8; 4],
    pub port: u16,
}
