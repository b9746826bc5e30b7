//! Throughput by the number of engines, and its bottleneck.

use serde::Serialize;
use wireloom_ixp::benchmarks::{Benchmark, Mapping, Role};
use wireloom_sim::sweep;

use super::{Loaded, Trial, gbps};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::rate::Rate;
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::Values;
use wireloom_console::{Working, output};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Line, Lines};

pub const FIGURE: Figure = Figure {
    name: "ixp-throughput",
    what: "NePSim: throughput of four benchmarks by the number of microengines, at 232 and 464 MHz with the same \
           memories, and what limits it",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/microcode/benchmarks on ixp1200",
        names: &["benchmark", "mhz", "engines", "split"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "engines", write: engines },
            PageTable { name: "limits", write: limits },
            PageTable { name: "splits", write: splits },
        ],
    },
};

/// Clocks of the engines, in MHz.
const CLOCKS: [u64; 2] = [super::MHZ, 2 * super::MHZ];
const MOST: usize = 6;
/// The possible splits of six engines; the usual split is the second.
const SPLITS: [[usize; 2]; 3] = [[5, 1], [4, 2], [3, 3]];

/// A unit is saturated from the first share on, and an engine from the second on.
const FULL: f64 = 0.95;
const BUSY: f64 = 0.85;
/// With this number of buffers in use, packets wait to be sent: working threads hold far fewer.
const WAITING: f64 = 300.0;

/// The results of a run.
#[derive(Clone, Debug, Serialize)]
struct Row {
    benchmark: &'static str,
    mhz: u64,
    engines: usize,
    /// The numbers of engines that receive and that send.
    split: String,
    #[serde(flatten)]
    rate: Rate,
    limits: Limits,
}

/// The quantities that can limit the throughput.
#[derive(Clone, Copy, Debug, Serialize)]
struct Limits {
    /// Utilisation, from 0 to 1.
    sdram: f64,
    sram: f64,
    ix_bus: f64,
    command_bus: f64,
    /// The share of cycles in which receiving and sending engines were not idle.
    receiving: f64,
    sending: f64,
    /// The mean number of buffers in use.
    buffers: f64,
}

impl Limits {
    fn of(loaded: &Loaded) -> Self {
        let busy = |chosen: fn(Role) -> bool| 1.0 - loaded.idle(chosen);
        Self {
            sdram: loaded.use_of("sdram with rows"),
            sram: loaded.use_of("sram"),
            ix_bus: loaded.use_of("ix bus"),
            command_bus: loaded.use_of("command bus"),
            receiving: busy(|role| matches!(role, Role::Receive | Role::Both)),
            sending: busy(|role| matches!(role, Role::Transmit | Role::Both)),
            buffers: loaded.buffers(),
        }
    }

    fn kept(values: &Values, run: &str) -> Result<Self> {
        let of = |field: &str| values.get(&format!("{run}.limits.{field}"));
        Ok(Self {
            sdram: of("sdram")?,
            sram: of("sram")?,
            ix_bus: of("ix_bus")?,
            command_bus: of("command_bus")?,
            receiving: of("receiving")?,
            sending: of("sending")?,
            buffers: of("buffers")?,
        })
    }

    /// Names the limits in words, with the shares.
    fn words(&self) -> String {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        let units = [("IX bus", self.ix_bus), ("SDRAM", self.sdram), ("SRAM", self.sram)];
        let full = units.into_iter().filter(|(_, share)| *share >= FULL);
        let mut words: Vec<String> =
            full.map(|(name, share)| format!("{name} {}", percent(share))).collect();
        if self.buffers >= WAITING {
            words.insert(0, "sending: packets wait".to_owned());
        } else if words.is_empty() && self.receiving >= BUSY {
            words.push(format!("receiving engines {}", percent(self.receiving)));
        }
        if words.is_empty() {
            words.push(format!("latency; SDRAM {}", percent(self.sdram)));
        }
        words.join(", ")
    }
}

fn make(_: &Settings) -> Result<Drawn> {
    let _working = Working::on("four benchmarks on 1 to 6 engines");
    let mut trials = Vec::new();
    for benchmark in Benchmark::ALL {
        for mhz in CLOCKS {
            trials.extend((1..=MOST).map(|engines| (benchmark, Mapping::usual(engines), mhz)));
            let [receiving, sending] = SPLITS[0];
            trials.push((benchmark, Mapping::split(receiving, sending), mhz));
            let [receiving, sending] = SPLITS[2];
            trials.push((benchmark, Mapping::split(receiving, sending), mhz));
        }
    }
    let rows = sweep(&trials, workers(), |(benchmark, mapping, mhz)| {
        let loaded = Trial::new(*benchmark, mapping.clone(), *mhz).measure()?;
        Ok::<_, Error>(Row {
            benchmark: benchmark.name(),
            mhz: *mhz,
            engines: mapping.roles().len(),
            split: mapping.name(),
            rate: loaded.rate(),
            limits: Limits::of(&loaded),
        })
    });
    let rows = rows.map_err(Error::new)?.into_iter().collect::<Result<Vec<_>>>()?;
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg: plot(&rows), faults: faults(&rows) })
}

/// Returns the runs of a benchmark with the usual mappings.
fn usual<'a>(rows: &'a [Row], benchmark: &str, mhz: u64) -> Vec<&'a Row> {
    let own = rows.iter().filter(|row| row.benchmark == benchmark && row.mhz == mhz);
    own.filter(|row| row.split == Mapping::usual(row.engines).name()).collect()
}

/// Reports statements of the talk that do not hold.
fn faults(rows: &[Row]) -> Vec<String> {
    let saturates = |benchmark: &Benchmark| {
        CLOCKS.iter().any(|mhz| {
            let own = usual(rows, benchmark.name(), *mhz);
            own.windows(2).any(|two| two[1].rate.gbps() < 1.02 * two[0].rate.gbps())
        })
    };
    let others = Benchmark::ALL.iter().filter(|benchmark| !saturates(benchmark));
    others.map(|other| format!("{}: every engine more helps", other.name())).collect()
}

fn text(rows: &[Row]) -> String {
    let heads = ["benchmark", "MHz", "engines", "Gb/s", "Mpps", "SDRAM", "IX bus", "limit"];
    let mut table = output::table(&heads, &[1, 3, 4, 5, 6]);
    for row in rows {
        let percent = |share: f64| format!("{:.0} %", 100.0 * share);
        table.add_row([
            row.benchmark.to_owned(),
            row.mhz.to_string(),
            row.split.clone(),
            gbps(row.rate.gbps()),
            gbps(row.rate.mpps()),
            percent(row.limits.sdram),
            percent(row.limits.ix_bus),
            row.limits.words(),
        ]);
    }
    format!(
        "{table}\n\nEngines that receive + engines that send; a single one does both. Frames of 60, 590 and 1,514 bytes, 7:4:1, \
         keep the ports full; bits are those of the frames as they come.\n"
    )
}

fn plot(rows: &[Row]) -> String {
    let line = |(benchmark, mhz): (Benchmark, u64)| {
        let own = usual(rows, benchmark.name(), mhz);
        let points = own.iter().map(|row| (row.engines as f64, row.rate.gbps())).collect();
        Line::through(format!("{}, {mhz} MHz", benchmark.name()), points)
    };
    let all = CLOCKS.into_iter().flat_map(|mhz| Benchmark::ALL.map(|one| (one, mhz)));
    let lines = Lines {
        title: "Throughput by the number of microengines".to_owned(),
        x: "microengines".to_owned(),
        y: "Gb/s".to_owned(),
        lines: all.map(line).collect(),
        ..Lines::default()
    };
    lines.svg()
}

/// The key of a run in docs/figures.
fn key(benchmark: Benchmark, mhz: u64, mapping: &Mapping) -> String {
    let split = crate::values::slug(&mapping.name());
    format!("{}.{mhz}.{}.{split}", benchmark.name(), mapping.roles().len())
}

/// Tabulates the throughput by the number of engines, for pages.
fn engines(values: &Values) -> Result<Table> {
    let heads = (1..=MOST).map(|engines| match engines {
        1 => "1 engine".to_owned(),
        _ => Mapping::usual(engines).name(),
    });
    let mut table = Table::new(["Gb/s".to_owned(), "MHz".to_owned()].into_iter().chain(heads));
    for benchmark in Benchmark::ALL {
        for mhz in CLOCKS {
            let mut cells = vec![format!("`{}`", benchmark.name()), mhz.to_string()];
            for engines in 1..=MOST {
                let key = key(benchmark, mhz, &Mapping::usual(engines));
                cells.push(values.fixed(&format!("{key}.gbps"), 2)?);
            }
            table.row(cells);
        }
    }
    Ok(table)
}

/// Tabulates the limits for pages.
fn limits(values: &Values) -> Result<Table> {
    let heads = CLOCKS.iter().flat_map(|mhz| {
        [2, 4, 6].map(|engines| format!("{}, {mhz} MHz", Mapping::usual(engines).name()))
    });
    let mut table = Table::new(["limit".to_owned()].into_iter().chain(heads));
    for benchmark in Benchmark::ALL {
        let mut cells = vec![format!("`{}`", benchmark.name())];
        for mhz in CLOCKS {
            for engines in [2, 4, 6] {
                let key = key(benchmark, mhz, &Mapping::usual(engines));
                cells.push(Limits::kept(values, &key)?.words());
            }
        }
        table.row(cells);
    }
    Ok(table)
}

/// Tabulates three splits of six engines, for pages.
fn splits(values: &Values) -> Result<Table> {
    let heads = SPLITS.map(|[receiving, sending]| format!("{receiving}+{sending}"));
    let mut table =
        Table::new(["Gb/s at 232 MHz (buffers in use)".to_owned()].into_iter().chain(heads));
    for benchmark in Benchmark::ALL {
        let mut cells = vec![format!("`{}`", benchmark.name())];
        for [receiving, sending] in SPLITS {
            let key = key(benchmark, super::MHZ, &Mapping::split(receiving, sending));
            let rate = values.fixed(&format!("{key}.gbps"), 2)?;
            let buffers = values.fixed(&format!("{key}.limits.buffers"), 0)?;
            cells.push(format!("{rate} ({buffers})"));
        }
        table.row(cells);
    }
    Ok(table)
}
