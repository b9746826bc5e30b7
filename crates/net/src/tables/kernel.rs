//! Reads the running kernel's routing tables by netlink (rtnetlink(7)), in this thread's network
//! namespace.
//!
//! If a table has several routes to one prefix, the one with the lowest metric is used. Routes for
//! only one type of service or only some sources are omitted, since a prefix does not describe
//! them.
//!
//! A route may name a next hop object (`ip nexthop`). With `net.ipv4.nexthop_compat_mode=0`, the
//! kernel's route messages do not say where the object leads, so the objects are read as well.

use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use netlink_packet_route::link::{LinkAttribute, LinkMessage};
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteNextHop, RouteNextHopFlags,
    RouteType, RouteVia,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use super::error::{Position, TableError};
use super::prefix::{Family, Prefix};
use super::route::{Hop, Route, Visit};
use crate::netlink::{Leads, NextHop, dump, next_hops};

/// Names of devices, by index.
type Devices = HashMap<u32, Arc<str>>;
/// Next hop objects, by number.
type Objects = HashMap<u32, Leads>;

/// Streams the routes of a table: IPv4 first, ordered by prefix.
pub(super) fn read(table: u32, visit: &mut Visit<'_>) -> Result<(), TableError> {
    let path = Path::new("the kernel's routes");
    let failed = |error: io::Error| TableError::io(path, Position::Whole, &error);
    let devices = devices().map_err(failed)?;
    let objects = match next_hops() {
        // Kernels before Linux 5.3 have no next hop objects.
        Err(error) if error.raw_os_error() == Some(EOPNOTSUPP) => Vec::new(),
        objects => objects.map_err(failed)?,
    };
    let objects = objects.into_iter().map(|NextHop { number, leads }| (number, leads)).collect();
    for route in best_routes(&routes().map_err(failed)?, table, &devices, &objects) {
        if visit(Position::Whole, &route)
            .map_err(|what| TableError::new(path, Position::Whole, what))?
            == ControlFlow::Break(())
        {
            break;
        }
    }
    Ok(())
}

fn devices() -> io::Result<Devices> {
    let messages = dump(&RouteNetlinkMessage::GetLink(LinkMessage::default()))?;
    let named = messages.into_iter().filter_map(|message| {
        let RouteNetlinkMessage::NewLink(link) = message else { return None };
        let name = link.attributes.iter().find_map(|attribute| match attribute {
            LinkAttribute::IfName(name) => Some(name.as_str().into()),
            _ => None,
        });
        Some((link.header.index, name?))
    });
    Ok(named.collect())
}

/// Reads the routes of all tables, of both families.
fn routes() -> io::Result<Vec<RouteMessage>> {
    let mut routes = Vec::new();
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        let mut request = RouteMessage::default();
        request.header.address_family = family;
        let got = match dump(&RouteNetlinkMessage::GetRoute(request)) {
            // A kernel without IPv6 returns this error for IPv6 routes.
            Err(error) if error.raw_os_error() == Some(EOPNOTSUPP) => continue,
            got => got?,
        };
        routes.extend(got.into_iter().filter_map(|message| match message {
            // A kernel that does not know the family returns the routes of all families.
            RouteNetlinkMessage::NewRoute(route) if route.header.address_family == family => {
                Some(route)
            }
            _ => None,
        }));
    }
    Ok(routes)
}

const EOPNOTSUPP: i32 = 95;

/// Returns the selected routes of a table, ordered by prefix.
fn best_routes(
    messages: &[RouteMessage],
    table: u32,
    devices: &Devices,
    objects: &Objects,
) -> Vec<Route> {
    let mut best: HashMap<Prefix, Route> = HashMap::new();
    for message in messages {
        let Some((in_table, route)) = route(message, devices, objects) else { continue };
        let prefix = route.prefix.expect("a parsed route has a prefix");
        if in_table == table && best.get(&prefix).is_none_or(|known| route.metric < known.metric) {
            best.insert(prefix, route);
        }
    }
    let mut routes: Vec<_> = best.into_values().collect();
    routes.sort_by_key(|route| route.prefix);
    routes
}

/// Returns a route and its table. Returns `None` if the route is omitted.
fn route(message: &RouteMessage, devices: &Devices, objects: &Objects) -> Option<(u32, Route)> {
    let header = &message.header;
    if header.tos != 0
        || header.source_prefix_length != 0
        || header.flags.contains(RouteFlags::Cloned)
    {
        return None;
    }
    let family = match header.address_family {
        AddressFamily::Inet => Family::V4,
        _ => Family::V6,
    };
    let mut table = u32::from(header.table);
    let mut destination = 0;
    let mut route = Route { kind: header.kind.into(), ..Route::default() };
    let mut single = Single::default();
    let mut hops = Vec::new();
    let mut object = 0;
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(address) => destination = bits(address)?,
            RouteAttribute::Table(number) => table = *number,
            RouteAttribute::Priority(metric) => route.metric = *metric,
            RouteAttribute::MultiPath(several) => hops.extend(several),
            RouteAttribute::NhId(number) => object = *number,
            attribute => single.read(attribute),
        }
    }
    route.prefix =
        Some(Prefix::new(family, destination, u32::from(header.destination_prefix_length))?);
    // For a route with an object, the kernel reports the type unicast or blackhole.
    if object != 0 && matches!(header.kind, RouteType::Unicast | RouteType::BlackHole) {
        return through(object, route, devices, objects).map(|route| (table, route));
    }
    let refuses = matches!(
        header.kind,
        RouteType::BlackHole | RouteType::Unreachable | RouteType::Prohibit | RouteType::Throw
    );
    if refuses {
        // For such IPv6 routes the kernel names the loopback device.
        return Some((table, route));
    }
    let is_dead = header.flags.contains(RouteFlags::Dead);
    route.hops = match hops.is_empty() {
        true if is_dead => Vec::new(),
        true => single.hop(devices).into_iter().collect(),
        false => hops.into_iter().filter_map(|hop| path(hop, devices)).collect(),
    };
    // The kernel ignores a route if all of its devices are down.
    (!route.hops.is_empty()).then_some((table, route))
}

/// Returns a route through a next hop object. Returns `None` if all of its devices are down.
fn through(number: u32, mut route: Route, devices: &Devices, objects: &Objects) -> Option<Route> {
    let mut is_blackhole = false;
    let alone = [(number, 1)];
    let members = match objects.get(&number)? {
        Leads::Group(members) => &members[..],
        _ => &alone,
    };
    for (member, _) in members {
        match objects.get(member) {
            Some(Leads::Blackhole) => is_blackhole = true,
            Some(&Leads::Out { device, gateway, is_encapsulated, is_dead: false }) => {
                let gateway = match gateway {
                    Some(IpAddr::V4(ip)) => ip.to_bits().into(),
                    Some(IpAddr::V6(ip)) => ip.to_bits(),
                    None => 0,
                };
                route.hops.extend(Single { device, gateway, is_encapsulated }.hop(devices));
            }
            Some(Leads::Out { .. } | Leads::Group(_)) | None => {}
        }
    }
    let kind = if is_blackhole { RouteType::BlackHole } else { RouteType::Unicast };
    route.kind = kind.into();
    (is_blackhole || !route.hops.is_empty()).then_some(route)
}

/// Reads one next hop of a multipath route. Returns `None` if its device is down.
fn path(hop: &RouteNextHop, devices: &Devices) -> Option<Hop> {
    if hop.flags.contains(RouteNextHopFlags::Dead) {
        return None;
    }
    let mut single = Single { device: hop.interface_index, ..Single::default() };
    hop.attributes.iter().for_each(|attribute| single.read(attribute));
    single.hop(devices)
}

/// The attributes of one next hop.
#[derive(Default)]
struct Single {
    device: u32,
    gateway: u128,
    is_encapsulated: bool,
}

impl Single {
    fn read(&mut self, attribute: &RouteAttribute) {
        match attribute {
            RouteAttribute::Oif(index) => self.device = *index,
            RouteAttribute::EncapType(_) => self.is_encapsulated = true,
            RouteAttribute::Gateway(address) => self.gateway = bits(address).unwrap_or(0),
            RouteAttribute::Via(RouteVia::Inet(address)) => {
                self.gateway = address.to_bits().into();
            }
            RouteAttribute::Via(RouteVia::Inet6(address)) => self.gateway = address.to_bits(),
            _ => {}
        }
    }

    /// Returns the next hop, unless its device has been removed.
    fn hop(self, devices: &Devices) -> Option<Hop> {
        let device = devices.get(&self.device)?.clone();
        let Self { device: device_index, gateway, is_encapsulated } = self;
        Some(Hop { device, device_index, gateway, is_encapsulated })
    }
}

fn bits(address: &RouteAddress) -> Option<u128> {
    match address {
        RouteAddress::Inet(address) => Some(address.to_bits().into()),
        RouteAddress::Inet6(address) => Some(address.to_bits()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a route to 10.0.0.0/8 out of device 1.
    fn message(metric: u32, more: &[RouteAttribute]) -> RouteMessage {
        let mut message = RouteMessage::default();
        message.header.address_family = AddressFamily::Inet;
        (message.header.kind, message.header.destination_prefix_length) = (RouteType::Unicast, 8);
        let address = std::net::Ipv4Addr::new(10, 0, 0, 0);
        message.attributes = [
            RouteAttribute::Destination(RouteAddress::Inet(address)),
            RouteAttribute::Table(254),
            RouteAttribute::Priority(metric),
            RouteAttribute::Oif(1),
        ]
        .into_iter()
        .chain(more.iter().cloned())
        .collect();
        message
    }

    /// The route that the kernel prefers counts, although its next hop must not be used.
    #[test]
    fn a_next_hop_that_encapsulates_says_so() {
        let devices = Devices::from([(1, "eth0".into())]);
        let mpls = RouteAttribute::EncapType(netlink_packet_route::route::RouteLwEnCapType::Mpls);
        let object = RouteAttribute::NhId(7);
        let leads = Leads::Out { device: 1, gateway: None, is_encapsulated: true, is_dead: false };
        let objects = Objects::from([(7, leads)]);
        for more in [mpls, object] {
            let messages = [message(20, &[]), message(10, &[more])];
            let routes = best_routes(&messages, 254, &devices, &objects);
            let found: Vec<_> = routes.iter().map(|route| (route.metric, &route.hops)).collect();
            let [(10, hops)] = found[..] else { panic!("one route of metric 10") };
            assert_eq!(hops.iter().map(|hop| hop.is_encapsulated).collect::<Vec<_>>(), [true]);
        }
    }
}
