//! What a run measured.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use wireloom_codegen_tile::{LAST, Way};
use wireloom_machine::{Line, Part, Record, thousands};
use wireloom_power::Account;
use wireloom_sim::stats;

use super::mapping::{MachineSpec, Placement};
use super::port::Left;
use crate::Chip;
use crate::energy;

/// Counts of a tile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Tile {
    instructions: u64,
    hits: u64,
    misses: u64,
    cycles_by: CyclesBy,
}

/// The cycles of a tile processor by what it did. They add up to those of the chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct CyclesBy {
    executed: u64,
    /// A result before was not ready, or the processor went on elsewhere than predicted.
    pipeline: u64,
    /// The cache waited for a line, or wrote one back.
    memory: u64,
    /// A network had no word for it, or no room.
    network: u64,
    /// The tile had halted.
    halted: u64,
}

impl Tile {
    /// The cycles in which it executed an instruction.
    pub fn executed(&self) -> u64 {
        self.cycles_by.executed
    }

    /// Adds what a tile of a chip did.
    pub fn add(&mut self, chip: &Chip, place: (u8, u8)) {
        let (instructions, hits, misses) = chip.counts(place);
        self.instructions += instructions;
        self.hits += hits;
        self.misses += misses;
        let (spent, _) = chip.spent(place);
        let by = &mut self.cycles_by;
        by.executed += spent.executed;
        by.pipeline += spent.operands + spent.branches;
        by.memory += spent.misses;
        by.network += spent.empty.iter().chain(&spent.full).sum::<u64>();
        by.halted += chip.cycles() - spent.total();
    }
}

/// What lines did.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineCounts {
    /// Packets that were lost in front of a full buffer.
    pub lost: u64,
    /// Packets that were dropped in full queues at outputs, if there are queues.
    pub dropped: Option<u64>,
    /// Cycles for which lines stood still, added up over all, if packets come at times.
    pub stood: Option<u64>,
}

/// Counts over a run.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// The cycles at which packets began to enter that have not left, by their numbers.
    pub entered: BTreeMap<u64, u64>,
    /// The cycle in which each packet left by a port, and its bytes.
    pub departures: Vec<(u64, u32)>,
    packets: u64,
    sent: u64,
    bytes: u64,
    /// Cycles from a packet's first word into the chip to its last word out of it.
    latency: u64,
    longest: u64,
    /// Cycles and counts of the chips before this one: tables that change make a new one.
    cycles: u64,
    tiles: BTreeMap<(u8, u8), Tile>,
}

/// The summary of a run. Everything covers all cycles of the chip.
#[derive(Debug, Serialize)]
struct Values {
    time_us: f64,
    cycles: u64,
    /// Packets that are done: sent, dropped, or over without an output.
    packets: u64,
    /// Packets that left by a port, copies included.
    sent: u64,
    /// See [`LineCounts`].
    lost: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped_in_queues: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_cycles_stood: Option<u64>,
    cycles_a_packet: f64,
    /// The rate of what left by a port.
    mpps: f64,
    gbps: f64,
    latency_cycles: f64,
    longest_latency_cycles: u64,
    tile_cycles_a_second: f64,
    /// The mean power, and the energy of all packets shared out to them.
    watts: f64,
    nanojoules_a_packet: f64,
    tiles: BTreeMap<String, Tile>,
    power: stats::Record,
}

impl Measured {
    /// Mean cycles from a packet's first word into the chip to its last word out of it.
    pub fn mean_latency(&self) -> f64 {
        self.latency as f64 / self.packets.max(1) as f64
    }

    /// Counts what has left of a packet.
    pub fn leaves(&mut self, number: u64, left: &Left) {
        if left.is_dropped {
            if left.side & LAST != 0 {
                self.entered.remove(&number);
            }
            return;
        }
        if Way::of(left.side) == Way::Port {
            self.sent += 1;
            let bytes = left.words[0] & 0xffff;
            self.bytes += u64::from(bytes);
            self.departures.push((self.cycles + left.cycle, bytes));
        }
        if left.side & LAST != 0 {
            self.packets += 1;
            let latency = left.cycle - self.entered.remove(&number).unwrap_or(left.cycle);
            self.latency += latency;
            self.longest = self.longest.max(latency);
        }
    }

    /// Keeps the counts of a chip that another one replaces.
    pub fn add_chip(&mut self, chip: &Chip, placement: &Placement, spec: &MachineSpec) {
        self.tiles = self.tiles_with(chip, placement, spec);
        self.cycles += chip.cycles();
    }

    fn tiles_with(
        &self,
        chip: &Chip,
        placement: &Placement,
        spec: &MachineSpec,
    ) -> BTreeMap<(u8, u8), Tile> {
        let mut tiles = self.tiles.clone();
        let queues = spec.mapping.queues.iter().flat_map(|queues| &queues.tiles);
        for place in placement.chains.iter().flat_map(|chain| &chain.tiles).chain(queues) {
            tiles.entry(*place).or_default().add(chip, *place);
        }
        tiles
    }

    /// The record of the run so far.
    pub fn record(
        &self,
        spec: &MachineSpec,
        chip: &Chip,
        placement: &Placement,
        energy: &Account,
        line: LineCounts,
        work: Duration,
    ) -> Record {
        let cycles = self.cycles + chip.cycles();
        let all = f64::from(spec.chip.columns * spec.chip.rows) * cycles as f64;
        let seconds = cycles as f64 / (f64::from(spec.chip.clock_mhz) * 1e6);
        let each = |total: f64, count: u64| if count == 0 { 0.0 } else { total / count as f64 };
        let rate = |count: f64| if seconds > 0.0 { count / seconds } else { 0.0 };
        let tiles = self.tiles_with(chip, placement, spec);
        let parts = tiles.iter().map(|((x, y), tile)| Part {
            kind: format!("tile ({x},{y})"),
            share: each(tile.cycles_by.executed as f64, cycles),
        });
        let values = Values {
            time_us: seconds * 1e6,
            cycles,
            packets: self.packets,
            sent: self.sent,
            lost: line.lost,
            dropped_in_queues: line.dropped,
            line_cycles_stood: line.stood,
            cycles_a_packet: each(cycles as f64, self.packets),
            mpps: rate(self.sent as f64) / 1e6,
            gbps: rate(8.0 * self.bytes as f64) / 1e9,
            latency_cycles: each(self.latency as f64, self.packets),
            longest_latency_cycles: self.longest,
            tile_cycles_a_second: all / work.as_secs_f64().max(1e-9),
            watts: energy.total().mean_watts(energy.time()),
            nanojoules_a_packet: each(energy.total().as_joules() * 1e9, self.packets),
            power: energy.record(),
            tiles: tiles.iter().map(|((x, y), tile)| (format!("{x},{y}"), *tile)).collect(),
        };
        let (hits, misses) = tiles
            .values()
            .fold((0, 0), |(hits, misses), tile| (hits + tile.hits, misses + tile.misses));
        let lines = vec![
            Line::new("cycles", thousands(cycles)),
            Line::new(
                "packets",
                format!(
                    "{}, each {:.0} cycles of the chip; first word in to last word out {:.0}, at \
                     most {}",
                    thousands(self.packets),
                    values.cycles_a_packet,
                    values.latency_cycles,
                    thousands(self.longest)
                ),
            ),
            Line::new(
                "rate",
                format!("{:.3} Mpps, {:.2} Gb/s of packets out", values.mpps, values.gbps),
            ),
            Line::new(
                "caches",
                format!(
                    "{} hits, {} misses, {:.1} a packet",
                    thousands(hits),
                    thousands(misses),
                    each(misses as f64, self.packets)
                ),
            ),
            Line::new(
                "power",
                energy.line(values.watts, values.nanojoules_a_packet, energy::groups(energy)),
            ),
        ];
        Record { lines, bars: Vec::new(), parts: parts.collect(), values: Box::new(values) }
    }
}
