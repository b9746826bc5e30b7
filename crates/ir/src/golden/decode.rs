//! Decodes programs into the compact form that the interpreter executes. Values have dense places,
//! constants are stored in advance, and widths and replies are resolved.

use std::sync::Arc;

use wireloom_bits::Bits;

use super::narrow::NARROW;
use crate::{
    BinaryOp, Block, EngineKind, Exit, Meta, OffloadTarget, Op, OpKind, ReasonSetId, Step, UnaryOp,
    Value,
};

/// The index of a value in an [`Activation`](super::activation::Activation). Each context variable
/// and each value of each step has its own place.
pub(super) type Place = usize;

#[derive(Clone)]
pub(super) struct DecodedEngine {
    /// The code of each step.
    pub steps: Vec<Vec<Action>>,
    /// The place of value 0 of each step.
    pub bases: Vec<Place>,
    /// Initial contents of all places: constants, else zero. Context variables come first, then the
    /// elements of the context arrays.
    pub initial: Vec<Bits>,
    /// Number of places of the context.
    pub context: usize,
    /// The places of the elements of each context array.
    pub arrays: Vec<Elements>,
    /// For a called engine, the places of the parameters.
    pub params: Vec<Place>,
    /// For a called engine, the width of the reply in bits.
    pub reply: Option<u32>,
}

/// An operation and its guard.
#[derive(Clone)]
pub(super) struct Action {
    /// The place of the guard. Place and number are 32 bits wide to keep actions small.
    pub guard: Option<u32>,
    /// The number of the operation in the order of [`Step::for_each_op`]. `None` for the yields of
    /// an `if`.
    pub number: Option<u32>,
    pub kind: ActionKind,
}

/// An operation. `to` is the place of the result; resizes and calls may have none. Operators whose
/// operands and result have at most [`NARROW`] bits have separate variants.
#[derive(Clone)]
pub(super) enum ActionKind {
    NarrowUnary {
        op: UnaryOp,
        a: Place,
        width: u32,
        to: Place,
    },
    /// `width` is the width of the first operand.
    NarrowBinary {
        op: BinaryOp,
        a: Place,
        b: Place,
        width: u32,
        to: Place,
    },
    /// A slice, or an extension: a slice from 0 that is wider than its operand.
    NarrowSlice {
        a: Place,
        lo: u32,
        width: u32,
        to: Place,
    },
    /// `parts` contains the place and the width of each part.
    NarrowConcat {
        parts: Vec<(Place, u32)>,
        to: Place,
    },
    Unary {
        op: UnaryOp,
        a: Place,
        to: Place,
    },
    Binary {
        op: BinaryOp,
        a: Place,
        b: Place,
        to: Place,
    },
    Slice {
        a: Place,
        lo: u32,
        width: u32,
        to: Place,
    },
    Concat {
        parts: Vec<Place>,
        to: Place,
    },
    Select {
        condition: Place,
        then: Place,
        otherwise: Place,
        to: Place,
    },
    /// `width` is the width of the elements.
    Table {
        elements: Arc<[Bits]>,
        index: Place,
        width: u32,
        to: Place,
    },
    /// A read or write of the context, or a yield of an `if`.
    Copy {
        from: Place,
        to: Place,
    },
    ReadElement {
        array: Elements,
        index: Place,
        to: Place,
    },
    WriteElement {
        array: Elements,
        index: Place,
        value: Place,
    },
    ReadPacket {
        base: Place,
        bit: u32,
        width: u32,
        to: Place,
    },
    WritePacket {
        base: Place,
        bit: u32,
        value: Place,
    },
    ReadMeta {
        meta: Meta,
        to: Place,
    },
    WriteEgress {
        value: Place,
    },
    Insert {
        offset: Place,
        count: Place,
        to: Option<Place>,
    },
    Remove {
        offset: Place,
        count: Place,
        to: Option<Place>,
    },
    Reset {
        count: Place,
        to: Option<Place>,
    },
    Call {
        offload: usize,
        method: usize,
        args: Vec<Place>,
        to: Option<Place>,
    },
    CallEngine {
        offload: usize,
        engine: usize,
        args: Vec<Place>,
        to: Option<Place>,
    },
    If {
        condition: Place,
        then: Vec<Action>,
        otherwise: Vec<Action>,
    },
    Exit(Ending),
}

/// The places of an array's elements.
#[derive(Clone, Copy)]
pub(super) struct Elements {
    first: Place,
    count: usize,
}

impl Elements {
    /// Returns the place of an element; `None` if the index is out of range.
    pub(super) fn at(self, index: u128) -> Option<Place> {
        usize::try_from(index).ok().filter(|i| *i < self.count).map(|i| self.first + i)
    }
}

/// Where to find what a copy is made of, as in [`crate::Copied`].
#[derive(Clone, Copy)]
pub(super) struct Copied {
    pub(super) bytes: Option<(Place, Place)>,
    pub(super) cpu: Option<(Place, ReasonSetId)>,
}

/// A way to end a step.
#[derive(Clone, Copy)]
pub(super) enum Ending {
    Next(usize),
    Emit(usize, Copied),
    Finish,
    Reply(Place),
    Drop(Place, ReasonSetId),
    ToCpu(Place, ReasonSetId),
    Done,
}

/// Decodes an engine of a verified program.
pub(super) fn engine(engine: &crate::Engine) -> DecodedEngine {
    let mut initial: Vec<_> = engine.context.iter().map(|c| Bits::zero(c.width)).collect();
    let mut arrays = Vec::with_capacity(engine.arrays.len());
    for array in &engine.arrays {
        arrays.push(Elements { first: initial.len(), count: array.count as usize });
        initial.extend((0..array.count).map(|_| Bits::zero(array.width)));
    }
    let context = initial.len();
    let mut bases = Vec::with_capacity(engine.steps.len());
    let steps = engine.steps.iter().map(|step| {
        let base = initial.len();
        bases.push(base);
        initial.extend(step.values.iter().map(|v| Bits::zero(v.width)));
        let (initial, arrays) = (&mut initial, &arrays);
        let mut decoder = Decoder { engine, arrays, step, base, initial, count: 0 };
        let mut code = Vec::new();
        for block in step.code.blocks() {
            decoder.block(block, &mut code);
        }
        code
    });
    let steps = steps.collect();
    let (params, reply) = match &engine.kind {
        EngineKind::Packet => (Vec::new(), None),
        EngineKind::Call { params, reply } => {
            (params.iter().map(|p| p.index()).collect(), Some(*reply))
        }
    };
    DecodedEngine { steps, bases, initial, context, arrays, params, reply }
}

struct Decoder<'a> {
    engine: &'a crate::Engine,
    arrays: &'a [Elements],
    step: &'a Step,
    /// The place of value 0 of the step.
    base: Place,
    initial: &'a mut Vec<Bits>,
    /// The number of operations decoded so far in the step.
    count: u32,
}

impl Decoder<'_> {
    fn place(&self, value: Value) -> Place {
        self.base + value.index()
    }

    fn copied(&self, copied: &crate::Copied) -> Copied {
        Copied {
            bytes: copied.bytes.map(|(offset, count)| (self.place(offset), self.place(count))),
            cpu: copied.cpu.map(|(reason, set)| (self.place(reason), set)),
        }
    }

    fn width(&self, value: Value) -> u32 {
        self.step.values[value.index()].width
    }

    fn slice(&self, a: Value, lo: u32, width: u32, to: Place) -> ActionKind {
        let is_narrow = width.max(self.width(a)) <= NARROW;
        let a = self.place(a);
        if is_narrow {
            ActionKind::NarrowSlice { a, lo, width, to }
        } else {
            ActionKind::Slice { a, lo, width, to }
        }
    }

    fn block(&mut self, block: &Block, code: &mut Vec<Action>) {
        for op in &block.ops {
            let number = Some(self.count);
            self.count += 1;
            if let OpKind::Const(bits) = &op.kind {
                let place = self.place(op.results[0]);
                self.initial[place] = bits.clone();
                continue;
            }
            let kind = self.action(op);
            let guard =
                op.guard.map(|g| u32::try_from(self.place(g)).expect("fewer than 2^32 values"));
            code.push(Action { guard, number, kind });
        }
    }

    fn branch(&mut self, (block, yields): &(Block, Vec<Value>), results: &[Value]) -> Vec<Action> {
        let mut code = Vec::new();
        self.block(block, &mut code);
        let copies = yields.iter().zip(results).map(|(value, result)| Action {
            guard: None,
            number: None,
            kind: ActionKind::Copy { from: self.place(*value), to: self.place(*result) },
        });
        code.extend(copies);
        code
    }

    fn action(&mut self, op: &Op) -> ActionKind {
        let result = op.results.first().copied();
        let to = result.map_or(0, |r| self.place(r));
        let width = result.map_or(0, |r| self.width(r));
        let maybe_to = result.map(|_| to);
        match &op.kind {
            OpKind::Const(_) => unreachable!("constants are filled in beforehand"),
            OpKind::Unary(op, a) => {
                let (op, a) = (*op, self.place(*a));
                if width <= NARROW {
                    ActionKind::NarrowUnary { op, a, width, to }
                } else {
                    ActionKind::Unary { op, a, to }
                }
            }
            OpKind::Binary(op, a, b) => {
                let width = self.width(*a);
                let is_narrow = width.max(self.width(*b)) <= NARROW;
                let (op, a, b) = (*op, self.place(*a), self.place(*b));
                if is_narrow {
                    ActionKind::NarrowBinary { op, a, b, width, to }
                } else {
                    ActionKind::Binary { op, a, b, to }
                }
            }
            OpKind::Select(c, a, b) => ActionKind::Select {
                condition: self.place(*c),
                then: self.place(*a),
                otherwise: self.place(*b),
                to,
            },
            OpKind::Extend(a) => self.slice(*a, 0, width, to),
            OpKind::Slice(a, lo) => self.slice(*a, *lo, width, to),
            OpKind::Concat(parts) if width <= NARROW => ActionKind::NarrowConcat {
                parts: parts.iter().map(|p| (self.place(*p), self.width(*p))).collect(),
                to,
            },
            OpKind::Concat(parts) => {
                ActionKind::Concat { parts: parts.iter().map(|p| self.place(*p)).collect(), to }
            }
            OpKind::ReadContext(id) => ActionKind::Copy { from: id.index(), to },
            OpKind::WriteContext(id, v) => {
                ActionKind::Copy { from: self.place(*v), to: id.index() }
            }
            OpKind::ReadElement { array, index } => ActionKind::ReadElement {
                array: self.arrays[array.index()],
                index: self.place(*index),
                to,
            },
            OpKind::WriteElement { array, index, value } => ActionKind::WriteElement {
                array: self.arrays[array.index()],
                index: self.place(*index),
                value: self.place(*value),
            },
            OpKind::ReadPacket { base, bit } => {
                ActionKind::ReadPacket { base: self.place(*base), bit: *bit, width, to }
            }
            OpKind::WritePacket { base, bit, value } => ActionKind::WritePacket {
                base: self.place(*base),
                bit: *bit,
                value: self.place(*value),
            },
            OpKind::Table { elements, index } => ActionKind::Table {
                elements: Arc::clone(elements),
                index: self.place(*index),
                width,
                to,
            },
            OpKind::ReadMeta(meta) => ActionKind::ReadMeta { meta: *meta, to },
            OpKind::WriteMeta(_, v) => ActionKind::WriteEgress { value: self.place(*v) },
            OpKind::Insert { offset, count } => ActionKind::Insert {
                offset: self.place(*offset),
                count: self.place(*count),
                to: maybe_to,
            },
            OpKind::Remove { offset, count } => ActionKind::Remove {
                offset: self.place(*offset),
                count: self.place(*count),
                to: maybe_to,
            },
            OpKind::Reset { count } => {
                ActionKind::Reset { count: self.place(*count), to: maybe_to }
            }
            OpKind::Call { offload, method, args } => {
                let args = args.iter().map(|a| self.place(*a)).collect();
                let (offload, to) = (offload.index(), maybe_to);
                match &self.engine.offloads[offload].target {
                    OffloadTarget::Kind(_) => {
                        ActionKind::Call { offload, method: *method, args, to }
                    }
                    OffloadTarget::Engine(id) => {
                        ActionKind::CallEngine { offload, engine: id.index(), args, to }
                    }
                }
            }
            OpKind::Evaluate { offload, method, args } => {
                let args = args.iter().map(|a| self.place(*a)).collect();
                ActionKind::Call { offload: offload.index(), method: *method, args, to: maybe_to }
            }
            OpKind::If { condition, then, otherwise } => ActionKind::If {
                condition: self.place(*condition),
                then: self.branch(then, &op.results),
                otherwise: self.branch(otherwise, &op.results),
            },
            OpKind::Exit(exit) => ActionKind::Exit(match exit {
                Exit::Next(step) => Ending::Next(step.index()),
                Exit::Emit(step, copied) => Ending::Emit(step.index(), self.copied(copied)),
                Exit::Finish => Ending::Finish,
                Exit::Reply(v) => Ending::Reply(self.place(*v)),
                Exit::Drop(v, set) => Ending::Drop(self.place(*v), *set),
                Exit::ToCpu(v, set) => Ending::ToCpu(self.place(*v), *set),
                Exit::Done => Ending::Done,
            }),
        }
    }
}
