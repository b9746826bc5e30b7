//! Figure 3 and Table 1 of the StepNP paper: the machine model under its synthetic load.

use std::num::NonZero;
use std::thread::available_parallelism;

use serde::Serialize;
use wireloom_mpsoc::Spec;
use wireloom_mpsoc::evaluation::{
    Configuration, LATENCIES_NS, Point, SEEDS, Spread, Stated, THREADS, figure_3, figure_3_stated,
    table_1, table_1_stated,
};

use super::figure::{Choice, Drawn, Figure, Kept};
use super::store::Cost;
use super::table::{PageTable, Table};
use super::values::Values;
use super::{Settings, number};
use wireloom_console::Working;
use wireloom_console::output;
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bar, Bars, Group, Limit, Line, Lines};

pub const FIGURE_3: Figure = Figure {
    name: "mpsoc-threads",
    what: "StepNP, Figure 3: rate of one processor by threads and latency of the network, synthetic load",
    choice: Choice::None,
    make: threads,
    kept: Kept {
        cost: Cost::Cheap,
        built: "the synthetic load",
        names: &["threads", "latency_ns", "what"],
        skip: &["paper"],
        tools: &[],
        tables: &[PageTable { name: "rates", write: rates }],
    },
};

pub const TABLE_1: Figure = Figure {
    name: "mpsoc-table1",
    what: "StepNP, Table 1: use and packet latency of machines for OC-48 and OC-192, synthetic load",
    choice: Choice::None,
    make: table1,
    kept: Kept {
        cost: Cost::Cheap,
        built: "the synthetic load",
        names: &["name", "what"],
        skip: &["paper"],
        tools: &[],
        tables: &[],
    },
};

/// The simulated machine and the paper's statements on it.
#[derive(Serialize)]
struct Data<'a, T> {
    measured: &'a [T],
    stated: Vec<Compared<'a>>,
}

/// A statement of the paper, and the difference of our number from it.
#[derive(Serialize)]
struct Compared<'a> {
    #[serde(flatten)]
    stated: &'a Stated,
    /// The difference of the mean, in percent of the paper's number.
    difference_percent: f64,
}

impl<'a, T> Data<'a, T> {
    fn new(measured: &'a [T], stated: &'a [Stated]) -> Self {
        let compared = |stated: &'a Stated| Compared {
            stated,
            difference_percent: 100.0 * stated.difference(),
        };
        Self { measured, stated: stated.iter().map(compared).collect() }
    }
}

/// The number of simulations that run in parallel.
pub fn workers() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

fn threads(_: &Settings) -> Result<Drawn> {
    let points = {
        let _working = Working::on("one processor, 25 points of ten seeds");
        figure_3(&Spec::base(), SEEDS, workers()).map_err(Error::new)?
    };
    let stated = figure_3_stated(&points);
    let heads = ["threads".to_owned()]
        .into_iter()
        .chain(LATENCIES_NS.map(|latency| format!("{latency} ns")));
    let heads: Vec<String> = heads.collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = output::table(&heads, &(0..heads.len()).collect::<Vec<_>>());
    for threads in THREADS {
        let cell = |point: &Point| {
            format!("{} ({:.0} %)", spread_text(&point.mbps), 100.0 * point.usage.mean)
        };
        let row = points.iter().filter(|point| point.threads == threads).map(cell);
        table.add_row([threads.to_string()].into_iter().chain(row));
    }
    let line = |threads: u32| {
        let own = points.iter().filter(|point| point.threads == threads);
        let rates = own.map(|point| (point.latency_ns as f64, point.mbps.mean));
        Line::through(format!("{threads} threads"), rates.collect())
    };
    let svg = Lines {
        title: "One processor of 500 MHz, packets of 54 bytes".to_owned(),
        x: "latency of the network one way, ns".to_owned(),
        y: "rate, Mb/s".to_owned(),
        lines: THREADS.map(line).into(),
        limits: vec![Limit::new("the paper's highest rate", stated[0].paper)],
    }
    .svg();
    let text = format!(
        "{table}\n\nMb/s of 54-byte packets through one processor that is offered more than it can carry (mean of ten seeds, least to most), and its mean use, by \
         latency of the network one way.\n\n{}",
        stated_text(&stated)
    );
    drawn(text, &Data::new(&points, &stated), svg)
}

fn table1(_: &Settings) -> Result<Drawn> {
    let lines = {
        let _working = Working::on("three machines, ten seeds of each");
        table_1(&Spec::base(), workers()).map_err(Error::new)?
    };
    let stated = table_1_stated(&lines);
    let heads = [
        "machine",
        "processors",
        "threads",
        "one way, ns",
        "offered, Gb/s",
        "carried",
        "use, %",
        "latency, us",
        "processing",
        "network",
        "pipeline",
    ];
    let mut table = output::table(&heads, &(1..heads.len()).collect::<Vec<_>>());
    for line in &lines {
        table.add_row([
            line.name.to_owned(),
            line.processors.to_string(),
            line.threads.to_string(),
            line.latency_ns.to_string(),
            number(line.offered_gbps),
            spread_text(&line.carried_gbps),
            spread_text(&line.usage.times(100.0)),
            spread_text(&line.latency_us),
            spread_text(&line.processing_us),
            spread_text(&line.network_us),
            spread_text(&line.compute_us),
        ]);
    }
    let group = |line: &Configuration| {
        let paper = stated.iter().find(|stated| stated.what == format!("{}: use", line.name));
        let paper = paper.map(|stated| Bar::new(0, stated.paper));
        let bars = paper.into_iter().chain([Bar::new(1, 100.0 * line.usage.mean)]);
        Group { name: line.name.to_owned(), bars: bars.collect() }
    };
    let groups = lines.iter().map(group).collect();
    let svg = Bars::new("Use of the processors", "use, %", ["the paper", "here"], groups).svg();
    let text = format!(
        "{table}\n\nlatency: from a packet's last bit in to its last bit out, in order; processing: until packet I/O has it back from its thread; of that \
         the thread waits for the network, and has an instruction in the pipeline. Means of ten seeds, least to most.\n\n{}",
        stated_text(&stated)
    );
    drawn(text, &Data::new(&lines, &stated), svg)
}

/// Formats a mean with its minimum and maximum.
pub fn spread_text(spread: &Spread) -> String {
    format!("{} ({} to {})", number(spread.mean), number(spread.least), number(spread.most))
}

/// Formats the paper's numbers next to ours.
fn stated_text(stated: &[Stated]) -> String {
    let mut table =
        output::table(&["what", "the paper", "here", "unit", "difference", "", ""], &[1, 2, 4]);
    for point in stated {
        table.add_row([
            point.what.clone(),
            number(point.paper),
            spread_text(&point.measured),
            point.unit.to_owned(),
            format!("{:+.1} %", 100.0 * point.difference()),
            point.evidence.name().to_owned(),
            if point.is_near() { "" } else { point.why.unwrap_or("MISSED") }.to_owned(),
        ]);
    }
    format!(
        "{table}\n\nMeasured: depends on how the machine works. Calibrated: the paper's number, or one that it follows from, has set the cost of an access \
         (docs/machines/mpsoc.md). Arithmetic: follows from instructions a packet, clock and line.\n"
    )
}

fn drawn<T: Serialize>(text: String, data: &Data<'_, T>, svg: String) -> Result<Drawn> {
    let stated = data.stated.iter().map(|compared| compared.stated);
    let far = stated.filter(|point| !point.is_near() && point.why.is_none());
    let faults = far.map(|point| {
        format!(
            "{}: {} {}, and the paper has {}",
            point.what,
            number(point.measured.mean),
            point.unit,
            number(point.paper)
        )
    });
    let faults = faults.collect();
    let data = serde_json::to_value(data).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text, data, svg, faults })
}

/// Tabulates the rates of Figure 3 for pages.
fn rates(values: &Values) -> Result<Table> {
    let latencies = LATENCIES_NS.map(|latency| format!("{latency} ns one way"));
    let mut table = Table::new(["threads".to_owned()].into_iter().chain(latencies));
    for threads in THREADS {
        let mut cells = vec![threads.to_string()];
        for latency in LATENCIES_NS {
            let key = |field| format!("measured.{threads}.{latency}.{field}.mean");
            let rate = values.short(&key("mbps"))?;
            cells.push(format!("{rate} Mb/s ({})", values.percent(&key("usage"), 0)?));
        }
        table.row(cells);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireloom_mpsoc::evaluation::Evidence;

    fn stated(paper: f64, measured: f64, why: Option<&'static str>) -> Stated {
        let (measured, evidence) = (Spread::of(&[measured]), Evidence::Measured);
        Stated { what: "use".to_owned(), unit: "%", paper, measured, evidence, why }
    }

    #[test]
    fn only_what_is_far_and_not_explained_is_a_fault() {
        let points =
            [stated(50.0, 54.0, None), stated(50.0, 60.0, Some("so")), stated(50.0, 44.0, None)];
        let drawn = drawn(String::new(), &Data::<()>::new(&[], &points), String::new());
        assert_eq!(drawn.expect("a figure").faults, ["use: 44.0 %, and the paper has 50.0"]);
        let text = stated_text(&points);
        assert!(
            text.contains("+8.0 %") && text.contains("so") && text.contains("MISSED"),
            "{text}"
        );
    }
}
