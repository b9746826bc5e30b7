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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::build::Frame;
    use super::super::ethernet::{self, Ethernet};
    use super::super::ipv4::{self, Ipv4};
    use super::super::testing::{
        assert_any_bytes_are_shown, assert_cover, assert_shortest, checksum_by_division, shown,
        values,
    };
    use super::*;

    fn ipv4() -> Frame {
        Frame::new().ethernet(Ethernet::default()).ipv4(Ipv4::default())
    }

    const START: usize = ethernet::LEN + ipv4::LEN;

    #[test]
    fn fields_are_at_their_places() {
        assert_cover(FIELDS, LEN);
        let mut bytes = Vec::new();
        let header = Icmp { kind: 1, code: 2, checksum: Some(0x0304), rest: 0x0506_0708 };
        header.write(&mut bytes);
        assert_eq!(bytes, [1, 2, 3, 4, 5, 6, 7, 8]);
        let wanted = [("type", 1), ("code", 2), ("checksum", 0x0304), ("rest", 0x0506_0708)];
        assert_eq!(values(FIELDS, &bytes), HashMap::from(wanted));
        assert_eq!(bytes[CHECKSUM], 3);
    }

    #[test]
    fn checksums_cover_header_and_payload_but_no_addresses() {
        for length in 0..50_u8 {
            let echo = Icmp { kind: ECHO, rest: 0x0001_0002, ..Icmp::default() };
            let frame = ipv4().icmp(echo).payload(&(1..=length).collect::<Vec<_>>()).bytes();
            let mut covered = frame[START..].to_vec();
            let stated = u16::from_be_bytes([covered[CHECKSUM], covered[CHECKSUM + 1]]);
            covered[CHECKSUM..CHECKSUM + 2].fill(0);
            assert_eq!(stated, checksum_by_division(&covered), "{length} bytes");
            let shown = shown(&frame);
            assert!(shown["icmp.checksum"].ends_with("(correct)"));
            assert_eq!(shown["icmp.type"], "8 (echo request)");
        }
    }

    #[test]
    fn only_errors_contain_a_packet() {
        let errors: Vec<u8> = (0..=255).filter(|kind| is_error(*kind)).collect();
        assert_eq!(errors, [3, 4, 5, 11, 12]);
        for kind in [UNREACHABLE, ECHO_REPLY] {
            let about = Ipv4 { ttl: 99, ..Ipv4::default() };
            let header = Icmp { kind, ..Icmp::default() };
            let shown = shown(&ipv4().icmp(header).ipv4(about).payload(&[1; 8]).bytes());
            let inner = shown.get("ipv4[1].ttl").map(String::as_str);
            assert_eq!(inner, is_error(kind).then_some("99"));
        }
    }

    #[test]
    fn a_header_needs_all_its_bytes() {
        let frame = ipv4().icmp(Icmp { kind: ECHO, ..Icmp::default() }).payload(&[1]).bytes();
        assert_shortest(&frame, "icmp", START + LEN);
    }

    #[test]
    fn any_bytes_are_shown() {
        let header = Ipv4 { protocol: Some(1), total_length: Some(80), ..Ipv4::default() };
        let mut begin = Frame::new().ethernet(Ethernet::default()).ipv4(header).bytes();
        assert_any_bytes_are_shown(&begin);
        begin.push(TIME_EXCEEDED);
        assert_any_bytes_are_shown(&begin);
    }
}
