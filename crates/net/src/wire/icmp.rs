//! ICMP (RFC 792).

use super::layout::{FieldSpec, Show, field};

/// Length of the header in bytes.
pub const LEN: usize = 8;
/// Byte offset of the checksum.
pub const CHECKSUM: usize = 2;

/// Type of an echo reply.
pub const ECHO_REPLY: u8 = 0;
/// Type of "destination unreachable".
pub const UNREACHABLE: u8 = 3;
/// Type of an echo request.
pub const ECHO: u8 = 8;
/// Type of "time exceeded".
pub const TIME_EXCEEDED: u8 = 11;
/// Type of "parameter problem".
pub const PARAMETER_PROBLEM: u8 = 12;

const TYPES: &[(u64, &str)] = &[
    (ECHO_REPLY as u64, "echo reply"),
    (UNREACHABLE as u64, "destination unreachable"),
    (4, "source quench"),
    (5, "redirect"),
    (ECHO as u64, "echo request"),
    (TIME_EXCEEDED as u64, "time exceeded"),
    (PARAMETER_PROBLEM as u64, "parameter problem"),
    (13, "timestamp"),
    (14, "timestamp reply"),
];

/// The positions of the fields.
pub const FIELDS: &[FieldSpec] = &[
    field("type", 0, 8, Show::Named(TYPES)),
    field("code", 8, 8, Show::Decimal),
    field("checksum", 16, 16, Show::Hex),
    field("rest", 32, 32, Show::Hex),
];

/// Returns whether a header of this type is followed by the beginning of the IP packet to which it
/// refers.
pub fn is_error(kind: u8) -> bool {
    matches!(kind, UNREACHABLE | 4 | 5 | TIME_EXCEEDED | PARAMETER_PROBLEM)
}

/// A header to write. ICMPv6 headers have the same form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Icmp {
    pub kind: u8,
    pub code: u8,
    /// The checksum. `None`: the correct one.
    pub checksum: Option<u16>,
    /// Identifier and sequence number, MTU or pointer, depending on the type.
    pub rest: u32,
}

impl Icmp {
    /// Appends the header. A checksum that is still to be computed is zero.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&[self.kind, self.code]);
        out.extend_from_slice(&self.checksum.unwrap_or(0).to_be_bytes());
        out.extend_from_slice(&self.rest.to_be_bytes());
    }
}
