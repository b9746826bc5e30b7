//! MPLS label stack entries (RFC 3032, RFC 5462).

use super::layout::{FieldSpec, Show, field};

/// Length of an entry in bytes.
pub const LEN: usize = 4;
/// Labels below this are reserved (RFC 3032 section 2.1, RFC 7274).
pub const FIRST_UNRESERVED: u32 = 16;
/// The largest label.
pub const MAX_LABEL: u32 = (1 << 20) - 1;

/// The positions of the fields.
pub const FIELDS: &[FieldSpec] = &[
    field("label", 0, 20, Show::Named(RESERVED)),
    field("traffic_class", 20, 3, Show::Decimal),
    field("bottom", 23, 1, Show::Decimal),
    field("ttl", 24, 8, Show::Decimal),
];

const RESERVED: &[(u64, &str)] = &[
    (0, "IPv4 explicit null"),
    (1, "router alert"),
    (2, "IPv6 explicit null"),
    (3, "implicit null"),
    (7, "entropy label indicator"),
    (13, "generic associated channel"),
    (14, "OAM alert"),
    (15, "extension"),
];

/// An entry to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mpls {
    /// Label, 20 bits.
    pub label: u32,
    /// Traffic class, 3 bits.
    pub traffic_class: u8,
    /// Bottom of stack. `None`: set if no other entry follows.
    pub bottom: Option<bool>,
    pub ttl: u8,
}

impl Default for Mpls {
    fn default() -> Self {
        Self { label: FIRST_UNRESERVED, traffic_class: 0, bottom: None, ttl: 64 }
    }
}

impl Mpls {
    /// Appends the entry.
    pub fn write(&self, last: bool, out: &mut Vec<u8>) {
        let entry = (self.label & MAX_LABEL) << 12
            | u32::from(self.traffic_class & 7) << 9
            | u32::from(self.bottom.unwrap_or(last)) << 8
            | u32::from(self.ttl);
        out.extend_from_slice(&entry.to_be_bytes());
    }
}
