//! Clock gating of microengines over a day: the NePSim talk's governor, and ours.

use serde::Serialize;
use wireloom_console::{Working, output, thousands};
use wireloom_ixp::benchmarks::Benchmark;
use wireloom_ixp::governor::GovernorKind;
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};
use wireloom_sim::{Rng, sweep};

use super::energy::{Load, change, chip, run_all};
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::pages::{PageTable, Table};
use crate::store::Cost;
use crate::values::{Values, slug};
use crate::{Settings, number};

/// The figure.
pub const FIGURE: Figure = Figure {
    name: "ixp-gating",
    what: "NePSim: power and lost packets over a day's traffic by governor of engines, beside the talk",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/microcode/benchmarks on ixp1200, six engines at 232 MHz, a day in 24 intervals of 0.6 ms",
        names: &["program", "governor"],
        skip: &[],
        tools: &[],
        tables: &[PageTable { name: "day", write: table }],
    },
};

/// Simulated time of an hour, in milliseconds.
const HOUR_MS: f64 = 0.6;

/// Seeds of tables and packets: a packet that is lost is rare.
const SEEDS: u64 = 10;

/// The least and the most mean load of an hour, as shares of the rate at full load.
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
    program: &'static str,
    governor: &'static str,
    packets: u64,
    lost: u64,
    lost_percent: f64,
    engines_w: f64,
    /// Against no governor, in percent.
    power_change: f64,
    throughput_change: f64,
}

/// Loads of a day: a cosine over 24 hours between `LEAST` and `MOST`, each tenth of an hour
/// scattered around it by a factor from a uniform distribution between 0.7 and 1.3, at most 1.
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

fn make(_: &Settings) -> Result<Drawn> {
    let _working = Working::on("a day of four benchmarks");
    let rows = sweep(&Benchmark::ALL, workers(), |&benchmark| {
        let spec = chip(GovernorKind::None, 20_000);
        let full = run_all(benchmark, &spec, Load::Full(2.0), 1.0, SEEDS)?.gbps;
        let day = day(full);
        let (mut rows, mut before): (Vec<Row>, _) = (Vec::new(), (0.0, 0.0));
        for (governor, kind, period) in GOVERNORS {
            let outcome = run_all(benchmark, &chip(kind, period), Load::Gbps(&day), 0.0, SEEDS)?;
            if kind == GovernorKind::None {
                before = (outcome.engines_w, outcome.gbps);
            }
            let (packets, lost) = outcome.packets;
            rows.push(Row {
                program: benchmark.name(),
                governor,
                packets,
                lost,
                lost_percent: 100.0 * lost as f64 / packets as f64,
                engines_w: outcome.engines_w,
                power_change: change(outcome.engines_w, before.0),
                throughput_change: change(outcome.gbps, before.1),
            });
        }
        Ok::<_, Error>(rows)
    });
    let rows = rows.map_err(Error::new)?.into_iter().collect::<Result<Vec<_>>>()?.concat();
    let groups = rows.iter().map(|row| {
        let name = format!("{}, {}", row.program, row.governor);
        Group::new(name, [0.0 - row.power_change, row.lost_percent])
    });
    let title = "Power saved and packets lost over a day";
    let svg = Bars::new(title, "%", ["power saved", "packets lost"], groups.collect()).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: Vec::new() })
}

fn text(rows: &[Row]) -> String {
    let heads = ["program", "governor", "packets", "lost", "engines, W", "power", ""];
    let mut table = output::table(&heads, &[2, 3, 4, 5, 6]);
    for row in rows {
        table.add_row([
            row.program.to_owned(),
            row.governor.to_owned(),
            row.packets.to_string(),
            row.lost.to_string(),
            number(row.engines_w),
            format!("{:+.1} %", row.power_change),
            format!("{:+.2} % Gb/s", row.throughput_change),
        ]);
    }
    format!(
        "{table}\n\nA day in {:.1} ms, with {SEEDS} seeds: loads from {LEAST} to {MOST} of the full rate on a cosine, scattered by \
         30 % each tenth of an hour; packets of a Poisson process. The talk: less than 4 % of \
         throughput lost.\n",
        24.0 * HOUR_MS
    )
}

fn table(values: &Values) -> Result<Table> {
    let mut table = Table::new(["program", "governor", "packets", "lost", "power", "throughput"]);
    for benchmark in Benchmark::ALL {
        for (governor, ..) in &GOVERNORS {
            let key = [benchmark.name(), governor].map(slug).join(".");
            let of = |field: &str| values.get(&format!("{key}.{field}"));
            table.row([
                format!("`{}`", benchmark.name()),
                (*governor).to_owned(),
                thousands(of("packets")? as u64),
                thousands(of("lost")? as u64),
                format!("{:+.1} %", of("power_change")?),
                format!("{:+.2} %", of("throughput_change")?),
            ]);
        }
    }
    Ok(table)
}
