//! Parses the kernel's route messages.

use netlink_packet_route::AddressFamily;
use std::time::{Duration, Instant};

use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteMetric, RouteNextHop,
    RouteNextHopFlags, RouteType, RouteVia,
};
use wireloom_net::tables::{Family, Prefix};

use super::fib::{Address, Apart, Hop, Route, Said, Selector, kind};

/// Parses a message. Returns `None` for routes that do not decide where packets go: cached routes
/// and other families. A prefix does not describe a route for one type of service or for some
/// sources, and `throw` continues with another table: such routes stay [apart](Route::apart).
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
    // A next hop object has no MTU of its own.
    let has_object_and_mtu = object != 0 && mtu != 0;
    let is_apart = selector != Selector::default() || is_thrown || has_object_and_mtu;
    let apart = is_apart.then_some(Apart { selector, is_thrown });
    let mut kind = header.kind.into();
    match kind {
        // In compatibility mode the kernel also lists the object's next hops, or only says that the
        // route discards packets.
        kind::UNICAST | kind::BLACKHOLE if object != 0 => {
            kind = kind::UNICAST;
            hops.clear();
        }
        kind::UNICAST if hops.is_empty() => hops.push(hop),
        kind::UNICAST => {}
        // For IPv6 routes without next hops the kernel names the loopback device.
        _ => {
            hops.clear();
            object = 0;
        }
    }
    let route = Route { kind, hops, object, mtu, apart };
    Some(Said { table, prefix, metric, route, expires })
}

/// Returns a time at which a lifetime has ended, less than 10 ms after its end. The kernel gives
/// whole hundredths of a second, and 0 for a lifetime without end as well as for the last hundredth,
/// in which routes must therefore not be read.
fn lifetime(hundredths: u32) -> Option<Instant> {
    let hundredths = hundredths as i32;
    let now = Instant::now();
    match u64::try_from(hundredths) {
        Ok(0) => None,
        Ok(left) => now.checked_add(Duration::from_millis(10 * (left + 1))),
        // The kernel has not removed the route yet.
        Err(_) => Some(now),
    }
}

/// Reads one next hop of a multipath route.
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

    /// The kernel forwards packets that get another header, of MPLS for example, as if they left by
    /// an interface that is not a port.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lifetime_has_ended_when_routes_are_read_again() {
        let now = Instant::now();
        assert_eq!(lifetime(0), None);
        // 990 ms that the kernel gives may be up to 1000 ms.
        assert!(lifetime(99).is_some_and(|end| end >= now + Duration::from_millis(1000)));
        assert!(lifetime(-5i32 as u32).is_some_and(|end| end <= Instant::now()));
    }
}
