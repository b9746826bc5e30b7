//! Where the tables of a program are in the memories of the chip, and what is in them at the start.

mod contents;
mod near;
mod park;
pub mod prefixes;
mod tables;

use std::fmt::Write as _;
use std::sync::Arc;

use wireloom_bits::Bits;
use wireloom_codegen::refused::Refused;
use wireloom_codegen::steps::{first_user, ops};
use wireloom_ir::{Engine, OpKind, Program};
use wireloom_isa::microengine::Version;
use wireloom_offloads::{Config, Content, Instance, Store, registry};

use super::first_gate;
use super::order::Order;
use super::words;

/// Words of SDRAM of a thread's packet buffer.
const BUFFER: u32 = 32_768;

/// Words of SRAM between the frames of threads on version 2: those of a channel, so that frames begin in different
/// ones (`thread.uc`).
const BETWEEN: u32 = 32;

/// Sizes of the memories in words, and who shares them.
#[derive(Clone, Copy, Debug)]
pub struct Memories {
    /// SRAM.
    pub sram: u32,
    /// SDRAM.
    pub sdram: u32,
    /// The scratchpad.
    pub scratch: u32,
    /// The version of the microengines.
    pub version: Version,
    /// Threads that process packets.
    pub threads: u32,
    /// Words of SRAM for the frame of each.
    pub frame: u32,
}

/// A memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unit {
    /// SRAM.
    Sram,
    /// SDRAM.
    Sdram,
    /// The scratchpad.
    Scratch,
}

impl Unit {
    /// The name in microcode.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sram => "sram",
            Self::Sdram => "sdram",
            Self::Scratch => "scratch",
        }
    }

    /// Regions begin at a multiple of so many words.
    fn aligned(self) -> u32 {
        if self == Self::Scratch { 1 } else { 16 }
    }
}

/// Where an offload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It has no memory.
    Nowhere,
    /// Elements of a power of two of words.
    Elements {
        /// The memory.
        unit: Unit,
        /// The first word.
        base: u32,
        /// The logarithm of the words of an element.
        shift: u32,
        /// The number of elements.
        size: u32,
    },
    /// Bits of a filter, 32 to a word.
    Bits {
        /// The first word.
        base: u32,
    },
    /// An automaton that finds patterns, in SRAM.
    Automaton {
        /// The words with the classes of bytes.
        classes: u32,
        /// The row of the first state.
        start: u32,
    },
    /// Meters in SRAM; `routines::meter` has the layout.
    Meters {
        /// The first word.
        base: u32,
        /// Their number.
        size: u32,
    },
    /// A table from keys to values; `routines::table` has the layout.
    Table {
        /// The memory.
        unit: Unit,
        /// The first word of its header, or quad word of SDRAM.
        base: u32,
    },
    /// Parked packets in SDRAM; `routines::park` has the layout.
    Park {
        /// The first quad word of its header.
        base: u32,
    },
    /// A trie.
    Trie {
        /// The memory.
        unit: Unit,
        /// The first word of its root.
        base: u32,
    },
}

/// The places of all offloads of the engine that takes packets, and what is in the memories.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Whether the memories add to a word and return what it was.
    pub adds: bool,
    /// For each offload.
    pub places: Vec<Place>,
    /// The constant arrays, and where they are.
    pub tables: Vec<(Arc<[Bits]>, Place)>,
    /// Where the tables of CRC-32 and CRC-32C are, if they are needed.
    pub checks: [Option<u32>; 2],
    /// The multipliers of the hash unit for 48 and 64 bits, if it is needed: those of `hash`, which tables use too.
    pub multiplier: Option<[u64; 2]>,
    /// What is in the memories besides offloads, and does not change.
    pub fixed: Vec<Image>,
    /// Words of SRAM for the frame of each thread.
    pub frame: u32,
    /// Gates at which packets wait for their turn at offloads.
    pub gates: u32,
    /// Words of the scratchpad for each gate, and the first of all.
    pub ring: u32,
    pub first_gate: u32,
    /// The words of the scratchpad of each thread of version 1, and the first one of all.
    pub near: u32,
    pub first_near: u32,
    /// The words of each offload, if it has any.
    regions: Vec<Option<Region>>,
}

/// Words of a memory from an address on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// The memory.
    pub unit: Unit,
    /// The first word.
    pub first: u32,
    /// The words.
    pub words: Vec<u32>,
}

impl Layout {
    /// Microcode that gives the hash unit its multipliers.
    pub fn multipliers(&self) -> String {
        let Some(multipliers) = self.multiplier else { return String::new() };
        let mut text = String::from("    .begin\n    .reg half\n");
        for (bits, multiplier) in [48, 64].into_iter().zip(multipliers) {
            for (half, value) in [("lo", multiplier as u32), ("hi", (multiplier >> 32) as u32)] {
                let _ = write!(
                    text,
                    "    immed32[half, {value:#x}]\n    alu[$0, --, B, half]\n    \
                     csr[write, $0, hash_multiplier_{bits}_{half}], ctx_swap\n"
                );
            }
        }
        text + "    .end\n"
    }

    /// The words of the memories for the contents of an offload, by its number. An offload without
    /// memory has none.
    ///
    /// # Errors
    /// If they are more than its place has.
    pub fn image(&self, number: usize, slot: &mut Slot<'_>) -> Result<Option<Image>, String> {
        let Some(region) = self.regions.get(number).copied().flatten() else { return Ok(None) };
        let multiplier = self.multiplier.map_or(0, |[_, long]| long);
        let words = contents::image(slot.config, slot.instance, region, multiplier)?;
        Ok(Some(Image { unit: region.unit, first: region.first, words }))
    }

    /// Takes into an offload, by its number, what packets have changed: `word` reads the memories.
    pub fn read_back(&self, number: usize, slot: &mut Slot<'_>, word: impl Fn(Unit, u32) -> u32) {
        if let Some(place) = self.places.get(number) {
            contents::read_back(slot.config, slot.instance, *place, word);
        }
    }

    /// Where a constant array is.
    pub fn table(&self, elements: &[Bits]) -> Option<Place> {
        let found = self.tables.iter().find(|(table, _)| **table == *elements);
        found.map(|(_, place)| *place)
    }
}

/// Words of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The memory.
    pub unit: Unit,
    /// The first word.
    pub first: u32,
    /// Their number. Contents that grow may take fewer.
    pub words: u32,
}

/// The memories while offloads get their places.
struct Room {
    next: [u32; 3],
    /// Words promised to offloads that get their places last.
    promised: [u32; 3],
    most: [u32; 3],
}

impl Room {
    /// The words of a memory that are left.
    fn left(&self, unit: Unit) -> u32 {
        let unit = unit as usize;
        self.most[unit].saturating_sub(self.next[unit]).saturating_sub(self.promised[unit])
    }

    /// Takes words of the first of these memories that has so many.
    fn take(&mut self, wanted: &[(Unit, u64)]) -> Option<Region> {
        let (unit, words) = self.first(wanted)?;
        let (first, words) = (self.next[unit as usize], words as u32);
        self.next[unit as usize] = (first + words).next_multiple_of(unit.aligned());
        Some(Region { unit, first, words })
    }

    /// Promises words of the first of these memories that has so many.
    fn promise(&mut self, wanted: &[(Unit, u64)]) -> Option<(Unit, u32)> {
        let (unit, words) = self.first(wanted)?;
        let words = (words as u32).next_multiple_of(unit.aligned());
        self.promised[unit as usize] += words;
        Some((unit, words))
    }

    fn first(&self, wanted: &[(Unit, u64)]) -> Option<(Unit, u64)> {
        wanted.iter().copied().find(|(unit, words)| *words <= u64::from(self.left(*unit)))
    }
}

/// An offload with its state.
pub struct Slot<'a> {
    /// Its path.
    pub path: String,
    /// The declaration.
    pub config: &'a Config,
    /// The state.
    pub instance: &'a mut dyn Instance,
}

/// The offloads of a store that are no engines, in the order of [`Store::paths`].
pub fn slots(store: &mut Store) -> Vec<Slot<'_>> {
    let mut slots = Vec::new();
    for slot in &mut store.slots {
        match &mut slot.content {
            Content::Kind { config, instance } => {
                slots.push(Slot { path: slot.name.clone(), config, instance: instance.as_mut() });
            }
            Content::Engine(inner) => {
                let name = &slot.name;
                let inner = self::slots(inner).into_iter();
                slots.extend(
                    inner.map(|slot| Slot { path: format!("{name}.{}", slot.path), ..slot }),
                );
            }
        }
    }
    slots
}

/// Places the offloads of a program, whose engine calls no other one, with their contents. The scratchpad is filled
/// first. Offloads whose contents can grow come last in a memory, and share what is left of it.
///
/// # Errors
/// What has no place.
pub fn place(
    program: &Program,
    store: &mut Store,
    memories: Memories,
) -> Result<Layout, Vec<Refused>> {
    let between = if memories.version == Version::Two { BETWEEN } else { 0 };
    let frames = u64::from(memories.threads) * u64::from(memories.frame + between);
    if frames > memories.sram.into() {
        let message = format!(
            "the context and its values have no place: {} threads take {} words of SRAM each, and it has \
             {}",
            memories.threads, memories.frame, memories.sram
        );
        return Err(vec![Refused { offload: None, step: None, message }]);
    }
    let engine = &program.engines[program.main.index()];
    // Each thread has one packet in hand, and their numbers are consecutive.
    let ring = memories.threads.next_power_of_two();
    let first_gate = first_gate(memories.version);
    let order =
        Order::of(engine, Order::most(memories.scratch, first_gate, ring), ring, first_gate);
    let near = match memories.version {
        Version::One => near::words(engine, memories.scratch - order.words(), memories.threads),
        Version::Two => 0,
    };
    let taken = order.words() + near * memories.threads;
    let mut room = Room {
        next: [frames as u32, memories.threads * BUFFER, taken],
        promised: [0; 3],
        most: [memories.sram, memories.sdram, memories.scratch],
    };
    let mut layout = Layout {
        frame: memories.frame,
        adds: memories.version == Version::Two,
        gates: order.gates(),
        ring,
        first_gate,
        near,
        first_near: order.words(),
        ..Layout::default()
    };
    let mut refused = Vec::new();
    let mut growing = Vec::new();
    let mut slots = slots(store);
    layout.regions = near::regions(engine, &slots, memories.version, &mut room);
    for (number, slot) in slots.iter_mut().enumerate() {
        let placed = shared(slot.config, &mut room, &mut layout).and_then(|()| {
            if layout.regions[number].is_some() {
                return Ok(());
            }
            let most = memories.sram.max(memories.sdram);
            let Some(wanted) = contents::wanted(slot.config, slot.instance, most)? else {
                return Ok(());
            };
            let words = &wanted.words;
            let none = words.last().map_or_else(String::new, |(unit, words)| {
                let left = room.left(*unit);
                let unit = if *unit == Unit::Sram { "SRAM" } else { "SDRAM" };
                format!("it needs {words} words of {unit}, and {left} are left")
            });
            if wanted.grows {
                let (unit, words) = room.promise(words).ok_or(none)?;
                growing.push((number, unit, words));
            } else {
                layout.regions[number] = Some(room.take(words).ok_or(none)?);
            }
            Ok(())
        });
        refused.extend(placed.err().map(|why| refuse(engine, number, &why)));
    }
    for op in engine.steps.iter().flat_map(ops) {
        if let OpKind::Table { elements, .. } = &op.kind
            && layout.table(elements).is_none()
        {
            constant(elements, &mut room, &mut layout);
        }
    }
    let spare = [Unit::Sram, Unit::Sdram].map(|unit| {
        let sharing = growing.iter().filter(|(_, other, _)| *other == unit).count() as u32;
        room.left(unit) / sharing.max(1) / unit.aligned() * unit.aligned()
    });
    room.promised = [0; 3];
    for (number, unit, words) in growing {
        let words = words + spare[unit as usize];
        layout.regions[number] = room.take(&[(unit, words.into())]);
    }
    if slots.iter().any(|slot| matches!(slot.config.kind.as_str(), "exact" | "park")) {
        layout.multiplier.get_or_insert_with(default_multipliers);
    }
    let places = slots.iter().zip(&layout.regions).map(|(slot, region)| {
        region.map_or(Place::Nowhere, |region| contents::place(slot.config, region))
    });
    layout.places = places.collect();
    if refused.is_empty() { Ok(layout) } else { Err(refused) }
}

/// Places a constant array, if there is room.
fn constant(elements: &Arc<[Bits]>, room: &mut Room, layout: &mut Layout) {
    let own = words::count(elements.first().map_or(0, Bits::width));
    let stride = own.next_power_of_two();
    let count = elements.len() * stride;
    let region = room.take(&[Unit::Sram, Unit::Sdram].map(|unit| (unit, count as u64)));
    let Some(Region { unit, first, .. }) = region else { return };
    let mut image = vec![0; count];
    for (element, words) in elements.iter().zip(image.chunks_exact_mut(stride)) {
        let halves = element.words().flat_map(|word| [word as u32, (word >> 32) as u32]);
        words.iter_mut().zip(halves).for_each(|(word, half)| *word = half);
    }
    let (shift, size) = (stride.trailing_zeros(), elements.len() as u32);
    layout.tables.push((elements.clone(), Place::Elements { unit, base: first, shift, size }));
    layout.fixed.push(Image { unit, first, words: image });
}

/// Refuses an offload, with the first step that uses it.
fn refuse(engine: &Engine, offload: usize, why: &str) -> Refused {
    let step = first_user(engine, offload);
    let name = engine.offloads[offload].name.clone();
    let message = format!("offload `{name}` has no place: {why}");
    Refused { offload: Some(name), step, message }
}

/// Places what offloads share: the tables of checks, and the multipliers of the hash unit.
fn shared(config: &Config, room: &mut Room, layout: &mut Layout) -> Result<(), String> {
    let checks: &[(usize, u32)] = match config.kind.as_str() {
        "hash" => &[(0, IEEE)],
        "bloom" => &[(0, IEEE), (1, CASTAGNOLI)],
        _ => &[],
    };
    for (number, polynomial) in checks {
        if layout.checks[*number].is_none() {
            let place = room.take(&[(Unit::Sram, 256)]);
            let place = place.ok_or("the table of a check does not fit into SRAM")?;
            layout.checks[*number] = Some(place.first);
            let words = check_table(*polynomial);
            layout.fixed.push(Image { unit: place.unit, first: place.first, words });
        }
    }
    if config.kind == "hash" {
        let own = ["multiplier48", "multiplier64"].map(|name| config.param(name).low_u64());
        if *layout.multiplier.get_or_insert(own) != own {
            return Err(
                "the hash unit has one multiplier for each width, and another offload has \
                        others"
                    .into(),
            );
        }
    }
    Ok(())
}

/// The multipliers of a `hash` that does not say others.
fn default_multipliers() -> [u64; 2] {
    let kind = registry::kind("hash").expect("a kind of the registry");
    ["multiplier48", "multiplier64"].map(|name| {
        let param = kind.params.iter().find(|param| param.name == name);
        param.and_then(|param| param.default).expect("a parameter with a value of its own")
    })
}

/// The polynomials of CRC-32 and CRC-32C, reflected.
const IEEE: u32 = 0xedb8_8320;
const CASTAGNOLI: u32 = 0x82f6_3b78;

/// The check of each byte.
fn check_table(polynomial: u32) -> Vec<u32> {
    let step = |check: u32, _| if check & 1 == 1 { check >> 1 ^ polynomial } else { check >> 1 };
    (0..256).map(|byte| (0..8).fold(byte, step)).collect()
}
