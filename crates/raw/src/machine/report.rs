//! The measurements of a run.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use wireloom_codegen_tile::{LAST, Way};
use wireloom_machine::{Line, Part, Record, Throughput, Totals, thousands};
use wireloom_power::Account;
use wireloom_sim::Time;
use wireloom_sim::stats::{self, Histogram};

use super::mapping::{MachineSpec, Placement};
use super::port::Departure;
use crate::Chip;
use crate::energy;

/// Event counts of a tile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Tile {
    instructions: u64,
    hits: u64,
    misses: u64,
    cycles_by: CyclesBy,
}

/// Cycles of a tile processor by cause. They add up to the cycles of the chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct CyclesBy {
    executed: u64,
    /// An earlier result was not ready, or a branch was mispredicted.
    pipeline: u64,
    /// The cache waited for a line, or wrote one back.
    memory: u64,
    /// A network had no word, or no room.
    network: u64,
    /// The tile had halted.
    halted: u64,
}

impl Tile {
    /// Returns the cycles in which it executed an instruction.
    pub fn executed(&self) -> u64 {
        self.cycles_by.executed
    }

    /// Adds the counts of a tile of a chip.
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
    /// Returns the counts since an earlier state.
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

/// Counts of lines and output queues.
#[derive(Clone, Copy, Debug, Default)]
pub struct LineCounts {
    /// Packets that were lost because a buffer was full.
    pub lost: u64,
    /// Packets that full queues at egress ports dropped, if there are queues.
    pub dropped: Option<u64>,
    /// Cycles for which lines were stopped, added up over all lines, if packets arrive at given
    /// times.
    pub stood: Option<u64>,
}

/// The counts at the time when the measurement began.
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
    /// Warm-up packets, which are not measured; `from` has the counts at the end of the warm-up.
    warm: u64,
    from: Option<Baseline>,
    /// Packets that have entered and not left, by number, with the cycles in which they began to
    /// enter.
    pub entered: BTreeMap<u64, u64>,
    /// The cycle in which each packet left by a port, and its bytes.
    pub departures: Vec<(u64, u32)>,
    packets: u64,
    sent: u64,
    bytes: u64,
    /// The sum of cycles from a packet's first word into the chip to its last word out of it;
    /// `longest` is the maximum, `timed` the number of measured packets.
    latency: u64,
    longest: u64,
    timed: u64,
    /// The times from arrival to departure of these packets.
    stay: Histogram,
    /// Cycles of earlier chips, and counts of their tiles. A table update builds a new chip.
    cycles: u64,
    tiles: BTreeMap<(u8, u8), Tile>,
}

/// The summary of a run. All values except packet counts cover the cycles since the measurement
/// began.
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
    /// The mean power, and the energy divided by the number of packets.
    watts: f64,
    nanojoules_a_packet: f64,
    tiles: BTreeMap<String, Tile>,
    power: stats::Record,
}

impl Measured {
    /// Creates the counts of an idle chip with this clock. The first `warm` packets are not
    /// measured.
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

    /// Returns the mean cycles from a packet's first word into the chip to its last word out of it.
    pub fn mean_latency(&self) -> f64 {
        self.latency as f64 / self.timed.max(1) as f64
    }

    /// Begins to measure if the warm-up is over. Returns whether it has just begun.
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

    /// Returns the counts up to now.
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

    /// Counts a departure of a packet, which arrived in cycle `came` since the start; without it,
    /// the packet counts as arrived when it began to enter.
    pub fn leaves(&mut self, number: u64, came: Option<u64>, left: &Departure) {
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

    /// Keeps the counts of a chip that is about to be replaced.
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

    /// Returns the record of the run so far.
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
