//! The parts of the energy account, with their models.

use std::ops::Range;

use wireloom_power::datapath::Operation;
use wireloom_power::{
    Account, Arbiter, Array, Bus, Crossbar, Datapath, Part, PartModel, Plan, Process, RangeError,
    Reading, percent_of,
};
use wireloom_sim::{Energy, SpecError, Time};

use super::spec::PowerSpec;
use crate::cache::{LINE_BYTES, WAYS};
use crate::layout::ENDS;
use crate::{Chip, Spec};

/// The parts of a tile. `idle` counts ports and datapaths without an access in a cycle.
pub static TILE_PARTS: [Part; 11] = [
    Part::new("alu", &["add", "logic", "idle"]),
    Part::new("shifter", &["shift", "idle"]),
    Part::new("multiplier", &["multiply", "divide", "idle"]),
    Part::new("registers", &["read", "write", "idle"]),
    Part::new("instruction_memory", &["fetch", "idle"]),
    Part::new("data_cache", &["read", "write", "line_word", "idle"]),
    Part::new("switch_memory", &["fetch", "idle"]),
    Part::new("switch_control", &["read", "write", "add", "idle"]),
    Part::new("static_networks", &["write", "read", "route", "hop", "idle"]),
    Part::new("general_network", &["write", "read", "route", "hop", "grant", "idle"]),
    Part::new("memory_network", &["write", "read", "route", "hop", "grant", "idle"]),
];

/// The parts around the tiles.
pub static PARTS: [Part; 2] =
    [Part::new("pins", &["word"]), Part::new("dram", &["activate", "word", "refresh"])];

/// Parts that reports sum up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub name: &'static str,
    /// Parts of tiles, as indices into [`TILE_PARTS`].
    tiles: Range<usize>,
    /// Parts around the tiles, as indices into [`PARTS`].
    rest: Range<usize>,
}

/// All parts, each in one group.
const GROUPS: [Group; 6] = [
    Group { name: "tile processors", tiles: 0..6, rest: 0..0 },
    Group { name: "switch processors", tiles: 6..8, rest: 0..0 },
    Group { name: "static networks", tiles: 8..9, rest: 0..0 },
    Group { name: "dynamic networks", tiles: 9..11, rest: 0..0 },
    Group { name: "pins", tiles: 0..0, rest: 0..1 },
    Group { name: "DRAM", tiles: 0..0, rest: 1..2 },
];

/// Returns the energy of each group.
pub fn groups(account: &Account) -> impl Iterator<Item = (&'static str, Energy)> {
    GROUPS.iter().map(|group| {
        let tiles = group.tiles.clone().map(|place| account.unit_part(place));
        let rest = group.rest.clone().map(|place| account.part(place));
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
        let energies = vec![array.read(), self.off(array.read())];
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
        let energies = vec![read, lookup + data.write(), data.write(), self.off(read)];
        let leaks = f64::from(ways) * (data.leaking_um() + tags.leaking_um());
        Ok(PartModel { energies, nanowatts: self.leak(leaks) })
    }

    /// Models networks whose crossbars have `ends` ends: queues, crossbar, wires to neighbours.
    fn network(&self, ends: u32, networks: u64, is_dynamic: bool) -> Result<PartModel, RangeError> {
        let words = self.spec.queue_words;
        let queue = Array::new(self.process, words, 32, 2, Reading::FullSwing)?;
        let crossbar = Crossbar::new(self.process, ends, ends, 32)?;
        let hop = Bus::new(self.process, self.power.tile_um.into())?.carry(32);
        let mut energies = vec![queue.write(), queue.read(), crossbar.carry(), hop];
        let mut leaks = queue.leaking_um() * (QUEUES * networks) as f64;
        if is_dynamic {
            // One arbiter for each output. On average half of the inputs request it (assumed).
            let arbiter = Arbiter::round_robin(self.process, ends)?;
            energies.push(arbiter.grant(ends.div_ceil(2)));
            leaks += arbiter.leaking_um() * f64::from(ends);
        }
        energies.push(self.idle(queue.read()));
        Ok(PartModel { energies, nanowatts: self.leak(leaks) })
    }

    fn tile(&self, place: usize) -> Result<PartModel, RangeError> {
        let datapath = Datapath::new(self.process);
        let add = datapath.energy(Operation::Add);
        Ok(match place {
            0 => {
                let energies = vec![add, datapath.energy(Operation::Logic), self.off(add)];
                PartModel { energies, nanowatts: self.leak(datapath.alu_leaking_um()) }
            }
            1 => {
                let shift = datapath.energy(Operation::Shift);
                let energies = vec![shift, self.off(shift)];
                PartModel { energies, nanowatts: self.leak(datapath.shifter_leaking_um()) }
            }
            2 => {
                let product = datapath.multiply();
                let energies = vec![product, datapath.divide(), self.off(product)];
                PartModel { energies, nanowatts: self.leak(datapath.multiplier_leaking_um()) }
            }
            3 => {
                let ports = REGISTER_PORTS as u32;
                let array = Array::new(self.process, 32, 32, ports, Reading::FullSwing)?;
                let energies = vec![array.read(), array.write(), self.idle(array.read())];
                PartModel { energies, nanowatts: self.leak(array.leaking_um()) }
            }
            4 => self.fetched(self.spec.tile.instruction_words, 32)?,
            5 => self.cache()?,
            6 => self.fetched(self.spec.switch.instruction_words, 64)?,
            7 => {
                let array = Array::new(self.process, SWITCH_REGISTERS, 32, 2, Reading::FullSwing)?;
                let energies = vec![array.read(), array.write(), add, self.idle(array.read())];
                PartModel { energies, nanowatts: self.leak(array.leaking_um()) }
            }
            8 => self.network(STATIC_ENDS, STATIC, false)?,
            _ => self.network(ENDS as u32, 1, true)?,
        })
    }

    /// Models the pins of the chip, and the chips of all memories.
    fn rest(&self, memories: u64) -> Vec<PartModel> {
        let power = self.power;
        let word = power.technology.board_word(power.pin_pf);
        let chips = &power.dram;
        let burst = chips.burst(f64::from(power.dram_word_ps) / 1e3);
        vec![
            PartModel { energies: vec![word], nanowatts: 0 },
            PartModel {
                energies: vec![chips.activate(), burst, chips.refresh()],
                nanowatts: chips.open_nanowatts() * memories,
            },
        ]
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
    for (place, part) in TILE_PARTS.iter().cloned().enumerate() {
        unit_parts.push((part, models.tile(place).map_err(wrong)?));
    }
    let tiles = (0..spec.rows).flat_map(|y| (0..spec.columns).map(move |x| (x, y)));
    let plan = Plan {
        units: tiles.map(|(x, y)| format!("tile_{x}_{y}")).collect(),
        unit_parts,
        parts: PARTS.iter().cloned().zip(models.rest(chip.accesses().count() as u64)).collect(),
        millivolts: power.technology.voltage_mv,
    };
    Account::new(plan, interval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_in_one_group() {
        let all = |places: fn(&Group) -> Range<usize>| -> Vec<usize> {
            GROUPS.iter().flat_map(places).collect()
        };
        assert!(all(|group| group.tiles.clone()).into_iter().eq(0..TILE_PARTS.len()));
        assert!(all(|group| group.rest.clone()).into_iter().eq(0..PARTS.len()));
    }

    #[test]
    fn models_have_an_energy_for_each_class_and_more_memory_costs_more() {
        let cost = |change: fn(&mut Spec)| {
            let mut spec = Spec::built_in();
            change(&mut spec);
            let process = spec.power.technology.process().expect("a process");
            let models = Models { spec: &spec, power: &spec.power, process };
            let parts: Vec<PartModel> =
                (0..TILE_PARTS.len()).map(|place| models.tile(place).expect("a model")).collect();
            for (part, model) in TILE_PARTS.iter().zip(&parts) {
                assert_eq!(part.classes.len(), model.energies.len(), "{}", part.name);
            }
            parts
        };
        let own = cost(|_| {});
        let large = cost(|spec| {
            spec.cache.kilobytes = 128;
            spec.tile.instruction_words = 32_768;
            spec.queue_words = 16;
        });
        for place in [4, 5, 8, 9, 10] {
            assert!(large[place].energies[0] > own[place].energies[0], "{place}");
            assert!(large[place].nanowatts > own[place].nanowatts, "{place}");
        }
        // A read reads both ways with their tags, a write changes one.
        assert!(own[5].energies[0] > own[5].energies[2]);
        assert!(own[5].energies[1] > own[5].energies[2]);
    }
}
