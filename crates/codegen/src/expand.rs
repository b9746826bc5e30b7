//! Expands operators that a target lacks into operators that every target has: bit counts, minimum
//! and maximum.

use std::borrow::Cow;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Block, Op, OpKind, Program, UnaryOp, Value, ValueInfo};

/// Returns the program without `popcount`, `clz`, `umin` and `umax`.
pub fn expanded(program: &Program) -> Cow<'_, Program> {
    let mut has_any = false;
    for step in program.engines.iter().flat_map(|engine| &engine.steps) {
        step.for_each_op(|op| has_any |= is_expanded(op));
    }
    if !has_any {
        return Cow::Borrowed(program);
    }
    let mut program = program.clone();
    for step in program.engines.iter_mut().flat_map(|engine| &mut engine.steps) {
        for block in step.code.blocks_mut() {
            expand_block(block, &mut step.values);
        }
    }
    Cow::Owned(program)
}

/// Whether an operation is `popcount`, `clz`, `umin` or `umax`.
fn is_expanded(op: &Op) -> bool {
    matches!(
        op.kind,
        OpKind::Unary(UnaryOp::Popcount | UnaryOp::Clz, _)
            | OpKind::Binary(BinaryOp::Umin | BinaryOp::Umax, ..)
    )
}

fn expand_block(block: &mut Block, values: &mut Vec<ValueInfo>) {
    let mut out = Vec::with_capacity(block.ops.len());
    for mut op in std::mem::take(&mut block.ops) {
        let mut before = Before { values, out: &mut out, like: &op };
        let kind = match op.kind {
            OpKind::Unary(UnaryOp::Popcount, a) => Some(before.popcount(a)),
            OpKind::Unary(UnaryOp::Clz, a) => Some(before.clz(a)),
            OpKind::Binary(BinaryOp::Umin, a, b) => {
                let is_less = before.op(1, OpKind::Binary(BinaryOp::Ult, a, b));
                Some(OpKind::Select(is_less, a, b))
            }
            OpKind::Binary(BinaryOp::Umax, a, b) => {
                let is_less = before.op(1, OpKind::Binary(BinaryOp::Ult, a, b));
                Some(OpKind::Select(is_less, b, a))
            }
            _ => None,
        };
        if let Some(kind) = kind {
            op.kind = kind;
        } else if let OpKind::If { then, otherwise, .. } = &mut op.kind {
            expand_block(&mut then.0, values);
            expand_block(&mut otherwise.0, values);
        }
        out.push(op);
    }
    block.ops = out;
}

/// Emits operations before the operation that is expanded.
struct Before<'a> {
    values: &'a mut Vec<ValueInfo>,
    out: &'a mut Vec<Op>,
    like: &'a Op,
}

impl Before<'_> {
    fn width(&self, value: Value) -> u32 {
        self.values[value.index()].width
    }

    fn op(&mut self, width: u32, kind: OpKind) -> Value {
        let value = Value(self.values.len() as u32);
        self.values.push(ValueInfo { width, name: None });
        self.out.push(Op { kind, results: vec![value], guard: None, loc: self.like.loc });
        value
    }

    fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        self.op(self.width(a), OpKind::Binary(op, a, b))
    }

    fn shifted(&mut self, a: Value, by: u32) -> Value {
        let by = self.op(32, OpKind::Const(Bits::new(32, by.into())));
        self.binary(BinaryOp::Lshr, a, by)
    }

    /// Adds neighbouring fields in place: fields of one bit, then of two, of four, and so on.
    fn popcount(&mut self, a: Value) -> OpKind {
        let width = self.width(a);
        let mut sum = OpKind::Binary(BinaryOp::Or, a, a);
        let (mut fields, mut size) = (a, 1);
        while size < width {
            let mut bits = Bits::zero(width);
            for bit in (0..width).filter(|bit| bit / size % 2 == 0) {
                bits = bits.with_slice(bit, &Bits::bool(true));
            }
            let mask = self.op(width, OpKind::Const(bits));
            let even = self.binary(BinaryOp::And, fields, mask);
            let odd = self.shifted(fields, size);
            let odd = self.binary(BinaryOp::And, odd, mask);
            sum = OpKind::Binary(BinaryOp::Add, even, odd);
            size *= 2;
            if size < width {
                fields = self.op(width, sum.clone());
            }
        }
        sum
    }

    /// Counts the zeros above the highest 1. They are the bits that remain zero after each 1 is
    /// copied to all positions below it.
    fn clz(&mut self, a: Value) -> OpKind {
        let width = self.width(a);
        let (mut filled, mut by) = (a, 1);
        while by < width {
            let below = self.shifted(filled, by);
            filled = self.binary(BinaryOp::Or, filled, below);
            by *= 2;
        }
        let above = self.op(width, OpKind::Unary(UnaryOp::Not, filled));
        self.popcount(above)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the first result of the last operation. `operands` are the first values.
    fn evaluate(ops: &[Op], values: usize, operands: &[Bits]) -> Bits {
        let mut known: Vec<Option<Bits>> = vec![None; values];
        known[..operands.len()].iter_mut().zip(operands).for_each(|(to, bits)| {
            *to = Some(bits.clone());
        });
        for op in ops {
            let of = |value: &Value| known[value.index()].clone().expect("defined before");
            let result = match &op.kind {
                OpKind::Const(bits) => bits.clone(),
                OpKind::Unary(op, a) => op.apply(&of(a)),
                OpKind::Binary(op, a, b) => op.apply(&of(a), &of(b)),
                OpKind::Select(c, a, b) => {
                    if of(c).is_zero() {
                        of(b)
                    } else {
                        of(a)
                    }
                }
                other => panic!("{other:?}"),
            };
            known[op.results[0].index()] = Some(result);
        }
        let last = ops.last().expect("an operation");
        known[last.results[0].index()].clone().expect("it has a result")
    }

    /// Zero, one, all ones, a single high bit, and some patterns.
    fn samples(width: u32) -> Vec<Bits> {
        let pattern = |step: u32| {
            (0..width)
                .filter(|bit| bit % step == step / 2)
                .fold(Bits::zero(width), |all, bit| all.with_slice(bit, &Bits::bool(true)))
        };
        let one = Bits::new(width, 1);
        let high = one.shl(width - 1);
        let mut all = vec![Bits::zero(width), one, Bits::ones(width), high];
        all.extend([2, 3, 5, 7, 11].map(pattern));
        all
    }

    #[test]
    fn expanded_operators_have_the_same_results() {
        for width in [1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 32, 33, 48, 64, 65, 128, 129, 200] {
            let values = |count: u32| -> Vec<ValueInfo> {
                (0..count).map(|_| ValueInfo { width, name: None }).collect()
            };
            let expand = |kind: OpKind, operands: u32| {
                let mut values = values(operands + 1);
                let op = Op {
                    kind,
                    results: vec![Value(operands)],
                    guard: None,
                    loc: Default::default(),
                };
                let mut block = Block { ops: vec![op] };
                expand_block(&mut block, &mut values);
                assert!(!block.ops.iter().any(is_expanded));
                (block.ops, values.len())
            };
            for op in [UnaryOp::Popcount, UnaryOp::Clz] {
                let (ops, count) = expand(OpKind::Unary(op, Value(0)), 1);
                for a in samples(width) {
                    assert_eq!(
                        evaluate(&ops, count, std::slice::from_ref(&a)),
                        op.apply(&a),
                        "{op:?} {a:?}"
                    );
                }
            }
            for op in [BinaryOp::Umin, BinaryOp::Umax] {
                let (ops, count) = expand(OpKind::Binary(op, Value(0), Value(1)), 2);
                for a in samples(width) {
                    for b in samples(width) {
                        let got = evaluate(&ops, count, &[a.clone(), b.clone()]);
                        assert_eq!(got, op.apply(&a, &b), "{op:?} {a:?} {b:?}");
                    }
                }
            }
        }
    }
}
