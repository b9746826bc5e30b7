//! Builds frames from headers.
//!
//! ```
//! use wireloom_net::wire::{build::Frame, ethernet::Ethernet, ipv4::Ipv4, udp::Udp};
//! let bytes = Frame::new()
//!     .ethernet(Ethernet::default())
//!     .ipv4(Ipv4 { ttl: 1, ..Ipv4::default() })
//!     .udp(Udp::default())
//!     .payload(b"hello")
//!     .bytes();
//! assert_eq!(bytes.len(), 14 + 20 + 8 + 5);
//! ```

use super::arp::Arp;
use super::checksum::{Sum, pseudo_header_v4, pseudo_header_v6};
use super::ethernet::{self, Ethernet};
use super::icmp::{self, Icmp};
use super::ipv4::{self, Ipv4};
use super::ipv6::{self, Extension, Fragment, Ipv6};
use super::mpls::{self, Mpls};
use super::tcp::{self, Tcp};
use super::udp::{self, Udp};
use super::vlan::{self, Vlan};
use super::{arp, icmpv6, protocol};

/// A layer of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Layer {
    Ethernet(Ethernet),
    Vlan(Vlan),
    Mpls(Mpls),
    Arp(Arp),
    Ipv4(Ipv4),
    Ipv6(Ipv6),
    Extension(Extension),
    Fragment(Fragment),
    Tcp(Tcp),
    Udp(Udp),
    Icmp(Icmp),
    Icmpv6(Icmp),
    Payload(Vec<u8>),
}

/// A frame under construction: its layers, outermost first. Open fields (`None`) are filled in:
/// types, lengths, checksums. Nothing is checked, so broken frames can be built too.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Frame {
    layers: Vec<Layer>,
}

macro_rules! layers {
    ($($(#[$doc:meta])* $method:ident($layer:ident: $header:ty);)*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $method(mut self, header: $header) -> Self {
            self.layers.push(Layer::$layer(header));
            self
        }
    )*};
}

impl Frame {
    /// Creates a frame without layers.
    pub fn new() -> Self {
        Self::default()
    }

    layers! {
        /// Adds an Ethernet header.
        ethernet(Ethernet: Ethernet);
        /// Adds a VLAN tag.
        vlan(Vlan: Vlan);
        /// Adds an MPLS label stack entry.
        mpls(Mpls: Mpls);
        /// Adds an ARP message.
        arp(Arp: Arp);
        /// Adds an IPv4 header.
        ipv4(Ipv4: Ipv4);
        /// Adds an IPv6 header.
        ipv6(Ipv6: Ipv6);
        /// Adds an IPv6 extension header.
        extension(Extension: Extension);
        /// Adds an IPv6 fragment header.
        fragment(Fragment: Fragment);
        /// Adds a TCP header.
        tcp(Tcp: Tcp);
        /// Adds a UDP header.
        udp(Udp: Udp);
        /// Adds an ICMP header.
        icmp(Icmp: Icmp);
        /// Adds an ICMPv6 header.
        icmpv6(Icmpv6: Icmp);
    }

    /// Adds payload bytes.
    #[must_use]
    pub fn payload(mut self, bytes: &[u8]) -> Self {
        self.layers.push(Layer::Payload(bytes.to_vec()));
        self
    }

    /// Returns the frame's bytes, without frame check sequence and without padding.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let mut starts = Vec::with_capacity(self.layers.len());
        for (i, layer) in self.layers.iter().enumerate() {
            starts.push(out.len());
            let behind = &self.layers[i + 1..];
            let payload: usize = behind.iter().map(Layer::length).sum();
            let next = behind.first();
            match layer {
                Layer::Ethernet(h) => h.write(ethertype(next), &mut out),
                Layer::Vlan(h) => h.write(ethertype(next), &mut out),
                Layer::Mpls(h) => h.write(!matches!(next, Some(Layer::Mpls(_))), &mut out),
                Layer::Arp(h) => h.write(&mut out),
                Layer::Ipv4(h) => h.write(number(next), payload, &mut out),
                Layer::Ipv6(h) => h.write(number(next), payload, &mut out),
                Layer::Extension(h) => h.write(number(next), &mut out),
                Layer::Fragment(h) => h.write(number(next), &mut out),
                Layer::Tcp(h) => h.write(&mut out),
                Layer::Udp(h) => h.write(payload, &mut out),
                Layer::Icmp(h) | Layer::Icmpv6(h) => h.write(&mut out),
                Layer::Payload(bytes) => out.extend_from_slice(bytes),
            }
        }
        // Innermost first, since a checksum covers the checksums of the layers after it.
        for (i, &start) in starts.iter().enumerate().rev() {
            if let Some((at, checksum)) = self.transport_checksum(i, &out[start..]) {
                out[start + at..start + at + 2].copy_from_slice(&checksum.to_be_bytes());
            }
        }
        out
    }

    /// Returns offset and value of the checksum of transport layer `index`, if it has to be
    /// computed. `segment` holds the layer's bytes, to the end of the frame.
    fn transport_checksum(&self, index: usize, segment: &[u8]) -> Option<(usize, u16)> {
        let sum = Sum::default().bytes(segment);
        let pseudo = |protocol| self.pseudo_header(index, protocol, segment.len());
        match &self.layers[index] {
            Layer::Tcp(Tcp { checksum: None, .. }) => {
                Some((tcp::CHECKSUM, sum.plus(pseudo(protocol::TCP)).checksum()))
            }
            Layer::Udp(Udp { checksum: None, .. }) => {
                let checksum = sum.plus(pseudo(protocol::UDP)).checksum();
                Some((udp::CHECKSUM, if checksum == 0 { 0xffff } else { checksum }))
            }
            Layer::Icmp(Icmp { checksum: None, .. }) => Some((icmp::CHECKSUM, sum.checksum())),
            Layer::Icmpv6(Icmp { checksum: None, .. }) => {
                Some((icmpv6::CHECKSUM, sum.plus(pseudo(protocol::ICMPV6)).checksum()))
            }
            _ => None,
        }
    }

    /// Returns the pseudo-header of the nearest preceding IP layer, or zero if there is none.
    fn pseudo_header(&self, index: usize, protocol: u8, length: usize) -> Sum {
        self.layers[..index]
            .iter()
            .rev()
            .find_map(|layer| match layer {
                Layer::Ipv4(Ipv4 { src, dst, .. }) => {
                    Some(pseudo_header_v4(*src, *dst, protocol, length as u16))
                }
                Layer::Ipv6(Ipv6 { src, dst, .. }) => {
                    Some(pseudo_header_v6(*src, *dst, protocol, length as u32))
                }
                _ => None,
            })
            .unwrap_or_default()
    }
}

impl Layer {
    fn length(&self) -> usize {
        match self {
            Self::Ethernet(_) => ethernet::LEN,
            Self::Vlan(_) => vlan::LEN,
            Self::Mpls(_) => mpls::LEN,
            Self::Arp(_) => arp::LEN,
            Self::Ipv4(h) => ipv4::LEN + h.options.len().next_multiple_of(4),
            Self::Ipv6(_) => ipv6::LEN,
            Self::Extension(h) => h.length(),
            Self::Fragment(_) => ipv6::FRAGMENT_LEN,
            Self::Tcp(h) => h.length(),
            Self::Udp(_) => udp::LEN,
            Self::Icmp(_) | Self::Icmpv6(_) => icmp::LEN,
            Self::Payload(bytes) => bytes.len(),
        }
    }
}

/// Returns the EtherType of a layer, or 0xffff (reserved) if it has none.
fn ethertype(layer: Option<&Layer>) -> u16 {
    match layer {
        Some(Layer::Vlan(h)) => h.tag_type,
        Some(Layer::Mpls(_)) => ethernet::MPLS,
        Some(Layer::Arp(_)) => ethernet::ARP,
        Some(Layer::Ipv4(_)) => ethernet::IPV4,
        Some(Layer::Ipv6(_)) => ethernet::IPV6,
        _ => 0xffff,
    }
}

/// Returns the protocol number of a layer: 253 ("for experimentation", RFC 3692) for bytes, 59 for
/// nothing.
fn number(layer: Option<&Layer>) -> u8 {
    match layer {
        None => protocol::NO_NEXT,
        Some(Layer::Extension(h)) => h.kind,
        Some(Layer::Fragment(_)) => protocol::FRAGMENT,
        Some(Layer::Tcp(_)) => protocol::TCP,
        Some(Layer::Udp(_)) => protocol::UDP,
        Some(Layer::Icmp(_)) => protocol::ICMP,
        Some(Layer::Icmpv6(_)) => protocol::ICMPV6,
        Some(Layer::Ipv4(_)) => 4,
        Some(Layer::Ipv6(_)) => 41,
        Some(_) => 253,
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::checksum_by_division;
    use super::*;

    impl Frame {
        /// Adds all layers of another frame.
        fn layers(mut self, other: Self) -> Self {
            self.layers.extend(other.layers);
            self
        }
    }

    #[test]
    fn each_layer_announces_the_next() {
        let ethertype = |frame: Frame| {
            let bytes = Frame::new().ethernet(Ethernet::default()).layers(frame).bytes();
            u16::from_be_bytes([bytes[12], bytes[13]])
        };
        assert_eq!(ethertype(Frame::new().ipv4(Ipv4::default())), 0x0800);
        assert_eq!(ethertype(Frame::new().ipv6(Ipv6::default())), 0x86dd);
        assert_eq!(ethertype(Frame::new().mpls(Mpls::default())), 0x8847);
        assert_eq!(ethertype(Frame::new().vlan(Vlan::default())), 0x8100);
        assert_eq!(ethertype(Frame::new().payload(&[1])), 0xffff);
        let protocol = |frame: Frame| Frame::new().ipv4(Ipv4::default()).layers(frame).bytes()[9];
        assert_eq!(protocol(Frame::new()), 59);
        assert_eq!(protocol(Frame::new().payload(&[1])), 253);
        assert_eq!(protocol(Frame::new().tcp(Tcp::default())), 6);
        assert_eq!(protocol(Frame::new().udp(Udp::default())), 17);
        assert_eq!(protocol(Frame::new().icmp(Icmp::default())), 1);
        assert_eq!(protocol(Frame::new().icmpv6(Icmp::default())), 58);
        assert_eq!(protocol(Frame::new().ipv4(Ipv4::default())), 4);
        assert_eq!(protocol(Frame::new().ipv6(Ipv6::default())), 41);
        assert_eq!(protocol(Frame::new().fragment(Fragment::default())), 44);
        let kind = protocol::ROUTING;
        let extension = Extension { kind, next_header: None, data: Vec::new() };
        assert_eq!(protocol(Frame::new().extension(extension)), 43);
    }

    #[test]
    fn lengths_count_all_inner_layers() {
        let frame = Frame::new()
            .ipv6(Ipv6::default())
            .ipv4(Ipv4 { options: vec![1], ..Ipv4::default() })
            .udp(Udp::default())
            .payload(&[0; 5])
            .bytes();
        assert_eq!(frame.len(), 40 + 24 + 8 + 5);
        assert_eq!((frame[5], frame[40 + 3], frame[64 + 5]), (24 + 8 + 5, 24 + 8 + 5, 8 + 5));
    }

    #[test]
    fn an_outer_checksum_covers_the_inner_one() {
        let inner = Frame::new().ipv4(Ipv4::default()).udp(Udp::default()).payload(&[1, 2, 3]);
        let outer = Frame::new().ipv4(Ipv4::default()).icmp(Icmp::default());
        let bytes = outer.layers(inner.clone()).bytes();
        assert_eq!(bytes[28..], inner.bytes());
        let mut covered = bytes[20..].to_vec();
        let stated = u16::from_be_bytes([covered[2], covered[3]]);
        covered[2..4].fill(0);
        assert_eq!(stated, checksum_by_division(&covered));
    }

    #[test]
    fn checksums_take_the_nearest_addresses() {
        let segment = |outer: Frame| {
            let frame = outer.ipv4(Ipv4::default()).udp(Udp::default()).payload(&[1]).bytes();
            frame[frame.len() - 9..].to_vec()
        };
        let other = Ipv4 { src: [10, 0, 0, 1].into(), ..Ipv4::default() };
        assert_eq!(segment(Frame::new()), segment(Frame::new().ipv4(other)));
        // Without an IP header the checksum covers the segment alone.
        let mut alone = Frame::new().udp(Udp::default()).payload(&[1]).bytes();
        let stated = u16::from_be_bytes([alone[6], alone[7]]);
        alone[6..8].fill(0);
        assert_eq!(stated, checksum_by_division(&alone));
    }
}
