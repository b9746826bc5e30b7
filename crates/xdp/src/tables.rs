//! The offloads of an engine in maps of the kernel.
//!
//! Elements of arrays and counters are memory that the program and this process share. A prefix
//! table is written as a whole, from the memory of its instance, into a new map of rows, which then
//! takes the place of the former one: a search that has begun finds its table complete, and the
//! kernel frees the old one when no program reads it any more.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use wireloom_codegen::c::bpf::{Content, Map};
use wireloom_offloads::lpm::LpmView;
use wireloom_offloads::{Content as Slot, Instance, RawView, Store};

use crate::kernel::{self, MapType, Mapped, Shape, flag};

/// Bytes of a row of a prefix table (`WL_ROW`).
const ROW: usize = 128;
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
    /// Elements of arrays and counters, so many words.
    Elements { shared: Mapped, words: usize },
    /// Prefixes, whose values have this distance in words.
    Prefixes { stride: usize },
}

impl Tables {
    /// Creates the maps of offloads, empty.
    ///
    /// # Errors
    /// Without the rights or the memory.
    pub fn new(maps: &[Map]) -> io::Result<Self> {
        let tables = maps.iter().map(|map| {
            let (descriptor, memory) = match map.content {
                Content::Elements { count, words } => elements(&map.symbol, count, words)?,
                Content::Prefixes { stride } => {
                    let memory = Memory::Prefixes { stride: stride as usize };
                    (prefixes(&map.symbol)?, memory)
                }
            };
            let (symbol, offload) = (map.symbol.clone(), map.offload);
            Ok(Table { symbol, offload, map: descriptor, memory })
        });
        Ok(Self { tables: tables.collect::<io::Result<_>>()? })
    }

    /// The maps by their symbols.
    pub fn maps(&self) -> impl Iterator<Item = (&str, &OwnedFd)> {
        self.tables.iter().map(|table| (table.symbol.as_str(), &table.map))
    }

    /// Writes the state of a store into the maps: that of all offloads, or of one by its index.
    ///
    /// # Errors
    /// Without the memory.
    pub fn write(&mut self, store: &mut Store, only: Option<usize>) -> io::Result<()> {
        for table in &mut self.tables {
            if only.is_none_or(|only| only == table.offload) {
                let instance = instance(store, table.offload);
                let view = instance.raw();
                let written = table.write(view);
                instance.raw_done();
                written?;
            }
        }
        Ok(())
    }

    /// Reads what packets changed back into a store: all offloads, or one by its index.
    pub fn read(&self, store: &mut Store, only: Option<usize>) {
        for table in &self.tables {
            if only.is_some_and(|only| only != table.offload) {
                continue;
            }
            let Memory::Elements { shared, words } = &table.memory else { continue };
            let instance = instance(store, table.offload);
            if let Some(RawView::Array { data, .. } | RawView::Counter { data, .. }) =
                instance.raw()
            {
                // SAFETY: both have so many words; the kernel may change the shared ones meanwhile,
                // which are read one by one.
                unsafe {
                    let shared = shared.start().cast::<u64>();
                    for word in 0..*words {
                        data.add(word).write(shared.add(word).read_volatile());
                    }
                }
            }
            instance.raw_done();
        }
    }
}

fn instance(store: &mut Store, offload: usize) -> &mut dyn Instance {
    match &mut store.slots[offload].content {
        Slot::Kind { instance, .. } => instance.as_mut(),
        Slot::Engine(_) => unreachable!("engines have no maps"),
    }
}

fn elements(name: &str, count: u64, words: u32) -> io::Result<(OwnedFd, Memory)> {
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
    Ok((map, Memory::Elements { shared, words }))
}

/// The map of a table with so many rows.
fn rows(name: &str, rows: usize) -> io::Result<OwnedFd> {
    let entries = u32::try_from(rows).map_err(io::Error::other)?;
    let flags = flag::MAPPABLE | flag::ANY_SIZE;
    let shape = Shape { map_type: MapType::Array, key: 4, value: ROW as u32, entries, flags };
    kernel::create_map(name, shape, None, None)
}

fn prefixes(name: &str) -> io::Result<OwnedFd> {
    let shape = Shape { map_type: MapType::ArrayOfMaps, key: 4, value: 4, entries: 1, flags: 0 };
    kernel::create_map(name, shape, Some(&rows(name, 1)?), None)
}

impl Table {
    fn write(&mut self, view: Option<RawView>) -> io::Result<()> {
        match (&mut self.memory, view) {
            (
                Memory::Elements { shared, words },
                Some(RawView::Array { data, .. } | RawView::Counter { data, .. }),
            ) => {
                // SAFETY: both have so many words.
                unsafe {
                    let shared = shared.start().cast::<u64>();
                    for word in 0..*words {
                        shared.add(word).write_volatile(data.add(word).read());
                    }
                }
                Ok(())
            }
            (Memory::Prefixes { stride }, Some(RawView::Lpm(view))) => {
                let table = laid_out(&self.symbol, &view, *stride)?;
                let value = table.as_raw_fd().to_ne_bytes();
                kernel::set(&self.map, &0u32.to_ne_bytes(), &value)
            }
            _ => Err(io::Error::other(format!("{}: state of another kind", self.symbol))),
        }
    }
}

/// Part of a table: where its rows begin, and the bytes.
struct Part {
    row: usize,
    start: *const u8,
    bytes: usize,
}

/// Writes a table into rows, as runtime/c/bpf/lpm.h reads them.
fn laid_out(name: &str, view: &LpmView, stride: usize) -> io::Result<OwnedFd> {
    let is_spread = !view.spread.is_null();
    let mut next = 1;
    let mut part = |start: *const u8, bytes: usize| {
        let row = next;
        next += bytes.div_ceil(ROW);
        Part { row, start, bytes }
    };
    let direct = match is_spread {
        true => part(view.spread.cast(), 4 * view.direct_count),
        false => part(view.direct.cast(), 8 * view.direct_count),
    };
    let blocks = part(view.blocks.cast(), ROW * view.block_count);
    let nodes = part(view.nodes.cast(), 32 * view.node_count);
    let leaves = part(view.leaves.cast(), 4 * view.leaf_count);
    let per_row = ROW / 8 / stride;
    let values = next;
    let map = rows(name, values + view.value_count.div_ceil(per_row))?;
    let all = values + view.value_count.div_ceil(per_row);
    let shared = Mapped::new(&map, (all * ROW).next_multiple_of(PAGE))?;
    let head = [
        u32::from(is_spread),
        blocks.row as u32,
        nodes.row as u32,
        leaves.row as u32,
        values as u32,
    ];
    // SAFETY: the new map has room for all rows, and no program reads it yet. The view belongs to a
    // reader that is pinned; other threads may change words of it, each as a whole.
    unsafe {
        let rows = shared.start();
        std::ptr::copy_nonoverlapping(head.as_ptr(), rows.cast(), head.len());
        for part in [direct, blocks, nodes, leaves].iter().filter(|part| part.bytes > 0) {
            std::ptr::copy_nonoverlapping(part.start, rows.add(ROW * part.row), part.bytes);
        }
        let words = view.value_words as usize;
        for number in 0..view.value_count {
            let row = values + number / per_row;
            let to = rows.add(ROW * row + 8 * stride * (number % per_row));
            std::ptr::copy_nonoverlapping(view.values.add(words * number), to.cast(), words);
        }
    }
    Ok(map)
}
