//! Live forwarding between veth devices, next to the kernel's own forwarding and an XDP program
//! that uses the kernel's tables. The forwarders take turns within one run.

pub mod idle;
mod rig;

use serde::Serialize;
use wireloom_console::output;
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

use super::figure::{Choice, Drawn, Figure, Kept};
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::Values;
use super::{Settings, median, number};
use rig::Rig;

pub const FIGURE: Figure = Figure {
    name: "live",
    what: "Live forwarding, veth to veth, next to the kernel's and to an XDP program: rates and latency, taken in turns",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/router.loom with the kernel's routes, frames of 60 bytes and their checksum, one flow; one \
                core for all of the router, the kernel's part included",
        names: &["row"],
        skip: &["what", "samples"],
        tools: &["cc"],
        tables: &[PageTable { name: "ways", write: ways_table }],
    },
};

/// A forwarder to measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `wireloom forward --io kernel`: the engine as an XDP program.
    Engine,
    /// `wireloom forward`, through AF_XDP.
    Ours,
    /// `wireloom forward` through packet sockets.
    Packet,
    /// The kernel's own forwarding.
    Kernel,
    /// An XDP program with the kernel's FIB helper.
    Xdp,
}

/// The forwarders, in the order in which they take turns. Goals refer to the first.
const WAYS: [Way; 5] = [Way::Engine, Way::Ours, Way::Kernel, Way::Xdp, Way::Packet];

impl Way {
    fn key(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Ours => "ours",
            Self::Packet => "packet",
            Self::Kernel => "kernel",
            Self::Xdp => "xdp",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Engine => "`wireloom forward`, the engine in the kernel",
            Self::Ours => "`wireloom forward`, AF_XDP",
            Self::Packet => "`wireloom forward`, packet sockets",
            Self::Kernel => "the kernel",
            Self::Xdp => "an XDP program with `bpf_fib_lookup`",
        }
    }

    /// The goal: our rate as a multiple of this forwarder's rate; `None` without a goal.
    fn goal(self) -> Option<f64> {
        match self {
            Self::Kernel => Some(2.0),
            Self::Xdp => Some(1.0),
            Self::Engine | Self::Ours | Self::Packet => None,
        }
    }
}

/// The measurement of a forwarder. Rates are in million packets per second, latencies in
/// microseconds.
#[derive(Clone, Debug, Serialize)]
struct Row {
    row: &'static str,
    what: &'static str,
    mpps: f64,
    least: f64,
    most: f64,
    /// Our rate as a multiple of this forwarder's.
    ratio: f64,
    /// The median and the 99th percentile of latencies at half of the lowest rate.
    latency: f64,
    tail: f64,
    offered: f64,
    samples: Vec<f64>,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let rig = Rig::build(settings)?;
    let mut rates: [Vec<f64>; WAYS.len()] = Default::default();
    for _ in 0..settings.runs {
        for (way, rates) in WAYS.into_iter().zip(&mut rates) {
            rates.push(rig.rate(way)?);
        }
    }
    let medians = rates.each_ref().map(|rates| median(rates));
    let offered = medians.iter().copied().fold(f64::INFINITY, f64::min) / 2.0;
    let mut latencies: [[Vec<f64>; 2]; WAYS.len()] = Default::default();
    for _ in 0..settings.runs {
        for (way, [middles, tails]) in WAYS.into_iter().zip(&mut latencies) {
            if let Some((middle, tail)) = rig.latency(way, offered)? {
                middles.push(middle);
                tails.push(tail);
            }
        }
    }
    for (way, [middles, _]) in WAYS.into_iter().zip(&latencies) {
        if 2 * middles.len() <= settings.runs {
            let many = settings.runs - middles.len();
            return Err(Error::new(format!(
                "{}: in {many} of {} runs fewer than half of the frames arrived",
                way.words(),
                settings.runs
            )));
        }
    }
    let rows: Vec<Row> = WAYS
        .into_iter()
        .zip(rates.into_iter().zip(latencies))
        .map(|(way, (samples, [middles, tails]))| Row {
            row: way.key(),
            what: way.words(),
            mpps: median(&samples),
            least: samples.iter().copied().fold(f64::INFINITY, f64::min),
            most: samples.iter().copied().fold(0.0, f64::max),
            ratio: medians[0] / median(&samples),
            latency: median(&middles),
            tail: median(&tails),
            offered,
            samples,
        })
        .collect();
    let group = |row: &Row| Group::new(row.row, [row.mpps]);
    let title = "Packets a second, veth to veth, one core";
    let series = ["rate".to_owned()];
    let svg = Bars::new(title, "million a second", series, rows.iter().map(group).collect()).svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: faults(&rows) })
}

/// Reports the goals that were missed.
fn faults(rows: &[Row]) -> Vec<String> {
    let mut faults = Vec::new();
    for (way, row) in WAYS.into_iter().zip(rows) {
        if let Some(goal) = way.goal()
            && row.ratio < goal
        {
            faults.push(format!(
                "{}: the engine in the kernel has {} times its rate, and at least {goal} is the goal",
                row.row,
                number(row.ratio)
            ));
        }
        if way == Way::Kernel && rows[0].tail > row.tail {
            faults.push(format!(
                "{}: the 99th percentile of its latency is {} us, and that of the engine in the kernel, {} us, shall not be more",
                row.row,
                number(row.tail),
                number(rows[0].tail)
            ));
        }
    }
    faults
}

fn text(rows: &[Row]) -> String {
    let heads = ["", "Mpps", "least", "most", "ours to it", "latency", "99 %"];
    let mut table = output::table(&heads, &[1, 2, 3, 4, 5, 6]);
    for row in rows {
        let numbers = [row.mpps, row.least, row.most, row.ratio, row.latency, row.tail].map(number);
        let mut cells = vec![row.row.to_owned()];
        cells.extend(numbers);
        table.add_row(cells);
    }
    let words: String = rows.iter().map(|row| format!("{}: {}\n", row.row, row.what)).collect();
    format!(
        "{table}\n\nMedians, the ways taken in turns. Latency in us, median and 99th percentile at {} million \
         packets a second.\n{words}",
        number(rows[0].offered)
    )
}

/// Tabulates rates and latencies for pages.
fn ways_table(values: &Values) -> Result<Table> {
    let heads = ["way", "Mpps (least to most)", "ours to it", "goal", "latency, median", "99 %"];
    let mut table = Table::new(heads);
    for way in WAYS {
        // Numbers that were kept before this forwarder was measured do not include it.
        if way == Way::Engine && values.get("engine.mpps").is_err() {
            continue;
        }
        let get =
            |what: &str| Ok::<_, Error>(number(values.get(&format!("{}.{what}", way.key()))?));
        table.row([
            way.words().to_owned(),
            format!("{} ({} to {})", get("mpps")?, get("least")?, get("most")?),
            match way {
                Way::Engine | Way::Ours => String::new(),
                _ => get("ratio")?,
            },
            way.goal().map_or(String::new(), |goal| format!("at least {goal}")),
            format!("{} us", get("latency")?),
            format!("{} us", get("tail")?),
        ]);
    }
    Ok(table)
}

/// Formats a share of a core, given in percent.
fn shown(percent: f64) -> String {
    format!("{percent:.1}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(way: Way, ratio: f64, tail: f64) -> Row {
        let (mpps, latency, offered) = (1.0, 1.0, 0.5);
        let (least, most, samples) = (mpps, mpps, vec![mpps]);
        let (row, what) = (way.key(), way.words());
        Row { row, what, mpps, least, most, ratio, latency, tail, offered, samples }
    }

    #[test]
    fn missed_goals_are_told() {
        let rows = |kernel, xdp, tail| {
            let ratios = [1.0, 1.0, kernel, xdp, 1.0];
            let tails = [tail, 10.0, 10.0, 1.0, 1.0];
            let rows = WAYS.into_iter().zip(ratios.into_iter().zip(tails));
            rows.map(|(way, (ratio, tail))| row(way, ratio, tail)).collect::<Vec<_>>()
        };
        assert_eq!(faults(&rows(2.0, 1.0, 10.0)), Vec::<String>::new());
        assert_eq!(faults(&rows(1.99, 0.5, 10.5)).len(), 3);
    }
}
