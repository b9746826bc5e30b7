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
