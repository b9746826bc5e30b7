//! Objects that must see packets in the order of their arrival.

use std::ops::Range;

use wireloom_sim::Kernel;
use wireloom_sim::parts::network::Node;

use super::super::broker::{Errand, Service};
use super::super::call::{Call, Target};
use super::super::finish::Finish;
use super::super::handover::Forward;
use super::super::noc_payload::{NocPayload, Released};
use super::super::objects::Objects;
use super::super::order_gate::Position;
use super::super::workload::Workload;
use super::{Event, Platform};

impl<W: Workload, O: Objects> Platform<W, O> {
    /// Handles a packet that has arrived at the broker. If objects need packets in order, the
    /// broker also passes packets on in order: a packet that waits for an earlier one must not
    /// occupy a thread that the earlier one needs.
    pub(super) fn process(&mut self, packet: u32, kernel: &mut Kernel<Event>) {
        self.tell_broker(packet, kernel.now(), "has its window");
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.come(self.io.window(packet).0.number, packet);
        } else {
            self.serve_packet(packet, kernel);
        }
        while let Some(packet) = self.arrivals.as_mut().and_then(|arrivals| arrivals.pop()) {
            self.serve_packet(packet, kernel);
        }
    }

    fn serve_packet(&mut self, packet: u32, kernel: &mut Kernel<Event>) {
        let matched = self.broker.call(kernel.now(), Service::PACKETS, Errand::Packet(packet));
        self.matched(matched, kernel);
    }

    /// Whether any object must see packets in the order of their arrival.
    pub(super) fn holds_order(&self) -> bool {
        self.arrivals.is_some()
    }

    /// Handles a packet that has arrived at the broker for another part. As with arriving packets,
    /// the threads of each part get packets in order. No packet returns to a part that it has left
    /// or skipped.
    pub(super) fn hand_over_in_turn(&mut self, number: u32, kernel: &mut Kernel<Event>) {
        let Forward { packet, from, ref contents, .. } = self.forwards[number as usize];
        let (to, packet) = (contents.part as usize, self.io.window(packet).0.number);
        self.part_turns[to].call(kernel.now(), Position { packet, call: 0 }, number);
        self.part_turns[to].end(packet, 1);
        for passed in from as usize + 1..to {
            self.part_turns[passed].end(packet, 0);
        }
        self.call_parts(from as usize + 1..to + 1, kernel);
    }

    fn call_parts(&mut self, parts: Range<usize>, kernel: &mut Kernel<Event>) {
        for part in parts {
            while let Some(number) = self.part_turns[part].next(kernel.now()) {
                self.call_part(number, kernel);
            }
        }
    }

    /// Handles a call that has arrived at its object.
    pub(super) fn call_in_turn(&mut self, number: u32, kernel: &mut Kernel<Event>) {
        let Call { target: Target::Object { object, .. }, turn, .. } = self.calls[number as usize]
        else {
            return;
        };
        self.tell_object(number, kernel.now(), "has the call");
        match (&mut self.turns[object as usize], turn) {
            (Some(turns), Some(turn)) => {
                turns.call(kernel.now(), turn, number);
                self.make_calls(object as usize, kernel);
            }
            _ => self.call(number, kernel),
        }
    }

    /// Handles the notice that a packet makes no more calls of an object.
    pub(super) fn released(&mut self, released: Released, kernel: &mut Kernel<Event>) {
        let Released { object, packet, calls } = released;
        if let Some(Some(turns)) = self.turns.get_mut(object as usize) {
            turns.end(packet, calls);
            self.make_calls(object as usize, kernel);
        }
    }

    /// Handles the return of a packet to packet I/O. Notifies the objects that do not know yet that
    /// the packet makes no more calls.
    pub(super) fn release(&mut self, finish: &Finish, kernel: &mut Kernel<Event>) {
        if finish.is_kept() || !self.holds_order() {
            return;
        }
        let packet = self.io.window(finish.packet).0.number;
        let mut counts = finish.counts.clone();
        for object in 0..self.turns.len() as u32 {
            if self.turns[object as usize].is_some()
                && let Some(calls) = counts.end(object)
            {
                let parcel = NocPayload::Released(Released { object, packet, calls });
                let message = self.message(self.io_node(), self.object_node(object), 4, parcel);
                self.send(message, kernel);
            }
        }
        let left = finish.part as usize + 1..self.part_turns.len();
        for part in left.clone() {
            self.part_turns[part].end(packet, 0);
        }
        self.call_parts(left, kernel);
    }

    /// The objects with calls that wait at their order gates: the number of calls, and the packet
    /// that they wait for.
    pub(super) fn waiting_for_turns(&self) -> impl Iterator<Item = (Node, usize, u64)> + '_ {
        let turns = (0..).zip(&self.turns);
        turns.filter_map(|(object, turns)| {
            let (calls, packet) = turns.as_ref()?.waits()?;
            Some((self.object_node(object), calls, packet))
        })
    }

    fn make_calls(&mut self, object: usize, kernel: &mut Kernel<Event>) {
        while let Some(number) =
            self.turns[object].as_mut().and_then(|turns| turns.next(kernel.now()))
        {
            self.call(number, kernel);
        }
    }
}
