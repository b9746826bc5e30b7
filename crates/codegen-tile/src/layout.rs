//! The places of an engine's state and tables in a tile's memory, and the contents of memory at the
//! start. Addresses are in bytes.

use std::sync::Arc;

use wireloom_bits::Bits;
use wireloom_ir::{Engine, OpKind};

use super::kinds::kind::Placed;

/// The place of an offload.
#[derive(Clone, Debug)]
pub enum Place {
    /// An offload of a kind, in memory.
    Kind(Arc<dyn Placed>),
    /// An engine, by its index among the instances.
    Engine(usize),
}

/// An engine with its places. Each offload that is an engine is an instance of its own.
#[derive(Clone, Debug)]
pub struct Instance<'a> {
    pub engine: &'a Engine,
    /// The prefix of the labels of its steps.
    pub label: String,
    /// The offset in the frame of each context variable.
    pub variables: Vec<u32>,
    /// The address of each array of the context, and the bytes of an element.
    pub arrays: Vec<(u32, u32)>,
    /// For each array of the context, the bytes from the array of one tile to that of the next
    /// tile.
    pub apart: Vec<u32>,
    pub offloads: Vec<Place>,
    /// The offset in the frame of the count of jumps back. `link` and `reply` are the offsets of a
    /// called engine's return address and of its reply.
    pub backward: u32,
    pub link: u32,
    pub reply: u32,
    /// The width of a called engine's reply in bits.
    pub reply_width: Option<u32>,
}

impl Instance<'_> {
    /// Returns the instance on a tile, which has its own arrays.
    pub fn of_tile(&self, tile: u32) -> Self {
        let mut own = self.clone();
        for ((base, _), apart) in own.arrays.iter_mut().zip(&self.apart) {
            *base += tile * apart;
        }
        own
    }

    /// Returns the label of a step.
    pub fn step(&self, number: usize) -> String {
        format!("{}_step{number}", self.label)
    }
}

/// The places of a program.
#[derive(Clone, Debug, Default)]
pub struct Layout<'a> {
    /// The packet engine, followed by the engines that it calls.
    pub instances: Vec<Instance<'a>>,
    /// The constant arrays, each with its address and the bytes of an element.
    pub tables: Vec<(Arc<[Bits]>, u32, u32)>,
    /// The contents of memory at the start: addresses and words.
    pub images: Vec<(u32, Vec<u32>)>,
    /// The first byte of the frame after the engines' state.
    pub end: u32,
    /// Whether packets are replaced by parked ones. The current packet may then have arrived at
    /// another time on another port than the packet that began the thread.
    pub takes: bool,
    /// Whether the tails of long packets stay outside the tiles.
    pub has_rest: bool,
}

impl Layout<'_> {
    /// Returns, for each instance, whether the chosen steps of the packet engine use it.
    pub fn used(&self, chosen: impl Fn(usize) -> bool) -> Vec<bool> {
        let mut used = vec![false; self.instances.len()];
        used[0] = true;
        // Instances follow the instances that call them.
        for (number, instance) in self.instances.iter().enumerate() {
            let steps = instance.engine.steps.iter().enumerate();
            let steps = steps.filter(|(at, _)| used[number] && (number > 0 || chosen(*at)));
            let steps: Vec<_> = steps.flat_map(|(_, step)| step.ops()).collect();
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

    /// Returns the places of the offloads of each instance.
    pub fn places(&self) -> Vec<Vec<Place>> {
        self.instances.iter().map(|instance| instance.offloads.clone()).collect()
    }

    /// Returns the address of a constant array, and the bytes of an element.
    pub fn table(&self, elements: &[Bits]) -> (u32, u32) {
        let found = self.tables.iter().find(|(table, ..)| **table == *elements);
        found.map(|(_, base, stride)| (*base, *stride)).expect("all constant arrays have places")
    }
}
