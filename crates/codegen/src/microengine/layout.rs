//! Where the tables of a program are in the memories of the chip, and what is in them at the start.

use std::any::Any;
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError};

use wireloom_bits::Bits;
use wireloom_ir::{Engine, OffloadTarget, OpKind, Program, Step};
use wireloom_offloads::kinds::lpm::Lpm;
use wireloom_offloads::kinds::matching::Match;
use wireloom_offloads::{Config, Content, Entry, EntryKey, Instance, RawView, Store};

use super::frame;
use super::lower::{Refused, ops};
use super::tables;
use super::trie::{self, Route};
use super::words;

/// Threads that process packets: four contexts of each of four engines.
pub const THREADS: u32 = 16;
/// Words of SDRAM of a thread's packet buffer.
const BUFFER: u32 = 32_768;

/// Sizes of the memories in words.
#[derive(Clone, Copy, Debug)]
pub struct Memories {
    /// SRAM.
    pub sram: u32,
    /// SDRAM.
    pub sdram: u32,
}

/// A memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// SRAM.
    Sram,
    /// SDRAM.
    Sdram,
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
    /// A table from keys to values, in SRAM; `routines::table` has the layout.
    Table {
        /// The first word of its header.
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
    /// For each offload.
    pub places: Vec<Place>,
    /// The constant arrays, and where they are.
    pub tables: Vec<(Arc<[Bits]>, Place)>,
    /// Where the tables of CRC-32 and CRC-32C are, if they are needed.
    pub checks: [Option<u32>; 2],
    /// The multipliers of the hash unit for 48 and 64 bits, if it is needed.
    pub multiplier: Option<[u64; 2]>,
    /// The contents of memories: the first word, and the words.
    pub images: Vec<(Unit, u32, Vec<u32>)>,
}

impl PartialEq for Layout {
    fn eq(&self, other: &Self) -> bool {
        self.places == other.places
    }
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

    /// Where a constant array is.
    pub fn table(&self, elements: &[Bits]) -> Option<Place> {
        let found = self.tables.iter().find(|(table, _)| **table == *elements);
        found.map(|(_, place)| *place)
    }
}

pub(super) struct Room {
    next: [u32; 2],
    most: [u32; 2],
}

impl Room {
    /// The next word of a memory, and how many are left.
    fn left(&self, unit: Unit) -> (u32, u32) {
        let (next, most) = (self.next[unit as usize], self.most[unit as usize]);
        (next, most.saturating_sub(next))
    }

    /// Takes words of a memory, if there are as many.
    pub(super) fn take(&mut self, words: u64, unit: Unit) -> Option<(Unit, u32)> {
        let (first, left) = self.left(unit);
        (words <= u64::from(left)).then(|| {
            self.next[unit as usize] = (first + words as u32).next_multiple_of(16);
            (unit, first)
        })
    }
}

/// Places the offloads of a program with their contents.
///
/// # Errors
/// What has no place.
pub fn place(
    program: &Program,
    store: &mut Store,
    memories: Memories,
) -> Result<Layout, Vec<Refused>> {
    let mut room = Room {
        next: [THREADS * frame::WORDS, THREADS * BUFFER],
        most: [memories.sram, memories.sdram],
    };
    let mut layout = Layout::default();
    let mut refused = Vec::new();
    let engine = &program.engines[program.main.index()];
    for (number, (offload, slot)) in engine.offloads.iter().zip(&mut store.slots).enumerate() {
        let refuse = |why: &str| refuse(engine, number, why);
        let (OffloadTarget::Kind(config), Content::Kind { instance, .. }) =
            (&offload.target, &mut slot.content)
        else {
            refused.push(refuse("called engines have no place yet"));
            layout.places.push(Place::Nowhere);
            continue;
        };
        let placed = shared(config, &mut room, &mut layout)
            .and_then(|()| one(config, instance.as_mut(), &mut room));
        layout.places.push(match placed {
            Ok((place, image)) => {
                layout.images.extend(image);
                place
            }
            Err(why) => {
                refused.push(refuse(&why));
                Place::Nowhere
            }
        });
    }
    for op in engine.steps.iter().flat_map(ops) {
        if let OpKind::Table { elements, .. } = &op.kind
            && layout.table(elements).is_none()
        {
            constant(elements, &mut room, &mut layout);
        }
    }
    if refused.is_empty() { Ok(layout) } else { Err(refused) }
}

/// Places a constant array, if there is room.
fn constant(elements: &Arc<[Bits]>, room: &mut Room, layout: &mut Layout) {
    let own = words::count(elements.first().map_or(0, Bits::width));
    let stride = own.next_power_of_two();
    let count = elements.len() * stride;
    let mut units = [Unit::Sram, Unit::Sdram].into_iter();
    let Some((unit, base)) = units.find_map(|unit| room.take(count as u64, unit)) else { return };
    let mut image = vec![0; count];
    for (element, words) in elements.iter().zip(image.chunks_exact_mut(stride)) {
        let halves = element.words().flat_map(|word| [word as u32, (word >> 32) as u32]);
        words.iter_mut().zip(halves).for_each(|(word, half)| *word = half);
    }
    let (shift, size) = (stride.trailing_zeros(), elements.len() as u32);
    layout.tables.push((elements.clone(), Place::Elements { unit, base, shift, size }));
    layout.images.push((unit, base, image));
}

/// Refuses an offload, with the first step that uses it.
fn refuse(engine: &Engine, offload: usize, why: &str) -> Refused {
    let uses = |step: &&Step| {
        ops(step).iter().any(|op| match &op.kind {
            OpKind::Call { offload: used, .. } | OpKind::Evaluate { offload: used, .. } => {
                used.index() == offload
            }
            _ => false,
        })
    };
    let step = engine.steps.iter().find(uses).map(|step| step.name.clone());
    let name = engine.offloads[offload].name.clone();
    let message = format!("offload `{name}` has no place: {why}");
    Refused { offload: Some(name), step, message }
}

pub(super) type Placed = (Place, Option<(Unit, u32, Vec<u32>)>);

fn one(config: &Config, instance: &mut dyn Instance, room: &mut Room) -> Result<Placed, String> {
    match config.kind.as_str() {
        "array" | "counter" => elements(config, instance, room),
        "lpm" => trie(config, instance, room),
        "payload" | "hash" | "checksum" | "clock" | "random" => Ok((Place::Nowhere, None)),
        "exact" => tables::image(config, instance, room, &check_table(IEEE)),
        "bloom" => filter(config, instance, room),
        "match" => automaton(config, instance, room),
        kind => Err(format!("offloads of kind `{kind}` are not realised on microengines yet")),
    }
}

/// Places what offloads share: the tables of checks, and the multipliers of the hash unit.
fn shared(config: &Config, room: &mut Room, layout: &mut Layout) -> Result<(), String> {
    let checks: &[(usize, u32)] = match config.kind.as_str() {
        "hash" | "exact" => &[(0, IEEE)],
        "bloom" => &[(0, IEEE), (1, CASTAGNOLI)],
        _ => &[],
    };
    for (number, polynomial) in checks {
        if layout.checks[*number].is_none() {
            let place = room.take(256, Unit::Sram);
            let (unit, base) = place.ok_or("the table of a check does not fit into SRAM")?;
            layout.checks[*number] = Some(base);
            layout.images.push((unit, base, check_table(*polynomial)));
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

/// The polynomials of CRC-32 and CRC-32C, reflected.
const IEEE: u32 = 0xedb8_8320;
const CASTAGNOLI: u32 = 0x82f6_3b78;

/// The check of each byte.
fn check_table(polynomial: u32) -> Vec<u32> {
    let step = |check: u32, _| if check & 1 == 1 { check >> 1 ^ polynomial } else { check >> 1 };
    (0..256).map(|byte| (0..8).fold(byte, step)).collect()
}

/// The bits of a filter.
fn filter(config: &Config, instance: &dyn Instance, room: &mut Room) -> Result<Placed, String> {
    let words = config.param("size").low_u64().div_ceil(32);
    let place = room.take(words, Unit::Sram);
    let (unit, base) = place.ok_or_else(|| format!("{words} words are more than are left"))?;
    let mut image = vec![0; words as usize];
    for row in instance.rows() {
        if let EntryKey::Index(number) = row.key {
            image[number as usize] = row.fields[0].1.low_u64() as u32;
        }
    }
    Ok((Place::Bits { base }, Some((unit, base, image))))
}

/// The automaton of patterns; `Scan` has the layout.
fn automaton(
    config: &Config,
    instance: &mut dyn Instance,
    room: &mut Room,
) -> Result<Placed, String> {
    let width = config.value.as_ref().map_or(0, |value| value.width());
    if width > 128 {
        return Err("values of at most 128 bits have a place".into());
    }
    let any: &mut dyn Any = instance;
    let patterns = any.downcast_mut::<Match>().ok_or("it has no patterns")?;
    let found = patterns.walk().ok_or("it has too many patterns")?;
    let count = found.class_count as usize;
    let (base, _) = room.left(Unit::Sram);
    let rows = found.next.len() / count;
    let row = |state: u32| base + 256 + state / found.class_count * (count as u32 + 1);
    let mut image: Vec<u32> = found.classes.iter().map(|class| u32::from(*class) + 1).collect();
    let records = base + 256 + (rows * (count + 1)) as u32;
    let record = words::count(width) as u32 + 1;
    for state in 0..rows as u32 {
        let is_match = |state: u32| state != 0 && state <= found.last_match;
        let first = state * found.class_count;
        image.push(match is_match(first) {
            true => records + record * found.patterns[state as usize],
            false => 0,
        });
        image.extend(found.next[first as usize..][..count].iter().map(|next| match *next {
            0 => 0,
            next if is_match(next) => row(next) | 1 << 31,
            next => row(next),
        }));
    }
    for (length, value) in found.lengths.iter().zip(&found.values) {
        image.push(*length);
        let halves = value.words().flat_map(|word| [word as u32, (word >> 32) as u32]);
        image.extend(halves.chain([0; 4]).take(record as usize - 1));
    }
    let words = image.len() as u64;
    room.take(words, Unit::Sram).ok_or_else(|| format!("{words} words are more than are left"))?;
    let place = Place::Automaton { classes: base, start: row(found.start) };
    Ok((place, Some((Unit::Sram, base, image))))
}

/// The words of an element.
fn element_words(config: &Config) -> usize {
    match config.kind.as_str() {
        "counter" => 4,
        _ => words::count(config.value.as_ref().map_or(0, |layout| layout.width())),
    }
}

fn elements(
    config: &Config,
    instance: &mut dyn Instance,
    room: &mut Room,
) -> Result<Placed, String> {
    let own = element_words(config);
    if own > 8 {
        return Err("a command reads 8 words at most".into());
    }
    let stride = own.next_power_of_two();
    let size = config.param("size").low_u64() as u32;
    let is_counter = config.kind == "counter";
    let words = u64::from(size) * stride as u64;
    let sdram = if is_counter { None } else { Some(Unit::Sdram) };
    let mut units = std::iter::once(Unit::Sram).chain(sdram);
    let place = units.find_map(|unit| room.take(words, unit));
    let (unit, base) = place.ok_or_else(|| format!("{words} words are more than are left"))?;
    let mut image = vec![0; words as usize];
    with_elements(instance, own, |index, element| {
        let at = index * stride;
        image[at..at + own].copy_from_slice(element);
    });
    let shift = stride.trailing_zeros();
    Ok((Place::Elements { unit, base, shift, size }, Some((unit, base, image))))
}

/// Visits the elements of an array or a counter that are not zero, as words of 32 bits.
fn with_elements(
    instance: &mut dyn Instance,
    own: usize,
    mut visit: impl FnMut(usize, &mut [u32]),
) {
    if let Some(RawView::Array { data, elements } | RawView::Counter { data, elements }) =
        instance.raw()
    {
        let wide = own.div_ceil(2);
        let count = elements as usize * wide;
        // SAFETY: the instance has so many words there, and nothing else uses them.
        let all = unsafe { std::slice::from_raw_parts(data.cast::<u64>(), count) };
        for (index, element) in all.chunks_exact(wide).enumerate() {
            if element.iter().any(|word| *word != 0) {
                let halves = element.iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]);
                let mut halves: Vec<u32> = halves.collect();
                visit(index, &mut halves[..own]);
            }
        }
    }
    instance.raw_done();
}

/// Takes elements back from the memories: `word` reads one.
pub fn read_back(
    config: &Config,
    instance: &mut dyn Instance,
    place: Place,
    word: impl Fn(Unit, u32) -> u32,
) {
    if let Place::Bits { base } = place {
        for number in 0..config.param("size").low_u64().div_ceil(32) {
            let value = Bits::new(32, u128::from(word(Unit::Sram, base + number as u32)));
            // A word of the filter always has a place.
            let _ = instance.load(Entry { key: EntryKey::Index(number), value });
        }
    }
    if let Place::Table { base } = place {
        tables::read_back(instance, base, |at| word(Unit::Sram, at));
    }
    let Place::Elements { unit, base, shift, .. } = place else { return };
    let own = element_words(config);
    if let Some(RawView::Array { data, elements } | RawView::Counter { data, elements }) =
        instance.raw()
    {
        let wide = own.div_ceil(2);
        let count = elements as usize * wide;
        // SAFETY: as in `with_elements`.
        let all = unsafe { std::slice::from_raw_parts_mut(data.cast::<u64>(), count) };
        for (index, element) in all.chunks_exact_mut(wide).enumerate() {
            let at = base + ((index as u32) << shift);
            for (half, to) in element.iter_mut().enumerate() {
                let low = word(unit, at + 2 * half as u32);
                let high =
                    if 2 * half + 1 < own { word(unit, at + 2 * half as u32 + 1) } else { 0 };
                *to = u64::from(high) << 32 | u64::from(low);
            }
        }
    }
    instance.raw_done();
}

fn trie(config: &Config, instance: &mut dyn Instance, room: &mut Room) -> Result<Placed, String> {
    let width = config.key.as_ref().map_or(0, |key| key.width());
    let value_width = config.value.as_ref().map_or(0, |value| value.width());
    if width > 128 || value_width > 31 {
        return Err("keys of at most 128 bits and values of at most 31 have a trie".into());
    }
    let any: &dyn Any = instance;
    let lpm = any.downcast_ref::<Lpm>().ok_or("it has no prefixes")?;
    let mut routes = Vec::new();
    let table = lpm.table();
    let table = table.lock().unwrap_or_else(PoisonError::into_inner);
    table.for_each(&mut |bits: Bits, length, value: Bits| {
        let key = bits.to_u128().and_then(|key| key.checked_shl(128 - width)).unwrap_or(0);
        routes.push(Route { key, length, value: value.low_u64() as u32 });
    });
    let miss = config.param("miss").low_u64() as u32;
    let mut full = trie::Unplaced::Large { words: 0 };
    for unit in [Unit::Sram, Unit::Sdram] {
        let (base, words) = room.left(unit);
        match trie::image(width, &routes, miss, base, words as usize) {
            Ok(image) => {
                room.take(image.len() as u64, unit);
                return Ok((Place::Trie { unit, base }, Some((unit, base, image))));
            }
            Err(unplaced) => full = unplaced,
        }
    }
    Err(full.to_string())
}
