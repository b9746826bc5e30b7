//! Serial links: PPP, Cisco HDLC, frame relay.

use super::{
    Content, IPV4, IPV6, LEAST_ETHERTYPE, MPLS, MPLS_MULTICAST, Parsed, TooShort, byte, packet,
    word,
};

/// Length of the header of PPP over Ethernet (RFC 2516 section 4).
pub(super) const PPPOE_LENGTH: usize = 6;

/// HDLC's address "all stations" and control "unnumbered information" (RFC 1662 section 3.1).
const ALL_STATIONS: u8 = 0xff;
const UNNUMBERED: u8 = 0x03;
/// Cisco's HDLC addresses for unicast and multicast.
const CISCO_ADDRESSES: [u8; 2] = [0x0f, 0x8f];
/// Protocols of Cisco's keepalives and of its discovery protocol.
const SLARP: u16 = 0x8035;
const CDP: u16 = 0x2000;

/// Parses PPP from byte `at`.
pub(super) fn ppp(bytes: &[u8], mut at: usize) -> Parsed {
    let first = byte(bytes, at)?;
    let second = byte(bytes, at + 1)?;
    if CISCO_ADDRESSES.contains(&first) && second == 0 {
        return cisco_hdlc(bytes, at);
    }
    // pppd writes the direction in place of the address.
    if second == UNNUMBERED && matches!(first, ALL_STATIONS | 0 | 1) {
        at += 2;
    }
    // The upper byte of a protocol is even, the lower one odd. A zero upper byte may be omitted
    // (RFC 1661 section 6.5).
    let (protocol, length) = match byte(bytes, at)? {
        short if short & 1 == 1 => (u16::from(short), 1),
        _ => (word(bytes, at)?, 2),
    };
    Ok(match protocol {
        0x0021 => packet(at + length, IPV4),
        0x0057 => packet(at + length, IPV6),
        0x0281 => packet(at + length, MPLS),
        0x0283 => packet(at + length, MPLS_MULTICAST),
        _ => Content::Nothing,
    })
}

/// Parses Cisco HDLC from byte `at`: address, control, EtherType.
pub(super) fn cisco_hdlc(bytes: &[u8], at: usize) -> Parsed {
    Ok(match word(bytes, at + 2)? {
        SLARP | CDP | ..LEAST_ETHERTYPE => Content::Nothing,
        ethertype => packet(at + 4, ethertype),
    })
}

/// Parses frame relay from byte `at` (RFC 2427 sections 3 and 4). Without RFC 2427's control byte
/// it is Cisco's encapsulation: an EtherType after the address.
pub(super) fn frame_relay(bytes: &[u8], mut at: usize) -> Parsed {
    // The last byte of an address of two to four bytes has its lowest bit set (Q.922).
    let length = (1..=4).find(|i| bytes.get(at + i - 1).is_some_and(|byte| byte & 1 == 1));
    let Some(length) = length.filter(|length| *length >= 2) else {
        return if bytes.len() < at + 4 { Err(TooShort) } else { Ok(Content::Nothing) };
    };
    at += length;
    if byte(bytes, at)? != UNNUMBERED {
        return Ok(match word(bytes, at)? {
            ethertype @ (IPV4 | IPV6 | MPLS | MPLS_MULTICAST) => packet(at + 2, ethertype),
            _ => Content::Nothing,
        });
    }
    at += 1;
    if byte(bytes, at)? == 0 {
        at += 1; // padding to a word
    }
    Ok(match byte(bytes, at)? {
        0xcc => packet(at + 1, IPV4),
        0x8e => packet(at + 1, IPV6),
        0x80 => snap(bytes, at + 1)?,
        _ => Content::Nothing,
    })
}

/// The organisation of EtherTypes, and the organisation of bridged frames.
const ETHERTYPES: [u8; 3] = [0, 0, 0];
const BRIDGED: [u8; 3] = [0x00, 0x80, 0xc2];

/// Parses a SNAP header from byte `at`: organisation and protocol (RFC 2427 section 4).
fn snap(bytes: &[u8], at: usize) -> Parsed {
    let organisation = bytes.get(at..at + 3).ok_or(TooShort)?;
    let protocol = word(bytes, at + 3)?;
    Ok(match protocol {
        LEAST_ETHERTYPE.. if organisation == ETHERTYPES => packet(at + 5, protocol),
        // Ethernet with (1) and without (7) its frame check sequence. The sequence cannot be
        // distinguished from data without the original length, which few such captures have.
        7 if organisation == BRIDGED => Content::Frame { at: at + 5 },
        _ => Content::Nothing,
    })
}
