//! The kernel's routes, as they are added and removed, in the tables of the machine.
//!
//! Next hops are neighbours of `r2` with separate MAC addresses, which exist only in the kernel's
//! table. The destination address of a frame shows its next hop.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{BufRead, Read};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{Forwarding, REPLY4, address, reaches, start, until};
use crate::network::{Namespace, Network};
use crate::patience::{TRY, patience};
use crate::wire::{self, Wire};

/// The neighbours 10.0.2.11 to 10.0.2.18, fe80::11 to fe80::18.
const NEIGHBOURS: std::ops::RangeInclusive<u8> = 11..=18;

/// Adds the neighbours to the kernel's table.
pub fn add_neighbours(router: &Namespace) {
    let mut text = String::new();
    for last in NEIGHBOURS {
        let mac = format!("02:00:00:00:02:{last:02}");
        for ip in [format!("10.0.2.{last}"), format!("fe80::{last}")] {
            let _ = writeln!(text, "neighbour replace {ip} lladdr {mac} dev r2 nud permanent");
        }
    }
    router.ip(&text);
}

/// Returns a UDP datagram to an address, from the left host to the router.
pub fn frame(to: &str, source_port: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 1, 2];
    let udp = [&source_port.to_be_bytes()[..], &[0, 9, 0, 12, 0, 0, 0, 0, 0, 0]].concat();
    match address(to) {
        std::net::IpAddr::V4(to) => {
            frame.extend([8, 0]);
            let mut ip = vec![0x45, 0, 0, 32, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 1, 2];
            ip.extend(to.octets());
            let sum = wireloom_net::wire::checksum::checksum(&ip);
            ip[10..12].copy_from_slice(&sum.to_be_bytes());
            frame.extend(ip);
        }
        std::net::IpAddr::V6(to) => {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 12, 17, 64]);
            frame.extend(address_octets("2001:db8:1::2"));
            frame.extend(to.octets());
        }
    }
    frame.extend(udp);
    frame
}

fn address_octets(text: &str) -> [u8; 16] {
    text.parse::<std::net::Ipv6Addr>().expect("an address").octets()
}

/// Sends frames and returns, for each that arrived at the other side, its next hop: the last byte
/// of the MAC address in decimal digits.
pub fn next_hops(network: &Network, frames: &[Vec<u8>]) -> Vec<Option<u8>> {
    // Earlier frames may still be on their way through the kernel: the last two bytes tell the
    // attempts apart.
    static ATTEMPT: AtomicU16 = AtomicU16::new(0);
    let attempt = ATTEMPT.fetch_add(1, Ordering::Relaxed).to_be_bytes();
    let marker = frame("10.0.2.18", 65_535);
    let marked = |frame: &Vec<u8>| [&frame[..frame.len() - 2], &attempt].concat();
    let (marker, frames) = (marked(&marker), frames.iter().map(marked).collect::<Vec<_>>());
    network.right.run(|| {
        let at_right = Wire::open().expect("a packet socket");
        let (at_left, ha) = network.left.run(|| {
            let index = wire::interface_index("ha").expect("an interface");
            (Wire::open().expect("a packet socket"), index)
        });
        for frame in &frames {
            at_left.send(ha, frame).expect("sent");
        }
        let deadline = Instant::now() + patience();
        let mut found = vec![None; frames.len()];
        // A link that comes up, or a neighbour that is replaced, may lose a marker.
        let mut send_at = Instant::now();
        loop {
            if Instant::now() >= send_at {
                assert!(send_at < deadline, "the last one");
                at_left.send(ha, &marker).expect("sent");
                send_at = Instant::now() + TRY;
            }
            let Some(arrived) = at_right.receive(send_at).expect("frames") else { continue };
            let bytes = &arrived.bytes;
            // Everything from the destination address on is unchanged.
            let same = |sent: &Vec<u8>| {
                let from = if sent[12] == 8 { 26 } else { 22 };
                bytes.len() == sent.len()
                    && bytes[12..14] == sent[12..14]
                    && bytes[from..] == sent[from..]
            };
            if same(&marker) {
                return found;
            }
            if let Some(at) = frames.iter().position(same) {
                found[at] = Some((bytes[5] >> 4) * 10 + (bytes[5] & 15));
            }
        }
    })
}

/// Waits until the reports of `--interval 1` count `more` further reads of everything.
fn wait_for_reads(forwarding: &mut Forwarding, more: u64) {
    let mut first = None;
    for line in forwarding.out.by_ref().lines() {
        let line = line.expect("text");
        let Some((_, rest)) = line.split_once("reads of everything: ") else { continue };
        let reads: u64 = rest.split(',').next().and_then(|n| n.parse().ok()).expect("a number");
        if reads >= *first.get_or_insert(reads) + more {
            return;
        }
    }
    panic!("the reports end");
}

#[test]
fn several_next_hops_share_the_flows_and_one_that_goes_moves_its_own_only() {
    let Some((network, forwarding)) = start(&["--set", "MULTIPATH=true"]) else { return };
    add_neighbours(&network.router);
    for (net, to, gateway) in [
        ("198.51.100.0/24", "198.51.100.1", "10.0.2."),
        ("2001:db8:9::/48", "2001:db8:9::1", "fe80::"),
    ] {
        let route = |members: &[(u8, u32)]| {
            let mut text = format!("route replace {net}");
            for (last, weight) in members {
                let _ = write!(text, " nexthop via {gateway}{last} dev r2 weight {weight}");
            }
            network.router.ip(&(text + "\n"));
        };
        let flows: Vec<_> = (1000..1400).map(|port| frame(to, port)).collect();
        let settled = |expected: &[u8]| {
            let expected: BTreeSet<_> = expected.iter().map(|last| Some(*last)).collect();
            until("the flows use these next hops", || {
                let found = next_hops(&network, &flows);
                // The result must be seen twice, so that no flow was sent while others were still
                // settling.
                let is_settled = found.iter().copied().collect::<BTreeSet<_>>() == expected
                    && next_hops(&network, &flows) == found;
                is_settled.then_some(found)
            })
        };
        route(&[(11, 1), (12, 1), (13, 2)]);
        let before = settled(&[11, 12, 13]);
        let share = |last: u8| before.iter().filter(|hop| **hop == Some(last)).count();
        assert!(share(13) > share(11) && share(13) > share(12), "{} of 400", share(13));
        assert!((50..=150).contains(&share(11)), "{} of 400", share(11));
        assert_eq!(next_hops(&network, &flows), before, "a flow keeps its next hop");

        route(&[(11, 1), (13, 2)]);
        let fewer = settled(&[11, 13]);
        for (old, new) in before.iter().zip(&fewer) {
            assert!(old == new || *old == Some(12), "{old:?} to {new:?}");
        }
        // The next hop comes back, and gets its flows back.
        route(&[(11, 1), (12, 1), (13, 2)]);
        assert_eq!(settled(&[11, 12, 13]), before);
        // The last next hop remains alone.
        route(&[(12, 1)]);
        settled(&[12]);
    }
    let report = forwarding.stop();
    assert!(report.contains("repaired: 0;"), "{report}");
}

#[test]
fn next_hops_are_resolved_before_there_is_traffic() {
    let Some((network, forwarding)) = start(&[]) else { return };
    network.router.ip("route add 198.51.100.0/24 via 10.0.2.2\n\
         route add 2001:db8:9::/48 via 2001:db8:2::2\n\
         route add 203.0.113.0/24 via 10.0.2.99\n");
    for gateway in ["10.0.2.2", "2001:db8:2::2"] {
        until(&format!("{gateway} is resolved"), || {
            let words = ["neighbour", "show", gateway, "dev", "r2"];
            network.router.ip_show(&words).contains("lladdr 02:00:00:00:02:02").then_some(())
        });
    }
    forwarding.stop();
}

#[test]
fn the_route_with_the_lowest_metric_is_used_while_it_is_there() {
    let Some((network, forwarding)) = start(&[]) else { return };
    add_neighbours(&network.router);
    let leads = |to: &str, expected: Option<u8>| {
        until(&format!("{to} by {expected:?}"), || {
            (next_hops(&network, &[frame(to, 7)]) == [expected]).then_some(())
        });
    };
    for (net, to, gateway) in [
        ("198.51.100.0/24", "198.51.100.1", "10.0.2."),
        ("2001:db8:9::/48", "2001:db8:9::1", "fe80::"),
    ] {
        let ip = |text: &str| network.router.ip(&format!("{text}\n"));
        ip(&format!("route add {net} via {gateway}12 dev r2 metric 20"));
        leads(to, Some(12));
        ip(&format!("route add {net} via {gateway}11 dev r2 metric 10"));
        leads(to, Some(11));
        ip(&format!("route add blackhole {net} metric 5"));
        leads(to, None);
        ip(&format!("route del blackhole {net} metric 5"));
        leads(to, Some(11));
        ip(&format!("route del {net} metric 10"));
        leads(to, Some(12));
        ip(&format!("route del {net} metric 20"));
        leads(to, None);
    }
    let report = forwarding.stop();
    assert!(report.contains("repaired: 0;"), "{report}");
}

#[test]
fn tables_of_the_kernel_are_looked_in_one_after_the_other() {
    let options = ["--table", "local", "--table", "100", "--table", "main"];
    let Some((network, forwarding)) = start(&options) else { return };
    add_neighbours(&network.router);
    network.router.ip("route add 198.51.100.0/24 via 10.0.2.11\n\
         route add 198.51.0.0/16 via 10.0.2.12 table 100\n\
         route add 203.0.113.0/24 via 10.0.2.13\n");
    let leads = |to: &str, expected: Option<u8>| {
        until(&format!("{to} by {expected:?}"), || {
            (next_hops(&network, &[frame(to, 7)]) == [expected]).then_some(())
        });
    };
    leads("203.0.113.1", Some(13));
    leads("198.51.100.1", Some(12));
    network.router.ip("route del 198.51.0.0/16 table 100\n");
    leads("198.51.100.1", Some(11));
    forwarding.stop();
}

/// Returns prefix number `index`, and an address in it.
fn flapping(index: usize) -> (String, String) {
    match index % 2 {
        0 => (format!("10.100.{index}.0/24"), format!("10.100.{index}.1")),
        _ => (format!("2001:db8:100:{index}::/64"), format!("2001:db8:100:{index}::1")),
    }
}

/// Returns a change of a random route. The kernel refuses many of them.
fn change(random: &mut ChaCha8Rng, prefixes: usize) -> String {
    let (net, _) = flapping(random.random_range(0..prefixes));
    let gateway = if net.contains(':') { "fe80::" } else { "10.0.2." };
    let hop = format!("via {gateway}{} dev r2", random.random_range(NEIGHBOURS));
    let metric = format!("metric {}", random.random_range(1..4));
    let version = if net.contains(':') { "-6" } else { "-4" };
    let how = match random.random_range(0..10) {
        0..3 => format!("replace {net} {hop} {metric}"),
        3 => format!("append {net} {hop} {metric}"),
        4 => format!("prepend {net} {hop} {metric}"),
        5 => format!("replace blackhole {net} {metric}"),
        6 => format!("replace unreachable {net} {metric}"),
        7 => format!("del {net} {hop} {metric}"),
        _ => format!("del {net} {metric}"),
    };
    // The kernel joins IPv6 routes of one metric into one route with several next hops, and chooses
    // a next hop by its own hash.
    let how = match version {
        "-6" => how.replace("append ", "replace ").replace("prepend ", "replace "),
        _ => how,
    };
    format!("route {how}\n")
}

/// The numbers of next hop objects with gateways of each version.
const OBJECTS: [std::ops::RangeInclusive<u32>; 2] = [1..=5, 6..=10];

/// Returns a change as [`change`] does, or one of next hop objects and routes that name them.
fn change_with_objects(random: &mut ChaCha8Rng, prefixes: usize) -> String {
    let version = random.random_range(0..2);
    let object = random.random_range(OBJECTS[version].clone());
    let gateway = ["10.0.2.", "fe80::"][version];
    match random.random_range(0..8) {
        0 => {
            let last = random.random_range(NEIGHBOURS);
            format!("nexthop replace id {object} via {gateway}{last} dev r2\n")
        }
        1 if version == 0 && random.random_range(0..4) == 0 => {
            format!("nexthop replace id {object} blackhole\n")
        }
        1 => format!("nexthop del id {object}\n"),
        2..5 => {
            let (net, _) = flapping(random.random_range(0..prefixes));
            let metric = random.random_range(1..4);
            format!("route replace {net} nhid {object} metric {metric}\n")
        }
        _ => change(random, prefixes),
    }
}

/// Returns the kernel's next hop for each address.
pub fn kernels<'a>(
    router: &Namespace,
    addresses: impl Iterator<Item = &'a str>,
) -> Vec<Option<u8>> {
    let hop = |text: &str| {
        let via = text.split_once(" via ")?.1.trim_start_matches("inet6 ").split(' ').next()?;
        via.rsplit(['.', ':']).next()?.parse::<u8>().ok()
    };
    addresses.map(|address| hop(&router.ip_route_get(address))).collect()
}

/// Makes routes flap, and compares the machine's forwarding with the kernel's table.
fn flap(
    network: &Network,
    changes: usize,
    prefixes: usize,
    change: fn(&mut ChaCha8Rng, usize) -> String,
) {
    let options = ["--reconcile", "1", "--interval", "1"];
    let Some(mut forwarding) = Forwarding::start(network, &options) else { return };
    add_neighbours(&network.router);
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for _ in 0..4 {
        let text: String = (0..changes / 4).map(|_| change(&mut random, prefixes)).collect();
        network.router.ip_force(&text);
        let addresses: Vec<_> = (0..prefixes).map(|index| flapping(index).1).collect();
        let expected = kernels(&network.router, addresses.iter().map(String::as_str));
        let frames: Vec<_> = addresses.iter().map(|to| frame(to, 7)).collect();
        until("the machine forwards as the kernel would", || {
            let found = next_hops(network, &frames);
            let differing = found.iter().zip(&expected).filter(|(one, other)| one != other);
            (differing.count() == 0).then_some(())
        });
        let ways: BTreeMap<_, usize> = expected.iter().fold(BTreeMap::new(), |mut ways, hop| {
            *ways.entry(*hop).or_default() += 1;
            ways
        });
        assert!(ways.len() > 4, "too uniform to tell: {ways:?}");
    }
    wait_for_reads(&mut forwarding, 2);
    let report = forwarding.stop();
    assert!(report.contains("repaired: 0;"), "{report}");
}

#[test]
fn routes_that_flap_end_as_in_the_kernel_and_nothing_is_repaired() {
    let Some(network) = network() else { return };
    flap(&network, 1000, 64, change);
}

#[test]
fn next_hop_objects_that_flap_end_as_in_the_kernel_and_nothing_is_repaired() {
    for mode in ["0", "1"] {
        let Some(network) = network() else { return };
        network.router.set("ipv4/nexthop_compat_mode", mode);
        flap(&network, 1000, 64, change_with_objects);
    }
}

fn network() -> Option<Network> {
    let made = Network::new();
    made.inspect_err(|error| eprintln!("warning: nothing was tested: {error}")).ok()
}

#[test]
fn next_hop_objects_are_followed_whatever_the_kernel_says_about_their_routes() {
    // 0: the kernel names only the object. 1: it also names the object's gateway.
    for mode in ["0", "1"] {
        let Some(network) = network() else { return };
        network.router.set("ipv4/nexthop_compat_mode", mode);
        let ip = |text: &str| network.router.ip(text);
        add_neighbours(&network.router);
        // These objects exist when the command starts.
        ip("nexthop add id 1 via 10.0.2.11 dev r2\n\
            nexthop add id 2 via 10.0.2.12 dev r2\n\
            nexthop add id 6 via fe80::13 dev r2\n\
            nexthop add id 100 group 1\n\
            route add 198.51.100.0/24 nhid 1\n\
            route add 198.51.100.0/24 via 10.0.2.18 metric 9\n\
            route add 203.0.113.0/24 nhid 100\n\
            route add 2001:db8:9::/48 nhid 6\n");
        let options = ["--set", "MULTIPATH=true", "--reconcile", "1", "--interval", "1"];
        let Some(mut forwarding) = Forwarding::start(&network, &options) else { return };
        let leads = |to: &str, expected: &[Option<u8>]| {
            let expected: BTreeSet<_> = expected.iter().copied().collect();
            let flows: Vec<_> = (1000..1064).map(|port| frame(to, port)).collect();
            until(&format!("{to} by {expected:?}, mode {mode}"), || {
                let found: BTreeSet<_> = next_hops(&network, &flows).into_iter().collect();
                (found == expected).then_some(())
            });
        };
        let [one, group, v6] = ["198.51.100.1", "203.0.113.1", "2001:db8:9::1"];
        leads(one, &[Some(11)]);
        leads(group, &[Some(11)]);
        leads(v6, &[Some(13)]);
        // Another gateway, for routes of the object and of the group that contains it.
        ip("nexthop replace id 1 via 10.0.2.14 dev r2\n");
        leads(one, &[Some(14)]);
        leads(group, &[Some(14)]);
        // An IPv6 gateway for IPv4 routes. Members come and go.
        ip("nexthop replace id 1 via fe80::15 dev r2\nnexthop replace id 100 group 1/2,2\n");
        leads(one, &[Some(15)]);
        leads(group, &[Some(12), Some(15)]);
        ip("nexthop del id 2\n");
        leads(group, &[Some(15)]);
        ip("nexthop add id 3 blackhole\nroute add 198.51.101.0/24 nhid 3\n\
            route add 198.51.0.0/16 nhid 1\n");
        leads("198.51.101.1", &[None]);
        leads("198.51.102.1", &[Some(15)]);
        // Deleting an object deletes its routes, and a group whose last member it was.
        ip("nexthop del id 1\nnexthop del id 6\n");
        leads(one, &[Some(18)]);
        leads(group, &[None]);
        leads(v6, &[None]);
        // So does a link, whose objects disappear without a notification.
        ip("nexthop add id 1 via 10.0.2.11 dev r2\nroute add 203.0.113.0/24 nhid 1\n");
        leads(group, &[Some(11)]);
        ip("link set r2 down\nlink set r2 up\n");
        add_neighbours(&network.router);
        ip("route add 203.0.113.0/24 via 10.0.2.17\n");
        leads(group, &[Some(17)]);
        wait_for_reads(&mut forwarding, 2);
        let report = forwarding.stop();
        assert!(report.contains("repaired: 0;"), "{report}");
    }
}

#[test]
fn traffic_moves_when_a_link_goes_down() {
    let network = match Network::new() {
        Ok(network) => network,
        Err(error) => return eprintln!("warning: nothing was tested: {error}"),
    };
    network.add_third();
    let ports = ["r1", "r2", "r3"];
    let Some(forwarding) = Forwarding::start_in(&network.router, &ports, &[]) else { return };
    network.right.ip("address add 198.51.100.1/32 dev lo\n");
    network.router.ip("route add 198.51.100.1 via 10.0.2.2 metric 10\n\
         route add 198.51.100.1 via 10.0.3.2 metric 20\n");
    let reply = (address("198.51.100.1"), REPLY4, 0);
    reaches(&network.left, "198.51.100.1", 64, reply);
    let times = [(); 3].map(|()| {
        network.router.ip("link set r2 down\n");
        let begin = Instant::now();
        reaches(&network.left, "198.51.100.1", 64, reply);
        let time = begin.elapsed();
        network.router.ip("link set r2 up\nroute add 198.51.100.1 via 10.0.2.2 metric 10\n");
        reaches(&network.left, "198.51.100.1", 64, reply);
        time
    });
    forwarding.stop();
    // One change may be late: other work uses the processors too.
    let within = times.iter().filter(|time| **time < Duration::from_secs(1)).count();
    assert!(within >= 2, "{times:?}");
}

#[test]
fn notifications_that_the_kernel_lost_lead_to_a_new_read() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let json = folder.path().join("counters.json");
    let options = ["--json", json.to_str().expect("a path")];
    let Some((network, forwarding)) = start(&options) else { return };
    add_neighbours(&network.router);
    // More notifications than the socket holds, while nobody reads it.
    forwarding.signal(libc::SIGSTOP);
    let mut text = String::new();
    for index in 0..90_000 {
        let (high, low) = (index >> 8, index & 255);
        let (a, b) = (high >> 8, high & 255);
        let _ = writeln!(text, "route add 20.{a}.{b}.{low} via 10.0.2.{} ", 11 + index % 7);
    }
    network.router.ip(&text);
    forwarding.signal(libc::SIGCONT);
    let frames = [frame("20.0.0.0", 7), frame("20.1.95.143", 7)];
    let expected = [11, 11 + (0x1_5f8f % 7) as u8].map(Some);
    // The kernel forwards packets that have no route in our tables.
    until("the routes are there", || {
        let before = network.router.forwarded();
        let is_right = next_hops(&network, &frames) == expected;
        (is_right && network.router.forwarded() == before).then_some(())
    });
    forwarding.stop();
    let written = std::fs::read_to_string(json).expect("a file");
    let report: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    let kernel = &report["kernel"];
    assert!(kernel["overruns"].as_u64() > Some(0), "{kernel}");
    assert_eq!((&kernel["repairs"], &kernel["failures"]), (&0.into(), &0.into()), "{kernel}");
}
