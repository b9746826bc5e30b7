//! The parts of the machine and their measures.

use wireloom_isa::raw::Network;
use wireloom_machine::watch::{Measure, MeasureKind, Part, PartKind};
use wireloom_power::Account;

use super::super::Raw;
use super::super::port::PacketPort;
use crate::device::{Accesses, Memory};
use crate::energy;
use crate::layout::ENDS;
use crate::{Chip, SwitchCycles, TileCycles};

/// Threads of a tile: its processor and its switch.
pub const THREADS: usize = 2;

/// The index of the part that is the whole machine.
const WHOLE: usize = 0;

/// The names of the networks' parts, which are also the names of a tile's queues.
pub const NETWORKS: [&str; 4] =
    ["static network 1", "static network 2", "general network", "memory network"];

/// Parts, measures and values, in one order.
#[derive(Default)]
pub struct List {
    pub parts: Vec<Part>,
    pub measures: Vec<Measure>,
    pub values: Vec<u64>,
}

impl List {
    fn part(&mut self, name: impl Into<String>, kind: PartKind, within: Option<usize>) -> usize {
        self.parts.push(Part { name: name.into(), kind, within });
        self.parts.len() - 1
    }

    pub fn measure(&mut self, part: usize, name: &'static str, kind: MeasureKind, value: u64) {
        self.measures.push(Measure { part, name, kind });
        self.values.push(value);
    }
}

/// Returns the index of the first thread's part. Threads come after the machine and its tiles.
pub fn threads(chip: &Chip) -> usize {
    1 + chip.layout.tiles()
}

/// Returns an energy in picojoules.
fn picojoules(energy: wireloom_sim::Energy) -> u64 {
    energy.as_picojoules() as u64
}

impl List {
    /// Lists the machine, its tiles, threads, queues and networks, with their current values.
    /// `left` packets have left.
    pub fn of_chip(name: &str, chip: &Chip, account: &Account, left: u64) -> Self {
        use MeasureKind::{Count, Energy, State};
        let layout = &chip.layout;
        let tiles = layout.tiles();
        let mut list = Self::default();
        list.part(name, PartKind::Machine, None);
        for tile in 0..tiles {
            list.part(layout.processor(tile), PartKind::Engine, Some(WHOLE));
        }
        for tile in 0..tiles {
            list.part("processor", PartKind::Thread, Some(1 + tile));
            list.part("switch", PartKind::Thread, Some(1 + tile));
        }
        list.measure(WHOLE, "packets left", Count, left);
        list.measure(WHOLE, "energy", Energy, picojoules(account.total()));
        for (tile, (processor, switch)) in chip.tiles.iter().zip(&chip.switches).enumerate() {
            let part = 1 + tile;
            list.measure(part, "busy", State, processor.cycles.executed);
            let idle = chip.cycles() - processor.cycles.executed;
            list.measure(part, "idle", State, idle);
            list.measure(part, "energy", Energy, picojoules(account.unit(tile)));
            let part = threads(chip) + THREADS * tile;
            let TileCycles { executed, operands, branches, misses, empty, full } = processor.cycles;
            let network = empty.iter().chain(&full).sum();
            list.measure(part, "running", State, executed);
            list.measure(part, "pipeline", State, operands + branches);
            list.measure(part, "memory", State, misses);
            list.measure(part, "network", State, network);
            list.measure(part, "instructions", Count, processor.executed);
            let part = part + 1;
            let SwitchCycles { executed, branches, empty_tile, empty, full_tile, full } =
                switch.cycles;
            list.measure(part, "running", State, executed);
            list.measure(part, "pipeline", State, branches);
            list.measure(part, "network", State, empty_tile + empty + full_tile + full);
            list.measure(part, "instructions", Count, switch.executed);
        }
        list.networks(chip);
        list
    }

    /// Adds the queues of each tile, and the networks.
    fn networks(&mut self, chip: &Chip) {
        use MeasureKind::{Busy, Count, Level};
        let layout = &chip.layout;
        let tiles = layout.tiles();
        let words = u64::from(chip.spec().queue_words);
        let mut totals = [[0; 2]; NETWORKS.len()];
        for tile in 0..tiles {
            for network in Network::ALL {
                let number = network as usize;
                let first = layout.input(tile, number, 0);
                let queues = &chip.queues[first..=first + ENDS];
                let (held, passed) = queues.iter().fold((0, 0), |(held, passed), queue| {
                    (held + queue.written() - queue.passed, passed + queue.passed)
                });
                totals[number][0] += held;
                totals[number][1] += passed;
                let part = self.part(NETWORKS[number], PartKind::Queue, Some(1 + tile));
                let places = words * queues.len() as u64;
                self.measure(part, "words", Level { places }, held);
            }
        }
        for (name, [held, passed]) in NETWORKS.into_iter().zip(totals) {
            let part = self.part(name, PartKind::Bus, Some(WHOLE));
            let queues = (tiles * (ENDS + 1)) as u64;
            // The mean over all queues. A queue passes at most one word a cycle.
            self.measure(part, "busy", Busy, passed / queues);
            self.measure(part, "words", Count, passed);
            self.measure(part, "queue", Level { places: queues * words }, held);
        }
    }

    /// Adds a memory, with the counts of all its memory chips.
    pub fn memory(&mut self, name: String, chip: &Chip, accesses: &[Accesses], waiting: usize) {
        use MeasureKind::{Busy, Count, Level};
        let part = self.part(name, PartKind::Memory, Some(WHOLE));
        self.measure(part, "busy", Busy, accesses.iter().map(|accesses| accesses.words).sum());
        self.measure(part, "rows", Count, accesses.iter().map(|accesses| accesses.rows).sum());
        // Each tile asks for one line at a time.
        let places = chip.layout.tiles() as u64;
        self.measure(part, "queue", Level { places }, waiting as u64);
    }

    /// Adds a port of the chip.
    pub fn port(&mut self, name: String) -> usize {
        self.part(name, PartKind::Port, Some(WHOLE))
    }

    /// Adds the energy of each part of the chip.
    pub fn energies(&mut self, account: &Account) {
        for (name, energy) in energy::groups(account) {
            let part = self.part(name, PartKind::Unit, Some(WHOLE));
            self.measure(part, "energy", MeasureKind::Energy, picojoules(energy));
        }
    }
}

/// Lists all parts of a machine that executes an engine, with their current values.
pub fn of_engine(machine: &Raw) -> List {
    use MeasureKind::{Count, Level};
    let chip = &machine.chip;
    let account = machine.metering.charged();
    let mut list = List::of_chip(&machine.spec.name, chip, account, machine.has_left());
    let (place, side) = machine.placement.memory;
    if let Some(memory) = chip.device_at::<Memory>(place, side) {
        let accesses: Vec<_> = chip.accesses().collect();
        list.memory(super::MEMORY.to_owned(), chip, &accesses, memory.waiting());
    }
    let words =
        |(place, side)| chip.device_at::<PacketPort>(place, side).map_or([0; 2], PacketPort::words);
    let placement = &machine.placement;
    for (number, card) in placement.cards.iter().enumerate() {
        let waiting = machine.pending[number].len() as u64;
        // The port is named after the first chain of its card.
        let part = list.port(format!("chain {}", card.chains[0]));
        let places = super::PORT_PLACES;
        list.measure(part, "packets", Level { places }, waiting);
        list.measure(part, "words in", Count, words(card.port)[0]);
        let (place, side) = card.port;
        let port = chip.device_at::<PacketPort>(place, side);
        if let (Some(rest), Some(port)) = (&machine.spec.mapping.rest, port) {
            let places = u64::from(rest.packets) * card.chains.len() as u64;
            let kept = port.cards().iter().map(|card| card.kept() as u64).sum();
            list.measure(part, "rests kept", Level { places }, kept);
        }
        if machine.spec.mapping.queues.is_none() {
            list.measure(part, "words out", Count, words(placement.ports[number])[1]);
        }
    }
    if machine.spec.mapping.queues.is_some() {
        for (number, port) in placement.ports.iter().enumerate() {
            let part = list.port(format!("queue {number}"));
            list.measure(part, "words out", Count, words(*port)[1]);
            list.measure(part, "dropped", Count, machine.dropped_at[number]);
        }
    }
    list.energies(account);
    list
}
