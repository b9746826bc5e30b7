//! VLAN tags (IEEE 802.1Q), as they follow the EtherType 0x8100 or 0x88a8.

use super::ethernet::{self, ETHERTYPES};
use super::layout::{FieldSpec, Show, field};

/// Length of the tag in bytes, after its EtherType.
pub const LEN: usize = 4;

/// The positions of the fields.
pub const FIELDS: &[FieldSpec] = &[
    field("priority", 0, 3, Show::Decimal),
    field("drop_eligible", 3, 1, Show::Decimal),
    field("id", 4, 12, Show::Decimal),
    field("type", 16, 16, Show::NamedHex(ETHERTYPES)),
];

/// A tag to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vlan {
    /// Priority code point, 3 bits.
    pub priority: u8,
    pub drop_eligible: bool,
    /// VLAN identifier, 12 bits.
    pub id: u16,
    /// The EtherType that announces the tag: 0x8100, or 0x88a8 for a service tag.
    pub tag_type: u16,
    /// The EtherType of the next layer. `None`: the actual one.
    pub ethertype: Option<u16>,
}

impl Default for Vlan {
    fn default() -> Self {
        Self { priority: 0, drop_eligible: false, id: 1, tag_type: ethernet::VLAN, ethertype: None }
    }
}

impl Vlan {
    /// Appends the tag.
    pub fn write(&self, next: u16, out: &mut Vec<u8>) {
        let control = u16::from(self.priority & 7) << 13
            | u16::from(self.drop_eligible) << 12
            | self.id & 0xfff;
        out.extend_from_slice(&control.to_be_bytes());
        out.extend_from_slice(&self.ethertype.unwrap_or(next).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::build::Frame;
    use super::super::ethernet::Ethernet;
    use super::super::testing::{
        assert_any_bytes_are_shown, assert_cover, assert_shortest, shown, values,
    };
    use super::*;

    fn tagged(tag: Vlan) -> Vec<u8> {
        Frame::new().ethernet(Ethernet::default()).vlan(tag).payload(&[1, 2]).bytes()
    }

    #[test]
    fn fields_are_at_their_places() {
        assert_cover(FIELDS, LEN);
        let mut bytes = Vec::new();
        let tag = Vlan { priority: 5, drop_eligible: true, id: 0xabc, ..Vlan::default() };
        tag.write(ethernet::IPV6, &mut bytes);
        assert_eq!(bytes, [0b1011_1010, 0xbc, 0x86, 0xdd]);
        let wanted = [("priority", 5), ("drop_eligible", 1), ("id", 0xabc), ("type", 0x86dd)];
        assert_eq!(values(FIELDS, &bytes), HashMap::from(wanted));
    }

    #[test]
    fn numbers_that_are_too_large_lose_their_upper_bits() {
        let mut bytes = Vec::new();
        let tag = Vlan { priority: 0xf8, id: 0xf001, ethertype: Some(7), ..Vlan::default() };
        tag.write(ethernet::IPV4, &mut bytes);
        assert_eq!(bytes, [0, 1, 0, 7]);
    }

    #[test]
    fn a_tag_needs_all_its_bytes() {
        let frame = tagged(Vlan::default());
        assert_eq!(frame.len(), ethernet::LEN + LEN + 2);
        assert_shortest(&frame, "vlan", ethernet::LEN + LEN);
    }

    #[test]
    fn the_tag_type_is_the_type_of_the_layer_before() {
        for tag_type in [ethernet::VLAN, ethernet::SERVICE_VLAN] {
            let frame = tagged(Vlan { id: 77, tag_type, ..Vlan::default() });
            assert_eq!(frame[12..14], tag_type.to_be_bytes());
            assert_eq!(shown(&frame)["vlan.id"], "77");
        }
    }

    #[test]
    fn any_bytes_are_shown() {
        assert_any_bytes_are_shown(&tagged(Vlan::default())[..ethernet::LEN]);
    }
}
