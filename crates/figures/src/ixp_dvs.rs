//! Voltage scaling of microengines: the NePSim talk's governor with three periods, and ours.

use serde::Serialize;
use wireloom_console::output;
use wireloom_ixp::governor::GovernorKind;
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

use super::figure::{Choice, Drawn, Figure, Kept};
use super::ixp_energy::{Outcome, Traffic, WORKLOADS, change, chip, fast, run};
use super::store::Cost;
use super::{Settings, number};

/// The figure.
pub const FIGURE: Figure = Figure {
    name: "ixp-dvs",
    what: "ixp1200 with engines of 600 MHz: power and throughput by governor, beside the NePSim talk",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/microcode on ixp1200, engines from 600 MHz at 1.3 V on",
        names: &["program", "load", "governor"],
        skip: &[],
        tools: &[],
        tables: &[],
    },
};

/// Simulated time of a run, in milliseconds.
const MS: f64 = 5.0;

/// Governors with their periods in cycles of 600 MHz.
const GOVERNORS: [(&str, GovernorKind, u32); 4] = [
    ("dvs 15k", GovernorKind::Dvs, 15_000),
    ("dvs 20k", GovernorKind::Dvs, 20_000),
    ("dvs 30k", GovernorKind::Dvs, 30_000),
    ("demand", GovernorKind::Demand, 4_096),
];

/// Loads as shares of the rate at full load.
const LOADS: [(&str, Option<f64>); 4] =
    [("full", None), ("85 %", Some(0.85)), ("60 %", Some(0.6)), ("30 %", Some(0.3))];

#[derive(Clone, Debug, Serialize)]
struct Row {
    program: &'static str,
    load: &'static str,
    governor: &'static str,
    mpps: f64,
    /// Packets that were lost although the load is below the full one.
    lost: u64,
    /// The power of the engines.
    engines_w: f64,
    idle_percent: f64,
    /// Changes against no governor, in percent.
    power_change: f64,
    throughput_change: f64,
}

fn make(_: &Settings) -> Result<Drawn> {
    let mut rows = Vec::new();
    for workload in WORKLOADS {
        let measure = |kind, period, share: Option<f64>, full: f64| {
            let mut spec = chip(workload, kind, period);
            fast(&mut spec);
            let rates = [(share.unwrap_or(0.0) * full, MS)];
            let traffic = match share {
                None => Traffic::Full(MS),
                Some(_) => Traffic::Rates(&rates),
            };
            run(workload, &spec, &traffic)
        };
        let mut full = 0.0;
        for (load, share) in LOADS {
            let before = measure(GovernorKind::None, 20_000, share, full)?;
            if share.is_none() {
                full = before.mpps;
            }
            let row = |governor, outcome: &Outcome| Row {
                program: workload.name,
                load,
                governor,
                mpps: outcome.mpps,
                lost: if share.is_some() { outcome.packets.1 } else { 0 },
                engines_w: outcome.watts[0],
                idle_percent: 100.0 * outcome.idle,
                power_change: change(outcome.watts[0], before.watts[0]),
                throughput_change: change(outcome.mpps, before.mpps),
            };
            rows.push(row("none", &before));
            for (name, kind, period) in GOVERNORS {
                rows.push(row(name, &measure(kind, period, share, full)?));
            }
        }
    }
    let groups = rows.iter().filter(|row| row.governor != "none").map(|row| {
        let name = format!("{}, {}, {}", row.program, row.load, row.governor);
        Group::new(name, [-row.power_change, -row.throughput_change])
    });
    let title = "Power saved and throughput lost by governors";
    let svg = Bars::new(title, "%", ["power saved", "throughput lost"], groups.collect()).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: Vec::new() })
}

fn text(rows: &[Row]) -> String {
    let heads =
        ["program", "load", "governor", "Mpps", "lost", "engines, W", "idle, %", "power", ""];
    let mut table = output::table(&heads, &[3, 4, 5, 6, 7, 8]);
    for row in rows {
        table.add_row([
            row.program.to_owned(),
            row.load.to_owned(),
            row.governor.to_owned(),
            number(row.mpps),
            row.lost.to_string(),
            number(row.engines_w),
            number(row.idle_percent),
            format!("{:+.1} %", row.power_change),
            format!("{:+.2} % Mpps", row.throughput_change),
        ]);
    }
    format!(
        "{table}\n\nFour engines from 600 MHz at 1.3 V down to 400 MHz at 1.1 V, units at 232 MHz, {MS} ms of \
         time. Full load brings more than the chip can take; the others are Poisson processes. The \
         talk: up to 17 % of power saved at less than 6 % of throughput, 8 % at less than 1 % on \
         average.\n"
    )
}
