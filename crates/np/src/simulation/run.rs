//! A running machine: packets in and packets out, each with the cycles in which it entered and
//! left.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use wireloom_codegen_hardware::core::assemble::exit_code;
use wireloom_net::Frame;

use super::error::Fault;
use super::follow::Event;
use super::model::{Instance, Model, RawLeft, State};
use super::settings::Settings;
use super::source::Geometry;

/// When a packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// As soon as the input buffer has room.
    Waiting,
    /// In this cycle, which must not be before the previous arrival. The packet is lost if the
    /// input buffer is full then.
    At(u64),
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The packet left the machine on a port.
    Finished,
    /// A copy of the packet left on a port, and the packet's thread continues.
    Emitted,
    /// A copy of the packet left for the control processor, and the packet's thread continues.
    CopiedToCpu,
    /// The packet was dropped.
    Dropped,
    /// The packet left the machine for the control processor.
    ToCpu,
    /// The packet ended without leaving.
    Done,
}

impl Fate {
    /// Whether the packet's thread continues.
    pub fn is_copy(self) -> bool {
        matches!(self, Self::Emitted | Self::CopiedToCpu)
    }
}

/// An output: a packet, or the report of a packet that does not leave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    /// Number of the packet among those offered, from 0.
    pub number: u64,
    /// The fate of the packet.
    pub fate: Fate,
    /// Egress port, if the packet leaves.
    pub egress: u16,
    /// Set and number of the reason why the packet was dropped or sent to the control processor.
    pub reason: (u8, u16),
    /// The bytes, if the packet leaves.
    pub bytes: Vec<u8>,
    /// Cycle in which the packet arrived.
    pub arrived: u64,
    /// Cycle in which the first beat entered the machine.
    pub entered: u64,
    /// Cycle in which the last beat left the machine.
    pub left: u64,
}

impl Departure {
    fn new(raw: &RawLeft, bytes: &[u8]) -> Result<Self, Fault> {
        let fate = match u64::from(raw.kind) {
            exit_code::FINISH => Fate::Finished,
            exit_code::EMIT => Fate::Emitted,
            exit_code::COPY_TO_CPU => Fate::CopiedToCpu,
            exit_code::DROP => Fate::Dropped,
            exit_code::TO_CPU => Fate::ToCpu,
            exit_code::DONE => Fate::Done,
            other => return Err(Fault(format!("packet {} ended with kind {other}", raw.number))),
        };
        Ok(Self {
            number: raw.number,
            fate,
            egress: raw.egress as u16,
            reason: ((raw.reason >> 16) as u8, raw.reason as u16),
            bytes: bytes.to_vec(),
            arrived: raw.arrived,
            entered: raw.entered,
            left: raw.left,
        })
    }
}

/// A model with a running clock.
pub struct Simulation {
    instance: Instance,
    /// Outputs that the caller has not taken, in order.
    left: VecDeque<Departure>,
    time: Duration,
}

impl Simulation {
    /// Resets the machine and starts a simulation.
    ///
    /// # Errors
    /// If the model refuses an image, or the waves cannot be written.
    pub fn start(model: &Model, settings: &Settings) -> Result<Self, Fault> {
        let instance = Instance::open(model, settings)?;
        Ok(Self { instance, left: VecDeque::new(), time: Duration::ZERO })
    }

    /// Queues a packet. Bytes beyond the longest packet are cut off, as on every machine.
    pub fn offer<'a>(&mut self, packet: impl Into<Frame<'a>>, arrival: Arrival) {
        let packet = packet.into();
        let bytes = &packet.bytes[..packet.bytes.len().min(wireloom_net::packet::MAX_LENGTH)];
        let (cycle, waits) = match arrival {
            Arrival::Waiting => (0, true),
            Arrival::At(cycle) => (cycle, false),
        };
        self.instance.offer(bytes, packet.ingress, packet.arrival_ns, cycle, waits);
    }

    /// Runs for this many cycles, or until the machine is idle.
    ///
    /// # Errors
    /// If the machine fails. It then remains failed.
    pub fn run(&mut self, cycles: u64) -> Result<(), Fault> {
        let ran = self.clock(cycles, false);
        while let Some(left) = self.instance.take(Departure::new) {
            self.left.push_back(left?);
        }
        ran
    }

    /// Runs for this many cycles, even if the machine is idle.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn rest(&mut self, cycles: u64) -> Result<(), Fault> {
        self.clock(cycles, true)
    }

    fn clock(&mut self, cycles: u64, whatever: bool) -> Result<(), Fault> {
        let begin = Instant::now();
        let ran = self.instance.run(cycles, whatever);
        self.time += begin.elapsed();
        ran
    }

    /// Returns the next output, in the order in which packets entered or, for narrow ports, were
    /// accepted. The outputs of one packet are in the order in which it sent them. A packet for a
    /// port that does not exist has no bytes. With virtual routers, only the packets of one router
    /// are in order.
    pub fn take(&mut self) -> Option<Departure> {
        self.left.pop_front()
    }

    /// Records the events of a packet, given by its number among the offered packets. Must be
    /// called before the packet is offered. Only models that are built to follow packets record
    /// events.
    pub fn follow(&mut self, number: u64) {
        self.instance.follow(number);
    }

    /// Returns the next event of the packet that is followed.
    pub fn take_event(&mut self) -> Option<Event> {
        self.instance.take_event().and_then(|raw| Event::new(&raw))
    }

    /// Returns the number of the next packet that was lost at the input, in order.
    pub fn take_lost(&mut self) -> Option<u64> {
        self.instance.take_lost()
    }

    /// Executes accesses of the control port in order, while packets flow. Returns one word for
    /// each access.
    ///
    /// # Errors
    /// If the machine fails or refuses an access.
    pub fn control(&mut self, accesses: &[Access]) -> Result<Vec<u32>, Fault> {
        for access in accesses {
            match *access {
                Access::Read { address } => self.instance.control(false, address, 0),
                Access::Write { address, data } => self.instance.control(true, address, data),
            }
        }
        let mut words = Vec::with_capacity(accesses.len());
        while words.len() < accesses.len() {
            self.run(16)?;
            while let Some(answer) = self.instance.take_answer() {
                if answer >> 32 != 0 {
                    let access = accesses[words.len()];
                    return Err(Fault(format!(
                        "the control port refuses {access:x?} with response {}",
                        answer >> 32
                    )));
                }
                words.push(answer as u32);
            }
        }
        Ok(words)
    }

    /// Returns the count of each probe over all cycles so far, in the order of the geometry.
    pub fn probes(&self) -> Vec<u64> {
        self.sums(self.instance.probes())
    }

    /// Returns the count of each probe over the cycles from the first packet in to the last one
    /// out.
    pub fn probes_in_use(&self) -> Vec<u64> {
        let outside = self.sums(self.instance.probes_outside());
        self.probes().iter().zip(&outside).map(|(all, outside)| all - outside).collect()
    }

    /// Returns the count of each probe, as the sum over its bits.
    fn sums(&self, mut counts: &[u64]) -> Vec<u64> {
        let mut sums = Vec::new();
        for probe in &self.instance.geometry().probes {
            let (own, rest) = counts.split_at(probe.bits);
            sums.push(own.iter().enumerate().map(|(bit, count)| count << bit).sum());
            counts = rest;
        }
        sums
    }

    /// Returns the state of the simulation.
    pub fn state(&self) -> State {
        self.instance.state()
    }

    /// Returns the wall-clock time of all cycles so far.
    pub fn time(&self) -> Duration {
        self.time
    }

    /// Returns the shape of the machine's ports.
    pub fn geometry(&self) -> &Geometry {
        self.instance.geometry()
    }
}

/// An access of the control port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads a word.
    Read {
        /// Byte address.
        address: u32,
    },
    /// Writes a word.
    Write {
        /// Byte address.
        address: u32,
        data: u32,
    },
}
