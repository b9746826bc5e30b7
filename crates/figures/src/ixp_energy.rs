//! Runs of programs on `ixp` with energy and a governor, for figures.

use wireloom_ixp::energy::{Power, meter};
use wireloom_ixp::governor::{GovernorKind, Step};
use wireloom_ixp::{Options, Processor, Spec, forwarder};
use wireloom_machine::{Error, Result};
use wireloom_sim::parts::line::Pace;
use wireloom_sim::{Clock, EnergyMeter, Rng, Time};

/// A program with its packets.
pub struct Workload {
    /// Its name.
    pub name: &'static str,
    /// Engines that run it; the machine has no others.
    engines: u32,
    start: fn(&Spec, &Options, EnergyMeter) -> Result<Processor<EnergyMeter>>,
    /// A packet for a port.
    frame: fn(u16, &mut Rng) -> Vec<u8>,
}

/// The programs of the figures on energy.
pub const WORKLOADS: &[Workload] = &[Workload {
    name: "ipv4",
    engines: forwarder::ENGINES as u32,
    start: |spec, options, meter| {
        forwarder::processor(spec, options, meter).map_err(|refused| Error::new(refused.0))
    },
    frame: forwarder::frame,
}];

/// When packets come.
pub enum Traffic<'a> {
    /// More than the chip can take, for so many milliseconds.
    Full(f64),
    /// Packets of a Poisson process with these rates in million packets a second, for so many
    /// milliseconds each.
    Rates(&'a [(f64, f64)]),
}

/// What came out.
pub struct Outcome {
    /// Million packets that left in a second.
    pub mpps: f64,
    /// Packets that came, and that were lost.
    pub packets: (u64, u64),
    /// The mean power of engines with their regulators, of the rest of the chip, of memories.
    pub watts: [f64; 3],
    /// The energy by component.
    pub power: Power,
    /// The share of cycles in which engines were idle.
    pub idle: f64,
}

/// The chip of a workload with four ports. `spec` is changed for it.
pub fn chip(workload: &Workload, kind: GovernorKind, period_cycles: u32) -> Spec {
    let mut spec = Spec::base();
    spec.engines = workload.engines;
    (spec.ports.count, spec.ports.rate) = (4, 1_000_000_000);
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
    spec.power.voltage_mv = 1300;
}

/// Runs a workload.
///
/// # Errors
/// If the machine cannot be made, or the program does something without a meaning.
pub fn run(workload: &Workload, spec: &Spec, traffic: &Traffic<'_>) -> Result<Outcome> {
    let mut spec = spec.clone();
    let ms = match traffic {
        Traffic::Full(ms) => {
            (spec.ports.pace, spec.ports.rate) = (Pace::Line, 10_000_000_000);
            *ms
        }
        Traffic::Rates(rates) => {
            spec.ports.pace = Pace::Given;
            rates.iter().map(|(_, ms)| ms).sum()
        }
    };
    // With intervals idle time counts although nothing happens in it.
    let energy_interval = Some(Time::nanoseconds(100_000));
    let options = Options { energy_interval, ..Options::default() };
    let meter = meter(&spec, None).map_err(Error::new)?;
    let mut machine = (workload.start)(&spec, &options, meter)?;
    let mut rng = Rng::new(5, "packets");
    let mut offered = 0;
    let mut offer = |machine: &mut Processor<EnergyMeter>, port, at: f64, rng: &mut Rng| {
        machine.offer(port, offered, at as u64, &(workload.frame)(port, rng));
        offered += 1;
    };
    match traffic {
        Traffic::Full(ms) => {
            // Ports lose what does not fit: that says nothing here. 10 Gb/s on four ports are
            // 59.5 million packets of 84 bytes a second.
            for number in 0..(ms * 60_000.0) as u64 {
                offer(&mut machine, (number % 4) as u16, 0.0, &mut rng);
            }
        }
        Traffic::Rates(rates) => {
            let (mut at, mut end) = (0.0, 0.0);
            for (mpps, ms) in *rates {
                end += ms * 1e6;
                while at < end {
                    offer(&mut machine, rng.below(4) as u16, at, &mut rng);
                    at += rng.exponential() * 1e3 / mpps;
                }
            }
        }
    }
    machine.run(Time::nanoseconds((ms * 1e6) as u64)).map_err(Error::new)?;
    let power = machine.power().ok_or_else(|| Error::new("the machine has no meter"))?;
    let engines = machine.chip.engines.len();
    let idle = (0..engines).map(|engine| machine.shares(engine).idle).sum::<f64>();
    Ok(Outcome {
        mpps: machine.chip.cards.left as f64 / ms / 1e3,
        packets: (offered, machine.chip.cards.lost.len() as u64),
        watts: power.watts(machine.now()),
        power,
        idle: idle / engines as f64,
    })
}

/// A change in percent, negative if less.
pub fn change(now: f64, before: f64) -> f64 {
    100.0 * (now / before - 1.0)
}
