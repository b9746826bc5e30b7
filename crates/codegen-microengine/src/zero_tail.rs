//! The words that a step may read after the end of a packet, where it gets zeros. Only these words
//! are cleared.

use wireloom_ir::{Engine, Op, OpKind, Step, Value};

use super::fixed_fields::{fronts, moves_front};
use super::frame;
use super::window::reaches_packet;

/// The word of the frame at which the longest window ends. All words after it are zero anyway.
const ALL: u32 = frame::END / 4;

/// Returns the first word of the frame after all fields that a step may read. Zeros after the
/// window need not reach farther.
pub fn cleared(engine: &Engine) -> u32 {
    let fronts = fronts(engine);
    let own = |(step, front): (&Step, Option<u32>)| cleared_for(engine, step, front);
    engine.steps.iter().zip(fronts).map(own).max().unwrap_or(0)
}

fn cleared_for(engine: &Engine, step: &Step, mut front: Option<u32>) -> u32 {
    let ops: Vec<&Op> = step.ops().collect();
    let mut cleared = 0;
    for op in &ops {
        match &op.kind {
            OpKind::ReadPacket { base, bit } => {
                // After a change of the front a field may be anywhere.
                let Some(front) = front else { return ALL };
                let width = op.results.first().map_or(0, |value| width(step, *value));
                let within = (most(step, &ops, *base) + bit / 8).min(frame::REACH);
                let end = front + within + (bit % 8 + width).div_ceil(8);
                cleared = cleared.max(end.div_ceil(4).min(ALL));
            }
            _ if reaches_packet(engine, op) => return ALL,
            _ => {}
        }
        if moves_front(engine, op) {
            front = None;
        }
    }
    cleared
}

/// Returns the largest value that a value can have, as far as its operation shows.
pub fn most(step: &Step, ops: &[&Op], value: Value) -> u32 {
    let definition = ops.iter().find(|op| op.results.contains(&value));
    let own = match width(step, value) {
        width @ 0..=16 => (1 << width) - 1,
        _ => u32::from(u16::MAX),
    };
    match definition.map(|op| &op.kind) {
        Some(OpKind::Extend(inner)) => own.min(most(step, ops, *inner)),
        Some(OpKind::Const(bits)) => own.min(bits.low_u64() as u32),
        _ => own,
    }
}

/// Returns the width of a value. Values that were made for a step of microengines are words.
pub fn width(step: &Step, value: Value) -> u32 {
    step.values.get(value.index()).map_or(32, |value| value.width)
}
