//! Larger chips: the rate of the mapper's mappings by the number of tiles.

use serde::Serialize;
use wireloom_console::{Working, output};
use wireloom_machine::{Error, Result};
use wireloom_net::Packet;
use wireloom_plot::{Line, Lines};
use wireloom_raw::mapper::{self, Candidate, MachineSpec, Rates};
use wireloom_raw::routers::store;
use wireloom_sim::sweep_longest_first;

use super::rig::Rig;
use super::{Trace, tiled};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::{Values, slug};

pub const FIGURE: Figure = Figure {
    name: "raw-sizes",
    what: "RAW: rate of an IPv4 engine in Loom C over the tiles of the chip, 1 x 1 to 16 x 16, by mapping",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Dear,
        built: "programs/raw/ipv4.loom on machines/raw.toml with other sizes",
        names: &["side", "mapping"],
        skip: &[],
        tools: &[],
        tables: &[PageTable { name: "sizes", write: table }],
    },
};

/// Tiles per row and column.
const SIDES: [u32; 5] = [1, 2, 4, 8, 16];
/// Packets per tile that executes the engine: enough that its cache holds the addresses.
const PACKETS: usize = 400;
const BYTES: usize = 64;

/// A way to place the engine, on chips of all sizes.
#[derive(Clone, Copy, Debug)]
struct Way {
    name: &'static str,
    /// The number of chains on a chip of this side, and the number of tiles of each.
    chains: fn(usize) -> (usize, usize),
    /// The side of the largest chip on which it is measured.
    most: usize,
}

/// The largest side with one chain. Its rate hardly rises from 4 to 8, and larger runs take long.
const ONE_CHAIN: usize = 8;

/// The placements. In all of them the tiles of a chain take turns, and each executes the whole
/// engine.
const WAYS: [Way; 3] = [
    Way { name: "a chain of all tiles", chains: |side| (1, side * side), most: ONE_CHAIN },
    Way { name: "a chain for each row", chains: |side| (side, side), most: usize::MAX },
    Way {
        name: "a chain for each tile at the edge",
        chains: |side| ((4 * side).saturating_sub(5), 1),
        most: usize::MAX,
    },
];

#[derive(Clone, Debug, Serialize)]
struct Row {
    side: String,
    mapping: &'static str,
    tiles: usize,
    ports: usize,
    rates: Rates,
}

/// A mapping of a chip.
struct Case {
    side: u32,
    way: Way,
    candidate: Candidate,
}

/// Finds the mapper's mapping that places the engine in this way.
fn candidate(spec: &MachineSpec, way: &Way) -> Option<Candidate> {
    let side = spec.chip.columns as usize;
    let (chains, tiles) = (way.chains)(side);
    let is_it = |candidate: &Candidate| {
        let mapping = &candidate.mapping;
        mapping.chains.len() == chains && mapping.replicas == [tiles]
    };
    mapper::candidates(spec).into_iter().find(is_it).filter(|_| side <= way.most)
}

fn make(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("larger chips");
    let rig = Rig::new(&settings.root)?;
    let spec = &tiled("raw")?;
    let mut cases = Vec::new();
    for side in SIDES {
        let spec = sized(spec, side);
        let mut known: Vec<Candidate> = Vec::new();
        for way in WAYS {
            // On small chips some placements coincide.
            let found = candidate(&spec, &way).filter(|found| !known.contains(found));
            known.extend(found.clone());
            cases.extend(found.map(|candidate| Case { side, way, candidate }));
        }
    }
    let cost = |case: &Case| u64::from(case.side);
    let rows = sweep_longest_first(&cases, workers(), cost, |case| measured(&rig, spec, case));
    let rows: Vec<Row> = rows.map_err(Error::new)?.into_iter().collect::<Result<_>>()?;
    let heads = ["chip", "mapping", "tiles", "ports", "Mpps", "Gb/s", "latency, cycles"];
    let mut text = output::table(&heads, &[2, 3, 4, 5, 6]);
    for row in &rows {
        text.add_row([
            row.side.clone(),
            row.mapping.to_owned(),
            row.tiles.to_string(),
            row.ports.to_string(),
            format!("{:.2}", row.rates.mpps),
            format!("{:.2}", row.rates.gbps),
            format!("{:.0}", row.rates.latency),
        ]);
    }
    let lines = WAYS.iter().map(|way| {
        let own = rows.iter().filter(|row| row.mapping == way.name);
        let points = own.map(|row| (row.tiles as f64, row.rates.mpps)).collect();
        Line::through(way.name, points)
    });
    let svg = Lines {
        title: "Rate over tiles, packets of 64 bytes".to_owned(),
        x: "tiles that execute the engine".to_owned(),
        y: "Mpps".to_owned(),
        lines: lines.collect(),
        limits: vec![],
    };
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    let text = format!(
        "{text}\n\nFull load, {PACKETS} packets of {BYTES} bytes for each tile; the rate is that of the \
         middle half. One memory for all tiles.\n"
    );
    Ok(Drawn { text, data, svg: svg.svg(), faults: vec![] })
}

fn sized(spec: &MachineSpec, side: u32) -> MachineSpec {
    let mut spec = spec.clone();
    (spec.chip.columns, spec.chip.rows) = (side, side);
    spec
}

fn measured(rig: &Rig, spec: &MachineSpec, case: &Case) -> Result<Row> {
    let mapping = case.candidate.mapping.clone();
    let (tiles, ports) = (case.candidate.tiles(), mapping.chains.len());
    let spec = MachineSpec { mapping, ..sized(spec, case.side) };
    let trace = Trace::new(1, PACKETS * tiles, BYTES);
    let store = store(&rig.meaning, &trace.routes)?;
    // The packets of the trace arrive at all ports in turn.
    let all = trace.packets.into_iter().flatten().enumerate();
    let packets = all.map(|(number, bytes)| Packet {
        ingress: (number % ports) as u16,
        arrival_ns: 0,
        bytes,
    });
    let packets: Vec<Packet> = packets.collect();
    let rates = mapper::measure(&spec, &rig.meaning.optimised, &store, &packets)?;
    let side = format!("{0} x {0}", case.side);
    Ok(Row { side, mapping: case.way.name, tiles, ports, rates })
}

fn table(values: &Values) -> Result<Table> {
    let heads = ["chip", "mapping", "tiles", "ports", "Mpps", "Gb/s", "a tile, Mpps"];
    let mut table = Table::new(heads.into_iter().chain(["latency, cycles"]));
    for side in SIDES {
        let side = format!("{side} x {side}");
        for way in WAYS {
            let path = format!("{}.{}", slug(&side), slug(way.name));
            if !values.has(&format!("{path}.tiles")) {
                continue;
            }
            let of = |field: &str| values.get(&format!("{path}.{field}"));
            let (tiles, mpps) = (of("tiles")?, of("rates.mpps")?);
            table.row([
                side.clone(),
                way.name.to_owned(),
                format!("{tiles}"),
                format!("{}", of("ports")?),
                format!("{mpps:.2}"),
                format!("{:.2}", of("rates.gbps")?),
                format!("{:.3}", mpps / tiles),
                format!("{:.0}", of("rates.latency")?),
            ]);
        }
    }
    Ok(table)
}
