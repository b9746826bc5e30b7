//! Figures of the NePSim talk: the benchmarks in microcode on the IXP1200.
//!
//! A [`Trial`] says what runs; the figures differ in what they change.

pub mod busy;
pub mod compiled;
pub mod dvs;
pub mod efficiency;
mod energy;
pub mod gating;
pub mod idle;
pub mod ipv4;
pub mod networks;
pub mod power;
pub mod speed;
pub mod throughput;
mod turns;

use wireloom_ixp::benchmarks::{Benchmark, Mapping, Measured, Traffic, measure, processor};
use wireloom_ixp::cards::Delivered;
use wireloom_ixp::mpkt::Way;
use wireloom_ixp::{Options, Processor, Spec};
use wireloom_machine::{Error, Result};
use wireloom_sim::parts::line::Pace;
use wireloom_sim::{Clock, Time};

use crate::rate::{Rate, Verdicts};

/// The clock of the published figures, in MHz: that of engines, and always that of the memories.
pub const MHZ: u64 = 232;
/// Ports: as many as a single engine has receiving threads.
const PORTS: u16 = 2;
/// The rate of each: lines shall not limit.
const LINE_RATE: u64 = 10_000_000_000;
/// Time that does not count: the ring of packets fills if it is going to.
const BEFORE: Time = Time(1_000_000_000);
/// The time that counts.
const WINDOW: Time = Time(2_000_000_000);
/// Buffers of the programs.
const BUFFERS: f64 = 1000.0;

/// The units and buses that can be full.
const UNITS: [&str; 10] = [
    "command-bus",
    "sram",
    "sdram",
    "scratchpad",
    "hash-unit",
    "fbi",
    "msf",
    "sram-push-bus",
    "sram-pull-bus",
    "ix-bus",
];

/// The unit or bus that was in use most, with its share.
fn busiest(share: impl Fn(&str) -> Option<f64>) -> String {
    let shares = UNITS.iter().filter_map(|unit| Some((unit, share(unit)?)));
    let most = shares.max_by(|one, other| one.1.total_cmp(&other.1));
    most.map_or_else(String::new, |(unit, share)| format!("{unit} {:.0} %", 100.0 * share))
}

/// A run of a benchmark.
#[derive(Clone, Debug)]
pub struct Trial {
    /// The benchmark.
    pub benchmark: Benchmark,
    /// Which engines receive, which send.
    pub mapping: Mapping,
    /// The machine.
    pub spec: Spec,
    /// Lengths of frames without check sequence, and how often each comes.
    pub sizes: Vec<(usize, u32)>,
    /// The seed of tables and packets.
    pub seed: u64,
}

impl Trial {
    /// A benchmark on an IXP1200 whose engines have this clock; buses and memories keep theirs.
    /// Two ports are kept full with the mix of [`Traffic::mix`].
    pub fn new(benchmark: Benchmark, mapping: Mapping, mhz: u64) -> Self {
        let mut spec = Spec::base();
        spec.engine.clock = Clock::hertz(mhz * 1_000_000);
        spec.ports.count = PORTS.into();
        (spec.ports.rate, spec.ports.pace) = (LINE_RATE, Pace::Given);
        spec.ports.receive_mpkts = energy::HELD;
        spec.ports.transmit_mpkts = 4096;
        Self { benchmark, mapping, spec, sizes: Traffic::mix(), seed: 1 }
    }

    /// The packets.
    pub fn traffic(&self) -> Traffic {
        let Self { benchmark, ref sizes, seed, .. } = *self;
        Traffic { benchmark, ports: PORTS, sizes: sizes.clone(), seed }
    }

    /// The chip before the first packet.
    ///
    /// # Errors
    /// If the benchmark does not fit it.
    pub fn processor(&self) -> Result<Processor> {
        let contents = self.traffic().contents();
        processor(&contents, &self.mapping, &self.spec, &Options::default(), ()).map_err(Error::new)
    }

    /// What it does under load.
    ///
    /// # Errors
    /// If the benchmark does not fit the chip, or fails.
    pub fn measure(&self) -> Result<Loaded> {
        let mut processor = self.processor()?;
        let measured = measure(&mut processor, &self.traffic(), BEFORE, WINDOW);
        Ok(Loaded { measured: measured.map_err(Error::new)?, mapping: self.mapping.clone() })
    }
}

/// What a chip did under load.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What was measured.
    pub measured: Measured,
    mapping: Mapping,
}

impl Loaded {
    /// The share of cycles in which engines of the mapping that are chosen were idle.
    pub fn idle(&self, chosen: impl Fn(wireloom_ixp::benchmarks::Role) -> bool) -> f64 {
        let engines = self.mapping.roles().iter().zip(&self.measured.engines);
        let idle: Vec<f64> =
            engines.filter(|(role, _)| chosen(**role)).map(|(_, shares)| shares.idle).collect();
        idle.iter().sum::<f64>() / idle.len().max(1) as f64
    }

    /// The share of time in which a unit or bus was in use.
    pub fn use_of(&self, unit: &str) -> f64 {
        let found = self.measured.use_of.iter().find(|(name, _)| *name == unit);
        found.map_or(0.0, |(_, share)| *share)
    }

    /// The rate of the packets that left by a port; bits are those of frames as they came.
    pub fn rate(&self) -> Rate {
        let Measured { packets, bytes, dropped, seconds, .. } = self.measured;
        Verdicts { sent: packets, sent_bytes: bytes, dropped }.rate(seconds)
    }

    /// Buffers in use on average.
    pub fn buffers(&self) -> f64 {
        BUFFERS - self.measured.free_buffers
    }
}

/// Counts of packets that left a chip, by destination.
fn verdicts_of<'a>(delivered: impl IntoIterator<Item = &'a Delivered>) -> Verdicts {
    let mut verdicts = Verdicts::default();
    for packet in delivered {
        match packet.control.way {
            Way::Port => {
                verdicts.sent += 1;
                verdicts.sent_bytes += packet.bytes.len() as u64;
            }
            Way::Core | Way::Drop => verdicts.dropped += 1,
            Way::Done => {}
        }
    }
    verdicts
}

/// Two digits behind the point.
fn gbps(value: f64) -> String {
    format!("{value:.2}")
}
