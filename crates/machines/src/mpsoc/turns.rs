//! Whose turn it is at objects that must see packets in the order of their arrival.
//!
//! Golden makes all calls of a packet before any of the next. An object to which that matters makes each call when all packets before have made theirs: calls
//! are numbered, packet by packet, and each packet is told to be over, with the number of its calls, when its thread is at a step from which none can come any
//! more, or is done with it. As packets get their threads in the order of their arrival, the one whose turn it is always has one.

use std::collections::BTreeMap;

use wireloom_sim::Time;
use wireloom_sim::stats::Histogram;

/// The place of a call among those of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    /// The number of the packet among all that were taken.
    pub(super) packet: u64,
    /// The how-manieth call of that packet.
    pub(super) call: u32,
}

/// Calls that an object has not made yet.
#[derive(Clone, Debug)]
pub(super) struct Turns {
    /// Whose turn it is.
    next: Turn,
    /// By their turns: when they came, and their numbers.
    waiting: BTreeMap<Turn, (Time, u32)>,
    /// Packets that are over, with the numbers of their calls.
    over: BTreeMap<u64, u32>,
    /// How long calls have waited.
    wait: Histogram,
}

impl Turns {
    /// It is the first packet's turn.
    pub(super) fn new() -> Self {
        let next = Turn { packet: 0, call: 0 };
        Self { next, waiting: BTreeMap::new(), over: BTreeMap::new(), wait: Histogram::times() }
    }

    /// A call has come.
    pub(super) fn call(&mut self, now: Time, turn: Turn, number: u32) {
        self.waiting.insert(turn, (now, number));
    }

    /// A packet makes no more calls than so many.
    pub(super) fn end(&mut self, packet: u64, calls: u32) {
        self.over.insert(packet, calls);
    }

    /// The next call whose turn it is, if it has come.
    pub(super) fn next(&mut self, now: Time) -> Option<u32> {
        loop {
            if let Some((came, number)) = self.waiting.remove(&self.next) {
                self.next.call += 1;
                self.wait.time(now - came);
                return Some(number);
            }
            let Turn { packet, call } = self.next;
            if self.over.get(&packet) != Some(&call) {
                return None;
            }
            self.over.remove(&packet);
            self.next = Turn { packet: packet + 1, call: 0 };
        }
    }

    /// How long calls have waited for their turns.
    pub(super) fn wait(&self) -> &Histogram {
        &self.wait
    }

    /// How many calls wait, and for which packet, if any do.
    pub(super) fn waits(&self) -> Option<(usize, u64)> {
        (!self.waiting.is_empty()).then_some((self.waiting.len(), self.next.packet))
    }
}

/// How many calls a packet has made of objects that take turns, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CallCounts {
    /// How many calls of each; as far as any were made.
    calls: Vec<u32>,
    /// Those that the packet is over with, a bit each.
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

    /// The packet makes no more calls of an object: how many it has made, if that is news.
    pub(super) fn end(&mut self, object: u32) -> Option<u32> {
        let bit = 1 << object;
        let is_news = self.over & bit == 0;
        self.over |= bit;
        is_news.then(|| self.calls.get(object as usize).copied().unwrap_or(0))
    }

    /// Whether it makes no more.
    pub(super) fn is_over(&self, object: u32) -> bool {
        self.over >> object & 1 != 0
    }
}

/// Packets on their way to the broker, which it is to have in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(super) struct Arrivals {
    next: u64,
    early: BTreeMap<u64, u32>,
}

impl Arrivals {
    /// The packet of a number has come, with its place.
    pub(super) fn come(&mut self, number: u64, place: u32) {
        self.early.insert(number, place);
    }

    /// The next one, if it has come.
    pub(super) fn next(&mut self) -> Option<u32> {
        let place = self.early.remove(&self.next)?;
        self.next += 1;
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_made_packet_by_packet_and_in_the_order_of_each() {
        let mut turns = Turns::new();
        let come =
            |turns: &mut Turns, packet, call, number| turns.call(Time(5), Turn { packet, call }, number);
        let next = |turns: &mut Turns| turns.next(Time(9));
        come(&mut turns, 1, 0, 10);
        come(&mut turns, 0, 1, 1);
        assert_eq!((next(&mut turns), turns.waits()), (None, Some((2, 0))));
        come(&mut turns, 0, 0, 0);
        assert_eq!([(); 3].map(|()| next(&mut turns)), [Some(0), Some(1), None]);
        // It is over when it has made all its calls, however early that is told.
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
        assert_eq!([2, 2, 1, 7].map(|object| counts.end(object)), [Some(2), None, Some(0), Some(0)]);
        assert!(counts.is_over(7) && !counts.is_over(0));
    }

    #[test]
    fn packets_go_on_in_the_order_of_their_numbers() {
        let mut arrivals = Arrivals::default();
        arrivals.come(1, 5);
        assert_eq!(arrivals.next(), None);
        arrivals.come(0, 6);
        assert_eq!([arrivals.next(), arrivals.next(), arrivals.next()], [Some(6), Some(5), None]);
    }
}
