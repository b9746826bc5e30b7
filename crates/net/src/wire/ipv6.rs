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

#[cfg(test)]
mod tests {
    use super::super::build::Frame;
    use super::super::ethernet::{self, Ethernet};
    use super::super::testing::{
        assert_any_bytes_are_shown, assert_cover, assert_shortest, shown, values,
    };
    use super::super::udp::Udp;
    use super::*;

    fn ethernet() -> Frame {
        Frame::new().ethernet(Ethernet::default())
    }

    #[test]
    fn fields_are_at_their_places() {
        assert_cover(FIELDS, LEN);
        assert_cover(FRAGMENT_FIELDS, FRAGMENT_LEN);
        assert_cover(EXTENSION_FIELDS, 2);
        assert_cover(AUTHENTICATION_FIELDS, 12);
        let mut bytes = Vec::new();
        let header = Ipv6 {
            traffic_class: 0xb9,
            flow_label: 0xabcde,
            hop_limit: 7,
            src: Ipv6Addr::from_bits(1 << 127 | 2),
            dst: Ipv6Addr::from_bits(3 << 64 | 4),
            ..Ipv6::default()
        };
        header.write(protocol::TCP, 0x1234, &mut bytes);
        assert_eq!(bytes[..8], [0x6b, 0x9a, 0xbc, 0xde, 0x12, 0x34, 6, 7]);
        let found = values(FIELDS, &bytes);
        assert_eq!((found["version"], found["dscp"], found["ecn"]), (6, 0x2e, 1));
        assert_eq!((found["flow_label"], found["payload_length"]), (0xabcde, 0x1234));
        assert_eq!((found["next_header"], found["hop_limit"]), (6, 7));
        assert_eq!((found["src"], found["dst"]), (1 << 127 | 2, 3 << 64 | 4));
        assert_eq!(bytes[PAYLOAD_LENGTH..PAYLOAD_LENGTH + 2], [0x12, 0x34]);
        assert_eq!((bytes[SRC], bytes[DST - 1], bytes[DST + 7]), (0x80, 2, 3));
    }

    #[test]
    fn extension_headers_take_whole_units_of_8_bytes() {
        for count in 0..40 {
            let mut bytes = vec![0xee];
            let data = vec![1; count];
            let kind = protocol::DESTINATION_OPTIONS;
            let header = Extension { kind, next_header: None, data };
            header.write(protocol::UDP, &mut bytes);
            assert_eq!((bytes.len() - 1, header.length() % 8), (header.length(), 0));
            assert!(header.length() >= 2 + count && header.length() < 10 + count);
            assert_eq!((bytes[1], usize::from(bytes[2]) * 8 + 8), (17, header.length()));
            assert!(bytes[3..3 + count].iter().all(|byte| *byte == 1));
            assert!(bytes[3 + count..].iter().all(|byte| *byte == 0));
        }
    }

    #[test]
    fn a_fragment_header_has_its_fields() {
        let mut bytes = Vec::new();
        let header =
            Fragment { next_header: Some(58), offset: 0x1abc, more: true, id: 0xdead_beef };
        header.write(protocol::TCP, &mut bytes);
        assert_eq!(bytes, [58, 0, 0xd5, 0xe1, 0xde, 0xad, 0xbe, 0xef]);
        let found = values(FRAGMENT_FIELDS, &bytes);
        assert_eq!((found["offset"], found["more"], found["id"]), (0x1abc, 1, 0xdead_beef));
        assert_eq!((found["reserved"], found["reserved2"]), (0, 0));
    }

    #[test]
    fn each_header_needs_all_its_bytes() {
        let options = |kind, count| Extension { kind, next_header: None, data: vec![0; count] };
        let frame = ethernet()
            .ipv6(Ipv6::default())
            .extension(options(protocol::HOP_BY_HOP, 6))
            .extension(options(protocol::ROUTING, 22))
            .fragment(Fragment::default())
            .extension(options(protocol::DESTINATION_OPTIONS, 14))
            .udp(Udp::default())
            .bytes();
        let mut end = ethernet::LEN;
        for (layer, length) in [
            ("ipv6", LEN),
            ("hop_by_hop", 8),
            ("routing", 24),
            ("fragment", FRAGMENT_LEN),
            ("destination_options", 16),
            ("udp", 8),
        ] {
            end += length;
            assert_shortest(&frame, layer, end);
        }
        assert_eq!(end, frame.len());
    }

    #[test]
    fn the_length_of_an_authentication_header_counts_words() {
        for (stated, length) in [(0, 12), (1, 12), (4, 24), (255, 1028)] {
            let mut data = vec![protocol::NO_NEXT, stated];
            data.resize(length + 3, 0);
            let next_header = Some(protocol::AUTHENTICATION);
            let header = Ipv6 { next_header, ..Ipv6::default() };
            let frame = ethernet().ipv6(header).payload(&data).bytes();
            assert_shortest(&frame, "authentication", ethernet::LEN + LEN + length);
            assert_eq!(shown(&frame)["payload"], "00 00 00");
        }
    }

    #[test]
    fn later_fragments_do_not_begin_with_a_header() {
        for (offset, has_header) in [(0, true), (1, false)] {
            let fragment = Fragment { offset, ..Fragment::default() };
            let frame =
                ethernet().ipv6(Ipv6::default()).fragment(fragment).udp(Udp::default()).bytes();
            let shown = shown(&frame);
            assert_eq!(shown.contains_key("udp.src_port"), has_header, "{shown:?}");
            assert_eq!(shown.contains_key("payload"), !has_header, "{shown:?}");
        }
    }

    #[test]
    fn any_bytes_are_shown() {
        let frame = ethernet().ipv6(Ipv6::default()).bytes();
        assert_any_bytes_are_shown(&frame[..ethernet::LEN]);
        for next in [0, 43, 44, 51, 60] {
            let header =
                Ipv6 { next_header: Some(next), payload_length: Some(90), ..Ipv6::default() };
            assert_any_bytes_are_shown(&ethernet().ipv6(header).bytes());
        }
    }
}
