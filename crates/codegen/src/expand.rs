//! Expands what a target lacks into operations that every target has: bit counts, minimum and
//! maximum, and calls of some [kinds](crate::kinds).

use std::borrow::Cow;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Block, Offload, Op, OpKind, Program, UnaryOp, Value, ValueInfo};

use crate::kinds;

/// Returns the program without `popcount`, `clz`, `umin` and `umax`, and with operations in place of
/// calls.
pub fn expanded(program: &Program) -> Cow<'_, Program> {
    let mut has_any = false;
    for engine in &program.engines {
        for step in &engine.steps {
            step.for_each_op(|op| has_any |= is_expanded(op, &engine.offloads));
        }
    }
    if !has_any {
        return Cow::Borrowed(program);
    }
    let mut program = program.clone();
    for engine in &mut program.engines {
        for step in &mut engine.steps {
            for block in step.code.blocks_mut() {
                expand_block(block, &mut step.values, &engine.offloads);
            }
        }
    }
    Cow::Owned(program)
}

fn is_expanded(op: &Op, offloads: &[Offload]) -> bool {
    let is_operator = matches!(
        op.kind,
        OpKind::Unary(UnaryOp::Popcount | UnaryOp::Clz, _)
            | OpKind::Binary(BinaryOp::Umin | BinaryOp::Umax, ..)
    );
    is_operator || kinds::is_expanded(op, offloads)
}

fn expand_block(block: &mut Block, values: &mut Vec<ValueInfo>, offloads: &[Offload]) {
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
            OpKind::Call { .. } | OpKind::Evaluate { .. } => {
                kinds::expand(&mut before, &op, offloads)
            }
            _ => None,
        };
        if let Some(kind) = kind {
            op.kind = kind;
            op.guard = None;
        } else if let OpKind::If { then, otherwise, .. } = &mut op.kind {
            expand_block(&mut then.0, values, offloads);
            expand_block(&mut otherwise.0, values, offloads);
        }
        out.push(op);
    }
    block.ops = out;
}

/// Emits operations before the operation that is expanded.
pub(crate) struct Before<'a> {
    values: &'a mut Vec<ValueInfo>,
    out: &'a mut Vec<Op>,
    like: &'a Op,
}

impl Before<'_> {
    pub(crate) fn width(&self, value: Value) -> u32 {
        self.values[value.index()].width
    }

    pub(crate) fn op(&mut self, width: u32, kind: OpKind) -> Value {
        self.guarded(width, kind, None)
    }

    pub(crate) fn guarded(&mut self, width: u32, kind: OpKind, guard: Option<Value>) -> Value {
        let value = Value(self.values.len() as u32);
        self.values.push(ValueInfo { width, name: None });
        self.out.push(Op { kind, results: vec![value], guard, loc: self.like.loc });
        value
    }

    pub(crate) fn number(&mut self, width: u32, number: u128) -> Value {
        self.op(width, OpKind::Const(Bits::new(width, number)))
    }

    pub(crate) fn slice(&mut self, a: Value, lo: u32, width: u32) -> Value {
        if width == self.width(a) { a } else { self.op(width, OpKind::Slice(a, lo)) }
    }

    pub(crate) fn extend(&mut self, a: Value, width: u32) -> Value {
        if width == self.width(a) { a } else { self.op(width, OpKind::Extend(a)) }
    }

    /// Returns a value of 64 bits, rotated to the left.
    pub(crate) fn rotate(&mut self, a: Value, by: u32) -> Value {
        let parts = vec![self.slice(a, 0, 64 - by), self.slice(a, 64 - by, by)];
        self.op(64, OpKind::Concat(parts))
    }

    /// Returns the bytes of a value in network order. Zero bits pad the front to a whole byte.
    pub(crate) fn bytes(&mut self, a: Value) -> Vec<Value> {
        let count = self.width(a).div_ceil(8);
        let whole = self.extend(a, 8 * count);
        (0..count).rev().map(|byte| self.slice(whole, 8 * byte, 8)).collect()
    }

    /// Joins bytes in little-endian order: the first one becomes the least significant.
    pub(crate) fn little_endian(&mut self, bytes: &[Value]) -> Value {
        let parts = bytes.iter().rev().copied().collect();
        self.op(8 * bytes.len() as u32, OpKind::Concat(parts))
    }

    pub(crate) fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
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
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use wireloom_ir::{OffloadId, OffloadTarget};
    use wireloom_offloads::{Config, Layout, registry};

    /// Expands a call of the first method of a kind with a key of this width. Returns the declaration
    /// and the reply. `read` is the reply of the call that remains.
    pub(crate) fn expanded_call(
        kind: &str,
        key: u32,
        given: &[(&str, u64)],
        args: &[Bits],
        read: Option<Bits>,
    ) -> (Config, Bits) {
        let registered = registry::kind(kind).expect("a kind of the registry");
        let params: BTreeMap<String, Bits> = (registered.params.iter())
            .map(|param| {
                let given = given.iter().find(|(name, _)| *name == param.name);
                let value = given.map(|(_, value)| *value).or(param.default).expect("a value");
                (param.name.into(), Bits::new(64, value.into()))
            })
            .collect();
        let config =
            Config { kind: kind.into(), key: Some(Layout::scalar(key)), value: None, params };
        let offload = Offload { name: "x".into(), target: OffloadTarget::Kind(config.clone()) };
        let mut values: Vec<ValueInfo> =
            args.iter().map(|arg| ValueInfo { width: arg.width(), name: None }).collect();
        let result = Value(values.len() as u32);
        values.push(ValueInfo { width: 64, name: None });
        let operands = (0..result.0).map(Value).collect();
        let call = match read {
            Some(_) => OpKind::Call { offload: OffloadId(0), method: 0, args: operands },
            None => OpKind::Evaluate { offload: OffloadId(0), method: 0, args: operands },
        };
        let op = Op { kind: call, results: vec![result], guard: None, loc: Default::default() };
        let mut block = Block { ops: vec![op] };
        expand_block(&mut block, &mut values, &[offload]);
        let reply = evaluate(&block.ops, &values, args, read.as_ref());
        (config, reply)
    }

    /// Returns the first result of the last operation. `operands` are the first values.
    fn evaluate(ops: &[Op], values: &[ValueInfo], operands: &[Bits], read: Option<&Bits>) -> Bits {
        let mut known: Vec<Option<Bits>> = vec![None; values.len()];
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
                OpKind::Slice(a, lo) => of(a).slice(*lo, values[op.results[0].index()].width),
                OpKind::Extend(a) => of(a).resize(values[op.results[0].index()].width),
                OpKind::Concat(parts) => {
                    let parts = parts.iter().map(of);
                    parts.reduce(|high, low| high.concat(&low)).expect("there are parts")
                }
                OpKind::Table { elements, index } => elements[of(index).low_u64() as usize].clone(),
                OpKind::Call { .. } => read.expect("a call remains").clone(),
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
                expand_block(&mut block, &mut values, &[]);
                assert!(!block.ops.iter().any(|op| is_expanded(op, &[])));
                (block.ops, values)
            };
            for op in [UnaryOp::Popcount, UnaryOp::Clz] {
                let (ops, values) = expand(OpKind::Unary(op, Value(0)), 1);
                for a in samples(width) {
                    assert_eq!(
                        evaluate(&ops, &values, std::slice::from_ref(&a), None),
                        op.apply(&a),
                        "{op:?} {a:?}"
                    );
                }
            }
            for op in [BinaryOp::Umin, BinaryOp::Umax] {
                let (ops, values) = expand(OpKind::Binary(op, Value(0), Value(1)), 2);
                for a in samples(width) {
                    for b in samples(width) {
                        let got = evaluate(&ops, &values, &[a.clone(), b.clone()], None);
                        assert_eq!(got, op.apply(&a, &b), "{op:?} {a:?} {b:?}");
                    }
                }
            }
        }
    }
}
