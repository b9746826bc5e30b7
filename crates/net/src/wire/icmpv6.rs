//! ICMPv6 (RFC 4443). Its header has the form of ICMP's; its checksum also covers IPv6's
//! pseudo-header.

use super::layout::{FieldSpec, Show, field};

pub use super::icmp::{CHECKSUM, LEN};

/// Type of "destination unreachable".
pub const UNREACHABLE: u8 = 1;
/// Type of "packet too big".
pub const TOO_BIG: u8 = 2;
/// Type of "time exceeded".
pub const TIME_EXCEEDED: u8 = 3;
/// Type of "parameter problem".
pub const PARAMETER_PROBLEM: u8 = 4;
/// Type of an echo request.
pub const ECHO: u8 = 128;
/// Type of an echo reply.
pub const ECHO_REPLY: u8 = 129;

const TYPES: &[(u64, &str)] = &[
    (UNREACHABLE as u64, "destination unreachable"),
    (TOO_BIG as u64, "packet too big"),
    (TIME_EXCEEDED as u64, "time exceeded"),
    (PARAMETER_PROBLEM as u64, "parameter problem"),
    (ECHO as u64, "echo request"),
    (ECHO_REPLY as u64, "echo reply"),
    (133, "router solicitation"),
    (134, "router advertisement"),
    (135, "neighbor solicitation"),
    (136, "neighbor advertisement"),
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
    matches!(kind, UNREACHABLE..=PARAMETER_PROBLEM)
}
