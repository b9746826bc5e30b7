//! Tables of the versions for pages.

use super::{LOADS, Load, ROWS, RouterRow};
use crate::table::Table;
use crate::values::Values;
use wireloom_machine::Result;

/// Formats the deviation of a value from the published one.
fn off(value: f64, published: f64) -> String {
    format!("{:+.0} %", 100.0 * (value / published - 1.0))
}

fn peak(values: &Values, row: &str, load: &Load) -> Result<f64> {
    values.get(&format!("{row}.{}.all.rate", load.name).to_lowercase())
}

/// Returns the greatest load that is forwarded entirely, to within one percent.
fn loss_free(values: &Values, row: &RouterRow, load: &Load) -> Result<String> {
    let mut most = "-";
    for input in load.inputs {
        let Ok(offered) = input.parse::<f64>() else { continue };
        let key = format!("{}.{}.{input}.rate", row.name, load.name);
        let rate = values.get(&key.to_lowercase())?;
        if rate >= 0.99 * offered {
            most = input;
        }
    }
    Ok(most.to_owned())
}

/// Tabulates peaks next to the paper's.
pub fn peaks(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "version",
        "bytes",
        "published peak",
        "measured",
        "off",
        "offered without stall",
        "lost",
        "out of order",
    ]);
    for load in &LOADS {
        for (number, row) in ROWS.iter().enumerate() {
            let at = usize::from(load.name != LOADS[0].name);
            let measured = peak(values, row.name, load)?;
            let published = ROWS[number].published[at];
            let of = |field: &str| {
                values.fixed(&format!("{}.{}.all.{field}", row.name, load.name).to_lowercase(), 1)
            };
            table.row([
                row.name.to_owned(),
                load.bytes.to_string(),
                published.map_or(String::new(), |peak| format!("{peak} {}", load.unit)),
                format!("{measured:.2} {}", load.unit),
                published.map_or(String::new(), |peak| off(measured, peak)),
                format!("{} {}", loss_free(values, row, load)?, load.unit),
                of("lost")?,
                of("reordered")?,
            ]);
        }
    }
    Ok(table)
}

/// Tabulates the gain of design changes: pairs of versions.
pub fn ratios(values: &Values) -> Result<Table> {
    let mut table = Table::new(["from", "to", "what changes", "bytes", "published", "measured"]);
    for (from, to, what) in [
        ("I", "II", "layout; full-duplex memories, one a port"),
        ("II", "III", "streams; no buffer up to 64 bytes; four lines at a time"),
        ("III", "IV", "buffers in the cards"),
        ("III", "III-d", "no static networks"),
        ("III", "V-two-cards", "two cards, two columns each"),
    ] {
        for (at, load) in LOADS.iter().enumerate() {
            let published = |name: &str| {
                ROWS.iter().find(|row| row.name == name).and_then(|row| row.published[at])
            };
            let ratio = published(to).zip(published(from)).map(|(to, from)| off(to, from));
            table.row([
                from.to_owned(),
                to.to_owned(),
                what.to_owned(),
                load.bytes.to_string(),
                ratio.unwrap_or_default(),
                off(peak(values, to, load)?, peak(values, from, load)?),
            ]);
        }
    }
    // "Approximately three times better than IXP1200" (section 3.1), whose rate is 2.9 Mpps
    // (section 2).
    let measured = off(peak(values, "I", &LOADS[0])?, 2.9);
    let cells = ["IXP1200 of the paper, 2.9 Mpps", "I", "the chip", "64", "+200 %", &measured];
    table.row(cells.map(str::to_owned));
    Ok(table)
}

/// Tabulates a field of all versions by offered load.
pub fn rates(values: &Values, load: &Load, field: &str) -> Result<Table> {
    let unit = if field == "rate" { load.unit } else { "cycles" };
    let first = format!("{unit}, by {} offered", load.unit);
    let inputs = load.inputs.iter().map(|input| (*input).to_owned());
    let mut table = Table::new([first].into_iter().chain(inputs));
    for row in &ROWS {
        let mut cells = vec![row.name.to_owned()];
        let decimals = if field == "rate" { 2 } else { 0 };
        for input in load.inputs {
            let key = format!("{}.{}.{input}.{field}", row.name, load.name);
            cells.push(values.fixed(&key.to_lowercase(), decimals)?);
        }
        table.row(cells);
    }
    Ok(table)
}

/// Tabulates version III next to Table 1.
pub fn latency(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "bytes",
        "Table 1",
        "four stages at version III's peak",
        "off",
        "mean latency, lowest rate",
        "mean latency, full load",
    ]);
    for load in &LOADS {
        let packets = peak(values, "III", load)? * load.packets_of_unit;
        let stages = 16.0 * super::super::MHZ as f64 * 1e6 / packets;
        let of = |input: &str| values.fixed(&format!("iii.{}.{input}.latency", load.name), 0);
        table.row([
            load.bytes.to_string(),
            format!("{:.0}", load.latency),
            format!("{stages:.0}"),
            off(stages, load.latency),
            of(load.inputs[0])?,
            of("all")?,
        ]);
    }
    Ok(table)
}
