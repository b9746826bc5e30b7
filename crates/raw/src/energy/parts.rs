//! The parts of the energy account, with their models.

use wireloom_power::datapath::Operation;
use wireloom_power::{
    Account, Arbiter, Array, Bus, Crossbar, Datapath, PartKey, PartModel, Plan, Process,
    RangeError, Reading, parts, percent_of,
};
use wireloom_sim::{Energy, SpecError, Time};

use super::spec::PowerSpec;
use crate::cache::{LINE_BYTES, WAYS};
use crate::layout::ENDS;
use crate::{Chip, Spec};

parts! {
    /// The parts of a tile. `idle` counts ports and datapaths without an access in a cycle.
    pub enum TilePart {
        Alu = "alu" [add, logic, idle],
        Shifter = "shifter" [shift, idle],
        Multiplier = "multiplier" [multiply, divide, idle],
        Registers = "registers" [read, write, idle],
        InstructionMemory = "instruction_memory" [fetch, idle],
        DataCache = "data_cache" [read, write, line_word, idle],
        SwitchMemory = "switch_memory" [fetch, idle],
        SwitchControl = "switch_control" [read, write, add, idle],
        StaticNetworks = "static_networks" [write, read, route, hop, idle],
        GeneralNetwork = "general_network" [write, read, route, hop, grant, idle],
        MemoryNetwork = "memory_network" [write, read, route, hop, grant, idle],
    }
}

parts! {
    /// The parts around the tiles.
    pub enum ChipPart {
        Pins = "pins" [word],
        Dram = "dram" [activate, word, refresh],
    }
}

/// Parts that reports sum up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    name: &'static str,
    tile: &'static [TilePart],
    chip: &'static [ChipPart],
}

/// All parts, each in one group.
const GROUPS: [Group; 6] = {
    use {ChipPart as C, TilePart as T};
    const PROCESSOR: &[TilePart] =
        &[T::Alu, T::Shifter, T::Multiplier, T::Registers, T::InstructionMemory, T::DataCache];
    [
        Group { name: "tile processors", tile: PROCESSOR, chip: &[] },
        Group { name: "switch processors", tile: &[T::SwitchMemory, T::SwitchControl], chip: &[] },
        Group { name: "static networks", tile: &[T::StaticNetworks], chip: &[] },
        Group { name: "dynamic networks", tile: &[T::GeneralNetwork, T::MemoryNetwork], chip: &[] },
        Group { name: "pins", tile: &[], chip: &[C::Pins] },
        Group { name: "DRAM", tile: &[], chip: &[C::Dram] },
    ]
};

/// Returns the energy of each group.
pub fn groups(account: &Account) -> impl Iterator<Item = (&'static str, Energy)> {
    GROUPS.iter().map(|group| {
        let tiles = group.tile.iter().map(|part| account.unit_part(*part));
        let rest = group.chip.iter().map(|part| account.part(*part));
        (group.name, tiles.chain(rest).sum())
    })
}

/// Ports of the register file: two operands and a result.
pub(super) const REGISTER_PORTS: u64 = 3;
/// Queues of a tile and network: one from each end of the crossbar, and one to the processor.
pub(super) const QUEUES: u64 = ENDS as u64 + 1;
/// Static networks. One switch serves both.
pub(super) const STATIC: u64 = 2;
/// Registers of a switch.
const SWITCH_REGISTERS: u32 = wireloom_isa::raw::switch::REGISTERS as u32;
/// Inputs of the crossbar of a static network ("two 7-input crossbars", public). It has as many
/// outputs (assumed).
const STATIC_ENDS: u32 = 7;

struct Models<'a> {
    spec: &'a Spec,
    power: &'a PowerSpec,
    process: Process,
}

impl Models<'_> {
    fn leak(&self, width_um: f64) -> u64 {
        self.power.technology.leak(self.process, width_um)
    }

    /// Returns the energy of a port in a cycle without access.
    fn idle(&self, access: Energy) -> Energy {
        percent_of(access, self.power.idle_percent)
    }

    /// Returns the energy of a cycle of a functional unit or memory that is turned off.
    fn off(&self, access: Energy) -> Energy {
        percent_of(access, self.power.off_percent)
    }

    /// Models a memory that is read once a cycle.
    fn fetched(&self, words: u32, bits: u32) -> Result<PartModel, RangeError> {
        let array = Array::new(self.process, words, bits, 1, Reading::Sensed)?;
        let energies = vec![("fetch", array.read()), ("idle", self.off(array.read()))];
        Ok(PartModel { energies, nanowatts: self.leak(array.leaking_um()) })
    }

    /// Models the data cache. A read reads both ways with their tags, a write changes one.
    fn cache(&self) -> Result<PartModel, RangeError> {
        let ways = WAYS as u32;
        let bytes = self.spec.cache.kilobytes * 1024 / ways;
        let lines = bytes / LINE_BYTES;
        // A tag, a valid bit and a dirty bit.
        let tag_bits = 32 - bytes.ilog2() + 2;
        let data = Array::new(self.process, bytes / 4, 32, 1, Reading::Sensed)?;
        let tags = Array::new(self.process, lines, tag_bits, 1, Reading::Sensed)?;
        let of_ways = |energy: Energy| Energy(energy.0 * u128::from(ways));
        let lookup = of_ways(tags.read());
        let read = lookup + of_ways(data.read());
        let energies = vec![
            ("read", read),
            ("write", lookup + data.write()),
            ("line_word", data.write()),
            ("idle", self.off(read)),
        ];
        let leaks = f64::from(ways) * (data.leaking_um() + tags.leaking_um());
        Ok(PartModel { energies, nanowatts: self.leak(leaks) })
    }

    /// Models networks whose crossbars have `ends` ends: queues, crossbar, wires to neighbours.
    fn network(&self, ends: u32, networks: u64, is_dynamic: bool) -> Result<PartModel, RangeError> {
        let words = self.spec.queue_words;
        let queue = Array::new(self.process, words, 32, 2, Reading::FullSwing)?;
        let crossbar = Crossbar::new(self.process, ends, ends, 32)?;
        let hop = Bus::new(self.process, self.power.tile_um.into())?.carry(32);
        let mut energies = vec![
            ("write", queue.write()),
            ("read", queue.read()),
            ("route", crossbar.carry()),
            ("hop", hop),
            ("idle", self.idle(queue.read())),
        ];
        let mut leaks = queue.leaking_um() * (QUEUES * networks) as f64;
        if is_dynamic {
            // One arbiter for each output. On average half of the inputs request it (assumed).
            let arbiter = Arbiter::round_robin(self.process, ends)?;
            energies.push(("grant", arbiter.grant(ends.div_ceil(2))));
            leaks += arbiter.leaking_um() * f64::from(ends);
        }
        Ok(PartModel { energies, nanowatts: self.leak(leaks) })
    }

    fn tile(&self, part: TilePart) -> Result<PartModel, RangeError> {
        let datapath = Datapath::new(self.process);
        let add = datapath.energy(Operation::Add);
        Ok(match part {
            TilePart::Alu => {
                let logic = datapath.energy(Operation::Logic);
                let energies = vec![("add", add), ("logic", logic), ("idle", self.off(add))];
                PartModel { energies, nanowatts: self.leak(datapath.alu_leaking_um()) }
            }
            TilePart::Shifter => {
                let shift = datapath.energy(Operation::Shift);
                let energies = vec![("shift", shift), ("idle", self.off(shift))];
                PartModel { energies, nanowatts: self.leak(datapath.shifter_leaking_um()) }
            }
            TilePart::Multiplier => {
                let product = datapath.multiply();
                let energies = vec![
                    ("multiply", product),
                    ("divide", datapath.divide()),
                    ("idle", self.off(product)),
                ];
                PartModel { energies, nanowatts: self.leak(datapath.multiplier_leaking_um()) }
            }
            TilePart::Registers => {
                let ports = REGISTER_PORTS as u32;
                let array = Array::new(self.process, 32, 32, ports, Reading::FullSwing)?;
                let energies = vec![
                    ("read", array.read()),
                    ("write", array.write()),
                    ("idle", self.idle(array.read())),
                ];
                PartModel { energies, nanowatts: self.leak(array.leaking_um()) }
            }
            TilePart::InstructionMemory => self.fetched(self.spec.tile.instruction_words, 32)?,
            TilePart::DataCache => self.cache()?,
            TilePart::SwitchMemory => self.fetched(self.spec.switch.instruction_words, 64)?,
            TilePart::SwitchControl => {
                let array = Array::new(self.process, SWITCH_REGISTERS, 32, 2, Reading::FullSwing)?;
                let energies = vec![
                    ("read", array.read()),
                    ("write", array.write()),
                    ("add", add),
                    ("idle", self.idle(array.read())),
                ];
                PartModel { energies, nanowatts: self.leak(array.leaking_um()) }
            }
            TilePart::StaticNetworks => self.network(STATIC_ENDS, STATIC, false)?,
            TilePart::GeneralNetwork | TilePart::MemoryNetwork => {
                self.network(ENDS as u32, 1, true)?
            }
        })
    }

    /// Models the pins of the chip, and the chips of all memories.
    fn chip(&self, part: ChipPart, memories: u64) -> PartModel {
        let power = self.power;
        match part {
            ChipPart::Pins => {
                let word = power.technology.board_word(power.pin_pf);
                PartModel { energies: vec![("word", word)], nanowatts: 0 }
            }
            ChipPart::Dram => {
                let chips = &power.dram;
                let burst = chips.burst(f64::from(power.dram_word_ps) / 1e3);
                PartModel {
                    energies: vec![
                        ("activate", chips.activate()),
                        ("word", burst),
                        ("refresh", chips.refresh()),
                    ],
                    nanowatts: chips.open_nanowatts() * memories,
                }
            }
        }
    }
}

/// Creates the account of a chip and the memories at its ports. With an interval the account also
/// records the energy of each interval.
///
/// # Errors
/// If a number of the description is out of its range.
pub fn account(chip: &Chip, interval: Option<Time>) -> Result<Account, SpecError> {
    let spec = chip.spec();
    let power = &spec.power;
    let wrong = |error: RangeError| error.in_table("power");
    let models = Models { spec, power, process: power.technology.process().map_err(wrong)? };
    let mut unit_parts = Vec::new();
    for part in TilePart::ALL {
        unit_parts.push((part.part().clone(), models.tile(*part).map_err(wrong)?));
    }
    let memories = chip.accesses().count() as u64;
    let parts =
        ChipPart::ALL.iter().map(|part| (part.part().clone(), models.chip(*part, memories)));
    let tiles = (0..spec.rows).flat_map(|y| (0..spec.columns).map(move |x| (x, y)));
    let plan = Plan {
        units: tiles.map(|(x, y)| format!("tile_{x}_{y}")).collect(),
        unit_parts,
        parts: parts.collect(),
        millivolts: power.technology.voltage_mv,
    };
    Account::new(plan, interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_in_one_group() {
        let tile = GROUPS.iter().flat_map(|group| group.tile);
        assert!(tile.eq(TilePart::ALL));
        let chip = GROUPS.iter().flat_map(|group| group.chip);
        assert!(chip.eq(ChipPart::ALL));
    }

    #[test]
    fn models_have_an_energy_for_each_class_and_more_memory_costs_more() {
        let cost = |change: fn(&mut Spec)| {
            let mut spec = Spec::built_in();
            change(&mut spec);
            let process = spec.power.technology.process().expect("a process");
            let models = Models { spec: &spec, power: &spec.power, process };
            let models: Vec<(TilePart, PartModel)> = TilePart::ALL
                .iter()
                .map(|part| (*part, models.tile(*part).expect("a model")))
                .collect();
            for (part, model) in &models {
                assert_eq!(part.part().in_order(&model.energies).len(), model.energies.len());
            }
            move |part| models.iter().find(|(other, _)| *other == part).expect("a model").1.clone()
        };
        let own = cost(|_| {});
        let large = cost(|spec| {
            spec.cache.kilobytes = 128;
            spec.tile.instruction_words = 32_768;
            spec.queue_words = 16;
        });
        let changed = [
            (TilePart::InstructionMemory, "fetch"),
            (TilePart::DataCache, "read"),
            (TilePart::StaticNetworks, "write"),
            (TilePart::GeneralNetwork, "write"),
            (TilePart::MemoryNetwork, "write"),
        ];
        for (part, class) in changed {
            assert!(large(part).energy(class) > own(part).energy(class), "{part:?}");
            assert!(large(part).nanowatts > own(part).nanowatts, "{part:?}");
        }
        // A read reads both ways with their tags, a write changes one.
        let cache = own(TilePart::DataCache);
        assert!(cache.energy("read") > cache.energy("line_word"));
        assert!(cache.energy("write") > cache.energy("line_word"));
    }
}
