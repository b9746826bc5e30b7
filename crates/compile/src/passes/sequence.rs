//! A run of flat operations that replaces one operation in a pass.

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Loc, Op, OpKind, Value, ValueInfo};

pub struct Sequence<'a> {
    /// The values of the step, with new ones at the end.
    pub values: &'a mut Vec<ValueInfo>,
    /// The operations, in order.
    pub ops: Vec<Op>,
    /// The source position of new operations.
    pub loc: Loc,
}

impl Sequence<'_> {
    /// Returns the width of a value in bits.
    pub fn width(&self, value: Value) -> u32 {
        self.values[value.index()].width
    }

    /// Creates a value that no operation defines yet.
    pub fn new_value(&mut self, width: u32) -> Value {
        self.values.push(ValueInfo { width, name: None });
        Value((self.values.len() - 1) as u32)
    }

    /// Appends a pure operation.
    pub fn op(&mut self, width: u32, kind: OpKind) -> Value {
        let value = self.new_value(width);
        self.effect(kind, vec![value], None);
        value
    }

    /// Appends an operation with these results, under a guard.
    pub fn effect(&mut self, kind: OpKind, results: Vec<Value>, guard: Option<Value>) {
        self.ops.push(Op { kind, results, guard, loc: self.loc });
    }

    /// Appends a constant.
    pub fn number(&mut self, width: u32, number: u32) -> Value {
        self.op(width, OpKind::Const(Bits::new(width, u128::from(number))))
    }

    /// Appends a binary operation.
    pub fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        let width = if op.is_comparison() { 1 } else { self.width(a) };
        self.op(width, OpKind::Binary(op, a, b))
    }

    /// Appends a slice: `width` bits of a value, from bit `low` on.
    pub fn slice(&mut self, value: Value, low: u32, width: u32) -> Value {
        self.op(width, OpKind::Slice(value, low))
    }

    /// Appends a zero-extension.
    pub fn extend(&mut self, value: Value, width: u32) -> Value {
        self.op(width, OpKind::Extend(value))
    }

    /// Appends a select: the first value if the condition is 1, else the second.
    pub fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        let width = self.width(a);
        self.op(width, OpKind::Select(condition, a, b))
    }

    /// Writes a field byte by byte under a condition: byte `i` goes to byte `at + i` after `base`
    /// if `first + i` is below `count`.
    pub fn write_bytes(
        &mut self,
        field: Value,
        (base, at): (Value, u32),
        (first, count): (u32, Value),
        condition: Value,
    ) {
        let bytes = self.width(field) / 8;
        for byte in 0..bytes {
            let number = self.number(16, first + byte);
            let counts = self.binary(BinaryOp::Ult, number, count);
            let guard = self.binary(BinaryOp::And, condition, counts);
            let value = self.slice(field, 8 * (bytes - 1 - byte), 8);
            let kind = OpKind::WritePacket { base, bit: 8 * (at + byte), value };
            self.effect(kind, Vec::new(), Some(guard));
        }
    }
}
