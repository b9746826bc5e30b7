//! Bit-width narrowing: computes only the bits that can vary and that are used.
//!
//! ```text
//! %1:u32 = extend %0            (u8)        %5:u9 = extend %0
//! %2:u32 = extend %9            (u8)        %6:u9 = extend %9
//! %3:u32 = add %1, %2                  =>   %7:u9 = add %5, %6
//! %4:u16 = slice %3 from 0                  %4:u16 = extend %7
//! context.write sum, %4                     context.write sum, %4
//! ```
//!
//! A forward analysis finds the bits that are certain
//! ([`known_bits`](crate::analysis::known_bits)). A backward analysis finds the bits that some
//! effect depends on. Each operation is then done at the remaining width. A header field is read
//! only as far as it is used. A context variable is kept only as wide as the values that are
//! written to it. Slices and extensions appear at the edges of narrowed code; `fold` combines them.

use wireloom_bits::Bits;
use wireloom_ir::{
    BinaryOp, Block, Code, Engine, EngineKind, Op, OpKind, Program, Step, UnaryOp, Value, ValueInfo,
};

use super::PassOptions;
use crate::analysis::context::KnownContext;
use crate::analysis::known_bits::Known;
use crate::analysis::{Definitions, is_pure};

/// Runs over every engine.
pub fn run(program: &mut Program, _: &PassOptions) {
    for engine in &mut program.engines {
        narrow_engine(engine);
    }
}

fn narrow_engine(engine: &mut Engine) {
    let context = KnownContext::of(engine);
    let known = context.values(engine);
    let demanded: Vec<Vec<Bits>> = engine.steps.iter().map(demanded_bits).collect();
    let widths = context_widths(engine, context.ever(), &demanded);
    for ((step, known), demanded) in engine.steps.iter_mut().zip(known).zip(demanded) {
        let blocks = std::mem::replace(&mut step.code, Code::Sequential(Block::default()));
        let mut narrower = Narrower { values: &mut step.values, known, demanded, context: &widths };
        step.code = match blocks {
            Code::Sequential(block) => Code::Sequential(narrower.block(block)),
            Code::Regions { request, edit, jump } => Code::Regions {
                request: narrower.block(request),
                edit: narrower.block(edit),
                jump: narrower.block(jump),
            },
        };
    }
    for (var, width) in engine.context.iter_mut().zip(widths) {
        var.width = width;
    }
}

/// Returns the required width of each context variable. Parameters keep the width that callers
/// know.
fn context_widths(engine: &Engine, known: &[Known], demanded: &[Vec<Bits>]) -> Vec<u32> {
    let mut looked_at = vec![0; engine.context.len()];
    for (step, demanded) in engine.steps.iter().zip(demanded) {
        step.for_each_op(|op| {
            if let OpKind::ReadContext(id) = op.kind {
                let bits = demanded[op.results[0].index()].significant();
                looked_at[id.index()] = bits.max(looked_at[id.index()]);
            }
        });
    }
    let mut widths: Vec<u32> = looked_at
        .iter()
        .zip(known)
        .map(|(bits, known)| known.significant().min(*bits).max(1))
        .collect();
    if let EngineKind::Call { params, .. } = &engine.kind {
        for p in params {
            widths[p.index()] = engine.context[p.index()].width;
        }
    }
    widths
}

/// Returns for each value of a step the bits that some effect depends on.
fn demanded_bits(step: &Step) -> Vec<Bits> {
    let definitions = Definitions::of(step);
    let mut demand = Demand(step.values.iter().map(|v| Bits::zero(v.width)).collect());
    let blocks: Vec<&Block> = step.code.blocks().collect();
    for block in blocks.into_iter().rev() {
        demand_of_block(block, &definitions, &mut demand);
    }
    demand.0
}

/// The bits of each value that some effect depends on.
struct Demand(Vec<Bits>);

impl Demand {
    fn of(&self, value: Value) -> Bits {
        self.0[value.index()].clone()
    }

    /// Demands bits of a value. Bits past its width are ignored.
    fn add(&mut self, value: Value, bits: &Bits) {
        let demand = &mut self.0[value.index()];
        *demand = demand.or(&bits.resize(demand.width()));
    }

    fn all(&mut self, value: Value) {
        let demand = &mut self.0[value.index()];
        *demand = Bits::ones(demand.width());
    }
}

fn demand_of_block(block: &Block, definitions: &Definitions<'_>, demand: &mut Demand) {
    for op in block.ops.iter().rev() {
        if let Some(guard) = op.guard {
            demand.all(guard);
        }
        if let OpKind::If { condition, then, otherwise } = &op.kind {
            demand.all(*condition);
            for (i, result) in op.results.iter().enumerate() {
                let wanted = demand.of(*result);
                demand.add(then.1[i], &wanted);
                demand.add(otherwise.1[i], &wanted);
            }
            demand_of_block(&otherwise.0, definitions, demand);
            demand_of_block(&then.0, definitions, demand);
            continue;
        }
        if !is_pure(&op.kind) {
            op.kind.for_each_operand(|v| demand.all(v));
            continue;
        }
        let wanted = demand.of(op.results[0]);
        if wanted.is_zero() {
            continue;
        }
        // Carries come from below. So all bits up to the highest wanted one count.
        let below = || Bits::ones(wanted.width()).lshr(wanted.width() - wanted.significant());
        match &op.kind {
            OpKind::Unary(UnaryOp::Not, a) => demand.add(*a, &wanted),
            OpKind::Unary(UnaryOp::Neg, a) => demand.add(*a, &below()),
            OpKind::Unary(UnaryOp::Popcount | UnaryOp::Clz, a) => demand.all(*a),
            OpKind::Binary(binary, a, b) => match binary {
                BinaryOp::Add | BinaryOp::Sub | BinaryOp::Mul => {
                    demand.add(*a, &below());
                    demand.add(*b, &below());
                }
                BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => {
                    // Only a constant mask relieves the other operand, since the mask does not
                    // change.
                    let masked = match (binary, definitions.constant(*b)) {
                        (BinaryOp::And, Some(mask)) => wanted.and(mask),
                        (BinaryOp::Or, Some(mask)) => wanted.and(&mask.not()),
                        _ => wanted.clone(),
                    };
                    demand.add(*a, &masked);
                    demand.add(*b, &wanted);
                }
                BinaryOp::Shl | BinaryOp::Lshr => {
                    demand.all(*b);
                    match definitions.constant(*b).map(Bits::to_shift) {
                        Some(count) if *binary == BinaryOp::Shl => {
                            demand.add(*a, &wanted.lshr(count))
                        }
                        Some(count) => demand.add(*a, &wanted.shl(count)),
                        None => demand.all(*a),
                    }
                }
                BinaryOp::Udiv
                | BinaryOp::Urem
                | BinaryOp::Eq
                | BinaryOp::Ne
                | BinaryOp::Ult
                | BinaryOp::Ule
                | BinaryOp::Umin
                | BinaryOp::Umax => {
                    demand.all(*a);
                    demand.all(*b);
                }
            },
            OpKind::Select(c, a, b) => {
                demand.all(*c);
                demand.add(*a, &wanted);
                demand.add(*b, &wanted);
            }
            OpKind::Extend(a) => demand.add(*a, &wanted),
            OpKind::Slice(a, lo) => {
                let width = definitions.width(*a);
                demand.add(*a, &wanted.resize(width).shl(*lo));
            }
            OpKind::Concat(parts) => {
                let mut lo = 0;
                for part in parts.iter().rev() {
                    let width = definitions.width(*part);
                    demand.add(*part, &wanted.slice(lo, width));
                    lo += width;
                }
            }
            OpKind::Table { index, .. } => demand.all(*index),
            OpKind::Evaluate { args, .. } => args.iter().for_each(|v| demand.all(*v)),
            _ => {}
        }
    }
}

struct Narrower<'a> {
    values: &'a mut Vec<ValueInfo>,
    known: Vec<Known>,
    demanded: Vec<Bits>,
    /// The new widths of the context variables.
    context: &'a [u32],
}

impl Narrower<'_> {
    fn width(&self, value: Value) -> u32 {
        self.values[value.index()].width
    }

    fn new_op(&mut self, out: &mut Vec<Op>, like: &Op, width: u32, kind: OpKind) -> Value {
        let value = Value(self.values.len() as u32);
        let name = like.results.first().and_then(|r| self.values[r.index()].name.clone());
        self.values.push(ValueInfo { width, name });
        out.push(Op { kind, results: vec![value], guard: None, loc: like.loc });
        value
    }

    /// Returns the low bits of a value.
    fn low(&mut self, out: &mut Vec<Op>, like: &Op, value: Value, width: u32) -> Value {
        if self.width(value) == width {
            return value;
        }
        self.new_op(out, like, width, OpKind::Slice(value, 0))
    }

    fn block(&mut self, block: Block) -> Block {
        let mut out = Vec::with_capacity(block.ops.len());
        for op in block.ops {
            let op = self.op(&mut out, op);
            out.push(op);
        }
        Block { ops: out }
    }

    /// Returns the operation that defines the same result, after inserting the operations that it
    /// needs before it.
    fn op(&mut self, out: &mut Vec<Op>, mut op: Op) -> Op {
        match &mut op.kind {
            OpKind::If { then, otherwise, .. } => {
                for arm in [then, otherwise] {
                    arm.0 = self.block(std::mem::take(&mut arm.0));
                }
                return op;
            }
            OpKind::WriteContext(id, value) => {
                let (width, wide) = (self.context[id.index()], *value);
                let like =
                    Op { kind: OpKind::Concat(vec![]), results: vec![], guard: None, loc: op.loc };
                *value = self.low(out, &like, wide, width);
                return op;
            }
            OpKind::Const(_) => return op,
            OpKind::Call { .. } => return op,
            _ => {}
        }
        let [result] = op.results[..] else { return op };
        let (known, demanded) =
            (self.known[result.index()].clone(), self.demanded[result.index()].clone());
        let width = self.width(result);
        if is_pure(&op.kind)
            && let Some(value) = known.value_in(&demanded)
        {
            op.kind = OpKind::Const(value);
            return op;
        }
        match op.kind {
            OpKind::ReadContext(id) if self.context[id.index()] < width => {
                let narrow = self.new_op(out, &op, self.context[id.index()], op.kind.clone());
                op.kind = OpKind::Extend(narrow);
            }
            OpKind::ReadPacket { base, bit } => self.field(out, &mut op, (base, bit), &demanded),
            OpKind::Binary(binary, a, b) if binary.is_comparison() => {
                let needed = self.significant(a).max(self.significant(b)).max(1);
                if needed < self.width(a) {
                    let a = self.low(out, &op, a, needed);
                    let b = self.low(out, &op, b, needed);
                    op.kind = OpKind::Binary(binary, a, b);
                }
            }
            OpKind::Binary(
                binary @ (BinaryOp::Urem | BinaryOp::Udiv | BinaryOp::Umin | BinaryOp::Umax),
                a,
                b,
            ) => {
                // At another width, a division by zero would have another result.
                let safe = binary != BinaryOp::Udiv || !self.known[b.index()].min().is_zero();
                let needed = self.significant(a).max(self.significant(b)).max(1);
                if safe && needed < width {
                    let a = self.low(out, &op, a, needed);
                    let b = self.low(out, &op, b, needed);
                    let narrow = self.new_op(out, &op, needed, OpKind::Binary(binary, a, b));
                    op.kind = OpKind::Extend(narrow);
                }
            }
            OpKind::Unary(UnaryOp::Popcount, a) => {
                let needed = self.significant(a).max(1);
                if needed < width {
                    let a = self.low(out, &op, a, needed);
                    let narrow = self.new_op(out, &op, needed, OpKind::Unary(UnaryOp::Popcount, a));
                    op.kind = OpKind::Extend(narrow);
                }
            }
            // The zeros above a narrower operand count as well.
            OpKind::Unary(UnaryOp::Clz, _) => {}
            OpKind::Binary(BinaryOp::Lshr, a, b) => {
                let needed = self.significant(a).max(1);
                if needed < width {
                    let a = self.low(out, &op, a, needed);
                    let narrow =
                        self.new_op(out, &op, needed, OpKind::Binary(BinaryOp::Lshr, a, b));
                    op.kind = OpKind::Extend(narrow);
                }
            }
            OpKind::Binary(..) | OpKind::Unary(..) | OpKind::Select(..) => {
                let needed = known.significant().min(demanded.significant());
                if needed > 0 && needed < width {
                    let kind = match op.kind {
                        OpKind::Binary(BinaryOp::Shl, a, count) => {
                            OpKind::Binary(BinaryOp::Shl, self.low(out, &op, a, needed), count)
                        }
                        OpKind::Binary(binary, a, b) => {
                            let a = self.low(out, &op, a, needed);
                            OpKind::Binary(binary, a, self.low(out, &op, b, needed))
                        }
                        OpKind::Select(c, a, b) => {
                            let a = self.low(out, &op, a, needed);
                            OpKind::Select(c, a, self.low(out, &op, b, needed))
                        }
                        OpKind::Unary(unary, a) => {
                            OpKind::Unary(unary, self.low(out, &op, a, needed))
                        }
                        _ => unreachable!("handled by the arms above"),
                    };
                    let narrow = self.new_op(out, &op, needed, kind);
                    op.kind = OpKind::Extend(narrow);
                }
            }
            _ => {}
        }
        op
    }

    fn significant(&self, value: Value) -> u32 {
        // A newly inserted slice is as wide as it needs to be.
        self.known.get(value.index()).map_or_else(|| self.width(value), Known::significant)
    }

    /// Reads only the used run of bits of a header field.
    fn field(
        &mut self,
        out: &mut Vec<Op>,
        op: &mut Op,
        (base, bit): (Value, u32),
        demanded: &Bits,
    ) {
        let width = demanded.width();
        let high = demanded.significant();
        let low = (0..high).find(|i| demanded.bit(*i)).unwrap_or(0);
        if high == 0 || (low == 0 && high == width) {
            return;
        }
        let kind = OpKind::ReadPacket { base, bit: bit + width - high };
        let mut part = self.new_op(out, op, high - low, kind);
        if low > 0 {
            let zeros = self.new_op(out, op, low, OpKind::Const(Bits::zero(low)));
            let joined = OpKind::Concat(vec![part, zeros]);
            if high == width {
                op.kind = joined;
                return;
            }
            part = self.new_op(out, op, high, joined);
        }
        op.kind = OpKind::Extend(part);
    }
}
