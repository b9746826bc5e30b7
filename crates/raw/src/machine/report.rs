//! What a run measured.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use wireloom_codegen_tile::{LAST, Way};
use wireloom_machine::{Line, Part, Record, Throughput, Totals, thousands};
use wireloom_power::Account;
use wireloom_sim::Time;
use wireloom_sim::stats::{self, Histogram};

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

impl Tile {
    /// The counts since earlier ones.
    fn since(self, earlier: Self) -> Self {
        let (by, before) = (self.cycles_by, earlier.cycles_by);
        Self {
            instructions: self.instructions - earlier.instructions,
            hits: self.hits - earlier.hits,
            misses: self.misses - earlier.misses,
            cycles_by: CyclesBy {
                executed: by.executed - before.executed,
                pipeline: by.pipeline - before.pipeline,
                memory: by.memory - before.memory,
                network: by.network - before.network,
                halted: by.halted - before.halted,
            },
        }
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

/// What had happened when packets began to count.
#[derive(Clone, Debug, Default)]
struct Baseline {
    cycles: u64,
    totals: Totals,
    tiles: BTreeMap<(u8, u8), Tile>,
}

/// Counts over a run.
#[derive(Clone, Debug)]
pub struct Measured {
    clock_mhz: u32,
    /// Packets at the start that do not count, and what had happened when they were done.
    warm: u64,
    from: Option<Baseline>,
    /// The cycles at which packets began to enter that have not left, by their numbers.
    pub entered: BTreeMap<u64, u64>,
    /// The cycle in which each packet left by a port, and its bytes.
    pub departures: Vec<(u64, u32)>,
    packets: u64,
    sent: u64,
    bytes: u64,
    /// Cycles from a packet's first word into the chip to its last word out of it, and the packets that
    /// entered while packets counted.
    latency: u64,
    longest: u64,
    timed: u64,
    /// The time from the arrival of these packets on.
    stay: Histogram,
    /// Cycles and counts of the chips before this one: tables that change make a new one.
    cycles: u64,
    tiles: BTreeMap<(u8, u8), Tile>,
}

/// The summary of a run. Everything but the counts of packets covers the cycles from when packets
/// began to count.
#[derive(Debug, Serialize)]
struct Values {
    #[serde(flatten)]
    throughput: Throughput,
    cycles: u64,
    /// The mean share of cycles in which tiles with programs executed an instruction.
    usage: f64,
    /// See [`LineCounts`].
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped_in_queues: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_cycles_stood: Option<u64>,
    cycles_a_packet: f64,
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
    /// Counts of a chip with this clock that has done nothing. Packets count when the first `warm` of
    /// them are done.
    pub fn new(clock_mhz: u32, warm: u64) -> Self {
        Self {
            clock_mhz,
            warm,
            from: (warm == 0).then(Baseline::default),
            entered: BTreeMap::new(),
            departures: Vec::new(),
            packets: 0,
            sent: 0,
            bytes: 0,
            latency: 0,
            longest: 0,
            timed: 0,
            stay: Histogram::times(),
            cycles: 0,
            tiles: BTreeMap::new(),
        }
    }

    /// Mean cycles from a packet's first word into the chip to its last word out of it.
    pub fn mean_latency(&self) -> f64 {
        self.latency as f64 / self.timed.max(1) as f64
    }

    /// Begins to count if the packets that do not count are done; returns whether that is now.
    pub fn begins_to_count(
        &mut self,
        lost: u64,
        chip: &Chip,
        placement: &Placement,
        spec: &MachineSpec,
    ) -> bool {
        if self.from.is_some() || self.packets < self.warm {
            return false;
        }
        self.from = Some(self.baseline(lost, chip, placement, spec));
        (self.latency, self.longest, self.timed) = (0, 0, 0);
        self.stay = Histogram::times();
        true
    }

    /// What has happened so far.
    fn baseline(
        &self,
        lost: u64,
        chip: &Chip,
        placement: &Placement,
        spec: &MachineSpec,
    ) -> Baseline {
        let cycles = self.cycles + chip.cycles();
        Baseline {
            cycles,
            totals: Totals {
                seconds: cycles as f64 / (f64::from(self.clock_mhz) * 1e6),
                packets: self.packets,
                sent: self.sent,
                sent_bytes: self.bytes,
                lost,
            },
            tiles: self.tiles_with(chip, placement, spec),
        }
    }

    /// Counts what has left of a packet, which came in a cycle since the start, or when it began to
    /// enter.
    pub fn leaves(&mut self, number: u64, came: Option<u64>, left: &Left) {
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
            let entered = self.entered.remove(&number).unwrap_or(left.cycle);
            let came = came.unwrap_or(self.cycles + entered);
            let from = self.from.as_ref().map_or(0, |from| from.cycles);
            if came >= from {
                let latency = left.cycle - entered;
                self.latency += latency;
                self.longest = self.longest.max(latency);
                self.timed += 1;
                let cycles = (self.cycles + left.cycle).saturating_sub(came);
                self.stay.time(Time(cycles * 1_000_000 / u64::from(self.clock_mhz)));
            }
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
        let to = self.baseline(line.lost, chip, placement, spec);
        let from = self.from.clone().unwrap_or_else(|| to.clone());
        let all = f64::from(spec.chip.columns * spec.chip.rows) * to.cycles as f64;
        let cycles = to.cycles - from.cycles;
        let packets = to.totals.packets - from.totals.packets;
        let each = |total: f64, count: u64| if count == 0 { 0.0 } else { total / count as f64 };
        let before = |place| from.tiles.get(place).copied().unwrap_or_default();
        let tiles = to.tiles.iter().map(|(place, tile)| (*place, tile.since(before(place))));
        let tiles: BTreeMap<(u8, u8), Tile> = tiles.collect();
        let executed: u64 = tiles.values().map(|tile| tile.cycles_by.executed).sum();
        let latency = (&self.stay).into();
        let parts = tiles.iter().map(|((x, y), tile)| Part {
            kind: format!("tile ({x},{y})"),
            share: each(tile.cycles_by.executed as f64, cycles),
        });
        let values = Values {
            throughput: Throughput::between(&from.totals, &to.totals, latency),
            cycles,
            usage: each(executed as f64, cycles * tiles.len() as u64),
            dropped_in_queues: line.dropped,
            line_cycles_stood: line.stood,
            cycles_a_packet: each(cycles as f64, packets),
            latency_cycles: self.mean_latency(),
            longest_latency_cycles: self.longest,
            tile_cycles_a_second: all / work.as_secs_f64().max(1e-9),
            watts: energy.total().mean_watts(energy.time()),
            nanojoules_a_packet: each(energy.total().as_joules() * 1e9, packets),
            power: energy.record(),
            tiles: tiles.iter().map(|((x, y), tile)| (format!("{x},{y}"), *tile)).collect(),
        };
        let (hits, misses) = tiles
            .values()
            .fold((0, 0), |(hits, misses), tile| (hits + tile.hits, misses + tile.misses));
        let throughput = &values.throughput;
        let mut lines = Vec::from_iter(throughput.measured_from());
        lines.extend([
            Line::new("cycles", thousands(cycles)),
            Line::new(
                "packets",
                format!(
                    "{}, each {:.0} cycles of the chip; first word in to last word out {:.0}, at \
                     most {}",
                    thousands(packets),
                    values.cycles_a_packet,
                    values.latency_cycles,
                    thousands(self.longest)
                ),
            ),
            throughput.rate(),
            Line::new("bandwidth", format!("{:.3} Gb/s of packets out", throughput.gbps)),
            throughput.lost(),
            Line::new(
                "caches",
                format!(
                    "{} hits, {} misses, {:.1} a packet",
                    thousands(hits),
                    thousands(misses),
                    each(misses as f64, packets)
                ),
            ),
            Line::new(
                "power",
                energy.line(values.watts, values.nanojoules_a_packet, energy::groups(energy)),
            ),
        ]);
        Record { lines, bars: Vec::new(), parts: parts.collect(), values: Box::new(values) }
    }
}
