//! Runs of the benchmarks with energy and a governor.

use wireloom_ixp::benchmarks::{Benchmark, Feed, Mapping, Traffic, processor};
use wireloom_ixp::energy::{Power, meter};
use wireloom_ixp::governor::{GovernorKind, Step};
use wireloom_ixp::{Options, Spec};
use wireloom_machine::{Error, Result};
use wireloom_sim::parts::line::Pace;
use wireloom_sim::{Clock, Energy, EnergyMeter, Time};

/// Engines that receive and process packets, and those that send them.
pub const RECEIVING: usize = 4;
/// See [`RECEIVING`].
pub const SENDING: usize = 2;
const PORTS: u16 = 2;
/// MPKTs of 64 bytes that a port holds.
pub const HELD: u32 = 128;

/// What comes.
#[derive(Clone, Copy, Debug)]
pub enum Load<'a> {
    /// Ports are kept full, and lose nothing, for so many milliseconds.
    Full(f64),
    /// Packets of a Poisson process with so many Gb/s of frames on average, for so many
    /// milliseconds, one after the other.
    Gbps(&'a [(f64, f64)]),
}

/// What came out while it counted.
pub struct Outcome {
    /// Bits of frames that left, in Gb/s.
    pub gbps: f64,
    /// Packets that came, and that were lost, in the whole run.
    pub packets: (u64, u64),
    /// The mean power of engines with their regulators, of the rest of the chip, of memories.
    pub watts: [f64; 3],
    /// The mean power of a receiving and of a sending engine.
    pub roles: [f64; 2],
    /// The energy of the whole run by component.
    pub power: Power,
    /// The share of cycles of the whole run in which engines were idle.
    pub idle: f64,
}

/// The chip: six engines and two ports.
pub fn chip(kind: GovernorKind, period_cycles: u32) -> Spec {
    let mut spec = Spec::base();
    spec.engines = (RECEIVING + SENDING) as u32;
    spec.ports.count = PORTS.into();
    (spec.ports.pace, spec.ports.receive_mpkts) = (Pace::Given, HELD);
    spec.ports.transmit_mpkts = 4096;
    (spec.governor.kind, spec.governor.period_cycles) = (kind, period_cycles);
    spec
}

/// Gives engines the talk's clock and voltage, 600 MHz and 1.3 V, with its steps; buses and units
/// keep their clock.
pub fn fast(spec: &mut Spec) {
    let steps = [(600, 1300), (550, 1250), (500, 1200), (450, 1150), (400, 1100)];
    let step =
        |(mhz, millivolts): (u64, u32)| Step { clock: Clock::hertz(mhz * 1_000_000), millivolts };
    spec.governor.steps = steps.map(step).to_vec();
    spec.engine.clock = spec.governor.steps[0].clock;
    spec.power.technology.voltage_mv = 1300;
}

/// What came out of runs with several seeds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mean {
    /// Gb/s, watts of engines, and the share of their cycles that were idle, on average.
    pub gbps: f64,
    pub engines_w: f64,
    pub idle: f64,
    /// Packets that came, and that were lost, together.
    pub packets: (u64, u64),
}

/// Runs a benchmark with so many seeds of tables and packets, as [`run`] does: throughput with one alone
/// varies by a percent or two.
///
/// # Errors
/// As [`run`].
pub fn run_all(
    benchmark: Benchmark,
    spec: &Spec,
    load: Load<'_>,
    before: f64,
    seeds: u64,
) -> Result<Mean> {
    let mut mean = Mean::default();
    let share = 1.0 / seeds as f64;
    for seed in 1..=seeds {
        let outcome = run_seeded(benchmark, spec, load, before, seed)?;
        mean.gbps += outcome.gbps * share;
        mean.engines_w += outcome.watts[0] * share;
        mean.idle += outcome.idle * share;
        mean.packets.0 += outcome.packets.0;
        mean.packets.1 += outcome.packets.1;
    }
    Ok(mean)
}

/// Runs a benchmark, first for `before` milliseconds of the same load that do not count.
///
/// # Errors
/// If the machine cannot be made, or the program does something without a meaning.
pub fn run(benchmark: Benchmark, spec: &Spec, load: Load<'_>, before: f64) -> Result<Outcome> {
    run_seeded(benchmark, spec, load, before, 1)
}

fn run_seeded(
    benchmark: Benchmark,
    spec: &Spec,
    load: Load<'_>,
    before: f64,
    seed: u64,
) -> Result<Outcome> {
    let mut spec = spec.clone();
    let (line_rate, ms) = match load {
        Load::Full(ms) => (10_000_000_000, ms),
        Load::Gbps(loads) => (1_000_000_000, loads.iter().map(|(_, ms)| ms).sum()),
    };
    spec.ports.rate = line_rate;
    let traffic = Traffic { benchmark, ports: PORTS, sizes: Traffic::mix(), seed };
    // With intervals idle time counts although nothing happens in it.
    let energy_interval = Some(Time::nanoseconds(100_000));
    let options = Options { energy_interval, ..Options::default() };
    let mapping = Mapping::split(RECEIVING, SENDING);
    let meter: EnergyMeter = meter(&spec, None).map_err(Error::new)?;
    let chip = processor(&traffic.contents(), &mapping, &spec, &options, meter);
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
    let engines = |range: std::ops::Range<usize>| {
        let count = range.len() as f64;
        watts(&|power| range.clone().map(|engine| power.engine(engine)).sum()) / count
    };
    let bytes: usize = chip.delivered().iter().map(|packet| packet.bytes.len()).sum();
    let count = chip.chip.engines.len();
    let idle = (0..count).map(|engine| chip.shares(engine).idle).sum::<f64>();
    Ok(Outcome {
        gbps: bytes as f64 * 8.0 / ms / 1e6,
        packets: (feed.offered, chip.chip.cards.lost.len() as u64),
        watts: [0, 1, 2].map(|group| watts(&|power| power.groups()[group])),
        roles: [engines(0..RECEIVING), engines(RECEIVING..RECEIVING + SENDING)],
        power,
        idle: idle / count as f64,
    })
}

/// A change in percent, negative if less.
pub fn change(now: f64, before: f64) -> f64 {
    100.0 * (now / before - 1.0)
}
