//! The kernel's routes: per table and prefix all of them, in the order in which the kernel tries
//! them, so that the next best is known when one goes.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Instant;

use wireloom_net::netlink::NextHop;
use wireloom_net::tables::{Family, Prefix};

use super::objects::Objects;
use crate::memory::{self, Memory};

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
    /// The next hop object that says where it leads, instead of the above. 0: none.
    pub object: u32,
    /// The MTU of the route itself, in bytes of layer 3. 0: that of the link.
    pub mtu: u32,
    /// Set if the tables cannot describe the route. The kernel then forwards the packets of its
    /// prefix, whatever the metrics are.
    pub apart: Option<Apart>,
}

/// What the tables cannot describe of a route. The kernel tells routes of a prefix apart by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Apart {
    pub selector: Selector,
    /// The kernel goes on with another table.
    pub is_thrown: bool,
}

/// The packets of a prefix that a route is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selector {
    /// The type of service. 0: any.
    pub service: u8,
    /// The prefix of their sources. Length 0: any.
    pub source: u128,
    pub source_length: u8,
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
    /// When the kernel stops using it.
    pub expires: Option<Instant>,
}

impl Said {
    /// Whether the kernel still uses the route.
    pub fn is_alive(&self) -> bool {
        self.expires.is_none_or(|expires| expires > Instant::now())
    }
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
    others: Box<[Candidate]>,
}

impl Candidates {
    fn all(&self) -> impl Iterator<Item = &Candidate> {
        std::iter::once(&self.first).chain(&self.others[..])
    }

    fn usable<'a>(&'a self, objects: &'a Objects) -> Option<&'a Route> {
        let mut routes = self.all().map(|candidate| objects.resolve(&candidate.route));
        routes.find(|route| route.is_usable())
    }
}

impl Candidate {
    /// The least comes first: a route that stays apart, then the lowest metric.
    fn rank(&self) -> (bool, u32) {
        (self.route.apart.is_none(), self.metric)
    }
}

impl Route {
    /// A route that leads nowhere that is known: the kernel forwards its packets, as if they went out
    /// of an interface that is no port.
    pub const ELSEWHERE: Self =
        Self { kind: kind::UNICAST, hops: Vec::new(), object: 0, mtu: 0, apart: None };

    fn selector(&self) -> Selector {
        self.apart.map(|apart| apart.selector).unwrap_or_default()
    }

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
        self.hops.len() == other.hops.len() && self.leads_within(other)
    }

    /// Whether each of the next hops is one of `other`, weights and states aside.
    fn leads_within(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.object == other.object
            && self.apart == other.apart
            && self.hops.iter().all(|hop| other.hops.iter().any(|known| known.is_at(hop)))
    }

    /// Whether the kernel joins routes of IPv6 like this one, of one metric, into one with several
    /// next hops.
    fn can_join(&self) -> bool {
        self.object == 0 && self.hops.iter().any(|hop| hop.gateway.is_some())
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
    /// Routes of all prefixes, those that are not the best included.
    held: usize,
}

impl Table {
    fn new(number: u32) -> Self {
        Self { number, routes: BTreeMap::new(), lengths: [[0; 129]; 2], held: 0 }
    }

    fn exact<'a>(&'a self, prefix: Prefix, objects: &'a Objects) -> Option<&'a Route> {
        self.routes.get(&prefix)?.usable(objects)
    }

    /// The best route of an address among prefixes of at most this length.
    fn longest<'a>(
        &'a self,
        address: Address,
        most: u32,
        objects: &'a Objects,
    ) -> Option<(Prefix, &'a Route)> {
        let lengths = &self.lengths[address.family as usize];
        (0..=most).rev().filter(|length| lengths[*length as usize] > 0).find_map(|length| {
            let prefix = Prefix::new(address.family, address.bits, length)?;
            Some((prefix, self.exact(prefix, objects)?))
        })
    }

    /// The prefixes that have a route with one of these next hop objects.
    fn with_objects(&self, numbers: &BTreeSet<u32>) -> Vec<Prefix> {
        let names = |candidates: &Candidates| {
            candidates.all().any(|candidate| numbers.contains(&candidate.route.object))
        };
        let found = self.routes.iter().filter(|(_, candidates)| names(candidates));
        found.map(|(prefix, _)| *prefix).collect()
    }

    /// Changes the candidates of a prefix.
    fn change(&mut self, prefix: Prefix, change: impl FnOnce(&mut Vec<Candidate>)) {
        let before = self.routes.remove(&prefix);
        let existed = before.is_some();
        let mut all: Vec<Candidate> = match before {
            Some(Candidates { first, others }) => std::iter::once(first).chain(others).collect(),
            None => Vec::new(),
        };
        self.held -= all.len();
        change(&mut all);
        self.held += all.len();
        let count = &mut self.lengths[prefix.family() as usize][prefix.length() as usize];
        *count = *count + u32::from(!all.is_empty()) - u32::from(existed);
        let mut all = all.into_iter();
        if let Some(first) = all.next() {
            self.routes.insert(prefix, Candidates { first, others: all.collect() });
        }
    }
}

/// The tables of the kernel that are followed.
pub struct Fib {
    /// The kernel looks in these, one after the other, until one has a route.
    tables: Vec<Table>,
    objects: Objects,
    /// Routes that prefixes share.
    known: HashSet<Arc<Route>>,
    /// The size of `known` at which those that are not used any more are forgotten.
    sweep_at: usize,
    memory: Option<Arc<Memory>>,
    /// Routes that came since there was no room for all.
    given_up: Option<u64>,
    /// When the kernel stops using the first route with a lifetime.
    expires: Option<Instant>,
}

/// Routes that are added between two looks at the memory, and what these use at most.
const LOOK_EVERY: usize = 256;
const NEXT: u64 = 1 << 20;
/// What a route uses at most, in bytes: 72 for a prefix in a map whose nodes are half full.
const ROUTE_BYTES: u64 = 150;

impl Fib {
    /// Empty tables of these numbers, in the order in which the kernel looks in them.
    pub fn new(numbers: &[u32], memory: Option<Arc<Memory>>) -> Self {
        Self {
            memory,
            given_up: None,
            expires: None,
            tables: numbers.iter().map(|number| Table::new(*number)).collect(),
            objects: Objects::default(),
            known: HashSet::new(),
            sweep_at: 1024,
        }
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

    /// The next prefixes of each table.
    pub fn prefixes_after(&self, from: Bound<Prefix>, most: usize) -> impl Iterator<Item = Prefix> {
        self.tables.iter().flat_map(move |table| {
            table.routes.range((from, Bound::Unbounded)).take(most).map(|(prefix, _)| *prefix)
        })
    }

    /// What a further copy of all routes would use, in bytes.
    pub fn bytes(&self) -> u64 {
        self.held() as u64 * ROUTE_BYTES
    }

    /// How many routes came since there was no room for all; `None` while there is.
    pub fn given_up(&self) -> Option<u64> {
        self.given_up
    }

    /// Holds no route any more, since some could not be held: an address that only these have would
    /// go where a shorter prefix leads. Instead each address is the kernel's to forward, as if all
    /// routes led out of an interface that is no port.
    fn give_up(&mut self) {
        for table in &mut self.tables {
            *table = Table::new(table.number);
        }
        self.known = HashSet::new();
        memory::give_back();
        for family in [Family::V4, Family::V6] {
            let candidate = Candidate { metric: 0, route: Arc::new(Route::ELSEWHERE) };
            let all = Prefix::new(family, 0, 0).expect("the shortest prefix");
            if let Some(table) = self.tables.first_mut() {
                table.change(all, |routes| routes.push(candidate));
            }
        }
        self.given_up = Some(0);
    }

    /// When the first lifetime of a route ends, since the kernel then passes over it before it says so.
    pub fn expires(&self) -> Option<Instant> {
        self.expires
    }

    /// Forgets the lifetimes: everything is read again.
    pub fn forget_lifetimes(&mut self) {
        self.expires = None;
    }

    fn held(&self) -> usize {
        self.tables.iter().map(|table| table.held).sum()
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
        let Said { table: number, prefix, metric, route, expires } = said;
        let Some(index) = self.tables.iter().position(|table| table.number == number) else {
            return Vec::new();
        };
        if let Some(missed) = &mut self.given_up {
            *missed += 1;
            return Vec::new();
        }
        if let Some(expires) = expires {
            self.expires = Some(self.expires.map_or(expires, |known| known.min(expires)));
        }
        let route = self.share(route);
        let before = self.held();
        self.tables[index].change(prefix, |all| {
            // A notification of IPv6 lists all next hops of a route, the old ones too.
            let is_same = |known: &Candidate| match prefix.family() {
                Family::V4 => known.route.leads_as(&route),
                Family::V6 => known.route.leads_within(&route) || route.leads_within(&known.route),
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
            let candidate = Candidate { metric, route };
            let rank = candidate.rank();
            let start = |all: &[Candidate]| all.partition_point(|known| known.rank() < rank);
            let end = |all: &[Candidate]| all.partition_point(|known| known.rank() <= rank);
            // IPv4 replaces the first of its metric and selector, IPv6 the first that joins others as
            // it does, or else the first.
            let competes = |known: &&Candidate| {
                known.metric == metric && known.route.selector() == candidate.route.selector()
            };
            let joins_alike = |known: &Candidate| {
                prefix.family() == Family::V4
                    || known.route.can_join() == candidate.route.can_join()
            };
            let of = |known: &Candidate| all.iter().position(|other| std::ptr::eq(other, known));
            let alike = all.iter().filter(competes).find(|known| joins_alike(known)).and_then(of);
            let any = all.iter().find(competes).and_then(of);
            let replaced = match place {
                // It was there already, and notified of with what it replaced.
                Some(place) => alike.filter(|at| *at < place),
                None => alike.or(any),
            };
            match (joins, replaced) {
                // One that stays apart and one that does not have other places.
                (Joins::InPlace, Some(at)) if all[at].rank() == rank => all[at] = candidate,
                (Joins::InPlace, Some(at)) => {
                    all.remove(at);
                    all.insert(start(all), candidate);
                }
                _ => {
                    let (start, end) = (start(all), end(all));
                    let at = match (place, joins) {
                        // It keeps its place among its equals.
                        (Some(place), _) => place.clamp(start, end),
                        (None, Joins::After) => end,
                        (None, Joins::Before | Joins::InPlace) => start,
                    };
                    all.insert(at, candidate);
                }
            }
        });
        let held = self.held();
        if held > before
            && held.is_multiple_of(LOOK_EVERY)
            && self.memory.as_ref().is_some_and(|memory| !memory.has_room(NEXT))
        {
            self.give_up();
        }
        self.affected(index, prefix)
    }

    /// Removes a route of which the kernel notifies. Returns as [`insert`](Self::insert).
    pub fn remove(&mut self, said: &Said) -> Vec<Prefix> {
        let Said { table: number, prefix, metric, route, .. } = said;
        let Some(index) = self.tables.iter().position(|table| table.number == *number) else {
            return Vec::new();
        };
        if self.given_up.is_some() {
            return Vec::new();
        }
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

    /// Enters a next hop object that is new or another now. Returns the objects that lead elsewhere.
    pub fn insert_object(&mut self, object: NextHop) -> BTreeSet<u32> {
        self.objects.insert(object)
    }

    /// Removes a next hop object, with the routes that name it. Returns the objects that lead
    /// elsewhere, and the prefixes whose route may be another now.
    pub fn remove_object(&mut self, number: u32) -> (BTreeSet<u32>, Vec<Prefix>) {
        let (gone, changed) = self.objects.remove(number);
        let mut affected = Vec::new();
        if self.is_used(&gone) {
            for index in 0..self.tables.len() {
                for prefix in self.tables[index].with_objects(&gone) {
                    let names = |known: &Candidate| gone.contains(&known.route.object);
                    self.tables[index].change(prefix, |all| all.retain(|known| !names(known)));
                    affected.extend(self.affected(index, prefix));
                }
            }
        }
        (changed, affected)
    }

    /// Removes the next hop objects that lead out of an interface. Returns as
    /// [`remove_object`](Self::remove_object).
    pub fn remove_objects_at(&mut self, interface: u32) -> (BTreeSet<u32>, Vec<Prefix>) {
        let (mut changed, mut affected) = (BTreeSet::new(), Vec::new());
        for number in self.objects.at(interface) {
            let (objects, prefixes) = self.remove_object(number);
            changed.extend(objects);
            affected.extend(prefixes);
        }
        (changed, affected)
    }

    /// The prefixes whose route may be another when these objects lead elsewhere.
    pub fn affected_by(&self, objects: &BTreeSet<u32>) -> Vec<Prefix> {
        if !self.is_used(objects) {
            return Vec::new();
        }
        let named = self.tables.iter().enumerate().flat_map(|(index, table)| {
            table.with_objects(objects).into_iter().map(move |prefix| (index, prefix))
        });
        named.flat_map(|(index, prefix)| self.affected(index, prefix)).collect()
    }

    /// Whether a route names one of these objects. Prefixes share few routes, so that an object that
    /// nobody names costs no look at all prefixes.
    fn is_used(&self, objects: &BTreeSet<u32>) -> bool {
        let is_used = |route: &&Arc<Route>| Arc::strong_count(route) > 1;
        let mut used = self.known.iter().filter(is_used);
        !objects.is_empty() && used.any(|route| objects.contains(&route.object))
    }

    /// The route that the kernel uses for exactly this prefix; `None` if it has none, or another
    /// table's comes first.
    pub fn route(&self, prefix: Prefix) -> Option<&Route> {
        let address = Address { family: prefix.family(), bits: prefix.bits() };
        for (index, table) in self.tables.iter().enumerate() {
            let found = table.exact(prefix, &self.objects);
            if found.is_some() || index + 1 == self.tables.len() {
                return found;
            }
            let shorter = prefix.length().checked_sub(1);
            let covers = |most| table.longest(address, most, &self.objects).is_some();
            if shorter.is_some_and(covers) {
                return None;
            }
        }
        None
    }

    /// The route that the kernel uses for an address, with its prefix.
    pub fn longest(&self, address: Address) -> Option<(Prefix, &Route)> {
        let width = address.family.width();
        self.tables.iter().find_map(|table| table.longest(address, width, &self.objects))
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

#[cfg(test)]
mod tests;
