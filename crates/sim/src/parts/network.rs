//! The interface that all networks share: a message enters at one node and leaves at another some
//! time later.

use slab::Slab;

use crate::stats::{Histogram, Record};
use crate::wait_graph::WaitGraph;
use crate::{Clock, EventSink, Time};

/// The number of a node, at which messages enter and leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u32);

/// A message between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<P> {
    /// The sender.
    pub from: Node,
    /// The receiver.
    pub to: Node,
    /// The length in bytes, header included.
    pub bytes: u32,
    pub payload: P,
}

/// An event that a network sends to itself. The machine must pass it back to [`Network::arrive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// The message of this number reaches its receiver. It is delivered if the receiver can hold
    /// it.
    Reach(u32),
    /// The message of this number is delivered.
    Deliver(u32),
    /// A refused node can try again.
    Room(Node),
    /// The network arbitrates among waiting messages.
    Step,
    /// The head of a message reaches an input of a router.
    Head { router: u32, input: u8, message: u32 },
    /// The tail of a message leaves an input of a router.
    Tail { router: u32, input: u8 },
}

/// A notice from a network to the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice<P> {
    /// A message has been delivered completely.
    Delivered(Message<P>),
    /// A refused node can send again.
    Room(Node),
}

/// A network. No message is lost, and messages of one sender to one receiver keep their order
/// unless a network documents otherwise.
pub trait Network<P> {
    /// Whether a node can send a message to another one now.
    fn can_send(&self, from: Node, to: Node) -> bool;

    /// Sends a message.
    ///
    /// # Errors
    /// The message itself, if there is no room. The node gets one [`Notice::Room`] when there is
    /// room.
    ///
    /// # Panics
    /// If a node does not exist.
    fn send(
        &mut self,
        message: Message<P>,
        events: &mut impl EventSink<NetworkEvent>,
    ) -> Result<(), Message<P>>;

    /// Handles an event of the network.
    fn arrive(
        &mut self,
        event: NetworkEvent,
        events: &mut impl EventSink<NetworkEvent>,
    ) -> Option<Notice<P>>;

    /// Bounds the number of messages that a node can hold; more wait in the network until the node
    /// releases one. By default there is no bound.
    fn bound(&mut self, node: Node, messages: u32);

    /// Releases a message of a bounded node.
    fn release(&mut self, node: Node, events: &mut impl EventSink<NetworkEvent>);

    /// Changes the rate of the network's clock, with a settling time. Messages already granted
    /// arrive at their original times. After them, and after settling, messages travel at the new
    /// rate. A network without a clock, such as a channel, does not change.
    fn set_rate(
        &mut self,
        _rate: Clock,
        _settle: Time,
        _events: &mut impl EventSink<NetworkEvent>,
    ) {
    }

    /// Returns the number of messages that have entered and not left.
    fn under_way(&self) -> usize;

    /// Restricts the record to the time from now on.
    fn begin_to_count(&mut self, now: Time);

    /// The record: `messages` and `bytes` delivered, and `latency` from entering to delivery. Each
    /// kind of network adds its own keys.
    fn record(&self, now: Time) -> Record;

    /// Adds the waits within the network to a wait graph. `name` returns the machine's name of a
    /// node.
    fn waits(&self, name: &dyn Fn(Node) -> String, waits: &mut WaitGraph);
}

/// Returns the wait graph's name for the place where a node's messages wait to enter. A machine
/// whose node was refused reports that the node waits for this place.
pub fn entrance(node: String) -> String {
    format!("the way into the network at {node}")
}

/// The messages in flight, and their statistics.
#[derive(Clone, Debug)]
pub(crate) struct Traffic<P> {
    flights: Slab<Flight<P>>,
    bytes: u64,
    latency: Histogram,
}

/// A message in flight.
#[derive(Clone, Debug)]
struct Flight<P> {
    message: Message<P>,
    /// The time at which it entered.
    since: Time,
}

impl<P> Traffic<P> {
    pub(crate) fn new() -> Self {
        Self { flights: Slab::new(), bytes: 0, latency: Histogram::times() }
    }

    pub(crate) fn begin(&mut self, message: Message<P>, now: Time) -> u32 {
        self.flights.insert(Flight { message, since: now }) as u32
    }

    pub(crate) fn message(&self, number: u32) -> &Message<P> {
        &self.flights[number as usize].message
    }

    pub(crate) fn end(&mut self, number: u32, now: Time) -> Message<P> {
        let flight = self.flights.remove(number as usize);
        self.bytes += u64::from(flight.message.bytes);
        self.latency.time(now - flight.since);
        flight.message
    }

    /// Returns the notice of an event that has the same meaning in every network; otherwise `None`.
    pub(crate) fn notice(&mut self, event: NetworkEvent, now: Time) -> Option<Notice<P>> {
        match event {
            NetworkEvent::Deliver(number) => Some(Notice::Delivered(self.end(number, now))),
            NetworkEvent::Room(node) => Some(Notice::Room(node)),
            _ => None,
        }
    }

    pub(crate) fn under_way(&self) -> usize {
        self.flights.len()
    }

    pub(crate) fn begin_to_count(&mut self) {
        (self.bytes, self.latency) = (0, Histogram::times());
    }

    pub(crate) fn record(&self) -> Record {
        Record::new()
            .with("messages", self.latency.count())
            .with("bytes", self.bytes)
            .with("latency", &self.latency)
            .with("under_way", self.under_way() as u64)
    }
}

/// The remaining capacity of receivers: credits, as in a network on chip.
#[derive(Clone, Debug)]
pub(crate) struct Credits(Vec<Option<u32>>);

impl Credits {
    pub(crate) fn new(nodes: u32) -> Self {
        Self(vec![None; nodes as usize])
    }

    pub(crate) fn nodes(&self) -> usize {
        self.0.len()
    }

    /// Panics if a message names a node that does not exist, which is a bug of the machine.
    pub(crate) fn check<P>(&self, message: &Message<P>) {
        let (from, to, nodes) = (message.from.0, message.to.0, self.0.len());
        assert!(
            from.max(to) < nodes as u32,
            "a message from node {from} to {to}, where there are {nodes}"
        );
    }

    pub(crate) fn set(&mut self, node: Node, messages: u32) {
        self.0[node.0 as usize] = Some(messages);
    }

    pub(crate) fn is_bound(&self, node: Node) -> bool {
        self.0[node.0 as usize].is_some()
    }

    pub(crate) fn has(&self, node: Node) -> bool {
        self.0[node.0 as usize] != Some(0)
    }

    pub(crate) fn take(&mut self, node: Node) {
        if let Some(left) = &mut self.0[node.0 as usize] {
            *left -= 1;
        }
    }

    pub(crate) fn give(&mut self, node: Node) {
        if let Some(left) = &mut self.0[node.0 as usize] {
            *left += 1;
        }
    }
}
