//! Lowers one step of an engine: from step IR in regions to logic in the graph.
//!
//! The operations are lowered in program order, as the golden model executes them. [`StepLogic`]
//! collects their effects: requests, exits, the next state, words to read and to write. The steps
//! are combined afterwards.

mod body;

use std::collections::HashMap;

use wireloom_bits::Bits;
use wireloom_compile::analysis::conditions::{Guards, Literals};
use wireloom_compile::analysis::liveness::{self, ContextSet};
use wireloom_compile::analysis::ports::{self, Group, StepPorts};
use wireloom_compile::analysis::{Definitions, is_pure};
use wireloom_ir::{
    BinaryOp, ContextId, Engine, Exit, Loc, Meta, OffloadTarget, Op, OpKind, Program, Step,
    UnaryOp, Value,
};
use wireloom_offloads::registry;

use super::graph::{Graph, Input, Node};
use super::kinds::{self, Call};
use super::layout::{self, Layout};
use super::offload::{self, OffloadPort};
use super::packet::Hand;
use super::refusal::Refusal;

/// Writes in program order: condition and value.
pub type Writes = Vec<(Node, Node)>;

/// The logic of a step.
pub struct StepLogic {
    /// The calls, at most one for each port: port, condition and data.
    pub requests: Vec<(usize, Node, Node)>,
    /// The exits of the step. Their conditions exclude each other.
    pub exits: Vec<ExitLogic>,
    /// Writes of context variables.
    pub context: HashMap<ContextId, Writes>,
    /// Writes of the egress port.
    pub egress: Writes,
    /// The packet.
    pub hand: Hand,
}

/// An exit.
pub struct ExitLogic {
    /// The condition under which it is taken.
    pub condition: Node,
    /// Its kind.
    pub kind: ExitKind,
}

/// The kind of an exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitKind {
    /// Continues at a step.
    Next(usize),
    /// Sends a copy and continues.
    Emit(usize),
    /// Sends the packet.
    Finish,
    /// Drops the packet, for a reason of 24 bits.
    Drop(Node),
    /// Hands the packet to the control processor, for a reason of 24 bits.
    ToCpu(Node),
    /// Ends the thread.
    Done,
    /// Returns a value from a called engine.
    Reply(Node),
}

/// The properties of the engine that lowering a step needs.
pub struct Surroundings<'a> {
    program: &'a Program,
    engine: &'a Engine,
    layout: &'a Layout,
    ports: &'a [OffloadPort],
    /// The accesses of each step to the header.
    groups: Vec<StepPorts>,
    /// The context variables that may have been written before each step.
    written: Vec<ContextSet>,
    /// For each step and offload, whether no later step calls it ([`offload::last_calls`]).
    last: Vec<Vec<bool>>,
}

impl<'a> Surroundings<'a> {
    /// Returns the surroundings for an engine with this layout and these offload ports.
    pub fn new(
        program: &'a Program,
        engine: &'a Engine,
        layout: &'a Layout,
        ports: &'a [OffloadPort],
    ) -> Self {
        Self {
            program,
            engine,
            layout,
            ports,
            groups: ports::ports(engine, layout.header_bytes),
            written: liveness::written(engine),
            last: offload::last_calls(engine),
        }
    }
}

/// Lowers a step.
///
/// # Errors
/// If the hardware cannot execute the step.
pub fn step(
    graph: &mut Graph,
    around: &Surroundings<'_>,
    index: usize,
) -> Result<StepLogic, Refusal> {
    let step = &around.engine.steps[index];
    let (groups, written) = (&around.groups[index], &around.written[index]);
    let definitions = Definitions::of(step);
    graph.set_place(Some((index, step.loc)));
    let state = graph.input(Input::State, around.layout.state_bits);
    let mut context = Vec::new();
    for (id, var) in around.engine.context.iter().enumerate() {
        let is_zero = !written.contains(ContextId(id as u32));
        context.push(if is_zero {
            graph.constant(Bits::zero(var.width))
        } else {
            graph.slice(state, around.layout.context[id], var.width)
        });
    }
    let hand = Hand::new(graph, around.layout, groups);
    let mut lowering = Lowering {
        graph,
        around,
        index,
        step,
        definitions: &definitions,
        values: vec![None; step.values.len()],
        context,
        hand,
        logic: Parts::default(),
        loc: step.loc,
    };
    for (block, code) in step.code.blocks().enumerate() {
        for (position, op) in code.ops.iter().enumerate() {
            lowering.op(op, (block, position), groups)?;
        }
    }
    lowering.finish()
}

#[derive(Default)]
struct Parts {
    requests: Vec<(usize, Node, Node)>,
    exits: Vec<ExitLogic>,
    context: HashMap<ContextId, Writes>,
    egress: Writes,
}

/// A step that is being lowered.
pub(super) struct Lowering<'a> {
    /// The logic so far.
    pub(super) graph: &'a mut Graph,
    around: &'a Surroundings<'a>,
    index: usize,
    step: &'a Step,
    definitions: &'a Definitions<'a>,
    values: Vec<Option<Node>>,
    /// The current value of each context variable.
    context: Vec<Node>,
    /// The packet.
    pub(super) hand: Hand,
    logic: Parts,
    /// The source location of the current operation.
    loc: Loc,
}

impl Lowering<'_> {
    fn finish(mut self) -> Result<StepLogic, Refusal> {
        self.hand.seal(self.graph).map_err(|reason| self.refuse(reason))?;
        let Parts { requests, exits, context, egress } = self.logic;
        self.graph.set_place(None);
        Ok(StepLogic { requests, exits, context, egress, hand: self.hand })
    }

    fn refuse(&self, reason: impl Into<String>) -> Refusal {
        Refusal::at(self.around.program, self.around.engine, self.step, self.loc, reason)
    }

    fn node(&self, value: Value) -> Node {
        self.values[value.index()].expect("verified code defines before it uses")
    }

    fn width(&self, value: Value) -> u32 {
        self.step.values[value.index()].width
    }

    /// Defines the result of an operation, if it has one.
    pub(super) fn define(&mut self, op: &Op, node: Node) {
        let Some(result) = op.results.first() else { return };
        if let Some(name) = &self.step.values[result.index()].name {
            self.graph.set_name(node, name);
        }
        self.values[result.index()] = Some(node);
    }

    fn guard(&mut self, op: &Op) -> Node {
        match op.guard {
            Some(guard) => self.node(guard),
            None => self.graph.bit(true),
        }
    }

    fn op(&mut self, op: &Op, at: (usize, usize), groups: &StepPorts) -> Result<(), Refusal> {
        if op.loc.line > 0 {
            self.loc = op.loc;
        }
        self.graph.set_place(Some((self.index, self.loc)));
        if let OpKind::Evaluate { offload, method, args } = &op.kind {
            let always = self.graph.bit(true);
            return self.call(op, offload.index(), *method, args, always);
        }
        if is_pure(&op.kind) {
            let node = self.pure(op);
            self.define(op, node);
            return Ok(());
        }
        let guard = self.guard(op);
        match &op.kind {
            OpKind::ReadContext(id) => {
                let node = self.context[id.index()];
                self.graph.set_name(node, &self.around.engine.context[id.index()].name);
                self.define(op, node);
            }
            OpKind::WriteContext(id, value) => {
                let value = self.node(*value);
                self.logic.context.entry(*id).or_default().push((guard, value));
                self.context[id.index()] =
                    self.graph.select(guard, value, self.context[id.index()]);
            }
            OpKind::ReadPacket { .. } => {
                let width = self.width(op.results[0]);
                let (group, bit) = located(&groups.reads, at);
                let root = self.root(&groups.reads[group]);
                let field = self
                    .hand
                    .read(self.graph, (group, &groups.reads[group], root), bit, width)
                    .map_err(|reason| self.refuse(reason))?;
                self.define(op, field);
            }
            OpKind::WritePacket { value, .. } => {
                let value = self.node(*value);
                let (group, bit) = located(&groups.writes, at);
                let root = self.root(&groups.writes[group]);
                self.hand
                    .write(self.graph, (group, &groups.writes[group], root), bit, guard, value)
                    .map_err(|reason| self.refuse(reason))?;
            }
            OpKind::ReadMeta(meta) => {
                let node = self.meta(*meta);
                self.graph.set_name(node, &format!("packet_{}", meta.name()));
                self.define(op, node);
            }
            OpKind::WriteMeta(_, value) => {
                let value = self.node(*value);
                self.logic.egress.push((guard, value));
            }
            OpKind::Insert { offset, count } | OpKind::Remove { offset, count } => {
                let offset = self.node(*offset);
                if !self.graph.as_constant(offset).is_some_and(Bits::is_zero) {
                    return Err(self.refuse(
                        "bytes are inserted or removed after the packet's first byte: the header \
                         windows of this machine grow and shrink at their front only",
                    ));
                }
                let count = self.node(*count);
                let done = if matches!(op.kind, OpKind::Insert { .. }) {
                    self.hand.insert(self.graph, guard, count)
                } else {
                    self.hand.remove(self.graph, guard, count)
                }
                .map_err(|reason| self.refuse(reason))?;
                self.define(op, done);
            }
            OpKind::Reset { count } => {
                let count = self.node(*count);
                let done = self
                    .hand
                    .reset(self.graph, guard, count)
                    .map_err(|reason| self.refuse(reason))?;
                self.define(op, done);
            }
            OpKind::Call { offload, method, args } => {
                self.call(op, offload.index(), *method, args, guard)?
            }
            OpKind::Exit(exit) => {
                let kind = self.exit(exit);
                self.logic.exits.push(ExitLogic { condition: guard, kind });
            }
            _ => return Err(self.refuse("the step has an `if`: it was not brought into regions")),
        }
        Ok(())
    }

    fn root(&self, group: &Group) -> Option<Node> {
        group.root.map(|root| self.node(root))
    }

    fn pure(&mut self, op: &Op) -> Node {
        let width = self.width(op.results[0]);
        match &op.kind {
            OpKind::Const(bits) => self.graph.constant(bits.clone()),
            OpKind::Unary(unary, a) => {
                let a = self.node(*a);
                self.graph.unary(*unary, a)
            }
            OpKind::Binary(binary, a, b) => {
                let (a, b) = (self.node(*a), self.node(*b));
                self.graph.binary(*binary, a, b)
            }
            OpKind::Select(c, a, b) => {
                let (c, a, b) = (self.node(*c), self.node(*a), self.node(*b));
                self.graph.select(c, a, b)
            }
            OpKind::Extend(a) => {
                let a = self.node(*a);
                self.graph.extend(a, width)
            }
            OpKind::Slice(a, low) => {
                let a = self.node(*a);
                self.graph.slice(a, *low, width)
            }
            OpKind::Table { elements, index } => {
                let index = self.node(*index);
                self.graph.table(elements, index)
            }
            OpKind::Concat(parts) => {
                let parts = parts.iter().map(|p| self.node(*p)).collect();
                self.graph.concat(parts)
            }
            _ => unreachable!("the operation is pure"),
        }
    }

    fn meta(&mut self, meta: Meta) -> Node {
        let info = self.graph.input(Input::Info, self.around.layout.info_bits);
        let state = self.graph.input(Input::State, self.around.layout.state_bits);
        match meta {
            Meta::Ingress => self.graph.slice(info, layout::INFO_INGRESS, 16),
            Meta::Egress => {
                let arriving = self.graph.slice(state, layout::EGRESS, 16);
                self.logic
                    .egress
                    .iter()
                    .fold(arriving, |now, (guard, value)| self.graph.select(*guard, *value, now))
            }
            Meta::Length => self.hand.length(self.graph),
            Meta::Window => {
                let window = self.hand.window(self.graph);
                self.graph.extend(window, 16)
            }
            Meta::Arrival => self.arrival(),
        }
    }

    /// Returns the packet's arrival time.
    pub(super) fn arrival(&mut self) -> Node {
        let low = self.around.layout.arrival.expect("the layout has what the engine uses");
        let info = self.graph.input(Input::Info, self.around.layout.info_bits);
        self.graph.slice(info, low, 64)
    }

    /// Returns the lowest `bits` bits of the packet's number.
    fn sequence(&mut self, bits: u32) -> Node {
        let low = self.around.layout.sequence.expect("the layout has what the engine uses");
        let info = self.graph.input(Input::Info, self.around.layout.info_bits);
        self.graph.slice(info, low, bits)
    }

    fn exit(&mut self, exit: &Exit) -> ExitKind {
        let mut reason = |value: Value, set: u32| {
            let value = self.node(value);
            let set = self.graph.number(8, u64::from(set));
            self.graph.concat(vec![set, value])
        };
        match exit {
            Exit::Next(step) => ExitKind::Next(step.index()),
            Exit::Emit(step) => ExitKind::Emit(step.index()),
            Exit::Finish => ExitKind::Finish,
            Exit::Done => ExitKind::Done,
            Exit::Drop(value, set) => ExitKind::Drop(reason(*value, set.0)),
            Exit::ToCpu(value, set) => ExitKind::ToCpu(reason(*value, set.0)),
            Exit::Reply(value) => ExitKind::Reply(self.node(*value)),
        }
    }

    fn call(
        &mut self,
        op: &Op,
        offload: usize,
        method: usize,
        args: &[Value],
        guard: Node,
    ) -> Result<(), Refusal> {
        let arguments: Vec<Node> = args.iter().map(|a| self.node(*a)).collect();
        let declared = &self.around.engine.offloads[offload];
        let port = self.around.ports.iter().position(|port| port.offload.index() == offload);
        let port = || port.expect("what is called and not inside has a port");
        if let OffloadTarget::Kind(config) = &declared.target {
            let kind =
                registry::kind(&config.kind).expect("verified programs use kinds of the registry");
            let method = kind.methods[method].name;
            if let Some(reason) = offload::missing(kind.name) {
                return Err(self.refuse(reason));
            }
            let special = kinds::find(kind.name);
            let body = special.and_then(|special| special.body);
            let call = Call { op, config, method, arguments: &arguments, guard };
            if !self.around.layout.has_packet && offload::looks_at_packet(&declared.target) {
                self.bodiless_call(&call, body);
                return Ok(());
            }
            if let Some(inside) = special.and_then(|special| (special.inside)(method)) {
                let reply = inside(self, &call);
                self.define(op, reply);
                return Ok(());
            }
            if matches!(op.kind, OpKind::Evaluate { .. }) {
                return Err(self.refuse(format!(
                    "`{}` is evaluated within a step: on this machine a service computes it, which \
                     takes a call",
                    kind.name
                )));
            }
            if let Some(body) = body {
                (body.call)(self, &call, port());
                return Ok(());
            }
        }
        let number = port();
        let data = self.request(&self.around.ports[number], method, arguments);
        self.ask(number, guard, data);
        self.define_reply(op, number, guard);
        Ok(())
    }

    /// Defines the result of a call, if it has one, as its port's reply.
    pub(super) fn define_reply(&mut self, op: &Op, number: usize, guard: Node) {
        let Some(result) = op.results.first() else { return };
        let width = self.width(*result);
        let reply = self.reply(number, width);
        let reply = self.masked_reply(op, guard, reply);
        self.define(op, reply);
    }

    /// Returns the lowest `width` bits of a port's reply.
    fn reply(&mut self, number: usize, width: u32) -> Node {
        let bits = self.around.ports[number].reply_bits;
        let reply = self.graph.input(Input::Reply(number as u32), bits);
        self.graph.slice(reply, 0, width)
    }

    /// Adds a request at a port, under a condition. Calls of one offload share the request: in a step
    /// with regions, at most one of them happens (docs/ir.md).
    pub(super) fn ask(&mut self, number: usize, guard: Node, data: Node) {
        let Some(at) = self.logic.requests.iter().position(|(port, ..)| *port == number) else {
            return self.logic.requests.push((number, guard, data));
        };
        let (_, other, request) = self.logic.requests[at];
        let condition = self.graph.or(other, guard);
        let request = self.graph.select(guard, data, request);
        self.logic.requests[at] = (number, condition, request);
    }

    /// Returns the data of a request in the format of [`OffloadPort`].
    fn request(&mut self, port: &OffloadPort, method: usize, arguments: Vec<Node>) -> Node {
        let position = port
            .methods
            .iter()
            .position(|m| m.method == method)
            .expect("the port has what is used");
        let mut parts = Vec::new();
        if port.ordered {
            parts.push(self.graph.bit(self.around.last[self.index][port.offload.index()]));
            parts.push(self.sequence(offload::TICKET_BITS));
        }
        if port.method_bits() > 0 {
            parts.push(self.graph.number(port.method_bits(), position as u64));
        }
        let own: u32 = arguments.iter().map(|a| self.graph.width(*a)).sum();
        if port.argument_bits > own {
            parts.push(self.graph.constant(Bits::zero(port.argument_bits - own)));
        }
        parts.extend(arguments);
        if port.arrival {
            parts.push(self.arrival());
        }
        if port.sequence {
            parts.push(self.sequence(64));
        }
        self.graph.concat(parts)
    }

    /// Returns a reply that is zero if the call does not happen. If nothing can observe the
    /// difference, the reply is not masked.
    pub(super) fn masked_reply(&mut self, op: &Op, guard: Node, reply: Node) -> Node {
        let Some(result) = op.results.first() else { return reply };
        match op.guard {
            Some(value) if !self.is_unseen_without(*result, value) => self.graph.mask(guard, reply),
            _ => reply,
        }
    }

    /// Whether a one-bit value certainly has the given polarity, given the known literals.
    fn follows(&self, known: &Literals, value: Value, polarity: bool) -> bool {
        if let Some(is) = known.get(&value) {
            return *is == polarity;
        }
        match (self.definitions.kind(value), polarity) {
            (Some(OpKind::Unary(UnaryOp::Not, a)), _) => self.follows(known, *a, !polarity),
            (Some(OpKind::Binary(BinaryOp::And, a, b)), true)
            | (Some(OpKind::Binary(BinaryOp::Or, a, b)), false) => {
                self.follows(known, *a, polarity) && self.follows(known, *b, polarity)
            }
            (Some(OpKind::Binary(BinaryOp::Or, a, b)), true)
            | (Some(OpKind::Binary(BinaryOp::And, a, b)), false) => {
                self.follows(known, *a, polarity) || self.follows(known, *b, polarity)
            }
            _ => false,
        }
    }

    /// Whether nothing depends on a value while a guard does not hold.
    fn is_unseen_without(&self, value: Value, guard: Value) -> bool {
        let guards = Guards::new(self.definitions);
        let implies = |condition: Value, polarity: bool| {
            self.follows(&guards.literals(condition, polarity), guard, true)
        };
        let mut work = vec![value];
        let mut seen = vec![false; self.step.values.len()];
        while let Some(value) = work.pop() {
            if std::mem::replace(&mut seen[value.index()], true) {
                continue;
            }
            let mut is_seen = false;
            self.step.for_each_op(|op| {
                let mut uses = op.guard == Some(value);
                op.kind.for_each_operand(|v| uses |= v == value);
                if !uses {
                    return;
                }
                if !is_pure(&op.kind) {
                    // An effect that the value itself guards depends on it.
                    is_seen |=
                        op.guard == Some(value) || !op.guard.is_some_and(|g| implies(g, true));
                    return;
                }
                let hidden = match &op.kind {
                    OpKind::Binary(BinaryOp::And, a, b) => {
                        let other = if *a == value { *b } else { *a };
                        self.width(other) == 1 && a != b && implies(other, true)
                    }
                    OpKind::Binary(BinaryOp::Or, a, b) => {
                        let other = if *a == value { *b } else { *a };
                        self.width(other) == 1 && a != b && implies(other, false)
                    }
                    OpKind::Select(c, a, b) => {
                        *c != value
                            && (*a != value || implies(*c, true))
                            && (*b != value || implies(*c, false))
                    }
                    _ => false,
                };
                if !hidden {
                    work.extend(op.results.iter().copied());
                }
            });
            if is_seen {
                return false;
            }
        }
        true
    }
}

/// Returns the group that contains an access, and the bit at which its field begins in the group.
fn located(groups: &[Group], (block, op): (usize, usize)) -> (usize, u32) {
    for (index, group) in groups.iter().enumerate() {
        if let Some(access) = group.accesses.iter().find(|a| (a.block, a.op) == (block, op)) {
            return (index, access.bit);
        }
    }
    unreachable!("each access is in a group")
}
