//! Voltage scaling of microengines: the NePSim talk's governor with three periods, and ours.

use serde::Serialize;
use wireloom_console::{Working, output};
use wireloom_ixp::benchmarks::Benchmark;
use wireloom_ixp::governor::GovernorKind;
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};
use wireloom_sim::sweep;

use super::energy::{LOADS, Load, Mean, Work, change, chip, fast};
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::{Values, slug};
use crate::{Settings, number};

pub const FIGURE: Figure = Figure {
    name: "ixp-dvs",
    what: "NePSim: power and throughput of engines of 600 MHz by governor of voltages, beside the talk",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/microcode/benchmarks on ixp1200, six engines from 600 MHz at 1.3 V on",
        names: &["program", "load", "governor"],
        skip: &[],
        tools: &[],
        tables: &[PageTable { name: "saved", write: table }],
    },
};

/// Simulated milliseconds of a run, and of the time before it in which a governor finds its level,
/// at full load and at other loads.
const MS: f64 = 10.0;
const BEFORE_FULL: f64 = 8.0;
const BEFORE: f64 = 1.0;

/// The number of seeds of tables and packets.
const SEEDS: u64 = 5;

/// Governors, with their periods in cycles of 600 MHz.
const GOVERNORS: [(&str, GovernorKind, u32); 4] = [
    ("dvs 15k", GovernorKind::Dvs, 15_000),
    ("dvs 20k", GovernorKind::Dvs, 20_000),
    ("dvs 30k", GovernorKind::Dvs, 30_000),
    ("demand", GovernorKind::Demand, 4_096),
];

#[derive(Clone, Debug, Serialize)]
struct Row {
    program: &'static str,
    load: &'static str,
    governor: &'static str,
    gbps: f64,
    lost: u64,
    /// The power of the engines in watts.
    engines_w: f64,
    idle_percent: f64,
    /// Changes relative to no governor, in percent.
    power_change: f64,
    throughput_change: f64,
}

fn measure(
    benchmark: Benchmark,
    kind: GovernorKind,
    period: u32,
    gbps: Option<f64>,
) -> Result<Mean> {
    let mut spec = chip(kind, period);
    fast(&mut spec);
    match gbps {
        None => Work::new(benchmark, Load::Full(MS), BEFORE_FULL).run_all(&spec, SEEDS),
        Some(gbps) => Work::new(benchmark, Load::Gbps(&[(gbps, MS)]), BEFORE).run_all(&spec, SEEDS),
    }
}

fn make(_: &Settings) -> Result<Drawn> {
    let _working = Working::on("four benchmarks under five loads");
    let full = sweep(&Benchmark::ALL, workers(), |benchmark| {
        measure(*benchmark, GovernorKind::None, 20_000, None).map(|outcome| outcome.gbps)
    });
    let full: Vec<f64> = full.map_err(Error::new)?.into_iter().collect::<Result<_>>()?;
    let mut cases = Vec::new();
    for (benchmark, full) in Benchmark::ALL.into_iter().zip(full) {
        cases.extend(LOADS.map(|(load, share)| (benchmark, load, share.map(|share| share * full))));
    }
    let rows = sweep(&cases, workers(), |&(benchmark, load, gbps)| {
        let before = measure(benchmark, GovernorKind::None, 20_000, gbps)?;
        let row = |governor, outcome: &Mean| Row {
            program: benchmark.name(),
            load,
            governor,
            gbps: outcome.gbps,
            lost: outcome.packets.1,
            engines_w: outcome.engines_w,
            idle_percent: 100.0 * outcome.idle,
            power_change: change(outcome.engines_w, before.engines_w),
            throughput_change: change(outcome.gbps, before.gbps),
        };
        let mut rows = vec![row("none", &before)];
        for (name, kind, period) in GOVERNORS {
            rows.push(row(name, &measure(benchmark, kind, period, gbps)?));
        }
        Ok::<_, Error>(rows)
    });
    let rows = rows.map_err(Error::new)?.into_iter().collect::<Result<Vec<_>>>()?.concat();
    let groups = rows.iter().filter(|row| ["dvs 20k", "demand"].contains(&row.governor));
    let groups = groups.map(|row| {
        let name = format!("{}, {}, {}", row.program, row.load, row.governor);
        Group::new(name, [0.0 - row.power_change, 0.0 - row.throughput_change])
    });
    let title = "Power saved and throughput lost by governors";
    let svg = Bars::new(title, "%", ["power saved", "throughput lost"], groups.collect()).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: Vec::new() })
}

fn text(rows: &[Row]) -> String {
    let heads =
        ["program", "load", "governor", "Gb/s", "lost", "engines, W", "idle, %", "power", ""];
    let mut table = output::table(&heads, &[3, 4, 5, 6, 7, 8]);
    for row in rows {
        table.add_row([
            row.program.to_owned(),
            row.load.to_owned(),
            row.governor.to_owned(),
            number(row.gbps),
            row.lost.to_string(),
            number(row.engines_w),
            number(row.idle_percent),
            format!("{:+.1} %", row.power_change),
            format!("{:+.2} % Gb/s", row.throughput_change),
        ]);
    }
    format!(
        "{table}\n\n{MS} ms each with {SEEDS} seeds, after {BEFORE_FULL} ms at full load and {BEFORE} ms else; packets of a Poisson process \
         below full load. Periods in cycles. The talk: up to 17 % of power saved at less than 6 % loss of \
         throughput, 8 % at less than 1 % on average.\n"
    )
}

/// Tabulates the power that each governor saves, with the change of throughput in brackets.
fn table(values: &Values) -> Result<Table> {
    let heads = ["program", "governor"].into_iter().chain(LOADS.map(|(load, _)| load));
    let mut table = Table::new(heads);
    for benchmark in Benchmark::ALL {
        for (governor, ..) in GOVERNORS {
            let mut row = vec![format!("`{}`", benchmark.name()), governor.to_owned()];
            for (load, _) in LOADS {
                let key = [benchmark.name(), load, governor].map(slug).join(".");
                let of = |field: &str| values.get(&format!("{key}.{field}"));
                let lost = match of("lost")? {
                    0.0 => String::new(),
                    1.0 => ", 1 packet lost".to_owned(),
                    lost => format!(", {lost} packets lost"),
                };
                let (saved, change) = (-of("power_change")?, of("throughput_change")?);
                row.push(format!("{saved:.1} % ({change:+.1} %{lost})"));
            }
            table.row(row);
        }
    }
    Ok(table)
}
