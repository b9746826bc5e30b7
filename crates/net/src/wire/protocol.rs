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
