//! Links and neighbours of the kernel, and notifications of changes, by netlink (rtnetlink(7)).

use std::collections::HashMap;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::AsRawFd;
use std::time::Duration;

use netlink_packet_core::NetlinkPayload;
use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};
use wireloom_net::netlink::{connect, dump, for_each_message, send};

/// Notifications of links, neighbours, addresses and routes (`RTNLGRP_...`).
const GROUPS: [u32; 6] = [1, 3, 5, 7, 9, 11];

/// An interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub mac: [u8; 6],
    /// Bytes of layer 3.
    pub mtu: u32,
}

/// Interfaces by index.
pub type Links = HashMap<u32, Link>;

/// Link addresses by interface and IP address (right-aligned bits) of neighbours that can be sent
/// to.
pub type Neighbours = HashMap<(u32, u128), [u8; 6]>;

/// A subscription to changes.
pub struct Changes {
    socket: Socket,
}

/// What changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// Nothing within the time.
    Nothing,
    /// Neighbours only.
    Neighbours,
    /// Anything, or notifications were lost.
    Anything,
}

impl Changes {
    /// Subscribes.
    pub fn subscribe() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        for group in GROUPS {
            socket.add_membership(group)?;
        }
        socket.set_non_blocking(true)?;
        Ok(Self { socket })
    }

    /// Waits for changes for at most this time and returns all that are known by then.
    pub fn wait(&self, patience: Duration) -> io::Result<Changed> {
        let fd = self.socket.as_raw_fd();
        let mut polled = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        let milliseconds = i32::try_from(patience.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
        // SAFETY: one descriptor, as counted.
        if unsafe { libc::poll(&raw mut polled, 1, milliseconds) } < 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        let mut changed = Changed::Nothing;
        loop {
            match self.socket.recv_from_full() {
                Ok((bytes, _)) => {
                    for_each_message(&bytes, |message| {
                        changed = match message.payload {
                            NetlinkPayload::InnerMessage(
                                RouteNetlinkMessage::NewNeighbour(_)
                                | RouteNetlinkMessage::DelNeighbour(_),
                            ) if changed != Changed::Anything => Changed::Neighbours,
                            _ => Changed::Anything,
                        };
                        Ok(true)
                    })?;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(changed),
                // The kernel had no room for a notification.
                Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => {
                    changed = Changed::Anything;
                }
                Err(error) => return Err(error),
            }
        }
    }
}

/// Reads all interfaces.
pub fn links() -> io::Result<Links> {
    let messages = dump(&RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
    let links = messages.into_iter().filter_map(|message| {
        let RouteNetlinkMessage::NewLink(link) = message else { return None };
        let (mut mac, mut mtu) = (None, 0);
        for attribute in &link.attributes {
            match attribute {
                LinkAttribute::Address(bytes) => mac = bytes[..].try_into().ok(),
                LinkAttribute::Mtu(bytes) => mtu = *bytes,
                _ => {}
            }
        }
        Some((link.header.index, Link { mac: mac?, mtu }))
    });
    Ok(links.collect())
}

/// Reads all neighbours that can be sent to.
pub fn neighbours() -> io::Result<Neighbours> {
    let messages = dump(&RouteNetlinkMessage::GetNeighbour(NeighbourMessage::default()))?;
    let neighbours = messages.into_iter().filter_map(|message| {
        let RouteNetlinkMessage::NewNeighbour(neighbour) = message else { return None };
        // The kernel sends to neighbours in these states without asking first.
        let usable = matches!(
            neighbour.header.state,
            NeighbourState::Reachable
                | NeighbourState::Stale
                | NeighbourState::Delay
                | NeighbourState::Probe
                | NeighbourState::Permanent
        );
        let (mut address, mut mac) = (None, None);
        for attribute in &neighbour.attributes {
            match attribute {
                NeighbourAttribute::Destination(NeighbourAddress::Inet(ip)) => {
                    address = Some(u128::from(ip.to_bits()));
                }
                NeighbourAttribute::Destination(NeighbourAddress::Inet6(ip)) => {
                    address = Some(ip.to_bits());
                }
                NeighbourAttribute::LinkLayerAddress(bytes) => mac = bytes[..].try_into().ok(),
                _ => {}
            }
        }
        usable.then_some(((neighbour.header.ifindex, address?), mac?))
    });
    Ok(neighbours.collect())
}

/// Tells the kernel that neighbours are in use. It verifies those that it has not heard of for a
/// while, as if it had sent a packet to them itself. Neighbours that it no longer knows are left
/// out.
pub fn use_neighbours<'a>(neighbours: impl Iterator<Item = &'a (u32, u128)>) -> io::Result<()> {
    let socket = connect()?;
    for &(device, address) in neighbours {
        let mut message = NeighbourMessage::default();
        let (family, address) = match u32::try_from(address) {
            Ok(bits) => (AddressFamily::Inet, NeighbourAddress::Inet(Ipv4Addr::from_bits(bits))),
            Err(_) => {
                let address = Ipv6Addr::from_bits(address);
                (AddressFamily::Inet6, NeighbourAddress::Inet6(address))
            }
        };
        message.header.family = family;
        message.header.ifindex = device;
        message.header.flags = NeighbourFlags::Use;
        message.attributes.push(NeighbourAttribute::Destination(address));
        send(&socket, RouteNetlinkMessage::NewNeighbour(message), 0)?;
    }
    Ok(())
}
