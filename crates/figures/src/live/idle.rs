//! Live forwarding without load: the share of a core that a forwarder takes, and the latency of a
//! lone packet, next to the kernel. The forwarders take turns within one run.

use serde::Serialize;
use wireloom_console::output;
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

use super::rig::Rig;
use super::{Way, shown};
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::Values;
use crate::{Settings, median, number};

pub const FIGURE: Figure = Figure {
    name: "live-idle",
    what: "Live forwarding without load: the part of a core that it takes, and the time of a lone packet, next to the kernel's",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/router.loom with the kernel's routes; frames of 60 bytes and their checksum, half a millisecond \
                apart; one core for all of the router, the kernel's part included",
        names: &["row"],
        skip: &["what"],
        tools: &["cc"],
        tables: &[PageTable { name: "lone", write: lone_table }],
    },
};

/// The forwarders, in the order in which they take turns.
const WAYS: [Way; 4] = [Way::Engine, Way::Ours, Way::Packet, Way::Kernel];
/// The goal without packets: at most this share of a core, in percent.
const MOST_PERCENT: f64 = 3.0;
/// The goal for a lone packet: at most this much longer than through the kernel, which does not
/// sleep, in microseconds.
const MOST_WAKING: f64 = 50.0;

/// The measurement of a forwarder.
#[derive(Clone, Debug, Serialize)]
struct Row {
    row: &'static str,
    what: &'static str,
    /// The median share of a core, in percent.
    percent: f64,
    /// The median latency of a lone packet, and its 99th percentile, in microseconds: each the
    /// median of all runs.
    latency: f64,
    tail: f64,
    /// The difference of the median latency from the kernel's in the same run, in microseconds.
    waking: f64,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let rig = Rig::build(settings)?;
    let mut samples: [[Vec<f64>; 3]; WAYS.len()] = Default::default();
    for _ in 0..settings.runs {
        for (way, [percents, middles, tails]) in WAYS.into_iter().zip(&mut samples) {
            if let Some((percent, middle, tail)) = rig.idle(way)? {
                percents.push(percent);
                middles.push(middle);
                tails.push(tail);
            }
        }
    }
    if samples.iter().any(|[percents, ..]| 2 * percents.len() <= settings.runs) {
        return Err(Error::new("in most runs fewer than half of the probes arrived"));
    }
    let medians = samples.each_ref().map(|all| all.each_ref().map(|samples| median(samples)));
    let kernel = medians[WAYS.len() - 1][1];
    let rows: Vec<Row> = WAYS
        .into_iter()
        .zip(medians)
        .map(|(way, [percent, latency, tail])| {
            let (row, what) = (way.key(), way.words());
            Row { row, what, percent, latency, tail, waking: latency - kernel }
        })
        .collect();
    let group = |row: &Row| Group::new(row.row, [row.latency, row.tail]);
    let series = ["median", "99 %"].map(str::to_owned);
    let title = "The time of a lone packet, veth to veth";
    let svg = Bars::new(title, "microseconds", series, rows.iter().map(group).collect()).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: faults(&rows) })
}

/// Reports the goals that were missed.
fn faults(rows: &[Row]) -> Vec<String> {
    let mut faults = Vec::new();
    for row in rows {
        if row.percent >= MOST_PERCENT {
            let percent = shown(row.percent);
            faults.push(format!("{}: {percent} % of a core without packets", row.row));
        }
        if row.waking > MOST_WAKING {
            let waking = number(row.waking);
            faults.push(format!("{}: a lone packet takes {waking} us longer", row.row));
        }
    }
    faults
}

fn text(rows: &[Row]) -> String {
    let heads = ["", "% of a core", "latency", "99 %", "more than the kernel"];
    let mut table = output::table(&heads, &[1, 2, 3, 4]);
    for row in rows {
        let times = [row.latency, row.tail, row.waking].map(number);
        let mut cells = vec![row.row.to_owned(), shown(row.percent)];
        cells.extend(times);
        table.add_row(cells);
    }
    let words: String = rows.iter().map(|row| format!("{}: {}\n", row.row, row.what)).collect();
    format!(
        "{table}\n\nMedians, the ways taken in turns. The core without packets; latencies of lone packets in us, half a \
         millisecond apart.\n{words}"
    )
}

fn lone_table(values: &Values) -> Result<Table> {
    let heads =
        ["way", "of a core, without packets", "a lone packet", "99 %", "more than the kernel"];
    let mut table = Table::new(heads);
    for way in WAYS {
        let get = |what: &str| values.get(&format!("{}.{what}", way.key()));
        table.row([
            way.words().to_owned(),
            format!("{} %", shown(get("percent")?)),
            format!("{} us", number(get("latency")?)),
            format!("{} us", number(get("tail")?)),
            format!("{} us", number(get("waking")?)),
        ]);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_goals_are_told() {
        let row = |percent, waking| {
            let (row, what) = ("ours", "words");
            vec![Row { row, what, percent, latency: 60.0, tail: 90.0, waking }]
        };
        assert_eq!(faults(&row(2.9, 50.0)), Vec::<String>::new());
        assert_eq!(faults(&row(3.0, 50.1)).len(), 2);
    }
}
