//! Called engines become steps of the engine that calls them.
//!
//! A step that calls engines becomes several steps. For each call there is a step that writes the
//! arguments into variables of the called engine, and a copy of that engine's steps, whose reply
//! goes to a variable. The step itself follows and reads the replies.
//!
//! ```text
//! step look { auto port = walk.search(dst); ... }
//!
//! look:        walk.key = dst; walk.node = 0; next look.walk.begin
//! look.walk.*: ... ; walk.reply = port; next look
//! look:        auto port = walk.reply; ...
//! ```
//!
//! A called engine changes neither the packet nor the context of its caller, and arguments do not
//! depend on replies. So the operations for the arguments can be executed again.

use std::collections::HashSet;
use std::ops::Range;

use wireloom_bits::Bits;
use wireloom_codegen::context::read_unwritten;
use wireloom_codegen::expand::expanded;
use wireloom_codegen::refused::Refused;
use wireloom_compile::passes::exits_first::{Placement, exits_first};
use wireloom_ir::{
    ArrayId, BinaryOp, Block, Code, ContextId, ContextVar, Engine, EngineKind, Exit,
    MAX_BACKWARD_JUMPS, Offload, OffloadId, OffloadTarget, Op, OpKind, Program, Step, StepId,
    UnaryOp, Value, ValueInfo,
};

use super::writes;

/// A program whose engine calls no other engine.
pub struct Inlined {
    /// The program; its offloads are those of [`Store::paths`](wireloom_offloads::Store::paths).
    pub program: Program,
    /// The part that each step plays in calls.
    pub parts: Vec<Part>,
}

/// The part of a step in calls of engines.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Whether it is a step of a called engine, which counts its own jumps back.
    pub is_called: bool,
    /// The arrays of the called engine, which the step clears if it begins a call.
    pub clears: Range<usize>,
}

/// The most steps of an engine together with the engines that it calls.
const MOST_STEPS: usize = 2000;

/// Replaces called engines by steps.
///
/// # Errors
/// Called engines that do not fit.
pub fn inline(program: &Program) -> Result<Inlined, Vec<Refused>> {
    let program = &*expanded(program);
    let mut done: Vec<Flat> = Vec::new();
    // Engines come after the engines that they call.
    for engine in &program.engines[..=program.main.index()] {
        let flat = Inliner::new(engine, &done).engine()?;
        done.push(flat);
    }
    let main = done.swap_remove(program.main.index());
    let mut program = program.clone();
    let mut engine = main.engine;
    let in_sequence = |step: &Step| match step.code {
        Code::Regions { .. } => writes::joined(exits_first(&engine, step, Placement::AtUse)),
        Code::Sequential(_) => step.clone(),
    };
    engine.steps = engine.steps.iter().map(in_sequence).collect();
    program.engines[program.main.index()] = engine;
    Ok(Inlined { program, parts: main.parts })
}

/// An engine together with the steps of the engines that it calls.
struct Flat {
    engine: Engine,
    parts: Vec<Part>,
}

/// The places of the parts of a called engine in its caller.
struct Callee {
    offload: usize,
    context: usize,
    array: usize,
    reply: ContextId,
    /// The width of the reply in bits.
    width: u32,
    /// The variable that counts jumps back of its thread, if there are any.
    jumps: Option<ContextId>,
}

struct Inliner<'a> {
    from: &'a Engine,
    done: &'a [Flat],
    to: Engine,
    parts: Vec<Part>,
    /// The new number of each offload.
    offloads: Vec<usize>,
    /// The parts of each offload that is an engine.
    callees: Vec<Option<Callee>>,
}

impl<'a> Inliner<'a> {
    fn new(from: &'a Engine, done: &'a [Flat]) -> Self {
        let to = Engine { offloads: Vec::new(), steps: Vec::new(), ..from.clone() };
        Self { from, done, to, parts: Vec::new(), offloads: Vec::new(), callees: Vec::new() }
    }

    fn engine(mut self) -> Result<Flat, Vec<Refused>> {
        for number in 0..self.from.offloads.len() {
            self.place(number)?;
        }
        // The first number of each step, with the steps of the engines that it calls before it.
        let mut starts = Vec::new();
        let mut next = 0;
        for step in &self.from.steps {
            starts.push(next);
            let called = calls(self.from, step).into_iter();
            let steps = called.map(|call| 1 + self.callee(&call).0.engine.steps.len());
            next += 1 + steps.sum::<usize>();
        }
        if next > MOST_STEPS {
            return Err(self.refuse(
                self.from.offloads.len(),
                format!("with those that it calls, the engine has {next} steps"),
            ));
        }
        for step in &self.from.steps {
            self.step(step, &starts);
        }
        Ok(Flat { engine: self.to, parts: self.parts })
    }

    fn refuse(&self, offload: usize, why: String) -> Vec<Refused> {
        let offload = self.from.offloads.get(offload).map(|offload| offload.name.clone());
        let message = match &offload {
            Some(name) => format!("offload `{name}` does not fit: {why}"),
            None => format!("engine `{}` does not fit: {why}", self.from.name),
        };
        vec![Refused { offload, step: None, message }]
    }

    /// Places an offload, or the offloads and the context of a called engine.
    fn place(&mut self, number: usize) -> Result<(), Vec<Refused>> {
        let offload = &self.from.offloads[number];
        self.offloads.push(self.to.offloads.len());
        let OffloadTarget::Engine(id) = &offload.target else {
            self.to.offloads.push(offload.clone());
            self.callees.push(None);
            return Ok(());
        };
        let Flat { engine, .. } = &self.done[id.index()];
        let reads_packet = |op: &&Op| match &op.kind {
            OpKind::Call { offload, method, .. } | OpKind::Evaluate { offload, method, .. } => {
                let kind = engine.offloads[offload.index()].kind();
                kind.is_some_and(|kind| kind.methods[*method].reads_packet)
            }
            _ => false,
        };
        if engine.steps.iter().flat_map(Step::ops).any(|op| reads_packet(&op)) {
            let why = "a called engine reads a packet, and it has none".to_owned();
            return Err(self.refuse(number, why));
        }
        let path = |name: &str| format!("{}.{name}", offload.name);
        let variable = |name: &str, width| ContextVar { name: path(name), width };
        let (context, array) = (self.to.context.len(), self.to.arrays.len());
        let first = self.to.offloads.len();
        self.to.offloads.extend(
            engine
                .offloads
                .iter()
                .map(|inner| Offload { name: path(&inner.name), ..inner.clone() }),
        );
        self.to
            .context
            .extend(engine.context.iter().map(|inner| variable(&inner.name, inner.width)));
        self.to.arrays.extend(engine.arrays.iter().cloned().map(|mut inner| {
            inner.name = path(&inner.name);
            inner
        }));
        let EngineKind::Call { reply, .. } = &engine.kind else {
            return Err(self.refuse(number, "the engine takes packets".into()));
        };
        let mut added = |name, width| {
            self.to.context.push(variable(name, width));
            ContextId(self.to.context.len() as u32 - 1)
        };
        let width = *reply;
        let reply = added("reply", width);
        let jumps = jumps_back(engine).then(|| added("jumps", 32));
        self.callees.push(Some(Callee { offload: first, context, array, reply, width, jumps }));
        Ok(())
    }

    fn callee(&self, call: &Call) -> (&'a Flat, &Callee) {
        let OffloadTarget::Engine(id) = &self.from.offloads[call.offload].target else {
            unreachable!("only calls of engines are looked at")
        };
        let callee = self.callees[call.offload].as_ref().expect("an engine has its place");
        (&self.done[id.index()], callee)
    }

    /// Writes a step, after the steps of the engines that it calls.
    fn step(&mut self, step: &Step, starts: &[usize]) {
        for call in calls(self.from, step) {
            let (flat, callee) = self.callee(&call);
            let first = self.to.steps.len() + 1;
            let after = first + flat.engine.steps.len();
            let mut needed = needed(step, &call);
            for op in &mut needed {
                renumber(op, |offload| self.offloads[offload], |step| step);
            }
            let caller = caller(step, &call, needed, flat, callee, first, after);
            let name = format!("{}.{}", step.name, self.from.offloads[call.offload].name);
            let (mut inner, mut parts) = (Vec::new(), Vec::new());
            let array = callee.array;
            parts.push(Part { is_called: false, clears: array..array + flat.engine.arrays.len() });
            for (number, (step, part)) in flat.engine.steps.iter().zip(&flat.parts).enumerate() {
                let mut step = called(step, callee, number, first, after, part.is_called);
                step.name = format!("{name}.{}", step.name);
                inner.push(step);
                let clears = array + part.clears.start..array + part.clears.end;
                parts.push(Part { is_called: true, clears });
            }
            self.parts.extend(parts);
            self.to.steps.push(caller);
            self.to.steps.extend(inner);
        }
        let mut own = step.clone();
        for block in blocks(&mut own.code) {
            for op in &mut block.ops {
                let callee = match &op.kind {
                    OpKind::Call { offload, .. } => self.callees[offload.index()].as_ref(),
                    _ => None,
                };
                if let Some(callee) = callee {
                    op.kind = OpKind::ReadContext(callee.reply);
                    op.guard = None;
                }
                let offloads = &self.offloads;
                renumber(op, |offload| offloads[offload], |step| starts[step]);
            }
            // Nothing reads this reply.
            block
                .ops
                .retain(|op| !matches!(op.kind, OpKind::ReadContext(_)) || !op.results.is_empty());
        }
        self.parts.push(Part::default());
        self.to.steps.push(own);
    }
}

/// A call of an engine in a step.
struct Call {
    offload: usize,
    args: Vec<Value>,
    guard: Option<Value>,
}

/// Returns the calls of engines in a step, in order.
fn calls(engine: &Engine, step: &Step) -> Vec<Call> {
    let call = |op: &Op| match &op.kind {
        OpKind::Call { offload, args, .. } => {
            let offload = offload.index();
            let is_engine = matches!(engine.offloads[offload].target, OffloadTarget::Engine(_));
            is_engine.then(|| Call { offload, args: args.clone(), guard: op.guard })
        }
        _ => None,
    };
    step.ops().filter_map(call).collect()
}

fn blocks(code: &mut Code) -> Vec<&mut Block> {
    match code {
        Code::Sequential(block) => vec![block],
        Code::Regions { request, edit, jump } => vec![request, edit, jump],
    }
}

/// Returns whether a thread of an engine can jump back.
fn jumps_back(engine: &Engine) -> bool {
    engine.steps.iter().enumerate().any(|(number, step)| {
        let is_back =
            |op: &Op| matches!(&op.kind, OpKind::Exit(Exit::Next(to)) if to.index() <= number);
        step.ops().any(is_back)
    })
}

/// Renumbers offloads and steps.
fn renumber(op: &mut Op, offloads: impl Fn(usize) -> usize, steps: impl Fn(usize) -> usize) {
    match &mut op.kind {
        OpKind::Call { offload, .. } | OpKind::Evaluate { offload, .. } => {
            *offload = OffloadId(offloads(offload.index()) as u32);
        }
        OpKind::Exit(Exit::Next(to) | Exit::Emit(to, _)) => *to = StepId(steps(to.index()) as u32),
        _ => {}
    }
}

/// A step under construction.
struct Builder<'a> {
    values: &'a mut Vec<ValueInfo>,
    ops: Vec<Op>,
    model: Op,
}

impl Builder<'_> {
    fn value(&mut self, kind: OpKind, width: u32) -> Value {
        let value = Value(self.values.len() as u32);
        self.values.push(ValueInfo { width, name: None });
        self.ops.push(Op { kind, results: vec![value], guard: None, ..self.model.clone() });
        value
    }

    fn constant(&mut self, width: u32, number: u32) -> Value {
        let bits = match number {
            0 => Bits::zero(width),
            _ => Bits::new(width, u128::from(number)),
        };
        self.value(OpKind::Const(bits), width)
    }

    fn act(&mut self, kind: OpKind, guard: Option<Value>) {
        self.ops.push(Op { kind, results: Vec::new(), guard, ..self.model.clone() });
    }

    fn next(&mut self, to: usize, guard: Option<Value>) {
        self.act(OpKind::Exit(Exit::Next(StepId(to as u32))), guard);
    }

    fn and(&mut self, guard: Option<Value>, other: Value) -> Value {
        match guard {
            Some(guard) => self.value(OpKind::Binary(BinaryOp::And, guard, other), 1),
            None => other,
        }
    }
}

/// Returns the step that gives the arguments to a called engine with the steps from `first` up to
/// `after`.
fn caller(
    step: &Step,
    call: &Call,
    needed: Vec<Op>,
    flat: &Flat,
    callee: &Callee,
    first: usize,
    after: usize,
) -> Step {
    let mut values = step.values.clone();
    let model = Op { kind: OpKind::Exit(Exit::Done), results: vec![], guard: None, loc: step.loc };
    let mut build = Builder { values: &mut values, ops: needed, model };
    let EngineKind::Call { params, .. } = &flat.engine.kind else {
        unreachable!("a called engine")
    };
    let own = |id: usize| ContextId((callee.context + id) as u32);
    let mut zeros: Vec<(ContextId, u32)> = read_unwritten(&flat.engine)
        .into_iter()
        .filter(|id| !params.iter().any(|param| param.index() == *id))
        .map(|id| (own(id), flat.engine.context[id].width))
        .collect();
    zeros.extend(callee.jumps.map(|jumps| (jumps, 32)));
    zeros.extend(call.guard.map(|_| (callee.reply, callee.width)));
    for (variable, width) in zeros {
        let zero = build.constant(width, 0);
        build.act(OpKind::WriteContext(variable, zero), None);
    }
    for (param, arg) in params.iter().zip(&call.args) {
        build.act(OpKind::WriteContext(own(param.index()), *arg), None);
    }
    build.next(first, call.guard);
    if call.guard.is_some() {
        build.next(after, None);
    }
    let block = Block { ops: build.ops };
    Step { values, code: Code::Sequential(block), ..step.clone() }
}

/// Returns the operations of a step that the arguments and the guard of a call need.
fn needed(step: &Step, call: &Call) -> Vec<Op> {
    let mut wanted: HashSet<Value> = call.args.iter().copied().chain(call.guard).collect();
    let mut kept = Vec::new();
    for op in step.ops().rev() {
        if op.results.iter().any(|result| wanted.contains(result)) {
            wanted.extend(op.kind.operands().into_iter().chain(op.guard));
            kept.push(op.clone());
        }
    }
    kept.reverse();
    kept
}

/// Returns a step of a called engine with the steps from `first` up to `after`.
fn called(
    step: &Step,
    callee: &Callee,
    number: usize,
    first: usize,
    after: usize,
    counts: bool,
) -> Step {
    let mut values = step.values.clone();
    let mut all = Vec::new();
    for op in step.ops() {
        let mut op = op.clone();
        match &mut op.kind {
            OpKind::ReadContext(id) | OpKind::WriteContext(id, _) => {
                *id = ContextId((callee.context + id.index()) as u32);
            }
            OpKind::ReadElement { array, .. } | OpKind::WriteElement { array, .. } => {
                *array = ArrayId((callee.array + array.index()) as u32);
            }
            _ => {}
        }
        renumber(&mut op, |offload| callee.offload + offload, |step| first + step);
        let guard = op.guard;
        let mut build = Builder { values: &mut values, ops: Vec::new(), model: op.clone() };
        match &op.kind {
            OpKind::Exit(Exit::Reply(value)) => {
                build.act(OpKind::WriteContext(callee.reply, *value), guard);
                build.next(after, guard);
            }
            OpKind::Exit(Exit::Next(to)) if to.index() <= first + number && !counts => {
                // A thread that jumps back too often replies with zero.
                let Some(variable) = callee.jumps else { unreachable!("it jumps back") };
                let jumps = build.value(OpKind::ReadContext(variable), 32);
                let most = build.constant(32, MAX_BACKWARD_JUMPS);
                let one = build.constant(32, 1);
                let more = build.value(OpKind::Binary(BinaryOp::Add, jumps, one), 32);
                let is_over = build.value(OpKind::Binary(BinaryOp::Eq, jumps, most), 1);
                let goes_on = build.value(OpKind::Unary(UnaryOp::Not, is_over), 1);
                let (over, on) = (build.and(guard, is_over), build.and(guard, goes_on));
                let zero = build.constant(callee.width, 0);
                build.act(OpKind::WriteContext(callee.reply, zero), Some(over));
                build.act(OpKind::WriteContext(variable, more), Some(on));
                build.next(after, Some(over));
                build.next(to.index(), Some(on));
            }
            _ => build.ops.push(op.clone()),
        }
        all.extend(build.ops);
    }
    Step { values, code: Code::Sequential(Block { ops: all }), ..step.clone() }
}
