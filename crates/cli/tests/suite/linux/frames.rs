//! Frames built field by field, valid by default.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Ones'-complement sum of 16-bit words (RFC 1071), folded, not inverted.
pub fn ones_sum(bytes: &[u8]) -> u16 {
    let words =
        bytes.chunks(2).map(|c| u32::from(c[0]) << 8 | c.get(1).copied().map_or(0, u32::from));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[derive(Clone, Debug)]
pub struct Ethernet {
    /// Destination.
    pub to: [u8; 6],
    /// Source.
    pub from: [u8; 6],
    /// VLAN tags, outermost first: protocol identifier and control information.
    pub tags: Vec<(u16, u16)>,
    /// EtherType, or a length.
    pub ethertype: u16,
}

impl Ethernet {
    /// Returns the frame with a payload.
    pub fn around(&self, payload: &[u8]) -> Vec<u8> {
        let mut out = [self.to, self.from].concat();
        for (protocol, control) in &self.tags {
            out.extend(protocol.to_be_bytes());
            out.extend(control.to_be_bytes());
        }
        out.extend(self.ethertype.to_be_bytes());
        out.extend(payload);
        out
    }
}

/// The content of a field: the correct value, or another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Is<T> {
    /// The correct value.
    Right,
    /// A given value.
    This(T),
}

impl<T> Is<T> {
    fn or(self, right: T) -> T {
        match self {
            Self::Right => right,
            Self::This(value) => value,
        }
    }
}

/// An IPv4 datagram (RFC 791).
#[derive(Clone, Debug)]
pub struct Ipv4 {
    /// Version, 4 bits.
    pub version: u8,
    /// Header length in 32-bit words, 4 bits.
    pub ihl: Is<u8>,
    /// Type of service.
    pub tos: u8,
    /// Total length in bytes.
    pub length: Is<u16>,
    /// Identification.
    pub id: u16,
    /// Flags (3 bits) and fragment offset (13 bits).
    pub fragment: u16,
    /// Time to live.
    pub ttl: u8,
    pub protocol: u8,
    /// Header checksum.
    pub checksum: Is<u16>,
    /// Source.
    pub from: Ipv4Addr,
    /// Destination.
    pub to: Ipv4Addr,
    /// Options; padded with zeros to whole words.
    pub options: Vec<u8>,
    /// The bytes after the header.
    pub payload: Vec<u8>,
}

impl Ipv4 {
    pub fn bytes(&self) -> Vec<u8> {
        let mut options = self.options.clone();
        options.resize(options.len().next_multiple_of(4), 0);
        let header = 20 + options.len();
        let mut out = vec![self.version << 4 | self.ihl.or((header / 4) as u8), self.tos];
        out.extend(self.length.or((header + self.payload.len()) as u16).to_be_bytes());
        out.extend(self.id.to_be_bytes());
        out.extend(self.fragment.to_be_bytes());
        out.extend([self.ttl, self.protocol, 0, 0]);
        out.extend(self.from.octets());
        out.extend(self.to.octets());
        out.extend(options);
        out.extend(&self.payload);
        // The checksum covers the header as given by the header-length field.
        let covered = (usize::from(out[0] & 15) * 4).clamp(12, out.len());
        let checksum = self.checksum.or(!ones_sum(&out[..covered]));
        out[10..12].copy_from_slice(&checksum.to_be_bytes());
        out
    }
}

/// An IPv6 packet (RFC 8200).
#[derive(Clone, Debug)]
pub struct Ipv6 {
    /// Version, 4 bits.
    pub version: u8,
    /// Traffic class.
    pub class: u8,
    /// Flow label, 20 bits.
    pub flow: u32,
    /// Payload length in bytes.
    pub length: Is<u16>,
    /// Next header.
    pub next: u8,
    /// Hop limit.
    pub hops: u8,
    /// Source.
    pub from: Ipv6Addr,
    /// Destination.
    pub to: Ipv6Addr,
    /// The bytes after the fixed header, extension headers included.
    pub payload: Vec<u8>,
}

impl Ipv6 {
    pub fn bytes(&self) -> Vec<u8> {
        let first = u32::from(self.version) << 28 | u32::from(self.class) << 20 | self.flow;
        let mut out = first.to_be_bytes().to_vec();
        out.extend(self.length.or(self.payload.len() as u16).to_be_bytes());
        out.extend([self.next, self.hops]);
        out.extend(self.from.octets());
        out.extend(self.to.octets());
        out.extend(&self.payload);
        out
    }
}

/// Returns a UDP datagram with this payload; the checksum is 0, as IPv4 allows (RFC 768).
pub fn udp(from: u16, to: u16, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(8 + payload.len());
    out.extend(from.to_be_bytes());
    out.extend(to.to_be_bytes());
    out.extend((8 + payload.len() as u16).to_be_bytes());
    out.extend([0, 0]);
    out.extend(payload);
    out
}
