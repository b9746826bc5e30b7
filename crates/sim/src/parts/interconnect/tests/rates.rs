//! Networks whose clock rates change.

use super::*;

/// Runs a load like a storm while the rate changes at these times.
fn storm_with(spec: &InterconnectSpec, rates: &[(u64, Clock, u64)]) -> Vec<(Time, Message<u64>)> {
    let mut rng = Rng::new(4, "storm");
    let mut left = 2000;
    let next = |_| {
        left -= i32::from(left > 0);
        (left > 0).then(|| (rng.below(12) as u32, 1 + rng.below(100) as u32))
    };
    let network = Interconnect::new(spec, 12, Rng::new(3, "network")).unwrap();
    let refused = (0..12).map(|_| None).collect();
    let holds = Some(Time::nanoseconds(5));
    let mut load = Load { network, next, refused, sent: 0, out: Vec::new(), holds };
    let mut kernel = Kernel::new(Effort::Active, Time::nanoseconds(1));
    (0..12).for_each(|node| load.network.bound(Node(node), 2));
    for (time, rate, settle) in rates {
        kernel.send(Time(*time), Event::Rate(*rate, Time(*settle)));
    }
    (0..12).for_each(|node| load.fill(Node(node), &mut kernel));
    assert_eq!(kernel.run(&mut load, Time(u64::MAX / 2)), Stop::Silent);
    assert_eq!((load.network.under_way(), load.out.len()), (0, 1999), "{spec:?}");
    load.out
}

#[test]
fn messages_keep_their_order_and_are_not_lost_when_rates_change() {
    let rates: Vec<_> = (1..400)
        .map(|n: u64| {
            let rate = Clock::ratio(100 + n * 7919 % 3000, 1 + n % 3);
            (n * 1777, rate, if n.is_multiple_of(4) { 4000 } else { 0 })
        })
        .collect();
    for spec in kinds() {
        let mut last = std::collections::BTreeMap::new();
        for (_, message) in storm_with(&spec, &rates) {
            let before = last.insert((message.from, message.to), message.payload);
            assert!(before.is_none_or(|before| before < message.payload), "{spec:?}");
        }
    }
}

/// Returns the arrival times of two messages from node 0 to node 3: one sent at time 0, one later.
fn two_messages(
    spec: &InterconnectSpec,
    change: Option<(u64, Clock, u64)>,
    later: u64,
) -> [u64; 2] {
    let network = Interconnect::new(spec, 4, Rng::new(3, "network")).unwrap();
    let (next, refused) = (|_: u32| None, (0..4).map(|_| None).collect());
    let mut load = Load { network, next, refused, sent: 0, out: Vec::new(), holds: None };
    let mut kernel = Kernel::new(Effort::Active, Time::nanoseconds(1));
    let message = Message { from: Node(0), to: Node(3), bytes: 64, payload: 0 };
    assert!(load.network.send(message, &mut kernel.wrapped(Event::Network)).is_ok());
    if let Some((time, rate, settle)) = change {
        kernel.send(Time(time), Event::Rate(rate, Time(settle)));
    }
    // Advance time to the second message.
    kernel.send(Time(later + 1), Event::Release(Node(1)));
    assert_eq!(kernel.run(&mut load, Time(later)), Stop::Reached);
    assert!(load.network.send(message, &mut kernel.wrapped(Event::Network)).is_ok());
    assert_eq!(kernel.run(&mut load, Time::nanoseconds(1_000_000)), Stop::Silent);
    [0, 1].map(|number| load.out[number].0.0)
}

#[test]
fn later_messages_go_at_the_new_rate() {
    // Cycles of a message of 8 flits over 3 links.
    let mesh = 4 * 2 + 3 + 7;
    for (text, cycles) in [(BUS, 11), (CROSSBAR, 11), (RING, 2 * 2 + 1 + 7), (MESH, mesh)] {
        let spec = spec(text, &[]);
        assert_eq!(two_messages(&spec, None, 50_000), [cycles, 50 + cycles].map(|n| n * 1000));
        // The period from 30 ns ends at 31 ns; from then on, periods last 3 ns.
        let change = Some((30_100, Clock::ratio(3000, 1), 0));
        let begin = (50_000u64 - 31_000).div_ceil(3000) * 3000 + 31_000;
        let wanted = [cycles * 1000, begin + cycles * 3000];
        assert_eq!(two_messages(&spec, change, 50_000), wanted, "{text}");
        // While the clock settles, nothing is sent.
        let change = Some((30_100, Clock::ratio(3000, 1), 100_000));
        let wanted = [cycles * 1000, 130_100 + cycles * 3000];
        assert_eq!(two_messages(&spec, change, 50_000), wanted, "{text}");
    }
}

#[test]
fn what_was_granted_comes_out_when_it_would_have() {
    // The message is granted at once, before the change.
    for (text, cycles) in [(BUS, 11), (CROSSBAR, 11)] {
        for rate in [Clock::ratio(50, 1), Clock::ratio(20_000, 1)] {
            let [first, second] = two_messages(&spec(text, &[]), Some((500, rate, 0)), 600);
            assert_eq!(first, cycles * 1000, "{text}");
            assert!(second >= first + rate.edge(cycles).0, "{text}");
        }
    }
}
