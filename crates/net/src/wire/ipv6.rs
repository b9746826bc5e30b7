//! IPv6 and its extension headers (RFC 8200; authentication header: RFC 4302).

use std::net::Ipv6Addr;

use super::layout::{FieldSpec, Show, field};
use super::protocol;

/// Length of the header in bytes.
pub const LEN: usize = 40;
/// Byte offset of the payload length.
pub const PAYLOAD_LENGTH: usize = 4;
/// Byte offset of the source address.
pub const SRC: usize = 8;
/// Byte offset of the destination address.
pub const DST: usize = 24;
/// Length of a fragment header in bytes.
pub const FRAGMENT_LEN: usize = 8;

/// The positions of the fields.
pub const FIELDS: &[FieldSpec] = &[
    field("version", 0, 4, Show::Decimal),
    field("dscp", 4, 6, Show::Decimal),
    field("ecn", 10, 2, Show::Decimal),
    field("flow_label", 12, 20, Show::Hex),
    field("payload_length", 32, 16, Show::Decimal),
    field("next_header", 48, 8, Show::Named(protocol::NAMES)),
    field("hop_limit", 56, 8, Show::Decimal),
    field("src", 64, 128, Show::Ipv6),
    field("dst", 192, 128, Show::Ipv6),
];

/// The first fields of hop-by-hop, routing and destination options headers. The length counts units
/// of 8 bytes after the first.
pub const EXTENSION_FIELDS: &[FieldSpec] = &[
    field("next_header", 0, 8, Show::Named(protocol::NAMES)),
    field("length", 8, 8, Show::Decimal),
];

/// The fields of a fragment header.
pub const FRAGMENT_FIELDS: &[FieldSpec] = &[
    field("next_header", 0, 8, Show::Named(protocol::NAMES)),
    field("reserved", 8, 8, Show::Hex),
    field("offset", 16, 13, Show::Decimal),
    field("reserved2", 29, 2, Show::Decimal),
    field("more", 31, 1, Show::Decimal),
    field("id", 32, 32, Show::Hex),
];

/// The first fields of an authentication header. The length counts words of 4 bytes, minus two.
pub const AUTHENTICATION_FIELDS: &[FieldSpec] = &[
    field("next_header", 0, 8, Show::Named(protocol::NAMES)),
    field("length", 8, 8, Show::Decimal),
    field("reserved", 16, 16, Show::Hex),
    field("spi", 32, 32, Show::Hex),
    field("sequence", 64, 32, Show::Decimal),
];

/// A header to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ipv6 {
    /// Version, 4 bits.
    pub version: u8,
    /// Differentiated services and congestion notification.
    pub traffic_class: u8,
    /// Flow label, 20 bits.
    pub flow_label: u32,
    /// Payload length in bytes. `None`: the actual one.
    pub payload_length: Option<u16>,
    /// The next header. `None`: the one of the next layer.
    pub next_header: Option<u8>,
    pub hop_limit: u8,
    pub src: Ipv6Addr,
    pub dst: Ipv6Addr,
}

impl Default for Ipv6 {
    fn default() -> Self {
        Self {
            version: 6,
            traffic_class: 0,
            flow_label: 0,
            payload_length: None,
            next_header: None,
            hop_limit: 64,
            src: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1),
            dst: Ipv6Addr::new(0x2001, 0xdb8, 1, 0, 0, 0, 0, 1),
        }
    }
}

impl Ipv6 {
    /// Appends the header of a packet whose payload (including extension headers) has `payload`
    /// bytes.
    pub fn write(&self, next: u8, payload: usize, out: &mut Vec<u8>) {
        let first = u32::from(self.version) << 28
            | u32::from(self.traffic_class) << 20
            | self.flow_label & 0xf_ffff;
        out.extend_from_slice(&first.to_be_bytes());
        out.extend_from_slice(&self.payload_length.unwrap_or(payload as u16).to_be_bytes());
        out.extend_from_slice(&[self.next_header.unwrap_or(next), self.hop_limit]);
        out.extend_from_slice(&self.src.octets());
        out.extend_from_slice(&self.dst.octets());
    }
}

/// A hop-by-hop, routing or destination options header to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// The protocol number of the header.
    pub kind: u8,
    /// The next header. `None`: the one of the next layer.
    pub next_header: Option<u8>,
    /// The data after next header and length, padded with zeros (which are `Pad1` options) to whole
    /// units of 8 bytes.
    pub data: Vec<u8>,
}

impl Extension {
    /// Returns the length in bytes.
    pub fn length(&self) -> usize {
        (2 + self.data.len()).next_multiple_of(8)
    }

    /// Appends the header.
    pub fn write(&self, next: u8, out: &mut Vec<u8>) {
        let end = out.len() + self.length();
        out.extend_from_slice(&[self.next_header.unwrap_or(next), (self.length() / 8 - 1) as u8]);
        out.extend_from_slice(&self.data);
        out.resize(end, 0);
    }
}

/// A fragment header to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Fragment {
    /// The next header. `None`: the one of the next layer.
    pub next_header: Option<u8>,
    /// Fragment offset in units of 8 bytes.
    pub offset: u16,
    /// Whether more fragments follow.
    pub more: bool,
    /// Identification.
    pub id: u32,
}

impl Fragment {
    /// Appends the header.
    pub fn write(&self, next: u8, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.next_header.unwrap_or(next), 0]);
        out.extend_from_slice(&(self.offset << 3 | u16::from(self.more)).to_be_bytes());
        out.extend_from_slice(&self.id.to_be_bytes());
    }
}
