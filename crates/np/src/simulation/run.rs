//! A machine in operation: packets in, packets out, each with the cycles in which it came and went.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use wireloom_net::Frame;

use super::model::{Instance, Model, RawLeft, State};
use super::source::Geometry;

/// A fault inside a model: an assertion, a malformed beat, no progress.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the simulated machine failed: {0}")]
pub struct Fault(pub String);

/// Parameters of a simulation.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Arguments for the model: `+wl_image_NAME=FILE` loads a memory.
    pub arguments: Vec<String>,
    /// Packets that the input buffer holds for each lane.
    pub buffer: u32,
    /// Percentage of the cycles in which a lane could offer a beat and offers none.
    pub idle_percent: u32,
    /// Percentage of the cycles in which no lane's output is taken.
    pub stall_percent: u32,
    /// Seed of the two above, and of what memories hold before they are written.
    pub seed: u64,
    /// Cycles without progress after which the machine counts as stuck.
    pub patience: u64,
    /// The core's clock: the times in waves follow from it.
    pub clock_mhz: u32,
    /// Path of the waves (FST); the model must be built for them.
    pub waves: Option<PathBuf>,
    /// The assertions of the templates are checked; the model must be built for it.
    pub assertions: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            arguments: Vec::new(),
            buffer: 64,
            idle_percent: 0,
            stall_percent: 0,
            seed: 1,
            patience: 1_000_000,
            clock_mhz: 100,
            assertions: false,
            waves: None,
        }
    }
}

/// When a packet arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// As soon as the input buffer has room.
    Waiting,
    /// In this cycle, no earlier than the one before; it is lost if the input buffer is full then.
    At(u64),
}

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It left the machine by a port.
    Finished,
    /// A copy left by a port; the packet's thread continues.
    Emitted,
    /// Dropped.
    Dropped,
    /// It left the machine for the control processor.
    ToCpu,
    /// It ended without leaving.
    Done,
}

/// Something that left: a packet, or word of one that does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Number of the packet among those that were offered, from 0.
    pub number: u64,
    /// Its fate.
    pub fate: Fate,
    /// Egress port of a packet that leaves.
    pub egress: u16,
    /// Set and number of the reason, of a drop or for the control processor.
    pub reason: (u8, u16),
    /// The bytes of a packet that leaves.
    pub bytes: Vec<u8>,
    /// Cycle in which the packet had arrived.
    pub arrived: u64,
    /// Cycle in which its first beat entered the machine.
    pub entered: u64,
    /// Cycle in which its last beat left the machine.
    pub left: u64,
}

impl Left {
    fn new(raw: &RawLeft, bytes: &[u8]) -> Result<Self, Fault> {
        let fate = match raw.kind {
            1 => Fate::Finished,
            2 => Fate::Emitted,
            3 => Fate::Dropped,
            4 => Fate::ToCpu,
            5 => Fate::Done,
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

/// A model with its clock running.
pub struct Simulation {
    instance: Instance,
    /// Things that left, lane by lane, which packets enter and leave in turn.
    lanes: Vec<VecDeque<Left>>,
    /// The lane of the oldest packet with an incomplete outcome.
    turn: usize,
    time: Duration,
}

impl Simulation {
    /// Resets the machine.
    ///
    /// # Errors
    /// If the model refuses an image, or the waves cannot be written.
    pub fn start(model: &Model, settings: &Settings) -> Result<Self, Fault> {
        let instance = Instance::open(model, settings)?;
        let lanes = (0..instance.geometry().turns()).map(|_| VecDeque::new()).collect();
        Ok(Self { instance, lanes, turn: 0, time: Duration::ZERO })
    }

    /// Puts a packet in line. Bytes past the longest packet are cut, as on every machine.
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
    /// If the machine fails; it stays so.
    pub fn run(&mut self, cycles: u64) -> Result<(), Fault> {
        let ran = self.clock(cycles, false);
        while let Some((lane, left)) =
            self.instance.take(|raw, bytes| (raw.lane as usize, Left::new(raw, bytes)))
        {
            self.lanes[lane].push_back(left?);
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

    /// The next thing that left, in the order in which packets entered, or were taken from narrow
    /// ports; those of one packet in the order in which it sent them. A packet for a port that does
    /// not exist has no bytes. Of virtual routers, those of each in its order.
    pub fn take(&mut self) -> Option<Left> {
        let left = self.lanes[self.turn].pop_front()?;
        if left.fate != Fate::Emitted {
            self.turn = (self.turn + 1) % self.lanes.len();
        }
        Some(left)
    }

    /// The number of the next packet that was lost at the input, in order.
    pub fn take_lost(&mut self) -> Option<u64> {
        self.instance.take_lost()
    }

    /// Executes accesses of the control port in order, while packets flow; returns what was read,
    /// one word for each access.
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
        let mut counts = self.instance.probes();
        let mut sums = Vec::new();
        for probe in &self.instance.geometry().probes {
            let (own, rest) = counts.split_at(probe.bits);
            sums.push(own.iter().enumerate().map(|(bit, count)| count << bit).sum());
            counts = rest;
        }
        sums
    }

    /// Returns its state.
    pub fn state(&self) -> State {
        self.instance.state()
    }

    /// The time that all cycles so far have taken.
    pub fn time(&self) -> Duration {
        self.time
    }

    /// The shape of the machine's ports.
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
        /// The word.
        data: u32,
    },
}
