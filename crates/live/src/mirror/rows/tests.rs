use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::memory::tests::fake;
use crate::mirror::encode::NEXT_HOPS;
use crate::mirror::fib::{Apart, Joins, Route, Said, Selector};
use crate::mirror::netlink::{Link, Reach};

fn gateway(last: u8) -> Address {
    Address { family: Family::V4, bits: 0x0a00_0000 + u128::from(last) }
}

fn said(prefix: &str, kind: u8, hops: &[(u32, Option<Address>)]) -> Said {
    let hop = |&(device, gateway)| Hop { device, gateway, weight: 1, is_dead: false };
    let route = Route { kind, hops: hops.iter().map(hop).collect(), ..Route::ELSEWHERE };
    Said { table: 254, prefix: prefix.parse().expect("a prefix"), metric: 0, route, expires: None }
}

fn state() -> State {
    let link = |byte| Link { mac: [2, 0, 0, 0, 0, byte], mtu: 1500, up: (true, true) };
    let reach = Reach { mac: [2, 0, 0, 0, 1, 1], is_permanent: false };
    let mut fib = Fib::new(&[254], None);
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

fn bring_all(rows: &mut Rows, state: &State) -> Vec<Change> {
    let mut sweep = rows.sweep();
    std::iter::from_fn(|| rows.next(state, &mut sweep)).flatten().collect()
}

fn route(changes: &[Change], prefix: &str) -> Option<(u8, u32)> {
    changes.iter().find_map(|change| match change {
        Change::Route(at, row, _) if at.to_string() == prefix => Some((row.kind, row.next_hop)),
        _ => None,
    })
}

#[test]
fn routes_lead_to_neighbours_of_ports() {
    let mut rows = Rows::new(vec![Some(7), Some(9)], 1..100, 0..0, None);
    let mut state = state();
    let changes = bring_all(&mut rows, &state);
    assert!(changes.contains(&Change::Port(1, [2, 0, 0, 0, 0, 2])));
    let resolved = HopRow { port: 0, dst: [2, 0, 0, 0, 1, 1], src: [2, 0, 0, 0, 0, 1], mtu: 1500 };
    assert!(changes.contains(&Change::NextHop(1, resolved)));
    for (prefix, expected) in [
        ("192.0.2.0/24", (meaning::FORWARD, 1)),
        ("10.0.0.2/32", (meaning::FORWARD, 1)),
        ("10.0.0.0/24", (meaning::CONNECTED, 0)),
        ("10.0.0.1/32", (meaning::OWN, 0)),
        // The next hop is at an interface that is not a port: the kernel forwards.
        ("198.51.100.0/24", (meaning::FORWARD, 0)),
        ("203.0.113.0/24", (meaning::DISCARD, 0)),
    ] {
        assert_eq!(route(&changes, prefix), Some(expected), "{prefix}");
    }
    assert!(bring_all(&mut rows, &state).is_empty());

    // The neighbour goes: its row and its own route change, but no other route.
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
fn the_smallest_mtu_of_route_link_and_version_counts() {
    let mut rows = Rows::new(vec![Some(7), Some(9)], 50..100, 0..0, None);
    let mut state = state();
    bring_all(&mut rows, &state);
    let via = |prefix: &str, mtu| {
        let mut said = said(prefix, kind::UNICAST, &[(7, Some(gateway(2)))]);
        said.route.mtu = mtu;
        said
    };
    rows.mtus6 = vec![Some(1400), None];
    for (prefix, mtu, expected) in [
        ("172.16.0.0/16", 1300, 1300),
        ("172.17.0.0/16", 9000, 1500),
        ("172.18.0.0/16", 0, 1500),
        ("2001:db8:1::/48", 1300, 1300),
        ("2001:db8:2::/48", 0, 1400),
    ] {
        let prefixes = state.fib.insert(via(prefix, mtu), Joins::After).into_iter().collect();
        let changes = rows.update(&state, &Dirty { prefixes, ..Dirty::default() });
        let (_, number) = route(&changes, prefix).expect("a route");
        assert!(number >= 50, "a number of the range: {number}");
        let place = rows.hops.place(number).expect("a number of the range");
        assert_eq!(rows.hop_rows[place].mtu, expected, "{prefix}");
    }
    // All of these rows belong to one neighbour, which goes.
    state.neighbours.clear();
    let neighbours = BTreeSet::from([(gateway(2), 7)]);
    let changes = rows.update(&state, &Dirty { neighbours, ..Dirty::default() });
    let gone = |change: &&Change| matches!(change, Change::NextHop(_, row) if row.port == 0 && row.mtu == 0);
    assert_eq!(changes.iter().filter(gone).count(), 5);
    assert_eq!(rows.neighbours().collect::<Vec<_>>(), [&(gateway(2), 7)]);
}

#[test]
fn routes_that_the_tables_cannot_describe_are_the_kernels() {
    let mut rows = Rows::new(vec![Some(7), Some(9)], 1..100, 0..0, None);
    let mut state = state();
    bring_all(&mut rows, &state);
    let prefix = "192.0.2.0/24";
    let apart = |service| {
        let selector = Selector { service, ..Selector::default() };
        let apart = Some(Apart { selector, is_thrown: false });
        Said { route: Route { apart, ..Route::ELSEWHERE }, ..said(prefix, kind::UNICAST, &[]) }
    };
    let mut change = |change: &dyn Fn(&mut Fib) -> Vec<Prefix>| {
        let prefixes = change(&mut state.fib).into_iter().collect();
        let changes = rows.update(&state, &Dirty { prefixes, ..Dirty::default() });
        route(&changes, prefix)
    };
    let kernels = Some((meaning::FORWARD, 0));
    assert_eq!(change(&|fib| fib.insert(apart(1), Joins::Before)), kernels);
    assert_eq!(change(&|fib| fib.insert(apart(2), Joins::Before)), None, "it stays so");
    assert_eq!(change(&|fib| fib.remove(&apart(1))), None, "the other is still there");
    assert_eq!(change(&|fib| fib.remove(&apart(2))), Some((meaning::FORWARD, 1)));
}

#[test]
fn a_link_that_is_switched_off_is_the_kernels_to_serve() {
    let mut rows = Rows::new(vec![Some(7), Some(9)], 1..100, 0..0, None);
    let mut state = state();
    bring_all(&mut rows, &state);
    state.links.get_mut(&7).expect("the link").up = (false, false);
    let off = Dirty { devices: BTreeSet::from([7]), ..Dirty::default() };
    assert_eq!(rows.update(&state, &off), [Change::NextHop(1, HopRow::default())]);
}

#[test]
fn more_next_hops_than_the_table_holds_are_the_kernels() {
    let mut rows = Rows::new(vec![Some(7)], 1..1, 0..0, None);
    let changes = bring_all(&mut rows, &state());
    assert_eq!(route(&changes, "192.0.2.0/24"), Some((meaning::FORWARD, 0)));
}

#[test]
fn several_next_hops_are_a_group_whose_buckets_follow_them() {
    let mut rows = Rows::new(vec![Some(7), Some(9)], 1..100, 0..4, None);
    let mut state = state();
    bring_all(&mut rows, &state);
    let net = "172.16.0.0/12";
    let both = said(net, kind::UNICAST, &[(7, Some(gateway(2))), (9, Some(gateway(3)))]);
    let insert = |state: &mut State, said: Said| Dirty {
        prefixes: state.fib.insert(said, Joins::InPlace).into_iter().collect(),
        ..Dirty::default()
    };
    let dirty = insert(&mut state, both.clone());
    let changes = rows.update(&state, &dirty);
    assert_eq!(route(&changes, net), Some((meaning::FORWARD, FIRST_GROUP)));
    let buckets = changes.iter().filter(|change| matches!(change, Change::Bucket(0..256, 1 | 2)));
    assert_eq!(buckets.count(), BUCKETS);
    assert!(matches!(changes.last(), Some(Change::Route(..))), "routes come last");

    // One next hop remains, so there is no group. The group's number is free again.
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
    let mut rows = Rows::new(vec![Some(7), Some(9)], 1..100, 0..0, None);
    let mut state = state();
    let both = [(9, Some(gateway(3))), (7, Some(gateway(2)))];
    state.fib.add(said("172.16.0.0/12", kind::UNICAST, &both));
    let changes = bring_all(&mut rows, &state);
    let row = route(&changes, "172.16.0.0/12").expect("a route");
    let way = rows.hops.key(row.1).map(|way| way.neighbour);
    assert_eq!((row.0, way), (meaning::FORWARD, Some((gateway(3), 9))));
}

/// Creates rows with a memory limit; the test sets the use.
fn limited() -> (Rows, Arc<AtomicU64>) {
    let used = Arc::new(AtomicU64::new(0));
    let memory = Arc::new(fake(1 << 30, &used));
    (Rows::new(vec![Some(7), Some(9)], 1..100, 0..0, Some(memory)), used)
}

fn inserted(state: &mut State, said: Said) -> Dirty {
    let prefixes = state.fib.insert(said, Joins::InPlace).into_iter().collect();
    Dirty { prefixes, ..Dirty::default() }
}

#[test]
fn a_prefix_without_room_is_the_kernels_with_the_row_around_it() {
    let (mut rows, used) = limited();
    let mut state = state();
    bring_all(&mut rows, &state);
    let left = Some((meaning::FORWARD, 0));
    used.store(1 << 30, Ordering::Relaxed);
    // Inside a network: the packets would go to 10.0.0.2 otherwise.
    let inner = said("192.0.2.128/25", kind::UNICAST, &[(9, Some(gateway(3)))]);
    let dirty = inserted(&mut state, inner.clone());
    let changes = rows.update(&state, &dirty);
    assert_eq!((route(&changes, "192.0.2.0/24"), changes.len()), (left, 1), "{changes:?}");
    // Inside no network: without a row the packets would have no route.
    let dirty = inserted(&mut state, said("8.0.0.0/8", kind::UNICAST, &[(7, Some(gateway(2)))]));
    let changes = rows.update(&state, &dirty);
    assert_eq!((route(&changes, "0.0.0.0/0"), changes.len()), (left, 1), "{changes:?}");
    assert_eq!(rows.unheld(), 2);
    // Other rows change as before. A row that is left stays so, even without its own route.
    let gone = said("192.0.2.0/24", kind::UNICAST, &[(7, Some(gateway(2)))]);
    let prefixes = state.fib.remove(&gone).into_iter().collect();
    assert_eq!(rows.update(&state, &Dirty { prefixes, ..Dirty::default() }), []);
    let dirty = inserted(&mut state, said("203.0.113.0/24", kind::UNREACHABLE, &[]));
    let changes = rows.update(&state, &dirty);
    assert_eq!(route(&changes, "203.0.113.0/24"), Some((meaning::REJECT, 0)));
    // A sweep without room changes nothing.
    assert_eq!(bring_all(&mut rows, &state), []);
    assert_eq!(rows.unheld(), 2);

    // With room for all rows, the result is as if there had always been room.
    used.store(0, Ordering::Relaxed);
    bring_all(&mut rows, &state);
    assert_eq!(rows.unheld(), 0);
    let (mut fresh, _) = limited();
    bring_all(&mut fresh, &state);
    let kinds = |rows: &Rows| {
        let hop = |row: &RouteRow| rows.hops.key(row.next_hop).copied();
        rows.routes.iter().map(|(at, row)| (*at, row.kind, hop(row), row.is_left)).collect()
    };
    let (found, expected): (Vec<_>, Vec<_>) = (kinds(&rows), kinds(&fresh));
    assert_eq!(found, expected);
}

#[test]
fn rows_around_what_still_has_no_room_stay_the_kernels() {
    let (mut rows, used) = limited();
    let mut state = state();
    bring_all(&mut rows, &state);
    used.store(1 << 30, Ordering::Relaxed);
    for number in 0..200u32 {
        let inner = format!("192.0.2.{number}/32");
        inserted(&mut state, said(&inner, kind::UNICAST, &[(9, Some(gateway(3)))]));
    }
    let dirty = inserted(&mut state, said("8.0.0.0/8", kind::UNICAST, &[(7, Some(gateway(2)))]));
    rows.update(&state, &dirty);
    bring_all(&mut rows, &state);
    assert_eq!(rows.unheld(), 201);
    // The first two checks find room, and each check asks twice. 8.0.0.0/8 is the first prefix.
    let looks = AtomicU64::new(0);
    let grows = move || Some(if looks.fetch_add(1, Ordering::Relaxed) < 4 { 0 } else { 1 << 30 });
    rows.memory = Some(Arc::new(Memory::with(1 << 30, Box::new(grows))));
    bring_all(&mut rows, &state);
    let row = |prefix: &str| rows.routes.get(&prefix.parse::<Prefix>().expect("a prefix"));
    assert!(row("8.0.0.0/8").is_some_and(|row| !row.is_left && row.next_hop > 0));
    assert!(row("0.0.0.0/0").is_none(), "nobody needs it any more");
    assert_eq!(rows.unheld(), 201 - 2 * LOOK_EVERY as u64);
    assert!(row("192.0.2.0/24").is_some_and(|row| row.is_left));
}

#[test]
fn everything_is_brought_in_parts() {
    let (mut rows, _) = limited();
    let mut state = state();
    let before = state.fib.len();
    for number in 0..3 * PART as u32 {
        let [_, _, high, low] = number.to_be_bytes();
        let prefix = format!("100.{high}.{low}.0/24");
        inserted(&mut state, said(&prefix, kind::UNICAST, &[(7, Some(gateway(2)))]));
    }
    let mut sweep = rows.sweep();
    let mut all = 0;
    while let Some(changes) = rows.next(&state, &mut sweep) {
        assert!(changes.len() <= PART + 10, "{}", changes.len());
        all += changes.iter().filter(|change| matches!(change, Change::Route(..))).count();
    }
    // The neighbour's own route counts too.
    assert_eq!(all, before + 3 * PART + 1);
}

/// The numbers that the mirror writes have the same meaning in the programs.
#[test]
fn numbers_are_those_of_the_programs() {
    use super::meaning::{CONNECTED, DIRECTED_BROADCAST, DISCARD, FORWARD, NONE, OWN, REJECT};
    let kinds = [
        ("NONE", NONE),
        ("FORWARD", FORWARD),
        ("OWN", OWN),
        ("DIRECTED_BROADCAST", DIRECTED_BROADCAST),
        ("CONNECTED", CONNECTED),
        ("REJECT", REJECT),
        ("DISCARD", DISCARD),
    ];
    let kinds = kinds.iter().map(|(name, kind)| format!("static_assert({name} == {kind});\n"));
    let program = |first_group: u32| {
        format!(
            "#include \"programs/include/forwarding.loom\"\n{}\
             static_assert(FIRST_GROUP == {first_group});\n\
             static_assert(BUCKETS == {BUCKETS});\n\
             static_assert(NEXT_HOPS == {NEXT_HOPS});\n\
             engine e() {{ step s {{ finish; }} }}",
            kinds.clone().collect::<String>()
        )
    };
    let codes = |text: &str| {
        let options = wireloom_lang::Options {
            include_dirs: vec![concat!(env!("CARGO_MANIFEST_DIR"), "/../..").into()],
            ..Default::default()
        };
        let checked = wireloom_lang::check_source("rows.loom", text, &options);
        checked.diagnostics.iter().map(|found| found.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(&program(FIRST_GROUP)), [""; 0]);
    assert!(!codes(&program(FIRST_GROUP + 1)).is_empty());
}
