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
