//! Running ahead: a node is simulated by itself up to a time that is still to come. A network that
//! knows the delivery of a message when it is sent can offer this ([`RunAhead`]).
//!
//! The results are those of a run in which nobody runs ahead, as long as three promises hold:
//!
//! 1. **The network.** Before the time that [`RunAhead::quiet_until`] has returned, no message
//!    reaches the node that was not in the network at that call.
//! 2. **Nodes that [answer](RunAhead::answers).** Such a node sends a message to a node that
//!    [collects](RunAhead::collect) only while it handles the arrival of a message from that node,
//!    for that instant or a later one.
//! 3. **The node that runs ahead.** It takes each message before it simulates the time after the
//!    message's arrival, and sends its own with [`RunAhead::send_ahead`], at their times.
//!
//! A network asserts the first two with [`Promises`] in debug builds. The third is the machine's.

use super::network::{Message, Network, NetworkEvent, Node};
use crate::{EventSink, Time};

/// A network whose nodes can run ahead.
pub trait RunAhead<P>: Network<P> {
    /// Sends a message that enters at a time that may be in the future. Each node sends its
    /// messages in the order in which they enter, or in any other order that is equal in every run.
    /// Returns its arrival time at a node that [collects](Self::collect) its messages.
    ///
    /// # Panics
    /// If there is no such node.
    fn send_ahead(
        &mut self,
        message: Message<P>,
        at: Time,
        events: &mut impl EventSink<NetworkEvent>,
    ) -> Option<Time>;

    /// Makes messages to a node arrive without an event from now on; they wait until the node
    /// [fetches](Self::fetch) them. Returns whether that is possible. Only nodes that receive by
    /// events may send to it, and only after they have received a message.
    fn collect(&mut self, node: Node) -> bool;

    /// Declares that a node keeps the second promise from now on.
    fn answers(&mut self, node: Node);

    /// Returns the arrival time of the next message, of those in the network, at a node that
    /// collects its messages; `None` for another node.
    fn next_for(&self, node: Node) -> Option<Time>;

    /// Takes the next message of a node that collects its messages, if it arrives at this time or
    /// before, and returns it with its arrival time; nothing for another node.
    fn fetch(&mut self, node: Node, until: Time) -> Option<(Time, Message<P>)>;

    /// Returns the time of the first promise, at least `now`: until then the node can be simulated
    /// by itself.
    fn quiet_until(&mut self, node: Node, now: Time) -> Time;
}

/// What was promised to each node and by it. In release builds nothing is recorded.
#[derive(Clone, Debug)]
pub(crate) struct Promises {
    /// Up to when no unknown message reaches the node.
    quiet: Vec<Time>,
    /// The last message from the node that arrived at one that answers: where, and when.
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

    /// Records the arrival of a message from a node at one that answers.
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

    /// Asserts the second promise for a message from a node that answers to one that collects.
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
