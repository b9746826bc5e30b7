//! A simulated machine that executes packets. It matches the outputs to the packets that arrived.

use std::collections::VecDeque;

use wireloom_codegen_hardware::core::RUNAWAY;
use wireloom_ir::{Output, Reason, ReasonSetId, Verdict};
use wireloom_net::Frame;

use wireloom_bits::Bits;

use super::error::Fault;
use super::follow::Event;
use super::measure::{Distribution, Meter, Pace, Pacer};
use super::run::{Arrival, Departure, Fate, Simulation};
use super::source::Geometry;

/// The set of reasons with which an engine reports that a thread jumped back too often.
const RUNAWAY_SET: u8 = (RUNAWAY >> 16) as u8;
/// Packets queued at the input, so that the machine does not run out of packets between two
/// batches.
const LINE: u64 = 1024;
/// Cycles between two polls of the output.
const CHUNK: u64 = 256;
/// Cycles per run shortly before the packet of an update enters.
const SHORT_CHUNK: u64 = 8;
/// The most events that are kept of a packet, far more than a reader needs.
const MOST_EVENTS: usize = 100_000;
/// Cycles that an empty machine runs to complete its write-backs.
const SETTLE: u64 = 2000;

/// A simulation that executes packets like other machines.
pub struct Execution {
    simulation: Simulation,
    pacer: Pacer,
    meter: Meter,
    /// Packets with an incomplete outcome, the oldest first. There is one queue for each narrow
    /// port, or else one queue for all packets.
    open: Vec<VecDeque<Open>>,
    /// The outputs so far of the oldest packet that was not lost.
    parts: Vec<Departure>,
    /// Number of the next packet to offer.
    offered: u64,
    /// The earliest time that packets see, in nanoseconds.
    engine_ns: u64,
    /// Packets with a complete outcome that were not lost.
    completed: u64,
    /// Packets at the start that do not count, and the counts when they were completed.
    warm: u64,
    counted_from: Option<Counts>,
    /// Packets that left by a port, and their bytes.
    sent: [u64; 2],
    /// Packets that were dropped because their egress port does not exist.
    unported: u64,
    /// Table updates that are not complete, in order.
    updates: VecDeque<Update>,
    /// The start of the first update, if it has started: the cycle, and the number of packets that
    /// had left by then.
    begun: Option<(u64, u64)>,
    updated: Vec<Updated>,
    /// The packet that is followed, and the times of its outputs.
    followed: Option<u64>,
    times: Vec<Times>,
    /// The first [`MOST_EVENTS`] events of that packet, and the number of later events.
    events: Vec<Event>,
    more_events: u64,
}

/// Counts from the start of the run up to a point in time.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Counts {
    /// The cycles from the first packet in to the last one out.
    pub cycles: u64,
    /// Packets with a complete outcome that were not lost.
    pub completed: u64,
    /// Packets that left by a port, and their bytes.
    pub sent: [u64; 2],
    /// Packets that were lost.
    pub lost: u64,
    /// The count of each probe in these cycles.
    probes: Vec<u64>,
}

/// The times of an output, in cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// The cycle in which the packet arrived.
    pub arrived: u64,
    /// The cycle in which the first beat of the packet entered.
    pub entered: u64,
    /// The cycle in which the last beat of the output left or, without an output packet, in which
    /// the thread ended.
    pub left: u64,
}

/// An update of tables over the control port while packets flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// The update starts when every packet before this one has entered the machine.
    pub packet: u64,
    /// The operations, in order.
    pub operations: VecDeque<Operation>,
}

/// A step of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Writes an entry of a control target.
    Write { target: u8, address: u32, value: Bits },
    /// Waits for a number of cycles.
    Rest(u64),
}

/// The timing of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Updated {
    /// The packet before which the update was scheduled.
    pub packet: u64,
    /// The cycle in which the first access was issued to the control port.
    pub begun: u64,
    /// The cycle after its last access.
    pub done: u64,
    /// Number of packets that were in the machine in cycle `begun` or entered it until cycle
    /// `done`. Each of them saw either the old or the new entry.
    pub between: u64,
}

struct Open {
    number: u64,
    ingress: u16,
    arrival_ns: u64,
}

/// A packet whose outcome is complete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Number of the packet in order of arrival, from 0.
    pub number: u64,
    pub ingress: u16,
    pub arrival_ns: u64,
    /// The outputs, in order; `None` if the packet was lost at the input.
    pub left: Option<Vec<Departure>>,
}

impl Resolved {
    /// Returns the outputs in the form common to all machines.
    pub fn outputs(&self) -> impl Iterator<Item = Output<'_>> {
        self.left.iter().flatten().filter_map(|left| {
            Some(Output {
                sequence: self.number,
                arrival_ns: self.arrival_ns,
                ingress: self.ingress,
                verdict: verdict(left)?,
                bytes: &left.bytes,
            })
        })
    }
}

/// Returns the verdict on a packet, or `None` if the packet ended without an output.
fn verdict(left: &Departure) -> Option<Verdict> {
    let reason = || match left.reason {
        (RUNAWAY_SET, _) => Reason::Runaway,
        (set, value) => Reason::Program(ReasonSetId(set.into()), value),
    };
    match left.fate {
        Fate::Finished | Fate::Emitted => Some(Verdict::Sent { port: left.egress }),
        Fate::Dropped => Some(Verdict::Dropped(reason())),
        Fate::ToCpu | Fate::CopiedToCpu => Some(Verdict::ToCpu(reason())),
        Fate::Done => None,
    }
}

/// The result of a run.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct SimulationResult {
    /// Number of simulated cycles.
    pub cycles: u64,
    /// Wall-clock time of the simulation, in seconds.
    pub seconds: f64,
    /// Packets completed per cycle over the middle of the run; `None` if there were too few
    /// packets.
    pub packets_per_cycle: Option<f64>,
    /// The counts at the end of the warm-up, and at the end.
    #[serde(skip)]
    pub counts: [Counts; 2],
    /// Cycles from the arrival of a packet to its last beat out: mean, median, the 99th percentile
    /// and the maximum.
    #[serde(skip)]
    pub stay: [f64; 4],
    /// Number of packets dropped because their egress port does not exist; `None` if a lane carries
    /// packets for any port.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unported: Option<u64>,
    /// Cycles from the first beat in to the last beat out of each packet.
    pub latency: Distribution,
    /// Cycles from the arrival of each packet to its first beat in.
    pub wait: Distribution,
    /// The utilisation of each part.
    pub uses: Vec<Use>,
    /// The table updates that were made while packets flowed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub updates: Vec<Updated>,
}

/// The utilisation of a part.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Use {
    pub name: String,
    /// The activity that counts as use.
    pub kind: String,
    /// The fraction of the part's capacity that was used from the first packet in to the last one
    /// out, 0 to 1.
    pub share: f64,
}

impl Use {
    /// Computes the utilisation of each probe from its counts over `cycles` cycles.
    pub(super) fn of(geometry: &Geometry, counts: &[u64], cycles: u64) -> Vec<Self> {
        let share = |count: u64, most: u64| count as f64 / (cycles * most).max(1) as f64;
        let probes = geometry.probes.iter().zip(counts);
        probes
            .map(|(probe, &count)| Self {
                name: probe.name.clone(),
                kind: probe.kind.clone(),
                share: share(count, probe.most),
            })
            .collect()
    }
}

impl Execution {
    /// Returns a machine with packets that arrive at this pace. The first `warm` packets count in
    /// no rate, utilisation or latency.
    pub fn new(simulation: Simulation, pace: Pace, warm: u64) -> Self {
        let lines = simulation.geometry().ports.as_ref().map_or(1, |ports| ports.numbers.len());
        Self {
            simulation,
            pacer: Pacer::new(pace),
            meter: Meter::default(),
            open: (0..lines).map(|_| VecDeque::new()).collect(),
            parts: Vec::new(),
            offered: 0,
            engine_ns: 0,
            completed: 0,
            warm,
            counted_from: (warm == 0).then(Counts::default),
            sent: [0; 2],
            unported: 0,
            updates: VecDeque::new(),
            begun: None,
            updated: Vec::new(),
            followed: None,
            times: Vec::new(),
            events: Vec::new(),
            more_events: 0,
        }
    }

    /// Keeps the times of a packet's outputs and, in a model that is built for it, the events of
    /// the packet.
    pub fn follow(&mut self, number: u64) {
        (self.followed, self.times) = (Some(number), Vec::new());
        (self.events, self.more_events) = (Vec::new(), 0);
        self.simulation.follow(number);
    }

    /// Returns the events of the packet that is followed, and the number of later events that were
    /// left out.
    pub fn events(&self) -> (&[Event], u64) {
        (&self.events, self.more_events)
    }

    /// Returns the times of the outputs so far of the packet that is followed.
    pub fn times(&self) -> &[Times] {
        &self.times
    }

    /// Queues frames and runs until few are left in the queue. Passes the packets with a complete
    /// outcome to `sink`, in the order in which the machine accepted them. That is the order of
    /// arrival or, for narrow ports, the order of their arbiter.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn feed(
        &mut self,
        frames: &[Frame<'_>],
        sink: &mut dyn FnMut(Resolved),
    ) -> Result<(), Fault> {
        for &packet in frames {
            let arrival = self.pacer.next(packet.arrival_ns);
            self.queue(packet, arrival);
        }
        while self.simulation.state().waiting > LINE {
            self.step(CHUNK, sink)?;
        }
        Ok(())
    }

    /// Queues frames, none of which is lost: they wait for room in the input buffer.
    pub fn insert<'a>(&mut self, frames: impl Iterator<Item = Frame<'a>>) {
        frames.for_each(|packet| self.queue(packet, Arrival::Waiting));
    }

    fn queue(&mut self, packet: Frame<'_>, arrival: Arrival) {
        let seen_ns = packet.arrival_ns.max(self.engine_ns);
        self.simulation.offer(Frame { arrival_ns: seen_ns, ..packet }, arrival);
        let (number, ingress, arrival_ns) = (self.offered, packet.ingress, packet.arrival_ns);
        let line = self.line(ingress);
        self.open[line].push_back(Open { number, ingress, arrival_ns });
        self.offered += 1;
    }

    /// Sets the earliest time that later packets see, in nanoseconds, whenever they arrive.
    pub fn advance_engine_time(&mut self, time_ns: u64) {
        self.engine_ns = self.engine_ns.max(time_ns);
    }

    /// Returns the queue of a port. Each narrow port has its own queue.
    fn line(&self, ingress: u16) -> usize {
        let ports = self.simulation.geometry().ports.as_ref();
        ports
            .and_then(|ports| ports.numbers.iter().position(|number| *number == ingress))
            .unwrap_or(0)
    }

    /// Schedules table updates while packets flow. An update whose packet never arrives is not
    /// made.
    pub fn schedule(&mut self, updates: impl IntoIterator<Item = Update>) {
        self.updates.extend(updates);
    }

    /// Carries out an operation on the tables now.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn operate(&mut self, operation: &Operation) -> Result<(), Fault> {
        match operation {
            Operation::Write { target, address, value } => {
                self.simulation.write_entry(*target, *address, value)
            }
            Operation::Rest(cycles) => self.simulation.rest(*cycles),
        }
    }

    /// Runs until the outcome of every packet is complete, the updates due by then are made, and
    /// the machine is idle.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn finish(&mut self, sink: &mut dyn FnMut(Resolved)) -> Result<(), Fault> {
        while self.has_work() {
            self.step(CHUNK, sink)?;
        }
        self.simulation.rest(SETTLE)
    }

    /// Runs for this number of cycles, or until the outcome of every packet is complete and the
    /// updates due by then are made. An update that begins in time is made to its end.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn advance(&mut self, cycles: u64, sink: &mut dyn FnMut(Resolved)) -> Result<(), Fault> {
        let end = self.simulation.state().cycles.saturating_add(cycles);
        while self.has_work() {
            match end.saturating_sub(self.simulation.state().cycles) {
                0 => break,
                left => self.step(left.min(CHUNK), sink)?,
            }
        }
        Ok(())
    }

    /// Returns whether packets have an incomplete outcome, or an update is due.
    fn has_work(&self) -> bool {
        self.open.iter().any(|line| !line.is_empty()) || self.is_due()
    }

    /// Returns the number of packets that have entered the machine or were lost.
    fn entered(&self) -> u64 {
        self.offered - self.simulation.state().waiting
    }

    fn is_due(&self) -> bool {
        self.updates.front().is_some_and(|u| u.packet < self.offered && u.packet <= self.entered())
    }

    /// Does the next step of the update that is due.
    fn update(&mut self) -> Result<(), Fault> {
        let (entered, state) = (self.entered(), self.simulation.state());
        let (begun, left) = *self.begun.get_or_insert((state.cycles, entered - state.inside));
        let Some(update) = self.updates.front_mut() else { return Ok(()) };
        if let Some(operation) = update.operations.pop_front() {
            return self.operate(&operation);
        }
        let packet = update.packet;
        self.updated.push(Updated { packet, begun, done: state.cycles, between: entered - left });
        self.updates.pop_front();
        self.begun = None;
        Ok(())
    }

    /// Runs for at most this number of cycles, or does the next step of the update that is due.
    fn step(&mut self, cycles: u64, sink: &mut dyn FnMut(Resolved)) -> Result<(), Fault> {
        let is_near = |u: &Update| u.packet < self.entered() + LINE && u.packet < self.offered;
        let ran = if self.is_due() {
            self.update()
        } else {
            let is_near = self.updates.front().is_some_and(is_near);
            self.simulation.run(if is_near { cycles.min(SHORT_CHUNK) } else { cycles })
        };
        while let Some(event) = self.simulation.take_event() {
            match self.events.len() < MOST_EVENTS {
                true => self.events.push(event),
                false => self.more_events += 1,
            }
        }
        while let Some(left) = self.simulation.take() {
            self.meter.note(&left);
            if self.followed == Some(left.number) {
                let Departure { arrived, entered, left, .. } = left;
                self.times.push(Times { arrived, entered, left });
            }
            let (number, done) = (left.number, !left.fate.is_copy());
            let leaves = matches!(left.fate, Fate::Finished | Fate::Emitted);
            match leaves && self.simulation.geometry().has_port(left.egress) {
                true => {
                    self.sent[0] += 1;
                    self.sent[1] += left.bytes.len() as u64;
                }
                false => self.unported += u64::from(leaves),
            }
            self.completed += u64::from(done);
            self.parts.push(left);
            if done {
                self.resolve(number, sink);
            }
        }
        if self.counted_from.is_none() && self.completed >= self.warm {
            self.counted_from = Some(self.counts());
            self.meter = Meter::from(self.simulation.state().cycles);
        }
        let state = self.simulation.state();
        if state.waiting == 0 && state.inside == 0 {
            // No packet leaves after this point, so packets with an incomplete outcome were lost.
            (0..self.open.len()).for_each(|line| self.resolve_line(line, self.offered, sink));
        }
        ran
    }

    /// Passes packet `number` with its outputs to `sink`. Lost packets ahead of it in its queue go
    /// first.
    fn resolve(&mut self, number: u64, sink: &mut dyn FnMut(Resolved)) {
        let has =
            |line: &VecDeque<Open>| line.binary_search_by_key(&number, |open| open.number).is_ok();
        if let Some(line) = self.open.iter().position(has) {
            self.resolve_line(line, number, sink);
        }
    }

    fn resolve_line(&mut self, line: usize, number: u64, sink: &mut dyn FnMut(Resolved)) {
        while self.open[line].front().is_some_and(|open| open.number <= number) {
            let Some(open) = self.open[line].pop_front() else { break };
            let left = (open.number == number).then(|| std::mem::take(&mut self.parts));
            sink(Resolved {
                number: open.number,
                ingress: open.ingress,
                arrival_ns: open.arrival_ns,
                left,
            });
        }
    }

    /// Returns the simulation, for access to its control port.
    pub fn simulation(&mut self) -> &mut Simulation {
        &mut self.simulation
    }

    /// Returns the counts so far.
    fn counts(&self) -> Counts {
        let state = self.simulation.state();
        Counts {
            cycles: state.cycles - state.outside,
            completed: self.completed,
            sent: self.sent,
            lost: state.lost,
            probes: self.simulation.probes_in_use(),
        }
    }

    /// Returns the results of the run so far.
    pub fn report(&self) -> SimulationResult {
        let to = self.counts();
        let from = self.counted_from.clone().unwrap_or_else(|| to.clone());
        let before = from.probes.iter().copied().chain(std::iter::repeat(0));
        let probes: Vec<u64> =
            to.probes.iter().zip(before).map(|(all, before)| all - before).collect();
        let uses = Use::of(self.simulation.geometry(), &probes, to.cycles - from.cycles);
        SimulationResult {
            cycles: self.simulation.state().cycles,
            seconds: self.simulation.time().as_secs_f64(),
            packets_per_cycle: self.meter.rate(),
            counts: [from, to],
            stay: self.meter.stay(),
            unported: self.simulation.geometry().ports.as_ref().map(|_| self.unported),
            latency: self.meter.latency(),
            wait: self.meter.wait(),
            uses,
            updates: self.updated.clone(),
        }
    }
}
