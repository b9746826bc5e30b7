//! What the memories of a benchmark hold before the first packet.

use super::Benchmark;

/// What the memories of a benchmark hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// Tables of [`Benchmark::Ipfwdr`].
    Ipfwdr {
        /// The addresses of ports 0, 1 and so on.
        ports: Vec<PortAddress>,
        /// Routes of destinations and sources.
        routes: Vec<Route>,
        /// Neighbours, by their number in routes.
        next_hops: Vec<NextHop>,
    },
    /// Patterns of [`Benchmark::Url`].
    Url(Vec<Pattern>),
    /// [`Benchmark::Nat`]: the outside address, whose ports from
    /// [`FIRST_PORT`](Self::FIRST_PORT) on are for bindings.
    Nat {
        /// The address.
        outside: [u8; 4],
        /// Bindings that are there from the start: the first one has the port after the first.
        bindings: Vec<Binding>,
    },
    /// [`Benchmark::Md4`] has no tables.
    Md4,
}

impl Contents {
    /// Binding n of [`Benchmark::Nat`], from 1 on, has the outside port that is this plus n.
    pub const FIRST_PORT: u16 = 0x4000;
    /// Its bindings are those below this number.
    pub const BINDINGS: u32 = 0x8000;

    /// The benchmark.
    pub fn benchmark(&self) -> Benchmark {
        match self {
            Self::Ipfwdr { .. } => Benchmark::Ipfwdr,
            Self::Url(_) => Benchmark::Url,
            Self::Nat { .. } => Benchmark::Nat,
            Self::Md4 => Benchmark::Md4,
        }
    }
}

/// The link address of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortAddress {
    /// The address, 48 bits.
    pub mac: u64,
    /// Whether it takes frames for any station.
    pub any_station: bool,
}

/// What a route means, by its number in programs/include/forwarding.loom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteKind {
    /// To the next hop.
    Forward = 1,
    /// An address of the router.
    Own = 2,
    /// The broadcast address of a link.
    DirectedBroadcast = 3,
    /// A link without a known neighbour.
    Connected = 4,
    /// Refused with a message.
    Reject = 5,
    /// Dropped.
    Blackhole = 6,
}

/// A route of IPv4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The address.
    pub address: [u8; 4],
    /// Bits of the prefix, 1 to 32.
    pub length: u8,
    /// What it means.
    pub kind: RouteKind,
    /// The number of the next hop.
    pub next_hop: u16,
}

/// A neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// The port.
    pub port: u16,
    /// Its link address; 0 if it is not known.
    pub neighbour: u64,
    /// The router's own link address.
    pub own: u64,
    /// The longest packet.
    pub mtu: u16,
}

/// A pattern, and the port of packets that have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The port.
    pub port: u16,
}

/// The inside endpoint of a binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Binding {
    /// 6 for TCP, 17 for UDP.
    pub protocol: u8,
    /// The address.
    pub address: [u8; 4],
    /// The port.
    pub port: u16,
}
