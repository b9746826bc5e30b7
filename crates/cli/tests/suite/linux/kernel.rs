//! The kernel's router, one packet at a time: outputs for inputs.

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::Instant;

use super::frames::{Ethernet, Ipv4, Is};
use super::namespaces::{Topology, build};
use crate::wire::{Frame, Wire, interface_index};

/// The kernel's verdict on a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// The packet was forwarded.
    Forwarded {
        /// The output port.
        port: u16,
        /// The bytes sent.
        bytes: Vec<u8>,
    },
    /// The packet was forwarded in this number of fragments.
    Fragmented(usize),
    /// The kernel replied itself, with this message.
    Answered(String),
    /// The packet was dropped, or accepted locally without a reply.
    Silent,
    /// The interface does not accept the frame, which is not valid Ethernet.
    NoFrame,
}

/// IP protocol of the marker packets after each packet's effects (RFC 3692: for experiments).
const MARKER_PROTOCOL: u8 = 253;

/// The router in its namespaces, and the sockets to it.
pub struct KernelRouter {
    wire: Wire,
    interfaces: Vec<u32>,
    addresses: Vec<IpAddr>,
    macs: Vec<[u8; 6]>,
    marker: Ipv4,
    marker_header: Ethernet,
    markers_sent: u16,
    // Keeps the router's namespace alive.
    _namespace: File,
}

impl KernelRouter {
    /// Builds the router. Markers travel from port 0 to `marker_to`, an address that is routed to
    /// another port.
    ///
    /// # Errors
    /// Without the rights or the means: see [`build`].
    pub fn new(
        topology: &Topology,
        marker_from: Ipv4Addr,
        marker_to: Ipv4Addr,
    ) -> io::Result<Self> {
        let namespace = build(topology)?;
        let interfaces: io::Result<_> =
            (0..topology.ports.len()).map(|i| interface_index(&format!("p{i}"))).collect();
        let port = &topology.ports[0];
        let marker = Ipv4 {
            version: 4,
            ihl: Is::Right,
            tos: 0,
            length: Is::Right,
            id: 0,
            fragment: 0,
            ttl: 64,
            protocol: MARKER_PROTOCOL,
            checksum: Is::Right,
            from: marker_from,
            to: marker_to,
            options: Vec::new(),
            payload: b"marker".to_vec(),
        };
        let mut router = Self {
            wire: Wire::open()?,
            interfaces: interfaces?,
            addresses: topology
                .ports
                .iter()
                .flat_map(|p| p.addresses.iter().map(|(a, _)| *a))
                .collect(),
            macs: topology.ports.iter().map(|p| p.mac).collect(),
            marker,
            marker_header: Ethernet {
                to: port.mac,
                from: port.neighbour,
                tags: Vec::new(),
                ethertype: 0x0800,
            },
            markers_sent: 0,
            _namespace: namespace,
        };
        // Messages that the router sends at its start are not replies to packets.
        router.until_marker()?;
        Ok(router)
    }

    /// Returns the kernel's verdict on a frame that arrives on port 0.
    ///
    /// # Errors
    /// If a socket fails, or the marker after the packet does not come out.
    pub fn forward(&mut self, frame: &[u8]) -> io::Result<Kernel> {
        match self.wire.send(self.interfaces[0], frame) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return Ok(Kernel::NoFrame),
            Err(error) => return Err(error),
        }
        let frames = self.until_marker()?;
        Ok(self.judge(frames))
    }

    /// Sends a marker and returns the frames that came out before it. The kernel works in order on
    /// one processor, and all ports share one queue here, so the effects of earlier packets come
    /// before the marker.
    fn until_marker(&mut self) -> io::Result<Vec<Frame>> {
        self.markers_sent = self.markers_sent.wrapping_add(1);
        self.marker.id = self.markers_sent;
        let marker = self.marker_header.around(&self.marker.bytes());
        self.wire.send(self.interfaces[0], &marker)?;
        let deadline = Instant::now() + crate::patience::patience();
        let mut frames = Vec::new();
        while let Some(frame) = self.wire.receive(deadline)? {
            if self.is_marker(&frame.bytes) {
                return Ok(frames);
            }
            frames.push(frame);
        }
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            "the kernel's router did not forward the marker",
        ))
    }

    fn is_marker(&self, frame: &[u8]) -> bool {
        frame.len() >= 34
            && frame[12..14] == [8, 0]
            && frame[23] == MARKER_PROTOCOL
            && frame[18..20] == self.markers_sent.to_be_bytes()
            && frame[30..34] == self.marker.to.octets()
    }

    fn judge(&self, frames: Vec<Frame>) -> Kernel {
        let mut forwarded = Vec::new();
        let mut answers = Vec::new();
        for frame in frames {
            let port = self.interfaces.iter().position(|&index| index == frame.interface);
            let Some(port) = port.filter(|&port| frame.bytes[6..12] == self.macs[port]) else {
                continue;
            };
            // The router sends to groups unprompted: listener reports, solicitations. Next hops are
            // hosts.
            if frame.bytes[0] & 1 == 1 {
                continue;
            }
            match self.own_message(&frame.bytes) {
                Some(Own::Answer(what)) => answers.push(what),
                Some(Own::Housekeeping) => {}
                None => forwarded.push((port as u16, frame.bytes)),
            }
        }
        match forwarded.len() {
            0 if answers.is_empty() => Kernel::Silent,
            0 => Kernel::Answered(answers.join(", ")),
            1 => {
                let (port, bytes) = forwarded.remove(0);
                Kernel::Forwarded { port, bytes }
            }
            count => Kernel::Fragmented(count),
        }
    }

    /// Returns the meaning of a frame, if the router itself is its source.
    fn own_message(&self, frame: &[u8]) -> Option<Own> {
        let (ethertype, ip) = (u16::from_be_bytes([frame[12], frame[13]]), &frame[14..]);
        let (from, protocol, icmp): (IpAddr, u8, &[u8]) = match ethertype {
            0x0806 => return Some(Own::Answer("ARP".into())),
            0x0800 => {
                let octets: [u8; 4] = ip.get(12..16)?.try_into().ok()?;
                (octets.into(), ip[9], ip.get(usize::from(ip[0] & 15) * 4..)?)
            }
            0x86dd => {
                let octets: [u8; 16] = ip.get(8..24)?.try_into().ok()?;
                (octets.into(), ip[6], ip.get(40..)?)
            }
            _ => return None,
        };
        if !self.addresses.contains(&from) {
            return None;
        }
        let (kind, code) = (*icmp.first()?, *icmp.get(1)?);
        let name = match (protocol, kind) {
            (1, 0) => "ICMP echo reply".into(),
            (1, 3) => format!("ICMP unreachable, code {code}"),
            (1, 5) => return Some(Own::Housekeeping),
            (1, 11) => "ICMP time exceeded".into(),
            (1, 12) => "ICMP parameter problem".into(),
            (58, 1) => format!("ICMPv6 unreachable, code {code}"),
            (58, 2) => "ICMPv6 packet too big".into(),
            (58, 3) => "ICMPv6 time exceeded".into(),
            (58, 4) => "ICMPv6 parameter problem".into(),
            (58, 129) => "ICMPv6 echo reply".into(),
            (58, 133..=137) => return Some(Own::Housekeeping),
            (6, _) => "TCP reset".into(),
            _ => return None,
        };
        Some(Own::Answer(name))
    }
}

/// Frames that the router itself originates.
enum Own {
    /// A reply to a packet.
    Answer(String),
    /// An unprompted message, or one in addition to forwarding: neighbour discovery, listener
    /// reports, redirects.
    Housekeeping,
}
