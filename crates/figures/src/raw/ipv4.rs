//! The IPv4 router, version III, under packets of 64 and of 1,500 bytes: rate against input (Figures 7
//! to 10), latency (Table 1), and on what its stages wait.

use serde::Serialize;
use wireloom_raw::Spec;
use wireloom_raw::board::{Board, Played};
use wireloom_raw::device::{Buffer, LineRate};
use wireloom_raw::routers::{IPV4, ipv4_board, write_routes};
use wireloom_sim::sweep;

use super::{PORTS, Trace, line, mpps, play, program};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::pages::{PageTable, Table};
use crate::store::Cost;
use crate::values::Values;
use wireloom_console::{Working, output};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Limit, Line, Lines};

/// The figure.
pub const FIGURE: Figure = Figure {
    name: "raw-ipv4",
    what: "RAW: the IPv4 router written by hand (version III), 64 and 1,500 bytes: rate and latency against input, and on what its stages wait",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/raw/ipv4.rasm on machines/raw.toml",
        names: &["bytes", "input", "stage"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "rates-64", write: |values| rates(values, &LOADS[0]) },
            PageTable { name: "rates-1500", write: |values| rates(values, &LOADS[1]) },
            PageTable { name: "latency", write: latency },
            PageTable { name: "stages", write: stages },
        ],
    },
};

/// Packets of one length.
struct Load {
    name: &'static str,
    bytes: usize,
    /// Packets of a trace.
    packets: usize,
    /// Offered on all ports, in the unit; the last is without limit.
    inputs: &'static [&'static str],
    unit: &'static str,
    /// Packets a second of a unit.
    packets_of_unit: f64,
    /// Figures 7 and 8: the peak of version III, in the unit.
    published: f64,
    /// Table 1, cycles.
    latency: f64,
}

/// The paper's lengths. Its traces have 4,000 packets; of long ones a tenth is enough here, since a
/// run's middle half counts.
const LOADS: [Load; 2] = [
    Load {
        name: "64",
        bytes: 64,
        packets: 4000,
        inputs: &["1", "2", "4", "6", "8", "10", "12", "14", "16", "18", "all"],
        unit: "Mpps",
        packets_of_unit: 1e6,
        published: 9.75,
        latency: 690.0,
    },
    Load {
        name: "1500",
        bytes: 1500,
        packets: 400,
        inputs: &["4", "8", "12", "16", "20", "24", "28", "all"],
        unit: "Gb/s",
        packets_of_unit: 1e9 / 12_000.0,
        published: 11.0,
        latency: 5394.0,
    },
];
/// Traces, by seed, whose results are averaged (the paper: four).
const SEEDS: [u64; 4] = [1, 2, 3, 4];
const STAGES: [&str; 4] = ["lookup", "check", "decision", "queue"];

/// A run, averaged over the traces.
#[derive(Clone, Debug, Serialize)]
struct Point {
    bytes: &'static str,
    input: &'static str,
    /// In the unit of the load.
    rate: f64,
    /// Cycles from the first word in to the last word out: mean and most.
    latency: f64,
    latency_most: f64,
}

/// A stage under full load, a packet, averaged over columns and traces.
#[derive(Clone, Debug, Serialize)]
struct Stage {
    bytes: &'static str,
    stage: &'static str,
    /// Cycles between packets of a column.
    cycles: f64,
    instructions: f64,
    misses: f64,
}

#[derive(Serialize)]
struct Data {
    points: Vec<Point>,
    stages: Vec<Stage>,
}

/// A run of a trace.
struct Run {
    point: Point,
    stages: Vec<Stage>,
}

fn make(_: &Settings) -> Result<Drawn> {
    let _working = Working::on("the IPv4 router under rising rates");
    let of_load = |load: &'static Load| {
        load.inputs.iter().flat_map(move |input| SEEDS.map(|seed| (load, *input, seed)))
    };
    let trials: Vec<(&Load, &str, u64)> = LOADS.iter().flat_map(of_load).collect();
    let runs = sweep(&trials, workers(), |(load, input, seed)| run(load, input, *seed));
    let runs = runs.map_err(Error::new)?.into_iter().collect::<Result<Vec<_>>>()?;
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / SEEDS.len() as f64;
    let points: Vec<Point> = runs
        .chunks(SEEDS.len())
        .map(|runs| Point {
            rate: mean(&mut runs.iter().map(|run| run.point.rate)),
            latency: mean(&mut runs.iter().map(|run| run.point.latency)),
            latency_most: mean(&mut runs.iter().map(|run| run.point.latency_most)),
            ..runs[0].point
        })
        .collect();
    let full = runs.chunks(SEEDS.len()).filter(|runs| runs[0].point.input == "all");
    let stages = full.flat_map(|full| {
        STAGES.iter().enumerate().map(|(number, stage)| Stage {
            bytes: full[0].point.bytes,
            stage,
            cycles: mean(&mut full.iter().map(|run| run.stages[number].cycles)),
            instructions: mean(&mut full.iter().map(|run| run.stages[number].instructions)),
            misses: mean(&mut full.iter().map(|run| run.stages[number].misses)),
        })
    });
    let data = Data { points, stages: stages.collect() };
    let svg = plot(&data.points);
    let text = text(&data);
    let data = serde_json::to_value(&data).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text, data, svg, faults: vec![] })
}

fn run(load: &Load, input: &'static str, seed: u64) -> Result<Run> {
    let trace = Trace::new(seed, load.packets, load.bytes);
    let rate = match input.parse::<f64>() {
        Ok(offered) => {
            let hertz = super::MHZ as f64 * 1e6;
            line(load.bytes, PORTS as f64 * hertz / (offered * load.packets_of_unit))
        }
        Err(_) => LineRate::UNLIMITED,
    };
    let board = ipv4_board(rate, Buffer::Stall);
    let program = program("ipv4.rasm", IPV4)?;
    let mut board = Board::new(&Spec::built_in(), &program, board, trace.packets.clone())
        .map_err(Error::new)?;
    write_routes(&mut board, &trace.routes).map_err(Error::new)?;
    let played = play(&mut board)?;
    let left: usize = played.delivered.iter().map(Vec::len).sum();
    if left != load.packets {
        return Err(Error::new(format!(
            "{} bytes, input {input}, seed {seed}: {left} of {} packets left",
            load.bytes, load.packets
        )));
    }
    let (_, packets) = played.rates();
    let latencies = latencies(&trace, &played, load.packets);
    let point = Point {
        bytes: load.name,
        input,
        rate: mpps(packets) * 1e6 / load.packets_of_unit,
        latency: latencies.iter().sum::<u64>() as f64 / latencies.len() as f64,
        latency_most: latencies.iter().max().map_or(0.0, |most| *most as f64),
    };
    let stages = (0..4u8).zip(STAGES).map(|(row, stage)| {
        let counts = (0..PORTS as u8).map(|column| board.chip.counts((column, row)));
        let (executed, misses) =
            counts.fold((0, 0), |sum, (executed, _, misses)| (sum.0 + executed, sum.1 + misses));
        Stage {
            bytes: load.name,
            stage,
            cycles: PORTS as f64 / packets,
            instructions: executed as f64 / load.packets as f64,
            misses: misses as f64 / load.packets as f64,
        }
    });
    Ok(Run { point, stages: stages.collect() })
}

/// Cycles of each packet from its first word in to its last word out. Packets are known by their
/// identification.
fn latencies(trace: &Trace, played: &Played, packets: usize) -> Vec<u64> {
    let number = |bytes: &[u8]| usize::from(bytes[4]) << 8 | usize::from(bytes[5]);
    let mut begun = vec![0; packets];
    for (packets, entered) in trace.packets.iter().zip(&played.entered) {
        for (packet, entered) in packets.iter().zip(entered) {
            begun[number(packet)] = entered.begun;
        }
    }
    let delivered = played.delivered.iter().flatten();
    delivered.map(|packet| packet.ended - begun[number(&packet.bytes)]).collect()
}

fn text(data: &Data) -> String {
    let mut table =
        output::table(&["bytes", "offered", "rate", "latency", "most"], &[0, 1, 2, 3, 4]);
    for point in &data.points {
        table.add_row([
            point.bytes.to_owned(),
            point.input.to_owned(),
            format!("{:.2}", point.rate),
            format!("{:.0}", point.latency),
            format!("{:.0}", point.latency_most),
        ]);
    }
    let mut own =
        output::table(&["bytes", "stage", "cycles", "instructions", "misses"], &[0, 2, 3, 4]);
    for stage in &data.stages {
        own.add_row([
            stage.bytes.to_owned(),
            stage.stage.to_owned(),
            format!("{:.1}", stage.cycles),
            format!("{:.1}", stage.instructions),
            format!("{:.2}", stage.misses),
        ]);
    }
    let published = LOADS.iter().map(|load| {
        format!("{} bytes {} {}, {} cycles", load.bytes, load.published, load.unit, load.latency)
    });
    let published: Vec<String> = published.collect();
    format!(
        "{table}\n\n{own}\n\n64 bytes in Mpps, 1,500 in Gb/s; stages a packet, in a column, under full load. \
         The paper: {}.\n",
        published.join("; ")
    )
}

/// The rate of both lengths as a share of the paper's peak, so that they have one axis.
fn plot(points: &[Point]) -> String {
    let line = |load: &Load| {
        let own = points.iter().filter(|point| point.bytes == load.name);
        let own = own.filter_map(|point| {
            let input: f64 = point.input.parse().ok()?;
            Some((input / load.published, point.rate / load.published))
        });
        Line::through(format!("{} bytes", load.bytes), own.collect())
    };
    let ideal = LOADS[0].inputs.iter().filter_map(|input| input.parse::<f64>().ok());
    let ideal = ideal.map(|input| (input / LOADS[0].published, input / LOADS[0].published));
    Lines {
        title: "IPv4 router written by hand, by the peaks of the paper's version III".to_owned(),
        x: "offered, of the paper's peak (9.75 Mpps, 11 Gb/s)".to_owned(),
        y: "forwarded, of the paper's peak".to_owned(),
        lines: LOADS.iter().map(line).chain([Line::through("ideal", ideal.collect())]).collect(),
        limits: vec![Limit::new("the paper's version III", 1.0)],
    }
    .svg()
}

/// Rate and latency against input, for pages.
fn rates(values: &Values, load: &Load) -> Result<Table> {
    let heads = load.inputs.iter().map(|input| (*input).to_owned());
    let mut table = Table::new(
        [format!("{} bytes offered, {}", load.bytes, load.unit)].into_iter().chain(heads),
    );
    for (name, field, decimals) in [
        (format!("forwarded, {}", load.unit), "rate", 2),
        ("mean latency, cycles".to_owned(), "latency", 0),
        ("greatest latency, cycles".to_owned(), "latency_most", 0),
    ] {
        let mut cells = vec![name];
        for input in load.inputs {
            cells.push(values.fixed(&format!("points.{}.{input}.{field}", load.name), decimals)?);
        }
        table.row(cells);
    }
    Ok(table)
}

/// Latency and peaks next to Table 1 and Figures 7 and 8.
fn latency(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "bytes",
        "Table 1",
        "four stages, full load",
        "off",
        "mean latency, lowest rate",
        "version III's peak",
        "peak",
        "off",
    ]);
    for load in &LOADS {
        let of = |key: &str| values.get(key);
        let stages = 4.0 * of(&format!("stages.{}.lookup.cycles", load.name))?;
        let low = of(&format!("points.{}.{}.latency", load.name, load.inputs[0]))?;
        let peak = of(&format!("points.{}.all.rate", load.name))?;
        let off =
            |value: f64, published: f64| format!("{:+.0} %", 100.0 * (value / published - 1.0));
        table.row([
            load.bytes.to_string(),
            format!("{:.0}", load.latency),
            format!("{stages:.0}"),
            off(stages, load.latency),
            format!("{low:.0}"),
            format!("{} {}", load.published, load.unit),
            format!("{peak:.2} {}", load.unit),
            off(peak, load.published),
        ]);
    }
    Ok(table)
}

/// What stages do and wait under full load, for pages.
fn stages(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "a packet, full load",
        "bytes",
        "cycles",
        "instructions",
        "waiting and lost to branches",
        "cache misses",
    ]);
    for load in &LOADS {
        for stage in STAGES {
            let of = |field: &str| values.get(&format!("stages.{}.{stage}.{field}", load.name));
            let (cycles, instructions) = (of("cycles")?, of("instructions")?);
            table.row([
                stage.to_owned(),
                load.bytes.to_string(),
                format!("{cycles:.1}"),
                format!("{instructions:.1}"),
                format!("{:.1}", cycles - instructions),
                format!("{:.2}", of("misses")?),
            ]);
        }
    }
    Ok(table)
}
