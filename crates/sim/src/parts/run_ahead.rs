//! Run-ahead (temporal decoupling): a node is simulated on its own up to a time in the future. A
//! network can offer this ([`RunAhead`]) if it knows the delivery time of a message when it is
//! sent.
//!
//! The results equal those of a run without run-ahead, as long as three promises hold:
//!
//! 1. **The network.** Before the time that [`RunAhead::quiet_until`] has returned, no message
//!    reaches the node that was not in the network at that call.
//! 2. **Nodes that [answer](RunAhead::answers).** Such a node sends a message to a node that
//!    [collects](RunAhead::collect) only while it handles the arrival of a message from that node,
//!    for that instant or a later one.
//! 3. **The node that runs ahead.** It takes each message before it simulates the time after the
//!    message's arrival, and sends its own with [`RunAhead::send_ahead`], at their times.
//!
//! A network asserts the first two with [`Promises`] in debug builds. The machine must keep the
//! third.

use super::network::{Message, Network, NetworkEvent, Node};
use crate::{EventSink, Time};

/// A network whose nodes can run ahead.
pub trait RunAhead<P>: Network<P> {
    /// Sends a message that enters at a time that may be in the future. Each node must send its
    /// messages in the order in which they enter, or in another order that is the same in every
    /// run. Returns the arrival time if the receiver [collects](Self::collect) its messages.
    ///
    /// # Panics
    /// If a node does not exist.
    fn send_ahead(
        &mut self,
        message: Message<P>,
        at: Time,
        events: &mut impl EventSink<NetworkEvent>,
    ) -> Option<Time>;

    /// Makes messages to a node arrive without an event from now on; they wait until the node
    /// [fetches](Self::fetch) them. Returns whether that is possible. Only nodes that receive by
    /// events may send to this node, and only after they have received a message.
    fn collect(&mut self, node: Node) -> bool;

    /// Declares that a node keeps the second promise from now on.
    fn answers(&mut self, node: Node);

    /// Returns the arrival time of the next message in the network for a node that collects its
    /// messages; `None` for other nodes.
    fn next_for(&self, node: Node) -> Option<Time>;

    /// Takes the next message of a node that collects its messages, if it arrives by this time, and
    /// returns it with its arrival time; `None` for other nodes.
    fn fetch(&mut self, node: Node, until: Time) -> Option<(Time, Message<P>)>;

    /// Returns the time of the first promise, at least `now`. Until then the node can be simulated
    /// on its own.
    fn quiet_until(&mut self, node: Node, now: Time) -> Time;
}

/// The promises made to each node and by it. Release builds record nothing.
#[derive(Clone, Debug)]
pub(crate) struct Promises {
    /// For each node, the time up to which no unknown message reaches it.
    quiet: Vec<Time>,
    /// For each node, the answering node and the time at which its last message there arrived.
    asked: Vec<Option<(Node, Time)>>,
}

impl Promises {
    pub(crate) fn new(nodes: u32) -> Self {
        Self { quiet: vec![Time::ZERO; nodes as usize], asked: vec![None; nodes as usize] }
    }

    /// Records that no unknown message reaches a node before this time.
    pub(crate) fn quiet(&mut self, node: Node, until: Time) {
        if cfg!(debug_assertions) {
            let quiet = &mut self.quiet[node.0 as usize];
            *quiet = until.max(*quiet);
        }
    }

    /// Records the arrival of a message from a node at an answering node.
    pub(crate) fn asked(&mut self, from: Node, to: Node, now: Time) {
        if cfg!(debug_assertions) {
            self.asked[from.0 as usize] = Some((to, now));
        }
    }

    /// Asserts the first promise for a message that enters now and reaches a node at this time.
    pub(crate) fn check_quiet(&self, to: Node, arrival: Time) {
        debug_assert!(
            arrival >= self.quiet[to.0 as usize],
            "a message reaches node {} at {} ps, which was promised to be quiet until {} ps",
            to.0,
            arrival.0,
            self.quiet[to.0 as usize].0
        );
    }

    /// Asserts the second promise for a message from an answering node to a collecting one.
    pub(crate) fn check_answer(&self, from: Node, to: Node, now: Time) {
        debug_assert!(
            self.asked[to.0 as usize] == Some((from, now)),
            "node {} sends to node {} at {} ps without a message from it to answer",
            from.0,
            to.0,
            now.0
        );
    }
}
