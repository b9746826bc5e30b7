//! Runs of the benchmarks with energy and a governor.

use wireloom_ixp::benchmarks::{Benchmark, Feed, Mapping, Role, Traffic, processor};
use wireloom_ixp::cards::Delivered;
use wireloom_ixp::energy::{Power, meter};
use wireloom_ixp::governor::{GovernorKind, Step};
use wireloom_ixp::{Options, Spec};
use wireloom_machine::{Error, Result};
use wireloom_sim::parts::line::Pace;
use wireloom_sim::{Clock, Energy, EnergyMeter, Time};

use super::verdicts_of;
use crate::rate::Rate;

/// The number of engines that receive and process packets.
pub const RECEIVING: usize = 4;
/// The number of engines that send packets.
pub const SENDING: usize = 2;
const PORTS: u16 = 2;
/// MPKTs of 64 bytes that a port holds.
pub const HELD: u32 = 128;

/// The offered load.
#[derive(Clone, Copy, Debug)]
pub enum Load<'a> {
    /// Ports are kept full, and lose nothing, for this number of milliseconds.
    Full(f64),
    /// Packets of a Poisson process, in consecutive phases. Each phase has a mean rate of frames in
    /// Gb/s and a duration in milliseconds.
    Gbps(&'a [(f64, f64)]),
}

/// The results of a run, over its measured part unless noted.
pub struct Outcome {
    pub rate: Rate,
    /// Packets that arrived, and packets that were lost, in the whole run.
    pub packets: (u64, u64),
    /// The mean power in watts of the engines with their regulators, of the rest of the chip, and
    /// of the memories.
    pub watts: [f64; 3],
    /// The mean power in watts of a receiving and of a sending engine.
    pub roles: [f64; 2],
    /// The energy of the whole run by component.
    pub power: Power,
    /// The share of cycles of the whole run in which all engines, and receiving engines alone, were
    /// idle.
    pub idle: f64,
    pub receiving_idle: f64,
    /// The time from arrival to departure of each packet that left.
    pub latencies: Vec<Time>,
    /// The microseconds for which packets waited too long while engines were stopped or slow.
    pub late_us: f64,
}

/// Loads under which figures compare voltage governors, as shares of the rate at full load.
pub const LOADS: [(&str, Option<f64>); 5] = [
    ("full", None),
    ("95 %", Some(0.95)),
    ("85 %", Some(0.85)),
    ("60 %", Some(0.6)),
    ("30 %", Some(0.3)),
];

/// The chip with six engines and two ports.
pub fn chip(kind: GovernorKind, period_cycles: u32) -> Spec {
    let mut spec = Spec::base();
    spec.engines = (RECEIVING + SENDING) as u32;
    spec.ports.count = PORTS.into();
    (spec.ports.pace, spec.ports.receive_mpkts) = (Pace::Given, HELD);
    spec.ports.transmit_mpkts = 4096;
    (spec.governor.kind, spec.governor.period_cycles) = (kind, period_cycles);
    spec
}

/// The chip for comparisons of governors. Ports hold the same with each governor, twice as much as
/// without one, in place of the buffers that the governors themselves would add.
pub fn governed(kind: GovernorKind, period_cycles: u32) -> Spec {
    let mut spec = chip(kind, period_cycles);
    spec.ports.receive_mpkts = 2 * HELD;
    (spec.governor.gating.extra_mpkts, spec.governor.demand.extra_mpkts) = (0, 0);
    spec
}

/// Gives engines the talk's clock and voltage, 600 MHz and 1.3 V, with its steps. Buses and units
/// keep their clock.
pub fn fast(spec: &mut Spec) {
    let steps = [(600, 1300), (550, 1250), (500, 1200), (450, 1150), (400, 1100)];
    let step =
        |(mhz, millivolts): (u64, u32)| Step { clock: Clock::hertz(mhz * 1_000_000), millivolts };
    spec.governor.steps = steps.map(step).to_vec();
    spec.engine.clock = spec.governor.steps[0].clock;
    spec.power.technology.voltage_mv = 1300;
}

/// The work of a run.
#[derive(Clone, Debug)]
pub struct Work<'a> {
    /// The program, and the roles of the engines.
    pub benchmark: Benchmark,
    pub mapping: Mapping,
    /// Lengths of frames without check sequence, with their relative frequencies.
    pub sizes: Vec<(usize, u32)>,
    /// The load, and the milliseconds of load before the measurement.
    pub load: Load<'a>,
    pub before: f64,
}

impl<'a> Work<'a> {
    /// A benchmark on four receiving and two sending engines, with the mix of [`Traffic::mix`].
    pub fn new(benchmark: Benchmark, load: Load<'a>, before: f64) -> Self {
        let mapping = Mapping::split(RECEIVING, SENDING);
        Self { benchmark, mapping, sizes: Traffic::mix(), load, before }
    }

    /// Runs the benchmark with each of `seeds` seeds of tables and packets, since the throughput
    /// with a single seed varies by a percent or two.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_all(&self, spec: &Spec, seeds: u64) -> Result<Mean> {
        let mut mean = Mean::default();
        let mut latencies = Vec::new();
        let share = 1.0 / seeds as f64;
        for seed in 1..=seeds {
            let outcome = self.run(spec, seed)?;
            mean.gbps += outcome.rate.gbps() * share;
            mean.dropped += outcome.rate.dropped();
            mean.engines_w += outcome.watts[0] * share;
            mean.idle += outcome.idle * share;
            mean.receiving_idle += outcome.receiving_idle * share;
            mean.late_us += outcome.late_us * share;
            mean.packets.0 += outcome.packets.0;
            mean.packets.1 += outcome.packets.1;
            latencies.extend(outcome.latencies);
        }
        latencies.sort_unstable();
        let us = |time: Time| time.as_seconds() * 1e6;
        let sum: u64 = latencies.iter().map(|latency| latency.0).sum();
        mean.latency_us = us(Time(sum / (latencies.len() as u64).max(1)));
        mean.latency_99_us =
            latencies.get(latencies.len() * 99 / 100).map_or(0.0, |latency| us(*latency));
        Ok(mean)
    }

    /// Runs the benchmark with one seed of tables and packets.
    ///
    /// # Errors
    /// If the machine cannot be made, or the program performs an undefined operation.
    pub fn run(&self, spec: &Spec, seed: u64) -> Result<Outcome> {
        let Self { benchmark, ref mapping, load, before, .. } = *self;
        let mut spec = spec.clone();
        let (line_rate, ms) = match load {
            // The line refills a port faster than the engines empty it.
            Load::Full(ms) => {
                (10_000_000_000 * u64::from(spec.ports.receive_mpkts.div_ceil(HELD)), ms)
            }
            Load::Gbps(loads) => (1_000_000_000, loads.iter().map(|(_, ms)| ms).sum()),
        };
        spec.ports.rate = line_rate;
        spec.engines = mapping.roles().len() as u32;
        let traffic = Traffic { benchmark, ports: PORTS, sizes: self.sizes.clone(), seed };
        // With energy intervals, idle time is counted although nothing happens in it.
        let energy_interval = Some(Time::nanoseconds(100_000));
        let options = Options { energy_interval, ..Options::default() };
        let meter: EnergyMeter = meter(&spec, None).map_err(Error::new)?;
        let chip = processor(&traffic.contents(), mapping, &spec, &options, meter);
        let mut chip = chip.map_err(Error::new)?;
        let mut feed = Feed::new(&traffic);
        let time = |ms: f64| Time::nanoseconds((ms * 1e6) as u64);
        let first = match load {
            Load::Full(_) => feed.full(&mut chip, time(before)),
            Load::Gbps(loads) => feed.poisson(&mut chip, loads[0].0, time(before)),
        };
        first.map_err(Error::new)?;
        chip.delivered();
        let no_meter = || Error::new("the machine has no meter");
        let begin = chip.power().ok_or_else(no_meter)?;
        match load {
            Load::Full(ms) => feed.full(&mut chip, time(ms)).map_err(Error::new)?,
            Load::Gbps(loads) => {
                for (gbps, ms) in loads {
                    feed.poisson(&mut chip, *gbps, time(*ms)).map_err(Error::new)?;
                }
            }
        }
        let power = chip.power().ok_or_else(no_meter)?;
        let spent = |of: &dyn Fn(&Power) -> Energy| of(&power).as_joules() - of(&begin).as_joules();
        let watts = |of: &dyn Fn(&Power) -> Energy| spent(of) / ms * 1e3;
        let engines = |chosen: fn(Role) -> bool| {
            let roles = mapping.roles().iter().enumerate();
            roles.filter(move |(_, role)| chosen(**role)).map(|(engine, _)| engine)
        };
        let mean_watts = |chosen: fn(Role) -> bool| {
            let count = engines(chosen).count().max(1) as f64;
            watts(&|power| engines(chosen).map(|engine| power.engine(engine)).sum()) / count
        };
        let idle = |chosen: fn(Role) -> bool| {
            let idle: f64 = engines(chosen).map(|engine| chip.shares(engine).idle).sum();
            idle / engines(chosen).count().max(1) as f64
        };
        let (idle, receiving_idle) = (idle(|_| true), idle(receives));
        let delivered = chip.delivered();
        let latency = |packet: &Delivered| packet.at.since(Time::nanoseconds(packet.arrival_ns));
        Ok(Outcome {
            rate: verdicts_of(&delivered).rate(ms / 1e3),
            packets: (feed.offered, chip.chip.cards.lost.len() as u64),
            watts: [0, 1, 2].map(|group| watts(&|power| power.groups()[group])),
            roles: [mean_watts(receives), mean_watts(|role| role == Role::Transmit)],
            power,
            idle,
            receiving_idle,
            latencies: delivered.iter().map(latency).collect(),
            late_us: chip.chip.control.did.late.as_seconds() * 1e6,
        })
    }
}

/// Whether an engine receives packets.
fn receives(role: Role) -> bool {
    matches!(role, Role::Receive | Role::Both)
}

/// The results of runs with several seeds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean {
    /// Means: throughput in Gb/s, watts of engines, and the share of their cycles that were idle.
    pub gbps: f64,
    pub engines_w: f64,
    pub idle: f64,
    /// The mean share of idle cycles of receiving engines alone.
    pub receiving_idle: f64,
    /// Sums: packets that arrived, and packets that were lost.
    pub packets: (u64, u64),
    /// The sum of packets that left by no port.
    pub dropped: u64,
    /// The time from the arrival of a complete packet until it has left: the mean and the 99th
    /// percentile.
    pub latency_us: f64,
    pub latency_99_us: f64,
    /// The mean time, in microseconds, in which packets waited too long while engines were stopped
    /// or slow.
    pub late_us: f64,
}

/// Returns a change in percent, negative for a decrease.
pub fn change(now: f64, before: f64) -> f64 {
    100.0 * (now / before - 1.0)
}
