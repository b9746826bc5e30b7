//! The kernel's messages about routes.

use netlink_packet_route::AddressFamily;
use std::time::{Duration, Instant};

use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteMetric, RouteNextHop,
    RouteNextHopFlags, RouteType, RouteVia,
};
use wireloom_net::tables::{Family, Prefix};

use super::fib::{Address, Apart, Hop, Route, Said, Selector, kind};

/// Reads a message; `None` if the route is none that decides where packets go: cached ones, and those
/// of other families. Routes for one type of service or for some sources are not described by a
/// prefix, and `throw` goes on with another table: they stay [apart](Route::apart).
pub fn said(message: &RouteMessage) -> Option<Said> {
    let header = &message.header;
    if header.flags.contains(RouteFlags::Cloned) {
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
    let (mut object, mut mtu, mut source, mut expires) = (0, 0, 0, None);
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(address) => destination = self::address(address)?.bits,
            RouteAttribute::Table(number) => table = *number,
            RouteAttribute::Priority(number) => metric = *number,
            RouteAttribute::MultiPath(several) => hops.extend(several.iter().map(path)),
            RouteAttribute::NhId(number) => object = *number,
            RouteAttribute::Metrics(metrics) => {
                let known = metrics.iter().find_map(|metric| match metric {
                    RouteMetric::Mtu(mtu) => Some(*mtu),
                    _ => None,
                });
                mtu = known.unwrap_or(0);
            }
            RouteAttribute::Source(address) => source = self::address(address)?.bits,
            RouteAttribute::CacheInfo(info) => expires = lifetime(info.expires),
            attribute => hop.read(attribute),
        }
    }
    hop.unless_encapsulated(&message.attributes);
    let prefix = Prefix::new(family, destination, u32::from(header.destination_prefix_length))?;
    let is_thrown = header.kind == RouteType::Throw;
    let selector =
        Selector { service: header.tos, source, source_length: header.source_prefix_length };
    // What an object leads to has no MTU of its own.
    let has_object_and_mtu = object != 0 && mtu != 0;
    let is_apart = selector != Selector::default() || is_thrown || has_object_and_mtu;
    let apart = is_apart.then_some(Apart { selector, is_thrown });
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
    let route = Route { kind, hops, object, mtu, apart };
    Some(Said { table, prefix, metric, route, expires })
}

/// When a lifetime ends that the kernel gives in hundredths of a second; 0: never.
fn lifetime(hundredths: u32) -> Option<Instant> {
    let hundredths = hundredths as i32;
    let now = Instant::now();
    match u64::try_from(hundredths) {
        Ok(0) => None,
        Ok(left) => now.checked_add(Duration::from_millis(10 * left)),
        // The kernel has not removed it yet.
        Err(_) => Some(now),
    }
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
