//! The offloads of an engine in maps of the kernel.
//!
//! The program and this process share the memory of arrays and counters that packets change. Most
//! counters have a copy for each processor. An array that packets only read, and a prefix table,
//! are written as a whole into a new map, which then replaces the old one. A search in progress
//! sees a complete table, and the kernel frees the old map when no program reads it any more.

use std::any::Any;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use wireloom_bits::Bits;
use wireloom_codegen_c::bpf::{Content, Map};
use wireloom_offloads::kinds::exact::{Aged, Exact, State};
use wireloom_offloads::lpm::LpmView;
use wireloom_offloads::{Content as Slot, Instance, RawView, Store};

use crate::kernel::{self, MapType, Mapped, Shape, flag};

/// Bytes in front of the direct table of a prefix table (`WL_LPM_BEGIN`). All other parts begin at
/// a multiple of it.
const BEGIN: usize = 128;
/// Bytes of a page.
const PAGE: usize = 4096;

/// The maps of all offloads.
pub struct Tables {
    tables: Vec<Table>,
}

struct Table {
    symbol: String,
    offload: usize,
    map: OwnedFd,
    memory: Memory,
}

enum Memory {
    /// Arrays and counters that packets change: `words` words in `copies` copies, whose sums count.
    /// There is one copy, or one for each processor.
    Elements { shared: Mapped, words: usize, copies: usize },
    /// An array that packets only read: `count` elements of `words` words.
    ReadOnly { count: u64, words: u32 },
    /// Prefixes, in parts of `part` bytes. Values are `stride` words apart.
    Prefixes { stride: usize, part: usize },
    /// Values by key, the sizes of keys and values in words, and the clock.
    Keys { key: usize, words: usize, clock: Clock },
}

/// The clock of a table: its time and the number of the next touch (`struct wl_exact_clock`).
struct Clock {
    symbol: String,
    map: OwnedFd,
    shared: Mapped,
}

/// Words in front of the value of an element, and the touch number of static elements.
const HEAD: usize = 2;
const STATIC: u64 = u64::MAX;

impl Tables {
    /// Creates empty maps for the offloads.
    ///
    /// # Errors
    /// Without the rights or the memory.
    pub fn new(maps: &[Map]) -> io::Result<Self> {
        let tables = maps.iter().map(|map| {
            let (descriptor, memory) = match map.content {
                Content::Elements { count, words } => {
                    let (descriptor, shared) = elements(&map.symbol, count, words)?;
                    let words = count as usize * words as usize;
                    (descriptor, Memory::Elements { shared, words, copies: 1 })
                }
                Content::Counters { count } => {
                    let copies = kernel::processors()?;
                    let (descriptor, shared) = elements(&map.symbol, count * copies as u64, 2)?;
                    let words = 2 * count as usize;
                    (descriptor, Memory::Elements { shared, words, copies })
                }
                Content::ReadOnly { count, words } => {
                    let (inner, _) = elements(&map.symbol, count, words)?;
                    let memory = Memory::ReadOnly { count, words };
                    (place_of(&map.symbol, &inner)?, memory)
                }
                Content::Prefixes { stride, part_bits } => {
                    let part = 1 << part_bits;
                    let memory = Memory::Prefixes { stride: stride as usize, part };
                    (place_of(&map.symbol, &parts(&map.symbol, 1, part)?)?, memory)
                }
                Content::Keys { count, key, words } => keys(map, count, key, words)?,
            };
            let (symbol, offload) = (map.symbol.clone(), map.offload);
            Ok(Table { symbol, offload, map: descriptor, memory })
        });
        Ok(Self { tables: tables.collect::<io::Result<_>>()? })
    }

    /// Returns the maps by their symbols.
    pub fn maps(&self) -> impl Iterator<Item = (&str, &OwnedFd)> {
        let clocks = self.tables.iter().filter_map(|table| match &table.memory {
            Memory::Keys { clock, .. } => Some((clock.symbol.as_str(), &clock.map)),
            _ => None,
        });
        self.tables.iter().map(|table| (table.symbol.as_str(), &table.map)).chain(clocks)
    }

    /// Writes the state of a store into the maps: all offloads, or one by its index.
    ///
    /// # Errors
    /// If there is not enough memory.
    pub fn write(&mut self, store: &mut Store, only: Option<usize>) -> io::Result<()> {
        for table in &mut self.tables {
            if only.is_none_or(|only| only == table.offload) {
                let instance = instance(store, table.offload);
                if let Memory::Keys { key, clock, .. } = &table.memory {
                    write_keys(&table.map, *key, clock, &exact(instance).state())?;
                    continue;
                }
                let view = instance.raw();
                let written = table.write(view);
                instance.raw_done();
                written?;
            }
        }
        Ok(())
    }

    /// Reads the changes of packets back into a store: for all offloads, or for one by its index.
    ///
    /// # Errors
    /// If the kernel does not return the state.
    pub fn read(&self, store: &mut Store, only: Option<usize>) -> io::Result<()> {
        for table in &self.tables {
            if only.is_some_and(|only| only != table.offload) {
                continue;
            }
            let age_ns = age_ns(store, table.offload);
            let instance = instance(store, table.offload);
            let (shared, words, copies) = match &table.memory {
                Memory::Elements { shared, words, copies } => (shared, *words, *copies),
                Memory::ReadOnly { .. } | Memory::Prefixes { .. } => continue,
                Memory::Keys { key, words, clock } => {
                    let exact = exact(instance);
                    let mut state = read_keys(&table.map, *key, *words, clock, exact.widths())?;
                    // Expired elements stay in the map until a packet meets them.
                    let now_ns = state.time_ns;
                    let lives = |aged: &Aged| age_ns == 0 || now_ns - aged.touched_ns <= age_ns;
                    state.ageing.retain(lives);
                    exact.set_state(&state).map_err(|refused| io::Error::other(refused.0))?;
                    continue;
                }
            };
            if let Some(RawView::Array { data, .. } | RawView::Counter { data, .. }) =
                instance.raw()
            {
                // SAFETY: both have `words` words, the shared memory in `copies` copies; the kernel
                // may change it meanwhile, so words are read one by one.
                unsafe {
                    let shared = shared.start().cast::<u64>();
                    for word in 0..words {
                        let own = |copy| shared.add(words * copy + word).read_volatile();
                        let sum = (0..copies).map(own).fold(0, u64::wrapping_add);
                        data.add(word).write(sum);
                    }
                }
            }
            instance.raw_done();
        }
        Ok(())
    }
}

fn exact(instance: &mut dyn Instance) -> &mut Exact {
    let instance: &mut dyn Any = instance;
    instance.downcast_mut().expect("a table of keys is an `Exact`")
}

fn keys(map: &Map, count: u64, key: u32, words: u32) -> io::Result<(OwnedFd, Memory)> {
    let entries = u32::try_from(count).map_err(io::Error::other)?;
    let value = 8 * (HEAD as u32 + words);
    let shape =
        Shape { map_type: MapType::Hash, key: 8 * key, value, entries, flags: flag::ON_DEMAND };
    let table = kernel::create_map(&map.symbol, shape, None, None)?;
    let shape =
        Shape { map_type: MapType::Array, key: 4, value: 16, entries: 1, flags: flag::MAPPABLE };
    let clock = kernel::create_map("wl_clock", shape, None, None)?;
    let shared = Mapped::new(&clock, PAGE)?;
    let clock = Clock { symbol: map.clock(), map: clock, shared };
    Ok((table, Memory::Keys { key: key as usize, words: words as usize, clock }))
}

fn bytes(words: impl IntoIterator<Item = u64>) -> Vec<u8> {
    words.into_iter().flat_map(u64::to_ne_bytes).collect()
}

/// Replaces the contents of a map by the state of an `exact` table.
fn write_keys(map: &OwnedFd, key: usize, clock: &Clock, state: &State) -> io::Result<()> {
    while let Some(key) = kernel::next_key(map, None, 8 * key)? {
        kernel::remove(map, &key)?;
    }
    let set = |key: &Bits, value: &Bits, touched_ns: u64, touch: u64| {
        let element = bytes([touched_ns, touch].into_iter().chain(value.words()));
        kernel::set(map, &bytes(key.words()), &element)
    };
    for (key, value) in &state.fixed {
        set(key, value, 0, STATIC)?;
    }
    for (touch, aged) in state.ageing.iter().enumerate() {
        set(&aged.key, &aged.value, aged.touched_ns, touch as u64)?;
    }
    let place = clock.shared.start().cast::<[u64; 2]>();
    // SAFETY: the memory has room for both words.
    unsafe { place.write_volatile([state.time_ns, state.ageing.len() as u64]) };
    Ok(())
}

/// Reads the state of an `exact` table, whose keys and values have `key_width` and `width` bits.
fn read_keys(
    map: &OwnedFd,
    key: usize,
    words: usize,
    clock: &Clock,
    (key_width, width): (u32, u32),
) -> io::Result<State> {
    let size = HEAD + words;
    let (keys, elements) = kernel::entries(map, 8 * key, 8 * size)?;
    let numbers = |bytes: &[u8]| -> Vec<u64> {
        let words = bytes.chunks_exact(8).map(|word| word.try_into().map(u64::from_ne_bytes));
        words.map(|word| word.unwrap_or_default()).collect()
    };
    let place = clock.shared.start().cast::<[u64; 2]>();
    // SAFETY: the memory has both words.
    let [time_ns, _] = unsafe { place.read_volatile() };
    let mut state = State { time_ns, ..State::default() };
    let mut ageing = Vec::new();
    for (key, element) in keys.chunks_exact(8 * key).zip(elements.chunks_exact(8 * size)) {
        let (key, element) = (numbers(key), numbers(element));
        let key = Bits::from_words(key_width, &key);
        let value = Bits::from_words(width, &element[HEAD..]);
        match element[1] {
            STATIC => state.fixed.push((key, value)),
            touch => {
                ageing.push((touch, Aged { key, value, touched_ns: element[0], duration_ns: None }))
            }
        }
    }
    state.fixed.sort_unstable();
    ageing.sort_by_key(|(touch, aged)| (aged.touched_ns, *touch));
    // Another processor may have touched an element since the time was read.
    state.time_ns = ageing.last().map_or(time_ns, |(_, aged)| time_ns.max(aged.touched_ns));
    state.ageing = ageing.into_iter().map(|(_, aged)| aged).collect();
    Ok(state)
}

/// Returns the age at which entries of a table expire; 0 if they do not expire.
fn age_ns(store: &Store, offload: usize) -> u64 {
    match &store.slots[offload].content {
        Slot::Kind { config, .. } => config.params.get("age").map_or(0, Bits::low_u64),
        Slot::Engine(_) => 0,
    }
}

fn instance(store: &mut Store, offload: usize) -> &mut dyn Instance {
    match &mut store.slots[offload].content {
        Slot::Kind { instance, .. } => instance.as_mut(),
        Slot::Engine(_) => unreachable!("engines have no maps"),
    }
}

/// Creates an array map of `count` elements of `words` words, and maps its memory.
fn elements(name: &str, count: u64, words: u32) -> io::Result<(OwnedFd, Mapped)> {
    let entries = u32::try_from(count).map_err(io::Error::other)?;
    let shape = Shape {
        map_type: MapType::Array,
        key: 4,
        value: 8 * words,
        entries,
        flags: flag::MAPPABLE,
    };
    let map = kernel::create_map(name, shape, None, None)?;
    let words = count as usize * words as usize;
    let shared = Mapped::new(&map, (8 * words).next_multiple_of(PAGE))?;
    Ok((map, shared))
}

/// Creates the map of a table with `count` parts of `part` bytes.
fn parts(name: &str, count: usize, part: usize) -> io::Result<OwnedFd> {
    let size = |number: usize| u32::try_from(number).map_err(io::Error::other);
    let (entries, value) = (size(count)?, size(part)?);
    let flags = flag::MAPPABLE | flag::ANY_SIZE;
    let shape = Shape { map_type: MapType::Array, key: 4, value, entries, flags };
    kernel::create_map(name, shape, None, None)
}

/// Creates a map that holds one map like `inner`.
fn place_of(name: &str, inner: &OwnedFd) -> io::Result<OwnedFd> {
    let shape = Shape { map_type: MapType::ArrayOfMaps, key: 4, value: 4, entries: 1, flags: 0 };
    kernel::create_map(name, shape, Some(inner), None)
}

impl Table {
    /// Replaces the map that programs read.
    fn put(&self, map: &OwnedFd) -> io::Result<()> {
        kernel::set(&self.map, &0u32.to_ne_bytes(), &map.as_raw_fd().to_ne_bytes())
    }

    fn write(&self, view: Option<RawView>) -> io::Result<()> {
        match (&self.memory, view) {
            (
                Memory::Elements { shared, words, copies },
                Some(RawView::Array { data, .. } | RawView::Counter { data, .. }),
            ) => {
                // SAFETY: both have `words` words, the shared memory in `copies` copies. The first
                // copy gets the whole state.
                unsafe {
                    let shared = shared.start().cast::<u64>();
                    for word in 0..*words * *copies {
                        let value = if word < *words { data.add(word).read() } else { 0 };
                        shared.add(word).write_volatile(value);
                    }
                }
                Ok(())
            }
            (Memory::ReadOnly { count, words }, Some(RawView::Array { data, .. })) => {
                let (array, shared) = elements(&self.symbol, *count, *words)?;
                let words = *count as usize * *words as usize;
                // SAFETY: both have `words` words, and no program reads the new ones yet.
                unsafe { std::ptr::copy_nonoverlapping(data, shared.start().cast(), words) };
                self.put(&array)
            }
            (Memory::Prefixes { stride, part }, Some(RawView::Lpm(view))) => {
                self.put(&laid_out(&self.symbol, &view, *stride, *part)?)
            }
            _ => Err(io::Error::other(format!("{}: state of another kind", self.symbol))),
        }
    }
}

/// A part of a table: its offset in the table, and its bytes.
struct Piece {
    at: usize,
    start: *const u8,
    bytes: usize,
}

/// Writes a table into parts, with the layout that runtime/c/bpf/lpm.h reads.
fn laid_out(name: &str, view: &LpmView, stride: usize, part: usize) -> io::Result<OwnedFd> {
    let is_spread = !view.spread.is_null();
    let mut end = BEGIN;
    let mut piece = |start: *const u8, bytes: usize, alignment: usize| {
        let at = end.next_multiple_of(alignment);
        end = at + bytes;
        Piece { at, start, bytes }
    };
    let direct = match is_spread {
        true => piece(view.spread.cast(), 4 * view.direct_count, BEGIN),
        false => piece(view.direct.cast(), 8 * view.direct_count, BEGIN),
    };
    // Values follow the direct table, since each search reads both.
    let values = piece(std::ptr::null(), 8 * stride * view.value_count, BEGIN.max(8 * stride));
    let blocks = piece(view.blocks.cast(), view.block_bytes() * view.block_count, BEGIN);
    let nodes = piece(view.nodes.cast(), 32 * view.node_count, BEGIN);
    let leaves = piece(view.leaves.cast(), 4 * view.leaf_count, BEGIN);
    let count = end.div_ceil(part);
    let map = parts(name, count, part)?;
    let shared = Mapped::new(&map, count * part)?;
    let head = [usize::from(is_spread), blocks.at, nodes.at, leaves.at, values.at];
    let head = head.map(|number| number as u64);
    // SAFETY: the new map has room for all pieces, and no program reads it yet. The view belongs to
    // a reader that is pinned; other threads may change words of it, each as a whole.
    unsafe {
        let table = shared.start();
        std::ptr::copy_nonoverlapping(head.as_ptr(), table.cast(), head.len());
        for piece in [direct, blocks, nodes, leaves].iter().filter(|piece| piece.bytes > 0) {
            std::ptr::copy_nonoverlapping(piece.start, table.add(piece.at), piece.bytes);
        }
        let words = view.value_words as usize;
        for number in 0..view.value_count {
            let to = table.add(values.at + 8 * stride * number);
            std::ptr::copy_nonoverlapping(view.values.add(words * number), to.cast(), words);
        }
    }
    Ok(map)
}
