//! The contents of the scratchpad, which is small and faster than SRAM.
//!
//! Its first words are for the runtime ([`ELEMENTS`], [`MAIL`], [`COUNTER`]). Order gates follow.
//! On version 1 each thread has some words for the context and for values without a register
//! ([`words`]), since every packet accesses these many times. The rest is for offloads.
//!
//! Offloads are placed in the order of their calls for each word that they take, as long as they
//! fit. The number of calls is estimated from the paths through the steps. A kind says whether its
//! offloads can be here
//! ([`scratchpad_words`](super::super::kind::KindOnMicroengines::scratchpad_words)).

use wireloom_ir::{Engine, OpKind};
use wireloom_isa::microengine::Version;

use super::super::flow::visits;
use super::super::kind::Kinds;
use super::super::spill_slots;
use super::super::unit::{Region, Unit};
use super::room::Room;
use super::slot::Slot;

/// The number of elements of the receive FIFO of version 1. At most two threads share an element.
pub const RECEIVE_ELEMENTS: u32 = 16;

/// The number of bytes of the scratchpad that programs need at least.
pub const SCRATCHPAD: u32 = 4096;
/// The first words of the scratchpad are for turns to send (`thread.uc`). Each thread of a chip has
/// one packet in hand, so each has a word, and two words on version 1. Words of zeros follow. Then
/// version 1 has a word for each element of the receive FIFO; version 2 has a word of mail for each
/// thread, and a word that counts elements of TBUF. Order gates follow, then the words of threads
/// of version 1, then offloads.
const TURNS: u32 = 4 * RECEIVE_ELEMENTS;
pub const ELEMENTS: u32 = TURNS + 8;
const TURNS_2: u32 = 128;
pub const MAIL: u32 = TURNS_2 + 8;
pub const COUNTER: u32 = MAIL + 128;

/// Returns the first word of the scratchpad for order gates.
pub fn first_gate(version: Version) -> u32 {
    match version {
        Version::One => ELEMENTS + RECEIVE_ELEMENTS,
        Version::Two => COUNTER + 1,
    }
}

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
    kinds: &Kinds,
    slots: &[Slot<'_>],
    version: Version,
    room: &mut Room,
) -> Vec<Option<Region>> {
    let calls = calls(engine);
    let mut wanted: Vec<(usize, u64, f64)> = Vec::new();
    for (number, slot) in slots.iter().enumerate() {
        if calls[number] > 0.0 {
            let words =
                kinds.get(number).and_then(|kind| kind.scratchpad_words(slot.config, version));
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
