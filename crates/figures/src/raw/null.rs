//! The null router: its latency (Table 1) and its rate under real traffic (Figure 15).

use serde::Serialize;
use wireloom_raw::Spec;
use wireloom_raw::board::Board;
use wireloom_raw::device::{Buffer, LineRate};
use wireloom_raw::routers::{NULL, NULL_SWITCHES, null_board};
use wireloom_sim::Rng;

use super::captures::{self, Mix};
use super::{PORTS, gbps, line, mpps, play, program, udp};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::Values;
use wireloom_console::{Working, output};
use wireloom_machine::{Error, Result};
use wireloom_plot::{Bars, Group};

pub const FIGURE: Figure = Figure {
    name: "raw-null",
    what: "RAW: null routers, latency of 64 and 1,500 bytes and rates under packets of one and of all sizes",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/raw/null.rasm and null-switches.rasm on machines/raw.toml",
        names: &["router", "traffic"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "latency", write: latency },
            PageTable { name: "rates", write: rates },
        ],
    },
};

const ROUTERS: [(&str, &str); 2] = [("null", NULL), ("null-switches", NULL_SWITCHES)];
const TRAFFIC: [&str; 7] = ["64", "128", "1500", "mix", "real", "real-ecn", "real-http"];
/// Table 1: bytes and cycles.
const PUBLISHED: [(&str, f64); 2] = [("64", 416.0), ("1500", 3490.0)];
/// Figure 15: Gb/s.
const PUBLISHED_GBPS: f64 = 15.5;
/// Packets per input.
const PACKETS: usize = 1000;
/// Packet sizes with the mean of the paper's trace, about 128 bytes, and their frequencies in
/// percent (assumed: the trace is not available).
const MIX: [(usize, u64); 3] = [(64, 93), (576, 4), (1500, 3)];
/// The results of a run.
#[derive(Clone, Debug, Serialize)]
struct Row {
    router: &'static str,
    traffic: &'static str,
    mean_bytes: f64,
    /// Cycles from the first word in to the last word out of a lone packet; only for packets of one
    /// size.
    latency: Option<u64>,
    /// The time of four stages: four times the cycles between packets of a column at full load.
    stages: f64,
    mpps: f64,
    gbps: f64,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("null routers");
    let mut rows = Vec::new();
    for (router, text) in ROUTERS {
        for traffic in TRAFFIC {
            rows.push(measure(settings, router, text, traffic)?);
        }
    }
    let bars = |name: &str| {
        let of = |router: &str| rows.iter().find(|row| row.router == router && row.traffic == name);
        Group::new(name, ROUTERS.iter().filter_map(|(router, _)| of(router)).map(|row| row.gbps))
    };
    let groups = TRAFFIC.iter().map(|name| bars(name)).collect();
    let series = ["every stage stores the packet", "switches alone"];
    let svg = Bars::new("Null routers by traffic", "Gb/s", series, groups)
        .with_limit("the paper's, real traffic", PUBLISHED_GBPS)
        .svg();
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    Ok(Drawn { text: text(&rows), data, svg, faults: vec![] })
}

/// Returns the packets of each input.
pub(super) fn packets(settings: &Settings, traffic: &str) -> Result<Vec<Vec<Vec<u8>>>> {
    if let Some(mix) = Mix::named(traffic) {
        return mix.packets(settings, PACKETS);
    }
    let mut inputs = vec![Vec::new(); PORTS];
    if traffic == "real" {
        let frames = captures::first(settings, captures::REAL, PORTS * PACKETS)?;
        for (number, frame) in frames.into_iter().enumerate() {
            inputs[number % PORTS].push(frame);
        }
        return Ok(inputs);
    }
    let mut rng = Rng::new(1, "raw sizes");
    for number in 0..PORTS * PACKETS {
        let mut size = || {
            let mut draw = rng.below(100);
            let mut sizes = MIX.iter().skip_while(|(_, share)| {
                let is_later = draw >= *share;
                draw -= if is_later { *share } else { 0 };
                is_later
            });
            sizes.next().map_or(64, |(size, _)| *size)
        };
        let bytes = if traffic == "mix" { size() } else { traffic.parse().unwrap_or(64) };
        inputs[number % PORTS].push(udp(number as u16, number as u32, !number as u32, bytes));
    }
    Ok(inputs)
}

fn measure(
    settings: &Settings,
    router: &'static str,
    text: &str,
    traffic: &'static str,
) -> Result<Row> {
    let (chip, program) = (Spec::built_in(), program(router, text)?);
    let sent = packets(settings, traffic)?;
    let sizes: Vec<usize> = sent.iter().flatten().map(Vec::len).collect();
    let mean_bytes = sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
    let board = null_board(LineRate::UNLIMITED, Buffer::Stall);
    let mut board = Board::new(&chip, &program, board, sent.clone()).map_err(Error::new)?;
    let played = play(&mut board)?;
    let differs = played
        .delivered
        .iter()
        .zip(&sent)
        .any(|(delivered, sent)| !delivered.iter().map(|packet| &packet.bytes).eq(sent));
    if differs {
        return Err(Error::new(format!("{router}, {traffic}: packets do not leave as they came")));
    }
    let (bytes, packets) = played.rates();
    let is_of_one_size = sizes.iter().all(|size| *size == sizes[0]);
    let latency =
        if is_of_one_size { Some(alone(&chip, &program, &sent, sizes[0])?) } else { None };
    Ok(Row {
        router,
        traffic,
        mean_bytes,
        latency,
        stages: 4.0 * PORTS as f64 / packets,
        mpps: mpps(packets),
        gbps: gbps(bytes),
    })
}

/// Returns the latency of a lone packet that is not the first, so that caches are warm.
fn alone(
    chip: &Spec,
    program: &wireloom_raw::asm::Program,
    sent: &[Vec<Vec<u8>>],
    bytes: usize,
) -> Result<u64> {
    let few = sent.iter().map(|packets| packets[..3].to_vec());
    let board = null_board(line(bytes, super::INSIDE as f64 / 2.0), Buffer::Stall);
    let mut board = Board::new(chip, program, board, few).map_err(Error::new)?;
    let played = play(&mut board)?;
    Ok(played.delivered[0][2].ended - played.entered[0][2].begun)
}

fn text(rows: &[Row]) -> String {
    let heads = ["router", "traffic", "mean bytes", "latency", "four stages", "Mpps", "Gb/s"];
    let mut table = output::table(&heads, &[2, 3, 4, 5, 6]);
    for row in rows {
        table.add_row([
            row.router.to_owned(),
            row.traffic.to_owned(),
            format!("{:.0}", row.mean_bytes),
            row.latency.map_or(String::new(), |cycles| cycles.to_string()),
            format!("{:.0}", row.stages),
            format!("{:.2}", row.mpps),
            format!("{:.2}", row.gbps),
        ]);
    }
    format!(
        "{table}\n\nCycles at {} MHz. The paper: 416 and 3,490 cycles, {PUBLISHED_GBPS} Gb/s of real traffic.\n",
        super::MHZ
    )
}

/// Tabulates latencies next to Table 1.
fn latency(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "cycles",
        "published",
        "`null`: four stages, full load",
        "off",
        "`null`: alone",
        "off",
        "`null-switches`: alone",
    ]);
    for (bytes, published) in PUBLISHED {
        let of = |router: &str, field: &str| values.get(&format!("{router}.{bytes}.{field}"));
        let off = |value: f64| format!("{:+.0} %", 100.0 * (value / published - 1.0));
        let (stages, alone) = (of("null", "stages")?, of("null", "latency")?);
        table.row([
            format!("{bytes} bytes"),
            format!("{published:.0}"),
            format!("{stages:.0}"),
            off(stages),
            format!("{alone:.0}"),
            off(alone),
            format!("{:.0}", of("null-switches", "latency")?),
        ]);
    }
    Ok(table)
}

/// Tabulates rates next to Figure 15.
fn rates(values: &Values) -> Result<Table> {
    let mut table = Table::new([
        "traffic",
        "mean bytes",
        "`null`, Gb/s",
        "Mpps",
        "`null-switches`, Gb/s",
        "Mpps",
    ]);
    for traffic in TRAFFIC {
        let of =
            |router: &str, field: &str| values.fixed(&format!("{router}.{traffic}.{field}"), 2);
        let mean = values.fixed(&format!("null.{traffic}.mean_bytes"), 0)?;
        table.row([
            traffic.to_owned(),
            mean,
            of("null", "gbps")?,
            of("null", "mpps")?,
            of("null-switches", "gbps")?,
            of("null-switches", "mpps")?,
        ]);
    }
    Ok(table)
}
