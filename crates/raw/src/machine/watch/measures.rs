//! The parts of the machine and what is measured of them.

use wireloom_isa::raw::Network;
use wireloom_machine::watch::{Measure, MeasureKind, Part, PartKind};

use super::super::Raw;
use super::super::port::PacketPort;
use crate::device::Memory;
use crate::energy;
use crate::layout::ENDS;
use crate::{SwitchCycles, TileCycles};

/// Threads of a tile: its processor and its switch.
pub const THREADS: usize = 2;

/// The names of the networks' parts, and of the queues of a tile.
const NETWORKS: [&str; 4] =
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

    fn measure(&mut self, part: usize, name: &'static str, kind: MeasureKind, value: u64) {
        self.measures.push(Measure { part, name, kind });
        self.values.push(value);
    }
}

/// The number of the first thread's part: the threads come after the machine and its tiles.
pub fn threads(machine: &Raw) -> usize {
    1 + machine.chip.layout.tiles()
}

/// Everything, with the values of now.
pub fn list(machine: &Raw) -> List {
    use MeasureKind::{Busy, Count, Energy, Level, State};
    let (chip, layout) = (&machine.chip, &machine.chip.layout);
    let account = machine.metering.charged();
    let picojoules = |energy: wireloom_sim::Energy| energy.as_picojoules() as u64;
    let tiles = layout.tiles();
    let mut list = List::default();
    let whole = list.part(&machine.spec.name, PartKind::Machine, None);
    for tile in 0..tiles {
        list.part(layout.processor(tile), PartKind::Engine, Some(whole));
    }
    for tile in 0..tiles {
        list.part("processor", PartKind::Thread, Some(1 + tile));
        list.part("switch", PartKind::Thread, Some(1 + tile));
    }
    list.measure(whole, "packets left", Count, machine.has_left());
    list.measure(whole, "energy", Energy, picojoules(account.total()));
    for (tile, (processor, switch)) in chip.tiles.iter().zip(&chip.switches).enumerate() {
        let part = 1 + tile;
        list.measure(part, "busy", State, processor.cycles.executed);
        let idle = chip.cycles() - processor.cycles.executed;
        list.measure(part, "idle", State, idle);
        list.measure(part, "energy", Energy, picojoules(account.unit(tile)));
        let part = threads(machine) + THREADS * tile;
        let TileCycles { executed, operands, branches, misses, empty, full } = processor.cycles;
        let network = empty.iter().chain(&full).sum();
        list.measure(part, "running", State, executed);
        list.measure(part, "pipeline", State, operands + branches);
        list.measure(part, "memory", State, misses);
        list.measure(part, "network", State, network);
        list.measure(part, "instructions", Count, processor.executed);
        let part = part + 1;
        let SwitchCycles { executed, branches, empty_tile, empty, full_tile, full } = switch.cycles;
        list.measure(part, "running", State, executed);
        list.measure(part, "pipeline", State, branches);
        list.measure(part, "network", State, empty_tile + empty + full_tile + full);
        list.measure(part, "instructions", Count, switch.executed);
    }
    let words = u64::from(machine.spec.chip.queue_words);
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
            let part = list.part(NETWORKS[number], PartKind::Queue, Some(1 + tile));
            let places = words * queues.len() as u64;
            list.measure(part, "words", Level { places }, held);
        }
    }
    for (name, [held, passed]) in NETWORKS.into_iter().zip(totals) {
        let part = list.part(name, PartKind::Bus, Some(whole));
        let queues = (tiles * (ENDS + 1)) as u64;
        // The mean over all queues: each passes a word in a cycle at most.
        list.measure(part, "busy", Busy, passed / queues);
        list.measure(part, "words", Count, passed);
        list.measure(part, "queue", Level { places: queues * words }, held);
    }
    let (place, side) = machine.placement.memory;
    if let Some(memory) = chip.device_at::<Memory>(place, side) {
        let part = list.part("memory", PartKind::Memory, Some(whole));
        let accesses: Vec<_> = chip.accesses().collect();
        list.measure(part, "busy", Busy, accesses.iter().map(|accesses| accesses.words).sum());
        list.measure(part, "rows", Count, accesses.iter().map(|accesses| accesses.rows).sum());
        // Each tile asks for a line at a time.
        list.measure(part, "queue", Level { places: tiles as u64 }, memory.waiting() as u64);
    }
    let words =
        |(place, side)| chip.device_at::<PacketPort>(place, side).map_or([0; 2], PacketPort::words);
    let placement = &machine.placement;
    for (number, card) in placement.cards.iter().enumerate() {
        let waiting = machine.pending[number].len() as u64;
        // The chain at the card.
        let part = list.part(format!("chain {}", card.chains[0]), PartKind::Port, Some(whole));
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
            let part = list.part(format!("queue {number}"), PartKind::Port, Some(whole));
            list.measure(part, "words out", Count, words(*port)[1]);
            list.measure(part, "dropped", Count, machine.dropped_at[number]);
        }
    }
    for (name, energy) in energy::groups(account) {
        let part = list.part(name, PartKind::Unit, Some(whole));
        list.measure(part, "energy", Energy, picojoules(energy));
    }
    list
}
