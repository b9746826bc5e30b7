//! The components that consume energy, and their models.

use wireloom_power::datapath::Operation;
use wireloom_power::{Arbiter, Array, Bus, Datapath, Process, RangeError, Reading, percent_of};
use wireloom_sim::energy::{Component, ComponentSpec};
use wireloom_sim::{Energy, EnergyMeter, SpecError, Time};

use super::spec::{ControlStore, PowerSpec};
use crate::network::NetworkKind;
use crate::spec::Spec;

/// A kind of component, with its classes of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    pub name: &'static str,
    /// The names of its classes of events.
    pub classes: &'static [&'static str],
}

const fn part(name: &'static str, classes: &'static [&'static str]) -> Part {
    Part { name, classes }
}

/// The components of an engine, indexed by place. `idle` counts the cycles of ports without an
/// access.
pub const ENGINE_PARTS: [Part; 8] = [
    part("gpr", &["read", "write", "idle"]),
    part("xfer", &["access", "idle"]),
    part("control_registers", &["access", "idle"]),
    part("control_store", &["fetch", "idle"]),
    part("alu", &["add", "logic", "idle"]),
    part("shifter", &["shift", "idle"]),
    part("command_fifo", &["write", "read", "idle"]),
    part("context_arbiter", &["grant", "idle"]),
];

/// The components of the rest of the chip and of its board, indexed by place.
pub const CHIP_PARTS: [Part; 11] = [
    part("command_bus_arbiter", &["grant", "idle"]),
    part("command_bus", &["command"]),
    part("command_queues", &["write", "read", "idle"]),
    part("sram_bus", &["word"]),
    part("sdram_bus", &["word"]),
    part("scratchpad", &["word", "idle"]),
    part("hash", &["step"]),
    part("fifos", &["word", "idle"]),
    part("ix_bus", &["word"]),
    part("sram", &["access"]),
    part("sdram", &["activate", "burst", "refresh"]),
];

/// The component number of a part of an engine, by its place in [`ENGINE_PARTS`].
pub fn engine_part(engine: usize, place: usize) -> Component {
    Component((engine * ENGINE_PARTS.len() + place) as u32)
}

/// The component number of a part of the chip, by its place in [`CHIP_PARTS`].
pub fn chip_part(engines: usize, place: usize) -> Component {
    Component((engines * ENGINE_PARTS.len() + place) as u32)
}

/// The component number of an engine's voltage regulator. Its classes are the changes between two
/// neighbouring steps of the governor.
pub fn regulator(engines: usize, engine: usize) -> Component {
    Component((engines * ENGINE_PARTS.len() + CHIP_PARTS.len() + engine) as u32)
}

/// The ports of an engine's register files. In each cycle each bank of general-purpose registers
/// can be read and written, and each file of transfer registers can be accessed once.
pub(super) const GPR_PORTS: u64 = 4;
pub(super) const XFER_PORTS: u64 = 4;
/// The number of units and channels with command queues.
pub(super) fn queues(spec: &Spec) -> u64 {
    spec.targets().into()
}

/// The total width of the off transistors in the hash unit, in um of the 0.8 um process. Assumed: a
/// 64-bit product, 16 bits in a step.
const HASH_LEAKS_UM: f64 = 64.0 * 16.0 * 12.0;

/// A component's model: the energy of each class, and the leakage in nanowatts.
struct Model {
    energies: Vec<Energy>,
    nanowatts: u64,
}

struct Models<'a> {
    spec: &'a Spec,
    power: &'a PowerSpec,
    process: Process,
}

impl Models<'_> {
    fn leak(&self, width_um: f64) -> u64 {
        self.power.technology.leak(self.process, width_um)
    }

    /// The energy of a port in a cycle without an access.
    fn idle(&self, access: Energy) -> Energy {
        percent_of(access, self.power.idle_percent)
    }

    /// The array of a register file of `words` words, and the leakage of `files` of them in
    /// nanowatts.
    fn registers(&self, words: u32, files: u32) -> Result<(Array, u64), RangeError> {
        let array = Array::new(self.process, words, 32, 1, Reading::FullSwing)?;
        Ok((array, self.leak(array.leaking_um() * f64::from(files))))
    }

    fn engine(&self, place: usize) -> Result<Model, RangeError> {
        let datapath = Datapath::new(self.process);
        let engine = &self.spec.engine;
        let sizes = engine.version.sizes();
        Ok(match place {
            0 => {
                let (array, nanowatts) = self.registers(sizes.bank as u32, 2)?;
                let energies = vec![array.read(), array.write(), self.idle(array.read())];
                Model { energies, nanowatts }
            }
            1 => {
                let (array, nanowatts) = self.registers(sizes.transfer as u32, 4)?;
                Model { energies: vec![array.read(), self.idle(array.read())], nanowatts }
            }
            2 => {
                let (array, nanowatts) = self.registers(32, 1)?;
                Model { energies: vec![array.read(), self.idle(array.read())], nanowatts }
            }
            3 => {
                let create = match self.power.control_store {
                    ControlStore::Cut => Array::new,
                    ControlStore::Whole => Array::whole,
                };
                let array = create(self.process, engine.control_store, 32, 1, Reading::Sensed)?;
                let energies = vec![array.read(), self.idle(array.read())];
                Model { energies, nanowatts: self.leak(array.leaking_um()) }
            }
            4 => {
                let [add, logic] = [Operation::Add, Operation::Logic].map(|o| datapath.energy(o));
                let nanowatts = self.leak(datapath.alu_leaking_um());
                Model { energies: vec![add, logic, self.idle(add)], nanowatts }
            }
            5 => {
                let shift = datapath.energy(Operation::Shift);
                let nanowatts = self.leak(datapath.shifter_leaking_um());
                Model { energies: vec![shift, self.idle(shift)], nanowatts }
            }
            6 => self.queue(engine.commands)?,
            _ => {
                let arbiter = Arbiter::round_robin(self.process, engine.contexts)?;
                // Assumed: half of the contexts are ready on average.
                let grant = arbiter.grant(engine.contexts.div_ceil(2));
                let nanowatts = self.leak(arbiter.leaking_um());
                Model { energies: vec![grant, self.idle(grant)], nanowatts }
            }
        })
    }

    /// The model of a command queue.
    fn queue(&self, entries: u32) -> Result<Model, RangeError> {
        let bits = self.power.command_bits;
        let array = Array::new(self.process, entries, bits, 2, Reading::FullSwing)?;
        let energies = vec![array.write(), array.read(), self.idle(array.read())];
        Ok(Model { energies, nanowatts: self.leak(array.leaking_um()) })
    }

    fn chip(&self, place: usize) -> Result<Model, RangeError> {
        let (spec, power) = (self.spec, self.power);
        let bus =
            |um: u32, bits| Ok::<_, RangeError>(Bus::new(self.process, um.into())?.carry(bits));
        let dynamic = |energy| Model { energies: vec![energy], nanowatts: 0 };
        Ok(match place {
            0 => {
                // One arbiter for each bus, each unit of a crossbar, or each node of a ring or a
                // mesh.
                let (arbiters, entries) = match spec.command_bus.kind {
                    NetworkKind::Bus => (spec.clusters, spec.engines / spec.clusters),
                    NetworkKind::Crossbar => (spec.targets(), spec.engines),
                    NetworkKind::Ring => (spec.engines, 3),
                    NetworkKind::Mesh => (spec.engines, 5),
                };
                let arbiter = Arbiter::matrix(self.process, entries)?;
                let grant = arbiter.grant(entries.div_ceil(2));
                let nanowatts = self.leak(arbiter.leaking_um() * f64::from(arbiters));
                Model { energies: vec![grant, self.idle(grant)], nanowatts }
            }
            1 => dynamic(bus(self.command_um(), power.command_bits)?),
            2 => {
                // Each unit has three queues; an access goes to one of them.
                let entries = [&spec.sram.queue, &spec.sdram.queue, &spec.scratch.queue];
                let more = [&spec.hash.queue, &spec.fbi.queue, &spec.msf.queue];
                let most = entries.into_iter().chain(more).max();
                let mut model = self.queue(*most.expect("six units"))?;
                model.nanowatts *= 3 * queues(spec);
                model
            }
            3 => dynamic(bus(power.sram_bus_um, 32)?),
            4 => dynamic(bus(power.sdram_bus_um, 32)?),
            5 => self.memory(spec.scratch.bytes / 4)?,
            6 => {
                let step = Datapath::new(self.process).network(64 * spec.hash.step_bits);
                let nanowatts = self.leak(HASH_LEAKS_UM * self.process.scale());
                Model { energies: vec![step], nanowatts }
            }
            7 => {
                let elements: u32 = spec.elements().iter().sum();
                self.memory(elements * (spec.mpkt_bytes() / 4 + 2))?
            }
            8 => dynamic(power.technology.board_word(power.ix_bus_pf)),
            9 => {
                let energies = vec![power.sram.access()];
                Model { energies, nanowatts: power.sram.standby_nanowatts() }
            }
            _ => {
                let clock = spec.core.clock;
                let ns = f64::from(spec.sdram.quad_cycles) * 1e9 / clock.rate();
                let chips = &power.sdram;
                let energies = vec![chips.activate(), chips.burst(ns), chips.refresh()];
                Model { energies, nanowatts: chips.open_nanowatts() }
            }
        })
    }

    /// The length of wire that a command drives on each link, in micrometres.
    fn command_um(&self) -> u32 {
        let (spec, side) = (self.spec, self.power.command_bus_um);
        let nodes = spec.engines + spec.targets();
        match spec.command_bus.kind {
            NetworkKind::Bus => side / spec.clusters,
            // Along a row to the crosspoint, and down a column to the unit.
            NetworkKind::Crossbar => 2 * side,
            // The nodes of a ring are spaced round the chip, those of a mesh over its square area.
            NetworkKind::Ring => 4 * side / nodes,
            NetworkKind::Mesh => side / crate::network::columns(nodes as usize) as u32,
        }
    }

    fn memory(&self, words: u32) -> Result<Model, RangeError> {
        let array = Array::new(self.process, words, 32, 1, Reading::Sensed)?;
        let energies = vec![array.read(), self.idle(array.read())];
        Ok(Model { energies, nanowatts: self.leak(array.leaking_um()) })
    }

    fn component(&self, name: String, part: Part, model: Model) -> ComponentSpec {
        let names = part.classes.iter().map(|class| (*class).to_owned());
        let nanowatts = model.nanowatts;
        ComponentSpec {
            name,
            nominal_millivolts: self.power.technology.voltage_mv,
            events: names.zip(model.energies).collect(),
            states: vec![("on".to_owned(), nanowatts), ("gated".to_owned(), nanowatts)],
            static_exponent: 1,
        }
    }
}

/// Creates the meter of a machine. With an interval it also records the energy over time.
///
/// # Errors
/// If a number of the description is out of range.
pub fn meter(spec: &Spec, interval: Option<Time>) -> Result<EnergyMeter, SpecError> {
    let power = &spec.power;
    let wrong = |error: RangeError| error.in_table("power");
    let models = Models { spec, power, process: power.technology.process().map_err(wrong)? };
    let mut meter = EnergyMeter::new(interval);
    for engine in 0..spec.engines {
        for (place, part) in ENGINE_PARTS.into_iter().enumerate() {
            let model = models.engine(place).map_err(wrong)?;
            let name = format!("engine_{engine}_{}", part.name);
            meter.component(models.component(name, part, model))?;
        }
    }
    for (place, part) in CHIP_PARTS.into_iter().enumerate() {
        let model = models.chip(place).map_err(wrong)?;
        meter.component(models.component(part.name.to_owned(), part, model))?;
    }
    let regulator = power.regulator().map_err(wrong)?;
    let steps = &spec.governor.steps;
    for engine in 0..spec.engines {
        let events = steps.windows(2).enumerate().map(|(place, pair)| {
            let energy = regulator.change(pair[0].millivolts, pair[1].millivolts);
            (format!("change_{place}_{}", place + 1), energy)
        });
        meter.component(ComponentSpec {
            name: format!("engine_{engine}_regulator"),
            nominal_millivolts: power.technology.voltage_mv,
            events: events.collect(),
            states: vec![("on".to_owned(), 0)],
            static_exponent: 1,
        })?;
    }
    Ok(meter)
}
