//! Packet latencies.

use wireloom_sim::Time;
use wireloom_sim::stats::{Histogram, Record};

use super::InFlight;
use crate::mpe::Finish;

/// The latencies of packets that arrive from a time on.
#[derive(Clone, Debug)]
pub(crate) struct Latencies {
    from: Time,
    /// The latency from the arrival of the last bit until the thread returns the packet to packet
    /// I/O.
    pub(crate) processing: Histogram,
    /// The part of it in which the thread waited for the network.
    pub(crate) network: Histogram,
    /// The part of it in which the thread's instructions were in the pipeline.
    pub(crate) compute: Histogram,
    /// The latency until the departure of the last bit.
    pub(crate) total: Histogram,
    /// Instructions and network accesses per packet.
    instructions: Histogram,
    accesses: Histogram,
}

impl Latencies {
    pub(super) fn new(from: Time) -> Self {
        let times = Histogram::times;
        let (instructions, accesses) = (Histogram::numbers(), Histogram::numbers());
        let [processing, network, compute, total] = [times(), times(), times(), times()];
        Self { from, processing, network, compute, total, instructions, accesses }
    }

    pub(super) fn processed(&mut self, packet: &InFlight, finish: &Finish, now: Time, cycle: Time) {
        if packet.arrived < self.from {
            return;
        }
        self.processing.time(now.since(packet.arrived));
        self.network.time(finish.spent.network);
        self.compute.time(Time(finish.spent.cycles * cycle.0));
        self.instructions.number(finish.spent.instructions);
        self.accesses.number(finish.spent.accesses);
    }

    pub(super) fn left(&mut self, packet: &InFlight, at: Time) {
        if packet.arrived >= self.from {
            self.total.time(at.since(packet.arrived));
        }
    }

    /// Statistics: `total`; `processing` and its parts `network` and `compute`; `instructions` and
    /// `accesses` per packet.
    pub(super) fn record(&self) -> Record {
        Record::new()
            .with("total", &self.total)
            .with("processing", &self.processing)
            .with("network", &self.network)
            .with("compute", &self.compute)
            .with("instructions", &self.instructions)
            .with("accesses", &self.accesses)
    }
}
