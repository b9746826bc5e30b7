//! Lowers one step of an engine: from step IR in regions to logic in the graph.
//!
//! The operations are lowered in program order, as the golden model executes them. [`StepLogic`]
//! collects their effects: requests, exits, the next state, words to read and to write. The steps
//! are combined afterwards.

use wireloom_bits::Bits;
use wireloom_compile::analysis::ports::{Group, StepPorts};
use wireloom_compile::analysis::{Definitions, is_pure};
use wireloom_ir::{ContextId, Copied, Exit, Meta, OffloadTarget, Op, OpKind, Value};
use wireloom_offloads::registry;

use super::calls::looks_at_packet;
use super::graph::{Graph, Input, Node};
use super::kinds::{self, Call, InBody};
use super::layout;
use super::lowering::{Lowering, Parts, Surroundings};
use super::packet::Hand;
use super::port::OffloadPort;
use super::refusal::Refusal;
use super::step_logic::{ExitKind, ExitLogic, Extent, StepLogic};

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

impl Lowering<'_> {
    fn finish(mut self) -> Result<StepLogic, Refusal> {
        self.hand.seal(self.graph).map_err(|reason| self.refuse(reason))?;
        let Parts { requests, exits, context, egress } = self.logic;
        self.graph.set_place(None);
        Ok(StepLogic { requests, exits, context, egress, hand: self.hand })
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
                let kind = self.exit(exit)?;
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

    fn exit(&mut self, exit: &Exit) -> Result<ExitKind, Refusal> {
        let mut reason = |value: Value, set: u32| {
            let value = self.node(value);
            let set = self.graph.number(8, u64::from(set));
            self.graph.concat(vec![set, value])
        };
        Ok(match exit {
            Exit::Next(step) => ExitKind::Next(step.index()),
            Exit::Emit(step, Copied { bytes, cpu }) => {
                let reason = cpu.map(|(value, set)| reason(value, set.0));
                let extent = bytes.map(|(offset, count)| Extent {
                    offset: self.node(offset),
                    count: self.node(count),
                });
                ExitKind::Emit(step.index(), reason, extent)
            }
            Exit::Finish => ExitKind::Finish,
            Exit::Done => ExitKind::Done,
            Exit::Drop(value, set) => ExitKind::Drop(reason(*value, set.0)),
            Exit::ToCpu(value, set) => ExitKind::ToCpu(reason(*value, set.0)),
            Exit::Reply(value) => ExitKind::Reply(self.node(*value)),
        })
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
            if let Some(reason) = kinds::missing(kind.name) {
                return Err(self.refuse(reason));
            }
            let special = kinds::find(kind.name);
            let body = special.and_then(|special| special.body);
            let call = Call { op, config, method, arguments: &arguments, guard };
            if !self.around.layout.has_packet && looks_at_packet(&declared.target) {
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

    /// Lowers a call in an engine without a packet: it behaves as for an empty packet.
    fn bodiless_call(&mut self, call: &Call<'_>, body: Option<&InBody>) {
        let Some(result) = call.op.results.first() else { return };
        let reply = body.and_then(|body| (body.without_packet)(call)).unwrap_or_else(|| {
            let width = self.width(*result);
            self.graph.constant(Bits::zero(width))
        });
        let reply = self.masked_reply(call.op, call.guard, reply);
        self.define(call.op, reply);
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
            parts.extend(self.place_in_order(port));
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
            parts.push(self.sequence());
        }
        self.graph.concat(parts)
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
