//! Combines the stages of an engine into a module.

use std::ops::Range;

use wireloom_bits::Bits;
use wireloom_ir::{EngineId, EngineKind, Program};
use wireloom_offloads::Layout;

use super::check;
use super::stage::{Frame, Stage};
use crate::core::Refusal;
use crate::sv::names::{Scope, legal};
use crate::sv::{Expr, Instance, Item, Module, Parameter, Port, Statement, Type, Unary};

/// An engine as a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// The module, called `ENGINE_pipeline`.
    pub module: Module,
    /// The number of bits of a request: the arguments, the first most significant.
    pub request_bits: u32,
    /// The number of bits of a reply.
    pub reply_bits: u32,
    /// The memories that the engine reads, in the order of the engine's offloads.
    pub memories: Vec<MemoryPort>,
    /// The steps in the order of the stages, with the indices of the memories that each reads.
    pub steps: Vec<(String, Vec<usize>)>,
    /// The number of levels of six-input LUTs between two registers, or between a register and a
    /// memory, according to the model.
    pub depth: u32,
}

/// A memory that a pipeline reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPort {
    /// The name of the offload, with which the names of the module's ports begin.
    pub name: String,
    /// The module's parameter for the latency of a read in cycles.
    pub parameter: String,
    /// The number of elements.
    pub size: u64,
    /// The number of bits of an element's address.
    pub address_bits: u32,
    /// The number of bits of an element.
    pub data_bits: u32,
    /// The layout of an element.
    pub layout: Layout,
    /// The steps that read the memory. Each uses the slot with its index.
    pub slots: Vec<String>,
}

impl Pipeline {
    /// Returns the cycles from a request to its reply, given the latency of each memory in cycles.
    pub fn latency(&self, memories: &[u32]) -> u32 {
        let of =
            |reads: &Vec<usize>| reads.iter().map(|&memory| memories[memory]).max().unwrap_or(0);
        1 + self.steps.iter().map(|(_, reads)| 1 + of(reads)).sum::<u32>()
    }
}

/// Builds an engine, whose steps are in regions, as a pipeline.
///
/// # Errors
/// If the engine cannot be a pipeline.
pub fn pipeline(program: &Program, engine: EngineId) -> Result<Pipeline, Refusal> {
    let order = check::order(program, engine)?;
    let frame = Frame::new(program, engine, order);
    let stages = frame.stages()?;
    let memories = memories(&frame, &stages);
    let builder = Builder { frame: &frame, memories: &memories };
    let (module, depth) = builder.module(&stages);
    let number_of =
        |port: usize| memories.iter().position(|memory| memory.name == frame.ports[port].name);
    let steps = stages.iter().map(|stage| {
        let reads = stage.reads.iter().filter_map(|read| number_of(read.port)).collect();
        (frame.engine.steps[stage.step].name.clone(), reads)
    });
    let steps = steps.collect();
    let EngineKind::Call { params, reply } = &frame.engine.kind else {
        unreachable!("engines that take packets were refused")
    };
    let request_bits = params.iter().map(|param| frame.engine.context[param.index()].width).sum();
    Ok(Pipeline { module, request_bits, reply_bits: *reply, memories, steps, depth })
}

fn memories(frame: &Frame<'_>, stages: &[Stage]) -> Vec<MemoryPort> {
    let memory = |(index, port): (usize, &crate::core::OffloadPort)| MemoryPort {
        name: port.name.clone(),
        parameter: format!("{}Latency", camel(&port.name)),
        size: frame.size(index),
        address_bits: frame.address_bits(index),
        data_bits: port.reply_bits,
        layout: frame.config(index).value.clone().unwrap_or_default(),
        slots: stages
            .iter()
            .filter(|stage| stage.reads.iter().any(|read| read.port == index))
            .map(|stage| frame.engine.steps[stage.step].name.clone())
            .collect(),
    };
    frame.ports.iter().enumerate().map(memory).collect()
}

/// Converts a name from snake case to camel case: `near_words` becomes `NearWords`.
pub(super) fn camel(name: &str) -> String {
    let words = name.split('_').filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

pub(super) struct Builder<'a> {
    pub(super) frame: &'a Frame<'a>,
    pub(super) memories: &'a [MemoryPort],
}

/// The names of the nets with the values known about the threads before a stage or in it.
pub(super) struct Names {
    /// The net for each of some steps that is true if the thread is at that step.
    pub(super) at: Vec<(usize, String)>,
    /// The needed bits of the state.
    pub(super) held: Option<String>,
    /// The reply of an earlier step.
    pub(super) earlier: Option<String>,
}

pub(super) fn bits(width: u32) -> Type {
    Type::vector(int(width))
}

pub(super) fn int(value: u32) -> Expr {
    Expr::int(u64::from(value))
}

pub(super) fn length(runs: &[Range<u32>]) -> u32 {
    runs.iter().map(|run| run.end - run.start).sum()
}

pub(super) fn concat(mut parts: Vec<Expr>) -> Expr {
    if parts.len() == 1 { parts.swap_remove(0) } else { Expr::Concat(parts) }
}

impl Builder<'_> {
    fn module(&self, stages: &[Stage]) -> (Module, u32) {
        let engine = self.frame.engine;
        let name = format!("{}_pipeline", legal(&engine.name));
        let doc = format!(
            "Engine `{}` as a pipeline: one request in each cycle. The reply to a request comes\n\
             exactly `Latency` cycles later. Each step has its own slot of the memory that it \
             reads: slot k\nis the k-th part of the read port and, after the latency of the memory, \
             the k-th part of the data.\nGenerated.",
            engine.name
        );
        let mut module = Module::new(name, &doc);
        self.interface(&mut module);
        let mut scope = Scope::new();
        module.ports.iter().for_each(|port| scope.reserve(port.name.clone()));
        module.parameters.iter().for_each(|parameter| scope.reserve(parameter.name.clone()));
        ["Latency", "unused"].iter().for_each(|name| scope.reserve(*name));

        let mut latency = int(1);
        for stage in stages {
            latency = latency.add(int(1));
            if !stage.reads.is_empty() {
                latency = latency.add(self.stage_latency(stage));
            }
        }
        let mut items = vec![
            Item::constant("Latency", latency),
            Item::Blank,
            Item::assign("request_ready_o", Expr::number(1, 1)),
        ];
        let mut slots: Vec<Vec<(Expr, Expr)>> = vec![Vec::new(); self.memories.len()];
        let mut depth = 0;
        let mut before = self.first(&stages[0], &mut scope, &mut items);
        for (index, stage) in stages.iter().enumerate() {
            let (after, levels) = self.stage(
                stage,
                stages.get(index + 1),
                before,
                &mut scope,
                &mut items,
                &mut slots,
            );
            before = after;
            depth = depth.max(levels);
        }
        self.outputs(&before, slots, &mut scope, &mut items);
        module.items = items;
        (module, depth.div_ceil(2))
    }

    fn interface(&self, module: &mut Module) {
        let tag = Expr::name("TagBits");
        module.parameters.push(Parameter::number("TagBits", 8, "bits of a request's tag"));
        for memory in self.memories {
            let doc = format!("cycles from a read of `{}` to its data; at least 1", memory.name);
            module.parameters.push(Parameter::number(memory.parameter.clone(), 2, doc));
        }
        let EngineKind::Call { params, reply } = &self.frame.engine.kind else { return };
        let request: u32 =
            params.iter().map(|param| self.frame.engine.context[param.index()].width).sum();
        module.ports.extend([
            Port::input("clk_i", Type::Bit, "Clock."),
            Port::input("rst_i", Type::Bit, "Reset, active high."),
            Port::input("request_valid_i", Type::Bit, "There is a request."),
            Port::output("request_ready_o", Type::Bit, "Always one."),
            Port::input("request_tag_i", Type::vector(tag.clone()), "Tag of the request."),
            Port::input(
                "request_data_i",
                bits(request),
                "The arguments, the first most significant.",
            ),
            Port::output("reply_valid_o", Type::Bit, "There is a reply."),
            Port::output("reply_tag_o", Type::vector(tag), "Tag of its request."),
            Port::output("reply_data_o", bits(*reply), "The reply of the engine."),
        ]);
        for memory in self.memories {
            let slots = memory.slots.len() as u32;
            let steps = memory.slots.join(", ");
            module.ports.extend([
                Port::output(
                    format!("{}_read_valid_o", memory.name),
                    bits(slots),
                    format!("Reads of `{}`, one slot each for: {steps}.", memory.name),
                ),
                Port::output(
                    format!("{}_read_address_o", memory.name),
                    bits(slots * memory.address_bits),
                    "Of which element.",
                ),
                Port::input(
                    format!("{}_read_data_i", memory.name),
                    bits(slots * memory.data_bits),
                    "The elements.",
                ),
            ]);
        }
    }

    /// Returns the latency in cycles of a stage's reads.
    pub(super) fn stage_latency(&self, stage: &Stage) -> Expr {
        let mut names: Vec<&str> =
            stage.reads.iter().map(|read| self.memories[read.port].parameter.as_str()).collect();
        names.dedup();
        let larger = |a: Expr, b: Expr| a.clone().greater(b.clone()).choose(a, b);
        names.into_iter().map(Expr::name).reduce(larger).expect("the stage reads")
    }

    pub(super) fn prefix(&self, stage: &Stage) -> String {
        legal(&self.frame.engine.steps[stage.step].name)
    }

    /// Declares the values known before a stage; the caller writes the registers.
    pub(super) fn declare(
        &self,
        stage: &Stage,
        has_earlier: bool,
        scope: &mut Scope,
        items: &mut Vec<Item>,
    ) -> Names {
        let prefix = self.prefix(stage);
        let at: Vec<(usize, String)> = stage
            .present
            .iter()
            .map(|&step| {
                let name = match step == stage.step {
                    true => format!("{prefix}_active"),
                    false => {
                        format!("{prefix}_passes_{}", legal(&self.frame.engine.steps[step].name))
                    }
                };
                (step, scope.unique(&name))
            })
            .collect();
        items.extend(at.iter().map(|(_, name)| Item::net(name.clone(), Type::Bit)));
        let held = (!stage.needs.is_empty()).then(|| scope.unique(&format!("{prefix}_held")));
        if let Some(held) = &held {
            items.push(Item::net(held.clone(), bits(length(&stage.needs))));
        }
        let earlier = has_earlier.then(|| scope.unique(&format!("{prefix}_earlier")));
        if let Some(earlier) = &earlier {
            items.push(Item::net(earlier.clone(), bits(self.frame.layout.reply_bits)));
        }
        Names { at, held, earlier }
    }

    /// Writes the register before the first stage.
    fn first(&self, stage: &Stage, scope: &mut Scope, items: &mut Vec<Item>) -> Names {
        items.extend([Item::Blank, Item::comment("The request.")]);
        let names = self.declare(stage, false, scope, items);
        let EngineKind::Call { params, .. } = &self.frame.engine.kind else {
            unreachable!("engines that take packets were refused")
        };
        // The position of each argument in the state and in the request.
        let mut arguments = Vec::new();
        let mut end = 0;
        for param in params.iter().rev() {
            let width = self.frame.engine.context[param.index()].width;
            arguments.push((self.frame.layout.context[param.index()], end, width));
            end += width;
        }
        let mut parts = Vec::new();
        let mut used = 0;
        for run in stage.needs.iter().rev() {
            let mut at = run.end;
            while at > run.start {
                let argument = arguments
                    .iter()
                    .find(|(state, _, width)| (*state + 1..=state + width).contains(&at));
                let from = match argument {
                    Some(&(state, request, width)) => {
                        let from = state.max(run.start);
                        let low = request + from - state;
                        let data = Expr::name("request_data_i");
                        let all = from == state && at == state + width && width == end;
                        used += at - from;
                        parts.push(if all { data } else { data.bits(low, at - from) });
                        from
                    }
                    None => {
                        let below = arguments
                            .iter()
                            .map(|(state, _, width)| state + width)
                            .filter(|end| *end < at);
                        let from = below.max().unwrap_or(0).max(run.start);
                        parts.push(Expr::Number(Bits::zero(at - from)));
                        from
                    }
                };
                at = from;
            }
        }
        if used < end {
            let request = Expr::name("request_data_i").unary(Unary::Parity);
            items.push(Item::value(scope.unique("unused_request"), Type::Bit, request));
        }
        let valid = Statement::assign(names.at[0].1.clone(), Expr::name("request_valid_i"));
        let cleared = Statement::assign(names.at[0].1.clone(), Expr::number(1, 0));
        items.push(Item::reset_registers(vec![cleared], vec![valid]));
        if let Some(held) = &names.held {
            let request = Statement::assign(held.clone(), concat(parts));
            items.push(Item::registers(vec![request]));
        }
        names
    }

    /// Returns the complete state, with zeros for bits that are not needed.
    pub(super) fn state(&self, runs: &[Range<u32>], held: &str) -> Expr {
        let mut parts = Vec::new();
        let (mut at, mut low) = (0, 0);
        let width = length(runs);
        for run in runs {
            if run.start > at {
                parts.push(Expr::Number(Bits::zero(run.start - at)));
            }
            let count = run.end - run.start;
            let held = Expr::name(held);
            parts.push(if count == width && width > 1 { held } else { held.bits(low, count) });
            low += count;
            at = run.end;
        }
        if at < self.frame.layout.state_bits {
            parts.push(Expr::Number(Bits::zero(self.frame.layout.state_bits - at)));
        }
        parts.reverse();
        concat(parts)
    }

    fn outputs(
        &self,
        last: &Names,
        slots: Vec<Vec<(Expr, Expr)>>,
        scope: &mut Scope,
        items: &mut Vec<Item>,
    ) {
        items.extend([
            Item::Blank,
            Item::comment("Reads of the memories: the first step has the slot in the lowest bits."),
        ]);
        for (memory, slots) in self.memories.iter().zip(slots) {
            let (valid, address): (Vec<Expr>, Vec<Expr>) = slots.into_iter().rev().unzip();
            items.push(Item::assign(format!("{}_read_valid_o", memory.name), concat(valid)));
            items.push(Item::assign(format!("{}_read_address_o", memory.name), concat(address)));
        }
        items.extend([Item::Blank, Item::comment("The reply.")]);
        let reply = last.earlier.clone().expect("called engines reply");
        items.push(Item::assign("reply_data_o", Expr::name(reply)));
        for (what, width, reset) in [("valid", int(1), true), ("tag", Expr::name("TagBits"), false)]
        {
            let mut instance = Instance::new("wl_delay", scope.unique(&format!("i_{what}")))
                .parameter("Width", width)
                .parameter("Cycles", Expr::name("Latency"));
            if reset {
                instance = instance.parameter("Reset", Expr::number(1, 1));
            }
            let instance = instance
                .port("clk_i", "clk_i".into())
                .port("rst_i", "rst_i".into())
                .port("data_i", Expr::name(format!("request_{what}_i")))
                .port("data_o", Expr::name(format!("reply_{what}_o")));
            items.push(Item::Instance(instance));
        }
    }
}
