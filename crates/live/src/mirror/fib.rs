//! The kernel's routes: per table and prefix all of them, in the order in which the kernel tries
//! them, so that the next best is known when one goes.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use netlink_packet_route::AddressFamily;
use netlink_packet_route::route::{
    RouteAddress, RouteAttribute, RouteFlags, RouteMessage, RouteNextHop, RouteNextHopFlags,
    RouteType, RouteVia,
};
use wireloom_net::tables::{Family, Prefix};

/// An IP address; the bits are right-aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    pub family: Family,
    pub bits: u128,
}

/// Where a route leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hop {
    /// Index of the interface.
    pub device: u32,
    /// The neighbour; `None`: the destination itself, which is on the link.
    pub gateway: Option<Address>,
    /// Share of the flows, from 1.
    pub weight: u32,
    /// The kernel does not use it: its interface is down.
    pub is_dead: bool,
}

/// A route without its prefix. Many prefixes share one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// `RTN_...` of linux/rtnetlink.h.
    pub kind: u8,
    /// Empty for routes that lead nowhere.
    pub hops: Vec<Hop>,
}

/// Types of routes (linux/rtnetlink.h).
pub mod kind {
    pub const UNICAST: u8 = 1;
    pub const LOCAL: u8 = 2;
    pub const BROADCAST: u8 = 3;
    pub const ANYCAST: u8 = 4;
    pub const BLACKHOLE: u8 = 6;
    pub const UNREACHABLE: u8 = 7;
    pub const PROHIBIT: u8 = 8;
}

/// What a message says.
#[derive(Clone, Debug)]
pub struct Said {
    /// The kernel's table.
    pub table: u32,
    pub prefix: Prefix,
    /// The lowest is used.
    pub metric: u32,
    pub route: Route,
}

/// How a new route joins those with the same prefix and metric (`NLM_F_...` of linux/netlink.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joins {
    Before,
    After,
    InPlace,
}

#[derive(Clone, Debug)]
struct Candidate {
    metric: u32,
    route: Arc<Route>,
}

/// The routes to a prefix, the one that the kernel tries first in front. Nearly always one.
#[derive(Debug)]
struct Candidates {
    first: Candidate,
    others: Vec<Candidate>,
}

impl Candidates {
    fn usable(&self) -> Option<&Route> {
        let all = std::iter::once(&self.first).chain(&self.others);
        all.map(|candidate| &*candidate.route).find(|route| route.is_usable())
    }
}

impl Route {
    /// Whether the destination is on the link of this interface.
    pub fn link(&self) -> Option<u32> {
        match self.hops[..] {
            [Hop { device, gateway: None, .. }] if self.kind == kind::UNICAST => Some(device),
            _ => None,
        }
    }

    /// The kernel passes over a route all of whose interfaces are down.
    fn is_usable(&self) -> bool {
        self.hops.is_empty() || self.hops.iter().any(|hop| !hop.is_dead)
    }

    fn leads_as(&self, other: &Self) -> bool {
        self.kind == other.kind && self.hops.len() == other.hops.len() && self.leads_within(other)
    }

    /// Whether each of the next hops is one of `other`, weights and states aside.
    fn leads_within(&self, other: &Self) -> bool {
        self.hops.iter().all(|hop| other.hops.iter().any(|known| known.is_at(hop)))
    }
}

impl Hop {
    fn is_at(&self, other: &Self) -> bool {
        (self.device, self.gateway) == (other.device, other.gateway)
    }
}

/// The routes of one table of the kernel.
#[derive(Debug)]
struct Table {
    number: u32,
    routes: BTreeMap<Prefix, Candidates>,
    /// Prefixes by family and length.
    lengths: [[u32; 129]; 2],
}

impl Table {
    fn exact(&self, prefix: Prefix) -> Option<&Route> {
        self.routes.get(&prefix)?.usable()
    }

    /// The best route of an address among prefixes of at most this length.
    fn longest(&self, address: Address, most: u32) -> Option<(Prefix, &Route)> {
        let lengths = &self.lengths[address.family as usize];
        (0..=most).rev().filter(|length| lengths[*length as usize] > 0).find_map(|length| {
            let prefix = Prefix::new(address.family, address.bits, length)?;
            Some((prefix, self.exact(prefix)?))
        })
    }

    /// Changes the candidates of a prefix.
    fn change(&mut self, prefix: Prefix, change: impl FnOnce(&mut Vec<Candidate>)) {
        let before = self.routes.remove(&prefix);
        let existed = before.is_some();
        let mut all: Vec<Candidate> = match before {
            Some(Candidates { first, others }) => std::iter::once(first).chain(others).collect(),
            None => Vec::new(),
        };
        change(&mut all);
        let count = &mut self.lengths[prefix.family() as usize][prefix.length() as usize];
        *count = *count + u32::from(!all.is_empty()) - u32::from(existed);
        let mut all = all.into_iter();
        if let Some(first) = all.next() {
            self.routes.insert(prefix, Candidates { first, others: all.collect() });
        }
    }
}

/// The tables of the kernel that are followed.
#[derive(Debug)]
pub struct Fib {
    /// The kernel looks in these, one after the other, until one has a route.
    tables: Vec<Table>,
    /// Routes that prefixes share.
    known: HashSet<Arc<Route>>,
    /// The size of `known` at which those that are not used any more are forgotten.
    sweep_at: usize,
}

impl Fib {
    /// Empty tables of these numbers, in the order in which the kernel looks in them.
    pub fn new(numbers: &[u32]) -> Self {
        let table = |&number| Table { number, routes: BTreeMap::new(), lengths: [[0; 129]; 2] };
        Self { tables: numbers.iter().map(table).collect(), known: HashSet::new(), sweep_at: 1024 }
    }

    /// The number of prefixes in all tables.
    pub fn len(&self) -> usize {
        self.tables.iter().map(|table| table.routes.len()).sum()
    }

    /// The numbers of the kernel's tables.
    pub fn numbers(&self) -> Vec<u32> {
        self.tables.iter().map(|table| table.number).collect()
    }

    /// Every prefix, of all tables, possibly several times.
    pub fn prefixes(&self) -> impl Iterator<Item = Prefix> {
        self.tables.iter().flat_map(|table| table.routes.keys().copied())
    }

    /// Adds a route as a dump returns it: the first of a prefix and metric is tried first.
    pub fn add(&mut self, said: Said) {
        self.insert(said, Joins::After);
    }

    /// Enters a route of which the kernel notifies. Returns the prefixes whose route may be another
    /// now.
    ///
    /// A notification may be older than what a dump has already shown. Therefore nothing is added
    /// twice, and what is not there is not missed.
    pub fn insert(&mut self, said: Said, joins: Joins) -> Vec<Prefix> {
        let Said { table: number, prefix, metric, route } = said;
        let Some(index) = self.tables.iter().position(|table| table.number == number) else {
            return Vec::new();
        };
        let route = self.share(route);
        self.tables[index].change(prefix, |all| {
            // A notification of IPv6 lists all next hops of a route, the old ones too.
            let is_same = |known: &Candidate| match prefix.family() {
                Family::V4 => known.route.leads_as(&route),
                Family::V6 => {
                    known.route.kind == route.kind
                        && (known.route.leads_within(&route) || route.leads_within(&known.route))
                }
            };
            let mut place = None;
            let mut at = 0;
            all.retain(|known| {
                let goes = known.metric == metric && is_same(known);
                if goes && place.is_none() {
                    place = Some(at);
                }
                at += usize::from(!goes);
                !goes
            });
            let first = all.iter().position(|known| known.metric >= metric).unwrap_or(all.len());
            let end = all.iter().position(|known| known.metric > metric).unwrap_or(all.len());
            let candidate = Candidate { metric, route };
            let is_v4 = prefix.family() == Family::V4;
            match (joins, place) {
                // IPv4 replaces the first of its metric.
                (Joins::InPlace, Some(place)) if is_v4 && first < place => all[first] = candidate,
                (Joins::InPlace, None) if first < end => all[first] = candidate,
                // One that was there already keeps its place among its equals.
                (_, Some(place)) => all.insert(place.clamp(first, end), candidate),
                (Joins::After, None) => all.insert(end, candidate),
                (Joins::Before | Joins::InPlace, None) => all.insert(first, candidate),
            }
        });
        self.affected(index, prefix)
    }

    /// Removes a route of which the kernel notifies. Returns as [`insert`](Self::insert).
    pub fn remove(&mut self, said: &Said) -> Vec<Prefix> {
        let Said { table: number, prefix, metric, route } = said;
        let Some(index) = self.tables.iter().position(|table| table.number == *number) else {
            return Vec::new();
        };
        let mut rest = None;
        self.tables[index].change(*prefix, |all| {
            if let Some(at) =
                all.iter().position(|known| known.metric == *metric && known.route.leads_as(route))
            {
                all.remove(at);
                return;
            }
            // IPv6 removes single next hops of a route.
            let holds = |known: &Candidate| {
                known.metric == *metric
                    && known.route.kind == route.kind
                    && !route.hops.is_empty()
                    && route.leads_within(&known.route)
            };
            if prefix.family() == Family::V6
                && let Some(at) = all.iter().position(holds)
            {
                let mut less = Route::clone(&all[at].route);
                less.hops.retain(|hop| !route.hops.iter().any(|gone| gone.is_at(hop)));
                all[at].route = Arc::new(less);
                rest = Some(at);
            }
        });
        self.affected(index, *prefix)
    }

    /// The route that the kernel uses for exactly this prefix; `None` if it has none, or another
    /// table's comes first.
    pub fn route(&self, prefix: Prefix) -> Option<&Route> {
        let address = Address { family: prefix.family(), bits: prefix.bits() };
        for (index, table) in self.tables.iter().enumerate() {
            let found = table.exact(prefix);
            if found.is_some() || index + 1 == self.tables.len() {
                return found;
            }
            let shorter = prefix.length().checked_sub(1);
            if shorter.is_some_and(|most| table.longest(address, most).is_some()) {
                return None;
            }
        }
        None
    }

    /// The route that the kernel uses for an address, with its prefix.
    pub fn longest(&self, address: Address) -> Option<(Prefix, &Route)> {
        let width = address.family.width();
        self.tables.iter().find_map(|table| table.longest(address, width))
    }

    /// A change in a table that comes before others covers or uncovers prefixes of those.
    fn affected(&self, index: usize, prefix: Prefix) -> Vec<Prefix> {
        let mut affected = vec![prefix];
        for table in &self.tables[index + 1..] {
            affected.extend(table.routes.range(prefix..=last_inside(prefix)).map(|(key, _)| *key));
        }
        affected
    }

    fn share(&mut self, route: Route) -> Arc<Route> {
        if let Some(known) = self.known.get(&route) {
            return Arc::clone(known);
        }
        if self.known.len() >= self.sweep_at {
            self.known.retain(|route| Arc::strong_count(route) > 1);
            self.sweep_at = 1024.max(2 * self.known.len());
        }
        let route = Arc::new(route);
        self.known.insert(Arc::clone(&route));
        route
    }
}

/// The last prefix in order that lies inside a prefix.
pub fn last_inside(prefix: Prefix) -> Prefix {
    let width = prefix.family().width();
    Prefix::new(prefix.family(), prefix.address(u128::MAX), width).unwrap_or(prefix)
}

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
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(address) => destination = self::address(address)?.bits,
            RouteAttribute::Table(number) => table = *number,
            RouteAttribute::Priority(number) => metric = *number,
            RouteAttribute::MultiPath(several) => hops.extend(several.iter().map(path)),
            attribute => hop.read(attribute),
        }
    }
    let prefix = Prefix::new(family, destination, u32::from(header.destination_prefix_length))?;
    let kind = header.kind.into();
    // The kernel names the loopback device for routes of IPv6 that lead nowhere.
    match kind {
        kind::UNICAST if hops.is_empty() => hops.push(hop),
        kind::UNICAST => {}
        _ => hops.clear(),
    }
    Some(Said { table, prefix, metric, route: Route { kind, hops } })
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

    const LOCAL: u32 = 255;
    const MAIN: u32 = 254;

    fn gateway(last: u8) -> Hop {
        let bits = u128::from(0x0a00_0000 + u32::from(last));
        let gateway = Some(Address { family: Family::V4, bits });
        Hop { device: 7, gateway, weight: 1, is_dead: false }
    }

    fn via(prefix: &str, metric: u32, hops: &[Hop]) -> Said {
        let prefix = prefix.parse().expect("a prefix");
        let route = Route { kind: kind::UNICAST, hops: hops.to_vec() };
        Said { table: MAIN, prefix, metric, route }
    }

    fn hops(fib: &Fib, prefix: &str) -> Vec<Hop> {
        let route = fib.route(prefix.parse().expect("a prefix"));
        route.map(|route| route.hops.clone()).unwrap_or_default()
    }

    const NET: &str = "192.0.2.0/24";

    #[test]
    fn the_lowest_metric_is_used_and_the_next_one_when_it_goes() {
        let mut fib = Fib::new(&[LOCAL, MAIN]);
        fib.insert(via(NET, 20, &[gateway(2)]), Joins::Before);
        fib.insert(via(NET, 10, &[gateway(1)]), Joins::Before);
        fib.insert(via(NET, 30, &[gateway(3)]), Joins::Before);
        assert_eq!(hops(&fib, NET), [gateway(1)]);
        fib.remove(&via(NET, 10, &[gateway(1)]));
        assert_eq!(hops(&fib, NET), [gateway(2)]);
        // Its interface goes down.
        let dead = Hop { is_dead: true, ..gateway(2) };
        fib.insert(via(NET, 20, &[dead]), Joins::InPlace);
        assert_eq!(hops(&fib, NET), [gateway(3)]);
        fib.remove(&via(NET, 30, &[gateway(3)]));
        fib.remove(&via(NET, 20, &[gateway(2)]));
        assert_eq!((hops(&fib, NET), fib.len()), (vec![], 0));
    }

    #[test]
    fn equal_metrics_are_tried_in_the_kernels_order() {
        let mut fib = Fib::new(&[MAIN]);
        fib.insert(via(NET, 0, &[gateway(1)]), Joins::Before);
        fib.insert(via(NET, 0, &[gateway(2)]), Joins::After);
        assert_eq!(hops(&fib, NET), [gateway(1)]);
        fib.insert(via(NET, 0, &[gateway(3)]), Joins::Before);
        assert_eq!(hops(&fib, NET), [gateway(3)]);
        fib.insert(via(NET, 0, &[gateway(4)]), Joins::InPlace);
        assert_eq!(hops(&fib, NET), [gateway(4)]);
        fib.remove(&via(NET, 0, &[gateway(4)]));
        assert_eq!(hops(&fib, NET), [gateway(1)]);
    }

    #[test]
    fn notifications_that_are_older_than_a_dump_change_nothing_in_the_end() {
        let mut fib = Fib::new(&[MAIN]);
        fib.add(via(NET, 0, &[gateway(2)]));
        // What happened before the dump, in order.
        fib.insert(via(NET, 0, &[gateway(1)]), Joins::Before);
        assert_eq!(hops(&fib, NET), [gateway(1)]);
        fib.insert(via(NET, 0, &[gateway(2)]), Joins::InPlace);
        assert_eq!(hops(&fib, NET), [gateway(2)]);
        fib.remove(&via(NET, 0, &[gateway(2)]));
        assert_eq!(fib.len(), 0);
    }

    #[test]
    fn next_hops_of_ipv6_join_and_leave_one_by_one() {
        let hop = |last: u8| Hop {
            gateway: Some(Address { family: Family::V6, bits: 0xfe80 << 112 | u128::from(last) }),
            ..gateway(0)
        };
        let net = "2001:db8::/32";
        let mut fib = Fib::new(&[MAIN]);
        fib.insert(via(net, 1024, &[hop(1)]), Joins::Before);
        fib.insert(via(net, 1024, &[hop(1), hop(2), hop(3)]), Joins::After);
        assert_eq!(hops(&fib, net), [hop(1), hop(2), hop(3)]);
        fib.remove(&via(net, 1024, &[hop(2)]));
        assert_eq!(hops(&fib, net), [hop(1), hop(3)]);
        // Two links have the same network.
        let on_link = |device| Hop { device, gateway: None, ..gateway(0) };
        fib.insert(via("fe80::/64", 256, &[on_link(7)]), Joins::Before);
        fib.insert(via("fe80::/64", 256, &[on_link(8)]), Joins::After);
        fib.remove(&via("fe80::/64", 256, &[on_link(7)]));
        assert_eq!(hops(&fib, "fe80::/64"), [on_link(8)]);
        fib.remove(&via(net, 1024, &[hop(1), hop(3)]));
        assert_eq!(fib.len(), 1);
    }

    #[test]
    fn an_earlier_table_covers_what_lies_inside_its_prefixes() {
        let mut fib = Fib::new(&[100, MAIN]);
        fib.insert(via("10.1.0.0/16", 0, &[gateway(1)]), Joins::Before);
        fib.insert(via("10.2.0.0/16", 0, &[gateway(1)]), Joins::Before);
        let policy = Said { table: 100, ..via("10.1.0.0/17", 0, &[gateway(9)]) };
        assert_eq!(fib.insert(policy, Joins::Before).len(), 1);
        assert_eq!(hops(&fib, "10.1.0.0/16"), [gateway(1)]);
        let wide = Said { table: 100, ..via("10.0.0.0/15", 0, &[gateway(8)]) };
        let affected = fib.insert(wide.clone(), Joins::Before);
        let shown: Vec<_> = affected.iter().map(Prefix::to_string).collect();
        assert_eq!(shown, ["10.0.0.0/15", "10.1.0.0/16"]);
        assert_eq!(hops(&fib, "10.1.0.0/16"), [], "covered");
        assert_eq!(hops(&fib, "10.2.0.0/16"), [gateway(1)]);
        let address = Address { family: Family::V4, bits: 0x0a01_ff01 };
        let longest = fib.longest(address).map(|(prefix, _)| prefix.to_string());
        assert_eq!(longest.as_deref(), Some("10.0.0.0/15"));
        fib.remove(&wide);
        assert_eq!(hops(&fib, "10.1.0.0/16"), [gateway(1)]);
        // A table that is not followed.
        let other = Said { table: 7, ..via("10.9.0.0/16", 0, &[gateway(1)]) };
        assert!(fib.insert(other, Joins::Before).is_empty());
    }
}
