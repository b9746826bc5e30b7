//! Links, neighbours and routes of the kernel, and notifications of their changes, by netlink
//! (rtnetlink(7)).

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::time::Duration;

use netlink_packet_core::ParseableParametrized;
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage};
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::RouteMessage;
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, protocols::NETLINK_ROUTE};
use wireloom_net::netlink::{
    NEW_NEXT_HOP, NEXT_HOP_GONE, NextHop, connect, dump, next_hops, send, visit_dump,
};
use wireloom_net::tables::Family;

use super::fib::{Address, Fib, Joins, Said};
use super::message::said;
use crate::memory::Memory;
use crate::system::{set, wait_for};

/// Multicast groups of links, neighbours, addresses, routes and next hop objects (`RTNLGRP_...`).
const GROUPS: [u32; 7] = [1, 3, 5, 7, 9, 11, 32];
/// Bytes of notifications that the kernel buffers for this process: about 30,000 routes.
const BUFFER: libc::c_int = 32 << 20;
/// How often a dump is repeated if the kernel's state changed during it.
const ATTEMPTS: usize = 5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Link {
    pub mac: [u8; 6],
    /// In bytes of layer 3.
    pub mtu: u32,
    /// Whether the interface is switched on, and whether it has a carrier.
    pub up: (bool, bool),
}

/// Interfaces, by index.
pub type Links = HashMap<u32, Link>;

/// A neighbour's address and interface.
pub type Neighbour = (Address, u32);

/// The known state of a neighbour that packets can be sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reach {
    pub mac: [u8; 6],
    /// Whether the neighbour was configured. The kernel never verifies it then.
    pub is_permanent: bool,
}

/// Neighbours that packets can be sent to.
pub type Neighbours = BTreeMap<Neighbour, Reach>;

/// A subscription to changes.
pub struct Changes {
    socket: Socket,
}

/// A change that the kernel notifies.
#[derive(Clone, Debug)]
pub enum Change {
    /// A new route, and its place among the routes of its prefix and metric.
    Route(Said, Joins),
    /// A route that is gone.
    RouteGone(Said),
    /// A neighbour. `None` if packets cannot be sent to it.
    Neighbour(Neighbour, Option<Reach>),
    /// An interface. `None` if it is gone.
    Link(u32, Option<Link>),
    /// A next hop object that is new or has changed.
    Object(NextHop),
    /// A next hop object that is gone, and with it the routes that name it.
    ObjectGone(u32),
    /// A change of routes that the kernel does not notify one by one.
    Silent,
}

/// The result of reading notifications.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// No notifications are left for now.
    Nothing,
    /// Changes were passed on.
    Changes,
    /// The kernel had no room for some notifications: they are lost.
    Overrun,
}

impl Changes {
    pub fn subscribe() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        if set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &BUFFER).is_err() {
            set(&socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &BUFFER)?;
        }
        for group in GROUPS {
            socket.add_membership(group)?;
        }
        socket.set_non_blocking(true)?;
        Ok(Self { socket })
    }

    /// Waits for changes, at most for `patience`, or until the other end of `closing` is closed.
    pub fn wait(&self, patience: Duration, closing: RawFd) -> io::Result<()> {
        wait_for(&[self.socket.as_raw_fd(), closing], patience)
    }

    /// Reads some notifications without waiting.
    pub fn read(&self, visit: &mut dyn FnMut(Change)) -> io::Result<Read> {
        match self.socket.recv_from_full() {
            Ok((bytes, _)) => {
                visit_changes(&bytes, visit)?;
                Ok(Read::Changes)
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Read::Nothing),
            Err(error) if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(Read::Overrun),
            Err(error) => Err(error),
        }
    }
}

/// Length of `struct nlmsghdr`.
const HEADER: usize = 16;
const NLM_F_REPLACE: u16 = 0x100;
const NLM_F_EXCL: u16 = 0x200;
const NLM_F_CREATE: u16 = 0x400;
const NLM_F_APPEND: u16 = 0x800;
const RTM_DELADDR: u16 = 21;

/// Visits the changes in a datagram.
fn visit_changes(mut rest: &[u8], visit: &mut dyn FnMut(Change)) -> io::Result<()> {
    let malformed = || io::Error::other("a notification that cannot be read");
    while rest.len() >= HEADER {
        let length = u32::from_ne_bytes([rest[0], rest[1], rest[2], rest[3]]) as usize;
        let number = u16::from_ne_bytes([rest[4], rest[5]]);
        let flags = u16::from_ne_bytes([rest[6], rest[7]]);
        let payload = rest.get(HEADER..length).ok_or_else(malformed)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or(&[]);
        match number {
            // The kernel removes the routes with this preferred source.
            RTM_DELADDR => visit(Change::Silent),
            NEW_NEXT_HOP | NEXT_HOP_GONE => {
                if let Some(object) = NextHop::parse(payload)? {
                    visit(match number {
                        NEW_NEXT_HOP => Change::Object(object),
                        _ => Change::ObjectGone(object.number),
                    });
                }
            }
            _ => {
                let message = RouteNetlinkMessage::parse_with_param(payload, number)
                    .map_err(|error| io::Error::other(format!("a notification: {error}")))?;
                if let Some(change) = change(message, flags) {
                    visit(change);
                }
            }
        }
    }
    Ok(())
}

fn change(message: RouteNetlinkMessage, flags: u16) -> Option<Change> {
    match message {
        // A bridge notifies about its ports. A port that leaves the bridge still exists.
        RouteNetlinkMessage::NewLink(message) | RouteNetlinkMessage::DelLink(message)
            if message.header.interface_family == AddressFamily::Bridge =>
        {
            None
        }
        RouteNetlinkMessage::NewRoute(route) => {
            let joins = match flags {
                _ if flags & NLM_F_REPLACE != 0 => Joins::InPlace,
                _ if flags & NLM_F_APPEND != 0 => Joins::After,
                // IPv6 always appends; IPv4 prepends.
                _ if route.header.address_family == AddressFamily::Inet6 => Joins::After,
                _ => Joins::Before,
            };
            said(&route).filter(Said::is_alive).map(|said| Change::Route(said, joins))
        }
        RouteNetlinkMessage::DelRoute(route) => said(&route).map(Change::RouteGone),
        RouteNetlinkMessage::NewNeighbour(message) => {
            let (neighbour, reach) = neighbour(&message)?;
            Some(Change::Neighbour(neighbour, reach))
        }
        RouteNetlinkMessage::DelNeighbour(message) => {
            Some(Change::Neighbour(neighbour(&message)?.0, None))
        }
        RouteNetlinkMessage::NewLink(message) => {
            Some(Change::Link(message.header.index, link(&message)))
        }
        RouteNetlinkMessage::DelLink(message) => Some(Change::Link(message.header.index, None)),
        _ => None,
    }
}

pub fn links() -> io::Result<Links> {
    let messages = dump(&RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
    let links = messages.into_iter().filter_map(|message| {
        let RouteNetlinkMessage::NewLink(message) = message else { return None };
        Some((message.header.index, link(&message)?))
    });
    Ok(links.collect())
}

fn link(message: &LinkMessage) -> Option<Link> {
    let (mut mac, mut mtu) = (None, 0);
    for attribute in &message.attributes {
        match attribute {
            LinkAttribute::Address(bytes) => mac = bytes[..].try_into().ok(),
            LinkAttribute::Mtu(bytes) => mtu = *bytes,
            _ => {}
        }
    }
    let flags = message.header.flags;
    let up = (flags.contains(LinkFlags::Up), flags.contains(LinkFlags::LowerUp));
    Some(Link { mac: mac?, mtu, up })
}

/// Reads all neighbours that packets can be sent to.
pub fn neighbours() -> io::Result<Neighbours> {
    let known = neighbours_with_states()?;
    Ok(known.filter_map(|(neighbour, reach, _)| Some((neighbour, reach?))).collect())
}

/// Reads all neighbours. Those that packets cannot be sent to have no [`Reach`].
fn neighbours_with_states()
-> io::Result<impl Iterator<Item = (Neighbour, Option<Reach>, NeighbourState)>> {
    let messages = dump(&RouteNetlinkMessage::GetNeighbour(NeighbourMessage::default()))?;
    Ok(messages.into_iter().filter_map(|message| {
        let RouteNetlinkMessage::NewNeighbour(message) = message else { return None };
        let (neighbour, reach) = neighbour(&message)?;
        Some((neighbour, reach, message.header.state))
    }))
}

fn neighbour(message: &NeighbourMessage) -> Option<(Neighbour, Option<Reach>)> {
    // In these states the kernel sends to a neighbour without asking first.
    let usable = matches!(
        message.header.state,
        NeighbourState::Reachable
            | NeighbourState::Stale
            | NeighbourState::Delay
            | NeighbourState::Probe
            | NeighbourState::Permanent
    );
    let (mut address, mut mac) = (None, None);
    for attribute in &message.attributes {
        match attribute {
            NeighbourAttribute::Destination(NeighbourAddress::Inet(ip)) => {
                address = Some(Address { family: Family::V4, bits: ip.to_bits().into() });
            }
            NeighbourAttribute::Destination(NeighbourAddress::Inet6(ip)) => {
                address = Some(Address { family: Family::V6, bits: ip.to_bits() });
            }
            NeighbourAttribute::LinkLayerAddress(bytes) => mac = bytes[..].try_into().ok(),
            _ => {}
        }
    }
    let is_permanent = message.header.state == NeighbourState::Permanent;
    let reach = mac.filter(|_| usable).map(|mac| Reach { mac, is_permanent });
    Some(((address?, message.header.ifindex), reach))
}

/// Reads the next hop objects, and the routes of these tables, of both families.
///
/// # Errors
/// If the kernel refuses, or if its routes change during every attempt.
pub fn routes(tables: &[u32], memory: Option<&Arc<Memory>>) -> io::Result<Fib> {
    for _ in 0..ATTEMPTS {
        let mut fib = Fib::new(tables, memory.cloned());
        for object in next_hops()? {
            fib.insert_object(object);
        }
        let mut is_whole = true;
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut request = RouteMessage::default();
            request.header.address_family = family;
            let read = visit_dump(&RouteNetlinkMessage::GetRoute(request), &mut |message| {
                // A kernel that does not know the family returns the routes of all families.
                if let RouteNetlinkMessage::NewRoute(route) = message
                    && route.header.address_family == family
                    && let Some(said) = said(&route).filter(Said::is_alive)
                {
                    fib.add(said);
                }
            });
            match read {
                Ok(whole) => is_whole &= whole,
                // A kernel without IPv6 returns this error for IPv6 routes.
                Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
                Err(error) => return Err(error),
            }
        }
        if is_whole {
            return Ok(fib);
        }
    }
    Err(io::Error::other("the kernel's routes change too fast to be read"))
}

/// Why the kernel is told about neighbours.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// The neighbours are in use. The kernel verifies those that it has not heard from for a while,
    /// as if it had sent them a packet itself. Neighbours that it no longer knows are left out.
    Verify,
    /// The kernel shall resolve them.
    Resolve,
}

/// Tells the kernel about neighbours, if their present state needs it. Permanent neighbours are
/// left out: the message would end that state (`__neigh_update` of Linux 6.18), and they would lose
/// their link addresses. A neighbour may have become permanent since the last notification, and a
/// missing one even while this runs.
pub fn use_neighbours<'a>(
    neighbours: impl Iterator<Item = &'a Neighbour>,
    purpose: Purpose,
) -> io::Result<()> {
    let mut neighbours = neighbours.peekable();
    if neighbours.peek().is_none() {
        return Ok(());
    }
    let socket = connect(NETLINK_ROUTE)?;
    let known = neighbours_with_states()?.map(|(of, reach, state)| (of, (reach, state)));
    let known: BTreeMap<_, _> = known.collect();
    for of in neighbours {
        let flags = match (purpose, known.get(of)) {
            (Purpose::Verify, Some((Some(reach), _))) if !reach.is_permanent => 0,
            (Purpose::Resolve, None) => NLM_F_CREATE | NLM_F_EXCL,
            (Purpose::Resolve, Some((None, NeighbourState::Failed | NeighbourState::None))) => 0,
            // Others are being resolved, or need nothing.
            _ => continue,
        };
        use_neighbour(&socket, *of, flags)?;
    }
    Ok(())
}

/// Asks the kernel to use a neighbour, as if it had a packet for it.
fn use_neighbour(socket: &Socket, (address, device): Neighbour, flags: u16) -> io::Result<()> {
    let mut message = NeighbourMessage::default();
    let (family, address) = match address.family {
        Family::V4 => {
            let ip = Ipv4Addr::from_bits(address.bits as u32);
            (AddressFamily::Inet, NeighbourAddress::Inet(ip))
        }
        Family::V6 => {
            let ip = Ipv6Addr::from_bits(address.bits);
            (AddressFamily::Inet6, NeighbourAddress::Inet6(ip))
        }
    };
    message.header.family = family;
    message.header.ifindex = device;
    message.header.flags = NeighbourFlags::Use;
    message.attributes.push(NeighbourAttribute::Destination(address));
    send(socket, RouteNetlinkMessage::NewNeighbour(message), flags)
}

#[cfg(test)]
mod tests {
    use std::process::Command;
    use std::thread;

    use super::*;

    #[test]
    fn a_port_that_leaves_a_bridge_is_not_gone() {
        let gone = |family| {
            let mut message = LinkMessage::default();
            (message.header.index, message.header.interface_family) = (7, family);
            change(RouteNetlinkMessage::DelLink(message), 0)
        };
        assert!(gone(AddressFamily::Bridge).is_none());
        assert!(matches!(gone(AddressFamily::Unspec), Some(Change::Link(7, None))));
    }

    fn ip(arguments: &str) -> String {
        let output = Command::new("ip").args(arguments.split(' ')).output().expect("ip runs");
        assert!(output.status.success(), "ip {arguments}: {output:?}");
        String::from_utf8(output.stdout).expect("text")
    }

    #[test]
    fn neighbours_that_are_permanent_by_now_stay_so() {
        let check = || {
            // SAFETY: the new namespace is that of this thread alone, which ends with the test.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                eprintln!("warning: nothing was tested: no network namespace without rights");
                return;
            }
            ip("link add v0 type veth peer name v1");
            ip("link set v1 up");
            ip("link set v0 up");
            ip("address add 10.0.0.1/24 dev v0");
            ip("neighbour add 10.0.0.2 lladdr 02:00:00:00:00:02 dev v0 nud permanent");
            // SAFETY: the name ends with a zero.
            let device = unsafe { libc::if_nametoindex(c"v0".as_ptr()) };
            let at = |bits| (Address { family: Family::V4, bits }, device);
            let [permanent, new] = [at(0x0a00_0002), at(0x0a00_0003)];
            for purpose in [Purpose::Verify, Purpose::Resolve] {
                use_neighbours([permanent, new].iter(), purpose).expect("the kernel is told");
                let known = neighbours().expect("neighbours");
                assert!(known.get(&permanent).is_some_and(|reach| reach.is_permanent));
                let is_asked_for = !ip("neighbour show to 10.0.0.3").is_empty();
                assert_eq!(is_asked_for, purpose == Purpose::Resolve);
            }
            // It was missing when the neighbours were read.
            let socket = connect(NETLINK_ROUTE).expect("a socket");
            use_neighbour(&socket, permanent, NLM_F_CREATE | NLM_F_EXCL).expect("a message");
            let known = neighbours().expect("neighbours");
            assert!(known.get(&permanent).is_some_and(|reach| reach.is_permanent));
        };
        thread::spawn(check).join().expect("the check");
    }
}
