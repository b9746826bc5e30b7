//! The contents of a router's tables that correspond to the kernel's routes, neighbours and links.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;
use std::net::{Ipv4Addr, Ipv6Addr};

use wireloom_net::tables::{Family, Prefix};

use super::netlink::{Links, Neighbours};

/// A route of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// `RTN_...` of linux/rtnetlink.h.
    pub kind: u8,
    /// Index of the outgoing interface, if there is one.
    pub device: u32,
    /// Right-aligned bits; 0: the destination is on the link.
    pub gateway: u128,
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

/// `Route_kind` of programs/include/forwarding.loom.
mod meaning {
    pub const FORWARD: u8 = 1;
    pub const OWN: u8 = 2;
    pub const DIRECTED_BROADCAST: u8 = 3;
    pub const CONNECTED: u8 = 4;
    pub const REJECT: u8 = 5;
    pub const DISCARD: u8 = 6;
}

/// Routes by prefix: of the kernel's table `local` where it has one, else of `main`.
pub type Routes = BTreeMap<Prefix, Route>;

/// Rows of tables as text, by table and key. The first table is updated first.
pub type Rows = BTreeMap<(usize, String), String>;

/// The tables, in the order in which they are updated: a route never names a next hop that is not
/// yet there.
pub const TABLES: [&str; 6] =
    ["ports", "next_hops", "sources4", "sources6", "destinations4", "destinations6"];

/// A neighbour that packets are sent to: interface and address.
type NextHop = (u32, u128);

/// The numbers of next hops. Number 0 is a next hop without a link address: the machine hands its
/// packets to the kernel, which sends them by an interface that is no port, or resolves the
/// neighbour.
#[derive(Default)]
pub struct NextHops {
    numbers: HashMap<NextHop, u32>,
    /// Numbers that were given back. They are reused by a later update only, when no route uses them
    /// any more.
    free: Vec<u32>,
    most: u32,
}

impl NextHops {
    fn number(&mut self, hop: NextHop) -> u32 {
        *self.numbers.entry(hop).or_insert_with(|| {
            self.free.pop().unwrap_or_else(|| {
                self.most += 1;
                self.most
            })
        })
    }

    /// The neighbours that have numbers.
    pub fn neighbours(&self) -> impl Iterator<Item = &(u32, u128)> {
        self.numbers.keys()
    }

    /// Gives numbers back that no route uses.
    fn keep(&mut self, used: &HashMap<NextHop, u32>) {
        let free = &mut self.free;
        self.numbers.retain(|hop, number| {
            let is_used = used.contains_key(hop);
            if !is_used {
                free.push(*number);
            }
            is_used
        });
    }
}

/// Returns the rows for the kernel's state. `ports` has the interface of each port. `limit` is the
/// number of next hops that the table holds; further ones are the kernel's to serve.
pub fn rows(
    ports: &[u32],
    links: &Links,
    neighbours: &Neighbours,
    routes: &Routes,
    hops: &mut NextHops,
    limit: u32,
) -> Rows {
    let mut rows = Rows::new();
    for (number, index) in ports.iter().enumerate() {
        if let Some(link) = links.get(index) {
            rows.insert((0, number.to_string()), format!("mac={}", mac(link.mac)));
        }
    }
    let port = |device: u32| ports.iter().position(|index| *index == device);
    let mut used: HashMap<NextHop, u32> = HashMap::new();
    let mut number = |hop: NextHop| {
        if port(hop.0).is_none() || !neighbours.contains_key(&hop) {
            return 0;
        }
        let number = hops.number(hop);
        if number >= limit {
            return 0;
        }
        used.insert(hop, number);
        number
    };
    for (prefix, route) in routes {
        let (meaning, hop) = match route.kind {
            kind::UNICAST if route.gateway != 0 => {
                (meaning::FORWARD, number((route.device, route.gateway)))
            }
            kind::UNICAST => (meaning::CONNECTED, 0),
            kind::LOCAL | kind::ANYCAST => (meaning::OWN, 0),
            kind::BROADCAST => (meaning::DIRECTED_BROADCAST, 0),
            kind::BLACKHOLE => (meaning::DISCARD, 0),
            kind::UNREACHABLE | kind::PROHIBIT => (meaning::REJECT, 0),
            _ => continue,
        };
        insert(&mut rows, *prefix, meaning, hop);
    }
    // Neighbours on the link that are resolved: the destination is its own next hop.
    for &(device, address) in neighbours.keys() {
        for family in [Family::V4, Family::V6] {
            let is_on_link = best(routes, family, address).is_some_and(|(prefix, route)| {
                let on_link = route.kind == kind::UNICAST && route.gateway == 0;
                on_link && route.device == device && prefix.length() > 0
            });
            let is_of_family = family == Family::V6 || address <= u128::from(u32::MAX);
            if let Some(host) = Prefix::new(family, address, family.width())
                && is_of_family
                && is_on_link
                && port(device).is_some()
            {
                insert(&mut rows, host, meaning::FORWARD, number((device, address)));
            }
        }
    }
    for (hop, number) in &used {
        let (Some(link), Some(to), Some(port)) =
            (links.get(&hop.0), neighbours.get(hop), port(hop.0))
        else {
            continue;
        };
        // Labels count towards the MTU, which has 16 bits in the table.
        let mtu = link.mtu.min(65_535);
        let value = format!("port={port} dst={} src={} mtu={mtu}", mac(*to), mac(link.mac));
        rows.insert((1, number.to_string()), value);
    }
    hops.keep(&used);
    rows
}

/// Adds a route to the tables of destinations and of sources.
fn insert(rows: &mut Rows, prefix: Prefix, meaning: u8, hop: u32) {
    let (sources, destinations, address) = match prefix.family() {
        Family::V4 => (2, 4, Ipv4Addr::from_bits(prefix.bits() as u32).to_string()),
        Family::V6 => (3, 5, Ipv6Addr::from_bits(prefix.bits()).to_string()),
    };
    let key = format!("{address}/{}", prefix.length());
    rows.insert((sources, key.clone()), format!("kind={meaning}"));
    rows.insert((destinations, key), format!("next_hop={hop} kind={meaning}"));
}

/// The longest prefix of an address that has a route.
fn best(routes: &Routes, family: Family, address: u128) -> Option<(Prefix, Route)> {
    (0..=family.width()).rev().find_map(|length| {
        let prefix = Prefix::new(family, address, length)?;
        routes.get(&prefix).map(|route| (prefix, *route))
    })
}

/// Writes what turns `old` into `new`, in the notation of update files. Rows of tables that `has`
/// refuses are left out. Returns the text and the number of changes.
pub fn changes(old: &Rows, new: &Rows, has: impl Fn(&str) -> bool) -> (String, u64) {
    let (mut text, mut count) = (String::from("at 0\n"), 0);
    let mut table = None;
    let mut write = |index: usize, line: std::fmt::Arguments<'_>| {
        if !has(TABLES[index]) {
            return;
        }
        if table != Some(index) {
            table = Some(index);
            let _ = writeln!(text, "table {}", TABLES[index]);
        }
        let _ = writeln!(text, "{line}");
        count += 1;
    };
    for (row @ (index, key), value) in new {
        if old.get(row) != Some(value) {
            write(*index, format_args!("{key} {value}"));
        }
    }
    // The entries of arrays stay: nothing refers to them.
    for (index, key) in old.keys().filter(|row| row.0 > 1 && !new.contains_key(row)) {
        write(*index, format_args!("remove {key}"));
    }
    (text, count)
}

fn mac(bytes: [u8; 6]) -> String {
    bytes.map(|byte| format!("{byte:02x}")).join(":")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mirror::netlink::Link;

    const GATEWAY: u128 = 0x0a00_0002;

    fn prefix(text: &str, length: u32) -> Prefix {
        let address: Ipv4Addr = text.parse().expect("an address");
        Prefix::new(Family::V4, address.to_bits().into(), length).expect("a prefix")
    }

    fn state() -> (Links, Neighbours, Routes) {
        let link = |byte| Link { mac: [2, 0, 0, 0, 0, byte], mtu: 1500 };
        let links = Links::from([(7, link(1)), (9, link(2))]);
        let neighbours = Neighbours::from([((7, GATEWAY), [2, 0, 0, 0, 1, 1])]);
        let route = |kind, device, gateway| Route { kind, device, gateway };
        let routes = Routes::from([
            (prefix("10.0.0.0", 24), route(kind::UNICAST, 7, 0)),
            (prefix("10.0.0.1", 32), route(kind::LOCAL, 7, 0)),
            (prefix("192.0.2.0", 24), route(kind::UNICAST, 7, GATEWAY)),
            (prefix("198.51.100.0", 24), route(kind::UNICAST, 5, GATEWAY)),
            (prefix("203.0.113.0", 24), route(kind::BLACKHOLE, 0, 0)),
        ]);
        (links, neighbours, routes)
    }

    fn value(rows: &Rows, table: usize, key: &str) -> String {
        rows.get(&(table, key.to_owned())).cloned().unwrap_or_default()
    }

    #[test]
    fn routes_lead_to_resolved_neighbours_of_ports() {
        let (links, mut neighbours, routes) = state();
        let mut hops = NextHops::default();
        let rows_of = |neighbours: &Neighbours, hops: &mut NextHops| {
            rows(&[7, 9], &links, neighbours, &routes, hops, 100)
        };
        let all = rows_of(&neighbours, &mut hops);
        assert_eq!(value(&all, 0, "1"), "mac=02:00:00:00:00:02");
        assert_eq!(
            value(&all, 1, "1"),
            "port=0 dst=02:00:00:00:01:01 src=02:00:00:00:00:01 mtu=1500"
        );
        for (key, expected) in [
            ("192.0.2.0/24", "next_hop=1 kind=1"),
            ("10.0.0.2/32", "next_hop=1 kind=1"),
            ("10.0.0.0/24", "next_hop=0 kind=4"),
            ("10.0.0.1/32", "next_hop=0 kind=2"),
            // By an interface that is no port: the kernel's part.
            ("198.51.100.0/24", "next_hop=0 kind=1"),
            ("203.0.113.0/24", "next_hop=0 kind=6"),
        ] {
            assert_eq!(value(&all, 4, key), expected, "{key}");
        }
        neighbours.clear();
        let none = rows_of(&neighbours, &mut hops);
        assert_eq!(value(&none, 4, "192.0.2.0/24"), "next_hop=0 kind=1");
        let (text, count) = changes(&all, &none, |_| true);
        assert_eq!(
            text,
            "at 0\ntable destinations4\n192.0.2.0/24 next_hop=0 kind=1\n\
             table sources4\nremove 10.0.0.2/32\ntable destinations4\nremove 10.0.0.2/32\n"
        );
        assert_eq!(count, 3);
    }

    #[test]
    fn more_next_hops_than_the_table_holds_are_the_kernels() {
        let (links, neighbours, routes) = state();
        let rows = rows(&[7], &links, &neighbours, &routes, &mut NextHops::default(), 1);
        assert_eq!(value(&rows, 4, "192.0.2.0/24"), "next_hop=0 kind=1");
    }

    #[test]
    fn tables_that_a_program_does_not_have_are_left_out() {
        let (links, neighbours, routes) = state();
        let rows = rows(&[7], &links, &neighbours, &routes, &mut NextHops::default(), 100);
        let (text, count) = changes(&Rows::new(), &rows, |table| table == "ports");
        assert_eq!((text.as_str(), count), ("at 0\ntable ports\n0 mac=02:00:00:00:00:01\n", 1));
    }
}
