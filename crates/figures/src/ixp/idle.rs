//! The idle time of engines by the ratio of their clock to the clock of the memories.

use serde::Serialize;
use wireloom_ixp::benchmarks::{Benchmark, Mapping, Role};
use wireloom_sim::sweep;

use super::{MHZ, Trial};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::rate::Rate;
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::Values;
use wireloom_console::{Working, output};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Limit, Line, Lines};

pub const FIGURE: Figure = Figure {
    name: "ixp-idle",
    what: "NePSim: idle time of six microengines by the ratio of their clock to that of the memories",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/microcode/benchmarks on ixp1200",
        names: &["benchmark", "ratio_percent"],
        skip: &[],
        tools: &[],
        tables: &[PageTable { name: "receiving", write: receiving }],
    },
};

/// Clocks of the engines, in hundredths of the memories' clock.
const RATIOS: [u64; 7] = [50, 75, 100, 150, 200, 300, 400];
/// The talk: engines are idle for up to this percentage of the time.
const PUBLISHED: f64 = 42.0;

/// The results of a run.
#[derive(Clone, Debug, Serialize)]
struct Row {
    benchmark: &'static str,
    ratio_percent: u64,
    /// The share of cycles in which no context was ready: of all engines, of receiving and of
    /// sending engines.
    idle: f64,
    receiving: f64,
    sending: f64,
    #[serde(flatten)]
    rate: Rate,
}

fn make(_: &Settings) -> Result<Drawn> {
    let _working = Working::on("four benchmarks at seven ratios of clocks");
    let trials: Vec<(Benchmark, u64)> =
        Benchmark::ALL.iter().flat_map(|one| RATIOS.map(|ratio| (*one, ratio))).collect();
    let rows = sweep(&trials, workers(), |&(benchmark, ratio_percent)| {
        let mhz = MHZ * ratio_percent / 100;
        let loaded = Trial::new(benchmark, Mapping::usual(6), mhz).measure()?;
        Ok::<_, Error>(Row {
            benchmark: benchmark.name(),
            ratio_percent,
            idle: loaded.idle(|_| true),
            receiving: loaded.idle(|role| role == Role::Receive),
            sending: loaded.idle(|role| role == Role::Transmit),
            rate: loaded.rate(),
        })
    });
    let rows = rows.map_err(Error::new)?.into_iter().collect::<Result<Vec<_>>>()?;
    let of = |benchmark: &str, ratio: u64| {
        rows.iter().find(|row| row.benchmark == benchmark && row.ratio_percent == ratio)
    };
    let faults = Benchmark::ALL.iter().filter_map(|benchmark| {
        let (slow, fast) = (of(benchmark.name(), 100)?, of(benchmark.name(), 200)?);
        let name = benchmark.name();
        (fast.receiving <= slow.receiving)
            .then(|| format!("{name}: engines of twice the speed do not idle more"))
    });
    let faults = faults.collect();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg: plot(&rows), faults })
}

fn text(rows: &[Row]) -> String {
    let heads = ["benchmark", "clock / memories", "idle", "receiving", "sending", "Gb/s"];
    let mut table = output::table(&heads, &[1, 2, 3, 4, 5]);
    for row in rows {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        table.add_row([
            row.benchmark.to_owned(),
            format!("{:.2}", row.ratio_percent as f64 / 100.0),
            percent(row.idle),
            percent(row.receiving),
            percent(row.sending),
            super::gbps(row.rate.gbps()),
        ]);
    }
    format!("{table}\n\nSix engines, four of them receiving; the talk: up to {PUBLISHED} %.\n")
}

fn plot(rows: &[Row]) -> String {
    let line = |benchmark: &Benchmark| {
        let own = rows.iter().filter(|row| row.benchmark == benchmark.name());
        let points = own.map(|row| (row.ratio_percent as f64 / 100.0, 100.0 * row.receiving));
        Line::through(benchmark.name(), points.collect())
    };
    let lines = Lines {
        title: "Idle time of receiving engines by the ratio of clocks".to_owned(),
        x: "clock of the engines / clock of the memories".to_owned(),
        y: "idle, %".to_owned(),
        lines: Benchmark::ALL.iter().map(line).collect(),
        limits: vec![Limit::new("the talk: up to", PUBLISHED)],
    };
    lines.svg()
}

/// Tabulates the idle time of receiving engines, and of all, for pages.
fn receiving(values: &Values) -> Result<Table> {
    let heads = RATIOS.iter().map(|ratio| format!("{:.2}", *ratio as f64 / 100.0));
    let mut table = Table::new(
        ["receiving engines idle (all six), by ratio".to_owned()].into_iter().chain(heads),
    );
    for benchmark in Benchmark::ALL {
        let mut cells = vec![format!("`{}`", benchmark.name())];
        for ratio in RATIOS {
            let percent =
                |field| values.percent(&format!("{}.{ratio}.{field}", benchmark.name()), 0);
            cells.push(format!("{} ({})", percent("receiving")?, percent("idle")?));
        }
        table.row(cells);
    }
    Ok(table)
}
