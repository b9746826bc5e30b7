//! If-conversion: flattens structured `if`.
//!
//! ```text
//! %3:u8 = if %0 {                        %1:u8 = packet.read %b + 64
//!   %1:u8 = packet.read %b + 64          context.write x, %1 when %0
//!   context.write x, %1                  %4:u1 = not %0
//!   yield %1                       =>    finish when %4
//! } else {                               %3:u8 = select %0, %1, %2
//!   finish
//!   yield %2
//! }
//! ```
//!
//! Effects are guarded by the conjunction of the conditions around them. Pure operations and reads
//! are total, so they are always executed. If some path of a choice has ended the step, the code
//! after the choice is guarded against that path. So the guards of the exits exclude each other.
//!
//! Reads in either arm that precede the arm's own effects move before the effects of the other arm.
//! So no pass sees an order between operations that never happen together.

use std::collections::HashSet;

use wireloom_ir::{
    BinaryOp, Block, Code, EngineId, Loc, Op, OpKind, Program, Step, UnaryOp, Value, ValueInfo,
};

use super::PassOptions;
use crate::analysis::effects::Effects;
use crate::analysis::packet::{Access, Packets};
use crate::analysis::{Definitions, is_pure, is_read};

/// The nesting depth up to which reads move before the effects of the other arm. Each operation is
/// examined, and moved, once for each choice around it.
const DEEPEST_MOVED: u32 = 64;

/// Flattens every step of sequential code.
pub fn run(program: &mut Program, _: &PassOptions) {
    let effects = Effects::of(program);
    for (index, engine) in program.engines.iter_mut().enumerate() {
        for step in &mut engine.steps {
            convert(step, &effects, EngineId(index as u32));
        }
    }
}

fn convert(step: &mut Step, effects: &Effects, engine: EngineId) {
    let Code::Sequential(block) = &step.code else { return };
    if is_flat(block) {
        return;
    }
    let block = block.clone();
    let definitions = Definitions::of(step);
    let packets = Packets::new(effects, engine, step, &definitions);
    let mut flat = Flatten { packets, values: step.values.clone() };
    let mut path = Path { guard: None, left: Exited::Never };
    let mut ops = Vec::new();
    flat.block(&mut ops, block, &mut path, 0);
    let values = flat.values;
    step.values = values;
    step.code = Code::Sequential(Block { ops });
}

/// Returns whether a block already has the form that this pass produces: no `if`, and either one
/// exit or exits whose guards exclude each other.
fn is_flat(block: &Block) -> bool {
    let exits: Vec<&Op> =
        block.ops.iter().filter(|op| matches!(op.kind, OpKind::Exit(_))).collect();
    !block.ops.iter().any(|op| matches!(op.kind, OpKind::If { .. }))
        && (exits.len() == 1 || exits.iter().all(|op| op.guard.is_some()))
}

/// Whether control has ended the step before some point.
#[derive(Clone, Copy)]
enum Exited {
    Never,
    Always,
    When(Value),
}

/// A path through the step.
struct Path {
    /// The condition under which control is on this path. `None` means always.
    guard: Option<Value>,
    /// Whether the path has ended the step since it began.
    left: Exited,
}

/// A block and its yields.
type Arm = (Block, Vec<Value>);

struct Flatten<'a> {
    packets: Packets<'a>,
    values: Vec<ValueInfo>,
}

impl Flatten<'_> {
    fn bit(&mut self, ops: &mut Vec<Op>, kind: OpKind, loc: Loc) -> Value {
        let value = Value(self.values.len() as u32);
        self.values.push(ValueInfo { width: 1, name: None });
        ops.push(Op { kind, results: vec![value], guard: None, loc });
        value
    }

    fn not(&mut self, ops: &mut Vec<Op>, value: Value, loc: Loc) -> Value {
        self.bit(ops, OpKind::Unary(UnaryOp::Not, value), loc)
    }

    fn and(&mut self, ops: &mut Vec<Op>, a: Option<Value>, b: Value, loc: Loc) -> Value {
        match a {
            Some(a) => self.bit(ops, OpKind::Binary(BinaryOp::And, a, b), loc),
            None => b,
        }
    }

    /// Appends a block that is nested in `depth` choices to flat operations.
    fn block(&mut self, ops: &mut Vec<Op>, block: Block, path: &mut Path, depth: u32) {
        for mut op in block.ops {
            let loc = op.loc;
            match op.kind {
                OpKind::If { condition, then, otherwise } => {
                    let choice = (condition, then, otherwise);
                    self.choice(ops, choice, op.results, loc, (path, depth + 1));
                }
                ref kind if is_pure(kind) || is_read(kind) => ops.push(op),
                ref kind => {
                    let exits = matches!(kind, OpKind::Exit(_));
                    op.guard = match op.guard {
                        Some(own) => Some(self.and(ops, path.guard, own, loc)),
                        None => path.guard,
                    };
                    if exits && op.guard == path.guard {
                        path.left = Exited::Always;
                    } else if let (true, Some(guard)) = (exits, op.guard) {
                        self.leave(ops, path, guard, loc);
                    }
                    ops.push(op);
                }
            }
            if matches!(path.left, Exited::Always) {
                break;
            }
        }
    }

    /// Records that some path has ended the step under the condition `gone`. The code after it is
    /// guarded against that.
    fn leave(&mut self, ops: &mut Vec<Op>, path: &mut Path, gone: Value, loc: Loc) {
        path.left = Exited::When(match path.left {
            Exited::When(before) => self.bit(ops, OpKind::Binary(BinaryOp::Or, before, gone), loc),
            _ => gone,
        });
        let stays = self.not(ops, gone, loc);
        path.guard = Some(self.and(ops, path.guard, stays, loc));
    }

    fn choice(
        &mut self,
        ops: &mut Vec<Op>,
        (condition, then, otherwise): (Value, Arm, Arm),
        results: Vec<Value>,
        loc: Loc,
        (path, depth): (&mut Path, u32),
    ) {
        let if_then = self.and(ops, path.guard, condition, loc);
        let not = self.not(ops, condition, loc);
        let if_not = self.and(ops, path.guard, not, loc);
        let mut taken = Path { guard: Some(if_then), left: Exited::Never };
        let mut other = Path { guard: Some(if_not), left: Exited::Never };
        if depth > DEEPEST_MOVED {
            self.block(ops, then.0, &mut taken, depth);
            self.block(ops, otherwise.0, &mut other, depth);
        } else {
            let (mut then_ops, mut other_ops) = (Vec::new(), Vec::new());
            self.block(&mut then_ops, then.0, &mut taken, depth);
            self.block(&mut other_ops, otherwise.0, &mut other, depth);
            let (then_early, then_late) = self.early(then_ops);
            let (other_early, other_late) = self.early(other_ops);
            for part in [then_early, other_early, then_late, other_late] {
                ops.extend(part);
            }
        }
        for (i, result) in results.into_iter().enumerate() {
            let kind = OpKind::Select(condition, then.1[i], otherwise.1[i]);
            ops.push(Op { kind, results: vec![result], guard: None, loc });
        }
        match (taken.left, other.left) {
            (Exited::Never, Exited::Never) => {}
            (Exited::Always, Exited::Always) => path.left = Exited::Always,
            (Exited::Always, Exited::Never) => self.stay(ops, path, if_not, if_then, loc),
            (Exited::Never, Exited::Always) => self.stay(ops, path, if_then, if_not, loc),
            (a, b) => {
                let when = |left, guard| match left {
                    Exited::Never => None,
                    Exited::Always => Some(guard),
                    Exited::When(value) => Some(value),
                };
                for gone in [when(a, if_then), when(b, if_not)].into_iter().flatten() {
                    self.leave(ops, path, gone, loc);
                }
            }
        }
    }

    /// Continues after a choice of which one arm has always ended the step and the other never has.
    /// The code after it runs if the other arm was taken.
    fn stay(&mut self, ops: &mut Vec<Op>, path: &mut Path, guard: Value, gone: Value, loc: Loc) {
        path.left = Exited::When(match path.left {
            Exited::When(before) => self.bit(ops, OpKind::Binary(BinaryOp::Or, before, gone), loc),
            _ => gone,
        });
        path.guard = Some(guard);
    }

    /// Splits the flat operations of an arm into those that do not depend on its effects, and the
    /// rest.
    fn early(&self, ops: Vec<Op>) -> (Vec<Op>, Vec<Op>) {
        let (mut early, mut late) = (Vec::new(), Vec::new());
        let mut late_values: HashSet<Value> = HashSet::new();
        let mut written: Vec<Access> = Vec::new();
        let (mut contexts, mut arrays) = (HashSet::new(), HashSet::new());
        for op in ops {
            let mut ready = is_pure(&op.kind) || is_read(&op.kind);
            op.kind.for_each_operand(|v| ready &= !late_values.contains(&v));
            let access = self.access(&op);
            match op.kind {
                OpKind::ReadContext(id) => ready &= !contexts.contains(&id),
                OpKind::ReadElement { array, .. } => ready &= !arrays.contains(&array),
                _ => {}
            }
            if let Some(access) = &access {
                ready &= !written.iter().any(|w| w.conflicts(access));
            }
            if ready {
                early.push(op);
                continue;
            }
            late_values.extend(&op.results);
            match op.kind {
                OpKind::WriteContext(id, _) => _ = contexts.insert(id),
                OpKind::WriteElement { array, .. } => _ = arrays.insert(array),
                _ => {}
            }
            written.extend(access.filter(Access::writes));
            late.push(op);
        }
        (early, late)
    }

    fn access(&self, op: &Op) -> Option<Access> {
        Some(self.packets.access(op)).filter(Access::touches)
    }
}
