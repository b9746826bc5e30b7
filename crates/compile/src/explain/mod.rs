//! The facts that the compiler knows about a compiled program, for people and for machines. For
//! each engine: its context, its offloads, and whether it can be pipelined. For each step: its
//! calls, live context, header ports, operations, logic depth, exits, and why it was split off.
//!
//! [`text`] renders it as tables, [`svg`] draws the step graph.

pub mod svg;
pub mod text;

use std::collections::BTreeMap;

use serde::Serialize;
use wireloom_ir::{
    ContextId, Engine, EngineId, EngineKind, Exit, OffloadTarget, Op, OpKind, Program, Step,
    StepId, Value,
};
use wireloom_offloads::{Delay, registry};

use crate::analysis::effects::Effects;
use crate::analysis::liveness::{ContextSet, Liveness};
use crate::analysis::loops::Loops;
use crate::analysis::pipelining::{Pipelining, pipelining};
use crate::analysis::ports::{self, StepPorts};
use crate::analysis::slots::{self, Path};
use crate::analysis::storage::Storage;
use crate::analysis::{Definitions, depth, order};
use crate::passes::PassOptions;

/// The run length in bytes for counting header ports if the machine defines none.
const DEFAULT_RUN: u32 = 16;

/// The explanation of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// Name of the engine that takes packets.
    pub main: String,
    /// All engines. Called engines precede their callers.
    pub engines: Vec<EngineExplanation>,
}

/// The explanation of an engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct EngineExplanation {
    pub name: String,
    /// The width of the reply in bits, if the engine is called and replies.
    pub reply_bits: Option<u32>,
    /// Total bits of the context variables: the storage of a thread.
    pub context_bits: u32,
    /// Most context bits that are live at any step boundary. A pipeline register holds at most this
    /// many.
    pub peak_live_bits: u32,
    /// Bits of a thread's storage if variables that are never live together share bits.
    pub stored_bits: u32,
    pub context: Vec<ContextExplanation>,
    pub offloads: Vec<OffloadExplanation>,
    /// Whether a straight pipeline is possible, and if not, why.
    pub pipelining: Pipelining,
    /// The steps, in order.
    pub steps: Vec<StepExplanation>,
    /// Paths from the first step to a step that sends the packet or replies.
    pub paths: Vec<Path>,
}

/// A context variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ContextExplanation {
    pub name: String,
    /// The width in bits.
    pub bits: u32,
}

/// An offload of an engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OffloadExplanation {
    pub name: String,
    /// The kind, or `engine NAME`.
    pub kind: String,
    /// Whether calls by different packets must happen in arrival order.
    pub order_sensitive: bool,
    /// Names of the steps that call it.
    pub called_in: Vec<String>,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepExplanation {
    pub name: String,
    /// `FILE:LINE` of its declaration, if it has one.
    pub place: Option<String>,
    /// Why the step was split off, if it was.
    pub split: Option<String>,
    pub calls: Vec<CallExplanation>,
    /// Context that the step's beginning must keep: live, and possibly not zero.
    pub context_in: LiveExplanation,
    /// Context that the step's end must keep.
    pub context_out: LiveExplanation,
    /// The number of runs of header bytes that the step reads: the read ports that it needs (see
    /// the `ports` analysis).
    pub header_reads: usize,
    /// The number of runs of header bytes that the step writes: the write ports that it needs.
    pub header_writes: usize,
    /// Slots that the step takes in a multithreaded engine: one, or two if it waits for replies.
    pub slots: u32,
    /// Number of operations by kind and by width in bits.
    pub operations: BTreeMap<String, BTreeMap<u32, u32>>,
    /// Logic depth of request, edit and jump, in LUT6 levels (see the `depth` analysis for the
    /// model).
    pub depth: DepthExplanation,
    /// The exits, in order.
    pub exits: Vec<ExitExplanation>,
}

/// A call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CallExplanation {
    pub offload: String,
    /// The method. `call` for an engine.
    pub method: String,
    /// Whether the call happens only under a condition.
    pub guarded: bool,
    /// Whether every reply takes the same time.
    pub constant_delay: bool,
    /// Bits of all arguments.
    pub argument_bits: u32,
    /// Bits of the reply.
    pub reply_bits: u32,
    /// Source line; 0 if unknown.
    pub line: u32,
}

/// Live context at a boundary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LiveExplanation {
    /// Total bits.
    pub bits: u32,
    /// Names of the variables.
    pub names: Vec<String>,
}

/// Depth of the regions in LUT6 levels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DepthExplanation {
    /// Depth of the request.
    pub request: u32,
    /// Depth of the edit.
    pub edit: u32,
    /// Depth of the jump.
    pub jump: u32,
}

/// The effect of an exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExitKind {
    /// Continues at a step.
    Next,
    /// Sends a copy and continues at a step.
    Emit,
    /// Sends the packet.
    Finish,
    /// Sends the reply.
    Reply,
    /// Hands the packet to the control processor.
    ToCpu,
    /// Drops the packet.
    Drop,
    /// Ends the thread.
    Done,
}

impl ExitKind {
    /// Returns the kind's name in Loom C.
    pub fn name(self) -> &'static str {
        match self {
            Self::Next => "next",
            Self::Emit => "emit",
            Self::Finish => "finish",
            Self::Reply => "reply",
            Self::ToCpu => "to_cpu",
            Self::Drop => "drop",
            Self::Done => "done",
        }
    }
}

/// An exit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExitExplanation {
    pub kind: ExitKind,
    /// Index of the step at which the exit continues, if it does.
    pub to: Option<usize>,
    /// The reason of a drop or `to_cpu`: its name, or the name of the enumeration if the reason is
    /// computed at run time.
    pub reason: Option<String>,
    /// Whether the exit closes a loop of steps. The other exits form no cycle.
    pub backward: bool,
}

/// Explains a program that was compiled for a machine. Steps of sequential code are explained as if
/// the whole step were its request region.
pub fn explain(program: &Program, options: &PassOptions) -> Explanation {
    let effects = Effects::of(program);
    let engines =
        (0..program.engines.len() as u32).map(|i| engine(program, &effects, EngineId(i), options));
    Explanation {
        main: program.engines[program.main.index()].name.clone(),
        engines: engines.collect(),
    }
}

fn engine(
    program: &Program,
    effects: &Effects,
    id: EngineId,
    options: &PassOptions,
) -> EngineExplanation {
    let body = &program.engines[id.index()];
    let liveness = Liveness::of(body);
    let sensitive = order::sensitive(program, id);
    let callers = order::callers(program, id);
    let offloads = body.offloads.iter().zip(0u32..).map(|(offload, index)| {
        let index = wireloom_ir::OffloadId(index);
        OffloadExplanation {
            name: offload.name.clone(),
            kind: match &offload.target {
                OffloadTarget::Kind(config) => config.kind.clone(),
                OffloadTarget::Engine(id) => format!("engine {}", program.engines[id.index()].name),
            },
            order_sensitive: sensitive.contains(&index),
            called_in: callers
                .get(&index)
                .into_iter()
                .flatten()
                .map(|s| body.steps[s.index()].name.clone())
                .collect(),
        }
    });
    let bytes = options.header.map_or(DEFAULT_RUN, |ports| ports.bytes);
    let ports = ports::ports(body, bytes);
    let view = View {
        program,
        engine: body,
        id,
        effects,
        loops: Loops::of(body),
        ports,
        has_ports: options.header.is_some(),
    };
    let steps: Vec<_> = (0..body.steps.len()).map(|i| view.step(i, &liveness)).collect();
    EngineExplanation {
        name: body.name.clone(),
        reply_bits: match body.kind {
            EngineKind::Call { reply, .. } => Some(reply),
            EngineKind::Packet => None,
        },
        context_bits: body.context.iter().map(|c| c.width).sum(),
        peak_live_bits: steps
            .iter()
            .map(|s| s.context_in.bits.max(s.context_out.bits))
            .max()
            .unwrap_or(0),
        stored_bits: Storage::of(body).bits,
        context: body
            .context
            .iter()
            .map(|c| ContextExplanation { name: c.name.clone(), bits: c.width })
            .collect(),
        offloads: offloads.collect(),
        pipelining: pipelining(program, effects, id),
        steps,
        paths: slots::paths(body),
    }
}

/// An engine being explained.
struct View<'a> {
    program: &'a Program,
    engine: &'a Engine,
    id: EngineId,
    effects: &'a Effects,
    loops: Loops,
    ports: Vec<StepPorts>,
    has_ports: bool,
}

impl View<'_> {
    fn step(&self, index: usize, liveness: &Liveness) -> StepExplanation {
        let step = &self.engine.steps[index];
        let definitions = Definitions::of(step);
        let [request, edit, jump] = depth::regions(step, self.has_ports).map(depth::Depth::levels);
        let mut calls = Vec::new();
        let mut exits = Vec::new();
        let mut operations: BTreeMap<String, BTreeMap<u32, u32>> = BTreeMap::new();
        step.for_each_op(|op| {
            if let OpKind::Exit(exit) = &op.kind {
                exits.push(self.exit(exit, StepId(index as u32), &definitions));
            } else if let OpKind::Call { .. } = op.kind {
                calls.push(self.call(op, &definitions));
            }
            if let Some((name, width)) = counted(op, self.engine, step) {
                *operations.entry(name.to_owned()).or_default().entry(width).or_default() += 1;
            }
        });
        let ports = &self.ports[index];
        StepExplanation {
            name: step.name.clone(),
            place: self.place(step),
            split: step.split.clone(),
            calls,
            context_in: self.live(&liveness.kept_in[index]),
            context_out: self.live(&liveness.kept_out[index]),
            header_reads: ports.reads.len(),
            header_writes: ports.writes.len(),
            slots: slots::of_step(step),
            operations,
            depth: DepthExplanation { request, edit, jump },
            exits,
        }
    }

    fn place(&self, step: &Step) -> Option<String> {
        let file = self.program.files.get(step.loc.file as usize)?;
        (step.loc.line > 0).then(|| format!("{file}:{}", step.loc.line))
    }

    fn live(&self, set: &ContextSet) -> LiveExplanation {
        let vars: Vec<_> =
            set.iter().map(|id: ContextId| &self.engine.context[id.index()]).collect();
        LiveExplanation {
            bits: vars.iter().map(|v| v.width).sum(),
            names: vars.iter().map(|v| v.name.clone()).collect(),
        }
    }

    fn call(&self, op: &Op, definitions: &Definitions<'_>) -> CallExplanation {
        let OpKind::Call { offload, method, args } = &op.kind else {
            unreachable!("the operation is a call")
        };
        let target = &self.engine.offloads[offload.index()];
        let name = match &target.target {
            OffloadTarget::Kind(config) => {
                registry::kind(&config.kind).map_or("", |kind| kind.methods[*method].name)
            }
            OffloadTarget::Engine(_) => "call",
        };
        CallExplanation {
            offload: target.name.clone(),
            method: name.to_owned(),
            guarded: op.guard.is_some(),
            constant_delay: self.effects.call(self.id, *offload, *method).delay == Delay::Constant,
            argument_bits: args.iter().map(|a| definitions.width(*a)).sum(),
            reply_bits: op.results.iter().map(|r| definitions.width(*r)).sum(),
            line: op.loc.line,
        }
    }

    fn exit(&self, exit: &Exit, from: StepId, definitions: &Definitions<'_>) -> ExitExplanation {
        let (kind, to, reason) = match exit {
            Exit::Next(to) => (ExitKind::Next, Some(*to), None),
            Exit::Emit(to, _) => (ExitKind::Emit, Some(*to), None),
            Exit::Finish => (ExitKind::Finish, None, None),
            Exit::Reply(_) => (ExitKind::Reply, None, None),
            Exit::Done => (ExitKind::Done, None, None),
            Exit::Drop(value, set) => (ExitKind::Drop, None, Some((value, set))),
            Exit::ToCpu(value, set) => (ExitKind::ToCpu, None, Some((value, set))),
        };
        let reason = reason.map(|(value, set)| {
            let set = &self.program.reasons[set.index()];
            let number = definitions.constant(*value).and_then(|c| c.to_u64());
            let member = number.and_then(|n| set.members.iter().find(|(v, _)| *v == n));
            member.map_or_else(|| set.name.clone(), |(_, name)| name.clone())
        });
        ExitExplanation {
            kind,
            to: to.map(StepId::index),
            reason,
            backward: to.is_some_and(|to| self.loops.closes(from, to)),
        }
    }
}

/// Returns the name and the width under which an operation is counted. Constants, wiring, calls and
/// exits are not counted.
fn counted(op: &Op, engine: &Engine, step: &Step) -> Option<(&'static str, u32)> {
    let width = |v: &Value| step.values[v.index()].width;
    let result = op.results.first().map_or(0, width);
    Some(match &op.kind {
        OpKind::Unary(unary, a) => (unary.name(), width(a)),
        OpKind::Binary(binary, a, _) => (binary.name(), width(a)),
        OpKind::Select(..) => ("select", result),
        OpKind::Table { .. } => ("table", result),
        OpKind::ReadContext(_) => ("context.read", result),
        OpKind::WriteContext(_, v) => ("context.write", width(v)),
        OpKind::ReadElement { .. } => ("array.read", result),
        OpKind::WriteElement { value, .. } => ("array.write", width(value)),
        OpKind::ReadPacket { .. } => ("packet.read", result),
        OpKind::WritePacket { value, .. } => ("packet.write", width(value)),
        OpKind::ReadMeta(meta) => ("meta.read", meta.width()),
        OpKind::WriteMeta(meta, _) => ("meta.write", meta.width()),
        OpKind::Insert { .. } => ("packet.insert", 16),
        OpKind::Remove { .. } => ("packet.remove", 16),
        OpKind::Reset { .. } => ("packet.reset", 16),
        OpKind::If { .. } => ("if", 1),
        OpKind::Const(_)
        | OpKind::Extend(_)
        | OpKind::Slice(..)
        | OpKind::Concat(_)
        | OpKind::Call { .. }
        | OpKind::Exit(_) => return None,
        OpKind::Evaluate { offload, method, args } => {
            let OffloadTarget::Kind(config) = &engine.offloads[offload.index()].target else {
                return None;
            };
            let method = registry::kind(&config.kind)?.methods.get(*method)?;
            (method.name, args.iter().map(width).sum::<u32>().max(result))
        }
    })
}
