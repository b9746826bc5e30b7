//! Voltage scaling by idle time where engines are the bottleneck: one engine receives and one
//! sends, at the clock of the memories.

use serde::Serialize;
use wireloom_console::{Working, output};
use wireloom_ixp::benchmarks::{Benchmark, Mapping};
use wireloom_ixp::governor::GovernorKind;
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};
use wireloom_sim::sweep;

use super::energy::{LOADS, Load, Mean, Work, change, governed};
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::{Values, slug};
use crate::{Settings, number};

pub const FIGURE: Figure = Figure {
    name: "ixp-dvs-busy",
    what: "NePSim: the talk's governor of voltages where engines limit the chip: power, throughput and latency by load",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/microcode/benchmarks/md4.uc on ixp1200, an engine that receives and one that sends, at 232 MHz",
        names: &["load"],
        skip: &[],
        tools: &[],
        tables: &[PageTable { name: "loads", write: table }],
    },
};

/// Simulated milliseconds of a run, and of the time before it, in which the governor finds its
/// level.
const MS: f64 = 8.0;
const BEFORE: f64 = 2.0;
/// The number of seeds of tables and packets.
const SEEDS: u64 = 3;
/// The governor period of the talk, in cycles.
const PERIOD: u32 = 20_000;

#[derive(Clone, Debug, Serialize)]
struct Row {
    load: &'static str,
    /// Gb/s without the governor.
    gbps: f64,
    /// The share of cycles in which the receiving engine was idle, without and with the governor.
    idle_percent: f64,
    governed_idle_percent: f64,
    /// Changes relative to no governor, in percent.
    power_change: f64,
    throughput_change: f64,
    /// Packets that were lost, and that the program dropped, each without and with the governor.
    lost: [u64; 2],
    dropped: [u64; 2],
    /// The mean latency of packets, without and with the governor; `None` where ports are always
    /// full.
    latency_us: Option<[f64; 2]>,
}

fn measure(kind: GovernorKind, gbps: Option<f64>) -> Result<Mean> {
    let loads = gbps.map(|gbps| [(gbps, MS)]);
    let load = loads.as_ref().map_or(Load::Full(MS), |loads| Load::Gbps(loads));
    let mapping = Mapping::split(1, 1);
    let work = Work { mapping, ..Work::new(Benchmark::Md4, load, BEFORE) };
    work.run_all(&governed(kind, PERIOD), SEEDS)
}

fn make(_: &Settings) -> Result<Drawn> {
    let _working = Working::on("md4 on two engines under five loads");
    let full = measure(GovernorKind::None, None)?.gbps;
    let rows = sweep(&LOADS, workers(), |&(load, share)| {
        let gbps = share.map(|share| share * full);
        let before = measure(GovernorKind::None, gbps)?;
        let after = measure(GovernorKind::Dvs, gbps)?;
        Ok::<_, Error>(Row {
            load,
            gbps: before.gbps,
            idle_percent: 100.0 * before.receiving_idle,
            governed_idle_percent: 100.0 * after.receiving_idle,
            power_change: change(after.engines_w, before.engines_w),
            throughput_change: change(after.gbps, before.gbps),
            lost: [before, after].map(|mean| mean.packets.1),
            dropped: [before, after].map(|mean| mean.dropped),
            latency_us: share.map(|_| [before, after].map(|mean| mean.latency_us)),
        })
    });
    let rows = rows.map_err(Error::new)?.into_iter().collect::<Result<Vec<_>>>()?;
    let groups = rows
        .iter()
        .map(|row| Group::new(row.load, [0.0 - row.power_change, 0.0 - row.throughput_change]));
    let title = "Power saved and throughput lost where engines limit the chip";
    let names = ["power saved", "throughput lost"];
    let svg = Bars::new(title, "%", names, groups.collect()).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: Vec::new() })
}

const HEADS: [&str; 7] =
    ["load", "Gb/s", "receiving engine idle", "power", "throughput", "lost", "latency, us"];

fn text(rows: &[Row]) -> String {
    let mut table = output::table(&HEADS, &[1, 3, 4]);
    for row in rows {
        let latency = row.latency_us.map_or_else(String::new, |[before, after]| {
            format!("{} to {}", number(before), number(after))
        });
        table.add_row([
            row.load.to_owned(),
            format!("{:.3}", row.gbps),
            format!("{:.0} to {:.0} %", row.idle_percent, row.governed_idle_percent),
            format!("{:+.1} %", row.power_change),
            format!("{:+.2} %", row.throughput_change),
            format!("{} to {}", row.lost[0], row.lost[1]),
            latency,
        ]);
    }
    format!(
        "{table}\n\nmd4, one engine that receives and one that sends at 232 MHz, {MS} ms after {BEFORE} ms with \
         {SEEDS} seeds; without the governor to with it. The talk: up to 17 % of power saved at less than 6 % loss of \
         throughput, 8 % at less than 1 % on average.\n"
    )
}

fn table(values: &Values) -> Result<Table> {
    let mut table = Table::new(HEADS);
    for (load, share) in LOADS {
        let of = |field: &str| values.get(&format!("{}.{field}", slug(load)));
        let latency = match share {
            None => String::new(),
            Some(_) => {
                format!("{} to {}", number(of("latency_us.0")?), number(of("latency_us.1")?))
            }
        };
        table.row([
            load.to_owned(),
            format!("{:.3}", of("gbps")?),
            format!("{:.0} to {:.0} %", of("idle_percent")?, of("governed_idle_percent")?),
            format!("{:+.1} %", of("power_change")?),
            format!("{:+.2} %", of("throughput_change")?),
            format!("{} to {}", of("lost.0")?, of("lost.1")?),
            latency,
        ]);
    }
    Ok(table)
}
