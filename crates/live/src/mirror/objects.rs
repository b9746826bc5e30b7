//! Next hop objects of the kernel, and where the routes that name them lead.
//!
//! ```text
//!   route ── 7 ─> group 7 ── 1 ─> 10.0.1.2 at eth1
//!                        └── 2 ─> 10.0.2.2 at eth2
//! ```
//!
//! The kernel notifies a change of an object, but not of each route that it affects: with
//! `net.ipv4.nexthop_compat_mode=0` of no route, otherwise of none when the object is removed. So a
//! route keeps the number of its object, and the object's next hops are looked up here.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;

use wireloom_net::netlink::{Leads, NextHop};
use wireloom_net::tables::Family;

use super::fib::{Address, Hop, Route, kind};

/// Stands for routes with an unknown object: the kernel forwards their packets.
static ELSEWHERE: Route = Route::ELSEWHERE;

/// The next hop objects, by number.
#[derive(Debug, Default)]
pub struct Objects {
    known: HashMap<u32, Leads>,
    /// The route that each object resolves to.
    routes: HashMap<u32, Route>,
}

impl Objects {
    /// Enters an object that is new or has changed. Returns the numbers of all objects that now
    /// lead elsewhere.
    pub fn insert(&mut self, object: NextHop) -> BTreeSet<u32> {
        let NextHop { number, leads } = object;
        self.known.insert(number, leads);
        self.refresh(number)
    }

    /// Removes an object. Returns the numbers of the objects that are gone with it, since they led
    /// to nothing else, and the numbers of those that now lead elsewhere.
    pub fn remove(&mut self, number: u32) -> (BTreeSet<u32>, BTreeSet<u32>) {
        let (mut gone, mut changed) = (BTreeSet::new(), BTreeSet::new());
        if self.known.remove(&number).is_none() {
            return (gone, changed);
        }
        gone.insert(number);
        self.routes.remove(&number);
        for group in self.groups_with(number) {
            if let Some(Leads::Group(members)) = self.known.get_mut(&group) {
                members.retain(|(member, _)| *member != number);
                if members.is_empty() {
                    self.known.remove(&group);
                    self.routes.remove(&group);
                    gone.insert(group);
                } else {
                    changed.extend(self.refresh(group));
                }
            }
        }
        (gone, changed)
    }

    /// Returns the objects that lead out of an interface. When the interface goes down, the kernel
    /// removes them without a notification.
    pub fn at(&self, interface: u32) -> Vec<u32> {
        let leads =
            |leads: &Leads| matches!(leads, Leads::Out { device, .. } if *device == interface);
        let at = self.known.iter().filter(|(_, object)| leads(object));
        at.map(|(number, _)| *number).collect()
    }

    /// Returns the route that a route with an object number resolves to. A route without one is
    /// returned as it is.
    pub fn resolve<'a>(&'a self, route: &'a Route) -> &'a Route {
        match route.object {
            _ if route.apart.is_some() => &ELSEWHERE,
            0 => route,
            number => self.routes.get(&number).unwrap_or(&ELSEWHERE),
        }
    }

    /// Recomputes the routes of this object and of the groups that contain it. Returns the numbers
    /// whose route has changed.
    fn refresh(&mut self, number: u32) -> BTreeSet<u32> {
        let concerned = std::iter::once(number).chain(self.groups_with(number));
        let is_another = |number: &u32| {
            let route = self.route(*number);
            self.routes.insert(*number, route.clone()) != Some(route)
        };
        concerned.filter(is_another).collect()
    }

    fn groups_with(&self, number: u32) -> Vec<u32> {
        let holds = |leads: &Leads| match leads {
            Leads::Group(members) => members.iter().any(|(member, _)| *member == number),
            _ => false,
        };
        let groups = self.known.iter().filter(|(_, leads)| holds(leads));
        groups.map(|(group, _)| *group).collect()
    }

    fn route(&self, number: u32) -> Route {
        let (mut kind, mut hops) = (kind::UNICAST, Vec::new());
        let alone = [(number, 1)];
        let members = match self.known.get(&number) {
            Some(Leads::Group(members)) => &members[..],
            _ => &alone,
        };
        for (member, weight) in members {
            match self.known.get(member) {
                Some(Leads::Blackhole) => kind = kind::BLACKHOLE,
                Some(Leads::Out { device, gateway, is_encapsulated, is_dead }) => hops.push(Hop {
                    // The kernel forwards packets that the tables cannot describe, as if they left
                    // by an interface that is not a port.
                    device: if *is_encapsulated { 0 } else { *device },
                    gateway: gateway.map(address),
                    weight: *weight,
                    is_dead: *is_dead,
                }),
                // A group is never a member of a group.
                Some(Leads::Group(_)) | None => {}
            }
        }
        if kind == kind::BLACKHOLE {
            hops.clear();
        }
        Route { kind, hops, ..Route::ELSEWHERE }
    }
}

fn address(address: IpAddr) -> Address {
    match address {
        IpAddr::V4(ip) => Address { family: Family::V4, bits: ip.to_bits().into() },
        IpAddr::V6(ip) => Address { family: Family::V6, bits: ip.to_bits() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn out(number: u32, device: u32) -> NextHop {
        let gateway = Some(IpAddr::from([10, 0, 0, number as u8]));
        let leads = Leads::Out { device, gateway, is_encapsulated: false, is_dead: false };
        NextHop { number, leads }
    }

    fn group(number: u32, members: &[(u32, u32)]) -> NextHop {
        NextHop { number, leads: Leads::Group(members.to_vec()) }
    }

    /// Returns the interfaces and weights of a route to an object.
    fn hops(objects: &Objects, object: u32) -> Vec<(u32, u32)> {
        let route = Route { object, ..Route::ELSEWHERE };
        objects.resolve(&route).hops.iter().map(|hop| (hop.device, hop.weight)).collect()
    }

    #[test]
    fn groups_follow_their_members() {
        let mut objects = Objects::default();
        // A dump may list a group first.
        objects.insert(group(9, &[(1, 1), (2, 3)]));
        assert_eq!(hops(&objects, 9), []);
        assert_eq!(objects.insert(out(1, 5)), BTreeSet::from([1, 9]));
        objects.insert(out(2, 6));
        assert_eq!(hops(&objects, 9), [(5, 1), (6, 3)]);
        assert_eq!(objects.insert(out(2, 6)), BTreeSet::new(), "nothing new");
        // One member is replaced, another removed.
        assert_eq!(objects.insert(out(2, 7)), BTreeSet::from([2, 9]));
        assert_eq!(hops(&objects, 9), [(5, 1), (7, 3)]);
        assert_eq!(objects.at(5), [1]);
        assert_eq!(objects.remove(1), (BTreeSet::from([1]), BTreeSet::from([9])));
        assert_eq!(hops(&objects, 9), [(7, 3)]);
        // Removing the last member removes the group.
        assert_eq!(objects.remove(2), (BTreeSet::from([2, 9]), BTreeSet::new()));
        assert_eq!(hops(&objects, 9), []);
    }

    #[test]
    fn an_object_discards_or_leads_to_the_kernel() {
        let mut objects = Objects::default();
        objects.insert(NextHop { number: 1, leads: Leads::Blackhole });
        objects.insert(group(2, &[(1, 1)]));
        let of = |object| Route { object, ..Route::ELSEWHERE };
        assert_eq!(objects.resolve(&of(2)).kind, kind::BLACKHOLE);
        let mut labelled = out(3, 5);
        if let Leads::Out { is_encapsulated, .. } = &mut labelled.leads {
            *is_encapsulated = true;
        }
        objects.insert(labelled);
        assert_eq!(hops(&objects, 3), [(0, 1)]);
        assert_eq!(*objects.resolve(&of(4)), ELSEWHERE);
        assert_eq!(*objects.resolve(&of(0)), of(0), "a route without an object");
    }
}
