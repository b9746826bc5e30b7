//! What is in the scratchpad: it has few words, and is nearer than SRAM.
//!
//! On version 1 each thread has some, for the context and for values without a register ([`words`]): all packets use
//! them many times. What is left is for arrays and counters.
//!
//! Those arrays and counters that packets call most often for each word that they take come first, and each that still has room is in
//! it. How often packets call one is estimated from the ways through the steps. Counters of version 1 stay in SRAM,
//! which has locks: the scratchpad of version 1 adds 1 to a word, but does not return what was there, so nothing
//! tells that the low half of a number wraps around.

use wireloom_codegen::steps::ops;
use wireloom_ir::{Engine, OpKind};
use wireloom_isa::microengine::Version;

use super::super::homes;
use super::super::kinds;
use super::super::spread::visits;
use super::{Region, Room, Slot, Unit};

/// Words of a thread at most, fewer than that are of no use, and their number is a multiple of this.
const MOST: u32 = 40;
const LEAST: u32 = 16;
const GRANULE: u32 = 4;

/// The words of each thread of version 1, if so many are left.
pub(super) fn words(engine: &Engine, left: u32, threads: u32) -> u32 {
    let wanted = homes::wanted(engine).next_multiple_of(GRANULE).min(MOST);
    let room = left / threads.max(1) / GRANULE * GRANULE;
    let words = wanted.min(room);
    if words < LEAST { 0 } else { words }
}

/// The regions of those in the scratchpad, for each offload.
pub(super) fn regions(
    engine: &Engine,
    slots: &[Slot<'_>],
    version: Version,
    room: &mut Room,
) -> Vec<Option<Region>> {
    let calls = calls(engine);
    let mut wanted: Vec<(usize, u64, f64)> = Vec::new();
    for (number, slot) in slots.iter().enumerate() {
        if calls[number] > 0.0 {
            let kind = kinds::find(slot.config);
            let words = kind.and_then(|kind| kind.scratchpad_words(slot.config, version));
            wanted.extend(words.map(|words| (number, words, calls[number] / words as f64)));
        }
    }
    // The sort keeps the order of the program where two are worth the same.
    wanted.sort_by(|(_, _, a), (_, _, b)| b.total_cmp(a));
    let mut regions = vec![None; slots.len()];
    for (number, words, _) in wanted {
        regions[number] = room.take(&[(Unit::Scratch, words)]);
    }
    regions
}

/// How often a packet calls each offload.
fn calls(engine: &Engine) -> Vec<f64> {
    let mut calls = vec![0.0; engine.offloads.len()];
    for (step, visits) in engine.steps.iter().zip(visits(engine)) {
        for op in ops(step) {
            if let OpKind::Call { offload, .. } | OpKind::Evaluate { offload, .. } = &op.kind {
                calls[offload.index()] += visits;
            }
        }
    }
    calls
}
