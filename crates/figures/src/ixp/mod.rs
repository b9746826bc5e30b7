//! Figures of the NePSim talk: the benchmarks in microcode on the IXP1200.
//!
//! A [`Trial`] describes a run; the figures differ in the changes they make to it.

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

/// The clock of engines in the published figures, in MHz. The memories always have this clock.
pub const MHZ: u64 = 232;
/// The number of ports: a single engine has this many receiving threads.
const PORTS: u16 = 2;
/// The rate of each port in bits per second, high enough that lines are no bottleneck.
const LINE_RATE: u64 = 10_000_000_000;
/// Time before the measurement, in which the packet ring fills if it ever does.
const BEFORE: Time = Time(1_000_000_000);
/// The measured time.
const WINDOW: Time = Time(2_000_000_000);
/// The number of packet buffers of the programs.
const BUFFERS: f64 = 1000.0;

/// The units and buses that can be saturated.
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

/// Returns the most utilised unit or bus, with its share.
fn busiest(share: impl Fn(&str) -> Option<f64>) -> String {
    let shares = UNITS.iter().filter_map(|unit| Some((unit, share(unit)?)));
    let most = shares.max_by(|one, other| one.1.total_cmp(&other.1));
    most.map_or_else(String::new, |(unit, share)| format!("{unit} {:.0} %", 100.0 * share))
}

/// A run of a benchmark.
#[derive(Clone, Debug)]
pub struct Trial {
    pub benchmark: Benchmark,
    /// The roles of the engines: which receive and which send.
    pub mapping: Mapping,
    pub spec: Spec,
    /// Lengths of frames without check sequence, with their relative frequencies.
    pub sizes: Vec<(usize, u32)>,
    /// The seed of tables and packets.
    pub seed: u64,
}

impl Trial {
    /// A benchmark on an IXP1200 whose engines have this clock; buses and memories keep theirs. Two
    /// ports are kept full with the mix of [`Traffic::mix`].
    pub fn new(benchmark: Benchmark, mapping: Mapping, mhz: u64) -> Self {
        let mut spec = Spec::base();
        spec.engine.clock = Clock::hertz(mhz * 1_000_000);
        spec.ports.count = PORTS.into();
        (spec.ports.rate, spec.ports.pace) = (LINE_RATE, Pace::Given);
        spec.ports.receive_mpkts = energy::HELD;
        spec.ports.transmit_mpkts = 4096;
        Self { benchmark, mapping, spec, sizes: Traffic::mix(), seed: 1 }
    }

    pub fn traffic(&self) -> Traffic {
        let Self { benchmark, ref sizes, seed, .. } = *self;
        Traffic { benchmark, ports: PORTS, sizes: sizes.clone(), seed }
    }

    /// Returns the chip before the first packet.
    ///
    /// # Errors
    /// If the benchmark does not fit the chip.
    pub fn processor(&self) -> Result<Processor> {
        let contents = self.traffic().contents();
        processor(&contents, &self.mapping, &self.spec, &Options::default(), ()).map_err(Error::new)
    }

    /// Measures the chip under load.
    ///
    /// # Errors
    /// If the benchmark does not fit the chip, or fails.
    pub fn measure(&self) -> Result<Loaded> {
        let mut processor = self.processor()?;
        let measured = measure(&mut processor, &self.traffic(), BEFORE, WINDOW);
        Ok(Loaded { measured: measured.map_err(Error::new)?, mapping: self.mapping.clone() })
    }
}

/// The measurement of a chip under load.
#[derive(Clone, Debug)]
pub struct Loaded {
    pub measured: Measured,
    mapping: Mapping,
}

impl Loaded {
    /// The share of cycles in which the engines with the chosen roles were idle.
    pub fn idle(&self, chosen: impl Fn(wireloom_ixp::benchmarks::Role) -> bool) -> f64 {
        let engines = self.mapping.roles().iter().zip(&self.measured.engines);
        let idle: Vec<f64> =
            engines.filter(|(role, _)| chosen(**role)).map(|(_, shares)| shares.idle).collect();
        idle.iter().sum::<f64>() / idle.len().max(1) as f64
    }

    /// The utilisation of a unit or bus, from 0 to 1.
    pub fn use_of(&self, unit: &str) -> f64 {
        let found = self.measured.use_of.iter().find(|(name, _)| *name == unit);
        found.map_or(0.0, |(_, share)| *share)
    }

    /// The rate of packets that left by a port, with the bits of the frames as they arrived.
    pub fn rate(&self) -> Rate {
        let Measured { packets, bytes, dropped, seconds, .. } = self.measured;
        Verdicts { sent: packets, sent_bytes: bytes, dropped }.rate(seconds)
    }

    /// The mean number of buffers in use.
    pub fn buffers(&self) -> f64 {
        BUFFERS - self.measured.free_buffers
    }
}

/// Counts the packets that left a chip, by verdict.
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

/// Formats a number with two digits after the point.
fn gbps(value: f64) -> String {
    format!("{value:.2}")
}
