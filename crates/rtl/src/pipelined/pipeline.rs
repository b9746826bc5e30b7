//! The stages of an engine put together to a module.

use std::ops::Range;

use wireloom_bits::Bits;
use wireloom_ir::{EngineId, EngineKind, Program};

use super::check;
use super::stage::{Frame, Stage};
use crate::core::Refusal;
use crate::core::emit::{Emitter, Naming};
use crate::core::graph::{Input, Node};
use crate::core::refusal::place;
use crate::core::schedule::{Schedule, depth};
use crate::sv::names::{Scope, legal};
use crate::sv::{Expr, Instance, Item, Module, Parameter, Port, Statement, Type};

/// An engine as a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// The module, called `ENGINE_pipeline`.
    pub module: Module,
    /// Bits of a request: the arguments, the first most significant.
    pub request_bits: u32,
    /// Bits of a reply.
    pub reply_bits: u32,
    /// The memories that it reads, in the order of the engine's offloads.
    pub memories: Vec<MemoryPort>,
    /// The steps in the order of the stages, and which of the memories each reads.
    pub steps: Vec<(String, Vec<usize>)>,
    /// Levels of six-input tables between two registers, or between a register and a memory, by the model.
    pub depth: u32,
}

/// A memory that a pipeline reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPort {
    /// Name of the offload, which the module's ports begin with.
    pub name: String,
    /// The module's parameter that says how many cycles a read takes.
    pub parameter: String,
    /// How many elements it has.
    pub size: u64,
    /// Bits of an element's address.
    pub address_bits: u32,
    /// Bits of an element.
    pub data_bits: u32,
    /// The steps that read it: each has the slot of that number.
    pub slots: Vec<String>,
}

impl Pipeline {
    /// Cycles from a request to its reply, if the memories take so many each.
    pub fn latency(&self, memories: &[u32]) -> u32 {
        let of = |reads: &Vec<usize>| reads.iter().map(|&memory| memories[memory]).max().unwrap_or(0);
        1 + self.steps.iter().map(|(_, reads)| 1 + of(reads)).sum::<u32>()
    }
}

/// Builds an engine, whose steps are in regions, as a pipeline.
///
/// # Errors
/// Why it cannot be one.
pub fn pipeline(program: &Program, engine: EngineId) -> Result<Pipeline, Refusal> {
    let order = check::order(program, engine)?;
    let frame = Frame::new(program, engine, order);
    let stages = frame.stages()?;
    let mut memories = memories(&frame, &stages);
    let builder = Builder { frame: &frame, memories: &memories };
    let (module, depth) = builder.module(&stages);
    let number_of = |port: usize| memories.iter().position(|memory| memory.name == frame.ports[port].name);
    let steps = stages.iter().map(|stage| {
        let reads = stage.reads.iter().filter_map(|read| number_of(read.port)).collect();
        (frame.engine.steps[stage.step].name.clone(), reads)
    });
    let steps = steps.collect();
    let EngineKind::Call { params, reply } = &frame.engine.kind else {
        unreachable!("engines that take packets were refused")
    };
    let request_bits = params.iter().map(|param| frame.engine.context[param.index()].width).sum();
    memories.iter_mut().for_each(|memory| memory.slots.shrink_to_fit());
    Ok(Pipeline { module, request_bits, reply_bits: *reply, memories, steps, depth })
}

fn memories(frame: &Frame<'_>, stages: &[Stage]) -> Vec<MemoryPort> {
    let memory = |(index, port): (usize, &crate::core::OffloadPort)| MemoryPort {
        name: port.name.clone(),
        parameter: format!("{}Latency", camel(&port.name)),
        size: frame.size(index),
        address_bits: frame.address_bits(index),
        data_bits: port.reply_bits,
        slots: stages
            .iter()
            .filter(|stage| stage.reads.iter().any(|read| read.port == index))
            .map(|stage| frame.engine.steps[stage.step].name.clone())
            .collect(),
    };
    frame.ports.iter().enumerate().map(memory).collect()
}

/// `near_words` as `NearWords`.
pub(super) fn camel(name: &str) -> String {
    let words = name.split('_').filter(|word| !word.is_empty());
    words.map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}

struct Builder<'a> {
    frame: &'a Frame<'a>,
    memories: &'a [MemoryPort],
}

/// What is known of the threads in front of a stage or in it: names of nets.
struct Names {
    /// Whether the thread is at each of some steps.
    at: Vec<(usize, String)>,
    /// The needed bits of the state.
    held: Option<String>,
    /// What an earlier step replied.
    earlier: Option<String>,
}

fn bits(width: u32) -> Type {
    Type::vector(int(width))
}

fn int(value: u32) -> Expr {
    Expr::int(u64::from(value))
}

fn length(runs: &[Range<u32>]) -> u32 {
    runs.iter().map(|run| run.end - run.start).sum()
}

fn concat(mut parts: Vec<Expr>) -> Expr {
    if parts.len() == 1 { parts.swap_remove(0) } else { Expr::Concat(parts) }
}

impl Builder<'_> {
    fn module(&self, stages: &[Stage]) -> (Module, u32) {
        let engine = self.frame.engine;
        let name = format!("{}_pipeline", legal(&engine.name));
        let doc = format!(
            "Engine `{}` as a pipeline: a request every cycle, its reply exactly `Latency` cycles later, in order.\n\
             Each step has its own slot of the memory that it reads: a read of slot k stands on the k-th part of the read port, \
             its data\nthat memory's latency later on the k-th part of the data. Generated.",
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
            let (after, levels) =
                self.stage(stage, stages.get(index + 1), before, &mut scope, &mut items, &mut slots);
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
        let request: u32 = params.iter().map(|param| self.frame.engine.context[param.index()].width).sum();
        module.ports.extend([
            Port::input("clk_i", Type::Bit, "Clock."),
            Port::input("rst_i", Type::Bit, "Reset, synchronous."),
            Port::input("request_valid_i", Type::Bit, "A request."),
            Port::output("request_ready_o", Type::Bit, "Always."),
            Port::input("request_tag_i", Type::vector(tag.clone()), "Whose."),
            Port::input("request_data_i", bits(request), "The arguments, the first most significant."),
            Port::output("reply_valid_o", Type::Bit, "A reply."),
            Port::output("reply_tag_o", Type::vector(tag), "To whom."),
            Port::output("reply_data_o", bits(*reply), "What the engine replies."),
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

    /// Cycles that the reads of a stage take.
    fn stage_latency(&self, stage: &Stage) -> Expr {
        let mut names: Vec<&str> =
            stage.reads.iter().map(|read| self.memories[read.port].parameter.as_str()).collect();
        names.dedup();
        let larger = |a: Expr, b: Expr| a.clone().greater(b.clone()).choose(a, b);
        names.into_iter().map(Expr::name).reduce(larger).expect("the stage reads")
    }

    fn prefix(&self, stage: &Stage) -> String {
        legal(&self.frame.engine.steps[stage.step].name)
    }

    /// Declares what is known in front of a stage; registers, which the caller writes.
    fn declare(&self, stage: &Stage, has_earlier: bool, scope: &mut Scope, items: &mut Vec<Item>) -> Names {
        let prefix = self.prefix(stage);
        let at: Vec<(usize, String)> = stage
            .present
            .iter()
            .map(|&step| {
                let name = match step == stage.step {
                    true => format!("{prefix}_active"),
                    false => format!("{prefix}_passes_{}", legal(&self.frame.engine.steps[step].name)),
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

    /// The register in front of the first stage.
    fn first(&self, stage: &Stage, scope: &mut Scope, items: &mut Vec<Item>) -> Names {
        items.extend([Item::Blank, Item::comment("The request.")]);
        let names = self.declare(stage, false, scope, items);
        let EngineKind::Call { params, .. } = &self.frame.engine.kind else {
            unreachable!("engines that take packets were refused")
        };
        // Where in the state and where in the request each argument stands.
        let mut arguments = Vec::new();
        let mut end = 0;
        for param in params.iter().rev() {
            let width = self.frame.engine.context[param.index()].width;
            arguments.push((self.frame.layout.context[param.index()], end, width));
            end += width;
        }
        let mut parts = Vec::new();
        for run in stage.needs.iter().rev() {
            let mut at = run.end;
            while at > run.start {
                let argument =
                    arguments.iter().find(|(state, _, width)| (*state + 1..=state + width).contains(&at));
                let from = match argument {
                    Some(&(state, request, width)) => {
                        let from = state.max(run.start);
                        let low = request + from - state;
                        let data = Expr::name("request_data_i");
                        let all = from == state && at == state + width && width == end;
                        parts.push(if all { data } else { data.bits(low, at - from) });
                        from
                    }
                    None => {
                        let below =
                            arguments.iter().map(|(state, _, width)| state + width).filter(|end| *end < at);
                        let from = below.max().unwrap_or(0).max(run.start);
                        parts.push(Expr::Number(Bits::zero(at - from)));
                        from
                    }
                };
                at = from;
            }
        }
        let valid = Statement::assign(names.at[0].1.clone(), Expr::name("request_valid_i"));
        let cleared = Statement::assign(names.at[0].1.clone(), Expr::number(1, 0));
        let mut body = vec![Statement::If("rst_i".into(), vec![cleared], vec![valid])];
        if let Some(held) = &names.held {
            body.push(Statement::assign(held.clone(), concat(parts)));
        }
        items.push(Item::AlwaysFf { clock: "clk_i".into(), body });
        names
    }

    /// The state as a whole, with zeros where nothing is needed.
    fn state(&self, runs: &[Range<u32>], held: &str) -> Expr {
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

    /// A stage: answers what is known behind it, and the depth of its logic in half levels.
    fn stage(
        &self,
        stage: &Stage,
        following: Option<&Stage>,
        names: Names,
        scope: &mut Scope,
        items: &mut Vec<Item>,
        slots: &mut [Vec<(Expr, Expr)>],
    ) -> (Names, u32) {
        let prefix = self.prefix(stage);
        let state_type = || bits(self.frame.layout.state_bits);
        let state = names.held.as_ref().map(|held| {
            let name = scope.unique(&format!("{prefix}_state"));
            items.push(Item::value(name.clone(), state_type(), self.state(&stage.needs, held)));
            name
        });
        let requests: Vec<Node> = stage.reads.iter().flat_map(|read| [read.valid, read.address]).collect();
        let outputs = self.logic(stage, &requests, &names, state.as_deref(), &[], "request", scope, items);
        for (read, output) in stage.reads.iter().zip(outputs.chunks(2)) {
            slots[read.port].push((output[0].clone(), output[1].clone()));
        }

        let (back, state_back, replies) = match stage.reads.is_empty() {
            true => (names, state, Vec::new()),
            false => self.wait(stage, names, state.as_deref(), scope, items),
        };

        // What the thread has become.
        let mut edits: Vec<Node> = stage.next.iter().map(|(_, condition)| *condition).collect();
        let first_reply = edits.len();
        edits.extend(stage.reply);
        let first_leaf = edits.len();
        edits.extend(stage.leaves.iter().map(|(_, node)| *node));
        let first_inside = edits.len();
        edits.extend(stage.reads.iter().filter_map(|read| read.inside));
        let outputs = self.logic(stage, &edits, &back, state_back.as_deref(), &replies, "edit", scope, items);
        for (inside, reply) in stage
            .reads
            .iter()
            .zip(&replies)
            .filter(|(read, _)| read.inside.is_some())
            .zip(&outputs[first_inside..])
            .map(|((read, reply), inside)| ((read, inside), reply))
        {
            let (read, inside) = inside;
            let width = self.memories[read.port].data_bits;
            let data = Expr::name(format!("{}_data", reply.1));
            items.push(Item::assign(reply.1.clone(), inside.clone().replicate(int(width)).and(data)));
        }
        let depth = depth(&stage.graph, &requests).max(depth(&stage.graph, &edits));

        items.push(Item::Blank);
        let has_reply = stage.reply.is_some();
        let after = match following {
            Some(following) => self.declare(following, has_reply, scope, items),
            None => {
                let reply = scope.unique("reply");
                items.push(Item::net(reply.clone(), bits(self.frame.layout.reply_bits)));
                Names { at: Vec::new(), held: None, earlier: Some(reply) }
            }
        };
        let active = Expr::name(back.at[0].1.clone());
        let arrives = |step: usize| {
            let passes =
                back.at[1..].iter().find(|(at, _)| *at == step).map(|(_, name)| Expr::name(name.clone()));
            let comes = stage
                .next
                .iter()
                .position(|(to, _)| *to == step)
                .map(|index| active.clone().and(outputs[index].clone()));
            match (passes, comes) {
                (Some(passes), Some(comes)) => {
                    Expr::Binary(crate::sv::Binary::Or, Box::new(passes), Box::new(comes))
                }
                (Some(one), None) | (None, Some(one)) => one,
                (None, None) => unreachable!("steps that are present came from somewhere"),
            }
        };
        let mut body = Vec::new();
        if !after.at.is_empty() {
            let zero = |(_, name): &(usize, String)| Statement::assign(name.clone(), Expr::number(1, 0));
            let next = |(step, name): &(usize, String)| Statement::assign(name.clone(), arrives(*step));
            body.push(Statement::If(
                "rst_i".into(),
                after.at.iter().map(zero).collect(),
                after.at.iter().map(next).collect(),
            ));
        }
        if let Some(held) = &after.held {
            let leaves = outputs[first_leaf..first_inside].iter().rev().cloned().collect();
            body.push(Statement::assign(held.clone(), concat(leaves)));
        }
        if let (Some(earlier), true) = (&after.earlier, has_reply) {
            body.push(Statement::assign(earlier.clone(), outputs[first_reply].clone()));
        }
        items.push(Item::AlwaysFf { clock: "clk_i".into(), body });
        (after, depth)
    }

    /// The delay line beside the memories: what was known, when the data are there; the state then, and the name of the reply
    /// of each read's port.
    fn wait(
        &self,
        stage: &Stage,
        names: Names,
        state: Option<&str>,
        scope: &mut Scope,
        items: &mut Vec<Item>,
    ) -> (Names, Option<String>, Vec<(u32, String)>) {
        let prefix = self.prefix(stage);
        let latency = self.stage_latency(stage);
        items.extend([Item::Blank, Item::comment("Meanwhile the thread waits.")]);
        let mut delay = |what: &str, reset: bool, width: u32, input: Expr, items: &mut Vec<Item>| {
            let output = scope.unique(&format!("{prefix}_{what}_back"));
            items.push(Item::net(output.clone(), bits(width)));
            let mut instance = Instance::new("wl_delay", scope.unique(&format!("i_{prefix}_{what}")))
                .parameter("Width", int(width))
                .parameter("Cycles", latency.clone());
            if reset {
                instance = instance.parameter("Reset", Expr::number(1, 1));
            }
            let instance = instance
                .port("clk_i", "clk_i".into())
                .port("rst_i", "rst_i".into())
                .port("data_i", input)
                .port("data_o", Expr::name(output.clone()));
            items.push(Item::Instance(instance));
            output
        };
        let at = concat(names.at.iter().rev().map(|(_, name)| Expr::name(name.clone())).collect());
        let at_back = delay("at", true, names.at.len() as u32, at, items);
        let kept = state.filter(|_| !stage.keeps.is_empty());
        let held_back = kept.map(|state| {
            let bits = |run: &Range<u32>| match run.end - run.start {
                count if count == self.frame.layout.state_bits => Expr::name(state),
                count => Expr::name(state).bits(run.start, count),
            };
            let parts = concat(stage.keeps.iter().rev().map(bits).collect());
            delay("held", false, length(&stage.keeps), parts, items)
        });
        let earlier = names.earlier.as_ref().map(|earlier| {
            delay("earlier", false, self.frame.layout.reply_bits, Expr::name(earlier.clone()), items)
        });
        let mut at = Vec::new();
        for (index, (step, name)) in names.at.iter().enumerate() {
            let back = scope.unique(&format!("{name}_back"));
            let bit = Expr::name(at_back.clone()).index(int(index as u32));
            items.push(Item::value(back.clone(), Type::Bit, bit));
            at.push((*step, back));
        }
        let state_back = held_back.as_ref().map(|held| {
            let name = scope.unique(&format!("{prefix}_state_back"));
            items.push(Item::value(
                name.clone(),
                bits(self.frame.layout.state_bits),
                self.state(&stage.keeps, held),
            ));
            name
        });
        let mut replies = Vec::new();
        for read in &stage.reads {
            let memory = &self.memories[read.port];
            let step = &self.frame.engine.steps[stage.step].name;
            let slot = memory.slots.iter().position(|name| name == step).expect("the step has a slot") as u32;
            let reply = scope.unique(&format!("{prefix}_{}", memory.name));
            let port = Expr::name(format!("{}_read_data_i", memory.name));
            let data = match memory.slots.len() {
                1 => port,
                _ => port.bits(slot * memory.data_bits, memory.data_bits),
            };
            // Of several memories the quicker ones' data wait for the slowest.
            let data = match stage.reads.iter().all(|other| other.port == read.port) {
                true => data,
                false => {
                    let late = scope.unique(&format!("{reply}_late"));
                    items.push(Item::net(late.clone(), bits(memory.data_bits)));
                    let cycles = latency.clone().sub(Expr::name(memory.parameter.clone()));
                    let instance = Instance::new("wl_delay", scope.unique(&format!("i_{late}")))
                        .parameter("Width", int(memory.data_bits))
                        .parameter("Cycles", cycles)
                        .port("clk_i", "clk_i".into())
                        .port("rst_i", "rst_i".into())
                        .port("data_i", data)
                        .port("data_o", Expr::name(late.clone()));
                    items.push(Item::Instance(instance));
                    Expr::name(late)
                }
            };
            match read.inside {
                None => items.push(Item::value(reply.clone(), bits(memory.data_bits), data)),
                Some(_) => {
                    let whole = scope.unique(&format!("{reply}_data"));
                    items.push(Item::value(whole, bits(memory.data_bits), data));
                    items.push(Item::net(reply.clone(), bits(memory.data_bits)));
                }
            }
            replies.push((read.port as u32, reply));
        }
        (Names { at, held: held_back, earlier }, state_back, replies)
    }

    /// Logic of a stage: its nets, and the expressions of outputs.
    #[allow(clippy::too_many_arguments)] // the surroundings of one place, used twice
    fn logic(
        &self,
        stage: &Stage,
        outputs: &[Node],
        names: &Names,
        state: Option<&str>,
        replies: &[(u32, String)],
        region: &str,
        scope: &mut Scope,
        items: &mut Vec<Item>,
    ) -> Vec<Expr> {
        if outputs.is_empty() {
            return Vec::new();
        }
        let engine = self.frame.engine;
        let steps: Vec<String> = engine.steps.iter().map(|step| legal(&step.name)).collect();
        let where_is = |loc| place(self.frame.program, loc);
        let comments: Vec<String> = engine
            .steps
            .iter()
            .map(|step| match where_is(step.loc) {
                Some(place) => format!("Step `{}`, {place}: {region}", step.name),
                None => format!("Step `{}`: {region}", step.name),
            })
            .collect();
        let reply_of =
            |port: u32| replies.iter().find(|(other, _)| *other == port).map(|(_, name)| name.as_str());
        let input = |input: Input| match input {
            Input::State => Expr::name(state.expect("a state that is looked at is held")),
            Input::Phase => Expr::name(names.at[0].1.clone()),
            Input::Info => Expr::name(names.earlier.clone().expect("a reply that is looked at is held")),
            Input::Reply(port) => {
                Expr::name(reply_of(port).expect("edits look at replies of their own step"))
            }
            Input::Step | Input::Word(_) => {
                unreachable!("called engines have no packet, and stages no number")
            }
        };
        let naming = Naming { steps: &steps, comments: &comments, input: &input, place: &where_is };
        let count = stage.graph.nodes().count();
        let schedule = Schedule { stages: vec![0; count], last: 0, depth: 0 };
        let mut emitter = Emitter::new(&stage.graph, &schedule, &naming, scope.clone(), outputs);
        let nets = emitter.items();
        for item in &nets {
            if let Item::Net { name, .. } = item {
                scope.reserve(name.clone());
            }
        }
        items.extend(nets);
        let expressions = outputs.iter().map(|node| emitter.reference(*node, 0)).collect();
        let mut ports: Vec<(Expr, Input)> = vec![(Expr::name(names.at[0].1.clone()), Input::Phase)];
        ports.extend(state.map(|state| (Expr::name(state), Input::State)));
        ports.extend(names.earlier.as_ref().map(|earlier| (Expr::name(earlier.clone()), Input::Info)));
        ports.extend(replies.iter().map(|(port, name)| (Expr::name(name.clone()), Input::Reply(*port))));
        for mut item in emitter.unused(&ports, &[]) {
            if let Item::Net { name, .. } = &mut item {
                *name = scope.unique(&format!("unused_{}_{region}", self.prefix(stage)));
            }
            items.push(item);
        }
        expressions
    }

    fn outputs(&self, last: &Names, slots: Vec<Vec<(Expr, Expr)>>, scope: &mut Scope, items: &mut Vec<Item>) {
        items.extend([
            Item::Blank,
            Item::comment("To the memories: the first step's slot in the lowest bits."),
        ]);
        for (memory, slots) in self.memories.iter().zip(slots) {
            let (valid, address): (Vec<Expr>, Vec<Expr>) = slots.into_iter().rev().unzip();
            items.push(Item::assign(format!("{}_read_valid_o", memory.name), concat(valid)));
            items.push(Item::assign(format!("{}_read_address_o", memory.name), concat(address)));
        }
        items.extend([Item::Blank, Item::comment("The reply.")]);
        let reply = last.earlier.clone().expect("called engines reply");
        items.push(Item::assign("reply_data_o", Expr::name(reply)));
        for (what, width, reset) in [("valid", int(1), true), ("tag", Expr::name("TagBits"), false)] {
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
