//! Order gates of objects that must see packets in the order of their arrival.
//!
//! Golden makes all calls of a packet before any call of the next packet. An order-sensitive object
//! makes each call after all earlier packets have made all of theirs. For this, calls are numbered,
//! packet by packet. A packet is reported as over, with the number of its calls, when its thread
//! reaches a step after which no call can follow, or has finished the packet. Packets get their
//! threads in the order of their arrival, so the packet that is next always has a thread.

use std::collections::BTreeMap;

use wireloom_sim::Time;
use wireloom_sim::stats::Histogram;

/// The position of a call in the order of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Position {
    /// The number of the packet among all packets that were taken.
    pub(super) packet: u64,
    /// The sequence number of the call within its packet.
    pub(super) call: u32,
}

/// The calls that an object has not yet made.
#[derive(Clone, Debug)]
pub(super) struct OrderGate {
    /// The position of the next call.
    next: Position,
    /// Waiting calls by position: their arrival times and numbers.
    waiting: BTreeMap<Position, (Time, u32)>,
    /// Packets that are over, with their numbers of calls.
    over: BTreeMap<u64, u32>,
    wait: Histogram,
}

impl OrderGate {
    /// A gate that is open for the first packet.
    pub(super) fn new() -> Self {
        let next = Position { packet: 0, call: 0 };
        Self { next, waiting: BTreeMap::new(), over: BTreeMap::new(), wait: Histogram::times() }
    }

    /// Handles the arrival of a call.
    pub(super) fn call(&mut self, now: Time, turn: Position, number: u32) {
        self.waiting.insert(turn, (now, number));
    }

    /// Records that a packet makes only `calls` calls.
    pub(super) fn end(&mut self, packet: u64, calls: u32) {
        self.over.insert(packet, calls);
    }

    /// Takes the next call in order, if it has arrived.
    pub(super) fn next(&mut self, now: Time) -> Option<u32> {
        loop {
            if let Some((came, number)) = self.waiting.remove(&self.next) {
                self.next.call += 1;
                self.wait.time(now - came);
                return Some(number);
            }
            let Position { packet, call } = self.next;
            if self.over.get(&packet) != Some(&call) {
                return None;
            }
            self.over.remove(&packet);
            self.next = Position { packet: packet + 1, call: 0 };
        }
    }

    /// The waiting times of calls.
    pub(super) fn wait(&self) -> &Histogram {
        &self.wait
    }

    /// Resets the statistics.
    pub(super) fn begin_to_count(&mut self) {
        self.wait = Histogram::times();
    }

    /// The number of waiting calls, and the packet that they wait for; `None` if no calls wait.
    pub(super) fn waits(&self) -> Option<(usize, u64)> {
        (!self.waiting.is_empty()).then_some((self.waiting.len(), self.next.packet))
    }
}

/// The number of a packet's calls to each object with an order gate, by object number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CallCounts {
    /// The number of calls of each object, up to the last object with calls.
    calls: Vec<u32>,
    /// A bit mask of the objects of which the packet makes no more calls.
    over: u128,
}

impl CallCounts {
    /// The number of the packet's next call of an object.
    pub(super) fn next(&mut self, object: u32) -> u32 {
        let index = object as usize;
        if self.calls.len() <= index {
            self.calls.resize(index + 1, 0);
        }
        self.calls[index] += 1;
        self.calls[index] - 1
    }

    /// Ends the packet's calls of an object. Returns the number of calls, or `None` if they were
    /// ended before.
    pub(super) fn end(&mut self, object: u32) -> Option<u32> {
        let bit = 1 << object;
        let is_news = self.over & bit == 0;
        self.over |= bit;
        is_news.then(|| self.calls.get(object as usize).copied().unwrap_or(0))
    }

    /// Whether the packet makes no more calls of an object.
    pub(super) fn is_over(&self, object: u32) -> bool {
        self.over >> object & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_made_packet_by_packet_and_in_the_order_of_each() {
        let mut turns = OrderGate::new();
        let come = |turns: &mut OrderGate, packet, call, number| {
            turns.call(Time(5), Position { packet, call }, number)
        };
        let next = |turns: &mut OrderGate| turns.next(Time(9));
        come(&mut turns, 1, 0, 10);
        come(&mut turns, 0, 1, 1);
        assert_eq!((next(&mut turns), turns.waits()), (None, Some((2, 0))));
        come(&mut turns, 0, 0, 0);
        assert_eq!([(); 3].map(|()| next(&mut turns)), [Some(0), Some(1), None]);
        // A packet is over after its last call, however early this is announced.
        turns.end(1, 2);
        turns.end(2, 0);
        turns.end(0, 2);
        assert_eq!([(); 2].map(|()| next(&mut turns)), [Some(10), None]);
        come(&mut turns, 3, 0, 30);
        come(&mut turns, 1, 1, 11);
        assert_eq!([(); 3].map(|()| next(&mut turns)), [Some(11), Some(30), None]);
        assert_eq!((turns.waits(), turns.wait().count(), turns.wait().mean()), (None, 5, 4.0));
    }

    #[test]
    fn calls_of_a_packet_are_numbered_object_by_object() {
        let mut counts = CallCounts::default();
        assert_eq!([2, 0, 2].map(|object| counts.next(object)), [0, 0, 1]);
        assert_eq!(
            [2, 2, 1, 7].map(|object| counts.end(object)),
            [Some(2), None, Some(0), Some(0)]
        );
        assert!(counts.is_over(7) && !counts.is_over(0));
    }
}
