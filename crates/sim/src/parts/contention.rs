//! The common parts of networks with contention: input queues, arbitration steps, and receiver
//! credits.

use std::collections::VecDeque;

use super::network::{Credits, Message, Network, NetworkEvent, Node, Notice, Traffic, entrance};
use crate::stats::Record;
use crate::wait_graph::WaitGraph;
use crate::{Clock, EventSink, Time, Timebase};

/// The cycles in which grants are possible. Each has an event; there is no event while nothing
/// waits.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    timebase: Timebase,
    /// The cycle of the next step, and its time.
    due: Option<(u64, Time)>,
    /// The arrival time of the last of all events that were sent for later cycles.
    last: Time,
    /// The first cycle in which a step is allowed.
    held: u64,
}

impl Steps {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { timebase: clock.into(), due: None, last: Time::ZERO, held: 0 }
    }

    /// The first cycle at or after now.
    pub(crate) fn now(&self, events: &impl EventSink<NetworkEvent>) -> u64 {
        self.timebase.edge_from(events.now())
    }

    /// The cycles that have begun before a time.
    pub(crate) fn cycles(&self, time: Time) -> u64 {
        self.timebase.edge_from(time)
    }

    /// Requests a step in a cycle, unless there is an earlier one, which will request it again.
    pub(crate) fn want(&mut self, cycle: u64, events: &mut impl EventSink<NetworkEvent>) {
        let cycle = cycle.max(self.held);
        if self.due.is_none_or(|(due, _)| cycle < due) {
            let time = self.timebase.edge(cycle);
            self.due = Some((cycle, time));
            events.send_at(time, NetworkEvent::Step);
        }
    }

    /// Takes the event of a step. Returns its cycle, or `None` if an earlier step has replaced it.
    pub(crate) fn begin(&mut self, events: &impl EventSink<NetworkEvent>) -> Option<u64> {
        let (cycle, _) = self.due.take_if(|(_, time)| *time == events.now())?;
        Some(cycle)
    }

    /// Sends an event that arrives in a cycle.
    pub(crate) fn send(
        &mut self,
        cycle: u64,
        event: NetworkEvent,
        events: &mut impl EventSink<NetworkEvent>,
    ) {
        let time = self.timebase.edge(cycle);
        self.last = self.last.max(time);
        events.send_at(time, event);
    }

    /// Changes the rate. Messages already granted arrive at their original times. Until then, and
    /// until the cycle up to which the network is busy, there are no other grants. Returns the
    /// first cycle in which a grant is possible.
    pub(crate) fn set_rate(
        &mut self,
        rate: Clock,
        settle: Time,
        busy: u64,
        events: &mut impl EventSink<NetworkEvent>,
    ) -> u64 {
        let settled = events.now() + settle;
        self.last = self.last.max(self.timebase.edge(busy));
        self.timebase.set_rate(self.now(events), rate, settled);
        self.held = self.timebase.edge_from(self.last.max(settled));
        if self.due.take().is_some() {
            self.want(self.held, events);
        }
        self.held
    }
}

/// Bounded input queues of messages, one or more for each node.
#[derive(Clone, Debug)]
pub(crate) struct Entrances {
    queues: Vec<VecDeque<u32>>,
    /// The number of queues of each node.
    lanes: usize,
    bound: usize,
    /// Nodes that were refused and wait for room.
    refused: Vec<bool>,
}

impl Entrances {
    pub(crate) fn new(nodes: u32, lanes: u32, bound: u64) -> Self {
        Self {
            queues: vec![VecDeque::new(); (nodes * lanes) as usize],
            lanes: lanes as usize,
            bound: bound as usize,
            refused: vec![false; nodes as usize],
        }
    }

    fn has_room(&self, node: Node, lane: usize) -> bool {
        self.queues[node.0 as usize * self.lanes + lane].len() < self.bound
    }

    fn push(&mut self, node: Node, lane: usize, message: u32) {
        self.queues[node.0 as usize * self.lanes + lane].push_back(message);
    }

    /// The first message of a queue.
    pub(crate) fn front(&self, node: usize, lane: usize) -> Option<u32> {
        self.queues[node * self.lanes + lane].front().copied()
    }

    /// Removes the first message of a queue. Notifies a node that was refused that there is room.
    pub(crate) fn pop(
        &mut self,
        node: usize,
        lane: usize,
        events: &mut impl EventSink<NetworkEvent>,
    ) -> Option<u32> {
        let message = self.queues[node * self.lanes + lane].pop_front()?;
        if std::mem::take(&mut self.refused[node]) {
            events.send(Time::ZERO, NetworkEvent::Room(Node(node as u32)));
        }
        Some(message)
    }

    /// The first messages of all queues, with their nodes.
    pub(crate) fn heads(&self) -> impl Iterator<Item = (Node, u32)> {
        let node = |(number, queue): (usize, &VecDeque<u32>)| {
            queue.front().map(|message| (Node((number / self.lanes) as u32), *message))
        };
        self.queues.iter().enumerate().filter_map(node)
    }
}

/// The medium that messages traverse after their queues: a bus, a crossbar or routers.
pub(crate) trait Medium {
    /// The queue of the sender in which a message to a node waits.
    fn lane(&self, _to: Node) -> usize {
        0
    }

    /// The earliest cycle in which a message between two nodes could go, as far as is known.
    fn free_for(&self, from: Node, to: Node) -> u64;

    /// The earliest cycle in which any message could go, as far as is known.
    fn free(&self) -> u64 {
        0
    }

    /// Notes that a message has entered an empty network or joined others at the input of a node.
    fn joined(&mut self, _from: Node) {}

    /// Makes the grants of a cycle.
    fn step<P>(
        &mut self,
        cycle: u64,
        waiting: &mut Waiting<P>,
        events: &mut impl EventSink<NetworkEvent>,
    );

    /// The last cycle that a grant occupies without an event for it.
    fn busy(&self) -> u64 {
        0
    }

    /// Holds grants until this cycle. No earlier grant may still be in transit.
    fn hold(&mut self, cycle: u64);

    /// Restricts the measurements to the time from now on.
    fn begin_to_count(&mut self);

    /// Adds measurements over this number of cycles.
    fn record(&self, cycles: u64, record: Record) -> Record;

    /// Adds the waits within the medium. The common part adds the waits at inputs for a full
    /// receiver.
    fn waits<P>(&self, waiting: &Waiting<P>, name: &dyn Fn(Node) -> String, waits: &mut WaitGraph) {
        for (node, number) in waiting.entrances.heads() {
            let to = waiting.traffic.message(number).to;
            if !waiting.credits.has(to) {
                waits.add(entrance(name(node)), name(to), FULL);
            }
        }
    }
}

/// The reason why a message waits for its receiver.
pub(crate) const FULL: &str = "it holds as many messages as it can";

/// Messages that wait or are in flight, and the credits of receivers.
#[derive(Clone, Debug)]
pub(crate) struct Waiting<P> {
    pub(crate) entrances: Entrances,
    pub(crate) steps: Steps,
    pub(crate) credits: Credits,
    pub(crate) traffic: Traffic<P>,
}

/// A network that consists of queues and a medium.
#[derive(Clone, Debug)]
pub(crate) struct Contended<M, P> {
    medium: M,
    waiting: Waiting<P>,
    /// The cycle at which the measurement began.
    counted_from: u64,
}

impl<M: Medium, P> Contended<M, P> {
    pub(crate) fn new(medium: M, clock: Clock, nodes: u32, entrances: Entrances) -> Self {
        let waiting = Waiting {
            entrances,
            steps: Steps::new(clock),
            credits: Credits::new(nodes),
            traffic: Traffic::new(),
        };
        Self { medium, waiting, counted_from: 0 }
    }
}

impl<M: Medium, P> Network<P> for Contended<M, P> {
    fn can_send(&self, from: Node, to: Node) -> bool {
        self.waiting.entrances.has_room(from, self.medium.lane(to))
    }

    fn send(
        &mut self,
        message: Message<P>,
        events: &mut impl EventSink<NetworkEvent>,
    ) -> Result<(), Message<P>> {
        let Waiting { entrances, steps, credits, traffic } = &mut self.waiting;
        credits.check(&message);
        let (from, to) = (message.from, message.to);
        let lane = self.medium.lane(to);
        if !entrances.has_room(from, lane) {
            entrances.refused[from.0 as usize] = true;
            return Err(message);
        }
        let number = traffic.begin(message, events.now());
        entrances.push(from, lane, number);
        self.medium.joined(from);
        steps.want(steps.now(events).max(self.medium.free_for(from, to)), events);
        Ok(())
    }

    fn arrive(
        &mut self,
        event: NetworkEvent,
        events: &mut impl EventSink<NetworkEvent>,
    ) -> Option<Notice<P>> {
        let NetworkEvent::Step = event else {
            return self.waiting.traffic.notice(event, events.now());
        };
        if let Some(cycle) = self.waiting.steps.begin(events) {
            self.medium.step(cycle, &mut self.waiting, events);
        }
        None
    }

    fn bound(&mut self, node: Node, messages: u32) {
        self.waiting.credits.set(node, messages);
    }

    fn release(&mut self, node: Node, events: &mut impl EventSink<NetworkEvent>) {
        let Waiting { steps, credits, .. } = &mut self.waiting;
        credits.give(node);
        steps.want(steps.now(events).max(self.medium.free()), events);
    }

    fn set_rate(&mut self, rate: Clock, settle: Time, events: &mut impl EventSink<NetworkEvent>) {
        let held = self.waiting.steps.set_rate(rate, settle, self.medium.busy(), events);
        self.medium.hold(held);
    }

    fn under_way(&self) -> usize {
        self.waiting.traffic.under_way()
    }

    fn begin_to_count(&mut self, now: Time) {
        self.counted_from = self.waiting.steps.cycles(now);
        self.medium.begin_to_count();
        self.waiting.traffic.begin_to_count();
    }

    fn record(&self, now: Time) -> Record {
        let cycles = (self.waiting.steps.cycles(now) - self.counted_from).max(1);
        self.medium.record(cycles, self.waiting.traffic.record())
    }

    fn waits(&self, name: &dyn Fn(Node) -> String, waits: &mut WaitGraph) {
        self.medium.waits(&self.waiting, name, waits);
    }
}
