//! The layouts of the versions, drawn from their programs and boards (Figures 1 and 2).

use serde::Serialize;
use wireloom_raw::drawing::{self, EXTENT};
use wireloom_raw::routers::{Setting, VERSIONS, Version};

use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::Values;
use wireloom_console::output;
use wireloom_machine::{Error, Result};

pub const FIGURE: Figure = Figure {
    name: "raw-layouts",
    what: "RAW: the layouts of the versions of the IPv4 router, drawn from their programs",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/raw/version-1.rasm to version-5.rasm",
        names: &["version"],
        skip: &[],
        tools: &[],
        tables: &[PageTable { name: "sizes", write: table }],
    },
};

/// Program words of a version: of each stage, and of the longest switch program.
#[derive(Clone, Debug, Serialize)]
struct Row {
    version: String,
    lookup: usize,
    check: usize,
    decision: usize,
    queue: usize,
    switch: usize,
}

const FIELDS: [&str; 5] = ["lookup", "check", "decision", "queue", "switch"];

fn name(version: &Version) -> String {
    version.name.replace('.', "-")
}

fn make(_: &Settings) -> Result<Drawn> {
    let mut rows = Vec::new();
    let mut panels = String::new();
    for (number, version) in VERSIONS.iter().enumerate() {
        let program = version.program().map_err(|refused| Error::new(refused.render()))?;
        let board = version.board(&Setting::default());
        let at = (EXTENT * (number % 3) as f64, EXTENT * (number / 3) as f64);
        let title = format!("Version {}", version.name);
        panels += &drawing::draw(&title, version.text, &program, &board, at);
        let words = |stage| program.of(version.tile(stage, 0)).0.len();
        let switches = program.tiles().map(|place| program.of(place).1.len());
        rows.push(Row {
            version: name(version),
            lookup: words(0),
            check: words(1),
            decision: words(2),
            queue: words(3),
            switch: switches.max().unwrap_or(0),
        });
    }
    let (width, height) = (3.0 * EXTENT, 2.0 * EXTENT);
    let svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" \
         width=\"{width}\" height=\"{height}\"><rect width=\"100%\" height=\"100%\" \
         fill=\"white\"/>{panels}</svg>\n"
    );
    let heads = ["version", "lookup", "check", "decision", "queue", "switch"];
    let mut text = output::table(&heads, &[1, 2, 3, 4, 5]);
    for row in &rows {
        let words = [row.lookup, row.check, row.decision, row.queue, row.switch];
        text.add_row([row.version.clone()].into_iter().chain(words.map(|words| words.to_string())));
    }
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    let text = format!("{text}\n\nWords of the programs; a tile and a switch have 8,192 each.\n");
    Ok(Drawn { text, data, svg, faults: vec![] })
}

/// Tabulates program words for pages.
fn table(values: &Values) -> Result<Table> {
    let heads = ["version"].into_iter().chain(FIELDS);
    let mut table = Table::new(heads);
    for version in &VERSIONS {
        let version = name(version);
        let mut cells = vec![version.clone()];
        for field in FIELDS {
            cells.push(values.fixed(&format!("{}.{field}", version.to_lowercase()), 0)?);
        }
        table.row(cells);
    }
    Ok(table)
}
