//! Processors: their cycles, and their messages.

use wireloom_sim::parts::network::Node;
use wireloom_sim::parts::run_ahead::RunAhead;
use wireloom_sim::{Activity, Kernel, Time, Unit};

use super::super::noc_payload::Line;
use super::super::objects::Objects;
use super::super::processor::{NEVER, Outside};
use super::super::workload::Workload;
use super::{Event, Platform};

impl<W: Workload, O: Objects> Platform<W, O> {
    /// Declares to a network with run-ahead the nodes that send messages to threads only in reply
    /// to messages of the threads. The broker is not one of them: it sends packets when other
    /// packets have arrived at it. With order gates, packet I/O is not one either: when it has
    /// received a packet of a cut engine, the broker may send another one. An object with an order
    /// gate is not one, because it makes calls when other calls have arrived.
    pub(super) fn tell_who_answers(&mut self) {
        let memory = [self.memory_node()];
        let io = (!self.holds_order()).then_some(self.io_node());
        let objects = 0..self.turns.len() as u32;
        let unordered = objects.filter(|object| self.turns[*object as usize].is_none());
        let unordered: Vec<Node> = unordered.map(|object| self.object_node(object)).collect();
        if let Some(network) = self.network.run_ahead() {
            memory.into_iter().chain(io).chain(unordered).for_each(|node| network.answers(node));
        }
    }

    /// Executes the cycles of a processor until an unknown message may arrive. The processor
    /// fetches the messages that arrive earlier.
    #[inline]
    pub(super) fn cycles_of(&mut self, unit: Unit, kernel: &mut Kernel<Event>) -> Activity {
        let now = kernel.now();
        let edge = self.clock.edge_from(now);
        let limit = if self.is_naive {
            edge + 1
        } else {
            // No message can reach the processor before this (see `lookahead`). At the end of the
            // run everything up to it is observed.
            let node = Node(unit.0);
            let quiet = self.network.run_ahead().map_or(now, |ahead| ahead.quiet_until(node, now));
            self.clock.edge_from(quiet.min(kernel.until() + Time(1))).max(edge + 1)
        };
        let mut from = edge;
        let next = loop {
            while !self.processors[unit.0 as usize].has_failed(from)
                && let Some((time, message)) = self
                    .network
                    .run_ahead()
                    .and_then(|ahead| ahead.fetch(Node(unit.0), self.clock.edge(from)))
            {
                self.receive(message, time, kernel);
            }
            let next = self.network.run_ahead().and_then(|ahead| ahead.next_for(Node(unit.0)));
            let next = next.map_or(NEVER, |time| self.clock.edge_from(time));
            let Self { workload, processors, sent, timeline, labels, .. } = self;
            let mut outside = Outside { now, sent, timeline, labels };
            processors[unit.0 as usize].turn((from, limit.min(next)), workload, &mut outside);
            // A message without delay may arrive at this instant, after the processor's cycle.
            let done = limit.min(next);
            self.lookahead.done(unit.0, if done > edge + 1 { done } else { edge });
            if next >= limit || processors[unit.0 as usize].has_failed(next) {
                break next;
            }
            from = next;
        };
        if !self.sent.is_empty() {
            self.flush(kernel);
        }
        let processor = &self.processors[unit.0 as usize];
        let due = processor.due(edge).min(next);
        if processor.has_failed(edge) {
            self.look_for_failure(unit.0, kernel);
        }
        if due == NEVER { Activity::Asleep } else { Activity::After(due - edge) }
    }

    /// Counts the instructions issued up to now, for a report.
    pub(in super::super) fn settle_before(&mut self, end: Time) {
        let edge = self.clock.edge_from(end);
        let Self { workload, processors, sent, timeline, labels, .. } = self;
        let mut outside = Outside { now: end, sent, timeline, labels };
        processors.iter_mut().for_each(|processor| processor.settle(edge, workload, &mut outside));
    }

    /// Resumes a thread whose awaited event has happened.
    pub(super) fn resume(&mut self, thread: u32, now: Time, kernel: &mut Kernel<Event>) {
        let number = thread / self.threads;
        let Self { workload, processors, sent, timeline, labels, .. } = self;
        let mut outside = Outside { now, sent, timeline, labels };
        let goes_on =
            processors[number as usize].resume(thread % self.threads, workload, &mut outside);
        self.behind(number, goes_on, kernel);
    }

    /// Handles the arrival of a line for a processor's cache.
    pub(super) fn fill(&mut self, number: u32, line: Line, now: Time, kernel: &mut Kernel<Event>) {
        let Self { workload, processors, sent, timeline, labels, .. } = self;
        let mut outside = Outside { now, sent, timeline, labels };
        let goes_on = processors[number as usize].fill(line, workload, &mut outside);
        self.behind(number, goes_on, kernel);
    }

    /// Reschedules a processor whose threads have advanced outside its cycles.
    pub(super) fn behind(&mut self, number: u32, goes_on: bool, kernel: &mut Kernel<Event>) {
        // A processor that has fetched the message reschedules itself.
        if self.collects {
            return;
        }
        if goes_on || self.processors[number as usize].has_changed() {
            kernel.wake(Unit(number));
        }
        self.flush(kernel);
        self.look_for_failure(number, kernel);
    }

    /// Ends the run if a thread of a processor has raised an exception.
    fn look_for_failure(&mut self, number: u32, kernel: &mut Kernel<Event>) {
        if let Some((lane, (address, problem))) = self.processors[number as usize].take_exception()
        {
            let place = self.workload.place_at(address);
            self.fail_at(place, number * self.threads + lane, problem, kernel);
        }
    }
}
