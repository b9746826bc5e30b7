//! The IPv4 router under packets of 64 bytes: rate against input (Figures 8 and 10), latency (Table 1),
//! and on what its stages wait.

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
    what: "RAW: the IPv4 router written by hand, 64 bytes: rate and latency against input, and on what its stages wait",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/raw/ipv4.rasm on crates/raw/raw.toml",
        names: &["input", "stage"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "rates", write: rates },
            PageTable { name: "stages", write: stages },
        ],
    },
};

/// Offered million packets a second on all ports; the last is without limit.
const INPUTS: [&str; 11] = ["1", "2", "4", "6", "8", "10", "12", "14", "16", "18", "all"];
/// Traces, by seed, whose results are averaged (the paper: four).
const SEEDS: [u64; 4] = [1, 2, 3, 4];
/// Packets of a trace (the paper).
const PACKETS: usize = 4000;
const BYTES: usize = 64;
/// Figure 8: versions III and IV, million packets a second.
const PUBLISHED_MPPS: f64 = 9.75;
/// Table 1, cycles.
const PUBLISHED_LATENCY: f64 = 690.0;
const STAGES: [&str; 4] = ["lookup", "check", "decision", "queue"];

/// A run, averaged over the traces.
#[derive(Clone, Debug, Serialize)]
struct Point {
    input: &'static str,
    mpps: f64,
    /// Cycles from the first word in to the last word out: mean and most.
    latency: f64,
    latency_most: f64,
}

/// A stage under full load, a packet, averaged over columns and traces.
#[derive(Clone, Debug, Serialize)]
struct Stage {
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
    let trials: Vec<(&str, u64)> =
        INPUTS.iter().flat_map(|input| SEEDS.map(|seed| (*input, seed))).collect();
    let runs = sweep(&trials, workers(), |(input, seed)| run(input, *seed));
    let runs = runs.map_err(Error::new)?.into_iter().collect::<Result<Vec<_>>>()?;
    let mean = |values: &mut dyn Iterator<Item = f64>| values.sum::<f64>() / SEEDS.len() as f64;
    let points: Vec<Point> = runs
        .chunks(SEEDS.len())
        .map(|runs| Point {
            input: runs[0].point.input,
            mpps: mean(&mut runs.iter().map(|run| run.point.mpps)),
            latency: mean(&mut runs.iter().map(|run| run.point.latency)),
            latency_most: mean(&mut runs.iter().map(|run| run.point.latency_most)),
        })
        .collect();
    let full = &runs[runs.len() - SEEDS.len()..];
    let stages = STAGES.iter().enumerate().map(|(number, stage)| Stage {
        stage,
        cycles: mean(&mut full.iter().map(|run| run.stages[number].cycles)),
        instructions: mean(&mut full.iter().map(|run| run.stages[number].instructions)),
        misses: mean(&mut full.iter().map(|run| run.stages[number].misses)),
    });
    let data = Data { points, stages: stages.collect() };
    let svg = plot(&data.points);
    let text = text(&data);
    let data = serde_json::to_value(&data).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text, data, svg, faults: vec![] })
}

fn run(input: &'static str, seed: u64) -> Result<Run> {
    let trace = Trace::new(seed, PACKETS, BYTES);
    let rate = match input.parse::<f64>() {
        Ok(offered) => line(BYTES, PORTS as f64 * super::MHZ as f64 / offered),
        Err(_) => LineRate::UNLIMITED,
    };
    let board = ipv4_board(rate, Buffer::Stall);
    let program = program("ipv4.rasm", IPV4)?;
    let mut board = Board::new(&Spec::built_in(), &program, board, trace.packets.clone())
        .map_err(Error::new)?;
    write_routes(&mut board, &trace.routes).map_err(Error::new)?;
    let played = play(&mut board)?;
    let left: usize = played.delivered.iter().map(Vec::len).sum();
    if left != PACKETS {
        return Err(Error::new(format!(
            "input {input}, seed {seed}: {left} of {PACKETS} packets left"
        )));
    }
    let (_, packets) = played.rates();
    let latencies = latencies(&trace, &played);
    let point = Point {
        input,
        mpps: mpps(packets),
        latency: latencies.iter().sum::<u64>() as f64 / latencies.len() as f64,
        latency_most: latencies.iter().max().map_or(0.0, |most| *most as f64),
    };
    let stages = (0..4u8).zip(STAGES).map(|(row, stage)| {
        let counts = (0..PORTS as u8).map(|column| board.chip.counts((column, row)));
        let (executed, misses) =
            counts.fold((0, 0), |sum, (executed, _, misses)| (sum.0 + executed, sum.1 + misses));
        Stage {
            stage,
            cycles: PORTS as f64 / packets,
            instructions: executed as f64 / PACKETS as f64,
            misses: misses as f64 / PACKETS as f64,
        }
    });
    Ok(Run { point, stages: stages.collect() })
}

/// Cycles of each packet from its first word in to its last word out. Packets are known by their
/// identification.
fn latencies(trace: &Trace, played: &Played) -> Vec<u64> {
    let number = |bytes: &[u8]| usize::from(bytes[4]) << 8 | usize::from(bytes[5]);
    let mut begun = vec![0; PACKETS];
    for (packets, entered) in trace.packets.iter().zip(&played.entered) {
        for (packet, entered) in packets.iter().zip(entered) {
            begun[number(packet)] = entered.begun;
        }
    }
    let delivered = played.delivered.iter().flatten();
    delivered.map(|packet| packet.ended - begun[number(&packet.bytes)]).collect()
}

fn text(data: &Data) -> String {
    let mut table = output::table(&["offered Mpps", "Mpps", "latency", "most"], &[0, 1, 2, 3]);
    for point in &data.points {
        table.add_row([
            point.input.to_owned(),
            format!("{:.2}", point.mpps),
            format!("{:.0}", point.latency),
            format!("{:.0}", point.latency_most),
        ]);
    }
    let mut own = output::table(&["stage", "cycles", "instructions", "misses"], &[1, 2, 3]);
    for stage in &data.stages {
        own.add_row([
            stage.stage.to_owned(),
            format!("{:.1}", stage.cycles),
            format!("{:.1}", stage.instructions),
            format!("{:.2}", stage.misses),
        ]);
    }
    format!(
        "{table}\n\n{own}\n\nA packet, in a column, under full load. The paper: {PUBLISHED_MPPS} Mpps, \
         {PUBLISHED_LATENCY} cycles of latency.\n"
    )
}

fn plot(points: &[Point]) -> String {
    let finite = points.iter().filter_map(|point| Some((point.input.parse().ok()?, point.mpps)));
    let ideal = INPUTS.iter().filter_map(|input| input.parse::<f64>().ok());
    Lines {
        title: "IPv4 router written by hand, 64 bytes".to_owned(),
        x: "offered, Mpps".to_owned(),
        y: "forwarded, Mpps".to_owned(),
        lines: vec![
            Line::through("measured", finite.collect()),
            Line::through("ideal", ideal.map(|input| (input, input)).collect()),
        ],
        limits: vec![Limit::new("the paper's versions III and IV", PUBLISHED_MPPS)],
    }
    .svg()
}

/// Rate and latency against input, for pages.
fn rates(values: &Values) -> Result<Table> {
    let heads = INPUTS.iter().map(|input| (*input).to_owned());
    let mut table = Table::new(["offered, Mpps".to_owned()].into_iter().chain(heads));
    for (name, field, decimals) in [
        ("forwarded, Mpps", "mpps", 2),
        ("mean latency, cycles", "latency", 0),
        ("greatest latency, cycles", "latency_most", 0),
    ] {
        let mut cells = vec![name.to_owned()];
        for input in INPUTS {
            cells.push(values.fixed(&format!("points.{input}.{field}"), decimals)?);
        }
        table.row(cells);
    }
    Ok(table)
}

/// What stages do and wait under full load, for pages.
fn stages(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "a packet, full load",
        "cycles",
        "instructions",
        "waiting and lost to branches",
        "cache misses",
    ]);
    for stage in STAGES {
        let of = |field: &str| values.get(&format!("stages.{stage}.{field}"));
        let (cycles, instructions) = (of("cycles")?, of("instructions")?);
        table.row([
            stage.to_owned(),
            format!("{cycles:.1}"),
            format!("{instructions:.1}"),
            format!("{:.1}", cycles - instructions),
            format!("{:.2}", of("misses")?),
        ]);
    }
    Ok(table)
}
