//! The nets of a stage: its logic, and the delay line parallel to its memories.

use std::ops::Range;

use super::pipeline::{Builder, Names, bits, concat, int, length};
use super::stage::Stage;
use crate::core::emit::{Emitter, Naming};
use crate::core::graph::{Input, Node};
use crate::core::schedule::{Schedule, depth};
use crate::sv::names::{Scope, legal};
use crate::sv::{Expr, Instance, Item, Statement, Type};
use wireloom_codegen::files::short_place;

/// The data that a memory has returned.
struct Reply {
    port: usize,
    /// The net with the data.
    name: String,
    /// The net with the data regardless of whether the index was in range, if that must be checked.
    unmasked: Option<String>,
}

impl Builder<'_> {
    /// Writes a stage. Returns the values known after it, and the depth of its logic in half
    /// levels.
    pub(super) fn stage(
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
        let requests: Vec<Node> =
            stage.reads.iter().flat_map(|read| [read.valid, read.address]).collect();
        let outputs =
            self.logic(stage, &requests, &names, state.as_deref(), &[], "request", scope, items);
        for (read, output) in stage.reads.iter().zip(outputs.chunks(2)) {
            slots[read.port].push((output[0].clone(), output[1].clone()));
        }

        let (back, state_back, replies) = match stage.reads.is_empty() {
            true => (names, state, Vec::new()),
            false => self.wait(stage, names, state.as_deref(), scope, items),
        };

        // The new state of the thread.
        let mut edits: Vec<Node> = stage.next.iter().map(|(_, condition)| *condition).collect();
        let first_reply = edits.len();
        edits.extend(stage.reply);
        let first_leaf = edits.len();
        edits.extend(stage.leaves.iter().map(|(_, node)| *node));
        let first_inside = edits.len();
        edits.extend(stage.reads.iter().filter_map(|read| read.inside));
        let outputs =
            self.logic(stage, &edits, &back, state_back.as_deref(), &replies, "edit", scope, items);
        let masked = replies.iter().filter_map(|reply| Some((reply, reply.unmasked.as_ref()?)));
        for ((reply, unmasked), inside) in masked.zip(&outputs[first_inside..]) {
            let width = int(self.memories[reply.port].data_bits);
            let value = inside.clone().replicate(width).and(Expr::name(unmasked.clone()));
            items.push(Item::assign(reply.name.clone(), value));
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
            let passes = back.at[1..]
                .iter()
                .find(|(at, _)| *at == step)
                .map(|(_, name)| Expr::name(name.clone()));
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
        if !after.at.is_empty() {
            let zero =
                |(_, name): &(usize, String)| Statement::assign(name.clone(), Expr::number(1, 0));
            let next =
                |(step, name): &(usize, String)| Statement::assign(name.clone(), arrives(*step));
            items.push(Item::reset_registers(
                after.at.iter().map(zero).collect(),
                after.at.iter().map(next).collect(),
            ));
        }
        let mut body = Vec::new();
        if let Some(held) = &after.held {
            let leaves = outputs[first_leaf..first_inside].iter().rev().cloned().collect();
            body.push(Statement::assign(held.clone(), concat(leaves)));
        }
        if let (Some(earlier), true) = (&after.earlier, has_reply) {
            body.push(Statement::assign(earlier.clone(), outputs[first_reply].clone()));
        }
        if !body.is_empty() {
            items.push(Item::registers(body));
        }
        (after, depth)
    }

    /// Writes the delay line parallel to the memories. Returns the values known when the data
    /// arrive, the state at that time, and the name of the reply of each read's port.
    fn wait(
        &self,
        stage: &Stage,
        names: Names,
        state: Option<&str>,
        scope: &mut Scope,
        items: &mut Vec<Item>,
    ) -> (Names, Option<String>, Vec<Reply>) {
        let prefix = self.prefix(stage);
        let latency = self.stage_latency(stage);
        items.extend([
            Item::Blank,
            Item::comment("The thread is delayed while the memory is read."),
        ]);
        let mut delay =
            |what: &str, reset: bool, width: u32, input: Expr, items: &mut Vec<Item>| {
                let output = scope.unique(&format!("{prefix}_{what}_back"));
                items.push(Item::net(output.clone(), bits(width)));
                let mut instance =
                    Instance::new("wl_delay", scope.unique(&format!("i_{prefix}_{what}")))
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
            delay(
                "earlier",
                false,
                self.frame.layout.reply_bits,
                Expr::name(earlier.clone()),
                items,
            )
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
            let slot =
                memory.slots.iter().position(|name| name == step).expect("the step has a slot")
                    as u32;
            let reply = scope.unique(&format!("{prefix}_{}", memory.name));
            let port = Expr::name(format!("{}_read_data_i", memory.name));
            let data = match memory.slots.len() {
                1 => port,
                _ => port.bits(slot * memory.data_bits, memory.data_bits),
            };
            // Data of faster memories wait for the data of the slowest one.
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
            let unmasked = read.inside.map(|_| scope.unique(&format!("{reply}_data")));
            match &unmasked {
                None => items.push(Item::value(reply.clone(), bits(memory.data_bits), data)),
                Some(unmasked) => {
                    items.push(Item::value(unmasked.clone(), bits(memory.data_bits), data));
                    items.push(Item::net(reply.clone(), bits(memory.data_bits)));
                }
            }
            replies.push(Reply { port: read.port, name: reply, unmasked });
        }
        (Names { at, held: held_back, earlier }, state_back, replies)
    }

    /// Writes the logic of a stage: its nets, and the expressions of its outputs.
    #[allow(clippy::too_many_arguments)] // the surroundings of one place, used twice
    fn logic(
        &self,
        stage: &Stage,
        outputs: &[Node],
        names: &Names,
        state: Option<&str>,
        replies: &[Reply],
        region: &str,
        scope: &mut Scope,
        items: &mut Vec<Item>,
    ) -> Vec<Expr> {
        if outputs.is_empty() {
            return Vec::new();
        }
        let engine = self.frame.engine;
        let steps: Vec<String> = engine.steps.iter().map(|step| legal(&step.name)).collect();
        let where_is = |loc| short_place(self.frame.program, loc);
        let comments: Vec<String> = engine
            .steps
            .iter()
            .map(|step| match where_is(step.loc) {
                Some(place) => format!("Step `{}`, {place}: {region}", step.name),
                None => format!("Step `{}`: {region}", step.name),
            })
            .collect();
        let reply_of = |port: u32| {
            replies.iter().find(|reply| reply.port == port as usize).map(|reply| &reply.name)
        };
        let input = |input: Input| match input {
            Input::State => Expr::name(state.expect("a state that is looked at is held")),
            Input::Phase => Expr::name(names.at[0].1.clone()),
            Input::Info => {
                Expr::name(names.earlier.clone().expect("a reply that is looked at is held"))
            }
            Input::Reply(port) => Expr::name(
                reply_of(port).cloned().expect("edits look at replies of their own step"),
            ),
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
        ports.extend(
            names.earlier.as_ref().map(|earlier| (Expr::name(earlier.clone()), Input::Info)),
        );
        let heard =
            |reply: &Reply| (Expr::name(reply.name.clone()), Input::Reply(reply.port as u32));
        ports.extend(replies.iter().map(heard));
        for mut item in emitter.unused(&ports, &[]) {
            if let Item::Net { name, .. } = &mut item {
                *name = scope.unique(&format!("unused_{}_{region}", self.prefix(stage)));
            }
            items.push(item);
        }
        expressions
    }
}
