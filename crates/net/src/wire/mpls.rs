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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::build::Frame;
    use super::super::ethernet::{self, Ethernet};
    use super::super::testing::{
        assert_any_bytes_are_shown, assert_cover, assert_shortest, shown, values,
    };
    use super::*;

    fn stack(entries: &[Mpls]) -> Vec<u8> {
        let frame = Frame::new().ethernet(Ethernet::default());
        entries.iter().fold(frame, |frame, entry| frame.mpls(*entry)).payload(&[0xff]).bytes()
    }

    #[test]
    fn fields_are_at_their_places() {
        assert_cover(FIELDS, LEN);
        let mut bytes = Vec::new();
        let entry = Mpls { label: 0xabcde, traffic_class: 5, bottom: Some(true), ttl: 0x42 };
        entry.write(false, &mut bytes);
        assert_eq!(bytes, [0xab, 0xcd, 0xeb, 0x42]);
        let wanted = [("label", 0xabcde), ("traffic_class", 5), ("bottom", 1), ("ttl", 0x42)];
        assert_eq!(values(FIELDS, &bytes), HashMap::from(wanted));
    }

    #[test]
    fn numbers_that_are_too_large_lose_their_upper_bits() {
        let mut bytes = Vec::new();
        let entry = Mpls { label: MAX_LABEL + 1, traffic_class: 8, ..Mpls::default() };
        entry.write(false, &mut bytes);
        assert_eq!(bytes, [0, 0, 0, 64]);
    }

    #[test]
    fn the_last_entry_is_the_bottom() {
        let frame = stack(&[Mpls { label: 1, ..Mpls::default() }, Mpls::default()]);
        let fields = shown(&frame);
        assert_eq!(fields["mpls.label"], "1 (router alert)");
        assert_eq!((&*fields["mpls.bottom"], &*fields["mpls[1].bottom"]), ("0", "1"));
        assert_eq!(fields["payload"], "ff");
        // Without a bottom, the next word is an entry as well.
        let open = stack(&[Mpls { bottom: Some(false), ..Mpls::default() }]);
        assert_eq!(shown(&open)["mpls[1].truncated"], "ff");
    }

    #[test]
    fn an_entry_needs_all_its_bytes() {
        let frame = stack(&[Mpls::default(); 2]);
        assert_shortest(&frame, "mpls", ethernet::LEN + LEN);
        assert_shortest(&frame, "mpls[1]", ethernet::LEN + 2 * LEN);
    }

    #[test]
    fn any_bytes_are_shown() {
        assert_any_bytes_are_shown(&stack(&[Mpls::default()])[..ethernet::LEN]);
    }
}
