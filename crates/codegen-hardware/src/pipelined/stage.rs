//! The logic of one step as a stage of a pipeline.

use std::ops::Range;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Engine, EngineId, OffloadTarget, Program};
use wireloom_offloads::Config;

use crate::core::graph::{Graph, Input, Node, NodeKind};
use crate::core::layout::Layout;
use crate::core::step_logic::{ExitKind, StepLogic};
use crate::core::{OffloadPort, ROW_BYTES, Refusal, Surroundings, lower, offload};

/// The data common to all stages of an engine.
pub struct Frame<'a> {
    pub(super) program: &'a Program,
    pub(super) engine: &'a Engine,
    pub(super) layout: Layout,
    pub(super) ports: Vec<OffloadPort>,
    /// The steps in the order of the pipeline.
    pub(super) order: Vec<usize>,
}

/// A step. In the graph, [`Input::Phase`] means that the thread is at this step, and
/// [`Input::Info`] is the reply of an earlier step.
pub struct Stage {
    pub(super) step: usize,
    pub(super) graph: Graph,
    pub(super) reads: Vec<Read>,
    /// The steps at which the thread continues, with their conditions.
    pub(super) next: Vec<(usize, Node)>,
    /// The reply after this step, if this or an earlier step can reply.
    pub(super) reply: Option<Node>,
    /// The steps at which a thread can be before this stage, beginning with this one.
    pub(super) present: Vec<usize>,
    /// The bits of the state that are needed before the stage.
    pub(super) needs: Vec<Range<u32>>,
    /// The kept bits that are needed after the memories have returned their data.
    pub(super) keeps: Vec<Range<u32>>,
    /// The bits of the state that are needed after the stage, with their values.
    pub(super) leaves: Vec<(Range<u32>, Node)>,
}

/// A read of a memory.
pub struct Read {
    pub(super) port: usize,
    /// The condition of the read.
    pub(super) valid: Node,
    /// The index, as wide as the memory's addresses.
    pub(super) address: Node,
    /// Whether the index is in range, unless it always is. Out of range, the reply is zero.
    pub(super) inside: Option<Node>,
}

impl<'a> Frame<'a> {
    pub(super) fn new(program: &'a Program, engine: EngineId, order: Vec<usize>) -> Self {
        let body = &program.engines[engine.index()];
        let ports = offload::ports(program, engine);
        // A called engine accesses no header, so its words may have any length.
        let layout = Layout::of(program, body, &ports, ROW_BYTES);
        Self { program, engine: body, layout, ports, order }
    }

    /// Returns the number of elements of a port's memory.
    pub(super) fn size(&self, port: usize) -> u64 {
        self.config(port).param("size").low_u64()
    }

    /// Returns the configuration of a port's offload.
    pub(super) fn config(&self, port: usize) -> &'a Config {
        match &self.engine.offloads[self.ports[port].offload.index()].target {
            OffloadTarget::Kind(config) => config,
            OffloadTarget::Engine(_) => unreachable!("pipelines call memories only"),
        }
    }

    /// Returns the number of bits of the addresses of a port's memory.
    pub(super) fn address_bits(&self, port: usize) -> u32 {
        self.size(port).next_power_of_two().trailing_zeros().max(1)
    }

    pub(super) fn stages(&self) -> Result<Vec<Stage>, Refusal> {
        let around = Surroundings::new(self.program, self.engine, &self.layout, &self.ports);
        let mut present = vec![self.order[0]];
        let mut replied = false;
        let mut drafts = Vec::new();
        for &step in &self.order {
            let mut graph = Graph::new();
            let logic = lower::step(&mut graph, &around, step)?;
            let at = present
                .iter()
                .position(|&other| other == step)
                .expect("each step is reached from the first");
            present.remove(at);
            let mut own = vec![step];
            own.extend(&present);
            for exit in &logic.exits {
                if let ExitKind::Next(next) = exit.kind
                    && !present.contains(&next)
                {
                    present.push(next);
                }
            }
            let before = replied;
            replied |= logic.exits.iter().any(|exit| matches!(exit.kind, ExitKind::Reply(_)));
            drafts.push((step, graph, logic, own, before));
        }
        let mut stages: Vec<Stage> = Vec::new();
        let mut needed = Bits::zero(self.layout.state_bits);
        for (step, graph, logic, present, replied) in drafts.into_iter().rev() {
            let stage = Stage::new(self, step, graph, logic, present, replied, &needed);
            needed = mask(&stage.needs, self.layout.state_bits);
            stages.push(stage);
        }
        stages.reverse();
        Ok(stages)
    }
}

impl Stage {
    fn new(
        frame: &Frame<'_>,
        step: usize,
        mut graph: Graph,
        logic: StepLogic,
        present: Vec<usize>,
        replied: bool,
        needed: &Bits,
    ) -> Self {
        let active = graph.input(Input::Phase, 1);
        let next = nexts(&mut graph, &logic);
        let reply = reply(&mut graph, &logic, active, frame.layout.reply_bits, replied);
        let leaves = leaves(frame, &mut graph, &logic, active, present.len() == 1, needed);
        let reads: Vec<Read> = logic
            .requests
            .iter()
            .map(|&(port, condition, data)| {
                let bits = frame.address_bits(port);
                let inside = inside(&mut graph, data, bits, frame.size(port));
                let address = graph.resize(data, bits);
                let valid = graph.all([active, condition].into_iter().chain(inside));
                Read { port, valid, address, inside }
            })
            .collect();
        let mut edit: Vec<Node> = next.iter().map(|(_, condition)| *condition).collect();
        edit.extend(reply);
        edit.extend(leaves.iter().map(|(_, node)| *node));
        edit.extend(reads.iter().filter_map(|read| read.inside));
        let request: Vec<Node> = reads.iter().flat_map(|read| [read.valid, read.address]).collect();
        let state_bits = frame.layout.state_bits;
        let keeps = demand(&graph, &edit, state_bits);
        let needs = runs(&keeps.or(&demand(&graph, &request, state_bits)));
        let keeps = runs(&keeps);
        Self { step, graph, reads, next, reply, present, needs, keeps, leaves }
    }
}

/// Returns the steps at which a thread continues, with their conditions.
fn nexts(graph: &mut Graph, logic: &StepLogic) -> Vec<(usize, Node)> {
    let mut next: Vec<(usize, Node)> = Vec::new();
    for exit in &logic.exits {
        let ExitKind::Next(to) = exit.kind else { continue };
        match next.iter_mut().find(|(step, _)| *step == to) {
            Some((_, condition)) => *condition = graph.or(*condition, exit.condition),
            None => next.push((to, exit.condition)),
        }
    }
    next
}

/// Returns the reply after a step, either of the thread at this step or of one that has already
/// replied. Its value for threads that continue does not matter.
fn reply(
    graph: &mut Graph,
    logic: &StepLogic,
    active: Node,
    width: u32,
    replied: bool,
) -> Option<Node> {
    let replies = logic.exits.iter().filter_map(|exit| match exit.kind {
        ExitKind::Reply(value) => Some((exit.condition, value)),
        _ => None,
    });
    let own = replies
        .rev()
        .reduce(|(_, last), (condition, value)| (condition, graph.select(condition, value, last)));
    match (own, replied) {
        (None, false) => None,
        (None, true) => Some(graph.input(Input::Info, width)),
        (Some((_, own)), false) => Some(own),
        (Some((_, own)), true) => {
            let earlier = graph.input(Input::Info, width);
            Some(graph.select(active, own, earlier))
        }
    }
}

/// Returns the bits of the state that are needed after a step, with their values.
fn leaves(
    frame: &Frame<'_>,
    graph: &mut Graph,
    logic: &StepLogic,
    active: Node,
    alone: bool,
    needed: &Bits,
) -> Vec<(Range<u32>, Node)> {
    let state = graph.input(Input::State, frame.layout.state_bits);
    let mut next: Vec<Node> = Vec::new();
    for exit in &logic.exits {
        if matches!(exit.kind, ExitKind::Next(_)) {
            next.push(exit.condition);
        }
    }
    let mut written: Vec<(Range<u32>, Node)> = Vec::new();
    for (id, writes) in &logic.context {
        let (low, width) =
            (frame.layout.context[id.index()], frame.engine.context[id.index()].width);
        let mut value = graph.slice(state, low, width);
        for &(guard, new) in writes {
            // If no other thread can be in this stage, the final state of an ended thread does not
            // matter.
            let always = graph.is_bit(guard, true) || next == [guard];
            let happens = if alone && always { graph.bit(true) } else { graph.and(active, guard) };
            value = graph.select(happens, new, value);
        }
        written.push((low..low + width, value));
    }
    let mut left = Vec::new();
    for run in runs(needed) {
        let mut at = run.start;
        while at < run.end {
            let inside = written.iter().find(|(range, _)| range.contains(&at));
            let (end, node) = match inside {
                Some((range, value)) => {
                    let end = range.end.min(run.end);
                    (end, graph.slice(*value, at - range.start, end - at))
                }
                None => {
                    let next = written
                        .iter()
                        .map(|(range, _)| range.start)
                        .filter(|start| *start > at)
                        .min();
                    let end = next.unwrap_or(run.end).min(run.end);
                    (end, graph.slice(state, at, end - at))
                }
            };
            left.push((at..end, node));
            at = end;
        }
    }
    left
}

/// Returns whether an index is below the size of a memory, or `None` if it always is.
fn inside(graph: &mut Graph, index: Node, bits: u32, size: u64) -> Option<Node> {
    let width = graph.width(index);
    let known = match graph.kind(index) {
        NodeKind::Concat(parts) => match graph.as_constant(parts[0]) {
            Some(top) => top.width() - top.significant(),
            None => 0,
        },
        NodeKind::Const(value) => width - value.significant(),
        _ => 0,
    };
    let significant = width - known;
    if significant <= bits && size == 1 << bits {
        return None;
    }
    let size = graph.number(width, size);
    Some(graph.binary(BinaryOp::Ult, index, size))
}

/// Returns the bits of the state that the roots depend on.
fn demand(graph: &Graph, roots: &[Node], state_bits: u32) -> Bits {
    let mut needed = Bits::zero(state_bits);
    let cone = graph.cone(roots.iter().copied());
    let is_state = |node: Node| matches!(graph.kind(node), NodeKind::Input(Input::State));
    for node in graph.nodes().filter(|node| cone[node.index()]) {
        match graph.kind(node) {
            NodeKind::Slice(base, low) if is_state(*base) => {
                needed = needed.with_slice(*low, &Bits::ones(graph.width(node)));
            }
            _ => graph.for_each_operand(node, |operand| {
                if is_state(operand) {
                    needed = Bits::ones(state_bits);
                }
            }),
        }
    }
    if roots.iter().any(|root| is_state(*root)) {
        needed = Bits::ones(state_bits);
    }
    needed
}

/// Returns the ranges of consecutive set bits.
pub(super) fn runs(bits: &Bits) -> Vec<Range<u32>> {
    let mut runs: Vec<Range<u32>> = Vec::new();
    for at in (0..bits.width()).filter(|&at| bits.bit(at)) {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

fn mask(runs: &[Range<u32>], width: u32) -> Bits {
    runs.iter().fold(Bits::zero(width), |bits, run| {
        bits.with_slice(run.start, &Bits::ones(run.end - run.start))
    })
}
