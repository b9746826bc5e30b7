//! The contents of a router's tables that correspond to the kernel's routes, neighbours and links.
//!
//! A route names the number of its next hop whether or not the neighbour is resolved. Thus a
//! neighbour that appears, goes or moves changes one row of `next_hops`, however many routes lead
//! to it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, Range};
use std::sync::Arc;

use wireloom_net::tables::{Family, Prefix};

use super::fib::{Address, Fib, Hop, Route, kind, last_inside};
use super::hops::{BUCKETS, Member, Numbers, Way, spread};
use super::netlink::{Links, Neighbour, Neighbours};
use crate::control::WAITING;
use crate::memory::Memory;
use crate::system::{interface_name, setting};

/// A next hop that is never resolved. Routes whose packets the kernel forwards use it.
pub const UNRESOLVED: u32 = 0;

/// The kernel's state as far as it is known.
pub struct State {
    pub links: Links,
    pub neighbours: Neighbours,
    pub fib: Fib,
}

/// The parts of the state that may have changed.
#[derive(Debug, Default)]
pub struct Dirty {
    pub prefixes: BTreeSet<Prefix>,
    pub neighbours: BTreeSet<Neighbour>,
    pub devices: BTreeSet<u32>,
}

impl Dirty {
    pub fn is_empty(&self) -> bool {
        self.prefixes.is_empty() && self.neighbours.is_empty() && self.devices.is_empty()
    }
}

/// `Route_kind` of programs/include/forwarding.loom.
pub mod meaning {
    pub const NONE: u8 = 0;
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
    /// The number of a next hop, or [`FIRST_GROUP`] plus the number of a group.
    pub next_hop: u32,
    /// There was no room for this prefix or for a longer one inside it: the kernel forwards its
    /// packets.
    pub is_left: bool,
}

impl RouteRow {
    /// The row of a prefix whose packets the kernel forwards: next hop 0 is never resolved.
    const LEFT: Self = Self { kind: meaning::FORWARD, next_hop: UNRESOLVED, is_left: true };

    fn new(kind: u8, next_hop: u32) -> Self {
        Self { kind, next_hop, is_left: false }
    }
}

/// The most bytes of a row until measured memory includes it: its prefix in a map, and nodes all
/// the way down in the tables of sources and destinations, for 128 bits.
const ROW_BYTES: u64 = 4096;
/// Bytes that a row uses in this map.
const KNOWN_BYTES: u64 = 100;
/// New rows between two checks of the memory.
const LOOK_EVERY: usize = 64;
/// Prefixes of one part of a sweep.
const PART: usize = 1024;
/// The most updates that are sent together.
pub const BATCH: usize = 512;
/// Updates that were sent but may not be in the tables yet.
const UNDER_WAY: usize = (WAITING + 1) * BATCH;

/// A row of `next_hops`. All zero: the machine hands the packets to the kernel, which resolves the
/// neighbour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopRow {
    pub port: u16,
    pub dst: [u8; 6],
    pub src: [u8; 6],
    pub mtu: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    Port(usize, [u8; 6]),
    NextHop(u32, HopRow),
    /// The index and the next hop.
    Bucket(u32, u32),
    /// A new route, and whether its kind is new for the prefix. Otherwise the tables of sources,
    /// which hold only the kind, have it already.
    Route(Prefix, RouteRow, bool),
    /// A route that is gone.
    RouteGone(Prefix),
}

pub struct Rows {
    /// The interface index of each port; `None` for other kinds of ports.
    ports: Vec<Option<u32>>,
    macs: Vec<Option<[u8; 6]>>,
    /// The IPv6 MTU of each port, if it is known.
    mtus6: Vec<Option<u32>>,
    routes: BTreeMap<Prefix, RouteRow>,
    /// Ways and their numbers. Number 0 is never resolved: the kernel sends these packets by an
    /// interface that is not a port.
    hops: Numbers<Way>,
    hop_rows: Vec<HopRow>,
    groups: Numbers<Vec<Member>>,
    /// The smallest next hop number that stands for a group.
    first_group: u32,
    group_rows: Vec<[u32; BUCKETS]>,
    /// The number of each member of each group, in its order.
    group_hops: Vec<Vec<u32>>,
    /// Numbers that lost their last user since the last update. Their rows are in use until the
    /// update is applied.
    released: Released,
    memory: Option<Arc<Memory>>,
    /// Whether a prefix had no room. None gets a row until a [sweep](Sweep) finds room for all.
    is_full: bool,
    /// Prefixes that had no room since the last sweep, including those that the sweep found.
    unheld: u64,
    /// New rows of this update.
    added: usize,
    /// Rows by family, and their maximum so far: memory freed since then is used again.
    counts: [usize; 2],
    most: [usize; 2],
}

/// A walk over all rows, in parts, so that the changes need not all be in memory at once.
pub struct Sweep {
    stage: Stage,
    /// New rows are left to the kernel until it is certain that there is room for all.
    is_retrying: bool,
}

enum Stage {
    Hops,
    /// All prefixes after this one.
    Routes(Option<Prefix>),
    /// Rows left to the kernel, after this prefix. The prefixes in the set stay left.
    Left(Option<Prefix>, BTreeSet<Prefix>),
    Done,
}

#[derive(Default)]
struct Released {
    hops: Vec<u32>,
    groups: Vec<u32>,
}

/// Numbers that were assigned during an update.
#[derive(Default)]
struct New {
    hops: BTreeSet<u32>,
    groups: BTreeSet<u32>,
}

impl Rows {
    /// Creates empty tables for ports with these interfaces, and with these numbers of next hops
    /// and groups.
    pub fn new(
        ports: Vec<Option<u32>>,
        hops: Range<u32>,
        groups: Range<u32>,
        memory: Option<Arc<Memory>>,
    ) -> Self {
        let first_group = if groups.is_empty() { u32::MAX } else { FIRST_GROUP };
        Self {
            macs: vec![None; ports.len()],
            mtus6: vec![None; ports.len()],
            ports,
            routes: BTreeMap::new(),
            hops: Numbers::new(hops.start..hops.end.min(first_group)),
            hop_rows: Vec::new(),
            groups: Numbers::new(groups),
            first_group,
            group_rows: Vec::new(),
            group_hops: Vec::new(),
            released: Released::default(),
            memory,
            is_full: false,
            unheld: 0,
            added: 0,
            counts: [0; 2],
            most: [0; 2],
        }
    }

    /// Returns the number of prefixes that had no room. The kernel forwards their packets.
    pub fn unheld(&self) -> u64 {
        self.unheld
    }

    /// Returns the neighbours that routes lead to.
    pub fn neighbours(&self) -> impl Iterator<Item = &Neighbour> {
        let mut last = None;
        let neighbours = self.hops.iter().map(|(way, _)| &way.neighbour);
        neighbours.filter(move |neighbour| last.replace(*neighbour) != Some(*neighbour))
    }

    /// Reads the IPv6 MTUs of the ports, which the kernel does not notify. Returns the interfaces
    /// whose MTU has changed.
    pub fn read_mtus6(&mut self) -> BTreeSet<u32> {
        let mut changed = BTreeSet::new();
        for (index, mtu) in self.ports.iter().zip(&mut self.mtus6) {
            let Some((index, name)) = index.and_then(|index| Some((index, interface_name(index)?)))
            else {
                continue;
            };
            let now = setting(&format!("ipv6/conf/{name}/mtu"));
            if *mtu != now {
                *mtu = now;
                changed.insert(index);
            }
        }
        changed
    }

    /// Returns the changes that bring the tables to this state. Their order ensures that no route
    /// names a next hop before it exists.
    pub fn update(&mut self, state: &State, dirty: &Dirty) -> Vec<Change> {
        let mut touched = dirty.prefixes.clone();
        for &prefix in &dirty.prefixes {
            touched.extend(hosts_inside(&state.neighbours, prefix));
        }
        touched.extend(dirty.neighbours.iter().map(|neighbour| host(neighbour.0)));
        self.bring(state, &touched, dirty, false)
    }

    /// Begins a walk that brings all rows to a state.
    pub fn sweep(&self) -> Sweep {
        Sweep { stage: Stage::Hops, is_retrying: self.is_full }
    }

    /// Returns the changes of the next part, as [`update`](Self::update) does. Returns `None` at
    /// the end. The state must be the same for all parts.
    pub fn next(&mut self, state: &State, sweep: &mut Sweep) -> Option<Vec<Change>> {
        let dirty = Dirty::default();
        match &mut sweep.stage {
            Stage::Hops => {
                (self.is_full, self.unheld) = (false, 0);
                sweep.stage = Stage::Routes(None);
                let mut changes = Vec::new();
                self.update_ports(state, &mut changes);
                let all = self.hops.iter().map(|(_, number)| number).collect();
                self.update_hops(state, &dirty, all, &mut changes);
                Some(changes)
            }
            Stage::Routes(after) => {
                let touched = self.after(state, *after);
                match touched.last() {
                    Some(last) => *after = Some(*last),
                    None => sweep.stage = Stage::Left(None, self.around_unheld(state)),
                }
                Some(self.bring(state, &touched, &dirty, sweep.is_retrying))
            }
            Stage::Left(after, stay) => {
                let from = after.map_or(Bound::Unbounded, Bound::Excluded);
                let left = self.routes.range((from, Bound::Unbounded));
                let left = left.filter(|(_, row)| row.is_left).map(|(prefix, _)| *prefix);
                let left: BTreeSet<Prefix> = left.take(PART).collect();
                let touched = &left - stay;
                match left.last() {
                    Some(last) => *after = Some(*last),
                    None => sweep.stage = Stage::Done,
                }
                for prefix in &touched {
                    if let Some(row) = self.routes.get_mut(prefix) {
                        row.is_left = false;
                    }
                }
                Some(self.bring(state, &touched, &dirty, false))
            }
            Stage::Done => None,
        }
    }

    /// Returns the next prefixes after `after` that have a row or may need one.
    fn after(&self, state: &State, after: Option<Prefix>) -> BTreeSet<Prefix> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let rows = self.routes.range((from, Bound::Unbounded)).map(|(prefix, _)| *prefix);
        let mut next: BTreeSet<Prefix> = rows.take(PART).collect();
        next.extend(state.fib.prefixes_after(from, PART));
        let hosts = state.neighbours.keys().map(|neighbour| host(neighbour.0));
        next.extend(hosts.filter(|host| after.is_none_or(|after| *host > after)));
        while next.len() > PART {
            next.pop_last();
        }
        next
    }

    /// Counts the routes without a row. Returns the prefixes of the rows around them.
    fn around_unheld(&mut self, state: &State) -> BTreeSet<Prefix> {
        let mut around = BTreeSet::new();
        if self.is_full {
            self.unheld = 0;
            for prefix in state.fib.prefixes() {
                if !self.routes.contains_key(&prefix) && state.fib.route(prefix).is_some() {
                    self.unheld += 1;
                    around.insert(self.around(prefix));
                }
            }
        }
        around
    }

    /// Returns the prefix of the row that covers a prefix without a row. Returns the shortest
    /// prefix if no row does.
    fn around(&self, prefix: Prefix) -> Prefix {
        let shorter =
            |length| Prefix::new(prefix.family(), prefix.bits(), length).expect("a shorter prefix");
        let mut shorter = (0..prefix.length()).rev().map(shorter);
        shorter
            .find(|prefix| self.routes.contains_key(prefix))
            .unwrap_or_else(|| Prefix::new(prefix.family(), 0, 0).expect("the shortest prefix"))
    }

    /// Brings the rows of some prefixes to a state.
    fn bring(
        &mut self,
        state: &State,
        touched: &BTreeSet<Prefix>,
        dirty: &Dirty,
        is_retrying: bool,
    ) -> Vec<Change> {
        for number in self.released.hops.drain(..) {
            self.hops.reuse(number);
        }
        for number in self.released.groups.drain(..) {
            self.groups.reuse(number);
        }
        self.added = 0;
        let mut given = New::default();
        let mut routes = Vec::new();
        for &prefix in touched {
            let old = self.routes.get(&prefix).copied();
            if old.is_some_and(|old| old.is_left) {
                continue;
            }
            let mut new = self.row(state, prefix, &mut given);
            if let Some(row) = new
                && old.is_none()
            {
                let is_held = self.has_room(state, prefix);
                if is_retrying || !is_held {
                    self.release(row);
                    new = is_held.then_some(RouteRow::LEFT);
                }
                // A neighbour's host route lies inside the route of its link, which belongs to the
                // kernel anyway.
                if !is_held && state.fib.route(prefix).is_some() {
                    self.leave(prefix, &mut routes);
                    continue;
                }
            }
            if let Some(old) = old {
                self.release(old);
            }
            self.enter(prefix, old, new, &mut routes);
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

    fn enter(
        &mut self,
        prefix: Prefix,
        old: Option<RouteRow>,
        new: Option<RouteRow>,
        changes: &mut Vec<Change>,
    ) {
        let count = &mut self.counts[prefix.family() as usize];
        *count = *count + usize::from(new.is_some()) - usize::from(old.is_some());
        let most = &mut self.most[prefix.family() as usize];
        *most = (*most).max(*count);
        match new {
            Some(new) if old != Some(new) => {
                self.routes.insert(prefix, new);
                let is_new_kind = old.is_none_or(|old| old.kind != new.kind);
                changes.push(Change::Route(prefix, new, is_new_kind));
            }
            None if old.is_some() => {
                self.routes.remove(&prefix);
                changes.push(Change::RouteGone(prefix));
            }
            _ => {}
        }
    }

    /// Leaves a prefix without a row to the kernel, and with it the row around it: its packets
    /// would go where that row leads.
    fn leave(&mut self, prefix: Prefix, changes: &mut Vec<Change>) {
        self.unheld += 1;
        let around = self.around(prefix);
        let old = self.routes.get(&around).copied();
        if old == Some(RouteRow::LEFT) {
            return;
        }
        if let Some(old) = old {
            self.release(old);
        }
        self.enter(around, old, Some(RouteRow::LEFT), changes);
    }

    /// Returns whether there is room for one more row.
    fn has_room(&mut self, state: &State, prefix: Prefix) -> bool {
        let Some(memory) = self.memory.clone() else { return true };
        if !self.is_full && self.added.is_multiple_of(LOOK_EVERY) {
            self.is_full = !self.fits(state, prefix.family(), self.added, &memory);
        }
        self.added += 1;
        !self.is_full
    }

    /// Returns whether a sweep may find room for rows that had none.
    pub fn may_grow(&self, state: &State) -> bool {
        let fits = |memory: &Arc<Memory>| {
            [Family::V4, Family::V6].iter().any(|family| self.fits(state, *family, 0, memory))
        };
        self.memory.as_ref().is_none_or(fits)
    }

    /// Returns whether there is room for the rows until the next check.
    fn fits(&self, state: &State, family: Family, added: usize, memory: &Memory) -> bool {
        let known = state.fib.bytes() + self.routes.len() as u64 * KNOWN_BYTES;
        let ahead = (added + LOOK_EVERY + UNDER_WAY) as u64 * ROW_BYTES;
        // From time to time everything is read again, into a further copy.
        let family = family as usize;
        let is_reused = self.counts[family] + LOOK_EVERY <= self.most[family];
        memory.has_room(ahead + state.fib.bytes() + memory.layout(known))
            || is_reused && memory.has_room(ahead)
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
        let ways = dirty.neighbours.iter().map(|neighbour| Way::to(*neighbour));
        numbers.extend(ways.flat_map(|ways| self.hops.find(ways)));
        if !dirty.devices.is_empty() {
            let concerned = |way: &Way| dirty.devices.contains(&way.neighbour.1);
            numbers.extend(
                self.hops.iter().filter(|(key, _)| concerned(key)).map(|(_, number)| number),
            );
        }
        for number in numbers {
            let (Some(&way), Some(place)) = (self.hops.key(number), self.hops.place(number)) else {
                continue;
            };
            let row = self.hop_row(state, way);
            let known = &mut self.hop_rows[place];
            if *known != row {
                *known = row;
                changes.push(Change::NextHop(number, row));
            }
        }
    }

    fn hop_row(&self, state: &State, way: Way) -> HopRow {
        let Way { neighbour, family, mtu } = way;
        let (Some(link), Some(reach), Some(port)) = (
            state.links.get(&neighbour.1).filter(|link| link.up.0),
            state.neighbours.get(&neighbour),
            self.port(neighbour.1),
        ) else {
            return HopRow::default();
        };
        // Labels count towards the MTU, which has 16 bits in the table.
        let mtu = if mtu > 0 { link.mtu.min(mtu) } else { link.mtu };
        let of_family = match family {
            Family::V4 => None,
            Family::V6 => self.mtus6[usize::from(port)],
        };
        let mtu = mtu.min(of_family.unwrap_or(u32::MAX)).min(65_535);
        HopRow { port, dst: reach.mac, src: link.mac, mtu }
    }

    fn update_group(&mut self, number: u32, changes: &mut Vec<Change>) {
        let (Some(members), Some(place)) = (self.groups.key(number), self.groups.place(number))
        else {
            return;
        };
        let hops = &self.group_hops[place];
        let rows = &mut self.group_rows[place];
        for ((bucket, owner), row) in spread(members).into_iter().enumerate().zip(rows) {
            if *row != hops[owner] {
                *row = hops[owner];
                changes.push(Change::Bucket(number * BUCKETS as u32 + bucket as u32, *row));
            }
        }
    }

    /// Returns the row that a prefix should have. Its next hop or group then has one more user.
    fn row(&mut self, state: &State, prefix: Prefix, new: &mut New) -> Option<RouteRow> {
        let route = state.fib.route(prefix);
        let is_on_link = route.is_none_or(|route| route.link().is_some());
        if prefix.length() == prefix.family().width()
            && is_on_link
            && let Some(way) = self.resolved(state, prefix)
        {
            // The destination is its own next hop.
            return Some(RouteRow::new(meaning::FORWARD, self.hop(way, new)));
        }
        let route = route?;
        let kind = match route.kind {
            kind::UNICAST if route.link().is_some() => meaning::CONNECTED,
            kind::UNICAST => return Some(self.lead(prefix.family(), route, new)),
            kind::LOCAL | kind::ANYCAST => meaning::OWN,
            kind::BROADCAST => meaning::DIRECTED_BROADCAST,
            kind::BLACKHOLE => meaning::DISCARD,
            kind::UNREACHABLE | kind::PROHIBIT => meaning::REJECT,
            _ => return None,
        };
        Some(RouteRow::new(kind, 0))
    }

    /// Returns the way to the neighbour at an on-link address of a port, if packets can be sent to
    /// it.
    fn resolved(&self, state: &State, host: Prefix) -> Option<Way> {
        let address = Address { family: host.family(), bits: host.bits() };
        let (prefix, route) = state.fib.longest(address)?;
        let neighbour = (address, route.link()?);
        let is_there = prefix.length() > 0
            && self.port(neighbour.1).is_some()
            && state.neighbours.contains_key(&neighbour);
        is_there.then_some(Way { neighbour, family: host.family(), mtu: route.mtu })
    }

    /// Returns the row of a route through gateways.
    fn lead(&mut self, family: Family, route: &Route, new: &mut New) -> RouteRow {
        let member = |hop: &Hop| {
            let neighbour = hop.gateway.map(|gateway| (gateway, hop.device));
            let neighbour = neighbour.filter(|neighbour| self.port(neighbour.1).is_some());
            (neighbour.map(|neighbour| Way { neighbour, family, mtu: route.mtu }), hop.weight)
        };
        let mut members: Vec<Member> =
            route.hops.iter().filter(|hop| !hop.is_dead).map(member).collect();
        let first = members.iter().find_map(|member| member.0);
        members.sort_unstable();
        members.dedup();
        if members.len() > 1
            && first.is_some()
            && let Some((number, is_new)) = self.groups.acquire(&members)
        {
            if is_new && let Some(place) = self.groups.place(number) {
                let hops = members.iter().map(|member| match member.0 {
                    Some(way) => self.hop(way, new),
                    None => UNRESOLVED,
                });
                let hops = hops.collect();
                let size = self.group_rows.len().max(place + 1);
                self.group_rows.resize(size, [0; BUCKETS]);
                self.group_hops.resize(size, Vec::new());
                self.group_hops[place] = hops;
                new.groups.insert(number);
            }
            return RouteRow::new(meaning::FORWARD, FIRST_GROUP + number);
        }
        let next_hop = first.map_or(UNRESOLVED, |way| self.hop(way, new));
        RouteRow::new(meaning::FORWARD, next_hop)
    }

    /// Returns the number of a way, with one more user. Returns [`UNRESOLVED`] if no number is
    /// free.
    fn hop(&mut self, way: Way, new: &mut New) -> u32 {
        let Some((number, is_new)) = self.hops.acquire(&way) else { return UNRESOLVED };
        if is_new && let Some(place) = self.hops.place(number) {
            let size = self.hop_rows.len().max(place + 1);
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
        if self.groups.release(group).is_some()
            && let Some(place) = self.groups.place(group)
        {
            for hop in std::mem::take(&mut self.group_hops[place]) {
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

/// Returns the host prefix of an address.
fn host(address: Address) -> Prefix {
    Prefix::new(address.family, address.bits, address.family.width())
        .expect("an address is as long as its family's")
}

/// Returns the neighbours' addresses inside a prefix.
fn hosts_inside(neighbours: &Neighbours, prefix: Prefix) -> impl Iterator<Item = Prefix> {
    let address = |prefix: Prefix| Address { family: prefix.family(), bits: prefix.bits() };
    let range = (address(prefix), 0)..=(address(last_inside(prefix)), u32::MAX);
    neighbours.range(range).map(|(neighbour, _)| host(neighbour.0))
}

#[cfg(test)]
mod tests;
