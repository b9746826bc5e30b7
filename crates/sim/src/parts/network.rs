//! What all networks have in common: a message goes in at a node and comes out at another one, some time later.

use slab::Slab;

use crate::stats::{Histogram, Record};
use crate::waits::Waits;
use crate::{Agenda, Time};

/// The number of a place where messages go in and come out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub u32);

/// Something for somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message<P> {
    /// Who sends it.
    pub from: Node,
    /// Who gets it.
    pub to: Node,
    /// How long it is, its header included.
    pub bytes: u32,
    /// What it says.
    pub payload: P,
}

/// What a network sends itself. A machine hands it back to [`Network::arrive`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// The message of this number is at its receiver, and comes out if that can hold it.
    Reach(u32),
    /// The message of this number comes out.
    Deliver(u32),
    /// Somebody who was refused can try again.
    Room(Node),
    /// Those who wait are chosen among.
    Step,
    /// The head of a message reaches a router, at one of its inputs.
    Head {
        /// Which.
        router: u32,
        /// The input.
        input: u8,
        /// The message.
        message: u32,
    },
    /// The end of a message leaves a router's input.
    Tail {
        /// Which.
        router: u32,
        /// The input.
        input: u8,
    },
}

/// What a network tells the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice<P> {
    /// A message has come out, all of it.
    Delivered(Message<P>),
    /// A node whose message was refused can send again.
    Room(Node),
}

/// A network. No message is lost, and those of one sender to one receiver keep their order unless a network says otherwise.
pub trait Network<P> {
    /// Whether a node can put in a message for another one now.
    fn can_send(&self, from: Node, to: Node) -> bool;

    /// Puts a message in.
    ///
    /// # Errors
    /// The message itself, if there is no room. The node is told by [`Notice::Room`], once, when there is.
    ///
    /// # Panics
    /// If there is no such node.
    fn send(&mut self, message: Message<P>, agenda: &mut impl Agenda<NetworkEvent>)
    -> Result<(), Message<P>>;

    /// Whether messages can be put in before their time: what becomes of them is not up to others. See [`send_ahead`](Self::send_ahead).
    fn sends_ahead(&self) -> bool {
        false
    }

    /// Puts a message in that goes in at a time that may not have come, of a network that [`sends_ahead`](Self::sends_ahead). Each node puts its messages
    /// in in the order in which they go in, or in any other that does not change from run to run. Answers when it comes out at a node that
    /// [collects](Self::collect) its messages.
    ///
    /// # Panics
    /// If there is no such node, or the network does not know before what becomes of a message.
    fn send_ahead(
        &mut self,
        _message: Message<P>,
        _at: Time,
        _agenda: &mut impl Agenda<NetworkEvent>,
    ) -> Option<Time> {
        panic!("this network has no room for messages before their time");
    }

    /// From now on messages come out at a node without an event, and lie there until it [fetches](Self::fetch) them; answers whether this network can do that.
    /// So a node that is ahead of time knows what is to come. Only nodes at which messages come out by events may send to it, and only when one has come out.
    fn collect(&mut self, _node: Node) -> bool {
        false
    }

    /// From now on a node sends messages to nodes that collect theirs only when one of that node has come out at it.
    fn answers(&mut self, _node: Node) {}

    /// When the next message comes out at a node that collects its messages, of those that are in the network; nothing for another node.
    fn next_for(&self, _node: Node) -> Option<Time> {
        None
    }

    /// The next message of a node that collects its messages, if it comes out at this time or before, and when it does; nothing for another node.
    fn fetch(&mut self, _node: Node, _until: Time) -> Option<(Time, Message<P>)> {
        None
    }

    /// One of the network's events has arrived.
    fn arrive(&mut self, event: NetworkEvent, agenda: &mut impl Agenda<NetworkEvent>) -> Option<Notice<P>>;

    /// A node can hold so many messages; more wait in the network until the node lets one go. Without this there is no bound.
    fn bound(&mut self, node: Node, messages: u32);

    /// A bounded node lets go of a message that it got.
    fn release(&mut self, node: Node, agenda: &mut impl Agenda<NetworkEvent>);

    /// Messages that have gone in and not come out.
    fn under_way(&self) -> usize;

    /// No message comes out at a node before this time that it cannot [fetch](Self::fetch), whatever is put in from `now` on: until then the node can be
    /// simulated by itself. `now` where nothing is known.
    fn quiet_until(&self, _node: Node, now: Time) -> Time {
        now
    }

    /// `messages` and `bytes` that came out, `latency` from going in to coming out; each kind of network adds its own.
    fn record(&self, now: Time) -> Record;

    /// Who waits within the network, for a stuck machine's report; `name` is what the machine calls a node.
    fn waits(&self, name: &dyn Fn(Node) -> String, waits: &mut Waits);
}

/// What a report calls the place where a node's messages wait to go in. A machine whose node was refused says that the node waits for this.
pub fn entrance(node: String) -> String {
    format!("the way into the network at {node}")
}

/// Messages that are under way, and what is counted of them.
#[derive(Clone, Debug)]
pub(crate) struct Traffic<P> {
    flights: Slab<Flight<P>>,
    bytes: u64,
    latency: Histogram,
}

/// A message under way.
#[derive(Clone, Debug)]
struct Flight<P> {
    message: Message<P>,
    /// When it went in.
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

    /// What events tell that mean the same in every network; nothing if it is another one.
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

    pub(crate) fn record(&self) -> Record {
        Record::new()
            .with("messages", self.latency.count())
            .with("bytes", self.bytes)
            .with("latency", &self.latency)
            .with("under_way", self.under_way() as u64)
    }
}

/// How much receivers can still take: credits, as in a network on a chip.
#[derive(Clone, Debug)]
pub(crate) struct Credits(Vec<Option<u32>>);

impl Credits {
    pub(crate) fn new(nodes: u32) -> Self {
        Self(vec![None; nodes as usize])
    }

    pub(crate) fn nodes(&self) -> usize {
        self.0.len()
    }

    /// Panics where a message names a node that there is not: the machine's own mistake.
    pub(crate) fn check<P>(&self, message: &Message<P>) {
        let (from, to, nodes) = (message.from.0, message.to.0, self.0.len());
        assert!(from.max(to) < nodes as u32, "a message from node {from} to {to}, where there are {nodes}");
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
