//! The lumped-latency channel: a network reduced to the latency of a message, as in section 5.2 of
//! the StepNP paper.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use serde::{Deserialize, Serialize};

use super::network::{Credits, Message, Network, NetworkEvent, Node, Notice, Traffic, entrance};
use super::run_ahead::{Promises, RunAhead};
use crate::rng::Rng;
use crate::spec::{SpecError, nanoseconds, within};
use crate::stats::Record;
use crate::wait_graph::WaitGraph;
use crate::{EventSink, Time};

/// A channel. Every message has about the same latency, independent of other messages. The bytes of
/// a long message take additional time.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ChannelSpec {
    /// The mean latency in one direction; `latency_ns` in machine files.
    #[serde(rename = "latency_ns", with = "nanoseconds")]
    pub latency: Time,
    /// The jitter: latencies are uniform within this fraction of the mean on both sides, to the
    /// picosecond; 0 to 1 (the StepNP paper: 0.25).
    #[serde(default)]
    pub jitter: f64,
    /// Whether messages of one sender to one receiver keep their order. Otherwise jitter lets them
    /// overtake.
    #[serde(default)]
    pub keep_order: bool,
    /// The cost of bytes. Without it, messages of any length take the same time.
    #[serde(default)]
    pub beat: Option<BeatSpec>,
}

/// The cost of a long message. Its first beat takes the channel's latency, each further one the
/// time of a beat. Messages do not wait for each other.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct BeatSpec {
    /// Bytes of a beat, 1 to 4,096.
    pub bytes: u32,
    /// The time of a beat; `time_ns` in machine files.
    #[serde(rename = "time_ns", with = "nanoseconds")]
    pub time: Time,
}

impl BeatSpec {
    /// Returns the time that a message's bytes take after its first beat.
    fn further(&self, bytes: u32) -> Time {
        Time(u64::from(bytes.div_ceil(self.bytes).saturating_sub(1)) * self.time.0)
    }
}

/// A channel and its messages.
#[derive(Clone, Debug)]
pub struct Channel<P> {
    least: Time,
    /// The maximum jitter in picoseconds, plus one.
    spread: u64,
    beat: Option<BeatSpec>,
    /// A generator for each sender, so that its jitter does not depend on other senders.
    rngs: Vec<Rng>,
    nodes: u32,
    /// The delivery time of the last message of each pair, if messages keep their order.
    last: Vec<Time>,
    /// Messages in flight to each node whose role is not `Answers`.
    reaching: Vec<BinaryHeap<Reverse<Reaching>>>,
    role: Vec<Role>,
    /// Nodes that [`initiate`](Role::Initiates).
    initiating: Vec<u32>,
    /// The arrival times of messages from each collecting node at replying nodes.
    asking: Vec<BinaryHeap<Reverse<Time>>>,
    /// The number of messages sent to these nodes so far.
    count: u64,
    promises: Promises,
    credits: Credits,
    /// Messages that wait at each node because it is full.
    waiting: Vec<VecDeque<u32>>,
    traffic: Traffic<P>,
}

/// The role of a node towards nodes that collect their messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The node collects its messages.
    Collects,
    /// The node sends messages only in reply to collecting nodes.
    Answers,
    /// The node sends messages to any node, when any message arrives.
    Initiates,
}

/// A message and its arrival. The earliest one is first in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Reaching {
    time: Time,
    /// The time at which it was sent, and the channel's `count` at that time.
    sent: Time,
    count: u64,
    /// The message's index among those in flight.
    number: u32,
}

impl<P> Channel<P> {
    /// Creates an empty channel between this number of nodes.
    ///
    /// # Errors
    /// If the jitter or the length of a beat is out of range, or if there are no nodes or more than
    /// 4,096.
    pub fn new(spec: ChannelSpec, nodes: u32, rng: Rng) -> Result<Self, SpecError> {
        if !(0.0..=1.0).contains(&spec.jitter) {
            return Err(SpecError::new("jitter", format!("is {}; it can be 0 to 1", spec.jitter)));
        }
        within("nodes", u64::from(nodes), 1..=4096)?;
        if let Some(beat) = spec.beat {
            within("beat.bytes", beat.bytes, 1..=4096)?;
        }
        let spread = (spec.latency.0 as f64 * spec.jitter).round() as u64;
        let pairs = if spec.keep_order { nodes as usize * nodes as usize } else { 0 };
        Ok(Self {
            least: Time(spec.latency.0 - spread),
            spread: 2 * spread + 1,
            beat: spec.beat,
            rngs: rng.split(nodes),
            nodes,
            last: vec![Time::ZERO; pairs],
            reaching: vec![BinaryHeap::new(); nodes as usize],
            role: vec![Role::Initiates; nodes as usize],
            initiating: (0..nodes).collect(),
            asking: vec![BinaryHeap::new(); nodes as usize],
            count: 0,
            promises: Promises::new(nodes),
            credits: Credits::new(nodes),
            waiting: vec![VecDeque::new(); nodes as usize],
            traffic: Traffic::new(),
        })
    }

    /// Whether the delivery time of a message is known when it is sent. It is not if messages keep
    /// their order: then it depends on the sending times of the pair's other messages.
    pub(crate) fn knows_deliveries(&self) -> bool {
        self.last.is_empty()
    }

    fn set_role(&mut self, node: Node, role: Role) {
        self.role[node.0 as usize] = role;
        self.initiating.retain(|initiating| *initiating != node.0);
    }

    fn collects(&self, node: Node) -> bool {
        self.role[node.0 as usize] == Role::Collects
    }

    /// Returns the arrival time of the first message in flight to a node.
    fn first_for(&self, node: Node) -> Option<Time> {
        self.reaching[node.0 as usize].peek().map(|Reverse(first)| first.time)
    }

    /// Draws the latency of the next message, for its length.
    fn delay(&mut self, from: Node, to: Node, bytes: u32, now: Time) -> Time {
        let jitter =
            if self.spread == 1 { 0 } else { self.rngs[from.0 as usize].below(self.spread) };
        let further = self.beat.map_or(Time::ZERO, |beat| beat.further(bytes));
        let delay = self.least + Time(jitter) + further;
        if self.last.is_empty() {
            return delay;
        }
        // The kernel delivers messages of the same time in the order in which they were sent.
        let last = &mut self.last[(from.0 * self.nodes + to.0) as usize];
        *last = (*last).max(now + delay);
        *last - now
    }

    /// Sends a message that enters at a time that may be in the future. Returns its arrival time if
    /// the receiver collects its messages.
    fn enter(
        &mut self,
        message: Message<P>,
        at: Time,
        events: &mut impl EventSink<NetworkEvent>,
    ) -> Option<Time> {
        let (from, to) = (message.from, message.to);
        self.credits.check(&message);
        let delay = self.delay(from, to, message.bytes, at);
        let (number, time) = (self.traffic.begin(message, at), at + delay);
        self.promises.check_quiet(to, time);
        match (self.role[from.0 as usize], self.role[to.0 as usize]) {
            (Role::Collects, Role::Answers) => self.asking[from.0 as usize].push(Reverse(time)),
            (_, Role::Answers) => {}
            (sender, role) => {
                let reaching = Reaching { time, sent: at, count: self.count, number };
                self.reaching[to.0 as usize].push(Reverse(reaching));
                self.count += 1;
                if role == Role::Collects {
                    if sender == Role::Answers {
                        self.promises.check_answer(from, to, events.now());
                    }
                    return Some(time);
                }
            }
        }
        events.send_from(at, delay, NetworkEvent::Reach(number));
        None
    }
}

impl<P> Network<P> for Channel<P> {
    fn can_send(&self, _: Node, _: Node) -> bool {
        true
    }

    fn send(
        &mut self,
        message: Message<P>,
        events: &mut impl EventSink<NetworkEvent>,
    ) -> Result<(), Message<P>> {
        let now = events.now();
        self.enter(message, now, events);
        Ok(())
    }

    fn arrive(
        &mut self,
        event: NetworkEvent,
        events: &mut impl EventSink<NetworkEvent>,
    ) -> Option<Notice<P>> {
        match event {
            NetworkEvent::Reach(number) => {
                let Message { from, to, .. } = *self.traffic.message(number);
                if self.role[to.0 as usize] != Role::Answers {
                    self.reaching[to.0 as usize].pop();
                } else if self.collects(from) {
                    self.asking[from.0 as usize].pop();
                    self.promises.asked(from, to, events.now());
                }
                if !self.credits.has(to) {
                    self.waiting[to.0 as usize].push_back(number);
                    return None;
                }
                self.credits.take(to);
                Some(Notice::Delivered(self.traffic.end(number, events.now())))
            }
            event => self.traffic.notice(event, events.now()),
        }
    }

    fn bound(&mut self, node: Node, messages: u32) {
        self.credits.set(node, messages);
    }

    fn release(&mut self, node: Node, events: &mut impl EventSink<NetworkEvent>) {
        // The free place goes to the first waiting message, so that no message that arrives now
        // overtakes it.
        match self.waiting[node.0 as usize].pop_front() {
            Some(first) => events.send(Time::ZERO, NetworkEvent::Deliver(first)),
            None => self.credits.give(node),
        }
    }

    fn under_way(&self) -> usize {
        self.traffic.under_way()
    }

    fn begin_to_count(&mut self, _: Time) {
        self.traffic.begin_to_count();
    }

    fn record(&self, _: Time) -> Record {
        self.traffic.record()
    }

    fn waits(&self, name: &dyn Fn(Node) -> String, waits: &mut WaitGraph) {
        for number in self.waiting.iter().filter_map(VecDeque::front) {
            let message = self.traffic.message(*number);
            waits.add(
                entrance(name(message.from)),
                name(message.to),
                "it holds as many messages as it can",
            );
        }
    }
}

impl<P> RunAhead<P> for Channel<P> {
    fn send_ahead(
        &mut self,
        message: Message<P>,
        at: Time,
        events: &mut impl EventSink<NetworkEvent>,
    ) -> Option<Time> {
        self.enter(message, at, events)
    }

    /// A node can collect if a minimum latency exists during which no node can know of a message,
    /// and if the node accepts any number of messages.
    fn collect(&mut self, node: Node) -> bool {
        let collects =
            self.least > Time::ZERO && self.knows_deliveries() && !self.credits.is_bound(node);
        if collects {
            self.set_role(node, Role::Collects);
        }
        collects
    }

    fn answers(&mut self, node: Node) {
        self.set_role(node, Role::Answers);
    }

    fn next_for(&self, node: Node) -> Option<Time> {
        // Messages for other nodes arrive by events.
        self.first_for(node).filter(|_| self.collects(node))
    }

    fn fetch(&mut self, node: Node, until: Time) -> Option<(Time, Message<P>)> {
        self.next_for(node).filter(|next| *next <= until)?;
        let reaching = &mut self.reaching[node.0 as usize];
        let Reverse(Reaching { time, number, .. }) = reaching.pop()?;
        Some((time, self.traffic.end(number, time)))
    }

    fn quiet_until(&mut self, node: Node, now: Time) -> Time {
        let answers = self.role[node.0 as usize] == Role::Answers;
        if self.credits.is_bound(node) || answers || !self.knows_deliveries() {
            return now;
        }
        let unknown = now + self.least;
        let quiet = if self.collects(node) {
            // A sender to this node must have received a message before: either a known one, or one
            // that is sent from now on.
            let asked = self.asking[node.0 as usize].peek().map(|Reverse(time)| *time);
            let told = self.initiating.iter().filter_map(|node| self.first_for(Node(*node)));
            told.chain(asked).fold(unknown, Time::min) + self.least
        } else {
            self.first_for(node).map_or(unknown, |first| unknown.min(first))
        };
        self.promises.quiet(node, quiet);
        quiet
    }
}

#[cfg(test)]
mod tests;
