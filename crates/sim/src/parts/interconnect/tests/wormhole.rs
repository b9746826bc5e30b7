//! Wormhole routing: the resources that the flits of waiting messages hold.

use proptest::prelude::{ProptestConfig, any, prop, prop_assert, prop_assert_eq, proptest};

use super::*;

/// One row of routers with a latency of one cycle.
fn row(columns: u32, buffer_flits: u32) -> InterconnectSpec {
    let (columns, flits) = (columns.to_string(), buffer_flits.to_string());
    let changes = [
        ("columns", columns.as_str()),
        ("rows", "1"),
        ("router_cycles", "1"),
        ("buffer_flits", flits.as_str()),
    ];
    spec(WORMHOLE, &changes)
}

#[test]
fn a_link_carries_as_many_flits_as_the_next_input_has_room_for() {
    // A flit travels for 2 cycles, and its room becomes free a cycle after it leaves. So a buffer
    // of 3 flits sustains one flit a cycle.
    for (flits, expected) in [(1, 1.0 / 3.0), (2, 2.0 / 3.0), (3, 1.0), (8, 1.0)] {
        let rate = throughput(&row(2, flits), 2, 3000, |from| from ^ 1) / 2.0;
        assert!((rate - expected).abs() < 0.005, "{rate} with room for {flits}");
    }
}

#[test]
fn a_long_message_takes_a_cycle_for_each_flit_however_small_the_buffers() {
    for (flits, expected) in [(1, 3 * 199), (2, 199 * 3 / 2), (3, 199)] {
        // Four routers and three links of a cycle each, then the other flits.
        let cycles = cycles_alone(&row(4, flits), 4, 0, 3, 200 * 8);
        assert!(cycles.abs_diff(7 + expected) <= 1, "{cycles} with room for {flits}");
    }
}

/// The cycle in which a one-flit message from node 1 to node 2 is delivered while node 3 keeps a
/// long message from node 0 waiting for 100 cycles.
fn behind_a_waiting_worm(spec: &InterconnectSpec) -> u64 {
    let mut network = Interconnect::new(spec, 4, Rng::new(3, "network")).unwrap();
    network.bound(Node(3), 0);
    let (next, refused) = (|_: u32| None, (0..4).map(|_| None).collect());
    let mut load = Load { network, next, refused, sent: 0, out: Vec::new(), holds: None };
    let mut kernel = Kernel::new(Effort::Active, Time::nanoseconds(1));
    let long = Message { from: Node(0), to: Node(3), bytes: 160, payload: 0 };
    assert!(load.network.send(long, &mut kernel.wrapped(Event::Network)).is_ok());
    kernel.send(Time::nanoseconds(100), Event::Release(Node(3)));
    assert_eq!(kernel.run(&mut load, Time::nanoseconds(50)), Stop::Reached);
    let short = Message { from: Node(1), to: Node(2), bytes: 8, payload: 1 };
    assert!(load.network.send(short, &mut kernel.wrapped(Event::Network)).is_ok());
    assert_eq!(kernel.run(&mut load, Time::nanoseconds(5000)), Stop::Silent);
    assert_eq!(load.out.len(), 2);
    load.out.iter().find(|(_, message)| message.payload == 1).unwrap().0.0 / 1000
}

#[test]
fn a_worm_that_waits_holds_its_links() {
    // The worm of 20 flits has 4 in each of three inputs and the rest before them; it continues at
    // cycle 100.
    let changes = [("rows", "1"), ("router_cycles", "1")];
    let blocked = behind_a_waiting_worm(&spec(WORMHOLE, &changes));
    assert!((108..130).contains(&blocked), "{blocked}");
    // With cut-through, the whole message waits at its last router.
    let free = behind_a_waiting_worm(&spec(MESH, &changes));
    assert_eq!(free, 53);
    // A worm that fits into the buffers does the same.
    let roomy = [("rows", "1"), ("router_cycles", "1"), ("buffer_flits", "32")];
    assert_eq!(behind_a_waiting_worm(&spec(WORMHOLE, &roomy)), 53);
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: prop::test_runner::RngSeed::Fixed(29),
        failure_persistence: None,
        cases: 60,
        ..Default::default()
    })]

    /// Every message is delivered, for any mesh, buffers, lengths and receivers.
    #[test]
    fn no_worms_wait_in_a_circle(
        (columns, rows) in (1u32..6, 1u32..6),
        buffer_flits in 1u32..6,
        (router_cycles, link_cycles) in (1u32..4, 0u32..3),
        queue_messages in 1u32..3,
        longest in 1u64..200,
        holds in 1u64..100,
        seed in any::<u64>(),
    ) {
        let numbers = [
            ("columns", columns),
            ("rows", rows),
            ("buffer_flits", buffer_flits),
            ("router_cycles", router_cycles),
            ("link_cycles", link_cycles),
            ("queue_messages", queue_messages),
        ];
        let numbers = numbers.map(|(key, number)| (key, number.to_string()));
        let changes: Vec<_> = numbers.iter().map(|(key, text)| (*key, text.as_str())).collect();
        let mut rng = Rng::new(seed, "storm");
        let mut left = 400;
        let nodes = columns * rows;
        let spec = spec(WORMHOLE, &changes);
        let holds = Some(Time::nanoseconds(holds));
        let (load, stop) = run(&spec, nodes, Time(u64::MAX / 2), holds, |_| {
            left -= i32::from(left > 0);
            let to = rng.below(u64::from(nodes)) as u32;
            (left > 0).then(|| (to, 1 + rng.below(longest) as u32))
        });
        prop_assert_eq!((stop, load.network.under_way()), (Stop::Silent, 0));
        prop_assert_eq!(load.out.len(), 399);
        let mut last = std::collections::BTreeMap::new();
        for (_, message) in load.out {
            let before = last.insert((message.from, message.to), message.payload);
            prop_assert!(before.is_none_or(|before| before < message.payload));
        }
    }
}
