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
