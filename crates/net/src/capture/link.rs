//! Link types, and the conversion of captures without Ethernet headers to Ethernet.

use std::fmt;

/// A link type that can be read (numbers: <https://www.tcpdump.org/linktypes.html>).
///
/// Engines see Ethernet frames. A packet without an Ethernet header is given one: destination
/// `02:00:00:00:00:01`, source `02:00:00:00:00:02` (locally administered; cooked captures keep the
/// recorded source address), and the EtherType that the record states or the IP version implies.
/// The rest is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LinkType {
    /// 1: Ethernet.
    Ethernet,
    /// 101 (also the DLT numbers 12 and 14, which some systems write), 228, 229: IPv4 or IPv6
    /// without a link header.
    RawIp,
    /// 113: Linux "cooked" capture, version 1.
    LinuxCooked,
    /// 276: Linux "cooked" capture, version 2.
    LinuxCooked2,
}

/// Destination address of an invented Ethernet header.
const MADE_UP_DST: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// Source address of an invented Ethernet header.
const MADE_UP_SRC: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Names of common link types, for messages.
const NAMES: &[(u32, &str)] = &[
    (0, "BSD loopback"),
    (6, "token ring"),
    (9, "PPP"),
    (10, "FDDI"),
    (105, "IEEE 802.11"),
    (108, "OpenBSD loopback"),
    (127, "IEEE 802.11 with radiotap"),
    (147, "user-defined"),
    (187, "Bluetooth HCI"),
    (189, "USB"),
    (195, "IEEE 802.15.4"),
    (220, "USB"),
    (227, "CAN"),
    (239, "netfilter log"),
    (253, "netlink"),
];

impl LinkType {
    /// Converts from a link-type number; `Err` carries the number and, if known, the name.
    pub(super) fn from_number(number: u32) -> Result<Self, String> {
        match number {
            1 => Ok(Self::Ethernet),
            12 | 14 | 101 | 228 | 229 => Ok(Self::RawIp),
            113 => Ok(Self::LinuxCooked),
            276 => Ok(Self::LinuxCooked2),
            _ => Err(match NAMES.iter().find(|(n, _)| *n == number) {
                Some((_, name)) => format!("{number} ({name})"),
                None => number.to_string(),
            }),
        }
    }

    /// Makes an Ethernet frame of `bytes`; returns by how many bytes it grew (negative if it
    /// shrank). `Err` says what is wrong with the record.
    pub(super) fn to_ethernet(self, bytes: &mut Vec<u8>) -> Result<i32, &'static str> {
        let (skip, src, ethertype) = match self {
            Self::Ethernet => return Ok(0),
            Self::RawIp => {
                let ethertype = match bytes.first().map(|b| b >> 4) {
                    Some(4) => [0x08, 0x00],
                    Some(6) => [0x86, 0xdd],
                    Some(_) => return Err("a raw IP record is neither IPv4 nor IPv6"),
                    None => return Err("a raw IP record is empty"),
                };
                (0, MADE_UP_SRC, ethertype)
            }
            Self::LinuxCooked => {
                let header =
                    bytes.get(..16).ok_or("a record is too short for its Linux cooked header")?;
                (16, cooked_source(header[5], &header[6..12]), [header[14], header[15]])
            }
            Self::LinuxCooked2 => {
                let header =
                    bytes.get(..20).ok_or("a record is too short for its Linux cooked header")?;
                (20, cooked_source(header[11], &header[12..18]), [header[0], header[1]])
            }
        };
        let header = MADE_UP_DST.into_iter().chain(src).chain(ethertype);
        bytes.splice(..skip, header);
        Ok(14 - skip as i32)
    }
}

fn cooked_source(length: u8, address: &[u8]) -> [u8; 6] {
    if length == 6 { address.try_into().expect("six bytes were sliced") } else { MADE_UP_SRC }
}

impl fmt::Display for LinkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ethernet => "Ethernet",
            Self::RawIp => "raw IP",
            Self::LinuxCooked => "Linux cooked",
            Self::LinuxCooked2 => "Linux cooked v2",
        })
    }
}
