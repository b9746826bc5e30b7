//! Where an engine's state and tables are in a tile's memory, and what is in it at the start.
//! Addresses are in bytes.

pub mod keyed;
pub mod meters;
mod read_back;

use std::any::Any;
use std::sync::{Arc, PoisonError};

use wireloom_bits::Bits;
use wireloom_codegen::refused::Refused;
use wireloom_codegen::steps::{first_user, ops};
use wireloom_codegen::trie::{self, Route};
use wireloom_ir::{Engine, EngineId, EngineKind, OffloadTarget, OpKind, Program};
use wireloom_offloads::kinds::lpm::Lpm;
use wireloom_offloads::kinds::matching::Match;
use wireloom_offloads::{Config, Content, EntryKey, Instance as Offload, Store};

use super::direct::Direct;
use super::frame;
use super::words;
pub use read_back::read_back;

/// The polynomials of CRC-32 and CRC-32C, reflected.
const IEEE: u32 = 0xedb8_8320;
const CASTAGNOLI: u32 = 0x82f6_3b78;
/// A line of the cache.
const LINE: u32 = 32;

/// The memory that a program has.
#[derive(Clone, Copy, Debug)]
pub struct Memories {
    /// The first address, a multiple of 32, of tables and of arrays of the context.
    pub first: u32,
    /// The address after the last.
    pub end: u32,
    /// The number of tiles. Each has its own counters, which are added up when they are read back.
    pub tiles: u32,
    /// Whether the rest of long packets stays outside of the tiles.
    pub has_rest: bool,
}

/// Where an offload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It has no memory.
    Nowhere,
    /// Elements of so many bytes.
    Elements { base: u32, stride: u32, size: u32 },
    /// Counters, likewise; those of the next tile are `apart` bytes away.
    Counters { base: u32, stride: u32, size: u32, apart: u32 },
    /// The bits of a filter, in so many words.
    Bits { base: u32, words: u32 },
    /// An automaton that finds patterns: the class of each byte, and the row of the first state.
    Automaton { classes: u32, row: u32 },
    /// Routes: [`Direct`], and the values that its entries are numbers of.
    Direct { first: u32, second: u32, values: u32, stride: u32 },
    /// Routes: a trie ([`trie`]), likewise.
    Trie { root: u32, values: u32, stride: u32 },
    /// A table of entries with keys ([`keyed`]).
    Table { base: u32 },
    /// Parked packets ([`keyed`]).
    Park { base: u32 },
    /// An engine, by its number among the instances.
    Engine(usize),
}

/// An engine with its places: each offload that an engine is has its own.
#[derive(Clone, Debug)]
pub struct Instance<'a> {
    pub engine: &'a Engine,
    /// The label that its steps begin with.
    pub label: String,
    /// The offset in the frame of each context variable.
    pub variables: Vec<u32>,
    /// The address of each array of the context, and the bytes of an element.
    pub arrays: Vec<(u32, u32)>,
    /// The bytes from an array of the context to that of the next tile.
    apart: Vec<u32>,
    pub offloads: Vec<Place>,
    /// Words of the frame: jumps back, the return of a called engine, and its reply.
    pub backward: u32,
    pub link: u32,
    pub reply: u32,
    /// The width of a called engine's reply.
    pub reply_width: Option<u32>,
}

impl Instance<'_> {
    /// The instance on a tile: each has arrays of its own.
    pub fn of_tile(&self, tile: u32) -> Self {
        let mut own = self.clone();
        for ((base, _), apart) in own.arrays.iter_mut().zip(&self.apart) {
            *base += tile * apart;
        }
        own
    }

    /// The label of a step.
    pub fn step(&self, number: usize) -> String {
        format!("{}_step{number}", self.label)
    }
}

/// The places of everything.
#[derive(Clone, Debug, Default)]
pub struct Layout<'a> {
    /// The engine that takes packets, and then those that it calls.
    pub instances: Vec<Instance<'a>>,
    tables: Vec<(Arc<[Bits]>, u32, u32)>,
    /// What is in memory at the start: addresses and words.
    pub images: Vec<(u32, Vec<u32>)>,
    /// The first byte of the frame after the engines' state.
    pub end: u32,
    /// Where the tables of CRC-32 and CRC-32C are, if they are needed.
    pub checks: [Option<u32>; 2],
    /// Whether parked packets are taken: then a packet may have come at another time and port than
    /// that which began the thread.
    pub takes: bool,
    /// Whether the rest of long packets stays outside of the tiles.
    pub has_rest: bool,
    tiles: u32,
}

impl Layout<'_> {
    /// Which instances the steps of the first one that are chosen use.
    pub fn used(&self, chosen: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut used = vec![false; self.instances.len()];
        used[0] = true;
        // Instances come after those that call them.
        for (number, instance) in self.instances.iter().enumerate() {
            let steps = instance.engine.steps.iter().enumerate();
            let steps = steps.filter(|(at, _)| used[number] && (number > 0 || chosen(*at)));
            let steps: Vec<_> = steps.flat_map(|(_, step)| ops(step)).collect();
            for op in steps {
                if let OpKind::Call { offload, .. } = &op.kind
                    && let Place::Engine(called) = instance.offloads[offload.index()]
                {
                    used[called] = true;
                }
            }
        }
        used
    }

    /// Where the offloads of each instance are.
    pub fn places(&self) -> Vec<Vec<Place>> {
        self.instances.iter().map(|instance| instance.offloads.clone()).collect()
    }

    /// The address of a constant array, and the bytes of an element.
    pub fn table(&self, elements: &[Bits]) -> (u32, u32) {
        let found = self.tables.iter().find(|(table, ..)| **table == *elements);
        found.map(|(_, base, stride)| (*base, *stride)).expect("all constant arrays have places")
    }
}

/// Room in memory.
struct Room {
    next: u32,
    end: u32,
}

impl Room {
    fn take(&mut self, bytes: u64) -> Result<u32, String> {
        let first = self.next;
        let last = u64::from(first) + bytes;
        if last > u64::from(self.end) {
            let left = self.end - first;
            return Err(format!("{bytes} bytes are more than the {left} of memory that are left"));
        }
        self.next = (last as u32).next_multiple_of(LINE);
        Ok(first)
    }
}

struct Placing<'a, 'b> {
    program: &'a Program,
    layout: Layout<'a>,
    room: Room,
    refused: Vec<Refused>,
    path: Vec<&'b str>,
}

/// Places a program with the contents of its tables.
///
/// # Errors
/// What has no place.
pub fn place<'a>(
    program: &'a Program,
    store: &Store,
    memories: Memories,
) -> Result<Layout<'a>, Vec<Refused>> {
    let mut placing = Placing {
        program,
        layout: Layout {
            end: frame::STATE,
            tiles: memories.tiles,
            takes: takes(&program.engines[program.main.index()]),
            has_rest: memories.has_rest,
            ..Layout::default()
        },
        room: Room { next: memories.first, end: memories.end.max(memories.first) },
        refused: Vec::new(),
        path: Vec::new(),
    };
    placing.engine(program.main, store);
    if placing.layout.end > frame::MOST {
        placing.refused.push(Refused {
            offload: None,
            step: None,
            message: format!(
                "the context of engine {} has no place: it needs {} bytes of a frame of {}",
                program.engines[program.main.index()].name,
                placing.layout.end,
                frame::MOST
            ),
        });
    }
    if placing.refused.is_empty() { Ok(placing.layout) } else { Err(placing.refused) }
}

/// Whether an engine takes parked packets.
fn takes(engine: &Engine) -> bool {
    engine.steps.iter().flat_map(ops).any(|op| match op.kind {
        OpKind::Call { offload, method, .. } => {
            let kind = engine.offloads[offload.index()].kind();
            kind.is_some_and(|kind| kind.name == "park" && kind.methods[method].writes_packet)
        }
        _ => false,
    })
}

/// The words of a value in memory, the lowest first.
fn words_of(value: &Bits) -> impl Iterator<Item = u32> + '_ {
    value.words().flat_map(|word| [word as u32, (word >> 32) as u32])
}

/// The bytes of an element of so many words.
fn stride_of(words: usize) -> u32 {
    4 * words.next_power_of_two() as u32
}

impl<'a, 'b> Placing<'a, 'b> {
    /// Takes words of the frame.
    fn frame(&mut self, words: usize) -> u32 {
        let first = self.layout.end;
        self.layout.end = first.saturating_add(4 * words as u32);
        first
    }

    fn engine(&mut self, id: EngineId, store: &'b Store) -> usize {
        let engine = &self.program.engines[id.index()];
        let number = self.layout.instances.len();
        let reply_width = match engine.kind {
            EngineKind::Packet => None,
            EngineKind::Call { reply, .. } => Some(reply),
        };
        let [backward, link] = [(); 2].map(|()| self.frame(1));
        let instance = Instance {
            engine,
            label: format!("engine{number}"),
            variables: Vec::new(),
            arrays: Vec::new(),
            apart: Vec::new(),
            offloads: Vec::new(),
            backward,
            link,
            reply: self.frame(reply_width.map_or(0, words::count)),
            reply_width,
        };
        self.layout.instances.push(instance);
        let variables =
            engine.context.iter().map(|variable| self.frame(words::count(variable.width)));
        self.layout.instances[number].variables = variables.collect();
        for array in &engine.arrays {
            let stride = stride_of(words::count(array.width));
            let apart = (u64::from(stride) * u64::from(array.count)).next_multiple_of(LINE.into());
            let base = self.room.take(apart * u64::from(self.layout.tiles));
            let base = base.unwrap_or_else(|why| {
                let message = format!("array `{}` of the context has no place: {why}", array.name);
                self.refused.push(Refused { offload: None, step: None, message });
                0
            });
            self.layout.instances[number].arrays.push((base, stride));
            self.layout.instances[number].apart.push(apart as u32);
        }
        for (at, (offload, slot)) in engine.offloads.iter().zip(&store.slots).enumerate() {
            self.path.push(&slot.name);
            let place = match (&offload.target, &slot.content) {
                (OffloadTarget::Engine(id), Content::Engine(inner)) => {
                    Ok(Place::Engine(self.engine(*id, inner)))
                }
                (OffloadTarget::Kind(config), Content::Kind { instance, .. }) => {
                    self.kind(config, instance.as_ref())
                }
                _ => unreachable!("the store suits the program"),
            };
            let place = place.unwrap_or_else(|why| {
                self.refused.push(refuse(engine, at, &self.path.join("."), &why));
                Place::Nowhere
            });
            self.layout.instances[number].offloads.push(place);
            self.path.pop();
        }
        for op in engine.steps.iter().flat_map(ops) {
            if let OpKind::Table { elements, .. } = &op.kind {
                self.constant(elements);
            }
        }
        number
    }

    /// Places a constant array.
    fn constant(&mut self, elements: &Arc<[Bits]>) {
        if self.layout.tables.iter().any(|(table, ..)| table == elements) {
            return;
        }
        let stride = stride_of(words::count(elements.first().map_or(1, Bits::width)));
        match self.elements(stride, elements.len(), elements.iter().enumerate()) {
            Ok(base) => self.layout.tables.push((elements.clone(), base, stride)),
            Err(why) => {
                let message = format!("a constant array has no place: {why}");
                self.refused.push(Refused { offload: None, step: None, message });
            }
        }
    }

    /// Places elements with these values, and others that are 0.
    fn elements(
        &mut self,
        stride: u32,
        size: usize,
        values: impl Iterator<Item = (usize, impl std::borrow::Borrow<Bits>)>,
    ) -> Result<u32, String> {
        let base = self.room.take(u64::from(stride) * size as u64)?;
        let mut image = vec![0; size * stride as usize / 4];
        for (index, value) in values {
            let element = &mut image[index * stride as usize / 4..][..stride as usize / 4];
            element.iter_mut().zip(words_of(value.borrow())).for_each(|(to, word)| *to = word);
        }
        self.layout.images.push((base, image));
        Ok(base)
    }

    fn kind(&mut self, config: &Config, instance: &dyn Offload) -> Result<Place, String> {
        match config.kind.as_str() {
            "array" | "counter" => {
                let stride = stride_of(element_words(config));
                let size = config.param("size").low_u64() as u32;
                let mut rows = Vec::new();
                instance.for_each_row(&mut |row| {
                    let entry = instance.entry(&row);
                    if let EntryKey::Index(index) = entry.key {
                        rows.push((index as usize, entry.value));
                    }
                });
                let base = self.elements(stride, size as usize, rows.into_iter())?;
                if config.kind != "counter" {
                    return Ok(Place::Elements { base, stride, size });
                }
                let apart = (stride * size).next_multiple_of(LINE);
                self.room.take(u64::from(apart) * u64::from(self.layout.tiles - 1))?;
                Ok(Place::Counters { base, stride, size, apart })
            }
            "lpm" => self.routes(config, instance),
            "hash" => {
                self.checks(0, IEEE)?;
                Ok(Place::Nowhere)
            }
            "bloom" => {
                self.checks(0, IEEE)?;
                self.checks(1, CASTAGNOLI)?;
                self.filter(config, instance)
            }
            "match" => self.automaton(config, instance),
            "exact" | "park" => {
                let place = if config.kind == "exact" { keyed::exact } else { keyed::park };
                let (place, images) = place(config, instance, &mut self.room)?;
                self.layout.images.extend(images);
                Ok(place)
            }
            "meter" => {
                let (place, image) = meters::place(config, instance, &mut self.room)?;
                self.layout.images.push(image);
                Ok(place)
            }
            "payload" | "checksum" | "clock" | "random" => Ok(Place::Nowhere),
            kind => Err(format!("offloads of kind `{kind}` are not realised on tiles yet")),
        }
    }

    /// Places the table of a check of bytes.
    fn checks(&mut self, number: usize, polynomial: u32) -> Result<(), String> {
        if self.layout.checks[number].is_none() {
            let base = self.room.take(4 * 256)?;
            let step = |check: u32, _| check >> 1 ^ if check & 1 == 1 { polynomial } else { 0 };
            let table = (0..256).map(|byte| (0..8).fold(byte, step)).collect();
            self.layout.images.push((base, table));
            self.layout.checks[number] = Some(base);
        }
        Ok(())
    }

    /// Places the bits of a filter.
    fn filter(&mut self, config: &Config, instance: &dyn Offload) -> Result<Place, String> {
        let words = config.param("size").low_u64().div_ceil(32) as u32;
        let base = self.room.take(4 * u64::from(words))?;
        let mut image = vec![0; words as usize];
        instance.for_each_row(&mut |row| {
            if let EntryKey::Index(number) = row.key {
                image[number as usize] = row.fields[0].1.low_u64() as u32;
            }
        });
        self.layout.images.push((base, image));
        Ok(Place::Bits { base, words })
    }

    /// Places an automaton: the class of each byte, as the offset of its word in a row; a row for
    /// each state, which begins with the address of a record if patterns end there, and goes on with
    /// the address of the next row for each class, with bit 31 if patterns end at that, or 0 if the
    /// search is over; records, each the length of a pattern and its value.
    fn automaton(&mut self, config: &Config, instance: &dyn Offload) -> Result<Place, String> {
        let mut own = instance.duplicate();
        let any: &mut dyn Any = own.as_mut();
        let patterns = any.downcast_mut::<Match>().ok_or("it has no patterns")?;
        let found = patterns.walk().ok_or("it has too many patterns")?;
        let count = found.class_count;
        let width = config.value.as_ref().map_or(1, |value| value.width());
        let record = 4 * (1 + words::count(width) as u32);
        let rows = found.next.len() as u32 / count;
        let base = self.room.next;
        let row = |state: u32| base + 4 * (256 + state / count * (count + 1));
        let records = base + 4 * (256 + rows * (count + 1));
        let is_match = |state: u32| state != 0 && state <= found.last_match;
        let mut image: Vec<u32> =
            found.classes.iter().map(|class| 4 * (u32::from(*class) + 1)).collect();
        for state in 0..rows {
            let first = state * count;
            image.push(match is_match(first) {
                true => records + record * found.patterns[state as usize],
                false => 0,
            });
            let next = &found.next[first as usize..][..count as usize];
            image.extend(next.iter().map(|next| match *next {
                0 => 0,
                next if is_match(next) => row(next) | 1 << 31,
                next => row(next),
            }));
        }
        for (length, value) in found.lengths.iter().zip(&found.values) {
            image.push(*length);
            let words = words_of(value).chain(std::iter::repeat(0));
            image.extend(words.take(record as usize / 4 - 1));
        }
        self.room.take(4 * image.len() as u64)?;
        let start = row(found.start);
        self.layout.images.push((base, image));
        Ok(Place::Automaton { classes: base, row: start })
    }

    /// Places routes. Entries are numbers of values; number 0 is the value of a miss.
    fn routes(&mut self, config: &Config, instance: &dyn Offload) -> Result<Place, String> {
        let width = config.key.as_ref().map_or(0, |key| key.width());
        if width > 128 {
            return Err("keys of at most 128 bits have a place".to_owned());
        }
        let any: &dyn Any = instance;
        let lpm = any.downcast_ref::<Lpm>().ok_or("it has no prefixes")?;
        let mut numbers = std::collections::HashMap::new();
        let mut values = vec![config.param("miss").clone()];
        numbers.insert(values[0].clone(), 0);
        let mut routes = Vec::new();
        let table = lpm.table();
        let table = table.lock().unwrap_or_else(PoisonError::into_inner);
        table.for_each(&mut |bits: Bits, length, value: Bits| {
            let next = values.len() as u32;
            let value = *numbers.entry(value).or_insert_with_key(|value| {
                values.push(value.clone());
                next
            });
            let key = bits.to_u128().and_then(|key| key.checked_shl(128 - width)).unwrap_or(0);
            routes.push(Route { key, length, value });
        });
        // Prefixes in an order of their own, so that the same table is the same image.
        routes.sort_unstable_by_key(|route| (route.length, route.key));
        let stride = stride_of(words::count(values[0].width()));
        let values = self.elements(stride, values.len(), values.iter().enumerate())?;
        let has_room = self.room.end - self.room.next >= Direct::LEAST;
        if width == 32
            && has_room
            && let Some(direct) = Direct::new(&routes)
        {
            let first = self.room.take(u64::from(Direct::FIRST_BYTES))?;
            let second = self.room.take(direct.second_bytes())?;
            self.layout.images.extend(direct.images(first, second));
            return Ok(Place::Direct { first, second, values, stride });
        }
        let root = self.room.next;
        let left = ((self.room.end - root) / 4) as usize;
        let image = trie::image(width, &routes, 0, root / 4, left).map_err(|e| e.to_string())?;
        self.room.take(4 * image.len() as u64)?;
        self.layout.images.push((root, image));
        Ok(Place::Trie { root, values, stride })
    }
}

/// Refuses an offload, with the first step that uses it.
fn refuse(engine: &Engine, offload: usize, path: &str, why: &str) -> Refused {
    let step = first_user(engine, offload);
    let at = step.as_ref().map_or(String::new(), |step| format!(", which step `{step}` calls,"));
    let message = format!("offload `{path}`{at} has no place: {why}");
    Refused { offload: Some(path.to_owned()), step, message }
}

/// The words of an element of an array or a counter.
pub fn element_words(config: &Config) -> usize {
    match config.kind.as_str() {
        "counter" => 4,
        _ => words::count(config.value.as_ref().map_or(1, |layout| layout.width())),
    }
}
