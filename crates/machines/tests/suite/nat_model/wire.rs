//! Datagrams of the model. Each is built whole, with every checksum computed anew.

use std::net::Ipv4Addr;

use wireloom_net::wire::checksum::{Sum, pseudo_header_v4};

pub const ICMP: u8 = 1;
pub const TCP: u8 = 6;
pub const UDP: u8 = 17;

/// Bytes at the start of a packet that an engine can read and write.
const WINDOW: usize = 128;

/// An address and a port; for ICMP queries, the identifier instead of the port.
pub type Endpoint = (Ipv4Addr, u16);

/// A TCP or UDP datagram, or an ICMP query.
#[derive(Clone, Debug)]
pub struct Datagram {
    pub protocol: u8,
    pub from: Endpoint,
    /// ICMP ignores the port.
    pub to: Endpoint,
    /// TCP flags, or the ICMP type.
    pub kind: u8,
    /// Whether a UDP datagram has no checksum.
    pub is_unsummed: bool,
    /// IPv4 options, in words.
    pub options: usize,
    pub data: Vec<u8>,
}

/// An ICMP error about the first bytes of a datagram.
#[derive(Clone, Debug)]
pub struct IcmpError {
    pub from: Ipv4Addr,
    pub to: Ipv4Addr,
    pub kind: u8,
    /// IPv4 options, in words.
    pub options: usize,
    pub about: Datagram,
    /// Bytes after the embedded IP header.
    pub embedded: usize,
    pub wrong: Option<Wrong>,
}

/// The checksum of an error that is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wrong {
    Icmp,
    EmbeddedIp,
}

impl Datagram {
    /// Returns the bytes of the datagram.
    pub fn bytes(&self) -> Vec<u8> {
        let ports = [self.from.1.to_be_bytes(), self.to.1.to_be_bytes()].concat();
        let (mut segment, checksum_at) = match self.protocol {
            TCP => (
                [&ports[..], &[0, 0, 0, 1, 0, 0, 0, 2, 0x50, self.kind, 9, 9, 0, 0, 0, 0]].concat(),
                16,
            ),
            UDP => {
                let length = (8 + self.data.len()) as u16;
                ([&ports[..], &length.to_be_bytes(), &[0, 0]].concat(), 6)
            }
            _ => ([&[self.kind, 0, 0, 0][..], &ports[..2], &[0, 7]].concat(), 2),
        };
        segment.extend_from_slice(&self.data);
        if !(self.protocol == UDP && self.is_unsummed) {
            let mut sum = Sum::default().bytes(&segment);
            if self.protocol != ICMP {
                let (from, to) = (self.from.0, self.to.0);
                sum = sum.plus(pseudo_header_v4(from, to, self.protocol, segment.len() as u16));
            }
            let checksum = match sum.checksum() {
                0 if self.protocol == UDP => 0xffff,
                checksum => checksum,
            };
            segment[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
        }
        ipv4(self.protocol, self.from.0, self.to.0, self.options, &segment)
    }

    fn header(&self) -> usize {
        20 + 4 * self.options
    }
}

impl IcmpError {
    /// Returns the bytes of the error. `translated` is the embedded datagram as it appears on this
    /// side of the translator. `link` is the length of the link header.
    ///
    /// A TCP checksum that is not wholly embedded, or that an engine cannot write, keeps the value
    /// from the side where the error comes from.
    pub fn bytes(&self, translated: &Datagram, link: usize) -> Vec<u8> {
        let keep = self.about.header() + self.embedded;
        let (before, mut embedded) = (self.about.bytes(), translated.bytes());
        let checksum = self.about.header() + 16;
        let offset = link + 20 + 4 * self.options + 8 + checksum;
        if self.about.protocol == TCP && (checksum + 2 > keep || offset + 2 > WINDOW) {
            embedded[checksum..checksum + 2].copy_from_slice(&before[checksum..checksum + 2]);
        }
        embedded.truncate(keep);
        if self.wrong == Some(Wrong::EmbeddedIp) {
            embedded[10] ^= 0x40;
        }
        let mut message = [&[self.kind, 1, 0, 0, 0, 0, 0, 0][..], &embedded].concat();
        let checksum = Sum::default().bytes(&message).checksum();
        message[2..4].copy_from_slice(&checksum.to_be_bytes());
        if self.wrong == Some(Wrong::Icmp) {
            message[2] ^= 0x40;
        }
        ipv4(ICMP, self.from, self.to, self.options, &message)
    }

    /// Returns whether an engine can read the ports of the embedded datagram.
    pub fn shows_ports(&self, link: usize) -> bool {
        link + 20 + 4 * self.options + 8 + self.about.header() + 8 <= WINDOW
    }
}

fn ipv4(protocol: u8, from: Ipv4Addr, to: Ipv4Addr, options: usize, payload: &[u8]) -> Vec<u8> {
    let header = 20 + 4 * options;
    let length = ((header + payload.len()) as u16).to_be_bytes();
    let mut bytes = vec![0x40 | (header / 4) as u8, 0, length[0], length[1]];
    bytes.extend_from_slice(&[0x12, 0x34, 0, 0, 61, protocol, 0, 0]);
    bytes.extend_from_slice(&from.octets());
    bytes.extend_from_slice(&to.octets());
    bytes.resize(header, 1);
    let checksum = Sum::default().bytes(&bytes).checksum();
    bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}
