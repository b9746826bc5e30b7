//! The IPv4 routers under load, with line cards that do not stop their lines: the greatest
//! loss-free rate, the throughput in overload, and latency.

use serde::Serialize;
use wireloom_raw::device::Buffer;
use wireloom_raw::routers::{Setting, Version};
use wireloom_sim::sweep;

use super::ipv4::{LOADS, Load, ROWS, RouterRow, latencies};
use super::rig::{Ran, Rig, rate};
use super::{Trace, mpps};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::Values;
use wireloom_console::{Working, output};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Line, Lines};

/// Loss-free rates, and rates in overload.
pub const OVERLOAD: Figure = Figure {
    name: "raw-overload",
    what: "RAW: greatest rate without loss of each version, and what leaves when more is offered",
    choice: Choice::None,
    make: |settings| overload(settings),
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/raw/version-1.rasm to version-5.rasm on machines/raw.toml",
        names: &["version", "bytes", "load"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "loss-free", write: loss_free },
            PageTable { name: "64", write: |values| points(values, &LOADS[0], &OFFERED, "rate") },
            PageTable { name: "1500", write: |values| points(values, &LOADS[1], &OFFERED, "rate") },
        ],
    },
};

pub const LATENCY: Figure = Figure {
    name: "raw-latency",
    what: "RAW: latency of the versions of the IPv4 router under load, 64 and 1,500 bytes",
    choice: Choice::None,
    make: |settings| latency(settings),
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/raw/version-1.rasm to version-5.rasm on machines/raw.toml",
        names: &["version", "bytes", "load"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "64", write: |values| points(values, &LOADS[0], &LOADED, "mean") },
            PageTable { name: "1500", write: |values| points(values, &LOADS[1], &LOADED, "mean") },
            PageTable {
                name: "64-most",
                write: |values| points(values, &LOADS[0], &LOADED, "late"),
            },
        ],
    },
};

/// Offered loads, in percent of the version's rate with lines that wait for it.
const OFFERED: [&str; 8] = ["50", "75", "90", "100", "110", "125", "150", "200"];
const LOADED: [&str; 7] = ["10", "25", "50", "75", "90", "95", "100"];
/// Packets for which a card has room in overload (assumed).
const ROOM: usize = 16;
/// The number of halvings in the search for the greatest loss-free rate: accurate to 1 percent of
/// the peak.
const HALVINGS: usize = 7;
/// The seed of the trace.
const SEED: u64 = 1;

/// The result of a version at a load.
#[derive(Clone, Debug, Serialize)]
struct Overload {
    version: &'static str,
    bytes: &'static str,
    /// The offered load, in percent of the peak with lines that wait; or `loss-free`.
    load: &'static str,
    /// The offered rate and the output rate, in the unit of the packets' length.
    offered: f64,
    rate: f64,
    /// Packets that did not leave, in percent.
    lost: f64,
}

#[derive(Clone, Debug, Serialize)]
struct Latency {
    version: &'static str,
    bytes: &'static str,
    load: &'static str,
    /// The offered rate, in the unit of the packets' length.
    offered: f64,
    /// Cycles from the end of a packet on its line to its last word out: the mean and the 99th
    /// percentile.
    mean: f64,
    late: f64,
}

/// A version with packets of one length.
struct Trial<'a> {
    rig: &'a Rig,
    row: &'static RouterRow,
    load: &'static Load,
    trace: Trace,
    /// The rate of the version with lines that wait for it.
    peak: f64,
}

impl<'a> Trial<'a> {
    fn new(rig: &'a Rig, row: &'static RouterRow, load: &'static Load) -> Result<Self> {
        let trace = Trace::new(SEED, load.packets, load.bytes).on(row.ports);
        let mut trial = Self { rig, row, load, trace, peak: 0.0 };
        let ran = trial.run(&Setting { ports: row.ports.to_vec(), ..Setting::default() })?;
        trial.peak = trial.rate(&ran);
        Ok(trial)
    }

    fn rate(&self, ran: &Ran) -> f64 {
        mpps(ran.played.rates().1) * 1e6 / self.load.packets_of_unit
    }

    fn run(&self, setting: &Setting) -> Result<Ran> {
        let (row, load) = (self.row, self.load);
        let version = Version::named(row.version);
        let ran = self.rig.run(version, setting, &self.trace.packets, &self.trace.routes);
        ran.map_err(|error| {
            let what = format!("{}, {} bytes", row.name, load.bytes);
            Error { message: format!("{what}: {}", error.message), ..error }
        })
    }

    /// Runs the version at an offered rate, with `room` bytes in each card for waiting packets.
    fn offered(&self, offered: f64, room: usize) -> Result<Ran> {
        let (row, load) = (self.row, self.load);
        self.run(&Setting {
            rate: rate(offered * load.packets_of_unit, load.bytes, row.ports.len()),
            buffer: Buffer::Bytes(room),
            ports: row.ports.to_vec(),
            ..Setting::default()
        })
    }

    fn overload(&self, load: &'static str, offered: f64) -> Result<Overload> {
        let ran = self.offered(offered, ROOM * self.load.bytes)?;
        let packets = self.trace.packets.iter().flatten().count();
        Ok(Overload {
            version: self.row.name,
            bytes: self.load.name,
            load,
            offered,
            rate: self.rate(&ran),
            lost: 100.0 * ran.checked.lost as f64 / packets as f64,
        })
    }

    /// Searches for the greatest loss-free rate.
    fn loss_free(&self) -> Result<Overload> {
        let (mut least, mut most) = (0.0, self.peak * 1.28);
        let mut best = Overload {
            version: self.row.name,
            bytes: self.load.name,
            load: "loss-free",
            offered: 0.0,
            rate: 0.0,
            lost: 0.0,
        };
        for _ in 0..HALVINGS {
            let tried = self.overload("loss-free", (least + most) / 2.0)?;
            if tried.lost > 0.0 {
                most = tried.offered;
            } else {
                least = tried.offered;
                best = tried;
            }
        }
        Ok(best)
    }

    fn latency(&self, load: &'static str) -> Result<Latency> {
        let offered = per_cent(load) * self.peak;
        let ran = self.offered(offered, usize::MAX)?;
        let packets = self.trace.packets.iter().flatten().count();
        let mut cycles = latencies(&self.trace, &ran.played, packets, |entered| entered.arrived);
        cycles.sort_unstable();
        let late = cycles.get(cycles.len() * 99 / 100).copied().unwrap_or_default();
        Ok(Latency {
            version: self.row.name,
            bytes: self.load.name,
            load,
            offered,
            mean: cycles.iter().sum::<u64>() as f64 / cycles.len().max(1) as f64,
            late: late as f64,
        })
    }
}

fn per_cent(load: &str) -> f64 {
    load.parse::<f64>().unwrap_or(0.0) / 100.0
}

/// Calls `of` for each version and length.
fn each<T: Send>(
    settings: &Settings,
    of: impl Fn(&Trial<'_>) -> Result<Vec<T>> + Sync,
) -> Result<Vec<T>> {
    let rig = Rig::new(&settings.root)?;
    let trials: Vec<_> =
        ROWS.iter().flat_map(|row| LOADS.iter().map(move |load| (row, load))).collect();
    let rows = sweep(&trials, workers(), |(row, load)| of(&Trial::new(&rig, row, load)?));
    let rows = rows.map_err(Error::new)?.into_iter().collect::<Result<Vec<_>>>()?;
    Ok(rows.into_iter().flatten().collect())
}

fn overload(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("the IPv4 routers in overload");
    let rows = each(settings, |trial| {
        let mut rows = vec![trial.loss_free()?];
        for load in OFFERED {
            rows.push(trial.overload(load, per_cent(load) * trial.peak)?);
        }
        Ok(rows)
    })?;
    let heads = ["version", "bytes", "load, %", "offered", "forwarded", "lost, %"];
    let mut text = output::table(&heads, &[1, 3, 4, 5]);
    for row in &rows {
        let numbers = [row.offered, row.rate, row.lost].map(|number| format!("{number:.2}"));
        let names = [row.version, row.bytes, row.load].map(str::to_owned);
        text.add_row(names.into_iter().chain(numbers));
    }
    let points = |name: &str| -> Vec<(f64, f64)> {
        let own = rows.iter().filter(|row| row.version == name && row.bytes == LOADS[0].name);
        own.filter(|row| row.load != "loss-free").map(|row| (row.offered, row.rate)).collect()
    };
    let most = rows.iter().filter(|row| row.bytes == LOADS[0].name);
    let most = most.map(|row| row.rate).fold(0.0, f64::max);
    let ideal = Line::through("all that is offered", vec![(0.0, 0.0), (most, most)]);
    let lines = ROWS.iter().map(|row| Line::through(row.name, points(row.name)));
    let lines = Lines {
        title: "IPv4 routers in overload, 64 bytes".to_owned(),
        x: "offered, Mpps".to_owned(),
        y: "forwarded, Mpps".to_owned(),
        lines: lines.chain([ideal]).collect(),
        limits: vec![],
    };
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    let text = format!(
        "{text}\n\n64 bytes in Mpps, 1,500 in Gb/s; a card has room for {ROOM} packets and loses \
         others. Every packet that leaves is compared with golden.\n"
    );
    Ok(Drawn { text, data, svg: lines.svg(), faults: vec![] })
}

fn latency(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("latency of the IPv4 routers under load");
    let rows =
        each(settings, |trial| LOADED.map(|load| trial.latency(load)).into_iter().collect())?;
    let heads = ["version", "bytes", "load, %", "offered", "mean", "99 of 100"];
    let mut text = output::table(&heads, &[1, 2, 3, 4, 5]);
    for row in &rows {
        let names = [row.version, row.bytes, row.load].map(str::to_owned);
        let offered = format!("{:.2}", row.offered);
        let cycles = [row.mean, row.late].map(|number| format!("{number:.0}"));
        text.add_row(names.into_iter().chain([offered]).chain(cycles));
    }
    let line = |row: &RouterRow| {
        let own = rows.iter().filter(|own| (own.version, own.bytes) == (row.name, LOADS[0].name));
        let own = own.filter(|own| own.load != "100").map(|own| (own.offered, own.mean));
        Line::through(row.name, own.collect())
    };
    let lines = Lines {
        title: "Latency of the IPv4 routers, 64 bytes, up to 95 per cent of the peak".to_owned(),
        x: "offered, Mpps".to_owned(),
        y: "mean, cycles".to_owned(),
        lines: ROWS.iter().map(line).collect(),
        limits: vec![],
    };
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    let text = format!(
        "{text}\n\nCycles from the end of a packet on its line to its last word out, with cards that \
         have room for all packets; load in per cent of the rate with lines that wait.\n"
    );
    Ok(Drawn { text, data, svg: lines.svg(), faults: vec![] })
}

fn key(row: &RouterRow, load: &Load, point: &str, field: &str) -> String {
    format!("{}.{}.{point}.{field}", row.name, load.name).to_lowercase()
}

/// Tabulates the greatest loss-free rates next to the paper's peaks.
fn loss_free(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "version",
        "bytes",
        "published peak",
        "lines that wait",
        "greatest rate without loss",
        "forwarded at twice the peak",
        "lost there",
    ]);
    for (at, load) in LOADS.iter().enumerate() {
        for row in &ROWS {
            let of = |point: &str, field: &str| values.get(&key(row, load, point, field));
            let with_unit = |rate: f64| format!("{rate:.2} {}", load.unit);
            table.row([
                row.name.to_owned(),
                load.name.to_owned(),
                row.published[at].map_or(String::new(), |peak| format!("{peak} {}", load.unit)),
                with_unit(of("100", "offered")?),
                with_unit(of("loss-free", "offered")?),
                with_unit(of("200", "rate")?),
                format!("{:.0} %", of("200", "lost")?),
            ]);
        }
    }
    Ok(table)
}

/// Tabulates a field of all versions by load, for pages.
fn points(values: &Values, load: &Load, loads: &[&str], field: &str) -> Result<Table> {
    let (unit, decimals) = if field == "rate" { (load.unit, 2) } else { ("cycles", 0) };
    let heads = loads.iter().map(|load| format!("{load} %"));
    let mut table = Table::new([format!("{unit}, by load")].into_iter().chain(heads));
    for row in &ROWS {
        let mut cells = vec![row.name.to_owned()];
        for point in loads {
            cells.push(values.fixed(&key(row, load, point, field), decimals)?);
        }
        table.row(cells);
    }
    Ok(table)
}
