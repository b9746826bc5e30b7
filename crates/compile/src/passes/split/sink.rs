//! Moves calls to later parts of a scheduled step, so that fewer parts wait for replies, and so
//! that replies are not kept longer than the arguments would be.
//!
//! The schedule puts each call as early as possible. A call without effect that does not touch the
//! packet can be as late as the first use of its reply allows. It moves to the last part before
//! that use that has other calls. If it is the only call of its part, it moves to the last possible
//! part.

use wireloom_ir::{Exit, Op, OpKind, Step, Value};

use super::schedule::{Cause, Schedule};
use crate::analysis::Definitions;
use crate::analysis::conditions::Guards;
use crate::analysis::is_pure;

/// Moves calls of a step; `movable` selects them.
pub(super) fn sink(
    step: &Step,
    ops: &[Op],
    schedule: &mut Schedule,
    movable: impl Fn(usize) -> bool,
) {
    if schedule.ports.is_none() || schedule.parts < 2 {
        return;
    }
    let definitions = Definitions::of(step);
    let guards = Guards::new(&definitions);
    let can_both_happen = |a: usize, b: usize| !guards.exclusive(ops[a].guard, ops[b].guard);
    for call in (0..ops.len()).rev().filter(|index| movable(*index)) {
        let part = schedule.time[call] / 2;
        let Some(last) = deadline(step, ops, schedule, &guards, call) else { continue };
        let waits = |part: u32| {
            let is_other = |index: &usize| *index != call && is_waited_for(&ops[*index]);
            (0..ops.len()).filter(is_other).any(|index| schedule.time[index] == 2 * part)
        };
        let shares =
            |index: &usize| shares(&ops[*index], &ops[call]) && can_both_happen(*index, call);
        // The call stays before later calls of its offload.
        let before =
            (call + 1..ops.len()).filter(shares).map(|index| schedule.time[index] / 2).min();
        let last = before.map_or(last, |before| last.min(before.saturating_sub(1)));
        let clashes =
            |part: u32| (0..call).filter(shares).any(|index| schedule.time[index] / 2 == part);
        let alone = !waits(part);
        let fits = |to: &u32| (alone || waits(*to)) && !clashes(*to);
        if let Some(to) = (part + 1..=last).rev().find(fits) {
            schedule.time[call] = 2 * to;
            schedule.cause[call] = Cause::Later;
            for result in &ops[call].results {
                schedule.value_time[result.index()] = 2 * to + 1;
            }
            delay_users(ops, schedule);
        }
    }
}

fn is_waited_for(op: &Op) -> bool {
    matches!(op.kind, OpKind::Call { .. }) && !op.results.is_empty()
}

fn shares(a: &Op, b: &Op) -> bool {
    match (&a.kind, &b.kind) {
        (OpKind::Call { offload: a, .. }, OpKind::Call { offload: b, .. }) => a == b,
        _ => false,
    }
}

/// Returns the last part that a call can be in, so that its reply is in time for all its users.
fn deadline(
    step: &Step,
    ops: &[Op],
    schedule: &Schedule,
    guards: &Guards<'_>,
    call: usize,
) -> Option<u32> {
    // The latest time at which each value may become available.
    let mut limits: Vec<u32> = vec![2 * schedule.parts - 1; step.values.len()];
    for (index, op) in ops.iter().enumerate().skip(call + 1).rev() {
        let time = schedule.time[index];
        let limit = match op.kind {
            ref kind if is_pure(kind) => limits[op.results[0].index()],
            // Offsets of reads are available when the part begins.
            OpKind::ReadPacket { .. } => time.checked_sub(1)?,
            OpKind::Exit(_) => time | 1,
            OpKind::WriteContext(..) => write_deadline(ops, schedule, guards, index),
            _ => time,
        };
        let mut note = |v: Value| limits[v.index()] = limits[v.index()].min(limit);
        op.kind.for_each_operand(&mut note);
        op.guard.iter().for_each(|v| note(*v));
    }
    let limit = ops[call].results.iter().map(|r| limits[r.index()]).min()?;
    Some(limit.checked_sub(1)? / 2)
}

/// Returns the latest time of a write. A variable must be written before its next access, and
/// before the thread continues at another step.
fn write_deadline(ops: &[Op], schedule: &Schedule, guards: &Guards<'_>, write: usize) -> u32 {
    let OpKind::WriteContext(id, _) = ops[write].kind else {
        unreachable!("the operation is a write")
    };
    let mut limit = 2 * schedule.parts - 1;
    for (index, op) in ops.iter().enumerate() {
        let time = schedule.time[index];
        match op.kind {
            OpKind::ReadContext(other) | OpKind::WriteContext(other, _)
                if index > write && other == id =>
            {
                limit = limit.min(time);
            }
            OpKind::Exit(Exit::Next(_) | Exit::Emit(..))
                if !guards.exclusive(ops[write].guard, op.guard) =>
            {
                limit = limit.min(time | 1);
            }
            _ => {}
        }
    }
    limit
}

/// Updates the times of pure operations and of writes of context variables.
fn delay_users(ops: &[Op], schedule: &mut Schedule) {
    for (index, op) in ops.iter().enumerate() {
        if is_pure(&op.kind) {
            let mut time = schedule.time[index];
            op.kind.for_each_operand(|v| time = time.max(schedule.value_time[v.index()]));
            schedule.time[index] = time;
            schedule.value_time[op.results[0].index()] = time;
        } else if let OpKind::WriteContext(_, value) = op.kind {
            let guard = op.guard.map_or(0, |g| schedule.value_time[g.index()]);
            let time = schedule.value_time[value.index()].max(guard) | 1;
            schedule.time[index] = schedule.time[index].max(time);
        }
    }
}
