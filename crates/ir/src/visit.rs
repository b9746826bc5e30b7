//! Visitors of the operations and operands of a step.

use crate::{Block, Code, Exit, Op, OpKind, Step, Value};

impl OpKind {
    /// Calls `f` for each value that the operation uses. The blocks and yields of an `if` are not
    /// included.
    pub fn for_each_operand(&self, mut f: impl FnMut(Value)) {
        match self {
            Self::Const(_) | Self::ReadContext(_) | Self::ReadMeta(_) => {}
            Self::Unary(_, a)
            | Self::Extend(a)
            | Self::Slice(a, _)
            | Self::Table { index: a, .. }
            | Self::ReadElement { index: a, .. }
            | Self::WriteContext(_, a)
            | Self::WriteMeta(_, a)
            | Self::ReadPacket { base: a, .. }
            | Self::Reset { count: a }
            | Self::If { condition: a, .. } => f(*a),
            Self::Binary(_, a, b)
            | Self::WriteElement { index: a, value: b, .. }
            | Self::WritePacket { base: a, value: b, .. }
            | Self::Insert { offset: a, count: b }
            | Self::Remove { offset: a, count: b } => {
                f(*a);
                f(*b);
            }
            Self::Select(a, b, c) => {
                f(*a);
                f(*b);
                f(*c);
            }
            Self::Concat(parts) => parts.iter().for_each(|v| f(*v)),
            Self::Call { args, .. } | Self::Evaluate { args, .. } => {
                args.iter().for_each(|v| f(*v))
            }
            Self::Exit(exit) => match exit {
                Exit::Reply(v) | Exit::Drop(v, _) | Exit::ToCpu(v, _) => f(*v),
                Exit::Emit(_, copied) => copied.values().for_each(f),
                Exit::Next(_) | Exit::Finish | Exit::Done => {}
            },
        }
    }

    /// Returns the values that the operation uses, in the order of
    /// [`for_each_operand`](Self::for_each_operand).
    pub fn operands(&self) -> Vec<Value> {
        let mut operands = Vec::new();
        self.for_each_operand(|v| operands.push(v));
        operands
    }

    /// Whether the operation has an effect beyond its results. Exactly these operations can have a
    /// guard.
    pub fn has_effect(&self) -> bool {
        matches!(
            self,
            Self::WriteContext(..)
                | Self::WriteElement { .. }
                | Self::WritePacket { .. }
                | Self::WriteMeta(..)
                | Self::Insert { .. }
                | Self::Remove { .. }
                | Self::Reset { .. }
                | Self::Call { .. }
                | Self::Exit(_)
        )
    }

    /// Like [`for_each_operand`](Self::for_each_operand), with mutable values.
    pub fn for_each_operand_mut(&mut self, mut f: impl FnMut(&mut Value)) {
        match self {
            Self::Const(_) | Self::ReadContext(_) | Self::ReadMeta(_) => {}
            Self::Unary(_, a)
            | Self::Extend(a)
            | Self::Slice(a, _)
            | Self::Table { index: a, .. }
            | Self::ReadElement { index: a, .. }
            | Self::WriteContext(_, a)
            | Self::WriteMeta(_, a)
            | Self::ReadPacket { base: a, .. }
            | Self::Reset { count: a }
            | Self::If { condition: a, .. } => f(a),
            Self::Binary(_, a, b)
            | Self::WriteElement { index: a, value: b, .. }
            | Self::WritePacket { base: a, value: b, .. }
            | Self::Insert { offset: a, count: b }
            | Self::Remove { offset: a, count: b } => {
                f(a);
                f(b);
            }
            Self::Select(a, b, c) => {
                f(a);
                f(b);
                f(c);
            }
            Self::Concat(values)
            | Self::Call { args: values, .. }
            | Self::Evaluate { args: values, .. } => values.iter_mut().for_each(f),
            Self::Exit(exit) => match exit {
                Exit::Reply(v) | Exit::Drop(v, _) | Exit::ToCpu(v, _) => f(v),
                Exit::Emit(_, copied) => copied.for_each_value_mut(f),
                Exit::Next(_) | Exit::Finish | Exit::Done => {}
            },
        }
    }
}

impl Step {
    /// Returns the operations of the step's blocks, in order of execution. The operations of nested
    /// blocks are not included.
    pub fn ops(&self) -> impl DoubleEndedIterator<Item = &Op> {
        self.code.blocks().flat_map(|block| &block.ops)
    }
}

impl Block {
    /// Calls `f` for each operation. The operations of nested blocks follow the `if` that contains
    /// them.
    pub fn for_each_op<'a>(&'a self, f: &mut impl FnMut(&'a Op)) {
        for op in &self.ops {
            f(op);
            if let OpKind::If { then, otherwise, .. } = &op.kind {
                then.0.for_each_op(f);
                otherwise.0.for_each_op(f);
            }
        }
    }

    /// Like [`for_each_op`](Self::for_each_op), with mutable operations.
    pub fn for_each_op_mut(&mut self, f: &mut impl FnMut(&mut Op)) {
        for op in &mut self.ops {
            f(op);
            if let OpKind::If { then, otherwise, .. } = &mut op.kind {
                then.0.for_each_op_mut(f);
                otherwise.0.for_each_op_mut(f);
            }
        }
    }
}

impl Code {
    /// Returns the blocks in order of execution: the single block, or `request`, `edit` and `jump`.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = &Block> {
        match self {
            Self::Sequential(block) => vec![block],
            Self::Regions { request, edit, jump } => vec![request, edit, jump],
        }
        .into_iter()
    }

    /// Like [`blocks`](Self::blocks), with mutable blocks.
    pub fn blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        match self {
            Self::Sequential(block) => vec![block],
            Self::Regions { request, edit, jump } => vec![request, edit, jump],
        }
        .into_iter()
    }
}

impl Step {
    /// Calls `f` for each operation in order of execution. The operations of nested blocks follow
    /// the `if` that contains them.
    pub fn for_each_op<'a>(&'a self, mut f: impl FnMut(&'a Op)) {
        for block in self.code.blocks() {
            block.for_each_op(&mut f);
        }
    }
}
