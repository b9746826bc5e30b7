//! The addresses of blocks and trees.

use std::collections::BTreeSet;

use super::blocks::Region;
use super::plan::Ranges;
use super::shape::{Key, Shape};

/// The keys that reach a block, and its level. Lookups read two blocks with the same identity in
/// the same way, so one can replace the other entry by entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub(super) level: usize,
    pub(super) covers: Key,
}

/// A block and the address of its first entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) identity: Identity,
    pub(super) address: u32,
}

/// A tree of ranges and the positions of its nodes (level and address), beginning with the root's.
/// Trees do not change in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlacedTail {
    pub(super) ranges: Ranges,
    pub(super) nodes: Vec<(u32, u32)>,
}

/// The free memory of blocks and trees.
#[derive(Clone, Debug)]
pub(super) struct Places {
    regions: Vec<Region>,
    /// The free nodes of each level of trees.
    nodes: Vec<BTreeSet<u32>>,
    /// The number of entries of all blocks of each level.
    pub(super) levels: Vec<u64>,
}

impl Places {
    pub(super) fn new(shape: &Shape) -> Self {
        let mut levels = vec![0; shape.levels.len()];
        levels[0] = 1 << shape.root_bits();
        let nodes = shape.tails.iter().flat_map(|tails| {
            let memories = &shape.memories[tails.memory..][..tails.levels as usize];
            memories.iter().map(|memory| (0..memory.entries).collect())
        });
        let regions =
            shape.regions.iter().map(|region| Region::new(region.from, region.to)).collect();
        Self { regions, nodes: nodes.collect(), levels }
    }

    /// Allocates a block of a level. Returns the address of its first entry, or `None` if there is
    /// no room.
    pub(super) fn take(&mut self, shape: &Shape, level: usize) -> Option<u32> {
        let stride = shape.levels[level].stride;
        let mut places = shape.levels[level].places.iter();
        let block =
            places.find_map(|&(region, lowest)| self.regions[region].take(stride, lowest))?;
        self.levels[level] += 1 << stride;
        Some(block)
    }

    pub(super) fn give(&mut self, shape: &Shape, block: &Placed) {
        let level = &shape.levels[block.identity.level];
        let mut regions = shape.regions.iter();
        let inside = regions.position(|region| {
            region.memory == level.memory && (region.from..region.to).contains(&block.address)
        });
        self.regions[inside.expect("blocks lie in regions")].give(block.address, level.stride);
        self.levels[block.identity.level] -= 1 << level.stride;
    }

    /// Allocates a node in a level of trees.
    pub(super) fn take_node(&mut self, level: u32) -> Option<u32> {
        self.nodes.get_mut(level as usize)?.pop_first()
    }

    /// Frees the nodes of a tree.
    pub(super) fn give_tail(&mut self, tail: &PlacedTail) {
        for &(level, node) in &tail.nodes {
            self.nodes[level as usize].insert(node);
        }
    }
}
