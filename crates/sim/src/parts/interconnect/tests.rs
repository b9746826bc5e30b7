use super::*;

mod rates;
mod wormhole;

use crate::stats::Value;
use crate::{Activity, Clock, Effort, Kernel, Model, Stop, Unit};

/// Nodes that send their messages as soon as the network accepts them.
struct Load<F> {
    network: Interconnect<u64>,
    /// The next message of a node: its receiver and its length in bytes.
    next: F,
    refused: Vec<Option<Message<u64>>>,
    sent: u64,
    out: Vec<(Time, Message<u64>)>,
    /// The time for which a receiver holds a message, if it can hold only two.
    holds: Option<Time>,
}

#[derive(Clone, Copy)]
enum Event {
    Network(NetworkEvent),
    Release(Node),
    Rate(Clock, Time),
}

impl<F: FnMut(u32) -> Option<(u32, u32)>> Load<F> {
    fn fill(&mut self, from: Node, kernel: &mut Kernel<Event>) {
        loop {
            let message = match self.refused[from.0 as usize].take() {
                Some(message) => message,
                None => {
                    let Some((to, bytes)) = (self.next)(from.0) else { return };
                    self.sent += 1;
                    Message { from, to: Node(to), bytes, payload: self.sent }
                }
            };
            let has_room = self.network.can_send(from, message.to);
            let sent = self.network.send(message, &mut kernel.wrapped(Event::Network));
            assert_eq!(sent.is_ok(), has_room);
            if let Err(message) = sent {
                self.refused[from.0 as usize] = Some(message);
                return;
            }
        }
    }
}

impl<F: FnMut(u32) -> Option<(u32, u32)>> Model for Load<F> {
    type Event = Event;

    fn arrive(&mut self, event: Event, kernel: &mut Kernel<Event>) {
        let event = match event {
            Event::Network(event) => event,
            Event::Release(node) => {
                return self.network.release(node, &mut kernel.wrapped(Event::Network));
            }
            Event::Rate(rate, settle) => {
                let events = &mut kernel.wrapped(Event::Network);
                return self.network.set_rate(rate, settle, events);
            }
        };
        match self.network.arrive(event, &mut kernel.wrapped(Event::Network)) {
            Some(Notice::Delivered(message)) => {
                self.out.push((kernel.now(), message));
                if let Some(time) = self.holds {
                    kernel.send(time, Event::Release(message.to));
                }
            }
            Some(Notice::Room(node)) => self.fill(node, kernel),
            None => {}
        }
    }

    fn cycle(&mut self, _: Unit, _: &mut Kernel<Event>) -> Activity {
        Activity::Asleep
    }
}

/// A cycle is a nanosecond, and a flit has 8 bytes.
const BUS: &str = "kind = \"bus\"\nclock_mhz = 1000\nwidth_bytes = 8\narbitration_cycles = 1\nlatency_cycles = 2\nqueue_messages = 2";
const CROSSBAR: &str = "kind = \"crossbar\"\nclock_mhz = 1000\nwidth_bytes = 8\nlatency_cycles = 3\nqueue_messages = 2";
const RING: &str = "kind = \"ring\"\nclock_mhz = 1000\nwidth_bytes = 8\nrouter_cycles = 2\nlink_cycles = 1\nqueue_messages = 2\n\
                    slots = 2\nboth_ways = true";
const MESH: &str = "kind = \"mesh\"\nclock_mhz = 1000\nwidth_bytes = 8\nrouter_cycles = 2\nlink_cycles = 1\nqueue_messages = 2\n\
                    slots = 2\ncolumns = 4\nrows = 3";
const WORMHOLE: &str = "kind = \"wormhole\"\nclock_mhz = 1000\nwidth_bytes = 8\nrouter_cycles = 2\n\
    link_cycles = 1\nqueue_messages = 2\nbuffer_flits = 4\ncolumns = 4\nrows = 3";
const CHANNEL: &str = "kind = \"channel\"\nlatency_ns = 80\njitter = 0.25\nkeep_order = true";

/// Parses a specification with other values for some keys.
fn spec(text: &str, changes: &[(&str, &str)]) -> InterconnectSpec {
    let mut table: toml::Table = text.parse().unwrap();
    for (key, value) in changes {
        let value: toml::Table = format!("value = {value}").parse().unwrap();
        table.insert((*key).to_owned(), value["value"].clone());
    }
    table.try_into().unwrap()
}

fn run<F: FnMut(u32) -> Option<(u32, u32)>>(
    spec: &InterconnectSpec,
    nodes: u32,
    until: Time,
    holds: Option<Time>,
    next: F,
) -> (Load<F>, Stop) {
    let mut network = Interconnect::new(spec, nodes, Rng::new(3, "network")).unwrap();
    if holds.is_some() {
        (0..nodes).for_each(|node| network.bound(Node(node), 2));
    }
    let refused = (0..nodes).map(|_| None).collect();
    let mut load = Load { network, next, refused, sent: 0, out: Vec::new(), holds };
    let mut kernel = Kernel::new(Effort::Active, Time::nanoseconds(1));
    (0..nodes).for_each(|node| load.fill(Node(node), &mut kernel));
    let stop = kernel.run(&mut load, until);
    (load, stop)
}

/// Returns the number of one-flit messages that are delivered in a cycle while every node always
/// has one to send. The first quarter of the cycles does not count.
fn throughput(
    spec: &InterconnectSpec,
    nodes: u32,
    cycles: u64,
    mut to: impl FnMut(u32) -> u32,
) -> f64 {
    let (load, _) = run(spec, nodes, Time::nanoseconds(cycles), None, |from| Some((to(from), 8)));
    let begin = Time::nanoseconds(cycles / 4);
    // The run includes the edge at its end.
    load.out.iter().filter(|(time, _)| *time > begin).count() as f64 / (cycles - cycles / 4) as f64
}

fn cycles_alone(spec: &InterconnectSpec, nodes: u32, from: u32, to: u32, bytes: u32) -> u64 {
    let mut left = 1;
    let (load, stop) = run(spec, nodes, Time::nanoseconds(10_000), None, |node| {
        (node == from && left > 0).then(|| {
            left -= 1;
            (to, bytes)
        })
    });
    assert_eq!((stop, load.out.len()), (Stop::Silent, 1));
    load.out[0].0.0 / 1000
}

#[test]
fn alone_a_message_takes_its_routers_links_and_flits() {
    assert_eq!(cycles_alone(&spec(CHANNEL, &[("jitter", "0.0")]), 4, 0, 3, 64), 80);
    assert_eq!(cycles_alone(&spec(BUS, &[]), 4, 0, 3, 64), 1 + 8 + 2);
    assert_eq!(cycles_alone(&spec(CROSSBAR, &[]), 4, 0, 3, 60), 8 + 3);
    for (to, hops) in [(0, 0), (3, 3), (4, 4), (6, 2)] {
        assert_eq!(
            cycles_alone(&spec(RING, &[]), 8, 0, to, 64),
            (hops + 1) * 2 + hops + 7,
            "to {to}"
        );
    }
    assert_eq!(cycles_alone(&spec(RING, &[("both_ways", "false")]), 8, 0, 6, 64), 7 * 2 + 6 + 7);
    for (to, hops) in [(0, 0), (3, 3), (8, 2), (11, 5)] {
        for mesh in [MESH, WORMHOLE].map(|text| spec(text, &[])) {
            let routers_and_links = (hops + 1) * 2 + hops;
            assert_eq!(cycles_alone(&mesh, 12, 0, to, 1), routers_and_links, "to {to}");
            assert_eq!(cycles_alone(&mesh, 12, to, 0, 64), routers_and_links + 7, "from {to}");
        }
    }
}

/// Sends messages of all lengths between random nodes, as many as the network accepts, to slow
/// receivers that hold two.
fn storm(spec: &InterconnectSpec, seed: u64) -> Vec<(Time, Message<u64>)> {
    let mut rng = Rng::new(seed, "storm");
    let mut left = 3000;
    let (load, stop) = run(spec, 12, Time(u64::MAX / 2), Some(Time::nanoseconds(5)), |_| {
        left -= i32::from(left > 0);
        (left > 0).then(|| (rng.below(12) as u32, 1 + rng.below(100) as u32))
    });
    assert_eq!((stop, load.network.under_way()), (Stop::Silent, 0));
    assert_eq!((load.out.len(), load.sent), (2999, 2999));
    assert_eq!(load.network.record(Time(1)).value("messages"), Some(&Value::Count(2999)));
    load.out
}

fn kinds() -> Vec<InterconnectSpec> {
    let per_output = [("queueing", "\"per-output\"")];
    let one_way = [("both_ways", "false")];
    vec![
        spec(CHANNEL, &[]),
        spec(BUS, &[]),
        spec(CROSSBAR, &[]),
        spec(CROSSBAR, &per_output),
        spec(RING, &[]),
        spec(RING, &one_way),
        spec(MESH, &[]),
        spec(WORMHOLE, &[]),
        spec(WORMHOLE, &[("buffer_flits", "1")]),
    ]
}

#[test]
fn no_message_is_lost_and_each_pair_keeps_its_order_under_any_load() {
    for spec in kinds() {
        let mut last = std::collections::BTreeMap::new();
        for (_, message) in storm(&spec, 1) {
            let before = last.insert((message.from, message.to), message.payload);
            assert!(before.is_none_or(|before| before < message.payload), "{spec:?}");
        }
    }
}

#[test]
fn two_runs_are_equal_event_by_event() {
    for spec in kinds() {
        assert_eq!(storm(&spec, 2), storm(&spec, 2));
        assert_ne!(storm(&spec, 2), storm(&spec, 3));
    }
}

#[test]
fn a_bus_carries_one_message_at_a_time_and_everybody_gets_as_many() {
    let (load, _) = run(&spec(BUS, &[]), 8, Time::nanoseconds(9 * 800), None, |from| {
        Some(((from + 1) % 8, 64))
    });
    assert!(load.out.len().abs_diff(800) <= 2, "{}", load.out.len());
    let counts =
        (0..8).map(|node| load.out.iter().filter(|(_, message)| message.from.0 == node).count());
    assert!(counts.into_iter().all(|count| count.abs_diff(100) <= 1));
    let Some(Value::Number(used)) =
        load.network.record(Time::nanoseconds(7200)).value("use").cloned()
    else {
        panic!()
    };
    assert!(used > 0.99, "{used}");
}

#[test]
fn inputs_in_one_queue_saturate_a_crossbar_where_karol_says() {
    // Karol, Hluchyj and Morgan: Input versus output queueing on a space-division packet switch,
    // IEEE Trans. Comm. 35(12), 1987, table I.
    for (nodes, expected) in [(2, 0.75), (4, 0.6553), (8, 0.6184)] {
        let mut rng = Rng::new(9, "receivers");
        let rate = throughput(&spec(CROSSBAR, &[]), nodes, 40_000 / u64::from(nodes), |_| {
            rng.below(u64::from(nodes)) as u32
        });
        let rate = rate / f64::from(nodes);
        assert!((rate / expected - 1.0).abs() < 0.015, "{rate} for {expected} with {nodes} nodes");
    }
}

#[test]
fn a_crossbar_carries_a_permutation_and_with_a_queue_for_each_output_nearly_any_load() {
    let permutation = throughput(&spec(CROSSBAR, &[]), 16, 1000, |from| (from * 5 + 3) % 16);
    assert_eq!(permutation, 16.0);
    let mut rng = Rng::new(9, "receivers");
    let per_output = spec(CROSSBAR, &[("queueing", "\"per-output\""), ("queue_messages", "32")]);
    let rate = throughput(&per_output, 8, 4000, |_| rng.below(8) as u32) / 8.0;
    assert!(rate > 0.95, "{rate}");
}

#[test]
fn an_output_of_a_crossbar_serves_all_inputs_alike() {
    let (load, _) = run(&spec(CROSSBAR, &[]), 6, Time::nanoseconds(600), None, |_| Some((2, 8)));
    let counts =
        (0..6).map(|node| load.out.iter().filter(|(_, message)| message.from.0 == node).count());
    assert!(counts.into_iter().all(|count| count.abs_diff(100) <= 1));
}

#[test]
fn a_ring_carries_a_flit_a_cycle_on_each_link() {
    let ring = spec(RING, &[("slots", "8"), ("router_cycles", "1"), ("queue_messages", "4")]);
    let neighbours = throughput(&ring, 8, 2000, |from| (from + 1) % 8);
    assert!((neighbours - 8.0).abs() < 0.05, "{neighbours}");
    // Each link carries the traffic of two nodes, and each node gets half of its capacity.
    let next_but_one = throughput(&ring, 8, 2000, |from| (from + 2) % 8);
    assert!((3.6..=4.0).contains(&next_but_one), "{next_but_one}");
}

#[test]
fn a_mesh_carries_what_its_bisection_does() {
    let mesh = spec(
        MESH,
        &[("slots", "4"), ("router_cycles", "1"), ("rows", "4"), ("queue_messages", "4")],
    );
    // Each row sends across its middle from both halves, two nodes over one link in each direction.
    let across = throughput(&mesh, 16, 2000, |from| from / 4 * 4 + 3 - from % 4);
    assert!((across / 8.0 - 1.0).abs() < 0.02, "{across}");
    let neighbours = throughput(&mesh, 16, 2000, |from| from ^ 1);
    assert!((neighbours - 16.0).abs() < 0.1, "{neighbours}");
}

#[test]
fn two_slots_are_too_few_for_full_rate() {
    // A slot is occupied for two cycles in transit and one to leave: two messages in three cycles.
    let mesh = spec(
        MESH,
        &[("slots", "2"), ("router_cycles", "1"), ("rows", "4"), ("queue_messages", "4")],
    );
    let neighbours = throughput(&mesh, 16, 2000, |from| from ^ 1);
    assert!((neighbours / 16.0 - 2.0 / 3.0).abs() < 0.01, "{neighbours}");
}

#[test]
fn a_receiver_that_lets_nothing_go_is_found_by_who_waits_for_it() {
    for spec in kinds() {
        let mut network = Interconnect::new(&spec, 12, Rng::new(3, "network")).unwrap();
        network.bound(Node(7), 1);
        let mut left = 60;
        let next = |from: u32| {
            left -= i32::from(left > 0);
            (left > 0).then_some((if from < 6 { 7 } else { 8 }, 8))
        };
        let refused = (0..12).map(|_| None).collect();
        let mut load = Load { network, next, refused, sent: 0, out: Vec::new(), holds: None };
        let mut kernel = Kernel::new(Effort::Active, Time::nanoseconds(1));
        (0..12).for_each(|node| load.fill(Node(node), &mut kernel));
        assert_eq!(kernel.run(&mut load, Time::nanoseconds(100_000)), Stop::Silent);
        assert_eq!(load.out.iter().filter(|(_, message)| message.to == Node(7)).count(), 1);
        let mut waits = WaitGraph::default();
        load.network.waits(&|node| format!("processor {}", node.0), &mut waits);
        let report = waits.report();
        assert!(report.cycles.is_empty(), "{report}");
        assert_eq!(
            report.blockers.first().map(|blocker| blocker.who.as_str()),
            Some("processor 7"),
            "{spec:?}\n{report}"
        );
    }
}

#[test]
fn a_machine_file_chooses_and_mistakes_are_told() {
    let InterconnectSpec::Ring(ring) = spec(RING, &[("arbiter", "\"fixed\"")]) else { panic!() };
    assert_eq!((ring.clock, ring.slots, ring.both_ways), (Clock::hertz(1_000_000_000), 2, true));
    let wrong = |text: &str| toml::from_str::<InterconnectSpec>(text).unwrap_err().to_string();
    assert!(wrong(&format!("{BUS}\nspeed = 1")).contains("unknown field `speed`"));
    assert!(wrong("kind = \"torus\"").contains("unknown variant `torus`"));
    let refused = |spec: InterconnectSpec, nodes| {
        Interconnect::<()>::new(&spec, nodes, Rng::new(1, "network")).unwrap_err().to_string()
    };
    assert_eq!(
        refused(spec(MESH, &[]), 13),
        "`rows`: is 3 with 4 columns: 12 routers, and there are 13 nodes"
    );
    assert_eq!(refused(spec(RING, &[("slots", "1")]), 8), "`slots`: is 1; it can be 2 to 65536");
    assert_eq!(refused(spec(BUS, &[]), 0), "`nodes`: is 0; it can be 1 to 4096");
    assert_eq!(
        refused(spec(CROSSBAR, &[("width_bytes", "0")]), 4),
        "`width_bytes`: is 0; it can be 1 to 4096"
    );
}
