//! Ethernet II (IEEE 802.3).

use super::layout::{FieldSpec, Show, field};

/// Length of the header in bytes.
pub const LEN: usize = 14;
/// Bytes of the frame check sequence that ends a frame on the wire; captures omit it.
pub const FCS: usize = 4;
/// Additional bytes that each frame takes on the wire: preamble, start delimiter, and the gap
/// between frames.
pub const OVERHEAD: usize = 20;
/// Length in bytes of the shortest frame on the wire, with its frame check sequence.
pub const MIN_FRAME: usize = 64;

/// The positions of the fields.
pub const FIELDS: &[FieldSpec] = &[
    field("dst", 0, 48, Show::Mac),
    field("src", 48, 48, Show::Mac),
    field("type", 96, 16, Show::NamedHex(ETHERTYPES)),
];

/// EtherType of IPv4.
pub const IPV4: u16 = 0x0800;
/// EtherType of ARP.
pub const ARP: u16 = 0x0806;
/// EtherType of a customer VLAN tag (IEEE 802.1Q).
pub const VLAN: u16 = 0x8100;
/// EtherType of IPv6.
pub const IPV6: u16 = 0x86dd;
/// EtherType of MPLS (RFC 3032).
pub const MPLS: u16 = 0x8847;
/// EtherType of MPLS with upstream-assigned labels (RFC 5332).
pub const MPLS_UPSTREAM: u16 = 0x8848;
/// EtherType of a service VLAN tag (IEEE 802.1ad).
pub const SERVICE_VLAN: u16 = 0x88a8;

/// Names of EtherTypes.
pub const ETHERTYPES: &[(u64, &str)] = &[
    (IPV4 as u64, "IPv4"),
    (ARP as u64, "ARP"),
    (VLAN as u64, "VLAN"),
    (IPV6 as u64, "IPv6"),
    (MPLS as u64, "MPLS"),
    (MPLS_UPSTREAM as u64, "MPLS upstream"),
    (SERVICE_VLAN as u64, "service VLAN"),
    (0x88cc, "LLDP"),
];

/// A header to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ethernet {
    /// The destination address.
    pub dst: [u8; 6],
    /// The source address.
    pub src: [u8; 6],
    /// The EtherType. `None`: the one of the next layer.
    pub ethertype: Option<u16>,
}

impl Default for Ethernet {
    fn default() -> Self {
        Self { dst: [2, 0, 0, 0, 0, 1], src: [2, 0, 0, 0, 0, 2], ethertype: None }
    }
}

impl Ethernet {
    /// Appends the header.
    pub fn write(&self, next: u16, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.dst);
        out.extend_from_slice(&self.src);
        out.extend_from_slice(&self.ethertype.unwrap_or(next).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeSet, HashMap};

    use super::super::testing::{
        assert_any_bytes_are_shown, assert_cover, assert_shortest, shown, values,
    };
    use super::*;

    #[test]
    fn fields_are_at_their_places() {
        assert_cover(FIELDS, LEN);
        let mut bytes = Vec::new();
        let header =
            Ethernet { dst: [1, 2, 3, 4, 5, 6], src: [7, 8, 9, 10, 11, 12], ethertype: None };
        header.write(ARP, &mut bytes);
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 8, 6]);
        let found = values(FIELDS, &bytes);
        let wanted = [("dst", 0x0102_0304_0506), ("src", 0x0708_090a_0b0c), ("type", 0x0806)];
        assert_eq!(found, HashMap::from(wanted));
    }

    #[test]
    fn a_given_type_stays() {
        let mut bytes = vec![0xee];
        Ethernet { ethertype: Some(0x1234), ..Ethernet::default() }.write(IPV4, &mut bytes);
        assert_eq!((bytes.len(), bytes[0], &bytes[13..]), (1 + LEN, 0xee, &[0x12, 0x34][..]));
    }

    #[test]
    fn a_header_needs_all_its_bytes() {
        let frame = [0x11; 20];
        assert_shortest(&frame, "ethernet", LEN);
        assert_eq!(shown(&frame)["payload"], "11 11 11 11 11 11");
        assert!(shown(&[]).is_empty());
    }

    #[test]
    fn types_have_one_name() {
        let numbers: BTreeSet<u64> = ETHERTYPES.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers.len(), ETHERTYPES.len());
        for (number, name) in [(0x0800, "IPv4"), (0x86dd, "IPv6"), (0x88cc, "LLDP")] {
            assert!(ETHERTYPES.contains(&(number, name)), "{name}");
        }
    }

    #[test]
    fn any_bytes_are_shown() {
        assert_any_bytes_are_shown(&[]);
    }
}
