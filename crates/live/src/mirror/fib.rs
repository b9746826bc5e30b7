//! The kernel's routes: for each table and prefix all routes, in the order in which the kernel
//! tries them. So the next best route is known when one is removed.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Instant;

use wireloom_net::netlink::NextHop;
use wireloom_net::tables::{Family, Prefix};

use super::objects::Objects;
use crate::memory::{self, Memory};

/// An IP address. The bits are right-aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Address {
    pub family: Family,
    pub bits: u128,
}

/// A next hop of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hop {
    /// The interface index.
    pub device: u32,
    /// The neighbour. `None`: the destination itself, which is on the link.
    pub gateway: Option<Address>,
    /// The share of the flows, from 1.
    pub weight: u32,
    /// Whether the kernel ignores this next hop because its interface is down.
    pub is_dead: bool,
}

/// A route without its prefix. Many prefixes share one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Route {
    /// `RTN_...` of linux/rtnetlink.h.
    pub kind: u8,
    /// Empty for a route without next hops, such as a discarding one.
    pub hops: Vec<Hop>,
    /// The next hop object that says where the route leads, instead of `hops`. 0: none.
    pub object: u32,
    /// The MTU of the route itself, in bytes of layer 3. 0: the link's MTU.
    pub mtu: u32,
    /// Set if the tables cannot describe the route. The kernel then forwards the packets of its
    /// prefix, whatever the metrics are.
    pub apart: Option<Apart>,
}

/// Properties of a route that the tables cannot describe. The kernel distinguishes routes of a
/// prefix by them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Apart {
    pub selector: Selector,
    /// Whether the kernel continues with another table (`throw`).
    pub is_thrown: bool,
}

/// The packets of a prefix that a route applies to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Selector {
    /// The type of service. 0: any.
    pub service: u8,
    /// The source prefix. Length 0: any.
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

/// A route as a message of the kernel describes it.
#[derive(Clone, Debug)]
pub struct Said {
    /// The number of the kernel's table.
    pub table: u32,
    pub prefix: Prefix,
    /// The kernel uses the route with the lowest metric.
    pub metric: u32,
    pub route: Route,
    /// When the kernel stops using the route. `None`: never.
    pub expires: Option<Instant>,
}

impl Said {
    /// Returns whether the kernel still uses the route.
    pub fn is_alive(&self) -> bool {
        self.expires.is_none_or(|expires| expires > Instant::now())
    }
}

/// The place of a new route among the routes of its prefix and metric (`NLM_F_...` of
/// linux/netlink.h).
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

/// The routes to a prefix, in the order in which the kernel tries them. There is nearly always just
/// one.
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
    /// Routes are sorted by this key: first the routes with [`Apart`], then by metric.
    fn rank(&self) -> (bool, u32) {
        (self.route.apart.is_none(), self.metric)
    }
}

impl Route {
    /// A route to an unknown place. The kernel forwards its packets, as if they left by an
    /// interface that is not a port.
    pub const ELSEWHERE: Self =
        Self { kind: kind::UNICAST, hops: Vec::new(), object: 0, mtu: 0, apart: None };

    fn selector(&self) -> Selector {
        self.apart.map(|apart| apart.selector).unwrap_or_default()
    }

    /// Returns the interface whose link has the destination, if the route is on-link.
    pub fn link(&self) -> Option<u32> {
        match self.hops[..] {
            [Hop { device, gateway: None, .. }] if self.kind == kind::UNICAST => Some(device),
            _ => None,
        }
    }

    /// The kernel ignores a route if all of its interfaces are down.
    fn is_usable(&self) -> bool {
        self.hops.is_empty() || self.hops.iter().any(|hop| !hop.is_dead)
    }

    fn leads_as(&self, other: &Self) -> bool {
        self.hops.len() == other.hops.len() && self.leads_within(other)
    }

    /// Returns whether each of the next hops is one of `other`, apart from weights and states.
    fn leads_within(&self, other: &Self) -> bool {
        self.kind == other.kind
            && self.object == other.object
            && self.apart == other.apart
            && self.hops.iter().all(|hop| other.hops.iter().any(|known| known.is_at(hop)))
    }

    /// Returns whether the kernel joins IPv6 routes like this one, with equal metrics, into one
    /// route with several next hops.
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
    /// The number of prefixes, by family and length.
    lengths: [[u32; 129]; 2],
    /// The number of routes of all prefixes, including those that are not the best.
    held: usize,
}

impl Table {
    fn new(number: u32) -> Self {
        Self { number, routes: BTreeMap::new(), lengths: [[0; 129]; 2], held: 0 }
    }

    fn exact<'a>(&'a self, prefix: Prefix, objects: &'a Objects) -> Option<&'a Route> {
        self.routes.get(&prefix)?.usable(objects)
    }

    /// Returns the best route of an address among prefixes of at most this length.
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

    /// Returns the prefixes that have a route with one of these next hop objects.
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

/// The kernel's routing tables that the mirror follows.
pub struct Fib {
    /// The kernel looks these up in order until one has a route.
    tables: Vec<Table>,
    objects: Objects,
    /// Routes that prefixes share.
    known: HashSet<Arc<Route>>,
    /// The size of `known` at which unused routes are removed.
    sweep_at: usize,
    memory: Option<Arc<Memory>>,
    /// The number of routes that arrived after memory ran out. `None` while there is room for all.
    given_up: Option<u64>,
    /// When the first lifetime of a route ends.
    expires: Option<Instant>,
}

/// Routes added between two checks of the memory, and the most bytes that they use.
const LOOK_EVERY: usize = 256;
const NEXT: u64 = 1 << 20;
/// The most bytes that a route uses: 72 for a prefix, in a map whose nodes are half full.
const ROUTE_BYTES: u64 = 150;

impl Fib {
    /// Creates empty tables with these numbers, in the order in which the kernel looks them up.
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

    /// Returns the number of prefixes in all tables.
    pub fn len(&self) -> usize {
        self.tables.iter().map(|table| table.routes.len()).sum()
    }

    /// Returns the numbers of the kernel's tables.
    pub fn numbers(&self) -> Vec<u32> {
        self.tables.iter().map(|table| table.number).collect()
    }

    /// Returns every prefix of every table. A prefix may occur several times.
    pub fn prefixes(&self) -> impl Iterator<Item = Prefix> {
        self.tables.iter().flat_map(|table| table.routes.keys().copied())
    }

    /// Returns up to `most` prefixes of each table after `from`.
    pub fn prefixes_after(&self, from: Bound<Prefix>, most: usize) -> impl Iterator<Item = Prefix> {
        self.tables.iter().flat_map(move |table| {
            table.routes.range((from, Bound::Unbounded)).take(most).map(|(prefix, _)| *prefix)
        })
    }

    /// Returns the bytes that a further copy of all routes would use.
    pub fn bytes(&self) -> u64 {
        self.held() as u64 * ROUTE_BYTES
    }

    /// Returns the number of routes that arrived after memory ran out. Returns `None` while there
    /// is room for all.
    pub fn given_up(&self) -> Option<u64> {
        self.given_up
    }

    /// Drops all routes because some did not fit. An address with only a missing route would go
    /// where a shorter prefix leads. Instead the kernel forwards every address, as if all routes
    /// led out of an interface that is not a port.
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

    /// Returns when the first lifetime of a route ends. The kernel ignores the route from then on,
    /// before it notifies.
    pub fn expires(&self) -> Option<Instant> {
        self.expires
    }

    /// Notes that a lifetime of a route ends at this time.
    pub fn note_lifetime(&mut self, expires: Instant) {
        self.expires = Some(self.expires.map_or(expires, |known| known.min(expires)));
    }

    /// Forgets the lifetimes, since everything is read again.
    pub fn forget_lifetimes(&mut self) {
        self.expires = None;
    }

    fn held(&self) -> usize {
        self.tables.iter().map(|table| table.held).sum()
    }

    /// Adds a route of a dump. A dump lists the routes of a prefix and metric in the order in which
    /// the kernel tries them.
    pub fn add(&mut self, said: Said) {
        self.insert(said, Joins::After);
    }

    /// Enters a route that the kernel notifies. Returns the prefixes whose route may have changed.
    ///
    /// A notification may be older than the state that a dump has already shown. Therefore no route
    /// is added twice, and removing a missing route is no error.
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
            self.note_lifetime(expires);
        }
        let route = self.share(route);
        let before = self.held();
        self.tables[index].change(prefix, |all| {
            // An IPv6 notification lists all next hops of a route, including the old ones.
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
            // IPv4 replaces the first route of its metric and selector. IPv6 replaces the first one
            // that joins others in the same way, or else the first.
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
                // The route was already there. The notification also covers the route that it
                // replaced.
                Some(place) => alike.filter(|at| *at < place),
                None => alike.or(any),
            };
            match (joins, replaced) {
                // Routes with and without `Apart` have different places.
                (Joins::InPlace, Some(at)) if all[at].rank() == rank => all[at] = candidate,
                (Joins::InPlace, Some(at)) => {
                    all.remove(at);
                    all.insert(start(all), candidate);
                }
                _ => {
                    let (start, end) = (start(all), end(all));
                    let at = match (place, joins) {
                        // The route keeps its place among its equals.
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

    /// Removes a route that the kernel notifies as gone. Returns as [`insert`](Self::insert).
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

    /// Enters a next hop object that is new or has changed. Returns the objects that now lead
    /// elsewhere.
    pub fn insert_object(&mut self, object: NextHop) -> BTreeSet<u32> {
        self.objects.insert(object)
    }

    /// Removes a next hop object, with the routes that name it. Returns the objects that now lead
    /// elsewhere, and the prefixes whose route may have changed.
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

    /// Returns the prefixes whose route may change when these objects lead elsewhere.
    pub fn affected_by(&self, objects: &BTreeSet<u32>) -> Vec<Prefix> {
        if !self.is_used(objects) {
            return Vec::new();
        }
        let named = self.tables.iter().enumerate().flat_map(|(index, table)| {
            table.with_objects(objects).into_iter().map(move |prefix| (index, prefix))
        });
        named.flat_map(|(index, prefix)| self.affected(index, prefix)).collect()
    }

    /// Returns whether a route names one of these objects. Prefixes share few routes, so an object
    /// without users costs no search of all prefixes.
    fn is_used(&self, objects: &BTreeSet<u32>) -> bool {
        let is_used = |route: &&Arc<Route>| Arc::strong_count(route) > 1;
        let mut used = self.known.iter().filter(is_used);
        !objects.is_empty() && used.any(|route| objects.contains(&route.object))
    }

    /// Returns the route that the kernel uses for exactly this prefix. Returns `None` if there is
    /// none, or if an earlier table covers the prefix.
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

    /// Returns the route that the kernel uses for an address, with its prefix.
    pub fn longest(&self, address: Address) -> Option<(Prefix, &Route)> {
        let width = address.family.width();
        self.tables.iter().find_map(|table| table.longest(address, width, &self.objects))
    }

    /// Returns the prefixes affected by a change in a table: it covers or uncovers prefixes of the
    /// later tables.
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

/// Returns the last prefix, in order, inside a prefix.
pub fn last_inside(prefix: Prefix) -> Prefix {
    let width = prefix.family().width();
    Prefix::new(prefix.family(), prefix.address(u128::MAX), width).unwrap_or(prefix)
}

#[cfg(test)]
mod tests;
