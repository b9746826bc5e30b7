//! ARP for IPv4 over Ethernet (RFC 826).

use std::net::Ipv4Addr;

use super::ethernet::ETHERTYPES;
use super::layout::{FieldSpec, Show, field};

/// Length of the message in bytes.
pub const LEN: usize = 28;
/// Operation: request.
pub const REQUEST: u16 = 1;
/// Operation: reply.
pub const REPLY: u16 = 2;

/// The positions of the fields.
pub const FIELDS: &[FieldSpec] = &[
    field("hardware", 0, 16, Show::Named(&[(1, "Ethernet")])),
    field("protocol", 16, 16, Show::NamedHex(ETHERTYPES)),
    field("hardware_length", 32, 8, Show::Decimal),
    field("protocol_length", 40, 8, Show::Decimal),
    field(
        "operation",
        48,
        16,
        Show::Named(&[(REQUEST as u64, "request"), (REPLY as u64, "reply")]),
    ),
    field("sender_mac", 64, 48, Show::Mac),
    field("sender_ip", 112, 32, Show::Ipv4),
    field("target_mac", 144, 48, Show::Mac),
    field("target_ip", 192, 32, Show::Ipv4),
];

/// A message to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arp {
    /// [`REQUEST`] or [`REPLY`].
    pub operation: u16,
    pub sender_mac: [u8; 6],
    pub sender_ip: Ipv4Addr,
    pub target_mac: [u8; 6],
    pub target_ip: Ipv4Addr,
}

impl Arp {
    /// Appends the message.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[0, 1, 8, 0, 6, 4]);
        out.extend_from_slice(&self.operation.to_be_bytes());
        out.extend_from_slice(&self.sender_mac);
        out.extend_from_slice(&self.sender_ip.octets());
        out.extend_from_slice(&self.target_mac);
        out.extend_from_slice(&self.target_ip.octets());
    }
}
