//! The state of a step that is being lowered. `lower` and the offload kinds add the step's logic to
//! it.

mod unseen;

use std::collections::HashMap;

use wireloom_compile::analysis::Definitions;
use wireloom_compile::analysis::liveness::{self, ContextSet};
use wireloom_compile::analysis::ports::{self, StepPorts};
use wireloom_ir::{BinaryOp, ContextId, Engine, Loc, Op, Program, Step, Value};

use super::calls;
use super::graph::{Graph, Input, Node};
use super::layout::Layout;
use super::packet::Hand;
use super::port::{BEGIN_BITS, Body, OffloadPort, PLACE_BITS, TICKET_BITS};
use super::refusal::Refusal;
use super::step_logic::{ExitLogic, Writes};

/// The properties of the engine that lowering a step needs.
pub struct Surroundings<'a> {
    pub(super) program: &'a Program,
    pub(super) engine: &'a Engine,
    pub(super) layout: &'a Layout,
    pub(super) ports: &'a [OffloadPort],
    /// The accesses of each step to the header.
    pub(super) groups: Vec<StepPorts>,
    /// The context variables that may have been written before each step.
    pub(super) written: Vec<ContextSet>,
    /// For each step and offload, whether no later step calls it ([`calls::last_calls`]).
    pub(super) last: Vec<Vec<bool>>,
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
            last: calls::last_calls(engine),
        }
    }
}

#[derive(Default)]
pub(super) struct Parts {
    pub(super) requests: Vec<(usize, Node, Node)>,
    pub(super) exits: Vec<ExitLogic>,
    pub(super) context: HashMap<ContextId, Writes>,
    pub(super) egress: Writes,
}

/// A step that is being lowered.
pub(super) struct Lowering<'a> {
    /// The logic so far.
    pub(super) graph: &'a mut Graph,
    pub(super) around: &'a Surroundings<'a>,
    pub(super) index: usize,
    pub(super) step: &'a Step,
    pub(super) definitions: &'a Definitions<'a>,
    pub(super) values: Vec<Option<Node>>,
    /// The current value of each context variable.
    pub(super) context: Vec<Node>,
    pub(super) hand: Hand,
    pub(super) logic: Parts,
    /// The source location of the current operation.
    pub(super) loc: Loc,
}

impl Lowering<'_> {
    pub(super) fn refuse(&self, reason: impl Into<String>) -> Refusal {
        Refusal::at(self.around.program, self.around.engine, self.step, self.loc, reason)
    }

    pub(super) fn node(&self, value: Value) -> Node {
        self.values[value.index()].expect("verified code defines before it uses")
    }

    pub(super) fn width(&self, value: Value) -> u32 {
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

    pub(super) fn guard(&mut self, op: &Op) -> Node {
        match op.guard {
            Some(guard) => self.node(guard),
            None => self.graph.bit(true),
        }
    }

    /// Returns the packet's arrival time.
    pub(super) fn arrival(&mut self) -> Node {
        let low = self.around.layout.arrival.expect("the layout has what the engine uses");
        let info = self.graph.input(Input::Info, self.around.layout.info_bits);
        self.graph.slice(info, low, 64)
    }

    /// Returns the packet's sequence number.
    pub(super) fn sequence(&mut self) -> Node {
        let low = self.around.layout.sequence.expect("the layout has what the engine uses");
        let info = self.graph.input(Input::Info, self.around.layout.info_bits);
        self.graph.slice(info, low, 64)
    }

    /// Returns the packet's ticket.
    pub(super) fn ticket(&mut self) -> Node {
        let low = self.around.layout.ticket.expect("the layout has what the ports use");
        let info = self.graph.input(Input::Info, self.around.layout.info_bits);
        self.graph.slice(info, low, TICKET_BITS)
    }

    /// Returns the fields of a request that give its place in the order of packets: whether it is
    /// the packet's last one, and the packet's ticket.
    pub(super) fn place_in_order(&mut self, port: &OffloadPort) -> [Node; 2] {
        let is_last = self.around.last[self.index][port.offload.index()];
        [self.graph.bit(is_last), self.ticket()]
    }

    /// Returns the lengths of the header window and of the packet, [`BEGIN_BITS`] bits each, and
    /// that of the body, 16 bits.
    pub(super) fn extent(&mut self) -> [Node; 3] {
        let (window, length) = (self.hand.window(self.graph), self.hand.length(self.graph));
        let window = self.graph.resize(window, BEGIN_BITS);
        let length = self.graph.resize(length, BEGIN_BITS);
        let body = self.graph.binary(BinaryOp::Sub, length, window);
        [window, length, self.graph.slice(body, 0, 16)]
    }

    /// Returns the address of the packet's body in the body buffer.
    pub(super) fn place(&mut self) -> Node {
        let low = self.around.layout.place.expect("the layout has what the ports use");
        let info = self.graph.input(Input::Info, self.around.layout.info_bits);
        self.graph.slice(info, low, PLACE_BITS)
    }

    /// Returns how the service at a port accesses bodies.
    pub(super) fn body_of(&self, port: usize) -> Option<Body> {
        self.around.ports[port].body
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

    /// Adds a request at a port, under a condition. Calls of one offload share the request: in a
    /// step with regions, at most one of them happens (docs/ir.md).
    pub(super) fn ask(&mut self, number: usize, guard: Node, data: Node) {
        let Some(at) = self.logic.requests.iter().position(|(port, ..)| *port == number) else {
            return self.logic.requests.push((number, guard, data));
        };
        let (_, other, request) = self.logic.requests[at];
        let condition = self.graph.or(other, guard);
        let request = self.graph.select(guard, data, request);
        self.logic.requests[at] = (number, condition, request);
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
}
