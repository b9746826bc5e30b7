//! The components that consume energy, and their models.

use wireloom_power::datapath::Operation;
use wireloom_power::{
    Arbiter, Array, Bus, Datapath, Part, PartKey, PartModel, Place, Process, RangeError, Reading,
    parts, percent_of,
};
use wireloom_sim::energy::{Component, ComponentSpec};
use wireloom_sim::{Energy, EnergyMeter, SpecError, Time};

use super::spec::{ControlStore, PowerSpec};
use crate::network::NetworkKind;
use crate::spec::Spec;

parts! {
    /// The components of an engine. `idle` counts the cycles of ports without an access.
    pub enum EnginePart {
        Gpr = "gpr" [read, write, idle],
        Xfer = "xfer" [access, idle],
        ControlRegisters = "control_registers" [access, idle],
        ControlStore = "control_store" [fetch, idle],
        Alu = "alu" [add, logic, idle],
        Shifter = "shifter" [shift, idle],
        CommandFifo = "command_fifo" [write, read, idle],
        ContextArbiter = "context_arbiter" [grant, idle],
    }
}

parts! {
    /// The components of the rest of the chip and of its board.
    pub enum ChipPart {
        CommandBusArbiter = "command_bus_arbiter" [grant, idle],
        CommandBus = "command_bus" [command],
        CommandQueues = "command_queues" [write, read, idle],
        SramBus = "sram_bus" [word],
        SdramBus = "sdram_bus" [word],
        Scratchpad = "scratchpad" [word, idle],
        Hash = "hash" [step],
        Fifos = "fifos" [word, idle],
        IxBus = "ix_bus" [word],
        Sram = "sram" [access],
        Sdram = "sdram" [activate, burst, refresh],
    }
}

impl ChipPart {
    /// Returns whether the part is memory chips outside of the chip.
    pub fn is_memory_chip(self) -> bool {
        matches!(self, Self::Sram | Self::Sdram)
    }
}

/// The component number of a part of an engine.
pub fn engine_part(engine: usize, part: EnginePart) -> Component {
    Component((engine * EnginePart::ALL.len() + part.place()) as u32)
}

/// The component number of a part of the chip.
pub fn chip_part(engines: usize, part: ChipPart) -> Component {
    Component((engines * EnginePart::ALL.len() + part.place()) as u32)
}

/// The component number of an engine's voltage regulator. Its classes are the changes between two
/// neighbouring steps of the governor.
pub fn regulator(engines: usize, engine: usize) -> Component {
    Component((engines * EnginePart::ALL.len() + ChipPart::ALL.len() + engine) as u32)
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

    /// The model of an array that is accessed through one class of events.
    fn accessed(&self, class: &'static str, (array, nanowatts): (Array, u64)) -> PartModel {
        let energies = vec![(class, array.read()), ("idle", self.idle(array.read()))];
        PartModel { energies, nanowatts }
    }

    fn engine(&self, part: EnginePart) -> Result<PartModel, RangeError> {
        let datapath = Datapath::new(self.process);
        let engine = &self.spec.engine;
        let sizes = engine.version.sizes();
        Ok(match part {
            EnginePart::Gpr => {
                let (array, nanowatts) = self.registers(sizes.bank as u32, 2)?;
                let energies = vec![
                    ("read", array.read()),
                    ("write", array.write()),
                    ("idle", self.idle(array.read())),
                ];
                PartModel { energies, nanowatts }
            }
            EnginePart::Xfer => self.accessed("access", self.registers(sizes.transfer as u32, 4)?),
            EnginePart::ControlRegisters => self.accessed("access", self.registers(32, 1)?),
            EnginePart::ControlStore => {
                let create = match self.power.control_store {
                    ControlStore::Cut => Array::new,
                    ControlStore::Whole => Array::whole,
                };
                let array = create(self.process, engine.control_store, 32, 1, Reading::Sensed)?;
                let nanowatts = self.leak(array.leaking_um());
                self.accessed("fetch", (array, nanowatts))
            }
            EnginePart::Alu => {
                let [add, logic] = [Operation::Add, Operation::Logic].map(|o| datapath.energy(o));
                let energies = vec![("add", add), ("logic", logic), ("idle", self.idle(add))];
                PartModel { energies, nanowatts: self.leak(datapath.alu_leaking_um()) }
            }
            EnginePart::Shifter => {
                let shift = datapath.energy(Operation::Shift);
                let energies = vec![("shift", shift), ("idle", self.idle(shift))];
                PartModel { energies, nanowatts: self.leak(datapath.shifter_leaking_um()) }
            }
            EnginePart::CommandFifo => self.queue(engine.commands)?,
            EnginePart::ContextArbiter => {
                let arbiter = Arbiter::round_robin(self.process, engine.contexts)?;
                // Assumed: half of the contexts are ready on average.
                let grant = arbiter.grant(engine.contexts.div_ceil(2));
                let energies = vec![("grant", grant), ("idle", self.idle(grant))];
                PartModel { energies, nanowatts: self.leak(arbiter.leaking_um()) }
            }
        })
    }

    /// The model of a command queue.
    fn queue(&self, entries: u32) -> Result<PartModel, RangeError> {
        let bits = self.power.command_bits;
        let array = Array::new(self.process, entries, bits, 2, Reading::FullSwing)?;
        let energies = vec![
            ("write", array.write()),
            ("read", array.read()),
            ("idle", self.idle(array.read())),
        ];
        Ok(PartModel { energies, nanowatts: self.leak(array.leaking_um()) })
    }

    fn chip(&self, part: ChipPart) -> Result<PartModel, RangeError> {
        let (spec, power) = (self.spec, self.power);
        let bus =
            |um: u32, bits| Ok::<_, RangeError>(Bus::new(self.process, um.into())?.carry(bits));
        let dynamic = |class, energy| PartModel { energies: vec![(class, energy)], nanowatts: 0 };
        Ok(match part {
            ChipPart::CommandBusArbiter => {
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
                let energies = vec![("grant", grant), ("idle", self.idle(grant))];
                PartModel { energies, nanowatts }
            }
            ChipPart::CommandBus => dynamic("command", bus(self.command_um(), power.command_bits)?),
            ChipPart::CommandQueues => {
                // Each unit has three queues; an access goes to one of them.
                let entries = [&spec.sram.queue, &spec.sdram.queue, &spec.scratch.queue];
                let more = [&spec.hash.queue, &spec.fbi.queue, &spec.msf.queue];
                let most = entries.into_iter().chain(more).max();
                let mut model = self.queue(*most.expect("six units"))?;
                model.nanowatts *= 3 * queues(spec);
                model
            }
            ChipPart::SramBus => dynamic("word", bus(power.sram_bus_um, 32)?),
            ChipPart::SdramBus => dynamic("word", bus(power.sdram_bus_um, 32)?),
            ChipPart::Scratchpad => self.memory(spec.scratch.bytes / 4)?,
            ChipPart::Hash => {
                let step = Datapath::new(self.process).network(64 * spec.hash.step_bits);
                let nanowatts = self.leak(HASH_LEAKS_UM * self.process.scale());
                PartModel { energies: vec![("step", step)], nanowatts }
            }
            ChipPart::Fifos => {
                let elements: u32 = spec.elements().iter().sum();
                self.memory(elements * (spec.mpkt_bytes() / 4 + 2))?
            }
            ChipPart::IxBus => dynamic("word", power.technology.board_word(power.ix_bus_pf)),
            ChipPart::Sram => {
                let energies = vec![("access", power.sram.access())];
                PartModel { energies, nanowatts: power.sram.standby_nanowatts() }
            }
            ChipPart::Sdram => {
                let clock = spec.core.clock;
                let ns = f64::from(spec.sdram.quad_cycles) * 1e9 / clock.rate();
                let chips = &power.sdram;
                let energies = vec![
                    ("activate", chips.activate()),
                    ("burst", chips.burst(ns)),
                    ("refresh", chips.refresh()),
                ];
                PartModel { energies, nanowatts: chips.open_nanowatts() }
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

    fn memory(&self, words: u32) -> Result<PartModel, RangeError> {
        let array = Array::new(self.process, words, 32, 1, Reading::Sensed)?;
        let nanowatts = self.leak(array.leaking_um());
        Ok(self.accessed("word", (array, nanowatts)))
    }

    fn component(&self, name: String, part: &Part, model: &PartModel) -> ComponentSpec {
        let names = part.classes.iter().map(|class| (*class).to_owned());
        let nanowatts = model.nanowatts;
        ComponentSpec {
            name,
            nominal_millivolts: self.power.technology.voltage_mv,
            events: names.zip(part.in_order(&model.energies)).collect(),
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
        for key in EnginePart::ALL {
            let (part, model) = (key.part(), models.engine(*key).map_err(wrong)?);
            let name = format!("engine_{engine}_{}", part.name);
            meter.component(models.component(name, part, &model))?;
        }
    }
    for key in ChipPart::ALL {
        let (part, model) = (key.part(), models.chip(*key).map_err(wrong)?);
        meter.component(models.component(part.name.to_string(), part, &model))?;
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
