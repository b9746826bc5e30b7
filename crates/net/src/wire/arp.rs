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

#[cfg(test)]
mod tests {
    use super::super::build::Frame;
    use super::super::ethernet::{self, Ethernet};
    use super::super::testing::{
        assert_any_bytes_are_shown, assert_cover, assert_shortest, shown, values,
    };
    use super::*;

    fn request() -> Arp {
        Arp {
            operation: REQUEST,
            sender_mac: [2, 0, 0, 0, 0, 9],
            sender_ip: Ipv4Addr::new(192, 0, 2, 1),
            target_mac: [0; 6],
            target_ip: Ipv4Addr::new(192, 0, 2, 254),
        }
    }

    fn frame(arp: Arp) -> Vec<u8> {
        Frame::new().ethernet(Ethernet::default()).arp(arp).payload(&[0; 18]).bytes()
    }

    #[test]
    fn fields_are_at_their_places() {
        assert_cover(FIELDS, LEN);
        let mut bytes = Vec::new();
        request().write(&mut bytes);
        let wanted = [
            0, 1, 8, 0, 6, 4, 0, 1, 2, 0, 0, 0, 0, 9, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 192, 0, 2,
            254,
        ];
        assert_eq!(bytes, wanted);
        let found = values(FIELDS, &bytes);
        assert_eq!((found["hardware"], found["protocol"]), (1, 0x0800));
        assert_eq!((found["hardware_length"], found["protocol_length"]), (6, 4));
        assert_eq!((found["operation"], found["sender_mac"]), (1, 0x0200_0000_0009));
        assert_eq!((found["sender_ip"], found["target_ip"]), (0xc000_0201, 0xc000_02fe));
        assert_eq!(found["target_mac"], 0);
    }

    #[test]
    fn a_message_names_its_operation_and_is_followed_by_padding() {
        let reply = shown(&frame(Arp { operation: REPLY, ..request() }));
        assert_eq!(reply["arp.operation"], "2 (reply)");
        assert_eq!(reply["arp.sender_mac"], "02:00:00:00:00:09");
        assert_eq!(reply["arp.target_ip"], "192.0.2.254");
        assert!(reply.contains_key("padding[0]") && !reply.contains_key("payload"));
        assert_eq!(shown(&frame(request()))["arp.operation"], "1 (request)");
    }

    #[test]
    fn a_message_needs_all_its_bytes() {
        assert_shortest(&frame(request()), "arp", ethernet::LEN + LEN);
    }

    #[test]
    fn any_bytes_are_shown() {
        assert_any_bytes_are_shown(&frame(request())[..ethernet::LEN]);
    }
}
