//! The compact form that the interpreter executes: values in dense places, constants filled in beforehand, widths and
//! replies looked up.

use wireloom_bits::Bits;

use crate::{
    BinaryOp, Block, Code, EngineKind, Exit, Meta, OffloadTarget, Op, OpKind, ReasonSetId, Step, UnaryOp,
    Value,
};

/// Where a value lives: an index into `Frame::values`. Each step of an engine has places of its own.
pub(super) type Place = usize;

/// An engine.
pub(super) struct Engine {
    /// The code of each step.
    pub steps: Vec<Vec<Action>>,
    /// Initial contents of all places: the constants, else zero.
    pub values: Vec<Bits>,
    /// Context of a new thread: zero.
    pub context: Vec<Bits>,
    /// For a called engine: where the arguments go.
    pub params: Vec<usize>,
    /// For a called engine: width of the reply.
    pub reply: Option<u32>,
}

/// An operation and its guard.
pub(super) struct Action {
    pub guard: Option<Place>,
    pub kind: ActionKind,
}

/// An operation. `to` is where its result goes; resizes and calls may have none.
pub(super) enum ActionKind {
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
    Select {
        condition: Place,
        then: Place,
        otherwise: Place,
        to: Place,
    },
    /// Extension too: a slice from 0 that is wider than its operand.
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
    /// A yield of an `if`.
    Copy {
        from: Place,
        to: Place,
    },
    ReadContext {
        var: usize,
        to: Place,
    },
    WriteContext {
        var: usize,
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

/// A way to end a step.
#[derive(Clone, Copy)]
pub(super) enum Ending {
    Next(usize),
    Emit(usize),
    Finish,
    Reply(Place),
    Drop(Place, ReasonSetId),
    ToCpu(Place, ReasonSetId),
    Done,
}

/// Decodes an engine of a verified program.
pub(super) fn engine(engine: &crate::Engine) -> Engine {
    let mut values = Vec::new();
    let steps = engine.steps.iter().map(|step| {
        let base = values.len();
        values.extend(step.values.iter().map(|v| Bits::zero(v.width)));
        let mut decoder = Decoder { engine, step, base, values: &mut values };
        let mut code = Vec::new();
        match &step.code {
            Code::Sequential(block) => decoder.block(block, &mut code),
            Code::Regions { request, edit, jump } => {
                decoder.block(request, &mut code);
                decoder.block(edit, &mut code);
                decoder.block(jump, &mut code);
            }
        }
        code
    });
    let steps = steps.collect();
    let (params, reply) = match &engine.kind {
        EngineKind::Packet => (Vec::new(), None),
        EngineKind::Call { params, reply } => (params.iter().map(|p| p.index()).collect(), Some(*reply)),
    };
    let context = engine.context.iter().map(|c| Bits::zero(c.width)).collect();
    Engine { steps, values, context, params, reply }
}

struct Decoder<'a> {
    engine: &'a crate::Engine,
    step: &'a Step,
    /// Place of the step's value 0.
    base: Place,
    values: &'a mut Vec<Bits>,
}

impl Decoder<'_> {
    fn place(&self, value: Value) -> Place {
        self.base + value.index()
    }

    fn block(&mut self, block: &Block, code: &mut Vec<Action>) {
        for op in &block.ops {
            if let OpKind::Const(bits) = &op.kind {
                let place = self.place(op.results[0]);
                self.values[place] = bits.clone();
                continue;
            }
            let kind = self.action(op);
            code.push(Action { guard: op.guard.map(|g| self.place(g)), kind });
        }
    }

    fn branch(&mut self, (block, yields): &(Block, Vec<Value>), results: &[Value]) -> Vec<Action> {
        let mut code = Vec::new();
        self.block(block, &mut code);
        let copies = yields.iter().zip(results).map(|(value, result)| Action {
            guard: None,
            kind: ActionKind::Copy { from: self.place(*value), to: self.place(*result) },
        });
        code.extend(copies);
        code
    }

    fn action(&mut self, op: &Op) -> ActionKind {
        let result = op.results.first().copied();
        let to = result.map_or(0, |r| self.place(r));
        let width = result.map_or(0, |r| self.step.values[r.index()].width);
        let maybe_to = result.map(|_| to);
        match &op.kind {
            OpKind::Const(_) => unreachable!("constants are filled in beforehand"),
            OpKind::Unary(op, a) => ActionKind::Unary { op: *op, a: self.place(*a), to },
            OpKind::Binary(op, a, b) => {
                ActionKind::Binary { op: *op, a: self.place(*a), b: self.place(*b), to }
            }
            OpKind::Select(c, a, b) => ActionKind::Select {
                condition: self.place(*c),
                then: self.place(*a),
                otherwise: self.place(*b),
                to,
            },
            OpKind::Extend(a) => ActionKind::Slice { a: self.place(*a), lo: 0, width, to },
            OpKind::Slice(a, lo) => ActionKind::Slice { a: self.place(*a), lo: *lo, width, to },
            OpKind::Concat(parts) => {
                ActionKind::Concat { parts: parts.iter().map(|p| self.place(*p)).collect(), to }
            }
            OpKind::ReadContext(id) => ActionKind::ReadContext { var: id.index(), to },
            OpKind::WriteContext(id, v) => {
                ActionKind::WriteContext { var: id.index(), value: self.place(*v) }
            }
            OpKind::ReadPacket { base, bit } => {
                ActionKind::ReadPacket { base: self.place(*base), bit: *bit, width, to }
            }
            OpKind::WritePacket { base, bit, value } => {
                ActionKind::WritePacket { base: self.place(*base), bit: *bit, value: self.place(*value) }
            }
            OpKind::ReadMeta(meta) => ActionKind::ReadMeta { meta: *meta, to },
            OpKind::WriteMeta(_, v) => ActionKind::WriteEgress { value: self.place(*v) },
            OpKind::Insert { offset, count } => {
                ActionKind::Insert { offset: self.place(*offset), count: self.place(*count), to: maybe_to }
            }
            OpKind::Remove { offset, count } => {
                ActionKind::Remove { offset: self.place(*offset), count: self.place(*count), to: maybe_to }
            }
            OpKind::Reset { count } => ActionKind::Reset { count: self.place(*count), to: maybe_to },
            OpKind::Call { offload, method, args } => {
                let args = args.iter().map(|a| self.place(*a)).collect();
                let (offload, to) = (offload.index(), maybe_to);
                match &self.engine.offloads[offload].target {
                    OffloadTarget::Kind(_) => ActionKind::Call { offload, method: *method, args, to },
                    OffloadTarget::Engine(id) => {
                        ActionKind::CallEngine { offload, engine: id.index(), args, to }
                    }
                }
            }
            OpKind::If { condition, then, otherwise } => ActionKind::If {
                condition: self.place(*condition),
                then: self.branch(then, &op.results),
                otherwise: self.branch(otherwise, &op.results),
            },
            OpKind::Exit(exit) => ActionKind::Exit(match exit {
                Exit::Next(step) => Ending::Next(step.index()),
                Exit::Emit(step) => Ending::Emit(step.index()),
                Exit::Finish => Ending::Finish,
                Exit::Reply(v) => Ending::Reply(self.place(*v)),
                Exit::Drop(v, set) => Ending::Drop(self.place(*v), *set),
                Exit::ToCpu(v, set) => Ending::ToCpu(self.place(*v), *set),
                Exit::Done => Ending::Done,
            }),
        }
    }
}
