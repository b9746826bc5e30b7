//! Line cards: packets come in at the rate of a line, and go out so.

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
    /// Bits per second; in machine files `rate_gbps`, up to 8,000 (OC-48: 2.48832, OC-192:
    /// 9.95328).
    #[serde(rename = "rate_gbps", with = "gigabits")]
    pub rate: u64,
    /// The overhead that the line carries with each packet, in bytes, 0 to 65,535: for Ethernet 24
    /// (preamble 8, check sequence 4, gap 12; IEEE 802.3).
    #[serde(default)]
    pub overhead_bytes: u16,
    /// Packets that wait at most, 1 to 16,777,216: on the way in, more are lost; on the way out,
    /// more are refused.
    pub queue_packets: u64,
}

/// The fastest line, which limits nothing: 8 Tb/s.
pub const FASTEST: u64 = 8_000_000_000_000;

/// When packets come.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// At line rate.
    Line,
    /// At the times that they carry, or one after the other where the line is too slow for that.
    Given,
    /// Evenly, with this share of the line busy: more than 0, up to 1.
    Load(f64),
    /// By chance (a Poisson process on a line that carries one at a time), with this share of it
    /// busy on average: more than 0, less than 1.
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
    /// Its number, by which the machine knows the rest of it.
    pub number: u64,
    /// Its length.
    pub bytes: u32,
    /// When it begins on the line: for [`Pace::Given`].
    pub at: Time,
}

/// A packet that has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// Its number.
    pub number: u64,
    /// Its length.
    pub bytes: u32,
    /// When its last bit came.
    pub at: Time,
}

/// The line brings the last bit of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineEvent;

/// The outcome of an arriving packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reception {
    /// The packet waits in the queue.
    Queued,
    /// The queue was full: it is lost.
    Lost(Arrived),
}

/// The way in: packets from an iterator, at a pace, into a queue.
#[derive(Clone, Debug)]
pub struct LineSource<I> {
    spec: LineSpec,
    pace: Pace,
    packets: I,
    rng: Rng,
    wire: Wire,
    /// When the next packet begins, as the pace has it; in picoseconds.
    next: f64,
    /// The packet on the line.
    coming: Option<Arrived>,
    queue: Queue<Arrived>,
    lost: u64,
    /// Whether the line brings a packet only when the queue has room for it.
    waits: bool,
}

impl<I: Iterator<Item = Offered>> LineSource<I> {
    /// Creates an idle line.
    ///
    /// # Errors
    /// If a number of the specification or the pace is out of its range.
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

    /// The same line, which waits while the queue is full, so that it loses nothing: the owner calls
    /// [`resume`](Self::resume) after it has taken packets.
    #[must_use]
    pub fn waiting(self) -> Self {
        Self { waits: true, ..self }
    }

    /// The packets to come.
    pub fn packets(&self) -> &I {
        &self.packets
    }

    /// The packets to come, for adding more. A line that has found no next packet stops until the
    /// next [`begin`](Self::begin).
    pub fn packets_mut(&mut self) -> &mut I {
        &mut self.packets
    }

    /// Begins to play.
    pub fn begin(&mut self, events: &mut impl EventSink<LineEvent>) {
        self.next = events.now().0 as f64;
        self.advance(events);
    }

    /// Completes the packet on the line and begins the next one.
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

    /// Brings the next packet if the line waited for room and there is some.
    pub fn resume(&mut self, events: &mut impl EventSink<LineEvent>) {
        if self.waits && self.coming.is_none() && !self.is_held() {
            self.advance(events);
        }
    }

    fn is_held(&self) -> bool {
        self.waits && self.queue.is_full()
    }

    /// Takes the first packet that waits.
    pub fn take(&mut self, now: Time) -> Option<Arrived> {
        self.queue.pop(now)
    }

    /// The packets that wait.
    pub fn queue(&self) -> &Queue<Arrived> {
        &self.queue
    }

    /// Packets lost because the queue was full.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// When the last bit of the packet on the line comes.
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

    /// Restricts the statistics to the time from now on, except the numbers of lost packets.
    pub fn begin_to_count(&mut self, now: Time) {
        self.wire.begin_to_count(now);
        self.queue.begin_to_count(now);
    }

    /// `line` (bytes and use), `queue`, `lost`.
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

/// The way out: packets one after the other at the rate of the line.
#[derive(Clone, Debug)]
pub struct LineSink {
    spec: LineSpec,
    wire: Wire,
    /// When the last bits of packets leave that may still be here, in order: at most as many as the
    /// queue holds, and the one on the line.
    leaving: VecDeque<Time>,
    packets: u64,
    bytes: u64,
    refused: u64,
}

impl LineSink {
    /// Creates an idle line.
    ///
    /// # Errors
    /// If a number of the specification is out of its range.
    pub fn new(spec: LineSpec) -> Result<Self, SpecError> {
        Queue::<()>::new(QueueSpec { entries: spec.queue_packets })
            .map_err(|_| queue_error(spec))?;
        let wire = Wire::new(spec.rate)?;
        Ok(Self { spec, wire, leaving: VecDeque::new(), packets: 0, bytes: 0, refused: 0 })
    }

    /// Whether a packet could be sent now.
    pub fn can_send(&self, now: Time) -> bool {
        // The one on the line does not wait.
        (self.leaving.len() - self.gone(now)) as u64 <= self.spec.queue_packets
    }

    /// Sends a packet of this length after those that wait; returns when its last bit leaves, or
    /// nothing if the queue is full, which is counted. Times do not decrease from call to call.
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

    /// Returns when the next packet leaves, if there is one that has not.
    pub fn next_departure(&self, now: Time) -> Option<Time> {
        self.leaving.get(self.gone(now)).copied()
    }

    /// Packets that were sent.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// The bytes of packets that were sent, without the overhead of the line.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The number of packets in `leaving` that have left.
    fn gone(&self, now: Time) -> usize {
        self.leaving.partition_point(|at| *at <= now)
    }

    /// Restricts the statistics of the line to the time from now on; packets count from the start.
    pub fn begin_to_count(&mut self, now: Time) {
        self.wire.begin_to_count(now);
    }

    /// `packets`, `refused`, `line` (bytes and use).
    pub fn record(&self, now: Time) -> Record {
        Record::new()
            .with("packets", self.packets)
            .with("refused", self.refused)
            .with("line", self.wire.record(now))
    }
}

#[cfg(test)]
mod tests;
