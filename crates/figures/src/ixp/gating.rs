//! Clock gating of microengines over a day: the NePSim talk's governor, and ours.

use serde::Serialize;
use wireloom_console::{Working, output, thousands};
use wireloom_ixp::benchmarks::{Benchmark, Traffic};
use wireloom_ixp::governor::GovernorKind;
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};
use wireloom_sim::{Rng, sweep};

use super::energy::{Load, Work, change, governed};
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::{Values, slug};
use crate::{Settings, number};

pub const FIGURE: Figure = Figure {
    name: "ixp-gating",
    what: "NePSim: power, latency and lost packets by governor of engines, over a day and under steps of load drawn at random",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/microcode/benchmarks on ixp1200, six engines at 232 MHz, ports of 256 MPKTs",
        names: &["traffic", "program", "governor"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "day", write: |values| table(values, TRAFFIC[0]) },
            PageTable { name: "random", write: |values| table(values, TRAFFIC[1]) },
        ],
    },
};

/// Simulated milliseconds that stand for an hour.
const HOUR_MS: f64 = 0.6;

/// The number of seeds of tables and packets.
const SEEDS: u64 = 2;

/// The traffic: a day, and random steps of load, on which no constant of a governor was chosen.
const TRAFFIC: [&str; 2] = ["day", "random"];
/// The number of random steps, each as long as an hour, and the least and the greatest of them as
/// shares of the rate at full load.
const STEPS: usize = 12;
const LEAST_STEP: f64 = 0.05;
const MOST_STEP: f64 = 1.0;

/// The least and the greatest mean load of an hour, as shares of the rate at full load.
const LEAST: f64 = 0.1;
const MOST: f64 = 0.8;
/// The hour of the least load.
const QUIET_HOUR: f64 = 5.0;

const GOVERNORS: [(&str, GovernorKind, u32); 4] = [
    ("none", GovernorKind::None, 20_000),
    ("gating", GovernorKind::Gating, 2_048),
    ("dvs", GovernorKind::Dvs, 20_000),
    ("demand", GovernorKind::Demand, 2_048),
];

#[derive(Clone, Debug, Serialize)]
struct Row {
    traffic: &'static str,
    program: &'static str,
    governor: &'static str,
    packets: u64,
    lost: u64,
    lost_percent: f64,
    dropped: u64,
    engines_w: f64,
    /// Changes relative to no governor, in percent.
    power_change: f64,
    throughput_change: f64,
    /// The time from arrival to departure: the mean and the 99th percentile.
    latency_us: f64,
    latency_99_us: f64,
    /// The mean time, in microseconds per run, in which packets waited too long while engines were
    /// stopped or slow.
    late_us: f64,
}

/// Returns the loads of a day: a cosine over 24 hours between `LEAST` and `MOST`. Each tenth of an
/// hour is scattered around it by a factor from a uniform distribution between 0.7 and 1.3, and
/// limited to 1.
fn day(full: f64) -> Vec<(f64, f64)> {
    let mut rng = Rng::new(24, "day");
    let tenths = 0..240;
    let load = |tenth: u32| {
        let hour = f64::from(tenth) / 10.0;
        let angle = (hour - QUIET_HOUR) / 24.0 * std::f64::consts::TAU;
        let mean = LEAST + (MOST - LEAST) * (1.0 - angle.cos()) / 2.0;
        let scatter = 0.7 + 0.6 * rng.below(1 << 20) as f64 / f64::from(1 << 20);
        (full * (mean * scatter).min(1.0), HOUR_MS / 10.0)
    };
    tenths.map(load).collect()
}

/// Returns steps of load, each from a uniform distribution between `LEAST_STEP` and `MOST_STEP`.
fn steps(full: f64) -> Vec<(f64, f64)> {
    let mut rng = Rng::new(49, "steps");
    let mut share = || rng.below(1 << 20) as f64 / f64::from(1 << 20);
    let mut step = |_| (full * (LEAST_STEP + (MOST_STEP - LEAST_STEP) * share()), HOUR_MS);
    (0..STEPS).map(&mut step).collect()
}

/// Returns the frame sizes of a traffic: the mix of the governors' benchmarks, or RFC 2544's sizes.
fn sizes(traffic: &str) -> Vec<(usize, u32)> {
    match traffic {
        "day" => Traffic::mix(),
        _ => [60, 124, 252, 508, 1020, 1276, 1514].map(|bytes| (bytes, 1)).to_vec(),
    }
}

fn make(_: &Settings) -> Result<Drawn> {
    let _working = Working::on("two kinds of traffic through four benchmarks");
    let of = |traffic| Benchmark::ALL.map(|benchmark| (traffic, benchmark));
    let trials = TRAFFIC.map(of).concat();
    let rows = sweep(&trials, workers(), |&(traffic, benchmark)| {
        let work =
            |load, before| Work { sizes: sizes(traffic), ..Work::new(benchmark, load, before) };
        let spec = governed(GovernorKind::None, 20_000);
        let full = work(Load::Full(2.0), 1.0).run_all(&spec, SEEDS)?.gbps;
        let loads = if traffic == TRAFFIC[0] { day(full) } else { steps(full) };
        let (mut rows, mut before): (Vec<Row>, _) = (Vec::new(), (0.0, 0.0));
        for (governor, kind, period) in GOVERNORS {
            let outcome = work(Load::Gbps(&loads), 0.0).run_all(&governed(kind, period), SEEDS)?;
            if kind == GovernorKind::None {
                before = (outcome.engines_w, outcome.gbps);
            }
            let (packets, lost) = outcome.packets;
            rows.push(Row {
                traffic,
                program: benchmark.name(),
                governor,
                packets,
                lost,
                lost_percent: 100.0 * lost as f64 / packets as f64,
                dropped: outcome.dropped,
                engines_w: outcome.engines_w,
                power_change: change(outcome.engines_w, before.0),
                throughput_change: change(outcome.gbps, before.1),
                latency_us: outcome.latency_us,
                latency_99_us: outcome.latency_99_us,
                late_us: outcome.late_us,
            });
        }
        Ok::<_, Error>(rows)
    });
    let rows = rows.map_err(Error::new)?.into_iter().collect::<Result<Vec<_>>>()?.concat();
    let groups = rows.iter().map(|row| {
        let name = format!("{}, {}, {}", row.traffic, row.program, row.governor);
        Group::new(name, [0.0 - row.power_change, row.lost_percent])
    });
    let title = "Power saved and packets lost by governors of engines";
    let svg = Bars::new(title, "%", ["power saved", "packets lost"], groups.collect()).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: Vec::new() })
}

fn text(rows: &[Row]) -> String {
    let heads = [
        "traffic",
        "program",
        "governor",
        "packets",
        "lost",
        "dropped",
        "power",
        "throughput",
        "latency, us",
        "99 %",
        "late, us",
    ];
    let mut table = output::table(&heads, &[3, 4, 5, 6, 7, 8, 9, 10]);
    for row in rows {
        table.add_row([
            row.traffic.to_owned(),
            row.program.to_owned(),
            row.governor.to_owned(),
            thousands(row.packets),
            thousands(row.lost),
            thousands(row.dropped),
            format!("{:+.1} %", row.power_change),
            format!("{:+.2} %", row.throughput_change),
            number(row.latency_us),
            number(row.latency_99_us),
            number(row.late_us),
        ]);
    }
    format!(
        "{table}\n\nday: 24 hours in {:.1} ms, loads from {LEAST} to {MOST} of the full rate on a cosine, scattered by \
         30 % each tenth of an hour; random: {STEPS} steps of {HOUR_MS} ms, each of a load between {LEAST_STEP} and \
         {MOST_STEP} of the full rate, frames of the sizes of RFC 2544. {SEEDS} seeds; packets of a Poisson process. \
         Ports hold as much with each governor. late: packets waited too long while engines were stopped or slow. The \
         talk: less than 4 % of throughput lost.\n",
        24.0 * HOUR_MS
    )
}

fn table(values: &Values, traffic: &str) -> Result<Table> {
    let mut table = Table::new([
        "program",
        "governor",
        "packets",
        "lost",
        "power",
        "throughput",
        "latency, us",
        "99 %",
        "late, us",
    ]);
    for benchmark in Benchmark::ALL {
        for (governor, ..) in &GOVERNORS {
            let key = [traffic, benchmark.name(), governor].map(slug).join(".");
            let of = |field: &str| values.get(&format!("{key}.{field}"));
            table.row([
                format!("`{}`", benchmark.name()),
                (*governor).to_owned(),
                thousands(of("packets")? as u64),
                thousands(of("lost")? as u64),
                format!("{:+.1} %", of("power_change")?),
                format!("{:+.2} %", of("throughput_change")?),
                number(of("latency_us")?),
                number(of("latency_99_us")?),
                number(of("late_us")?),
            ]);
        }
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn governors_are_compared_with_ports_that_hold_the_same() {
        let room = |(_, kind, period): (&str, GovernorKind, u32)| {
            let spec = governed(kind, period);
            spec.ports.receive_mpkts + spec.governor.extra_mpkts()
        };
        assert_eq!(GOVERNORS.map(room), [room(GOVERNORS[0]); 4]);
    }

    #[test]
    fn random_steps_stay_within_their_bounds_and_differ() {
        let loads = steps(2.0);
        let bounds = 2.0 * LEAST_STEP..=2.0 * MOST_STEP;
        assert!(loads.len() == STEPS && loads.iter().all(|(load, _)| bounds.contains(load)));
        assert!(loads.windows(2).all(|pair| pair[0].0 != pair[1].0));
    }
}
