//! Protocol numbers of IPv4's `protocol` and IPv6's `next header` (IANA "Protocol Numbers").

/// IPv6 hop-by-hop options.
pub const HOP_BY_HOP: u8 = 0;
/// ICMP.
pub const ICMP: u8 = 1;
/// TCP.
pub const TCP: u8 = 6;
/// UDP.
pub const UDP: u8 = 17;
/// IPv6 routing header.
pub const ROUTING: u8 = 43;
/// IPv6 fragment header.
pub const FRAGMENT: u8 = 44;
/// Authentication header (RFC 4302).
pub const AUTHENTICATION: u8 = 51;
/// ICMPv6.
pub const ICMPV6: u8 = 58;
/// Nothing follows.
pub const NO_NEXT: u8 = 59;
/// IPv6 destination options.
pub const DESTINATION_OPTIONS: u8 = 60;

/// Names of the numbers.
pub const NAMES: &[(u64, &str)] = &[
    (HOP_BY_HOP as u64, "hop-by-hop options"),
    (ICMP as u64, "ICMP"),
    (2, "IGMP"),
    (4, "IPv4"),
    (TCP as u64, "TCP"),
    (UDP as u64, "UDP"),
    (41, "IPv6"),
    (ROUTING as u64, "routing"),
    (FRAGMENT as u64, "fragment"),
    (47, "GRE"),
    (50, "ESP"),
    (AUTHENTICATION as u64, "AH"),
    (ICMPV6 as u64, "ICMPv6"),
    (NO_NEXT as u64, "no next header"),
    (DESTINATION_OPTIONS as u64, "destination options"),
    (89, "OSPF"),
    (132, "SCTP"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_ascend_and_have_one_name() {
        assert!(NAMES.is_sorted_by(|(a, first), (b, second)| a < b && first != second));
    }

    #[test]
    fn another_list_has_the_same_numbers() {
        let numbers = [
            (ICMP, "ICMP"),
            (TCP, "TCP"),
            (UDP, "UDP"),
            (ROUTING, "IPv6-Route"),
            (FRAGMENT, "IPv6-Frag"),
            (AUTHENTICATION, "AH"),
            (ICMPV6, "IPv6-ICMP"),
            (NO_NEXT, "IPv6-NoNxt"),
            (DESTINATION_OPTIONS, "IPv6-Opts"),
            (HOP_BY_HOP, "HOPOPT"),
            (2, "IGMP"),
            (47, "GRE"),
            (50, "ESP"),
            (132, "SCTP"),
        ];
        for (number, keyword) in numbers {
            assert_eq!(etherparse::IpNumber(number).keyword_str(), Some(keyword));
            assert!(NAMES.iter().any(|(other, _)| *other == u64::from(number)), "{keyword}");
        }
    }
}
