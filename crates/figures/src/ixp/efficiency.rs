//! Power by the number of microengines: the NePSim talk's power efficiency.

use serde::Serialize;
use wireloom_console::{Working, output};
use wireloom_ixp::benchmarks::{Benchmark, Mapping};
use wireloom_ixp::governor::GovernorKind;
use wireloom_machine::{Error, Result};
use wireloom_plot::{Line, Lines};
use wireloom_sim::sweep;

use super::energy::{Load, Work, chip};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::rate::Rate;
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::Values;

pub const FIGURE: Figure = Figure {
    name: "ixp-efficiency",
    what: "NePSim: power of the engines and throughput by the number of microengines at 232 MHz",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/microcode/benchmarks on ixp1200, one to six engines at 232 MHz",
        names: &["program", "engines"],
        skip: &["split"],
        tools: &[],
        tables: &[PageTable { name: "watts", write: table }],
    },
};

/// The most engines.
const MOST: usize = 6;
/// Simulated milliseconds of a run, and of the time before it.
const MS: f64 = 2.0;
const BEFORE: f64 = 1.0;

#[derive(Clone, Debug, Serialize)]
struct Row {
    program: &'static str,
    engines: usize,
    split: String,
    #[serde(flatten)]
    rate: Rate,
    engines_w: f64,
    /// Energy of the engines per bit that leaves, in nanojoules.
    nanojoules_a_bit: f64,
    idle: f64,
}

fn make(_: &Settings) -> Result<Drawn> {
    let _working = Working::on("four benchmarks on one to six engines");
    let of = |benchmark| (1..=MOST).map(move |engines| (benchmark, engines));
    let trials: Vec<(Benchmark, usize)> = Benchmark::ALL.into_iter().flat_map(of).collect();
    let rows = sweep(&trials, workers(), |&(benchmark, engines)| {
        let mapping = Mapping::usual(engines);
        let split = mapping.name();
        let work = Work { mapping, ..Work::new(benchmark, Load::Full(MS), BEFORE) };
        let outcome = work.run(&chip(GovernorKind::None, 20_000), 1)?;
        let engines_w = outcome.watts[0];
        Ok::<_, Error>(Row {
            program: benchmark.name(),
            engines,
            split,
            rate: outcome.rate,
            engines_w,
            nanojoules_a_bit: engines_w / outcome.rate.gbps(),
            idle: outcome.idle,
        })
    });
    let rows = rows.map_err(Error::new)?.into_iter().collect::<Result<Vec<_>>>()?;
    let line = |benchmark: Benchmark| {
        let own = rows.iter().filter(|row| row.program == benchmark.name());
        let points = own.map(|row| (row.engines as f64, row.nanojoules_a_bit)).collect();
        Line::through(benchmark.name(), points)
    };
    let svg = Lines {
        title: "Energy of the engines by their number, 232 MHz".to_owned(),
        x: "microengines".to_owned(),
        y: "nJ a bit".to_owned(),
        lines: Benchmark::ALL.map(line).to_vec(),
        ..Lines::default()
    };
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg: svg.svg(), faults: Vec::new() })
}

fn text(rows: &[Row]) -> String {
    let heads = ["program", "engines", "Gb/s", "dropped", "engines, W", "nJ a bit", "idle"];
    let mut table = output::table(&heads, &[2, 3, 4, 5, 6]);
    for row in rows {
        table.add_row([
            row.program.to_owned(),
            row.split.clone(),
            format!("{:.2}", row.rate.gbps()),
            row.rate.dropped().to_string(),
            format!("{:.3}", row.engines_w),
            format!("{:.3}", row.nanojoules_a_bit),
            format!("{:.0} %", 100.0 * row.idle),
        ]);
    }
    format!("{table}\n\nEngines that receive + engines that send; ports are kept full.\n")
}

/// Tabulates watts, with nanojoules per bit in brackets.
fn table(values: &Values) -> Result<Table> {
    let heads = (1..=MOST).map(|engines| match engines {
        1 => "1 engine".to_owned(),
        _ => Mapping::usual(engines).name(),
    });
    let mut table = Table::new(["W (nJ a bit, idle)".to_owned()].into_iter().chain(heads));
    for benchmark in Benchmark::ALL {
        let mut cells = vec![format!("`{}`", benchmark.name())];
        for engines in 1..=MOST {
            let of = |field: &str| format!("{}.{engines}.{field}", benchmark.name());
            let watts = values.fixed(&of("engines_w"), 3)?;
            let bit = values.fixed(&of("nanojoules_a_bit"), 2)?;
            cells.push(format!("{watts} ({bit}, {})", values.percent(&of("idle"), 0)?));
        }
        table.row(cells);
    }
    Ok(table)
}
