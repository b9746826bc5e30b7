//! Builds programs in Rust, for tests of the golden model, of passes and of targets.
//!
//! The builder derives the widths of results from the operands, so the program is well-formed
//! unless a test breaks it on purpose.

use std::collections::BTreeMap;

use wireloom_bits::Bits;
use wireloom_offloads::{Config, Layout, registry};

use crate::{
    ArrayId, BinaryOp, Block, Code, ContextArray, ContextId, ContextVar, Engine, EngineId,
    EngineKind, Exit, Loc, Meta, Offload, OffloadId, OffloadTarget, Op, OpKind, Program, ReasonSet,
    ReasonSetId, Step, UnaryOp, Value, ValueInfo,
};

/// Builds a [`Program`].
#[derive(Default)]
pub struct ProgramBuilder {
    files: Vec<String>,
    reasons: Vec<ReasonSet>,
    engines: Vec<Engine>,
}

impl ProgramBuilder {
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a source file and returns its number.
    pub fn file(&mut self, path: &str) -> u32 {
        self.files.push(path.to_owned());
        self.files.len() as u32 - 1
    }

    /// Adds a set of reasons, numbered from 0.
    pub fn reasons(&mut self, name: &str, members: &[&str]) -> ReasonSetId {
        let members =
            members.iter().zip(0..).map(|(name, value)| (value, (*name).to_owned())).collect();
        self.reasons.push(ReasonSet { name: name.to_owned(), members });
        ReasonSetId(self.reasons.len() as u32 - 1)
    }

    /// Adds an engine.
    pub fn engine(&mut self, builder: EngineBuilder) -> EngineId {
        self.engines.push(builder.engine);
        EngineId(self.engines.len() as u32 - 1)
    }

    /// Returns the program. The engine added last is the main engine.
    pub fn build(self) -> Program {
        let main = EngineId((self.engines.len() as u32).saturating_sub(1));
        Program { files: self.files, reasons: self.reasons, engines: self.engines, main }
    }
}

/// Returns a program of one engine.
pub fn program_of(engine: EngineBuilder) -> Program {
    let mut program = ProgramBuilder::new();
    program.engine(engine);
    program.build()
}

/// Returns the configuration of a kind. `key` and `value` list names and widths of fields; the list
/// is empty if the kind has no key or value, and a scalar has an empty name. Parameters that are
/// not in `params` have their defaults.
///
/// # Panics
/// If the kind does not exist or a required parameter is missing.
pub fn config(
    kind: &str,
    key: &[(&str, u32)],
    value: &[(&str, u32)],
    params: &[(&str, u64)],
) -> Config {
    let layout = |fields: &[(&str, u32)]| {
        let fields: Vec<_> =
            fields.iter().map(|(name, width)| ((*name).to_owned(), *width)).collect();
        if fields.is_empty() { None } else { Some(Layout::plain(fields)) }
    };
    let mut config = Config {
        kind: kind.to_owned(),
        key: layout(key),
        value: layout(value),
        params: BTreeMap::new(),
    };
    for param in registry::kind(kind).unwrap_or_else(|| panic!("no offload kind {kind}")).params {
        let given = params.iter().find(|(name, _)| *name == param.name).map(|(_, value)| *value);
        let value =
            given.or(param.default).unwrap_or_else(|| panic!("parameter {} of {kind}", param.name));
        let bits = Bits::new(param.ty.width(&config), u128::from(value));
        config.params.insert(param.name.to_owned(), bits);
    }
    config
}

pub struct EngineBuilder {
    engine: Engine,
    /// Reply widths of the offloads that are engines, by index of the offload.
    replies: BTreeMap<usize, u32>,
}

impl EngineBuilder {
    /// Creates an engine that takes packets.
    pub fn packet(name: &str) -> Self {
        let engine = Engine {
            name: name.to_owned(),
            kind: EngineKind::Packet,
            context: Vec::new(),
            arrays: Vec::new(),
            offloads: Vec::new(),
            steps: Vec::new(),
        };
        Self { engine, replies: BTreeMap::new() }
    }

    /// Creates an engine that other engines call. The parameters are its first context variables.
    /// The reply has `reply` bits.
    pub fn called(name: &str, params: &[(&str, u32)], reply: u32) -> Self {
        let mut builder = Self::packet(name);
        let params = params.iter().map(|(name, width)| builder.context(name, *width)).collect();
        builder.engine.kind = EngineKind::Call { params, reply };
        builder
    }

    /// Adds a context variable.
    pub fn context(&mut self, name: &str, width: u32) -> ContextId {
        self.engine.context.push(ContextVar { name: name.to_owned(), width });
        ContextId(self.engine.context.len() as u32 - 1)
    }

    /// Adds a context array of `count` elements.
    pub fn array(&mut self, name: &str, width: u32, count: u32) -> ArrayId {
        self.engine.arrays.push(ContextArray { name: name.to_owned(), width, count });
        ArrayId(self.engine.arrays.len() as u32 - 1)
    }

    /// Adds an offload of a kind.
    pub fn offload(&mut self, name: &str, config: Config) -> OffloadId {
        self.push_offload(name, OffloadTarget::Kind(config))
    }

    /// Adds an offload that is an engine with a reply of `reply` bits.
    pub fn engine_offload(&mut self, name: &str, engine: EngineId, reply: u32) -> OffloadId {
        self.replies.insert(self.engine.offloads.len(), reply);
        self.push_offload(name, OffloadTarget::Engine(engine))
    }

    fn push_offload(&mut self, name: &str, target: OffloadTarget) -> OffloadId {
        self.engine.offloads.push(Offload { name: name.to_owned(), target });
        OffloadId(self.engine.offloads.len() as u32 - 1)
    }

    /// Adds a step before splitting, of one block.
    pub fn step(&mut self, name: &str, body: impl FnOnce(&mut StepBuilder<'_>)) -> &mut Self {
        let mut step = StepBuilder::new(self);
        body(&mut step);
        let (mut blocks, values) = step.finish();
        let code = Code::Sequential(blocks.pop().expect("there is one block"));
        self.push_step(name, code, values)
    }

    /// Adds a step of regions. The body builds `request`, and calls [`StepBuilder::next_region`]
    /// before `edit` and before `jump`.
    ///
    /// # Panics
    /// If the body does not call it exactly twice.
    pub fn regions(&mut self, name: &str, body: impl FnOnce(&mut StepBuilder<'_>)) -> &mut Self {
        let mut step = StepBuilder::new(self);
        body(&mut step);
        let (blocks, values) = step.finish();
        let [request, edit, jump] = blocks.try_into().expect("there are three regions");
        self.push_step(name, Code::Regions { request, edit, jump }, values)
    }

    fn push_step(&mut self, name: &str, code: Code, values: Vec<ValueInfo>) -> &mut Self {
        let loc = Loc::default();
        self.engine.steps.push(Step { name: name.to_owned(), loc, split: None, values, code });
        self
    }
}

/// Builds the code of a [`Step`].
pub struct StepBuilder<'a> {
    engine: &'a EngineBuilder,
    values: Vec<ValueInfo>,
    /// Finished blocks of a step of regions.
    done: Vec<Block>,
    block: Block,
    guard: Option<Value>,
}

impl<'a> StepBuilder<'a> {
    fn new(engine: &'a EngineBuilder) -> Self {
        Self { engine, values: Vec::new(), done: Vec::new(), block: Block::default(), guard: None }
    }

    /// Continues with the next region.
    pub fn next_region(&mut self) {
        self.done.push(std::mem::take(&mut self.block));
    }

    fn finish(mut self) -> (Vec<Block>, Vec<ValueInfo>) {
        self.next_region();
        (self.done, self.values)
    }

    /// Adds an operation without checks.
    pub fn op(&mut self, op: Op) {
        self.block.ops.push(op);
    }

    /// Creates a value without a definition.
    pub fn value(&mut self, width: u32) -> Value {
        self.values.push(ValueInfo { width, name: None });
        Value(self.values.len() as u32 - 1)
    }

    /// Width of a value.
    pub fn width(&self, value: Value) -> u32 {
        self.values[value.index()].width
    }

    /// Names a value and returns it.
    pub fn name(&mut self, value: Value, name: &str) -> Value {
        self.values[value.index()].name = Some(name.to_owned());
        value
    }

    fn emit(&mut self, kind: OpKind, widths: &[u32]) -> Vec<Value> {
        let results: Vec<_> = widths.iter().map(|w| self.value(*w)).collect();
        let guard = self.guard.take();
        self.op(Op { kind, results: results.clone(), guard, loc: Loc::default() });
        results
    }

    fn one(&mut self, kind: OpKind, width: u32) -> Value {
        self.emit(kind, &[width])[0]
    }

    fn effect(&mut self, kind: OpKind) {
        self.emit(kind, &[]);
    }

    /// Sets the guard of the next operation.
    pub fn when(&mut self, guard: Value) -> &mut Self {
        self.guard = Some(guard);
        self
    }

    /// Adds a constant.
    pub fn constant(&mut self, width: u32, value: u128) -> Value {
        self.one(OpKind::Const(Bits::new(width, value)), width)
    }

    /// Adds a unary operator.
    pub fn unary(&mut self, op: UnaryOp, a: Value) -> Value {
        let width = self.width(a);
        self.one(OpKind::Unary(op, a), width)
    }

    /// Adds a binary operator.
    pub fn binary(&mut self, op: BinaryOp, a: Value, b: Value) -> Value {
        let width = if op.is_comparison() { 1 } else { self.width(a) };
        self.one(OpKind::Binary(op, a, b), width)
    }

    /// Adds `condition ? a : b`.
    pub fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        let width = self.width(a);
        self.one(OpKind::Select(condition, a, b), width)
    }

    /// Zero-extends a value to `width` bits.
    pub fn extend(&mut self, a: Value, width: u32) -> Value {
        self.one(OpKind::Extend(a), width)
    }

    /// Takes bits `lo .. lo + width` of a value.
    pub fn slice(&mut self, a: Value, lo: u32, width: u32) -> Value {
        self.one(OpKind::Slice(a, lo), width)
    }

    /// Concatenates values. The first value is the most significant.
    pub fn concat(&mut self, parts: &[Value]) -> Value {
        let width = parts.iter().map(|p| self.width(*p)).sum();
        self.one(OpKind::Concat(parts.to_vec()), width)
    }

    /// Reads an element of a constant array, which must not be empty.
    pub fn table(&mut self, elements: Vec<Bits>, index: Value) -> Value {
        let width = elements[0].width();
        self.one(OpKind::Table { elements: elements.into(), index }, width)
    }

    /// Reads a context variable.
    pub fn read(&mut self, var: ContextId) -> Value {
        let width = self.engine.engine.context[var.index()].width;
        self.one(OpKind::ReadContext(var), width)
    }

    /// Sets a context variable.
    pub fn write(&mut self, var: ContextId, value: Value) {
        self.effect(OpKind::WriteContext(var, value));
    }

    /// Reads an element of a context array.
    pub fn read_element(&mut self, array: ArrayId, index: Value) -> Value {
        let width = self.engine.engine.arrays[array.index()].width;
        self.one(OpKind::ReadElement { array, index }, width)
    }

    /// Sets an element of a context array.
    pub fn write_element(&mut self, array: ArrayId, index: Value, value: Value) {
        self.effect(OpKind::WriteElement { array, index, value });
    }

    /// Reads a packet field.
    pub fn read_packet(&mut self, base: Value, bit: u32, width: u32) -> Value {
        self.one(OpKind::ReadPacket { base, bit }, width)
    }

    /// Writes a packet field.
    pub fn write_packet(&mut self, base: Value, bit: u32, value: Value) {
        self.effect(OpKind::WritePacket { base, bit, value });
    }

    /// Reads metadata.
    pub fn meta(&mut self, meta: Meta) -> Value {
        self.one(OpKind::ReadMeta(meta), meta.width())
    }

    /// Sets the egress port.
    pub fn set_egress(&mut self, port: Value) {
        self.effect(OpKind::WriteMeta(Meta::Egress, port));
    }

    /// Inserts bytes. The result is 1 if the packet was resized.
    pub fn insert(&mut self, offset: Value, count: Value) -> Value {
        self.one(OpKind::Insert { offset, count }, 1)
    }

    /// Removes bytes. The result is 1 if the packet was resized.
    pub fn remove(&mut self, offset: Value, count: Value) -> Value {
        self.one(OpKind::Remove { offset, count }, 1)
    }

    /// Replaces the packet by `count` zero bytes. The result is 1 if it was replaced.
    pub fn reset(&mut self, count: Value) -> Value {
        self.one(OpKind::Reset { count }, 1)
    }

    /// Calls a method of an offload by name (`call` for an engine). Returns the reply, if the
    /// method has one.
    ///
    /// # Panics
    /// If the kind has no such method.
    pub fn call(&mut self, offload: OffloadId, method: &str, args: &[Value]) -> Option<Value> {
        let (method, reply) = match &self.engine.engine.offloads[offload.index()].target {
            OffloadTarget::Engine(_) => (0, self.engine.replies[&offload.index()]),
            OffloadTarget::Kind(config) => {
                let kind = registry::kind(&config.kind).expect("a kind of the registry");
                let (index, method) = kind
                    .method(method)
                    .unwrap_or_else(|| panic!("no method {method} of {}", kind.name));
                (index, method.reply.width(config))
            }
        };
        let call = OpKind::Call { offload, method, args: args.to_vec() };
        if reply == 0 {
            self.effect(call);
            return None;
        }
        Some(self.one(call, reply))
    }

    /// Evaluates a method that is a function.
    ///
    /// # Panics
    /// If the kind has no such method, or the method does not reply.
    pub fn evaluate(&mut self, offload: OffloadId, method: &str, args: &[Value]) -> Value {
        let OffloadTarget::Kind(config) = &self.engine.engine.offloads[offload.index()].target
        else {
            panic!("an engine is no function")
        };
        let kind = registry::kind(&config.kind).expect("a kind of the registry");
        let (method, interface) = kind.method(method).expect("a method of the kind");
        let reply = interface.reply.width(config);
        self.one(OpKind::Evaluate { offload, method, args: args.to_vec() }, reply)
    }

    /// Adds an `if`. Each branch returns its yields. Both branches must yield the same number of
    /// values with the same widths.
    pub fn choice(
        &mut self,
        condition: Value,
        then: impl FnOnce(&mut Self) -> Vec<Value>,
        otherwise: impl FnOnce(&mut Self) -> Vec<Value>,
    ) -> Vec<Value> {
        let outer = std::mem::take(&mut self.block);
        let yields = then(self);
        let then = (std::mem::take(&mut self.block), yields);
        let yields = otherwise(self);
        let otherwise = (std::mem::replace(&mut self.block, outer), yields);
        let widths: Vec<_> = then.1.iter().map(|v| self.width(*v)).collect();
        self.emit(OpKind::If { condition, then, otherwise }, &widths)
    }

    /// Ends the step with an exit.
    pub fn exit(&mut self, exit: Exit) {
        self.effect(OpKind::Exit(exit));
    }
}
