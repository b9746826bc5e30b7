//! UDP (RFC 768).

use super::layout::{FieldSpec, Show, field};

/// Length of the header in bytes.
pub const LEN: usize = 8;
/// Byte offset of the length.
pub const LENGTH: usize = 4;
/// Byte offset of the checksum.
pub const CHECKSUM: usize = 6;

/// The positions of the fields.
pub const FIELDS: &[FieldSpec] = &[
    field("src_port", 0, 16, Show::Decimal),
    field("dst_port", 16, 16, Show::Decimal),
    field("length", 32, 16, Show::Decimal),
    field("checksum", 48, 16, Show::Hex),
];

/// A header to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Udp {
    pub src_port: u16,
    pub dst_port: u16,
    /// Length in bytes of header and payload. `None`: the actual one.
    pub length: Option<u16>,
    /// The checksum. `None`: the correct one. A correct checksum of zero is written as all ones,
    /// since zero means no checksum.
    pub checksum: Option<u16>,
}

impl Default for Udp {
    fn default() -> Self {
        Self { src_port: 49_152, dst_port: 53, length: None, checksum: None }
    }
}

impl Udp {
    /// Appends the header. A checksum that is still to be computed is zero.
    pub fn write(&self, payload: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.src_port.to_be_bytes());
        out.extend_from_slice(&self.dst_port.to_be_bytes());
        out.extend_from_slice(&self.length.unwrap_or((LEN + payload) as u16).to_be_bytes());
        out.extend_from_slice(&self.checksum.unwrap_or(0).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::build::Frame;
    use super::super::ethernet::{self, Ethernet};
    use super::super::ipv4::{self, Ipv4};
    use super::super::testing::{
        assert_any_bytes_are_shown, assert_cover, assert_shortest, checksum_by_division, shown,
        values,
    };
    use super::*;

    fn frame(header: Udp, payload: &[u8]) -> Vec<u8> {
        let frame = Frame::new().ethernet(Ethernet::default()).ipv4(Ipv4::default());
        frame.udp(header).payload(payload).bytes()
    }

    const START: usize = ethernet::LEN + ipv4::LEN;

    /// Returns the checksum of a frame with [`frame`]'s headers, computed from its bytes.
    fn expected(frame: &[u8]) -> u16 {
        let mut covered = frame[ethernet::LEN + ipv4::SRC..START].to_vec();
        covered.extend([0, 17, 0, (frame.len() - START) as u8]);
        covered.extend(&frame[START..]);
        covered[12 + CHECKSUM..12 + CHECKSUM + 2].fill(0);
        match checksum_by_division(&covered) {
            0 => 0xffff,
            checksum => checksum,
        }
    }

    fn stated(frame: &[u8]) -> u16 {
        u16::from_be_bytes([frame[START + CHECKSUM], frame[START + CHECKSUM + 1]])
    }

    #[test]
    fn fields_are_at_their_places() {
        assert_cover(FIELDS, LEN);
        let mut bytes = Vec::new();
        let header =
            Udp { src_port: 0x0102, dst_port: 0x0304, length: None, checksum: Some(0x0506) };
        header.write(0x0700, &mut bytes);
        assert_eq!(bytes, [1, 2, 3, 4, 7, 8, 5, 6]);
        let wanted =
            [("src_port", 0x0102), ("dst_port", 0x0304), ("length", 0x0708), ("checksum", 0x0506)];
        assert_eq!(values(FIELDS, &bytes), HashMap::from(wanted));
        assert_eq!((bytes[LENGTH], bytes[CHECKSUM]), (7, 5));
    }

    #[test]
    fn checksums_cover_addresses_header_and_payload_of_any_length() {
        for length in 0..70_u8 {
            let frame = frame(Udp::default(), &(0..length).collect::<Vec<_>>());
            assert_eq!(stated(&frame), expected(&frame), "{length} bytes");
            assert!(shown(&frame)["udp.checksum"].ends_with("(correct)"));
        }
    }

    #[test]
    fn a_sum_of_zero_is_written_as_all_ones() {
        let sum = expected(&frame(Udp::default(), &[0, 0]));
        let zero = frame(Udp::default(), &sum.to_be_bytes());
        assert_eq!((stated(&zero), expected(&zero)), (0xffff, 0xffff));
        let right = shown(&zero)["udp.checksum"].clone();
        assert!(right.ends_with("(correct)"), "{right}");
    }

    #[test]
    fn a_stated_checksum_of_zero_is_none() {
        let without = frame(Udp { checksum: Some(0), ..Udp::default() }, &[1, 2, 3]);
        assert_eq!(shown(&without)["udp.checksum"], "0x0000");
        let wrong = frame(Udp { checksum: Some(1), ..Udp::default() }, &[1, 2, 3]);
        assert!(shown(&wrong)["udp.checksum"].contains("wrong"));
    }

    #[test]
    fn a_header_needs_all_its_bytes() {
        assert_shortest(&frame(Udp::default(), &[1]), "udp", START + LEN);
    }

    #[test]
    fn any_bytes_are_shown() {
        let header = Ipv4 { protocol: Some(17), total_length: Some(80), ..Ipv4::default() };
        let begin = Frame::new().ethernet(Ethernet::default()).ipv4(header).bytes();
        assert_any_bytes_are_shown(&begin);
    }
}
