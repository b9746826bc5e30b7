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

#[cfg(test)]
mod tests {
    use super::super::build::Frame;
    use super::super::ethernet::{self, Ethernet};
    use super::super::testing::{
        assert_any_bytes_are_shown, assert_cover, assert_shortest, checksum_by_division, shown,
        values,
    };
    use super::*;

    fn frame(header: Ipv4) -> Vec<u8> {
        Frame::new().ethernet(Ethernet::default()).ipv4(header).payload(&[9; 40]).bytes()
    }

    #[test]
    fn fields_are_at_their_places() {
        assert_cover(FIELDS, LEN);
        let mut bytes = Vec::new();
        let header = Ipv4 {
            tos: 0xb9,
            id: 0x1234,
            dont_fragment: true,
            fragment_offset: 0x0abc,
            ttl: 7,
            src: Ipv4Addr::new(10, 1, 2, 3),
            dst: Ipv4Addr::new(10, 4, 5, 6),
            ..Ipv4::default()
        };
        header.write(protocol::UDP, 100, &mut bytes);
        let found = values(FIELDS, &bytes);
        assert_eq!((found["version"], found["header_length"], found["total_length"]), (4, 5, 120));
        assert_eq!((found["dscp"], found["ecn"], found["id"]), (0x2e, 1, 0x1234));
        assert_eq!((found["flags"], found["fragment_offset"]), (0b010, 0x0abc));
        assert_eq!((found["ttl"], found["protocol"]), (7, 17));
        assert_eq!((found["src"], found["dst"]), (0x0a01_0203, 0x0a04_0506));
        let word = |at: usize| u128::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
        assert_eq!(
            (found["total_length"], found["checksum"]),
            (word(TOTAL_LENGTH), word(CHECKSUM))
        );
        assert_eq!((&bytes[SRC..DST], &bytes[DST..]), (&[10, 1, 2, 3][..], &[10, 4, 5, 6][..]));
    }

    #[test]
    fn a_known_header_has_its_known_checksum() {
        let mut bytes = Vec::new();
        let header = Ipv4 {
            dont_fragment: true,
            src: Ipv4Addr::new(192, 168, 0, 1),
            dst: Ipv4Addr::new(192, 168, 0, 199),
            ..Ipv4::default()
        };
        header.write(protocol::UDP, 95, &mut bytes);
        let wanted = [
            0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xb8, 0x61, 0xc0, 0xa8,
            0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7,
        ];
        assert_eq!(bytes, wanted);
    }

    #[test]
    fn options_fill_words_and_count_in_both_lengths_and_the_checksum() {
        for count in 0..=40_u8 {
            let mut bytes = Vec::new();
            let options: Vec<u8> = (1..=count).collect();
            Ipv4 { options: options.clone(), ..Ipv4::default() }.write(6, 3, &mut bytes);
            let length = LEN + usize::from(count).next_multiple_of(4);
            assert_eq!(bytes.len(), length);
            assert_eq!(usize::from(bytes[0] & 15) * 4, length);
            assert_eq!(usize::from(bytes[3]), length + 3);
            assert_eq!(bytes[LEN..LEN + options.len()], options);
            let stated = u16::from_be_bytes([bytes[CHECKSUM], bytes[CHECKSUM + 1]]);
            bytes[CHECKSUM..CHECKSUM + 2].fill(0);
            assert_eq!(stated, checksum_by_division(&bytes), "{count} bytes of options");
        }
    }

    #[test]
    fn given_fields_stay_even_if_they_are_wrong() {
        let mut bytes = Vec::new();
        let header = Ipv4 {
            version: 5,
            header_length: Some(15),
            total_length: Some(1),
            protocol: Some(99),
            checksum: Some(0xdead),
            ..Ipv4::default()
        };
        header.write(protocol::TCP, 100, &mut bytes);
        assert_eq!((bytes[0], &bytes[2..4], bytes[9]), (0x5f, &[0, 1][..], 99));
        assert_eq!(bytes[CHECKSUM..CHECKSUM + 2], [0xde, 0xad]);
    }

    #[test]
    fn a_header_needs_all_bytes_that_its_length_states() {
        assert_shortest(&frame(Ipv4::default()), "ipv4", ethernet::LEN + LEN);
        let options = frame(Ipv4 { options: vec![1; 40], ..Ipv4::default() });
        assert_shortest(&options, "ipv4", ethernet::LEN + 60);
        // A header length below the minimum counts as the minimum.
        let short = frame(Ipv4 { header_length: Some(4), ..Ipv4::default() });
        assert_shortest(&short, "ipv4", ethernet::LEN + LEN);
    }

    #[test]
    fn bytes_after_the_total_length_are_padding() {
        let shown = shown(&frame(Ipv4 { total_length: Some(30), ..Ipv4::default() }));
        assert_eq!(shown["payload"], ["09"; 10].join(" "));
        assert!(shown.contains_key("padding[0]"));
    }

    #[test]
    fn each_wrong_bit_of_the_header_is_found() {
        let right = frame(Ipv4::default());
        let verdict = |frame: &[u8]| shown(frame)["ipv4.checksum"].clone();
        assert!(verdict(&right).ends_with("(correct)"));
        // The first byte has the header length, without which there is no checksum.
        for bit in 8..8 * LEN {
            let mut wrong = right.clone();
            wrong[ethernet::LEN + bit / 8] ^= 0x80 >> (bit % 8);
            assert!(verdict(&wrong).contains("wrong"), "bit {bit}");
        }
    }

    #[test]
    fn any_bytes_are_shown() {
        assert_any_bytes_are_shown(&frame(Ipv4::default())[..ethernet::LEN]);
    }
}
