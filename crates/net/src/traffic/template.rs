//! Builds frames from templates. The headers of one shape are built once; only the fields that
//! differ between packets are rewritten.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::OnceLock;

use super::mix::Transport;
use super::spec::Spec;
use crate::packet::MAX_LENGTH;
use crate::tables::Family;
use crate::wire::build::Frame;
use crate::wire::checksum::Sum;
use crate::wire::ethernet::{self, Ethernet};
use crate::wire::ipv4::{self, Ipv4};
use crate::wire::ipv6::{self, Ipv6};
use crate::wire::mpls::{self, Mpls};
use crate::wire::protocol;
use crate::wire::tcp::{self, Tcp};
use crate::wire::udp::{self, Udp};
use crate::wire::vlan::{self, Vlan};

/// The protocols of a frame's headers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shape {
    pub(super) vlans: u8,
    pub(super) labels: u8,
    pub(super) family: Family,
    pub(super) transport: Transport,
}

/// The fields that differ between packets of one shape.
pub(super) struct Variables {
    /// Length of the frame without frame check sequence. At least the length of the headers.
    pub(super) length: usize,
    /// The source address, as right-aligned bits.
    pub(super) src: u128,
    pub(super) dst: u128,
    pub(super) src_port: u16,
    pub(super) dst_port: u16,
    pub(super) sequence: u32,
}

/// The headers of one shape.
pub(super) struct Template {
    shape: Shape,
    headers: Vec<u8>,
    /// Sums of the headers that checksums cover, with zeros for the variable fields.
    ip_sum: Sum,
    transport_sum: Sum,
    ip_at: usize,
    transport_at: usize,
}

/// Payload bytes that count up from zero, so that damage is visible, and the checksum of each
/// prefix.
struct Payload {
    bytes: Vec<u8>,
    /// Sum of the first `2 * i` bytes, by `i`.
    sums: Vec<u16>,
}

fn payload() -> &'static Payload {
    static PAYLOAD: OnceLock<Payload> = OnceLock::new();
    PAYLOAD.get_or_init(|| {
        let bytes: Vec<u8> = (0..MAX_LENGTH + 1).map(|i| i as u8).collect();
        let mut sums = vec![0];
        let mut sum = Sum::default();
        for pair in bytes.chunks_exact(2) {
            sum = sum.bytes(pair);
            sums.push(sum.fold());
        }
        Payload { bytes, sums }
    })
}

impl Payload {
    fn sum(&self, length: usize) -> Sum {
        let whole = Sum::default().word(self.sums[length / 2]);
        if length.is_multiple_of(2) {
            whole
        } else {
            whole.word(u16::from(self.bytes[length - 1]) << 8)
        }
    }
}

impl Template {
    pub(super) fn new(shape: Shape, spec: &Spec) -> Self {
        let mut frame = Frame::new().ethernet(Ethernet {
            dst: spec.dst_mac,
            src: spec.src_mac,
            ethertype: None,
        });
        for i in 0..shape.vlans {
            let service = i == 0 && shape.vlans == 2;
            let tag_type = if service { ethernet::SERVICE_VLAN } else { ethernet::VLAN };
            frame = frame.vlan(Vlan { tag_type, id: 0, ..Vlan::default() });
        }
        for _ in 0..shape.labels {
            frame = frame.mpls(Mpls { label: 0, ttl: spec.ttl, ..Mpls::default() });
        }
        frame = match shape.family {
            Family::V4 => frame.ipv4(Ipv4 {
                total_length: Some(0),
                ttl: spec.ttl,
                checksum: Some(0),
                src: Ipv4Addr::UNSPECIFIED,
                dst: Ipv4Addr::UNSPECIFIED,
                ..Ipv4::default()
            }),
            Family::V6 => frame.ipv6(Ipv6 {
                payload_length: Some(0),
                hop_limit: spec.ttl,
                src: Ipv6Addr::UNSPECIFIED,
                dst: Ipv6Addr::UNSPECIFIED,
                ..Ipv6::default()
            }),
        };
        let number = match shape.transport {
            Transport::Tcp => protocol::TCP,
            Transport::Udp => protocol::UDP,
            Transport::None => protocol::NO_NEXT,
        };
        frame = match shape.transport {
            Transport::Tcp => {
                frame.tcp(Tcp { src_port: 0, dst_port: 0, checksum: Some(0), ..Tcp::default() })
            }
            Transport::Udp => {
                frame.udp(Udp { src_port: 0, dst_port: 0, length: Some(0), checksum: Some(0) })
            }
            Transport::None => frame,
        };
        let headers = frame.bytes();
        let ip_at = ethernet::LEN
            + vlan::LEN * usize::from(shape.vlans)
            + mpls::LEN * usize::from(shape.labels);
        let transport_at = ip_at + if shape.family == Family::V4 { ipv4::LEN } else { ipv6::LEN };
        Self {
            shape,
            ip_sum: Sum::default().bytes(&headers[ip_at..transport_at]),
            transport_sum: Sum::default().bytes(&headers[transport_at..]).word(number.into()),
            headers,
            ip_at,
            transport_at,
        }
    }

    /// Builds a frame. `vlan` is called for each tag and `label` for each label. The argument of
    /// `label` says whether the label is at the bottom.
    pub(super) fn fill(
        &self,
        with: &Variables,
        mut vlan: impl FnMut() -> u16,
        mut label: impl FnMut(bool) -> u32,
        out: &mut Vec<u8>,
    ) {
        let payload = payload();
        let payload_length = with.length.saturating_sub(self.headers.len());
        out.clear();
        out.reserve_exact(self.headers.len() + payload_length);
        out.extend_from_slice(&self.headers);
        for i in 0..usize::from(self.shape.vlans) {
            out[ethernet::LEN + vlan::LEN * i..][..2].copy_from_slice(&vlan().to_be_bytes());
        }
        let labels = ethernet::LEN + vlan::LEN * usize::from(self.shape.vlans);
        for (above, entry) in
            (0..self.shape.labels).rev().zip(out[labels..self.ip_at].chunks_exact_mut(mpls::LEN))
        {
            let label = label(above == 0) << 12 | u32::from_be_bytes([0, 0, entry[2], entry[3]]);
            entry.copy_from_slice(&label.to_be_bytes());
        }
        let segment = (self.headers.len() - self.transport_at + payload_length) as u16;
        let addresses = self.fill_ip(with, segment, &mut out[self.ip_at..]);
        if self.shape.transport != Transport::None {
            let sum = self.transport_sum.plus(addresses).plus(payload.sum(payload_length));
            self.fill_transport(with, segment, sum, &mut out[self.transport_at..]);
        }
        out.extend_from_slice(&payload.bytes[..payload_length]);
    }

    /// Fills in the transport header of a segment of `segment` bytes. `sum` covers addresses,
    /// headers and payload.
    fn fill_transport(&self, with: &Variables, segment: u16, sum: Sum, transport: &mut [u8]) {
        transport[..2].copy_from_slice(&with.src_port.to_be_bytes());
        transport[2..4].copy_from_slice(&with.dst_port.to_be_bytes());
        // The pseudo-header contains the segment's length.
        let mut sum = sum.word(segment).word(with.src_port).word(with.dst_port);
        if self.shape.transport == Transport::Tcp {
            transport[4..8].copy_from_slice(&with.sequence.to_be_bytes());
            sum = sum.bytes(&with.sequence.to_be_bytes());
            transport[tcp::CHECKSUM..tcp::CHECKSUM + 2]
                .copy_from_slice(&sum.checksum().to_be_bytes());
        } else {
            transport[udp::LENGTH..udp::LENGTH + 2].copy_from_slice(&segment.to_be_bytes());
            let checksum = match sum.word(segment).checksum() {
                0 => 0xffff, // zero would mean no checksum
                checksum => checksum,
            };
            transport[udp::CHECKSUM..udp::CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
        }
    }

    /// Fills in the IP header. Returns the sum of the addresses.
    fn fill_ip(&self, with: &Variables, segment: u16, ip: &mut [u8]) -> Sum {
        match self.shape.family {
            Family::V4 => {
                let total = segment + ipv4::LEN as u16;
                let (src, dst) = ((with.src as u32).to_be_bytes(), (with.dst as u32).to_be_bytes());
                ip[ipv4::TOTAL_LENGTH..ipv4::TOTAL_LENGTH + 2]
                    .copy_from_slice(&total.to_be_bytes());
                ip[ipv4::SRC..ipv4::SRC + 4].copy_from_slice(&src);
                ip[ipv4::DST..ipv4::DST + 4].copy_from_slice(&dst);
                let addresses = Sum::default().bytes(&src).bytes(&dst);
                let checksum = self.ip_sum.plus(addresses).word(total).checksum();
                ip[ipv4::CHECKSUM..ipv4::CHECKSUM + 2].copy_from_slice(&checksum.to_be_bytes());
                addresses
            }
            Family::V6 => {
                let (src, dst) = (with.src.to_be_bytes(), with.dst.to_be_bytes());
                ip[ipv6::PAYLOAD_LENGTH..ipv6::PAYLOAD_LENGTH + 2]
                    .copy_from_slice(&segment.to_be_bytes());
                ip[ipv6::SRC..ipv6::SRC + 16].copy_from_slice(&src);
                ip[ipv6::DST..ipv6::DST + 16].copy_from_slice(&dst);
                Sum::default().bytes(&src).bytes(&dst)
            }
        }
    }
}
