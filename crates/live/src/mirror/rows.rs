//! The contents of a router's tables that correspond to the kernel's routes, neighbours and links.
//!
//! A route names the number of its next hop whether or not the neighbour is resolved. Thus a
//! neighbour that appears, goes or moves changes one row of `next_hops`, however many routes lead
//! there.

use std::collections::{BTreeMap, BTreeSet};

use wireloom_net::tables::Prefix;

use super::fib::{Address, Fib, Hop, kind, last_inside};
use super::hops::{BUCKETS, Member, Numbers, spread};
use super::netlink::{Links, Neighbour, Neighbours};

/// The kernel's state as far as it is known.
pub struct State {
    pub links: Links,
    pub neighbours: Neighbours,
    pub fib: Fib,
}

/// What of the state may have changed.
#[derive(Debug, Default)]
pub struct Dirty {
    pub prefixes: BTreeSet<Prefix>,
    pub neighbours: BTreeSet<Neighbour>,
    pub devices: BTreeSet<u32>,
    /// Everything.
    pub all: bool,
}

impl Dirty {
    pub fn is_empty(&self) -> bool {
        self.prefixes.is_empty()
            && self.neighbours.is_empty()
            && self.devices.is_empty()
            && !self.all
    }
}

/// `Route_kind` of programs/include/forwarding.loom.
mod meaning {
    pub const FORWARD: u8 = 1;
    pub const OWN: u8 = 2;
    pub const DIRECTED_BROADCAST: u8 = 3;
    pub const CONNECTED: u8 = 4;
    pub const REJECT: u8 = 5;
    pub const DISCARD: u8 = 6;
}

/// The next hop of a route to group 0 (`FIRST_GROUP` of programs/include/forwarding.loom).
const FIRST_GROUP: u32 = 64_512;

/// A row of the tables of routes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RouteRow {
    pub kind: u8,
    /// Next hop, or a group's number and [`FIRST_GROUP`].
    pub next_hop: u32,
}

/// A row of `next_hops`. All zero: the machine hands the packets to the kernel, which resolves the
/// neighbour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopRow {
    pub port: u16,
    pub dst: [u8; 6],
    pub src: [u8; 6],
    pub mtu: u32,
}

/// A changed row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Port(usize, [u8; 6]),
    NextHop(u32, HopRow),
    /// Index and next hop.
    Bucket(u32, u32),
    /// A new route, and whether there was none of its kind before: otherwise the tables of sources,
    /// which hold the kind only, have it already.
    Route(Prefix, RouteRow, bool),
    /// A route that is gone.
    RouteGone(Prefix),
}

/// The rows that the tables hold.
pub struct Rows {
    /// The interface of each port, if it is one.
    ports: Vec<Option<u32>>,
    macs: Vec<Option<[u8; 6]>>,
    routes: BTreeMap<Prefix, RouteRow>,
    /// Number 0 is a next hop that is never resolved: the kernel sends these packets by an
    /// interface that is no port.
    hops: Numbers<Neighbour>,
    hop_rows: Vec<HopRow>,
    groups: Numbers<Vec<Member>>,
    /// The least next hop of a route that leads to a group.
    first_group: u32,
    group_rows: Vec<[u32; BUCKETS]>,
    /// Per group, the number of each member, in its order.
    group_hops: Vec<Vec<u32>>,
    /// Without users since the last update: their rows are in use until it is applied.
    released: Released,
}

#[derive(Default)]
struct Released {
    hops: Vec<u32>,
    groups: Vec<u32>,
}

/// Numbers that were given out during an update.
#[derive(Default)]
struct New {
    hops: BTreeSet<u32>,
    groups: BTreeSet<u32>,
}

impl Rows {
    /// Empty tables for ports with these interfaces, for so many next hops and groups.
    pub fn new(ports: Vec<Option<u32>>, hops: u32, groups: u32) -> Self {
        let first_group = if groups > 0 { FIRST_GROUP } else { u32::MAX };
        Self {
            macs: vec![None; ports.len()],
            ports,
            routes: BTreeMap::new(),
            hops: Numbers::new(1, hops.min(first_group)),
            hop_rows: vec![HopRow::default(); 1],
            groups: Numbers::new(0, groups),
            first_group,
            group_rows: Vec::new(),
            group_hops: Vec::new(),
            released: Released::default(),
        }
    }

    /// The neighbours that routes lead to.
    pub fn neighbours(&self) -> impl Iterator<Item = &Neighbour> {
        self.hops.iter().map(|(neighbour, _)| neighbour)
    }

    /// Returns what brings the tables to this state, in an order in which no route names a next hop
    /// that is not yet there, and the prefixes whose routes change.
    pub fn update(&mut self, state: &State, dirty: &Dirty) -> Vec<Change> {
        for number in self.released.hops.drain(..) {
            self.hops.reuse(number);
        }
        for number in self.released.groups.drain(..) {
            self.groups.reuse(number);
        }
        let mut touched = dirty.prefixes.clone();
        if dirty.all {
            touched.extend(self.routes.keys());
            touched.extend(state.fib.prefixes());
            touched.extend(state.neighbours.keys().map(|neighbour| host(neighbour.0)));
        } else {
            for &prefix in &dirty.prefixes {
                touched.extend(hosts_inside(&state.neighbours, prefix));
            }
            touched.extend(dirty.neighbours.iter().map(|neighbour| host(neighbour.0)));
        }
        let mut given = New::default();
        let mut routes = Vec::new();
        for prefix in touched {
            let old = self.routes.get(&prefix).copied();
            let new = self.row(state, prefix, &mut given);
            if let Some(old) = old {
                self.release(old);
            }
            match new {
                Some(new) if old != Some(new) => {
                    self.routes.insert(prefix, new);
                    let is_new_kind = old.is_none_or(|old| old.kind != new.kind);
                    routes.push(Change::Route(prefix, new, is_new_kind));
                }
                None if old.is_some() => {
                    self.routes.remove(&prefix);
                    routes.push(Change::RouteGone(prefix));
                }
                _ => {}
            }
        }
        let mut changes = Vec::new();
        self.update_ports(state, &mut changes);
        self.update_hops(state, dirty, given.hops, &mut changes);
        for number in given.groups {
            self.update_group(number, &mut changes);
        }
        changes.extend(routes);
        changes
    }

    fn update_ports(&mut self, state: &State, changes: &mut Vec<Change>) {
        for (number, (index, mac)) in self.ports.iter().zip(&mut self.macs).enumerate() {
            let new = index.and_then(|index| state.links.get(&index)).map(|link| link.mac);
            if let Some(new_mac) = new
                && *mac != new
            {
                *mac = new;
                changes.push(Change::Port(number, new_mac));
            }
        }
    }

    fn update_hops(
        &mut self,
        state: &State,
        dirty: &Dirty,
        mut numbers: BTreeSet<u32>,
        changes: &mut Vec<Change>,
    ) {
        numbers.extend(dirty.neighbours.iter().filter_map(|key| self.hops.find(key)));
        if dirty.all || !dirty.devices.is_empty() {
            let concerned =
                |neighbour: &Neighbour| dirty.all || dirty.devices.contains(&neighbour.1);
            numbers.extend(
                self.hops.iter().filter(|(key, _)| concerned(key)).map(|(_, number)| number),
            );
        }
        for number in numbers {
            let Some(&neighbour) = self.hops.key(number) else { continue };
            let row = self.hop_row(state, neighbour);
            let known = &mut self.hop_rows[number as usize];
            if *known != row {
                *known = row;
                changes.push(Change::NextHop(number, row));
            }
        }
    }

    fn hop_row(&self, state: &State, neighbour: Neighbour) -> HopRow {
        let (Some(link), Some(reach), Some(port)) = (
            state.links.get(&neighbour.1).filter(|link| link.up.0),
            state.neighbours.get(&neighbour),
            self.port(neighbour.1),
        ) else {
            return HopRow::default();
        };
        // Labels count towards the MTU, which has 16 bits in the table.
        HopRow { port, dst: reach.mac, src: link.mac, mtu: link.mtu.min(65_535) }
    }

    fn update_group(&mut self, number: u32, changes: &mut Vec<Change>) {
        let Some(members) = self.groups.key(number) else { return };
        let hops = &self.group_hops[number as usize];
        let rows = &mut self.group_rows[number as usize];
        for ((bucket, owner), row) in spread(members).into_iter().enumerate().zip(rows) {
            if *row != hops[owner] {
                *row = hops[owner];
                changes.push(Change::Bucket(number * BUCKETS as u32 + bucket as u32, *row));
            }
        }
    }

    /// The row that a prefix has to have. Its next hop or group has one more user then.
    fn row(&mut self, state: &State, prefix: Prefix, new: &mut New) -> Option<RouteRow> {
        let route = state.fib.route(prefix);
        let is_on_link = route.is_none_or(|route| route.link().is_some());
        if prefix.length() == prefix.family().width()
            && is_on_link
            && let Some(neighbour) = self.resolved(state, prefix)
        {
            // The destination is its own next hop.
            return Some(RouteRow { kind: meaning::FORWARD, next_hop: self.hop(neighbour, new) });
        }
        let route = route?;
        let kind = match route.kind {
            kind::UNICAST if route.link().is_some() => meaning::CONNECTED,
            kind::UNICAST => return Some(self.lead(&route.hops, new)),
            kind::LOCAL | kind::ANYCAST => meaning::OWN,
            kind::BROADCAST => meaning::DIRECTED_BROADCAST,
            kind::BLACKHOLE => meaning::DISCARD,
            kind::UNREACHABLE | kind::PROHIBIT => meaning::REJECT,
            _ => return None,
        };
        Some(RouteRow { kind, next_hop: 0 })
    }

    /// The neighbour at an address on the link of a port, if it can be sent to.
    fn resolved(&self, state: &State, host: Prefix) -> Option<Neighbour> {
        let address = Address { family: host.family(), bits: host.bits() };
        let (prefix, route) = state.fib.longest(address)?;
        let neighbour = (address, route.link()?);
        let is_there = prefix.length() > 0
            && self.port(neighbour.1).is_some()
            && state.neighbours.contains_key(&neighbour);
        is_there.then_some(neighbour)
    }

    /// The row of a route through gateways.
    fn lead(&mut self, hops: &[Hop], new: &mut New) -> RouteRow {
        let member = |hop: &Hop| {
            let neighbour = hop.gateway.map(|gateway| (gateway, hop.device));
            (neighbour.filter(|neighbour| self.port(neighbour.1).is_some()), hop.weight)
        };
        let mut members: Vec<Member> = hops.iter().filter(|hop| !hop.is_dead).map(member).collect();
        let first = members.iter().find_map(|member| member.0);
        members.sort_unstable();
        members.dedup();
        if members.len() > 1
            && first.is_some()
            && let Some((number, is_new)) = self.groups.acquire(&members)
        {
            if is_new {
                let hops = members.iter().map(|member| match member.0 {
                    Some(neighbour) => self.hop(neighbour, new),
                    None => 0,
                });
                let hops = hops.collect();
                let size = self.group_rows.len().max(number as usize + 1);
                self.group_rows.resize(size, [0; BUCKETS]);
                self.group_hops.resize(size, Vec::new());
                self.group_hops[number as usize] = hops;
                new.groups.insert(number);
            }
            return RouteRow { kind: meaning::FORWARD, next_hop: FIRST_GROUP + number };
        }
        let next_hop = first.map_or(0, |neighbour| self.hop(neighbour, new));
        RouteRow { kind: meaning::FORWARD, next_hop }
    }

    /// The number of a neighbour, which has one more user then; 0 if there are no more numbers.
    fn hop(&mut self, neighbour: Neighbour, new: &mut New) -> u32 {
        let Some((number, is_new)) = self.hops.acquire(&neighbour) else { return 0 };
        if is_new {
            let size = self.hop_rows.len().max(number as usize + 1);
            self.hop_rows.resize(size, HopRow::default());
            new.hops.insert(number);
        }
        number
    }

    fn release(&mut self, row: RouteRow) {
        if row.kind != meaning::FORWARD {
            return;
        }
        let Some(group) = row.next_hop.checked_sub(self.first_group) else {
            return self.release_hop(row.next_hop);
        };
        if self.groups.release(group).is_some() {
            for hop in std::mem::take(&mut self.group_hops[group as usize]) {
                self.release_hop(hop);
            }
            self.released.groups.push(group);
        }
    }

    fn release_hop(&mut self, number: u32) {
        if self.hops.release(number).is_some() {
            self.released.hops.push(number);
        }
    }

    fn port(&self, device: u32) -> Option<u16> {
        self.ports.iter().position(|index| *index == Some(device)).map(|port| port as u16)
    }
}

/// The prefix of an address alone.
fn host(address: Address) -> Prefix {
    Prefix::new(address.family, address.bits, address.family.width())
        .expect("an address is as long as its family's")
}

/// The neighbours' addresses inside a prefix.
fn hosts_inside(neighbours: &Neighbours, prefix: Prefix) -> impl Iterator<Item = Prefix> {
    let address = |prefix: Prefix| Address { family: prefix.family(), bits: prefix.bits() };
    let range = (address(prefix), 0)..=(address(last_inside(prefix)), u32::MAX);
    neighbours.range(range).map(|(neighbour, _)| host(neighbour.0))
}

#[cfg(test)]
mod tests {
    use wireloom_net::tables::Family;

    use super::*;
    use crate::mirror::fib::{Joins, Route, Said};
    use crate::mirror::netlink::{Link, Reach};

    fn gateway(last: u8) -> Address {
        Address { family: Family::V4, bits: 0x0a00_0000 + u128::from(last) }
    }

    fn said(prefix: &str, kind: u8, hops: &[(u32, Option<Address>)]) -> Said {
        let hop = |&(device, gateway)| Hop { device, gateway, weight: 1, is_dead: false };
        let route = Route { kind, hops: hops.iter().map(hop).collect(), object: 0 };
        Said { table: 254, prefix: prefix.parse().expect("a prefix"), metric: 0, route }
    }

    fn state() -> State {
        let link = |byte| Link { mac: [2, 0, 0, 0, 0, byte], mtu: 1500, up: (true, true) };
        let reach = Reach { mac: [2, 0, 0, 0, 1, 1], is_permanent: false };
        let mut fib = Fib::new(&[254]);
        for said in [
            said("10.0.0.0/24", kind::UNICAST, &[(7, None)]),
            said("10.0.0.1/32", kind::LOCAL, &[]),
            said("192.0.2.0/24", kind::UNICAST, &[(7, Some(gateway(2)))]),
            said("198.51.100.0/24", kind::UNICAST, &[(5, Some(gateway(2)))]),
            said("203.0.113.0/24", kind::BLACKHOLE, &[]),
        ] {
            fib.add(said);
        }
        State {
            links: Links::from([(7, link(1)), (9, link(2))]),
            neighbours: Neighbours::from([((gateway(2), 7), reach)]),
            fib,
        }
    }

    fn everything() -> Dirty {
        Dirty { all: true, ..Dirty::default() }
    }

    fn route(changes: &[Change], prefix: &str) -> Option<(u8, u32)> {
        changes.iter().find_map(|change| match change {
            Change::Route(at, row, _) if at.to_string() == prefix => Some((row.kind, row.next_hop)),
            _ => None,
        })
    }

    #[test]
    fn routes_lead_to_neighbours_of_ports() {
        let mut rows = Rows::new(vec![Some(7), Some(9)], 100, 0);
        let mut state = state();
        let changes = rows.update(&state, &everything());
        assert!(changes.contains(&Change::Port(1, [2, 0, 0, 0, 0, 2])));
        let resolved =
            HopRow { port: 0, dst: [2, 0, 0, 0, 1, 1], src: [2, 0, 0, 0, 0, 1], mtu: 1500 };
        assert!(changes.contains(&Change::NextHop(1, resolved)));
        for (prefix, expected) in [
            ("192.0.2.0/24", (meaning::FORWARD, 1)),
            ("10.0.0.2/32", (meaning::FORWARD, 1)),
            ("10.0.0.0/24", (meaning::CONNECTED, 0)),
            ("10.0.0.1/32", (meaning::OWN, 0)),
            // By an interface that is no port: the kernel's part.
            ("198.51.100.0/24", (meaning::FORWARD, 0)),
            ("203.0.113.0/24", (meaning::DISCARD, 0)),
        ] {
            assert_eq!(route(&changes, prefix), Some(expected), "{prefix}");
        }
        assert!(rows.update(&state, &everything()).is_empty());

        // The neighbour goes: its row, and the route of its own, but no other route.
        state.neighbours.clear();
        let gone = Dirty { neighbours: BTreeSet::from([(gateway(2), 7)]), ..Dirty::default() };
        let host = "10.0.0.2/32".parse().expect("a prefix");
        assert_eq!(
            rows.update(&state, &gone),
            [Change::NextHop(1, HopRow::default()), Change::RouteGone(host)]
        );
        assert_eq!(rows.neighbours().collect::<Vec<_>>(), [&(gateway(2), 7)]);
    }

    #[test]
    fn a_link_that_is_switched_off_is_the_kernels_to_serve() {
        let mut rows = Rows::new(vec![Some(7), Some(9)], 100, 0);
        let mut state = state();
        rows.update(&state, &everything());
        state.links.get_mut(&7).expect("the link").up = (false, false);
        let off = Dirty { devices: BTreeSet::from([7]), ..Dirty::default() };
        assert_eq!(rows.update(&state, &off), [Change::NextHop(1, HopRow::default())]);
    }

    #[test]
    fn more_next_hops_than_the_table_holds_are_the_kernels() {
        let mut rows = Rows::new(vec![Some(7)], 1, 0);
        let changes = rows.update(&state(), &everything());
        assert_eq!(route(&changes, "192.0.2.0/24"), Some((meaning::FORWARD, 0)));
    }

    #[test]
    fn several_next_hops_are_a_group_whose_buckets_follow_them() {
        let mut rows = Rows::new(vec![Some(7), Some(9)], 100, 4);
        let mut state = state();
        rows.update(&state, &everything());
        let net = "172.16.0.0/12";
        let both = said(net, kind::UNICAST, &[(7, Some(gateway(2))), (9, Some(gateway(3)))]);
        let insert = |state: &mut State, said: Said| Dirty {
            prefixes: state.fib.insert(said, Joins::InPlace).into_iter().collect(),
            ..Dirty::default()
        };
        let dirty = insert(&mut state, both.clone());
        let changes = rows.update(&state, &dirty);
        assert_eq!(route(&changes, net), Some((meaning::FORWARD, FIRST_GROUP)));
        let buckets =
            changes.iter().filter(|change| matches!(change, Change::Bucket(0..256, 1 | 2)));
        assert_eq!(buckets.count(), BUCKETS);
        assert!(matches!(changes.last(), Some(Change::Route(..))), "routes come last");

        // One remains: no group. The group's number is free again.
        let dirty = insert(&mut state, said(net, kind::UNICAST, &[(9, Some(gateway(3)))]));
        let changes = rows.update(&state, &dirty);
        assert_eq!(route(&changes, net), Some((meaning::FORWARD, 2)));
        let dirty = insert(&mut state, both);
        let changes = rows.update(&state, &dirty);
        assert_eq!(changes.len(), 1, "the buckets are still there: {changes:?}");
        assert_eq!(route(&changes, net), Some((meaning::FORWARD, FIRST_GROUP)));
    }

    #[test]
    fn a_program_without_groups_uses_the_first_next_hop() {
        let mut rows = Rows::new(vec![Some(7), Some(9)], 100, 0);
        let mut state = state();
        let both = [(9, Some(gateway(3))), (7, Some(gateway(2)))];
        state.fib.add(said("172.16.0.0/12", kind::UNICAST, &both));
        let changes = rows.update(&state, &everything());
        let row = route(&changes, "172.16.0.0/12").expect("a route");
        assert_eq!((row.0, rows.hops.key(row.1)), (meaning::FORWARD, Some(&(gateway(3), 9))));
    }
}
