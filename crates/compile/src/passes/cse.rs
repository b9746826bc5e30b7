//! Common subexpression elimination: computes and reads each value once.
//!
//! ```text
//! %2:u8 = packet.read %0 + 64               %2:u8 = packet.read %0 + 64
//! %3:u8 = packet.read %0 + 64               %4:u8 = add %2, %1
//! %4:u8 = add %2, %1                  =>    context.write x, %4
//! %5:u8 = add %1, %3                        finish
//! context.write x, %4
//! finish when %6
//! ```
//!
//! These are equal:
//! - pure operations on equal operands, in either order if the operator commutes;
//! - reads of the packet and of metadata without an overlapping write between them;
//! - a read of a context variable, and the value of an unguarded write to it;
//! - reads of one element of a context array without a write of any element between them;
//! - calls of one method without state, with the same guard and equal arguments; if the method reads
//!   the packet, without a write to the packet between them.

use std::collections::HashMap;
use std::sync::Arc;

use wireloom_bits::Bits;
use wireloom_ir::{
    ArrayId, BinaryOp, Block, ContextId, EngineId, Meta, Op, OpKind, Program, Step, UnaryOp, Value,
    ValueInfo,
};

use super::PassOptions;
use crate::analysis::Definitions;
use crate::analysis::effects::Effects;
use crate::analysis::packet::{Access, Packets};

/// Runs over every step.
pub fn run(program: &mut Program, _: &PassOptions) {
    let effects = Effects::of(program);
    for (index, engine) in program.engines.iter_mut().enumerate() {
        for step in &mut engine.steps {
            share(step, &effects, EngineId(index as u32));
        }
    }
}

fn share(step: &mut Step, effects: &Effects, engine: EngineId) {
    let snapshot = step.clone();
    let definitions = Definitions::of(&snapshot);
    let packets = Packets::new(effects, engine, &snapshot, &definitions);
    let mut share = Share {
        packets,
        effects,
        engine,
        values: &snapshot.values,
        same: (0..snapshot.values.len() as u32).map(Value).collect(),
    };
    let mut known = Known::default();
    for block in step.code.blocks_mut() {
        share.block(block, &mut known);
    }
}

/// The computation of a pure operation, without the name of its result.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Expression {
    Const(Bits),
    Table(Arc<[Bits]>, Value),
    Unary(UnaryOp, Value),
    Binary(BinaryOp, Value, Value),
    Select(Value, Value, Value),
    Extend(Value, u32),
    Slice(Value, u32, u32),
    Concat(Vec<Value>),
    Call(u32, usize, Vec<Value>, Option<Value>),
}

/// The facts known at a point of the program.
#[derive(Clone, Default)]
struct Known {
    expressions: HashMap<Expression, Value>,
    context: HashMap<ContextId, Value>,
    /// The elements of context arrays that have been read since the last write, by index.
    elements: HashMap<ArrayId, HashMap<Value, Value>>,
    /// Reads of the packet, also by calls, and of metadata that are still valid.
    reads: Vec<(Read, Access, Value)>,
}

#[derive(Clone, PartialEq, Eq)]
enum Read {
    Packet(Value, u32, u32),
    Meta(Meta),
    Call(Expression),
}

struct Share<'a> {
    packets: Packets<'a>,
    effects: &'a Effects,
    engine: EngineId,
    values: &'a [ValueInfo],
    /// The replacement of each value.
    same: Vec<Value>,
}

impl Share<'_> {
    fn block(&mut self, block: &mut Block, known: &mut Known) {
        block.ops.retain_mut(|op| self.keep(op, known));
    }

    fn keep(&mut self, op: &mut Op, known: &mut Known) -> bool {
        op.kind.for_each_operand_mut(|v| *v = self.same[v.index()]);
        if let Some(guard) = &mut op.guard {
            *guard = self.same[guard.index()];
        }
        if let OpKind::If { then, otherwise, .. } = &mut op.kind {
            let mut ends = Vec::new();
            for (block, yields) in [then, otherwise] {
                let mut inside = known.clone();
                self.block(block, &mut inside);
                yields.iter_mut().for_each(|v| *v = self.same[v.index()]);
                ends.push(inside);
            }
            // After the choice, a fact holds if it held before and still holds at the end of both
            // arms.
            known.context.retain(|id, v| ends.iter().all(|e| e.context.get(id) == Some(v)));
            known.elements.clear();
            known.reads.retain(|(r, _, v)| {
                ends.iter().all(|e| e.reads.iter().any(|x| x.0 == *r && x.2 == *v))
            });
            return true;
        }
        let found = self.find(op, known);
        if let (Some(found), [result]) = (found, &op.results[..]) {
            self.same[result.index()] = found;
            return false;
        }
        self.invalidate(op, known);
        true
    }

    /// Returns the value of an earlier operation that computes the same. If there is none, records
    /// this operation.
    fn find(&self, op: &Op, known: &mut Known) -> Option<Value> {
        let [result] = op.results[..] else { return None };
        if let OpKind::ReadContext(id) = op.kind {
            return known
                .context
                .insert(id, *known.context.get(&id).unwrap_or(&result))
                .filter(|v| *v != result);
        }
        if let OpKind::ReadElement { array, index } = op.kind {
            let elements = known.elements.entry(array).or_default();
            let first = *elements.entry(index).or_insert(result);
            return (first != result).then_some(first);
        }
        let read = match op.kind {
            OpKind::ReadPacket { base, bit } => {
                Some(Read::Packet(base, bit, self.values[result.index()].width))
            }
            OpKind::ReadMeta(meta) => Some(Read::Meta(meta)),
            OpKind::Call { offload, method, ref args } => {
                let call = self.effects.call(self.engine, offload, method);
                (call.is_pure && call.reads_packet && !call.has_effect).then(|| {
                    Read::Call(Expression::Call(offload.0, method, args.clone(), op.guard))
                })
            }
            _ => None,
        };
        if let Some(read) = read {
            let before = known.reads.iter().find(|(r, _, _)| *r == read).map(|(_, _, v)| *v);
            if before.is_none() {
                known.reads.push((read, self.packets.access(op), result));
            }
            return before;
        }
        let expression = self.expression(op, result)?;
        match known.expressions.entry(expression) {
            std::collections::hash_map::Entry::Occupied(entry) => Some(*entry.get()),
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert(result);
                None
            }
        }
    }

    fn expression(&self, op: &Op, result: Value) -> Option<Expression> {
        let width = self.values[result.index()].width;
        Some(match &op.kind {
            OpKind::Const(bits) => Expression::Const(bits.clone()),
            OpKind::Unary(unary, a) => Expression::Unary(*unary, *a),
            OpKind::Binary(binary, a, b) => {
                let (a, b) = if binary.commutes() && b < a { (*b, *a) } else { (*a, *b) };
                Expression::Binary(*binary, a, b)
            }
            OpKind::Select(a, b, c) => Expression::Select(*a, *b, *c),
            OpKind::Extend(a) => Expression::Extend(*a, width),
            OpKind::Slice(a, lo) => Expression::Slice(*a, *lo, width),
            OpKind::Concat(parts) => Expression::Concat(parts.clone()),
            OpKind::Table { elements, index } => Expression::Table(Arc::clone(elements), *index),
            OpKind::Evaluate { offload, method, args } => {
                Expression::Call(offload.0, *method, args.clone(), None)
            }
            OpKind::Call { offload, method, args } => {
                let call = self.effects.call(self.engine, *offload, *method);
                if !call.is_pure || call.reads_packet {
                    return None;
                }
                Expression::Call(offload.0, *method, args.clone(), op.guard)
            }
            _ => return None,
        })
    }

    /// Forgets the facts that the operation changes.
    fn invalidate(&self, op: &Op, known: &mut Known) {
        if let OpKind::WriteContext(id, value) = op.kind {
            if op.guard.is_none() {
                known.context.insert(id, value);
            } else if known.context.get(&id) != Some(&value) {
                known.context.remove(&id);
            }
        }
        if let OpKind::WriteElement { array, .. } = op.kind {
            known.elements.remove(&array);
        }
        let access = self.packets.access(op);
        if access.writes() {
            known.reads.retain(|(_, read, _)| !access.conflicts(read));
        }
    }
}
