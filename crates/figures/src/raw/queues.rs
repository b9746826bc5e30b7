//! Queues at the outputs of an engine on the chip: their drops during bursts, and the rate of one
//! queue. Each packet that leaves is compared with golden.

use std::sync::Arc;

use serde::Serialize;
use wireloom_codegen_tile::{Queue, Ready};
use wireloom_console::{Working, output};
use wireloom_machine::{Contender, Error, Options, Rate, Result};
use wireloom_net::{Frame, Packet};
use wireloom_plot::{Line, Lines};
use wireloom_raw::dir24::Route;
use wireloom_raw::mapper::{MachineSpec, QueueMemory, Queues, RestSpec};
use wireloom_raw::routers::store;
use wireloom_sim::sweep;

use super::rig::Rig;
use super::{PORTS, tiled, udp};
use crate::Settings;
use crate::figure::{Choice, Drawn, Figure, Kept};
use crate::mpsoc::workers;
use crate::store::Cost;
use crate::table::{PageTable, Table};
use crate::values::{Values, slug};

pub const FIGURE: Figure = Figure {
    name: "raw-queues",
    what: "RAW: what queues at outputs drop of bursts, and how fast a queue is",
    choice: Choice::None,
    make,
    kept: Kept {
        cost: Cost::Cheap,
        built: "programs/raw/ipv4.loom on machines/raw-queues.toml",
        names: &["queue", "traffic"],
        skip: &[],
        tools: &[],
        tables: &[
            PageTable { name: "dropped", write: |values| bursts(values, "dropped", 1) },
            PageTable { name: "fluid", write: |values| bursts(values, "fluid", 1) },
            PageTable { name: "latency", write: |values| bursts(values, "latency", 0) },
            PageTable { name: "one", write: one },
        ],
    },
};

/// The queue at each output.
#[derive(Clone, Copy, Debug)]
struct Place {
    name: &'static str,
    memory: QueueMemory,
    bytes: u32,
    ready: Ready,
    /// Whether only the heads of packets go to the tiles.
    rests: bool,
}

const fn tile(name: &'static str, bytes: u32) -> Place {
    Place { name, memory: QueueMemory::Tile, bytes, ready: Ready::Interrupts, rests: false }
}

const fn dram(name: &'static str, bytes: u32) -> Place {
    Place { memory: QueueMemory::Dram, ..tile(name, bytes) }
}

/// Queues that receive bursts.
const PLACES: [Place; 4] = [
    tile("2 KB, tile memory", 2 << 10),
    tile("8 KB, tile memory", 8 << 10),
    tile("28 KB, tile memory", 28 << 10),
    dram("128 KB, DRAM", 128 << 10),
];
/// Queues on unlimited lines.
const ALONE: [Place; 6] = [
    Place { ready: Ready::Polling, ..tile("tile memory, polling", 28 << 10) },
    tile("tile memory, interrupts", 28 << 10),
    Place { ready: Ready::Polling, ..dram("DRAM, polling", 1 << 20) },
    dram("DRAM, interrupts", 1 << 20),
    Place { rests: true, ..tile("tile memory, interrupts, rests in cards", 28 << 10) },
    Place { rests: true, ..dram("DRAM, interrupts, rests in cards", 1 << 20) },
];
/// Numbers of packets in a burst to one output.
const BURSTS: [(&str, usize); 4] = [("16", 16), ("64", 64), ("256", 256), ("1024", 1024)];
/// Loads on unlimited lines: the name, the number of outputs that receive packets in turn, and
/// packet bytes.
const LOADS: [(&str, usize, usize); 3] =
    [("64 bytes to one", 1, 64), ("1500 bytes to one", 1, 1500), ("64 bytes to all", PORTS, 64)];
/// Packets in a run of short packets, and in a run of long ones.
const PACKETS: usize = 4096;
const LONG_PACKETS: usize = 512;
/// Bytes of packets in bursts.
const BYTES: usize = 64;
/// Million packets per second at all inputs together. At any time all of them go to the same
/// output.
const OFFERED: f64 = 2.0;
/// The rate of each line: half of the offered rate during a burst, twice the average rate.
const LINE_MBPS: u32 = 512;
/// Packets in a line card in addition to those in the queue.
const CARD: f64 = 2.0;

#[derive(Clone, Debug, Serialize)]
struct Row {
    queue: &'static str,
    traffic: &'static str,
    /// Packets that found no room, in percent.
    dropped: f64,
    /// The drops of a queue of this size if a burst were a fluid, in percent.
    fluid: Option<f64>,
    /// Mean cycles from the first word into the chip to the last bit on the line.
    latency: f64,
    /// Million packets per second that left.
    mpps: f64,
}

/// A run: a queue, and packets with the output of each.
struct Case {
    place: Place,
    traffic: &'static str,
    bytes: usize,
    /// The number of outputs in use.
    outputs: usize,
    /// The number of consecutive packets to one output, on lines with a limited rate.
    burst: Option<usize>,
}

fn cases() -> Vec<Case> {
    let bursts = PLACES.iter().flat_map(|place| {
        BURSTS.map(|(traffic, burst)| {
            let burst = Some(burst);
            Case { place: *place, traffic, bytes: BYTES, outputs: PORTS, burst }
        })
    });
    let alone = ALONE.iter().flat_map(|place| {
        LOADS.map(|(traffic, outputs, bytes)| {
            let (place, burst) = (*place, None);
            Case { place, traffic, bytes, outputs, burst }
        })
    });
    bursts.chain(alone).collect()
}

/// Returns the destination address of packets for an output.
fn address(port: usize) -> u32 {
    0x0a00_0001 + ((port as u32) << 16)
}

impl Case {
    /// Generates packets of all inputs in turn; bursts go to one output after the other.
    fn packets(&self) -> Vec<Packet> {
        let packet = |number: usize| {
            // Without bursts each input sends to the outputs in turn.
            let port = number / self.burst.unwrap_or(PORTS) % self.outputs;
            let bytes = udp(number as u16, 0x0b00_0001, address(port), self.bytes);
            Packet { ingress: (number % PORTS) as u16, arrival_ns: 0, bytes }
        };
        let packets = if self.bytes > BYTES { LONG_PACKETS } else { PACKETS };
        (0..packets).map(packet).collect()
    }

    /// Returns the drops in a fluid model. In a burst a queue fills at the difference of the two
    /// rates, and it is empty when the next burst arrives.
    fn fluid(&self) -> Option<f64> {
        let burst = self.burst? as f64;
        let words = Queue::HEAD + (self.bytes as u32 + 2).div_ceil(4);
        let room = f64::from(self.place.bytes / (4 * words)) + CARD;
        let leaves = f64::from(LINE_MBPS) / (8 * self.bytes) as f64 / OFFERED;
        Some(100.0 * (1.0 - leaves - room / burst).max(0.0))
    }

    fn run(&self, rig: &Rig, spec: &MachineSpec) -> Result<Row> {
        let mut spec = spec.clone();
        let queues = spec.mapping.queues.as_mut();
        let queues = queues.ok_or_else(|| Error::new("raw-queues has no queues"))?;
        let Place { name, memory, bytes, ready, rests } = self.place;
        let line_mbps = self.burst.map(|_| LINE_MBPS);
        *queues = Queues { memory, bytes, ready, line_mbps, ..queues.clone() };
        if rests {
            let rest = RestSpec::in_cards();
            spec.mapping.rest = Some(rest);
        }
        let routes: Vec<Route> = (0..PORTS)
            .map(|port| Route { prefix: address(port), length: 32, port: port as u16 })
            .collect();
        let store = store(&rig.meaning, &routes)?;
        let rate = self.burst.map_or(Rate::Max, |_| Rate::Mpps(OFFERED));
        let options = Options { rate: Some(rate), ..Options::default() };
        let program = &rig.meaning;
        let mut contender = Contender::new(Arc::new(spec), program, &store, &options, &|_| ())?;
        let packets = self.packets();
        let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
        contender.offer(&program.optimised, &frames, &mut |_| ())?;
        contender.finish(&program.optimised, &mut |_| ())?;
        if let Some(difference) = &contender.difference {
            let packet = difference.sequence.unwrap_or_default();
            return Err(Error::new(format!(
                "{name}: packet {packet} leaves otherwise than golden"
            )));
        }
        let record = contender.machine.record().map(serde_json::to_value);
        let record = record.ok_or_else(|| Error::new("a run without a record"))?;
        let record = record.map_err(|error| Error::new(error.to_string()))?;
        let number = |field: &str| record[field].as_f64().unwrap_or_default();
        Ok(Row {
            queue: name,
            traffic: self.traffic,
            dropped: 100.0 * contender.lost_outputs as f64 / packets.len() as f64,
            fluid: self.fluid(),
            latency: number("latency_cycles"),
            mpps: number("mpps"),
        })
    }
}

fn make(settings: &Settings) -> Result<Drawn> {
    let _working = Working::on("queues at outputs");
    let rig = Rig::new(&settings.root)?;
    let spec = tiled("raw-queues")?;
    let rows = sweep(&cases(), workers(), |case| case.run(&rig, &spec));
    let rows: Vec<Row> = rows.map_err(Error::new)?.into_iter().collect::<Result<_>>()?;
    let heads = ["queue", "packets", "dropped, %", "fluid, %", "latency, cycles", "Mpps"];
    let mut text = output::table(&heads, &[2, 3, 4, 5]);
    for row in &rows {
        let fluid = row.fluid.map_or(String::new(), |fluid| format!("{fluid:.1}"));
        let traffic = match row.fluid {
            Some(_) => format!("bursts of {}", row.traffic),
            None => row.traffic.to_owned(),
        };
        let numbers =
            [format!("{:.1}", row.dropped), fluid, format!("{:.0}", row.latency)].into_iter();
        let last = format!("{:.2}", row.mpps);
        text.add_row([row.queue.to_owned(), traffic].into_iter().chain(numbers).chain([last]));
    }
    let lines = PLACES.iter().map(|place| {
        let own = rows.iter().filter(|row| row.queue == place.name && row.fluid.is_some());
        let point =
            |row: &Row| (row.traffic.parse::<f64>().unwrap_or_default().log2(), row.dropped);
        Line::through(place.name, own.map(point).collect())
    });
    let lines = Lines {
        title: "Packets of bursts that queues drop".to_owned(),
        x: "packets of a burst, as a power of 2".to_owned(),
        y: "dropped, %".to_owned(),
        lines: lines.collect(),
        limits: vec![],
    };
    let data = serde_json::to_value(&rows).map_err(|error| Error::new(error.to_string()))?;
    let text = format!(
        "{text}\n\nBursts: {PACKETS} packets of {BYTES} bytes, {OFFERED} Mpps, all to one output at a \
         time; lines of {LINE_MBPS} Mb/s. To one and to all: packets wait at the ports, and lines have no \
         limit. Every packet that leaves is compared with golden.\n"
    );
    Ok(Drawn { text, data, svg: lines.svg(), faults: vec![] })
}

fn key(place: &Place, traffic: &str, field: &str) -> String {
    format!("{}.{}.{field}", slug(place.name), slug(traffic))
}

/// Tabulates a field of all queues that receive bursts, for pages.
fn bursts(values: &Values, field: &str, decimals: usize) -> Result<Table> {
    let heads = BURSTS.map(|(name, _)| format!("bursts of {name}"));
    let mut table = Table::new([String::new()].into_iter().chain(heads));
    for place in &PLACES {
        let mut cells = vec![place.name.to_owned()];
        for (traffic, _) in BURSTS {
            cells.push(values.fixed(&key(place, traffic, field), decimals)?);
        }
        table.row(cells);
    }
    Ok(table)
}

/// Tabulates the queues on unlimited lines, for pages.
fn one(values: &Values) -> Result<Table> {
    let heads = LOADS.iter().map(|(name, ..)| format!("Mpps, {name}"));
    let mut table = Table::new([String::new()].into_iter().chain(heads));
    for place in &ALONE {
        let mut cells = vec![place.name.to_owned()];
        for (traffic, ..) in LOADS {
            cells.push(values.fixed(&key(place, traffic, "mpps"), 2)?);
        }
        table.row(cells);
    }
    Ok(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fluid_fills_a_queue_at_the_difference_of_the_rates() {
        let case = |bytes, burst| Case {
            place: tile("", bytes),
            traffic: "",
            bytes: BYTES,
            outputs: PORTS,
            burst: Some(burst),
        };
        // The queue holds 23 packets of 88 bytes, the card 2, and half of a burst stays.
        assert_eq!(case(2048, 16).fluid(), Some(0.0));
        let dropped = case(2048, 1000).fluid().expect("a burst");
        assert!((dropped - 47.5).abs() < 1e-9, "{dropped}");
    }

    #[test]
    fn bursts_go_to_all_outputs_in_turn() {
        let case = &cases()[3];
        assert_eq!(case.burst, Some(1024));
        let packets = case.packets();
        let outputs: Vec<u8> =
            packets.iter().step_by(1024).map(|packet| packet.bytes[17]).collect();
        assert_eq!(outputs, [0, 1, 2, 3]);
    }
}
