use super::*;
use crate::{Activity, Effort, Kernel, Model, Stop, Unit};

/// Sends messages at regular times between alternating nodes, and keeps the output.
struct Net {
    channel: Channel<u64>,
    out: Vec<(Time, Time, Message<u64>)>,
    sent: Vec<Time>,
    left: u64,
    gap: Time,
    /// The time for which a receiver holds a message, if its capacity is bounded.
    holds: Option<Time>,
    held: Vec<u32>,
}

enum Event {
    Send,
    Channel(NetworkEvent),
    Let(Node),
}

impl Model for Net {
    type Event = Event;

    fn arrive(&mut self, event: Event, kernel: &mut Kernel<Event>) {
        match event {
            Event::Send => {
                let number = self.sent.len() as u64;
                let message = Message {
                    from: Node(number as u32 % 2),
                    to: Node(number as u32 % 3),
                    bytes: 8,
                    payload: number,
                };
                self.channel.send(message, &mut kernel.wrapped(Event::Channel)).unwrap();
                self.sent.push(kernel.now());
                if number + 1 < self.left {
                    kernel.send(self.gap, Event::Send);
                }
            }
            Event::Channel(event) => {
                let notice = self.channel.arrive(event, &mut kernel.wrapped(Event::Channel));
                let Some(Notice::Delivered(message)) = notice else { return };
                let sent = self.sent[message.payload as usize];
                self.out.push((kernel.now(), kernel.now() - sent, message));
                if let Some(time) = self.holds {
                    self.held[message.to.0 as usize] += 1;
                    assert!(self.held[message.to.0 as usize] <= 2);
                    kernel.send(time, Event::Let(message.to));
                }
            }
            Event::Let(node) => {
                self.held[node.0 as usize] -= 1;
                self.channel.release(node, &mut kernel.wrapped(Event::Channel));
            }
        }
    }

    fn cycle(&mut self, _: Unit, _: &mut Kernel<Event>) -> Activity {
        Activity::Asleep
    }
}

fn run(spec: ChannelSpec, messages: u64, seed: u64, holds: Option<Time>) -> Net {
    let mut channel = Channel::new(spec, 3, Rng::new(seed, "network")).unwrap();
    if holds.is_some() {
        (0..3).for_each(|node| channel.bound(Node(node), 2));
    }
    let (out, sent, held) = (Vec::new(), Vec::new(), vec![0; 3]);
    let mut net = Net { channel, out, sent, left: messages, gap: Time(1000), holds, held };
    let mut kernel = Kernel::new(Effort::Active, Time(1000));
    kernel.send(Time(0), Event::Send);
    assert_eq!(kernel.run(&mut net, Time(u64::MAX / 2)), Stop::Silent);
    assert_eq!((net.out.len() as u64, net.channel.under_way()), (messages, 0));
    net
}

fn spec(jitter: f64, keep_order: bool) -> ChannelSpec {
    ChannelSpec { latency: Time::nanoseconds(80), jitter, keep_order, beat: None }
}

/// Counts messages that are delivered after a later message of the same pair.
fn overtaken(net: &Net) -> usize {
    let mut last = std::collections::BTreeMap::new();
    let late = |(_, _, message): &&(Time, Time, Message<u64>)| {
        let last = last.entry((message.from, message.to)).or_insert(0);
        let is_late = message.payload < *last;
        *last = message.payload.max(*last);
        is_late
    };
    net.out.iter().filter(late).count()
}

#[test]
fn without_jitter_every_message_takes_the_latency() {
    let net = run(spec(0.0, false), 100, 1, None);
    assert!(net.out.iter().all(|(_, delay, _)| *delay == Time::nanoseconds(80)));
}

#[test]
fn bytes_after_the_first_beat_take_the_time_of_their_beats() {
    let text = "latency_ns = 80\nbeat = { bytes = 4, time_ns = 2 }";
    let spec: ChannelSpec = toml::from_str(text).unwrap();
    let net = run(spec, 100, 1, None);
    assert!(net.out.iter().all(|(_, delay, _)| *delay == Time::nanoseconds(82)));
    for (bytes, time) in [(0, 0), (1, 0), (4, 0), (5, 2), (136, 66)] {
        assert_eq!(spec.beat.unwrap().further(bytes), Time::nanoseconds(time), "{bytes}");
    }
    let none = ChannelSpec { beat: Some(BeatSpec { bytes: 0, time: Time(1) }), ..spec };
    let error = Channel::<()>::new(none, 3, Rng::new(1, "network")).unwrap_err();
    assert!(error.to_string().starts_with("`beat.bytes`: is 0"), "{error}");
}

#[test]
fn jitter_is_uniform_between_its_bounds() {
    let net = run(spec(0.25, false), 40_000, 1, None);
    let delays: Vec<u64> = net.out.iter().map(|(_, delay, _)| delay.0).collect();
    assert!(delays.iter().all(|delay| (60_000..=100_000).contains(delay)));
    // Chi square over 40 classes: with 39 degrees of freedom it is below 72.1 in 999 cases of
    // 1,000.
    let mut classes = [0.0f64; 40];
    delays.iter().for_each(|delay| classes[((delay - 60_000) / 1000).min(39) as usize] += 1.0);
    let chi: f64 = classes.iter().map(|count| (count - 1000.0).powi(2) / 1000.0).sum();
    assert!(chi < 72.1, "{chi}");
}

#[test]
fn messages_overtake_unless_their_pair_keeps_order() {
    let free = run(spec(0.25, false), 5000, 3, None);
    assert!(overtaken(&free) > 1000, "{}", overtaken(&free));
    let kept = run(spec(0.25, true), 5000, 3, None);
    assert_eq!(overtaken(&kept), 0);
    // To keep order, only the later message waits, so none exceeds the bound.
    assert!(kept.out.iter().all(|(_, delay, _)| (60_000..=100_000).contains(&delay.0)));
}

#[test]
fn runs_of_one_seed_are_alike() {
    assert_eq!(run(spec(0.5, false), 1000, 4, None).out, run(spec(0.5, false), 1000, 4, None).out);
    assert_ne!(run(spec(0.5, false), 1000, 4, None).out, run(spec(0.5, false), 1000, 5, None).out);
}

#[test]
fn a_bounded_receiver_holds_no_more_and_loses_none() {
    // Each receiver gets one of three messages, every 3 ns, and holds two for 10 ns each: the rate
    // is 1 in 5 ns.
    let net = run(spec(0.25, true), 3000, 6, Some(Time::nanoseconds(10)));
    assert_eq!(overtaken(&net), 0);
    let end = net.out.last().unwrap().0;
    assert!(end.0.abs_diff(1000 * 5000 + 80_000) < 40_000, "{end}");
}

#[test]
fn a_jitter_above_one_is_refused() {
    let error = Channel::<()>::new(spec(1.5, false), 3, Rng::new(1, "network")).unwrap_err();
    assert_eq!(error.to_string(), "`jitter`: is 1.5; it can be 0 to 1");
    let spec: ChannelSpec = toml::from_str("latency_ns = 80\njitter = 0.25").unwrap();
    assert_eq!(spec, self::spec(0.25, false));
}

#[test]
fn a_node_that_collects_its_messages_gets_the_same_ones_at_the_same_times() {
    let net = run(spec(0.25, false), 600, 7, None);
    let wanted: Vec<(Time, u64)> = net
        .out
        .iter()
        .filter(|(_, _, message)| message.to == Node(1))
        .map(|(time, _, message)| (*time, message.payload))
        .collect();

    let mut channel = Channel::new(spec(0.25, false), 3, Rng::new(7, "network")).unwrap();
    assert!(channel.collect(Node(1)));
    let mut kernel: Kernel<NetworkEvent> = Kernel::new(Effort::Active, Time(1000));
    for payload in 0..600 {
        let message = Message {
            from: Node(payload as u32 % 2),
            to: Node(payload as u32 % 3),
            bytes: 8,
            payload,
        };
        let comes = channel.send_ahead(message, Time(1000 * payload), &mut kernel);
        assert_eq!(comes.is_some(), payload % 3 == 1);
    }
    // A message that is delivered by an event cannot be fetched before it.
    assert_eq!((channel.next_for(Node(0)), channel.fetch(Node(0), Time(u64::MAX))), (None, None));
    let mut fetched = Vec::new();
    while let Some(next) = channel.next_for(Node(1)) {
        assert_eq!(channel.fetch(Node(1), next - Time(1)), None);
        let (time, message) = channel.fetch(Node(1), next).unwrap();
        assert_eq!((time, message.to), (next, Node(1)));
        fetched.push((time, message.payload));
    }
    assert_eq!(fetched, wanted);
    assert_eq!(channel.under_way(), 400);
}

#[test]
fn a_node_collects_only_what_can_be_known_before() {
    let channel = |spec| Channel::<()>::new(spec, 2, Rng::new(1, "network")).unwrap();
    assert!(channel(spec(0.5, false)).collect(Node(0)));
    // The node cannot collect: messages may arrive at once, depend on earlier ones, or find no
    // room.
    assert!(!channel(spec(1.0, false)).collect(Node(0)));
    assert!(!channel(spec(0.5, true)).collect(Node(0)));
    let mut bounded = channel(spec(0.5, false));
    bounded.bound(Node(0), 3);
    assert!(!bounded.collect(Node(0)) && bounded.collect(Node(1)));
}

/// A channel of 80 ns and the kernel that drives it. Of the processors, 0 collects, 1 answers, and
/// 2 does neither.
fn answering() -> (Channel<u64>, Kernel<NetworkEvent>) {
    let mut channel = Channel::new(spec(0.0, false), 3, Rng::new(1, "network")).unwrap();
    assert!(channel.collect(Node(0)));
    channel.answers(Node(1));
    (channel, Kernel::new(Effort::Active, Time(1000)))
}

fn from_to(from: u32, to: u32) -> Message<u64> {
    Message { from: Node(from), to: Node(to), bytes: 8, payload: 0 }
}

#[test]
fn a_node_is_quiet_for_two_latencies_and_less_once_it_has_asked_or_another_may_send() {
    let (mut channel, mut kernel) = answering();
    let at = |channel: &mut Channel<u64>| channel.quiet_until(Node(0), Time(0));
    assert_eq!(at(&mut channel), Time::nanoseconds(160));
    channel.send_ahead(from_to(0, 1), Time(0), &mut kernel);
    assert_eq!(at(&mut channel), Time::nanoseconds(160));
    let (mut channel, mut kernel) = answering();
    channel.send_ahead(from_to(1, 2), Time(0), &mut kernel);
    assert_eq!(channel.quiet_until(Node(0), Time::nanoseconds(30)), Time::nanoseconds(160));
    // A node that does not collect learns of messages by events, a latency ahead.
    assert_eq!(channel.quiet_until(Node(2), Time::nanoseconds(30)), Time::nanoseconds(80));
    assert_eq!(channel.quiet_until(Node(1), Time::nanoseconds(30)), Time::nanoseconds(30));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "node 1 sends to node 0 at 0 ps without a message from it to answer")]
fn a_node_that_should_only_answer_and_does_not_is_found_out() {
    let (mut channel, mut kernel) = answering();
    channel.send_ahead(from_to(1, 0), Time(0), &mut kernel);
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "a message reaches node 0 at 80000 ps, which was promised to be quiet")]
fn a_message_from_nowhere_breaks_the_promise_of_quiet() {
    let (mut channel, mut kernel) = answering();
    assert_eq!(channel.quiet_until(Node(0), Time(0)), Time::nanoseconds(160));
    channel.send_ahead(from_to(2, 0), Time(0), &mut kernel);
}
