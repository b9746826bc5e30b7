//! The versions of the IPv4 router with packets of 64 and of 1,500 bytes: rate and latency by
//! offered load (Figures 3 to 14, Table 1).

use serde::Serialize;
use wireloom_raw::board::Played;
use wireloom_raw::device::Entered;
use wireloom_raw::routers::{Setting, Version};
use wireloom_sim::sweep;

use super::rig::{Rig, rate};
use super::{Trace, mpps};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::store::Cost;
use crate::table::PageTable;
use wireloom_console::{Working, output};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Line, Lines};

mod page;

pub const FIGURE: Figure = Figure {
    name: "raw-ipv4",
    what: "RAW: versions I to V and III.d of the IPv4 router, 64 and 1,500 bytes: rate and latency against input",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/raw/version-1.rasm to version-5.rasm on machines/raw.toml",
        names: &["version", "bytes", "input"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "peaks", write: page::peaks },
            PageTable { name: "ratios", write: page::ratios },
            PageTable { name: "rates-64", write: |values| page::rates(values, &LOADS[0], "rate") },
            PageTable {
                name: "rates-1500",
                write: |values| page::rates(values, &LOADS[1], "rate"),
            },
            PageTable {
                name: "latency-64",
                write: |values| page::rates(values, &LOADS[0], "latency"),
            },
            PageTable {
                name: "latency-1500",
                write: |values| page::rates(values, &LOADS[1], "latency"),
            },
            PageTable { name: "latency", write: page::latency },
        ],
    },
};

/// Packets of one length.
pub(super) struct Load {
    pub name: &'static str,
    pub bytes: usize,
    /// The number of packets of a trace.
    pub packets: usize,
    /// Loads offered on all ports, in the unit; the last is unlimited.
    inputs: &'static [&'static str],
    pub unit: &'static str,
    /// Packets per second of one unit.
    pub packets_of_unit: f64,
    /// The latency in Table 1, in cycles.
    latency: f64,
}

/// The paper's lengths. Its traces have 4,000 packets, as have ours of short packets. Fewer long
/// packets are enough, since only the middle half of a run counts.
pub(super) const LOADS: [Load; 2] = [
    Load {
        name: "64",
        bytes: 64,
        packets: 4000,
        inputs: &["2", "4", "6", "8", "10", "12", "14", "16", "all"],
        unit: "Mpps",
        packets_of_unit: 1e6,
        latency: 690.0,
    },
    Load {
        name: "1500",
        bytes: 1500,
        packets: 1000,
        inputs: &["8", "12", "16", "20", "all"],
        unit: "Gb/s",
        packets_of_unit: 1e9 / 12_000.0,
        latency: 5394.0,
    },
];

/// A router of the figures.
pub(super) struct RouterRow {
    /// The name of the row.
    pub name: &'static str,
    pub version: &'static str,
    pub ports: &'static [u8],
    /// The paper's peaks at 64 bytes (Mpps) and at 1,500 (Gb/s), as far as its text states them.
    pub published: [Option<f64>; 2],
}

const ALL: &[u8] = &[0, 1, 2, 3];
pub(super) const ROWS: [RouterRow; 6] = [
    RouterRow { name: "I", version: "I", ports: ALL, published: [Some(6.8), Some(7.7)] },
    RouterRow { name: "II", version: "II", ports: ALL, published: [Some(7.5), Some(10.0)] },
    RouterRow { name: "III", version: "III", ports: ALL, published: [Some(9.75), Some(11.0)] },
    RouterRow { name: "III-d", version: "III.d", ports: ALL, published: [Some(6.8), Some(9.9)] },
    RouterRow { name: "IV", version: "IV", ports: ALL, published: [Some(9.75), Some(15.0)] },
    RouterRow {
        name: "V-two-cards",
        version: "V",
        ports: &[0, 2],
        published: [Some(11.7), Some(12.0)],
    },
];
/// The seeds of traces whose results are averaged (the paper: four traces).
pub(super) const SEEDS: [u64; 4] = [1, 2, 3, 4];

/// The results of a run, averaged over the traces.
#[derive(Clone, Debug, Serialize)]
struct Point {
    version: &'static str,
    bytes: &'static str,
    input: &'static str,
    /// The rate in the unit of the load.
    rate: f64,
    /// Cycles from the first word in to the last word out: the mean and the greatest.
    latency: f64,
    latency_most: f64,
    /// Per trace, the packets that golden sends and the router lost, and the packets that left out
    /// of order.
    lost: f64,
    reordered: f64,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("versions of the IPv4 router under rising rates");
    let rig = Rig::new(&settings.root)?;
    let mut trials: Vec<(&RouterRow, &Load, &str, u64)> = Vec::new();
    for row in &ROWS {
        for load in &LOADS {
            let of = |input: &&'static str| SEEDS.map(|seed| (row, load, *input, seed));
            trials.extend(load.inputs.iter().flat_map(of));
        }
    }
    let runs =
        sweep(&trials, workers(), |(row, load, input, seed)| run(&rig, row, load, input, *seed));
    let runs = runs.map_err(Error::new)?.into_iter().collect::<Result<Vec<_>>>()?;
    let mean = |runs: &[Point], of: fn(&Point) -> f64| {
        runs.iter().map(of).sum::<f64>() / SEEDS.len() as f64
    };
    let points: Vec<Point> = runs
        .chunks(SEEDS.len())
        .map(|runs| Point {
            rate: mean(runs, |run| run.rate),
            latency: mean(runs, |run| run.latency),
            latency_most: mean(runs, |run| run.latency_most),
            lost: mean(runs, |run| run.lost),
            reordered: mean(runs, |run| run.reordered),
            ..runs[0]
        })
        .collect();
    let data = serde_json::to_value(&points).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&points), data, svg: plot(&points), faults: vec![] })
}

fn run(rig: &Rig, row: &RouterRow, load: &Load, input: &'static str, seed: u64) -> Result<Point> {
    let packets = load.packets;
    let trace = Trace::new(seed, packets, load.bytes).on(row.ports);
    let mut setting = Setting { ports: row.ports.to_vec(), ..Setting::default() };
    if let Ok(offered) = input.parse::<f64>() {
        setting.rate = rate(offered * load.packets_of_unit, load.bytes, row.ports.len());
    }
    let version = Version::named(row.version);
    let ran = rig.run(version, &setting, &trace.packets, &trace.routes).map_err(|error| {
        let what = format!("{}, {} bytes, input {input}, seed {seed}", row.name, load.bytes);
        Error { message: format!("{what}: {}", error.message), ..error }
    })?;
    let (_, rate) = ran.played.rates();
    let latencies = latencies(&trace, &ran.played, packets, |entered| entered.begun);
    Ok(Point {
        version: row.name,
        bytes: load.name,
        input,
        rate: mpps(rate) * 1e6 / load.packets_of_unit,
        latency: latencies.iter().sum::<u64>() as f64 / latencies.len() as f64,
        latency_most: latencies.iter().max().map_or(0.0, |most| *most as f64),
        lost: ran.checked.lost as f64,
        reordered: ran.checked.reordered as f64,
    })
}

/// Returns the cycles of each packet from a point on its way in until its last word is out. The
/// cards must have lost none. Packets are identified by their IPv4 identification.
pub(super) fn latencies(
    trace: &Trace,
    played: &Played,
    packets: usize,
    from: fn(&Entered) -> u64,
) -> Vec<u64> {
    let number = |bytes: &[u8]| usize::from(bytes[4]) << 8 | usize::from(bytes[5]);
    let mut begun = vec![0; packets];
    for (packets, entered) in trace.packets.iter().zip(&played.entered) {
        for (packet, entered) in packets.iter().zip(entered) {
            begun[number(packet)] = from(entered);
        }
    }
    let delivered = played.delivered.iter().flatten();
    delivered.map(|packet| packet.ended - begun[number(&packet.bytes)]).collect()
}

fn text(points: &[Point]) -> String {
    let heads = ["version", "bytes", "offered", "rate", "latency", "most", "lost", "reordered"];
    let mut table = output::table(&heads, &[1, 2, 3, 4, 5, 6, 7]);
    for point in points {
        table.add_row([
            point.version.to_owned(),
            point.bytes.to_owned(),
            point.input.to_owned(),
            format!("{:.2}", point.rate),
            format!("{:.0}", point.latency),
            format!("{:.0}", point.latency_most),
            format!("{:.1}", point.lost),
            format!("{:.1}", point.reordered),
        ]);
    }
    let published = ROWS.iter().map(|row| {
        let peak = |at: usize| row.published[at].map_or("none".to_owned(), |peak| peak.to_string());
        format!("{} {} Mpps, {} Gb/s", row.name, peak(0), peak(1))
    });
    let published: Vec<String> = published.collect();
    format!(
        "{table}\n\n64 bytes in Mpps, 1,500 in Gb/s. Every packet is compared with golden. \
         The paper's peaks: {}.\n",
        published.join("; ")
    )
}

/// Plots both lengths in Gb/s, so that they share an axis.
fn plot(points: &[Point]) -> String {
    let gbps =
        |load: &Load, units: f64| units * load.packets_of_unit * load.bytes as f64 * 8.0 / 1e9;
    let line = |row: &RouterRow, load: &Load| {
        let own =
            points.iter().filter(|point| (point.version, point.bytes) == (row.name, load.name));
        let own = own.filter_map(|point| {
            let input: f64 = point.input.parse().ok()?;
            Some((gbps(load, input), gbps(load, point.rate)))
        });
        Line::through(format!("{}, {} bytes", row.name, load.bytes), own.collect())
    };
    let lines = ROWS.iter().flat_map(|row| LOADS.iter().map(move |load| line(row, load)));
    Lines {
        title: "Versions of the IPv4 router".to_owned(),
        x: "offered, Gb/s".to_owned(),
        y: "forwarded, Gb/s".to_owned(),
        lines: lines.collect(),
        limits: vec![],
    }
    .svg()
}
