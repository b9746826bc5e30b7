//! The kernel's messages about routes.

use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteNextHop, RouteNextHopFlags,
    RouteType, RouteVia,
};
use wireloom_net::tables::{Family, Prefix};

use super::fib::{Address, Hop, Route, Said, kind};

/// Reads a message; `None` if the route is not followed: routes for one type of service or for some
/// sources are not described by a prefix, cached ones are no routes, and `throw` is none either.
pub fn said(message: &RouteMessage) -> Option<Said> {
    let header = &message.header;
    if header.tos != 0
        || header.source_prefix_length != 0
        || header.flags.contains(RouteFlags::Cloned)
        || header.kind == RouteType::Throw
    {
        return None;
    }
    let family = match header.address_family {
        AddressFamily::Inet => Family::V4,
        AddressFamily::Inet6 => Family::V6,
        _ => return None,
    };
    let mut table = u32::from(header.table);
    let (mut destination, mut metric) = (0, 0);
    let mut hop = Hop {
        device: 0,
        gateway: None,
        weight: 1,
        is_dead: header.flags.contains(RouteFlags::Dead),
    };
    let mut hops = Vec::new();
    let mut object = 0;
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(address) => destination = self::address(address)?.bits,
            RouteAttribute::Table(number) => table = *number,
            RouteAttribute::Priority(number) => metric = *number,
            RouteAttribute::MultiPath(several) => hops.extend(several.iter().map(path)),
            RouteAttribute::NhId(number) => object = *number,
            attribute => hop.read(attribute),
        }
    }
    hop.unless_encapsulated(&message.attributes);
    let prefix = Prefix::new(family, destination, u32::from(header.destination_prefix_length))?;
    let mut kind = header.kind.into();
    match kind {
        // The kernel says what the object leads to as well, if it is to be compatible, or just that
        // it discards packets.
        kind::UNICAST | kind::BLACKHOLE if object != 0 => {
            kind = kind::UNICAST;
            hops.clear();
        }
        kind::UNICAST if hops.is_empty() => hops.push(hop),
        kind::UNICAST => {}
        // The kernel names the loopback device for routes of IPv6 that lead nowhere.
        _ => {
            hops.clear();
            object = 0;
        }
    }
    Some(Said { table, prefix, metric, route: Route { kind, hops, object } })
}

/// One next hop of a route with several.
fn path(message: &RouteNextHop) -> Hop {
    let mut hop = Hop {
        device: message.interface_index,
        gateway: None,
        weight: u32::from(message.hops) + 1,
        is_dead: message.flags.contains(RouteNextHopFlags::Dead),
    };
    message.attributes.iter().for_each(|attribute| hop.read(attribute));
    hop.unless_encapsulated(&message.attributes);
    hop
}

impl Hop {
    fn read(&mut self, attribute: &RouteAttribute) {
        match attribute {
            RouteAttribute::Oif(index) => self.device = *index,
            RouteAttribute::Gateway(gateway) => self.gateway = address(gateway),
            RouteAttribute::Via(RouteVia::Inet(ip)) => {
                self.gateway = Some(Address { family: Family::V4, bits: ip.to_bits().into() });
            }
            RouteAttribute::Via(RouteVia::Inet6(ip)) => {
                self.gateway = Some(Address { family: Family::V6, bits: ip.to_bits() });
            }
            _ => {}
        }
    }

    /// Packets that get another header, of MPLS for example, are the kernel's to forward, as if they
    /// went out of an interface that is no port.
    fn unless_encapsulated(&mut self, attributes: &[RouteAttribute]) {
        let is_kind = |attribute| matches!(attribute, &RouteAttribute::EncapType(_));
        if attributes.iter().any(is_kind) {
            self.device = 0;
        }
    }
}

fn address(address: &RouteAddress) -> Option<Address> {
    match address {
        RouteAddress::Inet(ip) => Some(Address { family: Family::V4, bits: ip.to_bits().into() }),
        RouteAddress::Inet6(ip) => Some(Address { family: Family::V6, bits: ip.to_bits() }),
        _ => None,
    }
}
