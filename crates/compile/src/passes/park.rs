//! Splits the calls of a `park` into parts, for hardware whose engines have the header window and
//! whose services have the rest of packets.
//!
//! ```text
//!                                  %3:u121 = concat length, window, ingress, egress, arrival
//! %2:u1 = call queue.keep(%1)  =>  %2:u1 = call queue.begin(%1, %3)
//!                                  call queue.put(0, packet.read 0 + 0) when %2  ...
//!                                  call queue.store(length - window) when %2
//!
//!                                  %3:u122 = call queue.release(%1)
//! %2:u1 = call queue.take(%1)  =>  %2:u1 = found, a slice of %3
//!                                  meta.write egress, a slice of %3 when %2
//!                                  packet.reset window, a slice of %3, when %2
//!                                  call queue.fetch(length - window, of %3) when %2
//!                                  %4:u128 = call queue.get(0) when %2  ...
//!                                  packet.write 0 + 0, %4[127:120] when %2  ...
//! ```
//!
//! In such hardware the ingress port and the arrival time of the packet that began the thread are
//! constants. An engine that takes packets keeps the port and the time of the taken packet in its
//! context. `clock`, `random` and the times of offloads still depend on the packet that began the
//! thread.
//!
//! The pass runs only for machines with header ports, on flat code before steps are split into
//! regions.

use wireloom_ir::{
    BinaryOp, Block, Code, ContextId, ContextVar, Engine, Meta, Offload, OffloadTarget, Op, OpKind,
    Program, Value,
};
use wireloom_offloads::kinds::park_in_parts::{self, FIELDS, FIELDS_BITS, WORD_BITS, WORD_BYTES};

use super::PassOptions;
use super::sequence::Sequence;
use super::window::longest_window;

/// The kind that the pass replaces.
const KIND: &str = "park";

/// Runs over every step.
pub fn run(program: &mut Program, options: &PassOptions) {
    if options.header.is_none() {
        return;
    }
    program.engines.iter_mut().for_each(split_calls);
}

fn split_calls(engine: &mut Engine) {
    if !engine.offloads.iter().any(is_park) || !calls_are_flat(engine) {
        return;
    }
    let words = longest_window(engine).div_ceil(WORD_BYTES);
    let mut takes = false;
    for step in &engine.steps {
        step.for_each_op(|op| takes |= called(&engine.offloads, op) == Some("take"));
    }
    let brought = takes.then(|| Brought::added_to(engine));
    for step in &mut engine.steps {
        if let Code::Sequential(block) = &mut step.code {
            let out = Sequence { values: &mut step.values, ops: Vec::new(), loc: step.loc };
            Split { out, offloads: &engine.offloads, words, brought }.block(block);
        }
    }
    for offload in engine.offloads.iter_mut().filter(|offload| is_park(offload)) {
        if let OffloadTarget::Kind(config) = &mut offload.target {
            config.kind = park_in_parts::NAME.into();
        }
    }
}

/// Returns whether no call of a park is in an `if` or in a region.
fn calls_are_flat(engine: &Engine) -> bool {
    let is_call = |op: &Op| called(&engine.offloads, op).is_some();
    engine.steps.iter().all(|step| {
        let mut all = 0;
        step.for_each_op(|op| all += usize::from(is_call(op)));
        let flat = match &step.code {
            Code::Sequential(block) => block.ops.iter().filter(|op| is_call(op)).count(),
            Code::Regions { .. } => 0,
        };
        all == flat
    })
}

fn is_park(offload: &Offload) -> bool {
    offload.kind().is_some_and(|kind| kind.name == KIND)
}

/// Returns the method of a park that an operation calls.
fn called(offloads: &[Offload], op: &Op) -> Option<&'static str> {
    let OpKind::Call { offload, method, .. } = op.kind else { return None };
    let kind = offloads[offload.index()].kind().filter(|kind| kind.name == KIND)?;
    Some(kind.methods[method].name)
}

/// The context variables for what a taken packet brings.
#[derive(Clone, Copy)]
struct Brought {
    /// Whether the thread has taken a packet from a park.
    is_taken: ContextId,
    ingress: ContextId,
    arrival: ContextId,
}

impl Brought {
    fn added_to(engine: &mut Engine) -> Self {
        let mut add = |name: &str, width: u32| {
            engine.context.push(ContextVar { name: name.into(), width });
            ContextId(engine.context.len() as u32 - 1)
        };
        Self {
            is_taken: add("packet.taken", 1),
            ingress: add("packet.ingress", Meta::Ingress.width()),
            arrival: add("packet.arrival", Meta::Arrival.width()),
        }
    }

    /// Returns the variable of an item; `None` if the item is in the packet's state.
    fn variable(self, meta: Meta) -> Option<ContextId> {
        match meta {
            Meta::Ingress => Some(self.ingress),
            Meta::Arrival => Some(self.arrival),
            Meta::Egress | Meta::Length | Meta::Window => None,
        }
    }
}

struct Split<'a> {
    out: Sequence<'a>,
    offloads: &'a [Offload],
    /// Maximum words of a window.
    words: u32,
    brought: Option<Brought>,
}

impl Split<'_> {
    fn block(&mut self, block: &mut Block) {
        for mut op in std::mem::take(&mut block.ops) {
            self.out.loc = op.loc;
            match (called(self.offloads, &op), &op.kind) {
                (Some("keep"), _) => self.keep(&op),
                (Some("take"), _) => self.take(&op),
                (Some(name), _) => {
                    if let OpKind::Call { method, .. } = &mut op.kind {
                        *method = part(name);
                    }
                    self.out.ops.push(op);
                }
                (None, OpKind::ReadMeta(meta)) => self.read_meta_into(*meta, op.results[0]),
                (None, _) => self.out.ops.push(op),
            }
        }
        block.ops = std::mem::take(&mut self.out.ops);
    }

    /// Calls a part of the method that an operation calls.
    fn call(
        &mut self,
        op: &Op,
        name: &str,
        args: Vec<Value>,
        results: Vec<Value>,
        guard: Option<Value>,
    ) {
        let OpKind::Call { offload, .. } = op.kind else { unreachable!("the operation is a call") };
        self.out.effect(OpKind::Call { offload, method: part(name), args }, results, guard);
    }

    fn keep(&mut self, op: &Op) {
        let metas = [Meta::Length, Meta::Window, Meta::Ingress, Meta::Egress, Meta::Arrival];
        let metas = metas.map(|meta| self.meta(meta));
        let [length, window, ..] = metas;
        let parts = metas.iter().zip(FIELDS).map(|(meta, (_, width))| {
            if self.out.width(*meta) == width { *meta } else { self.out.slice(*meta, 0, width) }
        });
        let parts = parts.collect();
        let fields = self.out.op(FIELDS_BITS, OpKind::Concat(parts));
        let done = self.result(op);
        let key = key(op);
        self.call(op, "begin", vec![key, fields], vec![done], op.guard);
        let zero = self.out.number(16, 0);
        for word in 0..self.words {
            let kind = OpKind::ReadPacket { base: zero, bit: WORD_BITS * word };
            let bytes = self.out.op(WORD_BITS, kind);
            let number = self.out.number(16, word);
            let guard = self.has_word(done, word, window);
            self.call(op, "put", vec![number, bytes], Vec::new(), Some(guard));
        }
        self.move_body(op, "store", (length, window), done);
    }

    fn take(&mut self, op: &Op) {
        let reply = self.out.new_value(1 + FIELDS_BITS);
        let key = key(op);
        self.call(op, "release", vec![key], vec![reply], op.guard);
        let found = self.result(op);
        self.out.effect(OpKind::Slice(reply, FIELDS_BITS), vec![found], None);
        let mut low = FIELDS_BITS;
        let [length, window, ingress, egress, arrival] = FIELDS.map(|(_, width)| {
            low -= width;
            self.out.slice(reply, low, width)
        });
        let window = self.out.extend(window, 16);
        if let Some(brought) = self.brought {
            let one = self.out.number(1, 1);
            let set =
                [(brought.is_taken, one), (brought.ingress, ingress), (brought.arrival, arrival)];
            for (variable, value) in set {
                self.out.effect(OpKind::WriteContext(variable, value), Vec::new(), Some(found));
            }
        }
        self.out.effect(OpKind::WriteMeta(Meta::Egress, egress), Vec::new(), Some(found));
        // A window that was kept is not too long.
        let done = self.out.new_value(1);
        self.out.effect(OpKind::Reset { count: window }, vec![done], Some(found));
        self.move_body(op, "fetch", (length, window), found);
        let zero = self.out.number(16, 0);
        for word in 0..self.words {
            let number = self.out.number(16, word);
            let guard = self.has_word(found, word, window);
            let bytes = self.out.new_value(WORD_BITS);
            self.call(op, "get", vec![number], vec![bytes], Some(guard));
            // A byte outside the window is not written.
            for byte in 0..WORD_BYTES {
                let value = self.out.slice(bytes, 8 * (WORD_BYTES - 1 - byte), 8);
                let bit = WORD_BITS * word + 8 * byte;
                let write = OpKind::WritePacket { base: zero, bit, value };
                self.out.effect(write, Vec::new(), Some(found));
            }
        }
    }

    /// Moves the bytes after the window, if there are any.
    fn move_body(&mut self, op: &Op, name: &str, (length, window): (Value, Value), when: Value) {
        let count = self.out.binary(BinaryOp::Sub, length, window);
        let has_body = self.out.binary(BinaryOp::Ult, window, length);
        let guard = self.out.binary(BinaryOp::And, when, has_body);
        self.call(op, name, vec![count], Vec::new(), Some(guard));
    }

    /// Returns whether a window of this length has a byte of a word, and a condition holds.
    fn has_word(&mut self, when: Value, word: u32, window: Value) -> Value {
        let first = self.out.number(16, WORD_BYTES * word);
        let has_word = self.out.binary(BinaryOp::Ult, first, window);
        self.out.binary(BinaryOp::And, when, has_word)
    }

    /// Returns the result of a call, even if the source does not use it.
    fn result(&mut self, op: &Op) -> Value {
        op.results.first().copied().unwrap_or_else(|| self.out.new_value(1))
    }

    /// Reads an item of the metadata of the thread's current packet.
    fn meta(&mut self, meta: Meta) -> Value {
        let value = self.out.new_value(meta.width());
        self.read_meta_into(meta, value);
        value
    }

    fn read_meta_into(&mut self, meta: Meta, result: Value) {
        let variable = self.brought.and_then(|brought| Some((brought, brought.variable(meta)?)));
        let Some((brought, variable)) = variable else {
            return self.out.effect(OpKind::ReadMeta(meta), vec![result], None);
        };
        let width = meta.width();
        let first = self.out.op(width, OpKind::ReadMeta(meta));
        let is_taken = self.out.op(1, OpKind::ReadContext(brought.is_taken));
        let taken = self.out.op(width, OpKind::ReadContext(variable));
        self.out.effect(OpKind::Select(is_taken, taken, first), vec![result], None);
    }
}

/// Returns the key of a call.
fn key(op: &Op) -> Value {
    let OpKind::Call { args, .. } = &op.kind else { unreachable!("the operation is a call") };
    args[0]
}

/// Returns the number of a method of the kind that replaces a park.
fn part(name: &str) -> usize {
    park_in_parts::KIND.method(name).expect("a method of the kind").0
}
