//! Engines in Loom C on all tiles of chips, with a chain in each row: the rate of several engines
//! and packet lengths, the use of the tiles' cycles, and the load of the single memory. Each packet
//! is compared with golden.

use std::sync::Mutex;

use serde::Serialize;
use wireloom_console::{Working, output};
use wireloom_ir::{Execute, Golden, Program, Verdict};
use wireloom_machine::{Error, Result};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::Store;
use wireloom_plot::{Bars, Group};
use wireloom_raw::mapper::{self, Candidate, MachineSpec, Rates};
use wireloom_raw::routers::store;
use wireloom_sim::sweep_longest_first;

use super::cycles::Cycles;
use super::rig::Rig;
use super::{Trace, tiled};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::np_traffic::Traffic;
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::{Values, slug};

pub const FIGURE: Figure = Figure {
    name: "raw-engines",
    what: "RAW: engines in Loom C on all tiles of 4 x 4 to 16 x 16: rates, what tiles wait for, the memory's load",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/raw/ipv4.loom and programs/router.loom without flow counting, on machines/raw.toml with \
                a chain in each row",
        names: &["side", "engine", "memory"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "rates", write: |values| table(values, &RATES) },
            PageTable { name: "cycles", write: |values| table(values, &CYCLES) },
        ],
    },
};

/// Packets per tile on chips of up to 64 tiles, whose caches fill in a quarter of a run.
const PACKETS: usize = 400;
/// Short packets per tile on chips of 256 tiles, whose caches take longer to fill through the
/// single memory.
const MANY: usize = 600;
/// Packets per tile in runs that would take minutes with more.
const FEWER: usize = 200;
const FEW: usize = 100;
const FEWEST: usize = 25;
/// Megabytes of memory for the whole router and its tables (assumed).
const ROUTER_MEGABYTES: u32 = 512;

/// An engine with its packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EngineLoad {
    /// programs/raw/ipv4.loom under a random trace of this length.
    Ipv4 { bytes: usize },
    /// The whole router with the Internet's routes, under this kind of traffic.
    Router { traffic: &'static str },
}

/// The differences of the memory from the description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Memory {
    name: &'static str,
    outstanding: Option<u32>,
    latency_cycles: Option<u32>,
}

const DESCRIBED: Memory = Memory { name: "as described", outstanding: None, latency_cycles: None };
const DEEP: Memory = Memory { name: "64 requests at a time", outstanding: Some(64), ..DESCRIBED };
const QUICK: Memory = Memory { name: "one cycle to a line", latency_cycles: Some(1), ..DESCRIBED };

/// The parameters of a run.
#[derive(Clone, Copy, Debug)]
struct Case {
    side: u32,
    name: &'static str,
    engine: EngineLoad,
    memory: Memory,
    /// Packets per tile.
    packets: usize,
}

const SHORT: EngineLoad = EngineLoad::Ipv4 { bytes: 64 };
const LONG: EngineLoad = EngineLoad::Ipv4 { bytes: 1500 };
const MIXED: EngineLoad = EngineLoad::Router { traffic: "all six" };

const fn case(side: u32, name: &'static str, engine: EngineLoad, memory: Memory) -> Case {
    Case { side, name, engine, memory, packets: PACKETS }
}

const CASES: [Case; 14] = [
    case(4, "IPv4, 64 bytes", SHORT, DESCRIBED),
    case(4, "IPv4, 1500 bytes", LONG, DESCRIBED),
    case(4, "router, IPv4", EngineLoad::Router { traffic: "IPv4" }, DESCRIBED),
    case(4, "router, IPv6", EngineLoad::Router { traffic: "IPv6" }, DESCRIBED),
    case(4, "router, MPLS", EngineLoad::Router { traffic: "MPLS_1" }, DESCRIBED),
    case(4, "router, all six", MIXED, DESCRIBED),
    case(8, "IPv4, 64 bytes", SHORT, DESCRIBED),
    Case { packets: FEW, ..case(8, "IPv4, 1500 bytes", LONG, DESCRIBED) },
    case(8, "router, all six", MIXED, DESCRIBED),
    case(8, "router, all six", MIXED, DEEP),
    case(8, "router, all six", MIXED, QUICK),
    Case { packets: MANY, ..case(16, "IPv4, 64 bytes", SHORT, DESCRIBED) },
    Case { packets: FEWEST, ..case(16, "IPv4, 1500 bytes", LONG, DESCRIBED) },
    Case { packets: FEWER, ..case(16, "router, all six", MIXED, DESCRIBED) },
];

/// Columns of the tables: head, field and decimals.
type Columns<const N: usize> = [(&'static str, &'static str, usize); N];
const RATES: Columns<5> = [
    ("packets a tile", "packets", 0),
    ("Mpps", "rates.mpps", 2),
    ("Gb/s", "rates.gbps", 2),
    ("cycles a packet and tile", "tile_cycles", 0),
    ("latency, cycles", "rates.latency", 0),
];
const CYCLES: Columns<7> = [
    ("Mpps", "rates.mpps", 2),
    ("instructions, %", "executed", 1),
    ("branches, operands, %", "pipeline", 1),
    ("cache, %", "misses", 1),
    ("network empty, %", "empty", 1),
    ("network full, %", "full", 1),
    ("memory gives words, %", "memory_busy", 1),
];

#[derive(Clone, Debug, Serialize)]
struct Row {
    side: String,
    engine: &'static str,
    memory: &'static str,
    /// Packets per tile.
    packets: usize,
    rates: Rates,
    /// Cycles between consecutive packets of a tile.
    tile_cycles: f64,
    /// The use of the tiles' cycles over the whole run, in percent. Network waits are for the
    /// static network.
    executed: f64,
    pipeline: f64,
    misses: f64,
    empty: f64,
    full: f64,
    /// Cycles in which the memory transferred a word of a line, or a header, in percent.
    memory_busy: f64,
}

fn make(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("engines on all tiles");
    let rig = Rig::new(&settings.root)?;
    let spec = &tiled("raw")?;
    let (router, tables) = settings.routing(false)?.into_parts();
    // A store can move to another thread, but two threads cannot share it.
    let tables = Mutex::new(tables);
    let kinds: Vec<Traffic> = CASES.iter().filter_map(Case::traffic).collect();
    let streams = settings.streams(&kinds)?;
    let cost = |case: &Case| u64::from(case.side);
    let packets_of = |case: &Case| case.packets * (case.side * case.side) as usize;
    let rows = sweep_longest_first(&CASES, workers(), cost, |case| {
        let packets = packets_of(case);
        match case.engine {
            EngineLoad::Ipv4 { bytes } => {
                let trace = Trace::new(1, packets, bytes);
                let routes = store(&rig.meaning, &trace.routes)?;
                let packets = trace.packets.into_iter().flatten().collect();
                measured(spec, case, &rig.meaning.optimised, &routes, packets)
            }
            EngineLoad::Router { traffic } => {
                let tables = tables.lock().expect("no thread panics with it").clone();
                let stream = streams.iter().find(|stream| stream.traffic.name == traffic);
                let stream = stream.into_iter().flat_map(|stream| &stream.packets);
                let stream = sent(&router.optimised, &tables, stream);
                let again = stream.iter().cycle().take(packets).cloned().collect();
                measured(spec, case, &router.optimised, &tables, again)
            }
        }
    });
    let rows: Vec<Row> = rows.map_err(Error::new)?.into_iter().collect::<Result<_>>()?;
    let heads = ["chip", "engine", "memory"].into_iter();
    let heads: Vec<&str> =
        heads.chain(RATES.map(|c| c.0)).chain(CYCLES[1..].iter().map(|c| c.0)).collect();
    let mut text = output::table(&heads, &(3..heads.len()).collect::<Vec<_>>());
    for row in &rows {
        let names = [row.side.as_str(), row.engine, row.memory].map(str::to_owned);
        let packets = row.packets as f64;
        let rates = [packets, row.rates.mpps, row.rates.gbps, row.tile_cycles, row.rates.latency];
        let shares = [row.executed, row.pipeline, row.misses, row.empty, row.full, row.memory_busy];
        let numbers = rates.into_iter().chain(shares).map(|number| format!("{number:.2}"));
        text.add_row(names.into_iter().chain(numbers));
    }
    let groups = rows.iter().map(|row| {
        let name = format!("{}, {}, {}", row.side, row.engine, row.memory);
        Group::new(name, [row.executed, row.pipeline, row.misses, row.empty, row.full])
    });
    let series = ["instructions", "branches, operands", "cache", "network empty", "network full"];
    let bars = Bars::new("Cycles of tiles", "%", series, groups.collect());
    let bars = Bars { is_stacked: true, ..bars };
    let svg = Bars::svg_of([&over_sides(&rows), &bars]);
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    let text = format!(
        "{text}\n\nFull load; rates are those of the middle half, shares those of the whole run. One \
         memory for all tiles.\n"
    );
    Ok(Drawn { text, data, svg, faults: vec![] })
}

/// Draws the rates of engines that run on chips of all sizes.
fn over_sides(rows: &[Row]) -> Bars {
    let mut sides: Vec<&str> = rows.iter().map(|row| row.side.as_str()).collect();
    sides.dedup();
    let described = || rows.iter().filter(|row| row.memory == DESCRIBED.name);
    let groups = described().filter(|row| row.side == sides[0]).filter_map(|first| {
        let same = described().filter(|row| row.engine == first.engine);
        let rates: Vec<f64> = same.map(|row| row.rates.gbps).collect();
        (rates.len() == sides.len()).then(|| Group::new(first.engine, rates))
    });
    Bars::new("Rate by size of the chip", "Gb/s", sides.iter().copied(), groups.collect())
}

impl Case {
    fn traffic(&self) -> Option<Traffic> {
        match self.engine {
            EngineLoad::Router { traffic } => Traffic::named(traffic),
            EngineLoad::Ipv4 { .. } => None,
        }
    }
}

/// Returns the bytes of the packets that golden sends, since rates count forwarded packets.
fn sent<'a>(
    program: &Program,
    tables: &Store,
    packets: impl IntoIterator<Item = &'a Packet>,
) -> Vec<Vec<u8>> {
    let mut golden = Golden::new(program.clone(), tables.clone());
    let is_sent = |packet: &&Packet| {
        let mut is_sent = false;
        let frames: [Frame<'_>; 1] = [packet.frame()];
        golden.offer(&frames, &mut |output| {
            is_sent = matches!(output.verdict, Verdict::Sent { .. });
        });
        is_sent
    };
    packets.into_iter().filter(is_sent).map(|packet| packet.bytes.clone()).collect()
}

/// Plays packets on a chip with a chain in each row, whose tiles execute the engine in turn.
fn measured(
    spec: &MachineSpec,
    case: &Case,
    program: &Program,
    tables: &Store,
    packets: Vec<Vec<u8>>,
) -> Result<Row> {
    let mut spec = spec.clone();
    let side = case.side as usize;
    (spec.chip.columns, spec.chip.rows) = (case.side, case.side);
    let memory = &mut spec.memory;
    memory.outstanding = case.memory.outstanding.unwrap_or(memory.outstanding);
    memory.latency_cycles = case.memory.latency_cycles.unwrap_or(memory.latency_cycles);
    if matches!(case.engine, EngineLoad::Router { .. }) {
        memory.megabytes = ROUTER_MEGABYTES;
    }
    let is_rows = |candidate: &Candidate| {
        let mapping = &candidate.mapping;
        mapping.chains.len() == side && mapping.replicas == [side]
    };
    let found = mapper::candidates(&spec).into_iter().find(is_rows);
    let found = found.ok_or_else(|| Error::new(format!("no rows on {side} x {side} tiles")))?;
    spec.mapping = found.mapping;
    let packets = packets.into_iter().enumerate().map(|(number, bytes)| Packet {
        ingress: (number % side) as u16,
        arrival_ns: 0,
        bytes,
    });
    let packets: Vec<Packet> = packets.collect();
    let machine = mapper::play(&spec, program, tables, &packets)?;
    let rates = mapper::rates(&spec, &machine, packets.len())?;
    let chip = machine.chip();
    let tiles = spec.mapping.chains.iter().flatten();
    let sum = tiles.fold(Cycles::default(), |sum, tile| sum + Cycles::of(chip, *tile));
    let all = sum.total().max(1.0);
    let share = |cycles: f64| 100.0 * cycles / all;
    let [.., wrong, operands, misses, static_empty, static_full, _, _, _] = sum.0;
    // A line of eight words has a header.
    let words: u64 = chip.accesses().map(|accesses| accesses.words).sum();
    let memory_busy = 100.0 * words as f64 * 9.0 / 8.0 / chip.cycles().max(1) as f64;
    Ok(Row {
        side: format!("{0} x {0}", case.side),
        engine: case.name,
        memory: case.memory.name,
        packets: case.packets,
        tile_cycles: rates.cycles * (side * side) as f64,
        rates,
        executed: share(sum.instructions()),
        pipeline: share(wrong + operands),
        misses: share(misses),
        empty: share(static_empty),
        full: share(static_full),
        memory_busy,
    })
}

/// Tabulates some columns of all runs for pages.
fn table(values: &Values, columns: &[(&'static str, &'static str, usize)]) -> Result<Table> {
    let heads = ["chip", "engine", "memory"].into_iter();
    let mut table = Table::new(heads.chain(columns.iter().map(|column| column.0)));
    for case in CASES {
        let side = format!("{0} x {0}", case.side);
        let path = [side.as_str(), case.name, case.memory.name].map(slug).join(".");
        let mut cells = vec![side, case.name.to_owned(), case.memory.name.to_owned()];
        for (_, field, decimals) in columns {
            cells.push(values.fixed(&format!("{path}.{field}"), *decimals)?);
        }
        table.row(cells);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_name_traffic_that_exists_and_differ() {
        for (number, case) in CASES.iter().enumerate() {
            assert_eq!(case.traffic().is_some(), matches!(case.engine, EngineLoad::Router { .. }));
            let key = |case: &Case| (case.side, case.name, case.memory.name);
            assert!(CASES[..number].iter().all(|other| key(other) != key(case)), "{case:?}");
        }
    }
}
