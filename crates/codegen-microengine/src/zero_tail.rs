//! The words that a step may read after the end of a packet, where it gets zeros. Only these words
//! are cleared.

use wireloom_ir::{Engine, OpKind, Step};

use super::fixed_fields::{fronts, moves_front};
use super::frame;
use super::kind::Kinds;
use super::step_facts::{most, width};
use super::window_home::reaches_packet;

/// The word of the frame at which the longest window ends. All words after it are zero anyway.
const ALL: u32 = frame::END / 4;

/// Returns the first word of the frame after all fields that a step may read. Zeros after the
/// window need not reach farther.
pub fn cleared(engine: &Engine, kinds: &Kinds) -> u32 {
    let fronts = fronts(engine, kinds);
    let own = |(step, front): (&Step, Option<u32>)| cleared_for(engine, kinds, step, front);
    engine.steps.iter().zip(fronts).map(own).max().unwrap_or(0)
}

fn cleared_for(engine: &Engine, kinds: &Kinds, step: &Step, mut front: Option<u32>) -> u32 {
    let ops: Vec<_> = step.ops().collect();
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
            _ if reaches_packet(engine, kinds, op) => return ALL,
            _ => {}
        }
        if moves_front(engine, kinds, op) {
            front = None;
        }
    }
    cleared
}
