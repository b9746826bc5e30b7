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

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::super::build::Frame;
    use super::super::ethernet::{self, Ethernet};
    use super::super::icmp::Icmp;
    use super::super::ipv6::{self, Ipv6};
    use super::super::testing::{
        assert_any_bytes_are_shown, assert_cover, assert_shortest, checksum_by_division, shown,
        values,
    };
    use super::*;

    fn ipv6() -> Frame {
        Frame::new().ethernet(Ethernet::default()).ipv6(Ipv6::default())
    }

    const START: usize = ethernet::LEN + ipv6::LEN;

    #[test]
    fn fields_are_at_their_places() {
        assert_cover(FIELDS, LEN);
        let mut bytes = Vec::new();
        Icmp { kind: ECHO, code: 2, checksum: Some(0x0304), rest: 0x0506_0708 }.write(&mut bytes);
        let wanted = [("type", 128), ("code", 2), ("checksum", 0x0304), ("rest", 0x0506_0708)];
        assert_eq!(values(FIELDS, &bytes), HashMap::from(wanted));
    }

    #[test]
    fn checksums_cover_the_pseudo_header() {
        for length in 0..50_u8 {
            let echo = Icmp { kind: ECHO_REPLY, ..Icmp::default() };
            let frame = ipv6().icmpv6(echo).payload(&(1..=length).collect::<Vec<_>>()).bytes();
            let segment = &frame[START..];
            let mut covered = frame[ethernet::LEN + ipv6::SRC..START].to_vec();
            covered.extend([0, 0, 0, segment.len() as u8, 0, 0, 0, 58]);
            covered.extend(segment);
            covered[40 + CHECKSUM..40 + CHECKSUM + 2].fill(0);
            let stated = u16::from_be_bytes([segment[CHECKSUM], segment[CHECKSUM + 1]]);
            assert_eq!(stated, checksum_by_division(&covered), "{length} bytes");
            let shown = shown(&frame);
            assert!(shown["icmpv6.checksum"].ends_with("(correct)"));
            assert_eq!(shown["icmpv6.type"], "129 (echo reply)");
        }
    }

    #[test]
    fn only_errors_contain_a_packet() {
        let errors: Vec<u8> = (0..=255).filter(|kind| is_error(*kind)).collect();
        assert_eq!(errors, [1, 2, 3, 4]);
        for kind in [TOO_BIG, ECHO] {
            let about = Ipv6 { hop_limit: 99, ..Ipv6::default() };
            let header = Icmp { kind, ..Icmp::default() };
            let shown = shown(&ipv6().icmpv6(header).ipv6(about).payload(&[1; 8]).bytes());
            let inner = shown.get("ipv6[1].hop_limit").map(String::as_str);
            assert_eq!(inner, is_error(kind).then_some("99"));
        }
    }

    #[test]
    fn a_header_needs_all_its_bytes() {
        let frame = ipv6().icmpv6(Icmp { kind: ECHO, ..Icmp::default() }).payload(&[1]).bytes();
        assert_shortest(&frame, "icmpv6", START + LEN);
    }

    #[test]
    fn any_bytes_are_shown() {
        let header = Ipv6 { next_header: Some(58), payload_length: Some(90), ..Ipv6::default() };
        let mut begin = Frame::new().ethernet(Ethernet::default()).ipv6(header).bytes();
        assert_any_bytes_are_shown(&begin);
        begin.push(PARAMETER_PROBLEM);
        assert_any_bytes_are_shown(&begin);
    }
}
