//! The waits of tiles and switches in each version, under full load.

use serde::Serialize;
use wireloom_raw::board::Board;
use wireloom_raw::routers::{Setting, VERSIONS, Version};

use super::cycles::Cycles;
use super::rig::Rig;
use super::{PORTS, Trace};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::Values;
use wireloom_console::{Working, output};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "raw-waits",
    what: "RAW: on what the tiles of each version of the IPv4 router wait under full load, 64 and 1,500 bytes",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/raw/version-1.rasm to version-5.rasm on machines/raw.toml",
        names: &["version", "bytes", "stage"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "64", write: |values| table(values, "64") },
            PageTable { name: "1500", write: |values| table(values, "1500") },
            PageTable { name: "switches", write: switches },
        ],
    },
};

const STAGES: [&str; 4] = ["lookup", "check", "decision", "queue"];
/// Packet lengths: the name, bytes, and packets of the trace.
const LOADS: [(&str, usize, usize); 2] = [("64", 64, 4000), ("1500", 1500, 400)];

/// Cycles of a stage per packet, averaged over the ports.
#[derive(Clone, Debug, Serialize)]
struct Row {
    version: String,
    bytes: &'static str,
    stage: &'static str,
    /// All cycles between packets of a port, over the whole run.
    cycles: f64,
    executed: f64,
    #[serde(flatten)]
    kinds: Cycles,
    /// The tile's switch: cycles that executed, that waited for words of its own tile, that waited
    /// for words of others, and that waited for room.
    switch_executed: f64,
    switch_empty_tile: f64,
    switch_empty: f64,
    switch_full_tile: f64,
    switch_full: f64,
}

/// The columns of the table: head and field.
const COLUMNS: [(&str, &str); 10] = [
    ("cycles", "cycles"),
    ("instructions", "executed"),
    ("branches", "wrong"),
    ("operands", "operands"),
    ("cache", "misses"),
    ("static empty", "static_empty"),
    ("static full", "static_full"),
    ("general empty", "general_empty"),
    ("general full", "general_full"),
    ("memory full", "memory_full"),
];
const SWITCH_COLUMNS: [(&str, &str); 6] = [
    ("cycles", "cycles"),
    ("instructions", "switch_executed"),
    ("no word of the tile", "switch_empty_tile"),
    ("no word of others", "switch_empty"),
    ("tile full", "switch_full_tile"),
    ("others full", "switch_full"),
];

fn make(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("waits in the IPv4 routers");
    let rig = Rig::new(&settings.root)?;
    let mut rows = Vec::new();
    for version in VERSIONS {
        for (name, bytes, packets) in LOADS {
            let trace = Trace::new(1, packets, bytes);
            let ran = rig.run(&version, &Setting::default(), &trace.packets, &trace.routes)?;
            let of = |stage| row(&version, name, stage, &ran.board, packets);
            rows.extend((0..STAGES.len()).map(of));
        }
    }
    let heads = ["version", "bytes", "stage"].into_iter();
    let heads: Vec<&str> = heads.chain(COLUMNS.iter().map(|column| column.0)).collect();
    let numbers: Vec<usize> = (1..heads.len()).filter(|column| *column != 2).collect();
    let mut text = output::table(&heads, &numbers);
    for row in &rows {
        let numbers = [row.cycles, row.executed].into_iter().chain(row.kinds.waits());
        let numbers = numbers.map(|number| format!("{number:.1}"));
        let names = [row.version.clone(), row.bytes.to_owned(), row.stage.to_owned()];
        text.add_row(names.into_iter().chain(numbers));
    }
    let groups = rows.iter().filter(|row| row.bytes == "64");
    let groups = groups.map(|row| {
        let waited = row.cycles - row.executed;
        Group::new(format!("{} {}", row.version, row.stage), [row.executed, waited])
    });
    let series = ["instructions", "waiting"];
    let svg = Bars::new("Cycles of the stages, 64 bytes", "a packet", series, groups.collect());
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    let text = format!("{text}\n\nCycles a packet and column under full load, one trace.\n");
    Ok(Drawn { text, data, svg: svg.svg(), faults: vec![] })
}

fn row(version: &Version, bytes: &'static str, stage: usize, board: &Board, packets: usize) -> Row {
    let chip = &board.chip;
    let places = (0..PORTS as u8).map(|port| version.tile(stage as u8, port));
    let sum = places.clone().fold(Cycles::default(), |sum, place| sum + Cycles::of(chip, place));
    let kinds = sum.per(packets as u64);
    let switch = |of: fn(&wireloom_raw::SwitchCycles) -> u64| {
        let sum: u64 = places.clone().map(|place| of(&chip.spent(place).1)).sum();
        sum as f64 / packets as f64
    };
    Row {
        version: version.name.replace('.', "-"),
        bytes,
        stage: STAGES[stage],
        cycles: kinds.total(),
        executed: kinds.instructions(),
        kinds,
        switch_executed: switch(|cycles| cycles.executed),
        switch_empty_tile: switch(|cycles| cycles.empty_tile),
        switch_empty: switch(|cycles| cycles.empty),
        switch_full_tile: switch(|cycles| cycles.full_tile),
        switch_full: switch(|cycles| cycles.full),
    }
}

fn written(values: &Values, bytes: &str, columns: &[(&str, &str)]) -> Result<Table> {
    let heads = ["version", "stage"].into_iter().chain(columns.iter().map(|column| column.0));
    let mut table = Table::new(heads);
    for version in VERSIONS {
        let version = version.name.replace('.', "-");
        let key = version.to_lowercase();
        for stage in STAGES {
            let mut cells = vec![version.clone(), stage.to_owned()];
            for (_, field) in columns {
                cells.push(values.fixed(&format!("{key}.{bytes}.{stage}.{field}"), 1)?);
            }
            table.row(cells);
        }
    }
    Ok(table)
}

/// Tabulates the tiles for pages.
fn table(values: &Values, bytes: &str) -> Result<Table> {
    written(values, bytes, &COLUMNS)
}

/// Tabulates the switches for packets of 64 bytes, for pages.
fn switches(values: &Values) -> Result<Table> {
    written(values, "64", &SWITCH_COLUMNS)
}
