//! Emits the operations of one step.

use wireloom_bits::Bits;

use wireloom_ir::{BinaryOp, Block, Exit, Loc, Op, OpKind, UnaryOp, Value, ValueInfo};

use crate::eval;

/// The step under construction: its values, and the open blocks, innermost last.
pub struct Builder {
    pub values: Vec<ValueInfo>,
    blocks: Vec<Block>,
    constants: Vec<Option<Bits>>,
    /// The source position of the operations that are emitted next.
    pub loc: Loc,
}

impl Builder {
    /// Creates an empty step.
    pub fn new() -> Self {
        Self {
            values: Vec::new(),
            blocks: vec![Block::default()],
            constants: Vec::new(),
            loc: Loc::default(),
        }
    }

    /// Opens a nested block.
    pub fn open(&mut self) {
        self.blocks.push(Block::default());
    }

    /// Opens a closed block again.
    pub fn reopen(&mut self, block: Block) {
        self.blocks.push(block);
    }

    /// Closes the innermost block.
    pub fn close(&mut self) -> Block {
        self.blocks.pop().expect("a block is open")
    }

    /// Returns the width of a value in bits.
    pub fn width(&self, value: Value) -> u32 {
        self.values[value.index()].width
    }

    /// Returns the constant of a value, if it is constant.
    pub fn as_constant(&self, value: Value) -> Option<&Bits> {
        self.constants[value.index()].as_ref()
    }

    /// Names a value that has no name yet.
    pub fn name(&mut self, value: Value, name: &str) {
        self.values[value.index()].name.get_or_insert_with(|| name.to_owned());
    }

    /// Creates a value for an operation that is emitted later.
    pub fn fresh(&mut self, width: u32) -> Value {
        self.values.push(ValueInfo { width, name: None });
        self.constants.push(None);
        Value(self.values.len() as u32 - 1)
    }

    /// Emits an operation without a result.
    pub fn effect(&mut self, kind: OpKind) {
        self.push(kind, Vec::new());
    }

    /// Emits an operation with one result. If its operands are constants, the result becomes a
    /// constant. So unrolled loops leave no choices that were decided at compile time.
    pub fn value(&mut self, width: u32, kind: OpKind) -> Value {
        let known = eval::pure(&kind, width, |v| self.as_constant(v));
        let result = self.fresh(width);
        self.constants[result.index()].clone_from(&known);
        let kind = known.map_or(kind, OpKind::Const);
        self.push(kind, vec![result]);
        result
    }

    fn push(&mut self, kind: OpKind, results: Vec<Value>) {
        let op = Op { kind, results, guard: None, loc: self.loc };
        self.blocks.last_mut().expect("a block is open").ops.push(op);
    }

    /// Emits a constant.
    pub fn constant(&mut self, bits: Bits) -> Value {
        self.value(bits.width(), OpKind::Const(bits))
    }

    /// Emits a constant that fits in 128 bits.
    pub fn number(&mut self, width: u32, number: u128) -> Value {
        self.constant(Bits::new(width, number))
    }

    /// Emits a unary operator.
    pub fn unary(&mut self, op: UnaryOp, a: Value) -> Value {
        self.value(self.width(a), OpKind::Unary(op, a))
    }

    /// Emits a binary operator.
    pub fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        let width = if op.is_comparison() { 1 } else { self.width(a) };
        self.value(width, OpKind::Binary(op, a, b))
    }

    /// Emits `condition ? a : b`.
    pub fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        if a == b { a } else { self.value(self.width(a), OpKind::Select(condition, a, b)) }
    }

    /// Emits a slice of bits `lo .. lo + width`.
    pub fn slice(&mut self, a: Value, lo: u32, width: u32) -> Value {
        if lo == 0 && width == self.width(a) { a } else { self.value(width, OpKind::Slice(a, lo)) }
    }

    /// Zero-extends or truncates a value to a width.
    pub fn resize(&mut self, a: Value, width: u32) -> Value {
        if width > self.width(a) {
            self.value(width, OpKind::Extend(a))
        } else {
            self.slice(a, 0, width)
        }
    }

    /// Emits a concatenation, the first part most significant. A single value is returned
    /// unchanged.
    pub fn concat(&mut self, parts: &[Value]) -> Value {
        if let [only] = parts {
            return *only;
        }
        let width = parts.iter().map(|&p| self.width(p)).sum();
        self.value(width, OpKind::Concat(parts.to_vec()))
    }

    /// Ends the step.
    pub fn exit(&mut self, exit: Exit) {
        self.effect(OpKind::Exit(exit));
    }

    /// Emits a structured choice. Each yield has the value of each arm and the
    /// [`fresh`](Self::fresh) result.
    pub fn choice(
        &mut self,
        condition: Value,
        then: Block,
        otherwise: Block,
        yields: &[(Value, Value, Value)],
    ) {
        let a = yields.iter().map(|y| y.0).collect();
        let b = yields.iter().map(|y| y.1).collect();
        let results = yields.iter().map(|y| y.2).collect();
        self.push(OpKind::If { condition, then: (then, a), otherwise: (otherwise, b) }, results);
    }

    /// Returns the finished body.
    pub fn finish(mut self) -> (Vec<ValueInfo>, Block) {
        let body = self.close();
        (self.values, body)
    }
}
