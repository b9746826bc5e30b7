use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::memory::tests::fake;

const LOCAL: u32 = 255;
const MAIN: u32 = 254;

fn gateway(last: u8) -> Hop {
    let bits = u128::from(0x0a00_0000 + u32::from(last));
    let gateway = Some(Address { family: Family::V4, bits });
    Hop { device: 7, gateway, weight: 1, is_dead: false }
}

fn via(prefix: &str, metric: u32, hops: &[Hop]) -> Said {
    let prefix = prefix.parse().expect("a prefix");
    let route = Route { hops: hops.to_vec(), ..Route::ELSEWHERE };
    Said { table: MAIN, prefix, metric, route, expires: None }
}

fn hops(fib: &Fib, prefix: &str) -> Vec<Hop> {
    let route = fib.route(prefix.parse().expect("a prefix"));
    route.map(|route| route.hops.clone()).unwrap_or_default()
}

const NET: &str = "192.0.2.0/24";

#[test]
fn the_lowest_metric_is_used_and_the_next_one_when_it_goes() {
    let mut fib = Fib::new(&[LOCAL, MAIN], None);
    fib.insert(via(NET, 20, &[gateway(2)]), Joins::Before);
    fib.insert(via(NET, 10, &[gateway(1)]), Joins::Before);
    fib.insert(via(NET, 30, &[gateway(3)]), Joins::Before);
    assert_eq!(hops(&fib, NET), [gateway(1)]);
    fib.remove(&via(NET, 10, &[gateway(1)]));
    assert_eq!(hops(&fib, NET), [gateway(2)]);
    // The interface goes down.
    let dead = Hop { is_dead: true, ..gateway(2) };
    fib.insert(via(NET, 20, &[dead]), Joins::InPlace);
    assert_eq!(hops(&fib, NET), [gateway(3)]);
    fib.remove(&via(NET, 30, &[gateway(3)]));
    fib.remove(&via(NET, 20, &[gateway(2)]));
    assert_eq!((hops(&fib, NET), fib.len()), (vec![], 0));
}

#[test]
fn equal_metrics_are_tried_in_the_kernels_order() {
    let mut fib = Fib::new(&[MAIN], None);
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
    let mut fib = Fib::new(&[MAIN], None);
    fib.add(via(NET, 0, &[gateway(2)]));
    // These notifications are older than the dump, in order.
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
    let mut fib = Fib::new(&[MAIN], None);
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
    let mut fib = Fib::new(&[100, MAIN], None);
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
    // This table is not followed.
    let other = Said { table: 7, ..via("10.9.0.0/16", 0, &[gateway(1)]) };
    assert!(fib.insert(other, Joins::Before).is_empty());
}

#[test]
fn without_room_for_all_routes_every_address_is_the_kernels() {
    let used = Arc::new(AtomicU64::new(0));
    let memory = Arc::new(fake(1 << 30, &used));
    let mut fib = Fib::new(&[LOCAL, MAIN], Some(memory));
    let add = |fib: &mut Fib, number: u32| {
        let prefix = format!("10.{}.{}.0/24", number >> 8, number & 0xff);
        fib.insert(via(&prefix, 0, &[gateway(1)]), Joins::Before);
    };
    (0..LOOK_EVERY as u32 * 2).for_each(|number| add(&mut fib, number));
    assert_eq!((fib.len(), fib.given_up()), (LOOK_EVERY * 2, None));
    assert_eq!(fib.bytes(), (LOOK_EVERY * 2) as u64 * ROUTE_BYTES);
    used.store(1 << 30, Ordering::Relaxed);
    (0..LOOK_EVERY as u32 + 5).for_each(|number| add(&mut fib, 1000 + number));
    assert_eq!((fib.len(), fib.given_up()), (2, Some(5)));
    for (family, bits) in [(Family::V4, 0x0a00_0001), (Family::V6, 1 << 127)] {
        let (prefix, route) = fib.longest(Address { family, bits }).expect("a route");
        assert_eq!((prefix.length(), route), (0, &Route::ELSEWHERE));
    }
    // A notification does not change that.
    assert!(fib.remove(&via("0.0.0.0/0", 0, &[gateway(1)])).is_empty());
    assert_eq!(fib.len(), 2);
}

/// Limits a route to packets of one type of service, or makes it `throw`.
fn apart(said: Said, service: u8, is_thrown: bool) -> Said {
    let apart = Apart { selector: Selector { service, ..Selector::default() }, is_thrown };
    Said { route: Route { apart: Some(apart), ..said.route }, ..said }
}

#[test]
fn a_route_with_the_largest_metric_is_the_last() {
    let mut fib = Fib::new(&[MAIN], None);
    let default = "0.0.0.0/0";
    let mut last = via(default, u32::MAX, &[]);
    last.route.kind = kind::UNREACHABLE;
    fib.insert(via(default, 0, &[gateway(1)]), Joins::Before);
    fib.insert(last, Joins::Before);
    assert_eq!(hops(&fib, default), [gateway(1)]);
    fib.remove(&via(default, 0, &[gateway(1)]));
    let route = fib.route(default.parse().expect("a prefix")).expect("a route");
    assert_eq!(route.kind, kind::UNREACHABLE);
}

#[test]
fn routes_that_stay_apart_come_before_all_metrics() {
    let mut fib = Fib::new(&[MAIN], None);
    fib.insert(via(NET, 10, &[gateway(1)]), Joins::Before);
    fib.insert(apart(via(NET, 20, &[gateway(2)]), 4, false), Joins::Before);
    fib.insert(apart(via(NET, 20, &[gateway(2)]), 8, false), Joins::InPlace);
    assert_eq!(hops(&fib, NET), [], "the kernel forwards");
    // A selector and a metric identify each route.
    fib.remove(&apart(via(NET, 20, &[gateway(2)]), 4, false));
    fib.remove(&apart(via(NET, 30, &[gateway(2)]), 8, false));
    assert_eq!(hops(&fib, NET), []);
    fib.remove(&apart(via(NET, 20, &[gateway(2)]), 8, false));
    assert_eq!(hops(&fib, NET), [gateway(1)]);
}

#[test]
fn throw_and_other_routes_replace_each_other() {
    let mut fib = Fib::new(&[MAIN], None);
    fib.insert(via(NET, 10, &[gateway(1)]), Joins::Before);
    fib.insert(apart(via(NET, 10, &[]), 0, true), Joins::InPlace);
    let parsed = NET.parse().expect("a prefix");
    assert_eq!(fib.route(parsed), Some(&Route::ELSEWHERE));
    fib.insert(via(NET, 10, &[gateway(2)]), Joins::InPlace);
    assert_eq!(hops(&fib, NET), [gateway(2)]);
    fib.remove(&via(NET, 10, &[gateway(2)]));
    assert_eq!(fib.route(parsed), None);
}
