//! Memories with banks and ports.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde::{Deserialize, Serialize};

use super::calendar::Calendar;
use crate::spec::{SpecError, megahertz, power_of_two, within};
use crate::stats::{Histogram, Record};
use crate::{Clock, Time, Timebase};

/// A memory with banks behind ports.
///
/// A request is split into bursts at multiples of `burst_bytes`. Each burst opens its bank, which
/// is busy for `bank_cycles` or for the time of the data transfer, whichever is longer.
/// `latency_cycles` later the data goes over a port, `bytes_per_cycle` a cycle. Requests enter in
/// order of arrival. If some are ready earlier because of their banks, their data may overtake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MemorySpec {
    /// The clock; `clock_mhz` in machine files.
    #[serde(rename = "clock_mhz", with = "megahertz")]
    pub clock: Clock,
    /// Cycles from the beginning of an access to its first data at a port, 0 to 65,536.
    pub latency_cycles: u64,
    /// The number of ports, 1 to 64, each with its own data path.
    pub ports: u64,
    /// Bytes that a port carries in a cycle, 1 to 4,096.
    pub bytes_per_cycle: u64,
    /// The number of banks, a power of two from 1 to 1,024.
    pub banks: u64,
    /// Minimum cycles for which an access occupies its bank, 1 to 65,536.
    pub bank_cycles: u64,
    /// The interleaving of banks in bytes: a power of two from 1 to 2^30.
    pub interleave_bytes: u64,
    /// The maximum length of one access to a bank in bytes: a power of two, at most
    /// `interleave_bytes`.
    pub burst_bytes: u64,
    /// Requests in flight, 1 to 65,536. Further requests wait outside.
    pub outstanding: u64,
}

impl MemorySpec {
    /// Returns the unloaded latency of a request for this number of bytes at an aligned address.
    pub fn unloaded(&self, bytes: u64) -> Time {
        let beats = bytes.div_ceil(self.bytes_per_cycle).max(1);
        self.clock.cycles(self.latency_cycles + beats)
    }

    fn check(&self) -> Result<(), SpecError> {
        within("latency_cycles", self.latency_cycles, 0..=1 << 16)?;
        within("ports", self.ports, 1..=64)?;
        within("bytes_per_cycle", self.bytes_per_cycle, 1..=4096)?;
        power_of_two("banks", self.banks, 1..=1024)?;
        within("bank_cycles", self.bank_cycles, 1..=1 << 16)?;
        power_of_two("interleave_bytes", self.interleave_bytes, 1..=1 << 30)?;
        power_of_two("burst_bytes", self.burst_bytes, 1..=self.interleave_bytes)?;
        within("outstanding", self.outstanding, 1..=1 << 16)
    }
}

/// The direction of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Data is returned.
    Read,
    /// Data is stored. The request completes when the bank has it.
    Write,
}

/// A memory and its occupancy.
#[derive(Clone, Debug)]
pub struct Memory {
    spec: MemorySpec,
    timebase: Timebase,
    /// The cycle from which each bank is free.
    banks: Vec<u64>,
    ports: Vec<Calendar>,
    /// The end cycles of requests in flight.
    under_way: BinaryHeap<Reverse<u64>>,
    /// The cycle in which the last request entered. Requests enter in order.
    entered: u64,
    /// The numbers of bytes read and written.
    bytes: [u64; 2],
    measured: Measured,
}

/// The statistics of a memory since a cycle.
#[derive(Clone, Debug)]
struct Measured {
    from: u64,
    reads: u64,
    writes: u64,
    bytes: u64,
    beats: u64,
    conflicts: u64,
    latency: Histogram,
}

impl Measured {
    fn new(from: u64) -> Self {
        let latency = Histogram::times();
        Self { from, reads: 0, writes: 0, bytes: 0, beats: 0, conflicts: 0, latency }
    }
}

impl Memory {
    /// Creates an idle memory.
    ///
    /// # Errors
    /// If a number of the specification is out of range.
    pub fn new(spec: MemorySpec) -> Result<Self, SpecError> {
        spec.check()?;
        Ok(Self {
            spec,
            timebase: spec.clock.into(),
            banks: vec![0; spec.banks as usize],
            ports: vec![Calendar::default(); spec.ports as usize],
            under_way: BinaryHeap::new(),
            entered: 0,
            bytes: [0; 2],
            measured: Measured::new(0),
        })
    }

    /// Returns the specification.
    pub fn spec(&self) -> &MemorySpec {
        &self.spec
    }

    /// Accepts a request that arrives now, for a number of bytes at an address. Returns its
    /// completion time. Times must not decrease from request to request. Zero bytes count as one.
    pub fn request(&mut self, now: Time, direction: Direction, address: u64, bytes: u64) -> Time {
        let arrival = self.timebase.edge_from(now);
        for port in &mut self.ports {
            port.forget(arrival);
        }
        let enter = self.enter(arrival);
        let (mut at, behind) = (address, address.saturating_add(bytes.max(1)));
        let mut done = enter;
        while at < behind {
            let next = (at | (self.spec.burst_bytes - 1)).saturating_add(1).min(behind);
            done = done.max(self.burst(enter, at, next - at));
            at = next;
        }
        self.under_way.push(Reverse(done));
        match direction {
            Direction::Read => self.measured.reads += 1,
            Direction::Write => self.measured.writes += 1,
        }
        self.bytes[usize::from(direction == Direction::Write)] += bytes;
        self.measured.bytes += bytes;
        let done = self.timebase.edge(done);
        self.measured.latency.time(done - now);
        done
    }

    /// Changes the rate of the memory's clock, with a settling time. Earlier requests complete at
    /// the times already returned. Later ones enter after them, at the new rate.
    pub fn set_rate(&mut self, now: Time, rate: Clock, settle: Time) {
        let requests = self.under_way.drain().map(|Reverse(end)| end);
        let last = requests.chain(self.banks.iter().copied()).fold(self.entered, u64::max);
        let last = self.timebase.edge(last);
        let next = self.timebase.edge_from(now);
        self.timebase.set_rate(next, rate, now + settle);
        self.entered = self.timebase.edge_from(last.max(now + settle));
        self.banks.fill(self.entered);
        self.ports.fill(Calendar::default());
    }

    /// Returns the cycle in which a request enters that arrives in a given cycle.
    fn enter(&mut self, arrival: u64) -> u64 {
        let mut enter = arrival.max(self.entered);
        while let Some(&Reverse(end)) = self.under_way.peek() {
            let is_full = self.under_way.len() as u64 >= self.spec.outstanding;
            if end > enter && !is_full {
                break;
            }
            enter = enter.max(end);
            self.under_way.pop();
        }
        self.entered = enter;
        enter
    }

    /// Returns the cycle in which the last data of a burst has passed its port.
    fn burst(&mut self, enter: u64, address: u64, bytes: u64) -> u64 {
        let spec = &self.spec;
        let bank = &mut self.banks[(address / spec.interleave_bytes % spec.banks) as usize];
        let beats = bytes.div_ceil(spec.bytes_per_cycle);
        self.measured.conflicts += u64::from(*bank > enter);
        let begin = enter.max(*bank);
        *bank = begin + beats.max(spec.bank_cycles);
        let ready = begin + spec.latency_cycles;
        let port = self
            .ports
            .iter_mut()
            .min_by_key(|port| port.free_from(ready, beats))
            .expect("a memory has a port");
        self.measured.beats += beats;
        port.take(ready, beats) + beats
    }

    /// The numbers of bytes read and written since time 0.
    pub fn moved(&self) -> [u64; 2] {
        self.bytes
    }

    /// Restricts the record to requests from now on.
    pub fn begin_to_count(&mut self, now: Time) {
        self.measured = Measured::new(self.timebase.edge_from(now));
    }

    /// The record: `reads`, `writes`, `bytes`, `use` of the ports until now, `bank_conflicts`
    /// (bursts that waited for their bank), `latency`.
    pub fn record(&self, now: Time) -> Record {
        let Measured { from, reads, writes, bytes, beats, conflicts, latency } = &self.measured;
        let cycles = (self.timebase.edge_from(now) - from).max(1) * self.spec.ports;
        Record::new()
            .with("reads", *reads)
            .with("writes", *writes)
            .with("bytes", *bytes)
            .with("use", *beats as f64 / cycles as f64)
            .with("bank_conflicts", *conflicts)
            .with("latency", latency)
    }
}

#[cfg(test)]
mod tests;
