//! The kernel's router, one packet at a time: what comes out for what goes in.

use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::time::{Duration, Instant};

use super::frames::{Ethernet, Ipv4, Is};
use super::namespaces::{Topology, build};
use super::wire::{Frame, Wire, interface_index};

/// What the kernel did with a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kernel {
    /// Sent it on.
    Forwarded {
        /// To this port.
        port: u16,
        /// Like this.
        bytes: Vec<u8>,
    },
    /// Sent it on in so many fragments.
    Fragmented(usize),
    /// Answered it itself, with this.
    Answered(String),
    /// Dropped it, or took it for itself and said nothing.
    Silent,
    /// There is no such frame on an Ethernet: the interface does not take it.
    NoFrame,
}

/// IP protocol of the packets that mark the end of what one packet causes (RFC 3692: for experiments).
const MARKER_PROTOCOL: u8 = 253;
/// Longer than the kernel ever takes for a packet, however busy the computer is.
const PATIENCE: Duration = Duration::from_secs(20);

/// The router of namespaces, and the wires to it.
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
    /// Builds it. Markers travel from port 0 to `marker_to`, an address that is routed to another port.
    ///
    /// # Errors
    /// Without the rights or the means: see [`build`].
    pub fn new(topology: &Topology, marker_from: Ipv4Addr, marker_to: Ipv4Addr) -> io::Result<Self> {
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
            addresses: topology.ports.iter().flat_map(|p| p.addresses.iter().map(|(a, _)| *a)).collect(),
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
        // What the router says of itself while it starts is not an answer to anything.
        router.until_marker()?;
        Ok(router)
    }

    /// What the kernel does with a frame that comes in on port 0.
    ///
    /// # Errors
    /// If a socket fails, or the marker behind the packet does not come out.
    pub fn forward(&mut self, frame: &[u8]) -> io::Result<Kernel> {
        match self.wire.send(self.interfaces[0], frame) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => return Ok(Kernel::NoFrame),
            Err(error) => return Err(error),
        }
        let frames = self.until_marker()?;
        Ok(self.judge(frames))
    }

    /// Sends a marker and answers what came out before it. The kernel works in order on one processor, and all ports
    /// share one queue here: what the packets before the marker caused stands before it.
    fn until_marker(&mut self) -> io::Result<Vec<Frame>> {
        self.markers_sent = self.markers_sent.wrapping_add(1);
        self.marker.id = self.markers_sent;
        let marker = self.marker_header.around(&self.marker.bytes());
        self.wire.send(self.interfaces[0], &marker)?;
        let deadline = Instant::now() + PATIENCE;
        let mut frames = Vec::new();
        while let Some(frame) = self.wire.receive(deadline)? {
            if self.is_marker(&frame.bytes) {
                return Ok(frames);
            }
            frames.push(frame);
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "the kernel's router did not forward the marker"))
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
            let Some(port) = port.filter(|&port| frame.bytes[6..12] == self.macs[port]) else { continue };
            // To groups the router speaks of its own accord: listener reports, solicitations. Next hops are hosts.
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

    /// What a frame says, if the router itself is its author.
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

/// What the router itself sends.
enum Own {
    /// In answer to a packet.
    Answer(String),
    /// Of its own accord, or beside forwarding: neighbour discovery, listener reports, redirects.
    Housekeeping,
}
