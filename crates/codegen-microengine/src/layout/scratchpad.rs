//! The contents of the scratchpad, which is small and faster than SRAM.
//!
//! On version 1 each thread has some words for the context and for values without a register
//! ([`words`]), since every packet accesses these many times. The rest is for offloads.
//!
//! Offloads are placed in the order of their calls for each word that they take, as long as they
//! fit. The number of calls is estimated from the paths through the steps. A kind says whether its
//! offloads can be here
//! ([`scratchpad_words`](super::super::kinds::KindOnMicroengines::scratchpad_words)).

use wireloom_ir::{Engine, OpKind};
use wireloom_isa::microengine::Version;

use super::super::kinds;
use super::super::spill_slots;
use super::super::spread::visits;
use super::{Region, Room, Slot, Unit};

/// The most and the fewest useful words of a thread. The number is a multiple of the granule.
const MOST: u32 = 40;
const LEAST: u32 = 16;
const GRANULE: u32 = 4;

/// Returns the number of words of each thread of version 1, if `left` words are free.
pub(super) fn words(engine: &Engine, left: u32, threads: u32) -> u32 {
    let wanted = spill_slots::wanted(engine).next_multiple_of(GRANULE).min(MOST);
    let room = left / threads.max(1) / GRANULE * GRANULE;
    let words = wanted.min(room);
    if words < LEAST { 0 } else { words }
}

/// Returns the regions in the scratchpad, by the number of the offload.
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
    // The stable sort keeps the order of the program among equals.
    wanted.sort_by(|(_, _, a), (_, _, b)| b.total_cmp(a));
    let mut regions = vec![None; slots.len()];
    for (number, words, _) in wanted {
        regions[number] = room.take(&[(Unit::Scratch, words)]);
    }
    regions
}

/// Returns the estimated number of calls of each offload by one packet.
fn calls(engine: &Engine) -> Vec<f64> {
    let mut calls = vec![0.0; engine.offloads.len()];
    for (step, visits) in engine.steps.iter().zip(visits(engine)) {
        for op in step.ops() {
            if let OpKind::Call { offload, .. } | OpKind::Evaluate { offload, .. } = &op.kind {
                calls[offload.index()] += visits;
            }
        }
    }
    calls
}
