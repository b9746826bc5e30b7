//! Packet latencies.

use wireloom_sim::Time;
use wireloom_sim::stats::{Histogram, Record};

use super::packets::InFlight;
use crate::finish::Finish;

/// The latencies of packets that arrive at or after a time.
#[derive(Clone, Debug)]
pub(crate) struct Latencies {
    from: Time,
    /// The latency from the arrival of the last bit until the thread returns the packet to packet
    /// I/O.
    pub(crate) processing: Histogram,
    /// The part of `processing` in which the thread waited for the network.
    pub(crate) network: Histogram,
    /// The part of `processing` in which the thread's instructions were in the pipeline.
    pub(crate) compute: Histogram,
    /// The latency until the departure of the last bit.
    pub(crate) total: Histogram,
    /// The numbers of instructions and of network accesses per packet.
    instructions: Histogram,
    accesses: Histogram,
    followed: Option<Followed>,
}

/// The times of one packet, with the work of its threads.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Followed {
    /// The number of the packet among all offered packets.
    pub(super) number: u64,
    /// The arrival time of the last bit; `None` if no thread has finished the packet.
    pub arrived: Option<Time>,
    /// The time at which the packet's thread returned it to packet I/O.
    pub processed: Time,
    /// For each output, the time at which its last bit left, or at which it was dropped.
    pub left: Vec<Time>,
    /// The time in which an instruction of the packet's thread was in the pipeline.
    pub compute: Time,
    /// The time in which the packet's thread waited for the network.
    pub network: Time,
    /// The number of instructions of the packet's thread.
    pub instructions: u64,
    /// The number of network accesses for which the packet's thread waited.
    pub accesses: u64,
}

impl Latencies {
    pub(super) fn new(from: Time) -> Self {
        let times = Histogram::times;
        let (instructions, accesses) = (Histogram::numbers(), Histogram::numbers());
        let [processing, network, compute, total] = [times(), times(), times(), times()];
        let followed = None;
        Self { from, processing, network, compute, total, instructions, accesses, followed }
    }

    pub(super) fn follow(&mut self, number: u64) {
        self.followed = Some(Followed { number, ..Followed::default() });
    }

    pub(super) fn followed(&self) -> Option<&Followed> {
        self.followed.as_ref()
    }

    /// Records that an output of a packet has left.
    pub(super) fn output(&mut self, offered: u64, at: Time) {
        let followed = self.followed.as_mut().filter(|followed| followed.number == offered);
        followed.into_iter().for_each(|followed| followed.left.push(at));
    }

    pub(super) fn processed(&mut self, packet: &InFlight, finish: &Finish, now: Time, cycle: Time) {
        if let Some(followed) = self.followed.as_mut().filter(|f| f.number == packet.offered) {
            followed.arrived = Some(packet.arrived);
            followed.processed = now;
            followed.compute = Time(finish.spent.cycles * cycle.0);
            followed.network = finish.spent.network;
            followed.instructions = finish.spent.instructions;
            followed.accesses = finish.spent.accesses;
        }
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
