//! The parts of the chip and their measures.

use wireloom_machine::watch::{Measure, MeasureKind, Part, PartKind};
use wireloom_sim::{Energy, Time};

use super::contexts;
use crate::energy::Metered;
use crate::processor::Processor;
use crate::spec::Spec;
use crate::units::Served;

/// The groups of components whose power is shown, as
/// [`Power::groups`](crate::energy::Power::groups) sums them up.
const POWER: [&str; 3] = ["engines and regulators", "rest of the chip", "memory chips"];

/// The queues of a unit: priority, ordered and free.
const QUEUES: u64 = 3;

/// The part number of the first thread. Threads come after the chip and its engines.
pub fn threads<E>(processor: &Processor<E>) -> usize {
    1 + processor.chip.engines.len()
}

/// Collects parts and measures in one order.
#[derive(Default)]
struct List {
    parts: Vec<Part>,
    measures: Vec<Measure>,
}

impl List {
    fn part(&mut self, name: impl Into<String>, kind: PartKind, within: usize) -> usize {
        self.parts.push(Part { name: name.into(), kind, within: Some(within) });
        self.parts.len() - 1
    }

    fn measure(&mut self, part: usize, name: &'static str, kind: MeasureKind) {
        self.measures.push(Measure { part, name, kind });
    }

    fn measured(
        &mut self,
        name: impl Into<String>,
        kind: PartKind,
        measures: &[(&'static str, MeasureKind)],
    ) {
        let part = self.part(name, kind, 0);
        measures.iter().for_each(|(name, kind)| self.measure(part, name, *kind));
    }
}

/// The units, with their kinds and the depth of their queues.
fn units(spec: &Spec) -> Vec<(&'static str, PartKind, u32)> {
    let mut units = vec![
        ("sram", PartKind::Memory, spec.sram.channels * spec.sram.queue),
        ("sdram", PartKind::Memory, spec.sdram.channels * spec.sdram.queue),
        ("scratchpad", PartKind::Memory, spec.scratch.queue),
        ("hash unit", PartKind::Unit, spec.hash.queue),
        ("fbi", PartKind::Unit, spec.fbi.queue),
    ];
    if spec.has_msf() {
        units.push(("msf", PartKind::Unit, spec.msf.queue));
    }
    units
}

/// Returns the parts and measures. [`sample`] returns the values in the same order.
pub fn all<E: Metered>(processor: &Processor<E>) -> (Vec<Part>, Vec<Measure>) {
    use MeasureKind::{Busy, Count, Level, State};
    let chip = &processor.chip;
    let (spec, engines) = (&chip.spec, chip.engines.len());
    let mut list = List::default();
    list.parts.push(Part { name: spec.name.clone(), kind: PartKind::Machine, within: None });
    for engine in 0..engines {
        list.part(format!("engine {engine}"), PartKind::Engine, 0);
    }
    for engine in 0..engines {
        for context in 0..contexts(processor) {
            list.part(format!("context {context}"), PartKind::Thread, 1 + engine);
        }
    }
    list.measure(0, "packets left", Count);
    list.measure(0, "bytes left", Count);
    for engine in 0..engines {
        for name in ["busy", "aborted", "stalled", "idle"] {
            list.measure(1 + engine, name, State);
        }
    }
    let first = threads(processor);
    for thread in 0..engines * contexts(processor) {
        for name in ["waiting", "ready", "running"] {
            list.measure(first + thread, name, State);
        }
        list.measure(first + thread, "instructions", Count);
    }
    for (name, kind, depth) in units(spec) {
        let places = QUEUES * u64::from(depth);
        list.measured(
            name,
            kind,
            &[("busy", Busy), ("commands", Count), ("words", Count), ("queue", Level { places })],
        );
    }
    list.measured("command bus", PartKind::Bus, &[("busy", Busy), ("commands", Count)]);
    for name in ["sram push bus", "sram pull bus", "sdram push bus", "sdram pull bus"] {
        list.measured(name, PartKind::Bus, &[("busy", Busy), ("words", Count)]);
    }
    list.measured("ix bus", PartKind::Bus, &[("busy", Busy)]);
    let places = chip.fbi.transmit.len() as u64;
    list.measured("transmit fifo", PartKind::Queue, &[("elements", Level { places })]);
    let places = chip.cards.places().into();
    for port in 0..spec.ports.count {
        let measures = [("mpkts", Level { places }), ("lost", Count)];
        list.measured(format!("port {port}"), PartKind::Port, &measures);
    }
    if processor.power().is_some() {
        for part in 0..=engines {
            list.measure(part, "energy", MeasureKind::Energy);
        }
        for name in POWER {
            list.measured(name, PartKind::Unit, &[("energy", MeasureKind::Energy)]);
        }
    }
    (list.parts, list.measures)
}

/// Appends the value of each measure.
pub fn sample<E: Metered>(processor: &Processor<E>, values: &mut Vec<u64>) {
    let chip = &processor.chip;
    values.extend([chip.cards.outputs.sent, chip.cards.outputs.sent_bytes]);
    // States are counted in core cycles, whose clock may be slower than the engines' clock. An
    // engine cycle that a governor slows down counts as a cycle at the original clock.
    let (core, own) = (chip.spec.core.clock, chip.spec.engine.clock);
    let of_core = |cycles: u64| core.edge_from(own.cycles(cycles) + Time(1)) - 1;
    for (number, engine) in chip.engines.iter().enumerate() {
        let used = engine.used;
        let idle = used.idle + processor.sleeping(number);
        values.extend([used.busy, used.aborted, used.stalled, idle].map(of_core));
    }
    for (number, engine) in chip.engines.iter().enumerate() {
        let cycle = engine.cycles() + processor.sleeping(number);
        for context in engine.contexts() {
            values.extend(context.waited_until(cycle).map(of_core));
            values.push(context.instructions);
        }
    }
    let now = chip.core_cycle(processor.now());
    // Busy cycles are averaged over the channels of a unit, or over the buses of all clusters.
    let mut unit = |Served { commands, words, busy }: Served, channels: usize, queued: usize| {
        values.extend([busy / channels as u64, commands, words, queued as u64]);
    };
    unit(chip.sram.served_at(now), chip.sram.channels.len(), chip.sram.waiting());
    unit(chip.sdram.served_at(now), chip.sdram.channels.len(), chip.sdram.waiting());
    unit(chip.scratch.served_at(now), 1, chip.scratch.queues.len());
    unit(chip.hash.served_at(now), 1, chip.hash.queues.len());
    unit(chip.fbi.served_at(now), 1, chip.fbi.queues.len());
    if chip.spec.has_msf() {
        unit(chip.msf.served_at(now), 1, chip.msf.queues.len());
    }
    values.extend([processor.command_bus_busy(), chip.network.granted]);
    for buses in chip.data_buses() {
        values.extend([
            buses.iter().map(|bus| bus.busy).sum::<u64>() / buses.len() as u64,
            buses.iter().map(|bus| bus.words).sum(),
        ]);
    }
    values.push(chip.core_cycle(chip.cards.bus_time_at(processor.now())));
    values.push(chip.fbi.transmit.iter().filter(|element| element.valid).count() as u64);
    for port in 0..chip.spec.ports.count as usize {
        let (held, lost) = chip.cards.held(port);
        values.extend([held.into(), lost]);
    }
    if let Some(power) = processor.power() {
        let picojoules = |energy: Energy| energy.as_picojoules() as u64;
        values.push(picojoules(power.total()));
        values.extend((0..chip.engines.len()).map(|engine| picojoules(power.engine(engine))));
        values.extend(power.groups().map(picojoules));
    }
}
