//! Constant folding, propagation and algebraic simplification.
//!
//! ```text
//! %1:u16 = const 14                         %1:u16 = const 14
//! %2:u16 = const 20                         %3:u16 = const 34
//! %3:u16 = add %1, %2                  =>   %4:u8 = packet.read %3 + 0
//! %4:u8 = packet.read %3 + 0                context.write x, %4
//! %5:u1 = eq %4, %4                         finish
//! %6:u8 = select %5, %4, %7
//! context.write x, %6
//! finish when %5
//! ```
//!
//! Each round walks the operations in order, so that operands are simplified before their users.
//! Rounds repeat until nothing changes, since one rule may enable another. The pass also folds
//! decided guards and choices, and reads of context variables that are certainly still zero. Unused
//! operations are left to `dce`. The module [`rules`] has the identities.

mod rules;

use wireloom_bits::Bits;
use wireloom_ir::{
    Block, Code, ContextId, Engine, EngineKind, Loc, Op, OpKind, Program, Step, Value, ValueInfo,
};

use super::PassOptions;
use crate::analysis::is_pure;
use crate::analysis::liveness::{self, ContextSet};
use crate::eval;

/// Rules never undo each other, so a few rounds suffice. This bound is for safety only.
const MAX_ROUNDS: usize = 16;

/// Runs over every engine.
pub fn run(program: &mut Program, _: &PassOptions) {
    for engine in &mut program.engines {
        for _ in 0..MAX_ROUNDS {
            let zero = zeros(engine);
            let mut changed = false;
            for (step, zero) in engine.steps.iter_mut().zip(zero) {
                changed |= fold(step, zero);
            }
            if !changed {
                break;
            }
        }
    }
}

/// Returns for each step the context variables that are certainly zero at its beginning: only zero
/// was written to them.
fn zeros(engine: &Engine) -> Vec<ContextSet> {
    let mut never = ContextSet::empty(engine.context.len());
    (0..engine.context.len() as u32).for_each(|i| never.insert(ContextId(i)));
    if let EngineKind::Call { params, .. } = &engine.kind {
        params.iter().for_each(|p| never.remove(*p));
    }
    for step in &engine.steps {
        let mut is_zero = vec![false; step.values.len()];
        step.for_each_op(|op| match &op.kind {
            OpKind::Const(bits) if bits.is_zero() => is_zero[op.results[0].index()] = true,
            OpKind::WriteContext(id, value) if !is_zero[value.index()] => never.remove(*id),
            _ => {}
        });
    }
    liveness::written(engine)
        .into_iter()
        .map(|written| {
            let mut zero = never.clone();
            (0..engine.context.len() as u32)
                .map(ContextId)
                .filter(|id| !written.contains(*id))
                .for_each(|id| zero.insert(id));
            zero
        })
        .collect()
}

/// The simpler form of an operation.
enum Simpler {
    /// An existing value.
    Is(Value),
    /// A constant.
    Constant(Bits),
    /// Another operation with the same result.
    Becomes(OpKind),
}

struct Folder<'a> {
    values: &'a mut Vec<ValueInfo>,
    /// The replacement of each value.
    same: Vec<Value>,
    /// The pure operation that defines each value.
    kinds: Vec<Option<OpKind>>,
    /// Context variables that are certainly zero at this point.
    zero: ContextSet,
    /// New operations to insert before the current one.
    ahead: Vec<Op>,
    loc: Loc,
    changed: bool,
}

fn fold(step: &mut Step, zero: ContextSet) -> bool {
    let count = step.values.len();
    let mut folder = Folder {
        values: &mut step.values,
        same: (0..count as u32).map(Value).collect(),
        kinds: vec![None; count],
        zero,
        ahead: Vec::new(),
        loc: Loc::default(),
        changed: false,
    };
    for block in step.code.blocks_mut() {
        folder.block(block);
    }
    folder.changed |= decide_exits(&mut step.code, &folder.kinds);
    folder.changed
}

impl Folder<'_> {
    fn width(&self, value: Value) -> u32 {
        self.values[value.index()].width
    }

    fn kind(&self, value: Value) -> Option<&OpKind> {
        self.kinds[value.index()].as_ref()
    }

    fn constant(&self, value: Value) -> Option<&Bits> {
        match self.kind(value)? {
            OpKind::Const(bits) => Some(bits),
            _ => None,
        }
    }

    /// Adds a new operation before the current one.
    fn new_op(&mut self, width: u32, kind: OpKind) -> Value {
        let value = Value(self.values.len() as u32);
        self.values.push(ValueInfo { width, name: None });
        self.same.push(value);
        self.kinds.push(Some(kind.clone()));
        self.ahead.push(Op { kind, results: vec![value], guard: None, loc: self.loc });
        value
    }

    fn block(&mut self, block: &mut Block) {
        let mut out = Vec::with_capacity(block.ops.len());
        for op in std::mem::take(&mut block.ops) {
            self.op(op, &mut out);
        }
        block.ops = out;
    }

    fn op(&mut self, mut op: Op, out: &mut Vec<Op>) {
        self.loc = op.loc;
        op.kind.for_each_operand_mut(|v| *v = self.same[v.index()]);
        if let Some(guard) = op.guard {
            let guard = self.same[guard.index()];
            op.guard = Some(guard);
            if let Some(never) = self.constant(guard).map(Bits::is_zero) {
                self.changed = true;
                if never {
                    // The operation never happens, so its results are zero.
                    for result in &op.results {
                        let width = self.width(*result);
                        let zero = self.new_op(width, OpKind::Const(Bits::zero(width)));
                        self.same[result.index()] = zero;
                    }
                    out.append(&mut self.ahead);
                    return;
                }
                op.guard = None;
            }
        }
        match &mut op.kind {
            OpKind::If { condition, then, otherwise } => {
                let decided = self.constant(*condition).map(|c| !c.is_zero());
                if let Some(taken) = decided {
                    self.changed = true;
                    let (block, yields) = if taken { then } else { otherwise };
                    for inner in std::mem::take(&mut block.ops) {
                        self.op(inner, out);
                    }
                    for (result, value) in op.results.iter().zip(yields) {
                        self.same[result.index()] = self.same[value.index()];
                    }
                    return;
                }
                for (block, yields) in [then, otherwise] {
                    self.block(block);
                    yields.iter_mut().for_each(|v| *v = self.same[v.index()]);
                }
            }
            OpKind::ReadContext(id) if self.zero.contains(*id) => {
                self.changed = true;
                op.kind = OpKind::Const(Bits::zero(self.width(op.results[0])));
                self.kinds[op.results[0].index()] = Some(op.kind.clone());
            }
            OpKind::WriteContext(id, value) => {
                let stays =
                    self.zero.contains(*id) && self.constant(*value).is_some_and(Bits::is_zero);
                self.zero.set(*id, stays);
            }
            kind if is_pure(kind) => {
                let result = op.results[0];
                match self.simplify(&op.kind, result) {
                    Some(Simpler::Is(value)) => {
                        self.changed = true;
                        self.same[result.index()] = value;
                        out.append(&mut self.ahead);
                        return;
                    }
                    Some(Simpler::Constant(bits)) => {
                        self.changed = true;
                        op.kind = OpKind::Const(bits);
                    }
                    Some(Simpler::Becomes(kind)) => {
                        self.changed = true;
                        op.kind = kind;
                    }
                    None => {}
                }
                self.kinds[result.index()] = Some(op.kind.clone());
            }
            _ => {}
        }
        out.append(&mut self.ahead);
        out.push(op);
    }

    fn simplify(&mut self, kind: &OpKind, result: Value) -> Option<Simpler> {
        if matches!(kind, OpKind::Const(_)) {
            return None;
        }
        let width = self.width(result);
        if let Some(bits) = eval::pure(kind, width, |v| self.constant(v)) {
            return Some(Simpler::Constant(bits));
        }
        rules::simplify(self, kind, width)
    }
}

/// Simplifies exits. Exactly one exit of a jump happens, and so does exactly one exit of flat code
/// if all have guards. A single exit therefore always happens, and exits with the same effect need
/// no distinction. Nothing happens after an exit that is always taken.
fn decide_exits(code: &mut Code, kinds: &[Option<OpKind>]) -> bool {
    let is_exit = |op: &Op| matches!(op.kind, OpKind::Exit(_));
    let (block, is_jump) = match code {
        Code::Sequential(block) => (block, false),
        Code::Regions { jump, .. } => (jump, true),
    };
    if block.ops.iter().any(|op| matches!(op.kind, OpKind::If { .. })) {
        return false;
    }
    let always = |op: &Op| {
        op.guard.is_none_or(
            |g| matches!(&kinds[g.index()], Some(OpKind::Const(bits)) if !bits.is_zero()),
        )
    };
    let before = block.ops.len();
    if let Some(first) = block.ops.iter().position(|op| is_exit(op) && always(op)) {
        block.ops[first].guard = None;
        block.ops.truncate(first + 1);
        if is_jump {
            let mut index = 0;
            block.ops.retain(|op| {
                index += 1;
                !is_exit(op) || index == first + 1
            });
        }
    }
    let mut changed = block.ops.len() != before;
    let exits: Vec<usize> = (0..block.ops.len()).filter(|i| is_exit(&block.ops[*i])).collect();
    let exclusive = is_jump || exits.iter().all(|i| block.ops[*i].guard.is_some());
    let Some((&last, others)) = exits.split_last() else { return changed };
    let same = others.iter().all(|i| block.ops[*i].kind == block.ops[last].kind);
    if exclusive && same {
        changed |= block.ops[last].guard.take().is_some() || !others.is_empty();
        let mut index = 0;
        block.ops.retain(|op| {
            index += 1;
            !is_exit(op) || index == last + 1
        });
    }
    changed
}
