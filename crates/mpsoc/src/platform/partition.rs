//! The hand-over of packets between the parts of an engine: a part is a service, and the sending
//! part calls it.

use wireloom_sim::stats::Record;
use wireloom_sim::{Kernel, Time};

use super::super::broker::{Errand, Service};
use super::super::finish::Spent;
use super::super::noc_payload::NocPayload;
use super::super::objects::Objects;
use super::super::workload::Workload;
use super::{Event, Platform, context};

impl<W: Workload, O: Objects> Platform<W, O> {
    /// Handles a packet that has arrived at the broker for another part.
    pub(super) fn hand_over(&mut self, number: u32, kernel: &mut Kernel<Event>) {
        let place = self.forwards[number as usize].packet;
        self.tell_broker(place, kernel.now(), "has it for the next part");
        if self.holds_order() {
            self.hand_over_in_turn(number, kernel);
        } else {
            self.call_part(number, kernel);
        }
    }

    /// Calls the part that receives a packet.
    pub(super) fn call_part(&mut self, number: u32, kernel: &mut Kernel<Event>) {
        let service = Service::part(self.forwards[number as usize].contents.part);
        let matched = self.broker.call(kernel.now(), service, Errand::HandOver(number));
        self.matched(matched, kernel);
    }

    /// Sends a packet to the thread that the broker has found for it.
    pub(super) fn give(&mut self, number: u32, thread: u32, at: Time, kernel: &mut Kernel<Event>) {
        let bytes = self.forwards[number as usize].contents.bytes();
        self.tell_matched(self.forwards[number as usize].packet, thread, at);
        let parcel = NocPayload::TakeOver { number, thread };
        let message = self.message(self.broker_node(), self.thread_node(thread), bytes, parcel);
        self.send_at(at, message, kernel);
    }

    /// Handles the arrival of a packet at the thread that the broker has found.
    pub(super) fn take_over(
        &mut self,
        number: u32,
        thread: u32,
        now: Time,
        kernel: &mut Kernel<Event>,
    ) {
        let forward = self.forwards.remove(number as usize);
        let information = self.io.window(forward.packet).0;
        self.tell_begun(forward.packet, thread, now);
        context(&mut self.processors, self.threads, thread).take_over(forward, information);
        self.resume(thread, now, kernel);
    }

    /// Statistics of each part of a cut engine: its first step, its `threads`, their
    /// `instructions`, and the share of their processors' cycles (`use`). A processor with threads
    /// of several parts counts in proportion to the threads.
    pub(super) fn parts(&self, cycles: u64) -> Vec<Record> {
        let parts = (0..).zip(self.workload.parts());
        let of_part = parts.map(|(part, begins)| {
            let processors = self.processors.iter().enumerate();
            let threads = processors.flat_map(|(processor, own)| {
                let first = processor as u32 * self.threads;
                let lanes = (first..).zip(own.counted());
                lanes
                    .filter(move |(thread, _)| self.workload.part(*thread) == part)
                    .map(|(_, spent)| spent)
            });
            let (count, spent) = threads
                .fold((0u32, Spent::default()), |(count, sum), spent| (count + 1, sum.plus(spent)));
            let available = cycles.max(1) as f64 * f64::from(count) / f64::from(self.threads);
            Record::new()
                .with("begins", begins.as_str())
                .with("threads", u64::from(count))
                .with("instructions", spent.instructions)
                .with("use", spent.cycles as f64 / available)
        });
        of_part.collect()
    }
}
