//! The chip: simulates all units cycle by cycle.

use std::any::Any;
use std::collections::HashMap;

use wireloom_isa::raw::{switch, tile};
use wireloom_sim::wait_graph::{WaitAnalysis, WaitGraph};

use crate::asm::{Program, UnitOf};
use crate::cache::{LINE_BYTES, LINE_WORDS};
use crate::device::{Accesses, Device, Memory, Port};
use crate::layout::{Layout, Side};
use crate::message::Header;
use crate::queue::Queue;
use crate::router::Router;
use crate::spec::{Spec, SpecError};
use crate::spent::{SwitchCycles, TileCycles, Work};
use crate::switch::Switch;
use crate::tile::{Region, Tile};
use crate::waits;

/// After this many cycles without a step the chip is stuck. No unit waits longer.
const PATIENCE: u64 = 1000;
/// After this many cycles without a step a chip of halted processors is done. Words in flight take
/// fewer.
const SETTLED: u64 = 128;

/// Why a chip cannot be built, or why a run stops.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The description is not valid.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// A program does not fit.
    #[error("{0}")]
    Program(String),
    /// The port does not exist, or has a device already.
    #[error("{0}")]
    Port(String),
    /// A program did something that its unit does not support.
    #[error("{unit} stops in cycle {cycle}: {why}")]
    Fault {
        /// The unit, such as "tile (1,0)".
        unit: String,
        /// The processor and the number of its instruction; none for a router.
        at: Option<(UnitOf, u32)>,
        cycle: u64,
        why: String,
    },
    /// Units wait, and nothing moves.
    #[error("no step since cycle {since}\n{report}")]
    Stuck {
        /// The cycle of the last step.
        since: u64,
        /// The wait graph.
        report: Box<WaitAnalysis>,
    },
    /// Packets have not left in time.
    #[error("after {cycles} cycles packets are still inside; {left} have left\n{report}")]
    Unfinished {
        /// Cycles that the run took.
        cycles: u64,
        /// Packets that have left.
        left: u64,
        /// The wait graph.
        report: Box<WaitAnalysis>,
    },
}

/// Memory as programs left it: lines that caches have changed take precedence over the memories at
/// ports.
pub struct MemoryView<'a> {
    changed: HashMap<u32, &'a [u32; LINE_WORDS]>,
    memories: Vec<&'a Memory>,
}

impl MemoryView<'_> {
    /// Returns the word at an address, if a memory holds it.
    pub fn word(&self, address: u32) -> Option<u32> {
        let place = (address % LINE_BYTES / 4) as usize;
        let changed = self.changed.get(&(address & !(LINE_BYTES - 1)));
        changed
            .map(|words| words[place])
            .or_else(|| self.memories.iter().find_map(|memory| memory.read(address)))
    }
}

/// A chip with its programs and devices.
pub struct Chip {
    spec: Spec,
    pub(crate) layout: Layout,
    pub(crate) queues: Vec<Queue>,
    pub(crate) tiles: Vec<Tile>,
    pub(crate) switches: Vec<Switch>,
    pub(crate) routers: Vec<[Router; 2]>,
    pub(crate) devices: Vec<Option<Box<dyn Device>>>,
    /// Whether each port has a device.
    attached: Vec<bool>,
    regions: Vec<Vec<Region>>,
    /// Data of the program that no attached memory holds yet.
    data: Vec<(u32, Vec<u32>)>,
    pub(crate) now: u64,
    last_step: u64,
    /// Whether the last simulated cycle repeats until a device acts without input.
    pub(crate) has_rested: bool,
    /// Cycles that were simulated one by one, not skipped.
    pub(crate) simulated: u64,
    /// Whether cycles in which the chip rests are simulated one by one, for comparison.
    pub(crate) simulates_rest: bool,
}

impl Chip {
    /// Creates a chip that runs a program.
    ///
    /// # Errors
    /// If the description is wrong, or the program does not fit the chip.
    pub fn new(spec: &Spec, program: &Program) -> Result<Self, Error> {
        spec.check()?;
        let layout = Layout::new(spec.columns as usize, spec.rows as usize);
        let mut chip = Self {
            spec: spec.clone(),
            queues: vec![Queue::new(spec.queue_words); layout.queues()],
            tiles: Vec::new(),
            switches: Vec::new(),
            routers: Vec::new(),
            devices: layout.ports.iter().map(|_| None).collect(),
            attached: vec![false; layout.ports.len()],
            regions: vec![Vec::new(); layout.tiles()],
            layout,
            data: program.data().map(|(address, words)| (address, words.to_vec())).collect(),
            now: 0,
            last_step: 0,
            has_rested: false,
            simulated: 0,
            simulates_rest: false,
        };
        for tile in 0..chip.layout.tiles() {
            let place = (tile % chip.layout.columns, tile / chip.layout.columns);
            let (words, switch_words) = program.of((place.0 as u8, place.1 as u8));
            let at = chip.layout.place(tile);
            let error = |what: &str, why: String| Error::Program(format!("{what} {at}: {why}"));
            let room = (spec.tile.instruction_words, spec.switch.instruction_words);
            for (what, words, room) in
                [("tile", words.len(), room.0), ("switch", switch_words.len(), room.1)]
            {
                if words > room as usize {
                    return Err(error(what, format!("{words} words; there is room for {room}")));
                }
            }
            let code = words.iter().map(|word| tile::decode(*word)).collect::<Result<Vec<_>, _>>();
            let code = code.map_err(|e| error("tile", e.to_string()))?;
            chip.tiles.push(Tile::new(tile, &code, spec));
            let code = switch_words.iter().map(|word| switch::decode(*word));
            let code = code.collect::<Result<Vec<_>, _>>();
            let code = code.map_err(|e| error("switch", e.to_string()))?;
            chip.switches.push(Switch::new(&code, tile, &chip.layout));
            chip.routers.push([Router::new(tile, 2), Router::new(tile, 3)]);
        }
        if let Some((x, y)) = program.tiles().find(|(x, y)| {
            usize::from(*x) >= chip.layout.columns || usize::from(*y) >= chip.layout.rows
        }) {
            return Err(Error::Program(format!(
                "there is no tile ({x},{y}) on a chip of {} x {}",
                spec.columns, spec.rows
            )));
        }
        Ok(chip)
    }

    /// Attaches a device to a tile's side at the edge of the chip. A memory gets the program data
    /// in its range.
    ///
    /// # Errors
    /// If there is no such port, or it has a device already.
    pub fn attach(
        &mut self,
        (x, y): (u8, u8),
        side: Side,
        mut device: impl Device,
    ) -> Result<(), Error> {
        let port = self.port((x, y), side)?;
        if self.devices[port].is_some() {
            return Err(Error::Port(format!("{} is attached already", self.layout.device(port))));
        }
        if let Some(memory) = (&mut device as &mut dyn Any).downcast_mut::<Memory>() {
            self.data.retain(|(address, words)| !memory.load(*address, words));
            let spec = memory.spec();
            let header = Header { last: 1 + side as u8, destination: (x, y), ..Header::default() };
            for (tile, regions) in self.regions.iter_mut().enumerate() {
                let place = (tile % self.layout.columns, tile / self.layout.columns);
                let origin = (place.0 as u8, place.1 as u8);
                let header = Header { origin, ..header };
                regions.push(Region { base: spec.base, bytes: spec.bytes, header });
            }
        }
        self.devices[port] = Some(Box::new(device));
        self.attached[port] = true;
        Ok(())
    }

    /// Returns the device at a port, if it is of this type.
    pub fn device<D: Device>(&mut self, place: (u8, u8), side: Side) -> Option<&mut D> {
        let port = self.port(place, side).ok()?;
        let device: &mut dyn Any = self.devices[port].as_deref_mut()?;
        device.downcast_mut()
    }

    /// Returns the device at a port for reading, if it is of this type.
    pub fn device_at<D: Device>(&self, place: (u8, u8), side: Side) -> Option<&D> {
        let port = self.port(place, side).ok()?;
        let device: &dyn Any = self.devices[port].as_deref()?;
        device.downcast_ref()
    }

    fn port(&self, (x, y): (u8, u8), side: Side) -> Result<usize, Error> {
        let (x, y) = (usize::from(x), usize::from(y));
        let is_inside = x < self.layout.columns && y < self.layout.rows;
        let port = self.layout.port(y * self.layout.columns + x, side as usize);
        port.filter(|_| is_inside).ok_or_else(|| {
            Error::Port(format!("there is no port on the {side:?} side of tile ({x},{y})"))
        })
    }

    /// Runs for a number of cycles, or until all processors have halted and nothing moves.
    ///
    /// # Errors
    /// If a program does something that its unit does not support, or units wait and none can go
    /// on.
    pub fn run(&mut self, cycles: u64) -> Result<(), Error> {
        if let Some((address, words)) = self.data.first() {
            return Err(Error::Program(format!(
                "no memory holds the data of {} words at {address:#x}: attach one to the chip for it",
                words.len()
            )));
        }
        let end = self.now.saturating_add(cycles);
        while self.now < end {
            let (units, devices) = self.step()?;
            self.has_rested = !units && devices && self.is_at_rest();
            if units || devices {
                if self.has_rested {
                    self.rest(self.resting().min(end - self.now));
                }
                self.last_step = self.now;
                continue;
            }
            if !self.stands_still() {
                continue;
            }
            let report = Box::new(self.waits().report());
            if self.is_halted() && report.cycles.is_empty() {
                break;
            }
            return Err(Error::Stuck { since: self.last_step, report });
        }
        Ok(())
    }

    /// Returns the description of the chip.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Returns the access counts of each memory at a port.
    pub fn accesses(&self) -> impl Iterator<Item = Accesses> {
        self.devices.iter().flatten().filter_map(|device| device.accesses())
    }

    /// Returns the current wait graph.
    pub fn waits(&self) -> WaitGraph {
        waits::of(self, self.now + 1)
    }

    /// Whether no unit has moved for as long as [`run`](Self::run) waits.
    pub(crate) fn stands_still(&self) -> bool {
        self.now - self.last_step >= if self.is_halted() { SETTLED } else { PATIENCE }
    }

    /// Returns the error for a chip on which units wait and nothing moves.
    pub(crate) fn standstill(&self) -> Error {
        Error::Stuck { since: self.last_step, report: Box::new(self.waits().report()) }
    }

    /// Returns the cycles since reset.
    pub fn cycles(&self) -> u64 {
        self.now
    }

    /// Returns a register of a tile processor.
    pub fn register(&self, (x, y): (u8, u8), number: u8) -> u32 {
        let tile = usize::from(y) * self.layout.columns + usize::from(x);
        self.tiles[tile].registers[usize::from(number)]
    }

    /// Returns the address of the next instruction of a tile processor.
    pub fn program_counter(&self, (x, y): (u8, u8)) -> u32 {
        self.tiles[usize::from(y) * self.layout.columns + usize::from(x)].pc
    }

    /// Returns the instructions that a tile processor has executed, and the hits and misses of its
    /// cache.
    pub fn counts(&self, (x, y): (u8, u8)) -> (u64, u64, u64) {
        let tile = &self.tiles[usize::from(y) * self.layout.columns + usize::from(x)];
        let (hits, misses) = tile.cache_counts();
        (tile.executed, hits, misses)
    }

    /// Returns the cycles of a tile processor and of its switch by cause.
    pub fn spent(&self, (x, y): (u8, u8)) -> (TileCycles, SwitchCycles) {
        let tile = usize::from(y) * self.layout.columns + usize::from(x);
        (self.tiles[tile].cycles, self.switches[tile].cycles)
    }

    /// Returns the instructions that a tile processor has executed, by kind.
    pub fn work(&self, (x, y): (u8, u8)) -> Work {
        let tile = &self.tiles[usize::from(y) * self.layout.columns + usize::from(x)];
        let mut work = Work::default();
        for (instruction, times) in tile.program.iter().zip(&tile.times) {
            work.add(instruction, *times);
        }
        work
    }

    /// Returns the word at an address as programs left it: from a cache that has changed it, or
    /// from the memory at a port.
    pub fn word(&self, address: u32) -> Option<u32> {
        let changed = self.tiles.iter().find_map(|tile| tile.changed(address));
        changed.or_else(|| {
            self.devices.iter().flatten().find_map(|device| {
                let device: &dyn Any = device.as_ref();
                device.downcast_ref::<Memory>()?.read(address)
            })
        })
    }

    /// Returns memory as programs left it, for reading many addresses. See [`word`](Self::word).
    pub fn memory(&self) -> MemoryView<'_> {
        let mut changed = HashMap::new();
        for (address, words) in self.tiles.iter().flat_map(Tile::changed_lines) {
            changed.entry(address).or_insert(words);
        }
        fn memory<'a>(device: &'a (dyn Device + 'static)) -> Option<&'a Memory> {
            let device: &dyn Any = device;
            device.downcast_ref()
        }
        let devices = self.devices.iter().flatten();
        let memories = devices.filter_map(|device| memory(device.as_ref())).collect();
        MemoryView { changed, memories }
    }

    /// Changes the word at an address in all caches that hold it, and in memory.
    pub fn set_word(&mut self, address: u32, word: u32) {
        self.tiles.iter_mut().for_each(|tile| tile.replace_word(address, word));
        for device in self.devices.iter_mut().flatten() {
            let device: &mut dyn Any = device.as_mut();
            let memory = device.downcast_mut::<Memory>();
            if let Some(place) = memory.and_then(|memory| memory.word(address)) {
                *place = word;
            }
        }
    }

    /// Whether all tile processors have halted.
    pub fn is_halted(&self) -> bool {
        self.tiles.iter().all(|tile| tile.is_halted)
    }

    /// Simulates one cycle. Returns whether any unit of the chip made a step, and whether any
    /// device did.
    fn step(&mut self) -> Result<(bool, bool), Error> {
        (self.now, self.simulated) = (self.now + 1, self.simulated + 1);
        let now = self.now;
        let fault = |unit: String, at, why| Error::Fault { unit, at, cycle: now, why };
        let columns = self.layout.columns;
        let place = |number: usize| ((number % columns) as u8, (number / columns) as u8);
        let mut moves = false;
        let (layout, queues) = (&self.layout, &mut self.queues);
        for (number, tile) in self.tiles.iter_mut().enumerate() {
            let regions = &self.regions[number];
            moves |= tile.cycle(&self.spec, layout, regions, queues, now).map_err(|why| {
                let at = ((place(number), false), tile.pc / 4);
                fault(layout.processor(number), Some(at), why)
            })?;
        }
        let penalty = u64::from(self.spec.switch.mispredicted_cycles);
        for (number, switch) in self.switches.iter_mut().enumerate() {
            moves |= switch.cycle(queues, now, penalty).map_err(|why| {
                let at = ((place(number), true), switch.pc);
                fault(layout.mover(number, 0), Some(at), why)
            })?;
        }
        let turn = u64::from(self.spec.dynamic.turn_cycles);
        for (number, routers) in self.routers.iter_mut().enumerate() {
            for (network, router) in (2..).zip(routers) {
                moves |= router
                    .cycle(layout, &self.attached, queues, now, turn)
                    .map_err(|why| fault(layout.mover(number, network), None, why))?;
            }
        }
        let mut acts = false;
        for (number, device) in self.devices.iter_mut().enumerate() {
            let Some(device) = device else { continue };
            let (tile, side) = layout.ports[number];
            let numbers = std::array::from_fn(|network| {
                let from = layout.to_device(number, network);
                (from as u32, layout.input(tile, network, side) as u32)
            });
            let place = ((tile % layout.columns) as u8, (tile / layout.columns) as u8);
            let last = 1 + side as u8;
            acts |= device.cycle(&mut Port { now, tile: place, last, queues, numbers });
        }
        Ok((moves, acts))
    }
}
