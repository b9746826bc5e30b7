//! The paper's evaluation of the machine with the synthetic load: Figure 3 and Table 1.

use serde::Serialize;
use wireloom_sim::parts::interconnect::InterconnectSpec;
use wireloom_sim::{Time, sweep, sweep_longest_first};

use super::machine::{Latency, Machine, Options};
use super::objects::NoObjects;
use super::spec::Spec;
use super::synthetic::{PAPER, Synthetic};

/// Packets of the evaluation, in bytes ("a minimum packet length of 54 bytes", section 5.4).
pub const PACKET_BYTES: u32 = 54;
/// Threads of a processor in Figure 3.
pub const THREADS: [u32; 5] = [4, 8, 16, 24, 32];
/// One-way latencies of Figure 3, in nanoseconds.
pub const LATENCIES_NS: [u64; 5] = [0, 40, 80, 120, 160];

/// A point of Figure 3: one processor under overload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Threads of the processor.
    pub threads: u32,
    /// The one-way latency, in nanoseconds.
    pub latency_ns: u64,
    /// The throughput, in Mb/s.
    pub mbps: f64,
    /// The share of cycles in which an instruction was issued.
    pub usage: f64,
}

/// A line of Table 1.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Configuration {
    /// The name of the configuration.
    pub name: &'static str,
    /// The number of processors.
    pub processors: u32,
    /// The threads of each processor.
    pub threads: u32,
    /// The one-way latency, in nanoseconds.
    pub latency_ns: u64,
    /// The line rate, in Gb/s.
    pub offered_gbps: f64,
    /// The throughput, in Gb/s.
    pub carried_gbps: f64,
    /// Lost packets of 1,000 offered ones.
    pub lost_per_mille: f64,
    /// The share of cycles in which instructions were issued.
    pub usage: f64,
    /// The latency from the arrival of a packet's last bit to the departure of its last bit, after
    /// all earlier packets; in microseconds, as all following fields.
    pub latency_us: f64,
    /// The part of it until the thread returns the packet to packet I/O.
    pub processing_us: f64,
    /// The part of it in which the thread waits for the network.
    pub network_us: f64,
    /// The part of it in which an instruction of the thread is in the pipeline.
    pub compute_us: f64,
}

/// A number of the paper next to the measured one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stated {
    /// The quantity.
    pub what: String,
    /// The unit.
    pub unit: &'static str,
    /// The paper's number.
    pub paper: f64,
    /// The measured number.
    pub measured: f64,
    /// The reason for the difference, if it exceeds a tenth.
    pub why: Option<&'static str>,
}

impl Stated {
    /// The difference, as a fraction of the paper's number.
    pub fn difference(&self) -> f64 {
        self.measured / self.paper - 1.0
    }

    /// Whether the difference is at most a tenth.
    pub fn is_near(&self) -> bool {
        self.difference().abs() <= 0.1
    }
}

/// A variant of the base machine with this shape, lumped one-way latency and line rate in Gb/s.
pub fn shaped(base: &Spec, processors: u32, threads: u32, latency: Time, gbps: f64) -> Spec {
    let mut spec = base.clone();
    (spec.processors, spec.threads) = (processors, threads);
    if let InterconnectSpec::Channel(channel) = &mut spec.network {
        channel.latency = latency;
    }
    spec.io.input.rate = (gbps * 1e9) as u64;
    spec.io.output.rate = spec.io.input.rate;
    spec
}

/// The results of a machine under the synthetic load between two times.
struct Measured {
    gbps: f64,
    lost_per_mille: f64,
    usage: f64,
    latency: Latency,
}

fn measure(spec: &Spec, load: Synthetic, warm: Time, until: Time) -> Result<Measured, String> {
    let machine = Machine::new(spec, load, NoObjects, Options::default());
    let mut machine = machine.map_err(|error| error.to_string())?;
    machine.offer_plain(PACKET_BYTES, u64::MAX);
    machine.run(warm).map_err(|error| error.to_string())?;
    machine.measure_latencies();
    let before = machine.totals();
    machine.run(until).map_err(|error| error.to_string())?;
    let after = machine.totals();
    let (done, lost) = ((after.done - before.done) as f64, (after.lost - before.lost) as f64);
    Ok(Measured {
        gbps: done * f64::from(PACKET_BYTES * 8) / (after.now - before.now).as_seconds() / 1e9,
        lost_per_mille: 1000.0 * lost / (lost + (after.taken - before.taken) as f64).max(1.0),
        usage: machine.usage(&before, &after),
        latency: machine.latency(),
    })
}

/// Figure 3, simulated on so many host threads.
///
/// # Errors
/// A sentence, if a simulation fails.
pub fn figure_3(base: &Spec, workers: usize) -> Result<Vec<Point>, String> {
    let points: Vec<(u32, u64)> = THREADS
        .iter()
        .flat_map(|threads| LATENCIES_NS.map(|latency| (*threads, latency)))
        .collect();
    let simulate = |&(threads, latency_ns): &(u32, u64)| point(base, threads, latency_ns);
    sweep_longest_first(&points, workers, |point| demand(base, *point), simulate)
        .map_err(|error| error.to_string())?
        .into_iter()
        .collect()
}

/// An estimate of the threads' demand on such a processor, and so of the simulated time: each
/// thread has an instruction in the pipeline from one access to the next, then waits for both ways.
fn demand(base: &Spec, (threads, latency_ns): (u32, u64)) -> u64 {
    let instructions = u64::from(PAPER.instructions / PAPER.accesses);
    let executes = base.processor.clock.cycles(instructions * u64::from(base.processor.stages));
    1000 * u64::from(threads) * executes.0 / (executes + Time::nanoseconds(2 * latency_ns)).0
}

fn point(base: &Spec, threads: u32, latency_ns: u64) -> Result<Point, String> {
    // A line of twice the capacity of a processor.
    let spec = shaped(base, 1, threads, Time::nanoseconds(latency_ns), 0.5);
    let measured = measure(&spec, PAPER, Time::nanoseconds(200_000), Time::nanoseconds(2_200_000))?;
    Ok(Point { threads, latency_ns, mbps: measured.gbps * 1e3, usage: measured.usage })
}

/// The numbers that the paper's text gives for Figure 3.
pub fn figure_3_stated(points: &[Point]) -> Vec<Stated> {
    let at = |threads, latency_ns| {
        points.iter().find(|point| (point.threads, point.latency_ns) == (threads, latency_ns))
    };
    let most = points.iter().map(|point| point.mbps).fold(0.0, f64::max);
    let rate = |threads, latency_ns| at(threads, latency_ns).map_or(0.0, |point| point.mbps);
    let usage =
        |threads, latency_ns| at(threads, latency_ns).map_or(0.0, |point| 100.0 * point.usage);
    let stated = |what: &str, unit, paper, measured| Stated {
        what: what.to_owned(),
        unit,
        paper,
        measured,
        why: None,
    };
    vec![
        stated("highest rate of a processor", "Mb/s", 260.0, most),
        stated("4 threads, no latency: \"nearly\" the highest rate", "Mb/s", 260.0, rate(4, 0)),
        stated("4 threads, 160 ns", "Mb/s", 40.0, rate(4, 160)),
        stated("32 threads, 160 ns", "Mb/s", 250.0, rate(32, 160)),
        Stated {
            why: Some(
                "the text says \"below 15 %\", and of the same point 40 Mb/s, which of 260 are 15.4 %",
            ),
            ..stated("4 threads, 160 ns: use \"below 15 %\"", "%", 15.0, usage(4, 160))
        },
        stated("32 threads, 160 ns: use \"as high as 97 %\"", "%", 97.0, usage(32, 160)),
    ]
}

/// A machine of Table 1: name, processors, threads of each, nanoseconds one way, Gb/s.
type Setting = (&'static str, u32, u32, u64, f64);

/// The lines of Table 1, and the third configuration from the text.
const SETTINGS: [Setting; 3] = [
    ("OC-48", 16, 8, 40, 2.5),
    ("OC-192", 48, 16, 80, 10.0),
    ("40 processors of 24 threads", 40, 24, 80, 10.0),
];

/// Table 1 and the third configuration from the text, simulated on so many host threads.
///
/// # Errors
/// A sentence, if a simulation fails.
pub fn table_1(base: &Spec, workers: usize) -> Result<Vec<Configuration>, String> {
    let simulate = |setting: &Setting| configuration(base, setting);
    sweep(&SETTINGS, workers, simulate).map_err(|error| error.to_string())?.into_iter().collect()
}

fn configuration(base: &Spec, setting: &Setting) -> Result<Configuration, String> {
    let &(name, processors, threads, latency_ns, offered_gbps) = setting;
    let spec = shaped(base, processors, threads, Time::nanoseconds(latency_ns), offered_gbps);
    let measured = measure(&spec, PAPER, Time::nanoseconds(200_000), Time::nanoseconds(700_000))?;
    let Latency { total_ns, processing_ns, network_ns, compute_ns } = measured.latency;
    Ok(Configuration {
        name,
        processors,
        threads,
        latency_ns,
        offered_gbps,
        carried_gbps: measured.gbps,
        lost_per_mille: measured.lost_per_mille,
        usage: measured.usage,
        latency_us: total_ns / 1e3,
        processing_us: processing_ns / 1e3,
        network_us: network_ns / 1e3,
        compute_us: compute_ns / 1e3,
    })
}

/// The numbers of the paper's Table 1 and of the text around it.
pub fn table_1_stated(lines: &[Configuration]) -> Vec<Stated> {
    let mut stated = Vec::new();
    let network = "108 round trips take 8.6 us of 16 us, and 17.3 us of 30 us: 54 % and 58 %; ours take the same time of less";
    let published = [
        ("OC-48", 67.0, Some(16.0), None),
        ("OC-192", 86.0, Some(30.0), Some(network)),
        ("40 processors of 24 threads", 97.0, None, None),
    ];
    for (name, usage, latency, why) in published {
        let Some(line) = lines.iter().find(|line| line.name == name) else { continue };
        let mut add = |what: &str, unit, paper, measured, why| {
            stated.push(Stated { what: format!("{name}: {what}"), unit, paper, measured, why });
        };
        add("carried", "Gb/s", line.offered_gbps, line.carried_gbps, None);
        add("use", "%", usage, 100.0 * line.usage, None);
        if let Some(latency) = latency {
            add("packet latency", "us", latency, line.latency_us, None);
            add("of it network", "%", 50.0, 100.0 * line.network_us / line.latency_us, why);
        }
    }
    stated
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests the smallest machines of both; the benchmarks check all of them.
    #[test]
    fn what_the_paper_states_is_near_or_explained() {
        let base = Spec::base();
        let points = [(4, 0), (4, 160), (32, 160)]
            .map(|(threads, latency)| point(&base, threads, latency).unwrap());
        let lines = [configuration(&base, &SETTINGS[0]).unwrap()];
        let stated = figure_3_stated(&points).into_iter().chain(table_1_stated(&lines));
        let far: Vec<Stated> = stated.filter(|point| !point.is_near()).collect();
        // No other number may have an explanation.
        assert!(
            far.iter().all(|point| point.why.is_some() && point.difference().abs() < 0.12),
            "{far:#?}"
        );
        assert!(far.len() <= 1, "{far:#?}");
    }
}
