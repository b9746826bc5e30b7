//! TCP (RFC 9293).

use super::layout::{FieldSpec, Show, field};

/// Length of the header in bytes, without options.
pub const LEN: usize = 20;
/// Byte offset of the checksum.
pub const CHECKSUM: usize = 16;

/// The positions of the fields. Options follow.
pub const FIELDS: &[FieldSpec] = &[
    field("src_port", 0, 16, Show::Decimal),
    field("dst_port", 16, 16, Show::Decimal),
    field("sequence", 32, 32, Show::Decimal),
    field("acknowledgment", 64, 32, Show::Decimal),
    field("data_offset", 96, 4, Show::Decimal),
    field("reserved", 100, 4, Show::Decimal),
    field("flags", 104, 8, Show::Flags(&["CWR", "ECE", "URG", "ACK", "PSH", "RST", "SYN", "FIN"])),
    field("window", 112, 16, Show::Decimal),
    field("checksum", 128, 16, Show::Hex),
    field("urgent", 144, 16, Show::Decimal),
];

/// Flag: no more data.
pub const FIN: u8 = 1;
/// Flag: synchronise sequence numbers.
pub const SYN: u8 = 2;
/// Flag: reset.
pub const RST: u8 = 4;
/// Flag: push.
pub const PSH: u8 = 8;
/// Flag: the acknowledgment number is valid.
pub const ACK: u8 = 16;

/// A header to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tcp {
    pub src_port: u16,
    pub dst_port: u16,
    pub sequence: u32,
    pub acknowledgment: u32,
    /// Flags, such as [`SYN`] and [`ACK`].
    pub flags: u8,
    pub window: u16,
    /// The checksum. `None`: the correct one.
    pub checksum: Option<u16>,
    /// Options, padded with zeros to whole words.
    pub options: Vec<u8>,
}

impl Default for Tcp {
    fn default() -> Self {
        Self {
            src_port: 49_152,
            dst_port: 80,
            sequence: 0,
            acknowledgment: 0,
            flags: ACK,
            window: 65_535,
            checksum: None,
            options: Vec::new(),
        }
    }
}

impl Tcp {
    /// Returns the length in bytes.
    pub fn length(&self) -> usize {
        LEN + self.options.len().next_multiple_of(4)
    }

    /// Appends the header. A checksum that is still to be computed is zero.
    pub fn write(&self, out: &mut Vec<u8>) {
        let end = out.len() + self.length();
        out.extend_from_slice(&self.src_port.to_be_bytes());
        out.extend_from_slice(&self.dst_port.to_be_bytes());
        out.extend_from_slice(&self.sequence.to_be_bytes());
        out.extend_from_slice(&self.acknowledgment.to_be_bytes());
        out.extend_from_slice(&[((self.length() / 4) as u8) << 4, self.flags]);
        out.extend_from_slice(&self.window.to_be_bytes());
        out.extend_from_slice(&self.checksum.unwrap_or(0).to_be_bytes());
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(&self.options);
        out.resize(end, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::build::Frame;
    use super::super::ethernet::{self, Ethernet};
    use super::super::ipv6::{self, Ipv6};
    use super::super::testing::{
        assert_any_bytes_are_shown, assert_cover, assert_shortest, checksum_by_division, shown,
        values,
    };
    use super::*;

    fn frame(header: Tcp, payload: &[u8]) -> Vec<u8> {
        let frame = Frame::new().ethernet(Ethernet::default()).ipv6(Ipv6::default());
        frame.tcp(header).payload(payload).bytes()
    }

    const START: usize = ethernet::LEN + ipv6::LEN;

    #[test]
    fn fields_are_at_their_places() {
        assert_cover(FIELDS, LEN);
        let mut bytes = Vec::new();
        let header = Tcp {
            src_port: 0x0102,
            dst_port: 0x0304,
            sequence: 0x0506_0708,
            acknowledgment: 0x090a_0b0c,
            flags: SYN | ACK,
            window: 0x0e0f,
            checksum: Some(0x1011),
            options: Vec::new(),
        };
        header.write(&mut bytes);
        let wanted = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0x50, 0x12, 14, 15, 16, 17, 0, 0];
        assert_eq!(bytes, wanted);
        let found = values(FIELDS, &bytes);
        assert_eq!((found["src_port"], found["dst_port"]), (0x0102, 0x0304));
        assert_eq!((found["sequence"], found["acknowledgment"]), (0x0506_0708, 0x090a_0b0c));
        assert_eq!((found["data_offset"], found["reserved"], found["flags"]), (5, 0, 0x12));
        assert_eq!((found["window"], found["checksum"], found["urgent"]), (0x0e0f, 0x1011, 0));
        assert_eq!(bytes[CHECKSUM], 16);
    }

    #[test]
    fn flags_have_their_names() {
        for (flags, text) in
            [(FIN, "FIN"), (SYN, "SYN"), (RST, "RST"), (PSH | ACK, "ACK PSH"), (0, "none")]
        {
            let frame = frame(Tcp { flags, ..Tcp::default() }, &[]);
            assert_eq!(shown(&frame)["tcp.flags"], text);
        }
    }

    #[test]
    fn options_fill_words_and_the_checksum_covers_everything() {
        for count in 0..=40_u8 {
            let options: Vec<u8> = (1..=count).collect();
            let header = Tcp { options: options.clone(), ..Tcp::default() };
            let length = LEN + usize::from(count).next_multiple_of(4);
            assert_eq!(header.length(), length);
            let frame = frame(header, &[7; 5]);
            let segment = &frame[START..];
            assert_eq!(segment.len(), length + 5);
            assert_eq!(usize::from(segment[12] >> 4) * 4, length);
            assert_eq!(segment[LEN..LEN + options.len()], options);
            let mut covered = frame[ethernet::LEN + ipv6::SRC..START].to_vec();
            covered.extend([0, 0, 0, segment.len() as u8, 0, 0, 0, 6]);
            covered.extend(segment);
            covered[40 + CHECKSUM..40 + CHECKSUM + 2].fill(0);
            let stated = u16::from_be_bytes([segment[CHECKSUM], segment[CHECKSUM + 1]]);
            assert_eq!(stated, checksum_by_division(&covered), "{count} bytes of options");
            assert!(shown(&frame)["tcp.checksum"].ends_with("(correct)"));
        }
    }

    #[test]
    fn a_header_needs_all_bytes_that_its_offset_states() {
        assert_shortest(&frame(Tcp::default(), &[1]), "tcp", START + LEN);
        let options = frame(Tcp { options: vec![1; 40], ..Tcp::default() }, &[1]);
        assert_shortest(&options, "tcp", START + 60);
        // An offset below the minimum counts as the minimum.
        let mut short = frame(Tcp::default(), &[1; 8]);
        short[START + 12] = 0x40;
        assert_shortest(&short, "tcp", START + LEN);
    }

    #[test]
    fn any_bytes_are_shown() {
        let header = Ipv6 { next_header: Some(6), payload_length: Some(60), ..Ipv6::default() };
        let begin = Frame::new().ethernet(Ethernet::default()).ipv6(header).bytes();
        assert_any_bytes_are_shown(&begin);
    }
}
