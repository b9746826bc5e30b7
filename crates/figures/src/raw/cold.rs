//! The versions with lookups that miss the cache, as in the paper's section 3.1: both reads of the
//! forwarding table come from memory.

use serde::Serialize;
use wireloom_raw::routers::{Setting, Version};
use wireloom_sim::sweep;

use super::ipv4::{LOADS, ROWS, RouterRow};
use super::rig::Rig;
use super::{Trace, mpps};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::Values;
use wireloom_console::{Working, output};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "raw-cold",
    what: "RAW: the IPv4 router's versions, 64 bytes, if lookups read their tables from memory",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/raw/version-1.rasm to version-5.rasm on machines/raw.toml, with \
                parts/line-drop.rasm instead of parts/line-keep.rasm",
        names: &["lookups", "version"],
        skip: &[],
        tools: &[],
        tables: &[PageTable { name: "rates", write: table }],
    },
};

/// The source of the lookup tables, and the distance of memory.
struct Memory {
    name: &'static str,
    what: &'static str,
    is_cold: bool,
    latency_cycles: u32,
}

const fn cold(name: &'static str, what: &'static str, latency_cycles: u32) -> Memory {
    Memory { name, what, is_cold: true, latency_cycles }
}

const MEMORIES: [Memory; 6] = [
    Memory { name: "cache", what: "the cache (as described)", is_cold: false, latency_cycles: 25 },
    cold("25", "memory, 25 cycles to a line", 25),
    cold("39", "memory, 39 cycles (a miss of 54)", 39),
    cold("42", "memory, 42 cycles (Table 2, long prefixes: 57 for each of two misses)", 42),
    cold("46", "memory, 46 cycles", 46),
    cold("56", "memory, 56 cycles (Table 2, short prefixes: a miss of 71)", 56),
];

#[derive(Clone, Debug, Serialize)]
struct Point {
    lookups: &'static str,
    version: &'static str,
    mpps: f64,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("versions whose lookups read memory");
    let rig = Rig::new(&settings.root)?;
    let trials: Vec<(&Memory, &RouterRow)> =
        MEMORIES.iter().flat_map(|memory| ROWS.iter().map(move |row| (memory, row))).collect();
    let points = sweep(&trials, workers(), |(memory, row)| {
        let trace = Trace::new(1, LOADS[0].packets, LOADS[0].bytes).on(row.ports);
        let setting = Setting {
            ports: row.ports.to_vec(),
            latency_cycles: Some(memory.latency_cycles),
            reads_tables_from_memory: memory.is_cold,
            ..Setting::default()
        };
        let version = Version::named(row.version);
        let ran = rig.run(version, &setting, &trace.packets, &trace.routes)?;
        let (_, rate) = ran.played.rates();
        Ok(Point { lookups: memory.name, version: row.name, mpps: mpps(rate) })
    });
    let points = points.map_err(Error::new)?.into_iter().collect::<Result<Vec<Point>>>()?;
    let heads = ["lookups read"].into_iter().chain(ROWS.iter().map(|row| row.name));
    let mut text = output::table(&heads.collect::<Vec<_>>(), &[1, 2, 3, 4, 5, 6]);
    for (memory, points) in MEMORIES.iter().zip(points.chunks(ROWS.len())) {
        let rates = points.iter().map(|point| format!("{:.2}", point.mpps));
        text.add_row([memory.what.to_owned()].into_iter().chain(rates));
    }
    let groups = MEMORIES.iter().zip(points.chunks(ROWS.len()));
    let groups = groups.map(|(memory, points)| {
        let rates: Vec<f64> = points.iter().map(|point| point.mpps).collect();
        Group::new(memory.name, rates)
    });
    let bars = Bars::new(
        "Lookups from memory, 64 bytes",
        "Mpps",
        ROWS.map(|row| row.name),
        groups.collect(),
    );
    let data = serde_json::to_value(&points).map_err(|error| Error::new(error.to_string()))?;
    let text = format!("{text}\n\nMpps of 64 bytes under full load, one trace.\n");
    Ok(Drawn { text, data, svg: bars.svg(), faults: vec![] })
}

/// Tabulates the rates of all versions for pages.
fn table(values: &Values) -> Result<Table> {
    let heads = ["lookups read".to_owned()].into_iter();
    let mut table = Table::new(heads.chain(ROWS.iter().map(|row| format!("{}, Mpps", row.name))));
    let published = ROWS.iter().map(|row| row.published[0].map(|rate| rate.to_string()));
    let published = published.map(Option::unwrap_or_default);
    table.row(["the paper's peaks".to_owned()].into_iter().chain(published));
    for memory in &MEMORIES {
        let mut cells = vec![memory.what.to_owned()];
        for row in &ROWS {
            let key = format!("{}.{}.mpps", memory.name, row.name).to_lowercase();
            cells.push(values.fixed(&key, 2)?);
        }
        table.row(cells);
    }
    Ok(table)
}
