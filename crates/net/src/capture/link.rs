//! Link types, and the conversion of captures of other links to Ethernet.

mod dsa;
mod serial;
mod wireless;

use std::fmt;

/// A link type that can be read (numbers: <https://www.tcpdump.org/linktypes.html>).
///
/// Engines see Ethernet frames. A packet of another link is given an Ethernet header. Its
/// destination is `02:00:00:00:00:01`, its source `02:00:00:00:00:02` (locally administered).
/// Cooked captures keep the recorded source address, wireless captures both addresses. The
/// EtherType is the one that the record states or that the IP version implies. The rest of the
/// packet is unchanged. A record with several packets (A-MSDU) yields all of them. Records without
/// a packet (link control, wireless management, encrypted data) are omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkType {
    /// 1: Ethernet.
    Ethernet,
    /// 101 (also the DLT numbers 12 and 14, which some systems write), 228, 229: IPv4 or IPv6
    /// without a link header.
    RawIp,
    /// 109: IPv4 or IPv6 after OpenBSD's header for IPsec (address family, SPI, flags).
    Enc,
    /// 219: a stack of MPLS labels without a link header.
    Mpls,
    /// 0 and 108: a loopback interface of BSD, macOS or Windows. The address family comes first.
    Loopback,
    /// 9, 50 and 166: PPP (RFC 1661), with or without HDLC-like framing (RFC 1662).
    Ppp,
    /// 51: a session of PPP over Ethernet (RFC 2516).
    PppOverEthernet,
    /// 204: PPP after a byte for the direction.
    PppWithDirection,
    /// 104: Cisco HDLC.
    CiscoHdlc,
    /// 107: frame relay (RFC 2427).
    FrameRelay,
    /// 206: frame relay after a byte for the direction.
    FrameRelayWithDirection,
    /// 105: IEEE 802.11.
    Wireless,
    /// 127: IEEE 802.11 after a radiotap header.
    Radiotap,
    /// 113: Linux "cooked" capture, version 1.
    LinuxCooked,
    /// 276: Linux "cooked" capture, version 2.
    LinuxCooked2,
    /// 281: Ethernet with a tag of a Broadcom switch after the addresses.
    BroadcomTag,
    /// 282: Ethernet after a tag of a Broadcom switch.
    BroadcomTagInFront,
    /// 284: Ethernet with a DSA tag of a Marvell switch after the addresses.
    MarvellTag,
    /// 285: Ethernet with an EtherType and a DSA tag of a Marvell switch after the addresses.
    MarvellTypedTag,
}

/// The link types that can be read, by number.
const READABLE: &[(u32, LinkType)] = &[
    (0, LinkType::Loopback),
    (1, LinkType::Ethernet),
    (9, LinkType::Ppp),
    (12, LinkType::RawIp),
    (14, LinkType::RawIp),
    (50, LinkType::Ppp),
    (51, LinkType::PppOverEthernet),
    (101, LinkType::RawIp),
    (104, LinkType::CiscoHdlc),
    (105, LinkType::Wireless),
    (107, LinkType::FrameRelay),
    (108, LinkType::Loopback),
    (109, LinkType::Enc),
    (113, LinkType::LinuxCooked),
    (127, LinkType::Radiotap),
    (166, LinkType::Ppp),
    (204, LinkType::PppWithDirection),
    (206, LinkType::FrameRelayWithDirection),
    (219, LinkType::Mpls),
    (228, LinkType::RawIp),
    (229, LinkType::RawIp),
    (276, LinkType::LinuxCooked2),
    (281, LinkType::BroadcomTag),
    (282, LinkType::BroadcomTagInFront),
    (284, LinkType::MarvellTag),
    (285, LinkType::MarvellTypedTag),
];

/// Names of other common link types, for error messages.
const OTHERS: &[(u32, &str)] = &[
    (6, "token ring"),
    (7, "ARCNET"),
    (8, "SLIP"),
    (10, "FDDI"),
    (100, "ATM"),
    (114, "LocalTalk"),
    (117, "OpenBSD pflog"),
    (119, "IEEE 802.11 with a Prism header"),
    (122, "IP over Fibre Channel"),
    (123, "SunATM"),
    (129, "ARCNET of Linux"),
    (138, "IP over IEEE 1394"),
    (139, "SS7 MTP2"),
    (143, "DOCSIS"),
    (147, "user-defined"),
    (163, "IEEE 802.11 with an AVS header"),
    (187, "Bluetooth HCI"),
    (189, "USB"),
    (192, "per-packet information (PPI)"),
    (195, "IEEE 802.15.4"),
    (201, "Bluetooth HCI"),
    (220, "USB"),
    (226, "Solaris ipnet"),
    (227, "CAN"),
    (230, "IEEE 802.15.4"),
    (239, "netfilter log"),
    (240, "netANALYZER"),
    (242, "IP over InfiniBand"),
    (243, "MPEG-2 transport stream"),
    (247, "InfiniBand"),
    (249, "USB"),
    (251, "Bluetooth Low Energy"),
    (253, "netlink"),
    (258, "Apple pktap"),
    (273, "DOCSIS 3.1"),
    (274, "Ethernet mPackets (IEEE 802.3br)"),
    (275, "DisplayPort auxiliary channel"),
    (283, "IEEE 802.15.4 with TAP"),
];

/// Destination address of an invented Ethernet header.
const MADE_UP_DST: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// Source address of an invented Ethernet header.
const MADE_UP_SRC: [u8; 6] = [2, 0, 0, 0, 0, 2];

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86dd;
const MPLS: u16 = 0x8847;
const MPLS_MULTICAST: u16 = 0x8848;
const VLAN: u16 = 0x8100;
/// Smaller numbers are lengths (IEEE 802.3 section 3.2.6).
const LEAST_ETHERTYPE: u16 = 0x0600;

/// Bytes of OpenBSD's header for IPsec.
const ENC_LENGTH: usize = 12;

/// The contents of a record.
enum Content {
    /// A packet from byte `at`, which becomes the payload of a new Ethernet header.
    Packet { at: usize, dst: [u8; 6], src: [u8; 6], ethertype: u16 },
    /// An Ethernet frame from byte `at`.
    Frame { at: usize },
    /// Several packets, in the subframes of an A-MSDU from byte `at`.
    Several { at: usize },
    /// No packet for an engine.
    Nothing,
}

/// An error: the record is shorter than its headers.
#[derive(Debug, PartialEq, Eq)]
struct TooShort;

type Parsed = Result<Content, TooShort>;

/// The outcome of a conversion to Ethernet.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Converted {
    /// A frame that is longer than the record by `grown` bytes (negative: shorter). In the original
    /// packet it ends with `fcs` bytes of frame check sequence.
    Frame { grown: i32, fcs: u32 },
    /// Frames, each with its length in the original packet.
    Several(Vec<(Vec<u8>, u32)>),
    /// The record holds no packet for an engine.
    Nothing,
    /// The record is shorter than its link header.
    TooShort,
}

impl LinkType {
    /// Converts from a link-type number; `Err` carries the number and, if known, the name.
    pub(super) fn from_number(number: u32) -> Result<Self, String> {
        match READABLE.iter().find(|(n, _)| *n == number) {
            Some((_, link)) => Ok(*link),
            None => Err(match OTHERS.iter().find(|(n, _)| *n == number) {
                Some((_, name)) => format!("{number} ({name})"),
                None => number.to_string(),
            }),
        }
    }

    /// Converts a record to an Ethernet frame.
    pub(super) fn to_ethernet(self, bytes: &mut Vec<u8>) -> Converted {
        let length = bytes.len();
        let tagless = match self {
            Self::Ethernet => return Converted::Frame { grown: 0, fcs: 0 },
            Self::BroadcomTag => Some(dsa::without_broadcom_tag(bytes)),
            Self::MarvellTag => Some(dsa::without_marvell_tag(bytes, 0)),
            Self::MarvellTypedTag => Some(dsa::without_marvell_tag(bytes, dsa::TYPE_LENGTH)),
            _ => None,
        };
        if let Some(result) = tagless {
            let grown = bytes.len() as i32 - length as i32;
            return result.map_or(Converted::TooShort, |()| Converted::Frame { grown, fcs: 0 });
        }
        let (parsed, fcs) = match self {
            Self::Radiotap => wireless::radiotap(bytes),
            _ => (self.parse(bytes), 0),
        };
        match parsed {
            Err(TooShort) => return Converted::TooShort,
            Ok(Content::Nothing) => return Converted::Nothing,
            Ok(Content::Several { at }) => {
                let end = bytes.len().saturating_sub(fcs as usize);
                return Converted::Several(wireless::packets(&bytes[at.min(end)..end]));
            }
            Ok(Content::Frame { at }) => drop(bytes.drain(..at)),
            Ok(Content::Packet { at, dst, src, ethertype }) => {
                // A number below the EtherTypes marks a frame with a length field (IEEE 802.3).
                let length = (bytes.len() - at).min(usize::from(LEAST_ETHERTYPE) - 1) as u16;
                let word = if ethertype < LEAST_ETHERTYPE { length } else { ethertype };
                let header = dst.into_iter().chain(src).chain(word.to_be_bytes());
                bytes.splice(..at, header);
            }
        }
        Converted::Frame { grown: bytes.len() as i32 - length as i32, fcs }
    }

    fn parse(self, bytes: &[u8]) -> Parsed {
        match self {
            Self::RawIp => Ok(raw_ip(bytes, 0)),
            Self::Enc => match bytes.len() {
                ..ENC_LENGTH => Err(TooShort),
                _ => Ok(raw_ip(bytes, ENC_LENGTH)),
            },
            Self::Mpls => match bytes.len() {
                ..4 => Err(TooShort),
                _ => Ok(packet(0, MPLS)),
            },
            Self::Loopback => loopback(bytes),
            Self::Ppp => serial::ppp(bytes, 0),
            Self::PppOverEthernet => serial::ppp(bytes, serial::PPPOE_LENGTH),
            Self::PppWithDirection => serial::ppp(bytes, 1),
            Self::CiscoHdlc => serial::cisco_hdlc(bytes, 0),
            Self::FrameRelay => serial::frame_relay(bytes, 0),
            Self::FrameRelayWithDirection => serial::frame_relay(bytes, 1),
            Self::Wireless => wireless::data(bytes, 0, false),
            Self::LinuxCooked => {
                let header = bytes.get(..16).ok_or(TooShort)?;
                Ok(cooked(16, header[5], &header[6..12], word(bytes, 14)?))
            }
            Self::LinuxCooked2 => {
                let header = bytes.get(..20).ok_or(TooShort)?;
                Ok(cooked(20, header[11], &header[12..18], word(bytes, 0)?))
            }
            Self::BroadcomTagInFront => match bytes.len() {
                ..dsa::TAG_LENGTH => Err(TooShort),
                _ => Ok(Content::Frame { at: dsa::TAG_LENGTH }),
            },
            Self::Ethernet
            | Self::Radiotap
            | Self::BroadcomTag
            | Self::MarvellTag
            | Self::MarvellTypedTag => unreachable!("to_ethernet converts these"),
        }
    }
}

/// Describes a packet of a link without addresses.
fn packet(at: usize, ethertype: u16) -> Content {
    Content::Packet { at, dst: MADE_UP_DST, src: MADE_UP_SRC, ethertype }
}

/// Returns the 16-bit word at an offset.
fn word(bytes: &[u8], at: usize) -> Result<u16, TooShort> {
    let word = bytes.get(at..at + 2).ok_or(TooShort)?;
    Ok(u16::from_be_bytes([word[0], word[1]]))
}

fn byte(bytes: &[u8], at: usize) -> Result<u8, TooShort> {
    bytes.get(at).copied().ok_or(TooShort)
}

fn raw_ip(bytes: &[u8], at: usize) -> Content {
    match bytes.get(at).map(|first| first >> 4) {
        Some(4) => packet(at, IPV4),
        Some(6) => packet(at, IPV6),
        _ => Content::Nothing,
    }
}

/// Parses the four-byte address family. It is in the byte order of the capturing host (type 0) or
/// of the network (type 108). No family's number is a valid one in the other order.
fn loopback(bytes: &[u8]) -> Parsed {
    let family: [u8; 4] = bytes.get(..4).ok_or(TooShort)?.try_into().expect("four bytes");
    Ok(match u32::from_be_bytes(family).min(u32::from_le_bytes(family)) {
        2 => packet(4, IPV4),
        // AF_INET6 on Linux, Windows, NetBSD and OpenBSD, FreeBSD, macOS.
        10 | 23 | 24 | 28 | 30 => packet(4, IPV6),
        _ => Content::Nothing,
    })
}

/// Novell's frames and LLC have Linux numbers instead of an EtherType (`ETH_P_802_3`,
/// `ETH_P_802_2`).
fn cooked(at: usize, length: u8, address: &[u8], protocol: u16) -> Content {
    let src = match length {
        6 => address.try_into().expect("six bytes were sliced"),
        _ => MADE_UP_SRC,
    };
    match protocol {
        1 | 4 | LEAST_ETHERTYPE.. => {
            Content::Packet { at, dst: MADE_UP_DST, src, ethertype: protocol }
        }
        _ => Content::Nothing,
    }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ethernet => "Ethernet",
            Self::RawIp => "raw IP",
            Self::Enc => "OpenBSD IPsec (enc)",
            Self::Mpls => "MPLS",
            Self::Loopback => "loopback",
            Self::Ppp => "PPP",
            Self::PppOverEthernet => "PPP over Ethernet",
            Self::PppWithDirection => "PPP with direction",
            Self::CiscoHdlc => "Cisco HDLC",
            Self::FrameRelay => "frame relay",
            Self::FrameRelayWithDirection => "frame relay with direction",
            Self::Wireless => "IEEE 802.11",
            Self::Radiotap => "IEEE 802.11 with radiotap",
            Self::LinuxCooked => "Linux cooked",
            Self::LinuxCooked2 => "Linux cooked v2",
            Self::BroadcomTag => "Ethernet with a Broadcom tag",
            Self::BroadcomTagInFront => "Ethernet after a Broadcom tag",
            Self::MarvellTag => "Ethernet with a DSA tag",
            Self::MarvellTypedTag => "Ethernet with an EtherType DSA tag",
        })
    }
}

#[cfg(test)]
mod tests;
