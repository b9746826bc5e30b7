//! Line cards: packets arrive and leave at the rate of a line.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::link::Wire;
use super::queue::{Queue, QueueSpec};
use crate::rng::Rng;
use crate::spec::{SpecError, gigabits};
use crate::stats::Record;
use crate::{EventSink, Time};

/// A line in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LineSpec {
    /// The rate in bits per second; `rate_gbps` in machine files, up to 8,000 (OC-48: 2.48832,
    /// OC-192: 9.95328).
    #[serde(rename = "rate_gbps", with = "gigabits")]
    pub rate: u64,
    /// The overhead that the line carries with each packet, in bytes, 0 to 65,535: for Ethernet 24
    /// (preamble 8, check sequence 4, gap 12; IEEE 802.3).
    #[serde(default)]
    pub overhead_bytes: u16,
    /// The queue's capacity in packets, 1 to 16,777,216. When it is full, arriving packets are
    /// lost, and departing ones are refused.
    pub queue_packets: u64,
}

/// The fastest line, which limits nothing: 8 Tb/s.
pub const FASTEST: u64 = 8_000_000_000_000;

/// The pace at which packets arrive.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// At line rate.
    Line,
    /// At the times that the packets carry, or back to back where the line is too slow for that.
    Given,
    /// At even intervals, with this share of the line busy: more than 0, up to 1.
    Load(f64),
    /// At random (a Poisson process on a line that carries one packet at a time), with this share
    /// of the line busy on average: more than 0, less than 1.
    Poisson(f64),
}

impl Pace {
    fn check(self) -> Result<(), SpecError> {
        match self {
            Self::Load(load) if !(load > 0.0 && load <= 1.0) => Err(SpecError::new(
                "pace.load",
                format!("is {load}; it can be more than 0, up to 1"),
            )),
            Self::Poisson(load) if !(load > 0.0 && load < 1.0) => Err(SpecError::new(
                "pace.poisson",
                format!("is {load}; it can be more than 0, less than 1"),
            )),
            _ => Ok(()),
        }
    }
}

/// A packet of a capture or a generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// The packet's number, by which the machine finds the rest of it.
    pub number: u64,
    /// The length in bytes.
    pub bytes: u32,
    /// For [`Pace::Given`], the time at which the packet begins on the line.
    pub at: Time,
}

/// A packet that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The packet's number.
    pub number: u64,
    /// The length in bytes.
    pub bytes: u32,
    /// The arrival time of its last bit.
    pub at: Time,
}

/// The last bit of a packet arrives on the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineEvent;

/// The outcome of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// The packet waits in the queue.
    Queued,
    /// The queue was full and the packet is lost.
    Lost(Arrived),
}

/// The way in: puts packets from an iterator into a queue, at a pace.
#[derive(Clone, Debug)]
pub struct LineSource<I> {
    spec: LineSpec,
    pace: Pace,
    packets: I,
    rng: Rng,
    wire: Wire,
    /// The start time of the next packet by the pace, in picoseconds.
    next: f64,
    /// The packet on the line.
    coming: Option<Arrived>,
    queue: Queue<Arrived>,
    lost: u64,
    /// Whether the line waits until the queue has room for a packet.
    waits: bool,
}

impl<I: Iterator<Item = Offered>> LineSource<I> {
    /// Creates an idle line.
    ///
    /// # Errors
    /// If a number of the specification or the pace is out of range.
    pub fn new(spec: LineSpec, pace: Pace, packets: I, rng: Rng) -> Result<Self, SpecError> {
        pace.check()?;
        let queue =
            Queue::new(QueueSpec { entries: spec.queue_packets }).map_err(|_| queue_error(spec))?;
        let wire = Wire::new(spec.rate)?;
        Ok(Self {
            spec,
            pace,
            packets,
            rng,
            wire,
            next: 0.0,
            coming: None,
            queue,
            lost: 0,
            waits: false,
        })
    }

    /// Sets whether the line waits while the queue is full, so that it loses nothing. The owner
    /// must then call [`resume`](Self::resume) after it has taken packets.
    pub fn wait(&mut self, waits: bool) {
        self.waits = waits;
    }

    /// The packets that have not arrived yet.
    pub fn packets(&self) -> &I {
        &self.packets
    }

    /// The packets that have not arrived yet, for adding more. A line that has found no next packet
    /// stops until the next [`begin`](Self::begin).
    pub fn packets_mut(&mut self) -> &mut I {
        &mut self.packets
    }

    /// Starts the arrivals.
    pub fn begin(&mut self, events: &mut impl EventSink<LineEvent>) {
        self.next = events.now().0 as f64;
        self.advance(events);
    }

    /// Completes the packet on the line and starts the next one.
    pub fn arrive(
        &mut self,
        _: LineEvent,
        events: &mut impl EventSink<LineEvent>,
    ) -> Option<Reception> {
        let arrived = self.coming.take()?;
        let reception = match self.queue.push(events.now(), arrived) {
            Ok(()) => Reception::Queued,
            Err(arrived) => {
                self.lost += 1;
                Reception::Lost(arrived)
            }
        };
        if !self.is_held() {
            self.advance(events);
        }
        Some(reception)
    }

    /// Starts the next packet if the line waited for room and there is some.
    pub fn resume(&mut self, events: &mut impl EventSink<LineEvent>) {
        if self.waits && self.coming.is_none() && !self.is_held() {
            self.advance(events);
        }
    }

    fn is_held(&self) -> bool {
        self.waits && self.queue.is_full()
    }

    /// Takes the first waiting packet.
    pub fn take(&mut self, now: Time) -> Option<Arrived> {
        self.queue.pop(now)
    }

    /// The queue of waiting packets.
    pub fn queue(&self) -> &Queue<Arrived> {
        &self.queue
    }

    /// Packets lost because the queue was full.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// The arrival time of the last bit of the packet on the line.
    pub fn next_arrival(&self) -> Option<Time> {
        self.coming.map(|packet| packet.at)
    }

    /// Whether no packet waits and no more will arrive.
    pub fn is_exhausted(&self) -> bool {
        self.coming.is_none() && self.queue.is_empty()
    }

    /// Puts the next packet on the line.
    fn advance(&mut self, events: &mut impl EventSink<LineEvent>) {
        let Some(offered) = self.packets.next() else { return };
        let bytes = u64::from(offered.bytes) + u64::from(self.spec.overhead_bytes);
        let begin = match self.pace {
            Pace::Line => events.now(),
            Pace::Given => offered.at,
            Pace::Load(_) | Pace::Poisson(_) => Time(self.next as u64),
        };
        let end = self.wire.send(begin.max(events.now()), bytes);
        let alone = self.wire.time(bytes).0 as f64;
        match self.pace {
            Pace::Line | Pace::Given => {}
            Pace::Load(load) => self.next += alone / load,
            Pace::Poisson(load) => self.next += alone / load * self.rng.exponential(),
        }
        self.coming = Some(Arrived { number: offered.number, bytes: offered.bytes, at: end });
        events.send_at(end, LineEvent);
    }

    /// Restricts the statistics to the time from now on, except the number of lost packets.
    pub fn begin_to_count(&mut self, now: Time) {
        self.wire.begin_to_count(now);
        self.queue.begin_to_count(now);
    }

    /// The record: `line` (bytes and use), `queue`, `lost`.
    pub fn record(&self, now: Time) -> Record {
        Record::new()
            .with("line", self.wire.record(now))
            .with("queue", self.queue.record(now))
            .with("lost", self.lost)
    }
}

fn queue_error(spec: LineSpec) -> SpecError {
    SpecError::new("queue_packets", format!("is {}; it can be 1 to 16777216", spec.queue_packets))
}

/// The way out: sends packets back to back at the rate of the line.
#[derive(Clone, Debug)]
pub struct LineSink {
    spec: LineSpec,
    wire: Wire,
    /// The departure times of packets that may still be here, in order: at most the packets in the
    /// queue and the packet on the line.
    leaving: VecDeque<Time>,
    packets: u64,
    bytes: u64,
    refused: u64,
}

impl LineSink {
    /// Creates an idle line.
    ///
    /// # Errors
    /// If a number of the specification is out of range.
    pub fn new(spec: LineSpec) -> Result<Self, SpecError> {
        Queue::<()>::new(QueueSpec { entries: spec.queue_packets })
            .map_err(|_| queue_error(spec))?;
        let wire = Wire::new(spec.rate)?;
        Ok(Self { spec, wire, leaving: VecDeque::new(), packets: 0, bytes: 0, refused: 0 })
    }

    /// Whether a packet could be sent now.
    pub fn can_send(&self, now: Time) -> bool {
        // The packet on the line does not wait.
        (self.leaving.len() - self.gone(now)) as u64 <= self.spec.queue_packets
    }

    /// Sends a packet of this length after the waiting ones. Returns the time at which its last bit
    /// leaves. If the queue is full, it counts a refusal and returns `None`. Times must not
    /// decrease from call to call.
    pub fn send(&mut self, now: Time, bytes: u32) -> Option<Time> {
        if !self.can_send(now) {
            self.refused += 1;
            return None;
        }
        self.leaving.drain(..self.gone(now));
        let at = self.wire.send(now, u64::from(bytes) + u64::from(self.spec.overhead_bytes));
        self.leaving.push_back(at);
        self.packets += 1;
        self.bytes += u64::from(bytes);
        Some(at)
    }

    /// Returns the time at which the next packet leaves, if any is still here.
    pub fn next_departure(&self, now: Time) -> Option<Time> {
        self.leaving.get(self.gone(now)).copied()
    }

    /// The number of packets sent.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The bytes of packets sent, without the overhead of the line.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of packets in `leaving` that have left.
    fn gone(&self, now: Time) -> usize {
        self.leaving.partition_point(|at| *at <= now)
    }

    /// Restricts the statistics of the line to the time from now on. Packets count from the start.
    pub fn begin_to_count(&mut self, now: Time) {
        self.wire.begin_to_count(now);
    }

    /// The record: `packets`, `refused`, `line` (bytes and use).
    pub fn record(&self, now: Time) -> Record {
        Record::new()
            .with("packets", self.packets)
            .with("refused", self.refused)
            .with("line", self.wire.record(now))
    }
}

#[cfg(test)]
mod tests;
