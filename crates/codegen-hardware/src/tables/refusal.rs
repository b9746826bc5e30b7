//! Explains why a table does not fit an accelerator, and what would fit.

use std::fmt;

use super::plan::{Cell, Ranges, tree_levels};
use super::shape::{Key, Shape};
use super::storage::Storage;

/// The reason why a table does not fit: a sentence without a final period.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoesNotFit(pub String);

impl fmt::Display for DoesNotFit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DoesNotFit {}

/// Reports that the value table is full.
pub(super) fn values(elements: usize) -> DoesNotFit {
    DoesNotFit(format!(
        "the prefixes have more different values than the value table has elements ({elements}, \
         including the one for misses); give it more, or let prefixes share values"
    ))
}

/// Reports that there is no room for these prefixes (left-aligned bits, length). `cell` is the
/// entry that could not be allocated.
pub(super) fn full(shape: &Shape, prefixes: Vec<(Key, u32)>, cell: &Cell) -> DoesNotFit {
    let storage = Storage::new(shape.key_bits, prefixes);
    let levels = storage.entries(&shape.strides());
    let mut needed = vec![0; shape.memories.len()];
    levels.iter().zip(shape.levels).for_each(|(entries, level)| needed[level.memory] += entries);
    let listed =
        |entries: &[u64]| entries.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    for (memory, &entries) in shape.memories.iter().zip(&needed) {
        if entries > u64::from(memory.entries) && memory.burst == 1 {
            return DoesNotFit(format!(
                "the levels of {:?} bits have {} entries, of which {entries} are on the chip, \
                 where there is room for {}; leave out some, or let fewer routers share it",
                shape.strides(),
                listed(&levels),
                memory.entries
            ));
        }
        if entries > u64::from(memory.entries) || shape.tails.is_none() {
            return DoesNotFit(words(shape, &storage, &listed(&levels), memory.entries, entries));
        }
    }
    let mut longest: Option<&Ranges> = None;
    trees(cell, &mut |ranges| {
        if longest.is_none_or(|known| known.len() < ranges.len()) {
            longest = Some(ranges);
        }
    });
    let tails = shape.tails.expect("memories without trees were looked at above");
    let (most, size) = (4usize.pow(tails.levels), shape.memories[tails.memory].entries);
    match longest {
        Some(ranges) if tree_levels(ranges.len()) > tails.levels => DoesNotFit(format!(
            "the prefixes of one network that are longer than {} bits divide it into {} ranges, \
             and the accelerator can search {most}; leave out some, or let neighbours share values",
            shape.trie_bits(),
            ranges.len()
        )),
        _ => DoesNotFit(format!(
            "the prefixes that are longer than {} bits need more tree nodes than the accelerator \
             has ({size} in each of {} levels; a tree that changes occupies twice its room for a \
             while); leave out some",
            shape.trie_bits(),
            tails.levels
        )),
    }
}

fn words(shape: &Shape, storage: &Storage, levels: &str, has: u32, needed: u64) -> String {
    // Blocks of some levels can only lie in a part of the memory.
    let numbered = shape.levels.iter().zip(storage.entries(&shape.strides()));
    let behind =
        numbered.map(|(level, entries)| u64::from(level.base) + entries).max().unwrap_or(0);
    let part = needed.max(behind).next_power_of_two();
    let mut text = format!(
        "the table does not fit a memory of {has} words: the levels of {:?} bits have {levels} \
         entries; a part of {part} words would hold them",
        shape.strides()
    );
    if shape.levels.len() == 3 {
        let (best, least) = storage.best_of_three();
        text += &if least <= u64::from(has) {
            format!(", and levels of {best:?} bits would take {least} words")
        } else {
            format!(", and no three levels take less than {least} words")
        };
    }
    text
}

/// Visits the trees below an entry.
fn trees<'a>(cell: &'a Cell, visit: &mut dyn FnMut(&'a Ranges)) {
    match cell {
        Cell::Leaf(_) => {}
        Cell::Tail(ranges) => visit(ranges),
        Cell::Block(block) => block.cells.iter().for_each(|cell| trees(cell, visit)),
    }
}
