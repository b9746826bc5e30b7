//! The running kernel's routing tables, by netlink (rtnetlink(7)), of this thread's network
//! namespace.
//!
//! Of several routes of a table to one prefix, the one with the lowest metric is used. Routes for
//! one type of service or for some sources only are omitted: a prefix does not describe them.

use std::collections::HashMap;
use std::io;
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
use super::import::{Hop, Route, Visit};
use super::prefix::{Family, Prefix};
use crate::netlink::dump;

/// The names of devices, by index.
type Devices = HashMap<u32, Arc<str>>;

/// Streams the routes of a table: IPv4 first, ordered by prefix.
pub(super) fn read(table: u32, visit: &mut Visit<'_>) -> Result<(), TableError> {
    let path = Path::new("the kernel's routes");
    let failed = |error: io::Error| TableError::io(path, Position::Whole, &error);
    let devices = devices().map_err(failed)?;
    for route in best_routes(&routes().map_err(failed)?, table, &devices) {
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

/// The routes of all tables, both families.
fn routes() -> io::Result<Vec<RouteMessage>> {
    let mut routes = Vec::new();
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        let mut request = RouteMessage::default();
        request.header.address_family = family;
        let got = match dump(&RouteNetlinkMessage::GetRoute(request)) {
            // A kernel without IPv6 does not know its routes.
            Err(error) if error.raw_os_error() == Some(EOPNOTSUPP) => continue,
            got => got?,
        };
        routes.extend(got.into_iter().filter_map(|message| match message {
            // A kernel that does not know the family gives the routes of all.
            RouteNetlinkMessage::NewRoute(route) if route.header.address_family == family => {
                Some(route)
            }
            _ => None,
        }));
    }
    Ok(routes)
}

const EOPNOTSUPP: i32 = 95;

/// The selected routes of a table, ordered by prefix.
fn best_routes(messages: &[RouteMessage], table: u32, devices: &Devices) -> Vec<Route> {
    let mut best: HashMap<Prefix, Route> = HashMap::new();
    for message in messages {
        let Some((in_table, route)) = route(message, devices) else { continue };
        let prefix = route.prefix.expect("a parsed route has a prefix");
        if in_table == table && best.get(&prefix).is_none_or(|known| route.metric < known.metric) {
            best.insert(prefix, route);
        }
    }
    let mut routes: Vec<_> = best.into_values().collect();
    routes.sort_by_key(|route| route.prefix);
    routes
}

/// A route and its table; `None` if it is omitted.
fn route(message: &RouteMessage, devices: &Devices) -> Option<(u32, Route)> {
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
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(address) => destination = bits(address)?,
            RouteAttribute::Table(number) => table = *number,
            RouteAttribute::Priority(metric) => route.metric = *metric,
            RouteAttribute::MultiPath(several) => hops.extend(several),
            attribute => single.read(attribute),
        }
    }
    route.prefix =
        Some(Prefix::new(family, destination, u32::from(header.destination_prefix_length))?);
    let refuses = matches!(
        header.kind,
        RouteType::BlackHole | RouteType::Unreachable | RouteType::Prohibit | RouteType::Throw
    );
    if refuses {
        // The kernel names the loopback device for such routes of IPv6.
        return Some((table, route));
    }
    let is_dead = header.flags.contains(RouteFlags::Dead);
    route.hops = match hops.is_empty() {
        true if is_dead => Vec::new(),
        true => single.hop(devices).into_iter().collect(),
        false => hops.into_iter().filter_map(|hop| path(hop, devices)).collect(),
    };
    // The kernel passes over a route all of whose devices are down.
    (!route.hops.is_empty()).then_some((table, route))
}

/// One next hop of a route with several; `None` if its device is down.
fn path(hop: &RouteNextHop, devices: &Devices) -> Option<Hop> {
    if hop.flags.contains(RouteNextHopFlags::Dead) {
        return None;
    }
    let mut single = Single { device: hop.interface_index, ..Single::default() };
    hop.attributes.iter().for_each(|attribute| single.read(attribute));
    single.hop(devices)
}

/// The attributes of a next hop.
#[derive(Default)]
struct Single {
    device: u32,
    gateway: u128,
}

impl Single {
    fn read(&mut self, attribute: &RouteAttribute) {
        match attribute {
            RouteAttribute::Oif(index) => self.device = *index,
            RouteAttribute::Gateway(address) => self.gateway = bits(address).unwrap_or(0),
            RouteAttribute::Via(RouteVia::Inet(address)) => {
                self.gateway = address.to_bits().into();
            }
            RouteAttribute::Via(RouteVia::Inet6(address)) => self.gateway = address.to_bits(),
            _ => {}
        }
    }

    /// The next hop, unless its device has been removed.
    fn hop(self, devices: &Devices) -> Option<Hop> {
        let device = devices.get(&self.device)?.clone();
        Some(Hop { device, device_index: self.device, gateway: self.gateway })
    }
}

fn bits(address: &RouteAddress) -> Option<u128> {
    match address {
        RouteAddress::Inet(address) => Some(address.to_bits().into()),
        RouteAddress::Inet6(address) => Some(address.to_bits()),
        _ => None,
    }
}
