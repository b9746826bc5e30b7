//! IPv4 (RFC 791).

use std::net::Ipv4Addr;

use super::layout::{FieldSpec, Show, field};
use super::{checksum, protocol};

/// Length of the header in bytes, without options.
pub const LEN: usize = 20;
/// Byte offset of the total length.
pub const TOTAL_LENGTH: usize = 2;
/// Byte offset of the checksum.
pub const CHECKSUM: usize = 10;
/// Byte offset of the source address.
pub const SRC: usize = 12;
/// Byte offset of the destination address.
pub const DST: usize = 16;

/// The positions of the fields. Options follow.
pub const FIELDS: &[FieldSpec] = &[
    field("version", 0, 4, Show::Decimal),
    field("header_length", 4, 4, Show::Decimal),
    field("dscp", 8, 6, Show::Decimal),
    field("ecn", 14, 2, Show::Decimal),
    field("total_length", 16, 16, Show::Decimal),
    field("id", 32, 16, Show::Hex),
    field("flags", 48, 3, Show::Flags(&["reserved", "DF", "MF"])),
    field("fragment_offset", 51, 13, Show::Decimal),
    field("ttl", 64, 8, Show::Decimal),
    field("protocol", 72, 8, Show::Named(protocol::NAMES)),
    field("checksum", 80, 16, Show::Hex),
    field("src", 96, 32, Show::Ipv4),
    field("dst", 128, 32, Show::Ipv4),
];

/// A header to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ipv4 {
    /// The version, 4 bits.
    pub version: u8,
    /// Header length in words of 32 bits. `None`: the actual one.
    pub header_length: Option<u8>,
    /// Differentiated services and congestion notification.
    pub tos: u8,
    /// Total length in bytes. `None`: the actual one.
    pub total_length: Option<u16>,
    /// Identification.
    pub id: u16,
    pub dont_fragment: bool,
    pub more_fragments: bool,
    /// Fragment offset in units of 8 bytes.
    pub fragment_offset: u16,
    pub ttl: u8,
    /// The protocol. `None`: the one of the next layer.
    pub protocol: Option<u8>,
    /// The checksum. `None`: the correct one.
    pub checksum: Option<u16>,
    pub src: Ipv4Addr,
    pub dst: Ipv4Addr,
    /// Options, padded with zeros to whole words.
    pub options: Vec<u8>,
}

impl Default for Ipv4 {
    fn default() -> Self {
        Self {
            version: 4,
            header_length: None,
            tos: 0,
            total_length: None,
            id: 0,
            dont_fragment: false,
            more_fragments: false,
            fragment_offset: 0,
            ttl: 64,
            protocol: None,
            checksum: None,
            src: Ipv4Addr::new(192, 0, 2, 1),
            dst: Ipv4Addr::new(198, 51, 100, 1),
            options: Vec::new(),
        }
    }
}

impl Ipv4 {
    /// Appends the header of a packet whose payload has `payload` bytes.
    pub fn write(&self, next: u8, payload: usize, out: &mut Vec<u8>) {
        let start = out.len();
        let length = LEN + self.options.len().next_multiple_of(4);
        let words = self.header_length.unwrap_or((length / 4) as u8);
        let fragment = u16::from(self.dont_fragment) << 14
            | u16::from(self.more_fragments) << 13
            | self.fragment_offset & 0x1fff;
        out.extend_from_slice(&[self.version << 4 | words & 15, self.tos]);
        out.extend_from_slice(
            &self.total_length.unwrap_or((length + payload) as u16).to_be_bytes(),
        );
        out.extend_from_slice(&self.id.to_be_bytes());
        out.extend_from_slice(&fragment.to_be_bytes());
        out.extend_from_slice(&[self.ttl, self.protocol.unwrap_or(next), 0, 0]);
        out.extend_from_slice(&self.src.octets());
        out.extend_from_slice(&self.dst.octets());
        out.extend_from_slice(&self.options);
        out.resize(start + length, 0);
        let checksum = self.checksum.unwrap_or_else(|| checksum::checksum(&out[start..]));
        out[start + CHECKSUM..start + CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
    }
}
