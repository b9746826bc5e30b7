//! Hazard check and step splitting: schedules the operations of a step and forms its regions.
//!
//! ```text
//! step look {                              step look {
//!   %0:u16 = const 0                         request {
//!   %1:u32 = packet.read %0 + 240              %0:u16 = const 0
//!   %2:u8 = call routes.search(%1) @f:5        %1:u32 = packet.read %0 + 240
//!   %3:u32 = extend %2                         %2:u8 = call routes.search(%1)
//!   call hits.count(%3, %3) @f:6             }
//!   finish                             =>    edit { context.write look.v2, %2 }
//! }                                          jump { next look.1 }
//!                                          }
//!                                          step look.1 split "call of `hits.count` needs ..." {
//!                                            request {
//!                                              %0:u8 = context.read look.v2
//!                                              %1:u32 = extend %0
//!                                              call hits.count(%1, %1)
//!                                            }
//!                                            edit { }
//!                                            jump { finish }
//!                                          }
//! ```
//!
//! Calls of one part are issued together. A reply can be used from the edit on. A call goes to the
//! next part if it needs a reply, the port of another call, or the packet as another operation
//! leaves it ([`schedule`]). Calls of one method that never happen together become one ([`merge`]).
//! In hardware, calls move to the part that uses their reply if fewer parts then wait ([`sink`]).
//! Values that later parts need are recomputed or kept in the context ([`emit`]). In hardware the
//! guards of a part show that they exclude each other ([`apart`]), and a step ends early if its
//! later parts have nothing to do ([`shortcut`]). Each part says why it was split off
//! ([`reasons`]).
//!
//! Steps that already have regions stay unchanged. Structured `if` is converted first.

mod apart;
mod emit;
mod merge;
mod ports;
mod reasons;
mod schedule;
mod shortcut;
mod sink;

use wireloom_ir::{Block, Code, EngineId, Exit, Op, OpKind, Program, Step, StepId};

use super::{PassOptions, if_convert};
use crate::analysis::context::KnownContext;
use crate::analysis::effects::Effects;
use crate::analysis::known_bits::{self, Known};
use crate::analysis::ports::misfit;

/// Splits every step of sequential code.
pub fn run(program: &mut Program, options: &PassOptions) {
    if_convert::run(program, options);
    let effects = Effects::of(program);
    for index in 0..program.engines.len() {
        let id = EngineId(index as u32);
        let before = options.header.map(|_| program.engines[index].clone());
        let context = KnownContext::of(&program.engines[index]);
        split_engine(program, id, &effects, options, &context);
        // Paths of different parts meet in a part, so less is known of the context there. Two
        // accesses may then no longer have a common root.
        if let (Some(limits), Some(before)) = (&options.header, before)
            && program.engines[index].steps.len() > before.steps.len()
            && misfit(&program.engines[index], limits).is_some()
        {
            program.engines[index] = before;
            let context = KnownContext::nothing(&program.engines[index]);
            split_engine(program, id, &effects, options, &context);
        }
    }
}

/// Returns the slots up to each exit of a step of flat code, in order, if the step is split (see
/// [`slots`](crate::analysis::slots)).
pub(super) fn slots_to_exits(
    step: &Step,
    effects: &Effects,
    engine: EngineId,
    known: &[Known],
    options: &PassOptions,
) -> Vec<u32> {
    let ops: Vec<Op> = step.code.blocks().flat_map(|block| &block.ops).cloned().collect();
    let schedule = schedule::schedule(step, &ops, effects, engine, known, options);
    let mut slots = vec![1; schedule.parts as usize];
    for (op, time) in ops.iter().zip(&schedule.time) {
        if matches!(op.kind, OpKind::Call { .. }) && !op.results.is_empty() {
            slots[(*time / 2) as usize] = 2;
        }
    }
    let exits = ops.iter().zip(&schedule.time).filter(|(op, _)| matches!(op.kind, OpKind::Exit(_)));
    exits.map(|(_, time)| slots[..=(*time / 2) as usize].iter().sum()).collect()
}

/// A step during splitting: its operations and when they happen. The plan is `None` if the step
/// already has regions.
struct Planned {
    step: Step,
    plan: Option<Plan>,
}

struct Plan {
    ops: Vec<Op>,
    schedule: schedule::Schedule,
    reasons: Vec<Option<String>>,
}

fn split_engine(
    program: &mut Program,
    id: EngineId,
    effects: &Effects,
    options: &PassOptions,
    context: &KnownContext,
) {
    let engine = &mut program.engines[id.index()];
    let steps = std::mem::take(&mut engine.steps);
    let planned: Vec<Planned> = steps
        .into_iter()
        .enumerate()
        .map(|(index, mut step)| {
            let Code::Sequential(block) = &mut step.code else {
                return Planned { step, plan: None };
            };
            let mut ops = std::mem::take(&mut block.ops);
            step.code = Code::Sequential(Block { ops: ops.clone() });
            let known = known_bits::of_step(&step, context.at(index));
            let mut schedule = schedule::schedule(&step, &ops, effects, id, &known, options);
            let reasons = reasons::reasons(engine, &ops, &schedule);
            if options.header.is_some() {
                shortcut::shorten(&mut step, &mut ops, &mut schedule);
            }
            merge::merge(&mut step, &mut ops, &mut schedule);
            Planned { step, plan: Some(Plan { ops, schedule, reasons }) }
        })
        .collect();
    let mut numbers = Vec::new();
    let mut next = 0;
    for planned in &planned {
        numbers.push(StepId(next));
        next += planned.plan.as_ref().map_or(1, |p| emit::part_count(&p.ops, &p.schedule));
    }
    let target = |old: StepId| numbers[old.index()];
    let mut names = emit::Names::of(&engine.context);
    for (mut planned, first) in planned.into_iter().zip(&numbers) {
        match &planned.plan {
            Some(Plan { ops, schedule, reasons }) => {
                let context = (&mut engine.context, &mut names);
                let parts =
                    emit::emit(&planned.step, ops, schedule, reasons, context, first.0, target);
                engine.steps.extend(parts);
            }
            None => {
                retarget(&mut planned.step, target);
                engine.steps.push(planned.step);
            }
        }
    }
}

fn retarget(step: &mut Step, target: impl Fn(StepId) -> StepId) {
    for block in step.code.blocks_mut() {
        block.for_each_op_mut(&mut |op: &mut Op| {
            if let OpKind::Exit(Exit::Next(to) | Exit::Emit(to, _)) = &mut op.kind {
                *to = target(*to);
            }
        });
    }
}
