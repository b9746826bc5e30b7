//! The state that line cards show to reports, governors and monitors, and the controls that
//! governors have over them.

use wireloom_net::packet::MAX_LENGTH;
use wireloom_sim::Time;
use wireloom_sim::stats::{Histogram, Record};

use super::requests::Requests;
use super::{Cards, Transfer};
use crate::spec::Assignment;

impl Cards {
    /// The count of packets that were offered to the lines.
    pub fn offered(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    /// The count of packets that found no room at a port.
    pub fn lost_at_input(&self) -> u64 {
        self.ports.iter().map(|port| port.lost).sum()
    }

    /// The statistics: `mpkts_in`, `mpkts_out`, `bus_use`, and the lines by port.
    pub fn record(&self, now: Time) -> Record {
        let [inward, outward] = self.carried;
        let mut lines = Record::new();
        for (number, port) in self.ports.iter().enumerate() {
            let record = Record::new()
                .with("lost", port.lost)
                .with("in", port.source.record(now))
                .with("out", port.sink.record(now));
            lines.add(&format!("port_{number}"), record);
        }
        Record::new()
            .with("mpkts_in", inward)
            .with("mpkts_out", outward)
            .with("bus_use", self.bus_use(now))
            .with("lines", lines)
    }

    /// The most MPKTs that can wait at a port: its capacity, or one longer packet.
    pub fn places(&self) -> u32 {
        let longest = (MAX_LENGTH as u32).div_ceil(self.mpkt);
        match self.buffer {
            Some(packets) => (packets as u32).saturating_mul(longest),
            None => longest.max(self.spec.receive_mpkts + self.extra_mpkts),
        }
    }

    /// The latency through the machine, from the last bit in to the last bit out, without packets
    /// that arrived in the warm-up.
    pub fn latency(&self) -> &Histogram {
        &self.latency
    }

    /// The time at which the last packet so far left or was dropped.
    pub fn last_left(&self) -> Time {
        self.last_left
    }

    /// Restarts the latency measurement; only packets that arrive from now on count.
    pub fn measure_latencies(&mut self, now: Time) {
        (self.latency, self.measured_from) = (Histogram::times(), now);
    }

    /// The MPKTs that wait at a port, and the count of packets that it has lost.
    pub fn held(&self, port: usize) -> (u32, u64) {
        (self.ports[port].held_in, self.ports[port].lost)
    }

    /// The time in which the bus carried MPKTs. On a duplex bus this is the time of the busier
    /// direction.
    pub fn bus_time(&self) -> Time {
        self.bus.clock.cycles(self.bus_cycles(self.cycles))
    }

    /// [`bus_time`](Self::bus_time) without the cycles after `now` of MPKTs in transfer.
    pub fn bus_time_at(&self, now: Time) -> Time {
        let now = self.bus.clock.edge_from(now);
        let done = [0, 1].map(|way| self.cycles[way] - self.ends[way].saturating_sub(now));
        self.bus.clock.cycles(self.bus_cycles(done))
    }

    fn bus_cycles(&self, [inward, outward]: [u64; 2]) -> u64 {
        if self.bus.duplex { inward.max(outward) } else { inward + outward }
    }

    /// The count of MPKTs that the bus has carried, in and out.
    pub fn mpkts(&self) -> u64 {
        self.carried[0] + self.carried[1]
    }

    /// The count of MPKTs that found room at the ports.
    pub fn came(&self) -> u64 {
        self.carried[0] + self.ports.iter().map(|port| u64::from(port.held_in)).sum::<u64>()
    }

    /// Packets in flight: taken by the chip, and not yet left.
    pub fn inside(&self) -> u64 {
        (u64::from(self.taken_from) + self.taken.len() as u64).saturating_sub(self.left)
    }

    /// The largest backlog of a port on the way in, in MPKTs.
    pub fn backlog(&self) -> u32 {
        self.ports.iter().map(|port| port.held_in).max().unwrap_or(0)
    }

    /// The longest time for which a packet has waited at a port without having been taken
    /// completely.
    pub fn longest_wait(&self, now: Time) -> Time {
        let fronts = self.ports.iter().filter_map(|port| port.waiting.front());
        let packets =
            fronts.filter_map(|(number, _)| self.packets[(number - self.first) as usize].as_ref());
        packets.map(|(_, packet)| now.since(packet.came)).max().unwrap_or_default()
    }

    /// The requests of threads.
    pub fn requests(&self) -> &Requests {
        &self.requests
    }

    /// Withholds new packets from an engine, or resumes them. The rest of a packet that one of its
    /// threads has begun still arrives.
    pub fn withhold(&mut self, engine: usize, is_withheld: bool, now: Time) {
        self.requests.withhold(engine, is_withheld, now);
    }

    /// Whether some port has no engine left if this engine takes no packets.
    pub fn would_orphan(&self, engine: usize) -> bool {
        let requests = &self.requests;
        let served = |port: Option<u8>| {
            requests.threads().any(|(thread, last)| {
                let other = requests.engine(thread);
                other != engine
                    && !requests.is_withheld(other)
                    && port.is_none_or(|port| last == port)
            })
        };
        match self.spec.assignment {
            Assignment::Any => !served(None),
            Assignment::Fixed => requests
                .threads()
                .filter(|(thread, _)| requests.engine(*thread) == engine)
                .any(|(_, port)| !served(Some(port))),
        }
    }

    /// Whether the next MPKT of a thread is on the bus.
    pub fn is_coming(&self, thread: u8) -> bool {
        let is = |carried: &Transfer| matches!(carried, Transfer::In { wanted, .. } if wanted.thread == thread);
        self.transfers.iter().any(is)
    }

    /// [`bus_time_at`](Self::bus_time_at) as a share of the time.
    pub fn bus_use(&self, now: Time) -> f64 {
        self.bus_time_at(now).0 as f64 / now.0.max(1) as f64
    }
}
