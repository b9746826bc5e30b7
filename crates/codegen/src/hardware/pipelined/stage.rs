//! The logic of one step as a stage of a pipeline.

use std::ops::Range;

use wireloom_bits::Bits;
use wireloom_ir::{BinaryOp, Engine, EngineId, OffloadTarget, Program};
use wireloom_offloads::Config;

use crate::hardware::core::graph::{Graph, Input, Kind, Node};
use crate::hardware::core::layout::Layout;
use crate::hardware::core::lower::{self, ExitKind, StepLogic, Surroundings};
use crate::hardware::core::offload::{self, OffloadPort};
use crate::hardware::core::{ROW_BYTES, Refusal};

/// The data common to all stages of an engine.
pub struct Frame<'a> {
    pub(super) program: &'a Program,
    pub(super) engine: &'a Engine,
    pub(super) layout: Layout,
    pub(super) ports: Vec<OffloadPort>,
    /// The steps in the order of the pipeline.
    pub(super) order: Vec<usize>,
}

/// A step. In the graph [`Input::Phase`] says that the thread is at this step, [`Input::Info`] is
/// what an earlier step replied.
pub struct Stage {
    /// The step.
    pub(super) step: usize,
    pub(super) graph: Graph,
    pub(super) reads: Vec<Read>,
    /// Where the thread continues: steps and conditions.
    pub(super) next: Vec<(usize, Node)>,
    /// The reply after this step, if a step up to here can reply.
    pub(super) reply: Option<Node>,
    /// Steps that a thread can be at in front of this one; this one first.
    pub(super) present: Vec<usize>,
    /// Bits of the state that are needed in front of it.
    pub(super) needs: Vec<Range<u32>>,
    /// The kept bits that are needed when the memories have returned their data.
    pub(super) keeps: Vec<Range<u32>>,
    /// Bits of the state that are needed after it, and their values then.
    pub(super) leaves: Vec<(Range<u32>, Node)>,
}

/// A read of a memory.
pub struct Read {
    /// The offload port.
    pub(super) port: usize,
    /// Whether it happens.
    pub(super) valid: Node,
    /// The index, as wide as the memory's addresses.
    pub(super) address: Node,
    /// Whether the index is in range, where it need not be: else the reply is zero.
    pub(super) inside: Option<Node>,
}

impl<'a> Frame<'a> {
    pub(super) fn new(program: &'a Program, engine: EngineId, order: Vec<usize>) -> Self {
        let body = &program.engines[engine.index()];
        let ports = offload::ports(program, engine);
        // A called engine reaches no header: its words may be of any length.
        let layout = Layout::of(program, body, &ports, ROW_BYTES);
        Self { program, engine: body, layout, ports, order }
    }

    /// Number of elements of a port's memory.
    pub(super) fn size(&self, port: usize) -> u64 {
        self.config(port).param("size").low_u64()
    }

    /// Returns its declaration.
    pub(super) fn config(&self, port: usize) -> &'a Config {
        match &self.engine.offloads[self.ports[port].offload.index()].target {
            OffloadTarget::Kind(config) => config,
            OffloadTarget::Engine(_) => unreachable!("pipelines call memories only"),
        }
    }

    /// Bits of its addresses.
    pub(super) fn address_bits(&self, port: usize) -> u32 {
        self.size(port).next_power_of_two().trailing_zeros().max(1)
    }

    /// The stages.
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

/// Returns where a thread continues.
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

/// Returns the reply after a step: of this step's thread, or of one that has replied before. Its
/// value for threads that continue does not matter.
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

/// Returns the needed bits of the state after a step.
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
            // If no other thread's bits can be meant, the final state of an ended thread does not
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

/// Whether an index is below the size of a memory; nothing if it always is.
fn inside(graph: &mut Graph, index: Node, bits: u32, size: u64) -> Option<Node> {
    let width = graph.width(index);
    let known = match graph.kind(index) {
        Kind::Concat(parts) => match graph.as_constant(parts[0]) {
            Some(top) => top.width() - top.significant(),
            None => 0,
        },
        Kind::Const(value) => width - value.significant(),
        _ => 0,
    };
    let significant = width - known;
    if significant <= bits && size == 1 << bits {
        return None;
    }
    let size = graph.number(width, size);
    Some(graph.binary(BinaryOp::Ult, index, size))
}

/// Bits of the state that roots depend on.
fn demand(graph: &Graph, roots: &[Node], state_bits: u32) -> Bits {
    let mut needed = Bits::zero(state_bits);
    let cone = graph.cone(roots.iter().copied());
    let is_state = |node: Node| matches!(graph.kind(node), Kind::Input(Input::State));
    for node in graph.nodes().filter(|node| cone[node.index()]) {
        match graph.kind(node) {
            Kind::Slice(base, low) if is_state(*base) => {
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

/// The runs of bits that are set.
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
