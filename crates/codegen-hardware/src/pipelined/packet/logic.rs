//! The logic of one step of a packet engine, as modules for its reads, its requests and its
//! outputs.

use wireloom_codegen::files::short_place;
use wireloom_ir::{Engine, EngineId, Program};

use crate::core::assemble::{Assembly, Outputs, WriteOutput};
use crate::core::balance;
use crate::core::emit::{Emitter, Naming};
use crate::core::graph::{Graph, Input, Node};
use crate::core::layout::Layout;
use crate::core::schedule::{Root, Schedule, depth, schedule};
use crate::core::step_logic::StepLogic;
use crate::core::{
    LATE_OFFSET, OffloadPort, Options, Refusal, Surroundings, lower, module_prefix, offload,
    part_of, step_comments,
};
use crate::sv::names::Scope;
use crate::sv::{Expr, Item, Module, Port, Type};

/// The data common to all steps of an engine.
pub(super) struct Frame<'a> {
    pub(super) program: &'a Program,
    pub(super) engine: &'a Engine,
    pub(super) layout: Layout,
    pub(super) ports: Vec<OffloadPort>,
    /// The prefix of the module names.
    pub(super) name: String,
    /// The names of the steps, as legal identifiers.
    pub(super) steps: Vec<String>,
    comments: Vec<String>,
}

/// A step as modules.
pub(super) struct Logic {
    /// The index of the step.
    pub(super) step: usize,
    /// `NAME_STEP_address`, if the step reads its packet.
    pub(super) address: Option<Module>,
    /// `NAME_STEP_request`, if the step calls offloads.
    pub(super) request: Option<Module>,
    /// `NAME_STEP_edit`.
    pub(super) edit: Module,
    /// The number of window words that the step reads and writes.
    pub(super) reads: u32,
    pub(super) writes: u32,
    /// The number of register stages of request and edit.
    pub(super) stages: (u32, u32),
    pub(super) calls: Vec<Call>,
    /// Whether some path of the step clears the window, and whether it may move the window.
    pub(super) clears: bool,
    pub(super) moves: bool,
    /// The maximum number of bytes that the step pushes.
    pub(super) pushed: u64,
    /// The number of levels of six-input LUTs of the deepest stage, according to the model.
    pub(super) depth: u32,
}

pub(super) struct Call {
    pub(super) port: usize,
    /// The position of the request among the requests of the step.
    pub(super) request_low: u32,
    /// The position of the reply among the replies of the step.
    pub(super) reply_low: u32,
}

impl Logic {
    /// Returns whether the step waits for replies.
    pub(super) fn waits(&self, frame: &Frame<'_>) -> bool {
        self.calls.iter().any(|call| frame.ports[call.port].reply_bits > 0)
    }

    /// Returns the number of bits of all replies to the step.
    pub(super) fn reply_bits(&self, frame: &Frame<'_>) -> u32 {
        self.calls.iter().map(|call| frame.ports[call.port].reply_bits).sum()
    }

    /// Returns the number of bits of all requests of the step.
    pub(super) fn request_bits(&self, frame: &Frame<'_>) -> u32 {
        self.calls.iter().map(|call| frame.ports[call.port].request_bits.max(1)).sum()
    }
}

impl<'a> Frame<'a> {
    pub(super) fn new(program: &'a Program, engine: EngineId, options: &Options) -> Self {
        let body = &program.engines[engine.index()];
        let ports = offload::ports(program, engine);
        let mut scope = Scope::new();
        Self {
            program,
            engine: body,
            layout: Layout::of(program, body, &ports, options.header_bytes),
            ports,
            name: module_prefix(body),
            steps: body.steps.iter().map(|step| scope.unique(&step.name)).collect(),
            comments: step_comments(program, body),
        }
    }

    /// Builds the logic of each step in `order`.
    pub(super) fn logic(&self, order: &[usize], options: &Options) -> Result<Vec<Logic>, Refusal> {
        let around = Surroundings::new(self.program, self.engine, &self.layout, &self.ports);
        let step = |&step: &usize| {
            let mut graph = Graph::new();
            let logic = lower::step(&mut graph, &around, step)?;
            self.step(graph, step, logic, options)
        };
        order.iter().map(step).collect()
    }

    fn step(
        &self,
        mut graph: Graph,
        step: usize,
        mut logic: StepLogic,
        options: &Options,
    ) -> Result<Logic, Refusal> {
        // The ports that the step uses, in the order of its requests.
        let calls = self.calls(&logic);
        let ports: Vec<OffloadPort> =
            calls.iter().map(|call| self.ports[call.port].clone()).collect();
        for request in &mut logic.requests {
            request.0 =
                calls.iter().position(|call| call.port == request.0).expect("each call is listed");
        }
        let (moves, pushed) = (logic.hand.moves_front(), logic.hand.most_pushed(&graph));
        let clears = logic.hand.clear().is_some();
        let steps = [logic];
        let always = graph.bit(true);
        let assembly = Assembly {
            engine: self.engine,
            layout: &self.layout,
            ports: &ports,
            steps: &steps,
            active: vec![always],
        };
        let body = &self.engine.steps[step];
        let mut outputs = assembly
            .outputs(&mut graph)
            .map_err(|_| Refusal::at(self.program, self.engine, body, body.loc, LATE_OFFSET))?;
        balance::balance(&mut graph, &mut outputs.all());
        let writer = Writer { frame: self, graph: &graph, step, calls: &calls, outputs: &outputs };
        let budget = 2 * options.levels;
        let address = (!outputs.offsets.is_empty()).then(|| writer.address());
        let request = (!calls.is_empty()).then(|| writer.request(budget));
        let (edit, edit_schedule) = writer.edit(budget);
        let depths = [
            depth(&graph, &outputs.offsets),
            request.as_ref().map_or(0, |(_, schedule)| schedule.depth),
            edit_schedule.depth,
        ];
        Ok(Logic {
            step,
            reads: outputs.offsets.len() as u32,
            writes: outputs.writes.len() as u32,
            stages: (request.as_ref().map_or(0, |(_, schedule)| schedule.last), edit_schedule.last),
            address,
            request: request.map(|(module, _)| module),
            edit,
            clears,
            moves,
            pushed,
            depth: depths.into_iter().max().unwrap_or(0).div_ceil(2),
            calls,
        })
    }

    fn calls(&self, logic: &StepLogic) -> Vec<Call> {
        let mut ports: Vec<usize> = logic.requests.iter().map(|(port, ..)| *port).collect();
        ports.sort_unstable();
        ports.dedup();
        let (mut request_low, mut reply_low) = (0, 0);
        let call = |port: usize| {
            let call = Call { port, request_low, reply_low };
            request_low += self.ports[port].request_bits.max(1);
            reply_low += self.ports[port].reply_bits;
            call
        };
        ports.into_iter().map(call).collect()
    }
}

/// Describes an output that `wl_pipeline_step` registers directly.
fn registered(node: &Node) -> Root {
    Root { node: *node, behind: 0 }
}

/// The outputs of a module: name, number of bits, description, and nodes, the first in the lowest
/// bits.
type Output = (&'static str, u32, &'static str, Vec<Node>);

struct Writer<'a> {
    frame: &'a Frame<'a>,
    graph: &'a Graph,
    step: usize,
    calls: &'a [Call],
    outputs: &'a Outputs,
}

impl Writer<'_> {
    fn address(&self) -> Module {
        let outputs = self.outputs;
        let all = Schedule { stages: vec![0; self.graph.nodes().count()], last: 0, depth: 0 };
        let offsets = (
            "offset_o",
            17 * self.reads(),
            "Byte offset of each word, 17 bits.",
            outputs.offsets.clone(),
        );
        let doc = "where it reads its packet, counted from the window's first byte.\n\
                   Combinational. Generated.";
        self.module("address", doc, &[Input::State, Input::Info], &[offsets], &all)
    }

    fn request(&self, budget: u32) -> (Module, Schedule) {
        let outputs = self.outputs;
        let roots: Vec<Node> =
            outputs.request_valid.iter().chain(&outputs.request_data).copied().collect();
        let schedule =
            schedule(self.graph, &roots.iter().map(registered).collect::<Vec<_>>(), budget);
        let count = self.calls.len() as u32;
        let bits = roots[count as usize..].iter().map(|node| self.graph.width(*node)).sum();
        let ports = [
            (
                "request_valid_o",
                count,
                "Whether each offload is called.",
                outputs.request_valid.clone(),
            ),
            ("request_data_o", bits, "The data of the requests.", outputs.request_data.clone()),
        ];
        let doc = format!(
            "what it asks for.\nOutputs follow the inputs after {} cycles. Generated.",
            schedule.last
        );
        let mut inputs = vec![Input::State, Input::Info];
        inputs.extend((self.reads() > 0).then_some(Input::Word(0)));
        (self.module("request", &doc, &inputs, &ports, &schedule), schedule)
    }

    fn edit(&self, budget: u32) -> (Module, Schedule) {
        let outputs = self.outputs;
        let column = |f: fn(&WriteOutput) -> Node| outputs.writes.iter().map(f).collect::<Vec<_>>();
        let layout = &self.frame.layout;
        let writes = outputs.writes.len() as u32;
        let mut ports: Vec<Output> = vec![
            ("step_o", layout.step_bits, "The next step.", vec![outputs.step]),
            ("state_o", layout.state_bits, "The next state.", vec![outputs.state]),
            ("exit_o", 3, "wl_pkg::EXIT_*.", vec![outputs.exit]),
            ("reason_o", 24, "Set and number of the reason.", vec![outputs.reason]),
            (
                "clear_valid_o",
                1,
                "Whether bytes are cleared before the writes.",
                vec![outputs.clear_valid],
            ),
            (
                "clear_address_o",
                8,
                "Physical address of the first cleared byte.",
                vec![outputs.clear_address],
            ),
            ("clear_count_o", 9, "Number of cleared bytes.", vec![outputs.clear_count]),
        ];
        if writes > 0 {
            ports.extend([
                ("write_valid_o", writes, "Whether each port writes.", column(|w| w.valid)),
                (
                    "write_address_o",
                    8 * writes,
                    "Physical address of byte 0.",
                    column(|w| w.address),
                ),
                (
                    "write_strobe_o",
                    layout.header_bytes * writes,
                    "Bit k: byte k is written.",
                    column(|w| w.strobe),
                ),
                (
                    "write_data_o",
                    layout.word_bits() * writes,
                    "Byte 0 most significant.",
                    column(|w| w.data),
                ),
            ]);
        }
        let roots: Vec<Node> = ports.iter().flat_map(|(.., nodes)| nodes).copied().collect();
        let schedule =
            schedule(self.graph, &roots.iter().map(registered).collect::<Vec<_>>(), budget);
        let doc = format!(
            "what becomes of the packet.\nOutputs follow the inputs after {} cycles. Generated.",
            schedule.last
        );
        let mut inputs = vec![Input::State, Input::Info];
        inputs.extend((self.reads() > 0).then_some(Input::Word(0)));
        inputs.extend((self.reply_bits() > 0).then_some(Input::Reply(0)));
        (self.module("edit", &doc, &inputs, &ports, &schedule), schedule)
    }

    fn reads(&self) -> u32 {
        self.outputs.offsets.len() as u32
    }

    fn reply_bits(&self) -> u32 {
        self.calls.iter().map(|call| self.frame.ports[call.port].reply_bits).sum()
    }

    /// Returns the expression of an input: a port, or a part of one.
    fn input(&self, input: Input) -> Expr {
        let word = self.frame.layout.word_bits();
        match input {
            Input::State => Expr::name("state_i"),
            Input::Info => Expr::name("info_i"),
            Input::Word(port) => part_of("words_i", port * word, word, self.reads() * word),
            Input::Reply(port) => {
                let call = self.calls.iter().find(|call| call.port == port as usize);
                let low = call.expect("replies come of calls").reply_low;
                part_of(
                    "replies_i",
                    low,
                    self.frame.ports[port as usize].reply_bits,
                    self.reply_bits(),
                )
            }
            Input::Step | Input::Phase => {
                unreachable!("the logic is that of one step with its replies")
            }
        }
    }

    /// Builds a module of the step. `inputs` names the ports. A single word in it represents all
    /// words, and a single reply all replies.
    fn module(
        &self,
        part: &str,
        doc: &str,
        inputs: &[Input],
        outputs: &[Output],
        schedule: &Schedule,
    ) -> Module {
        let frame = self.frame;
        let name = format!("{}_{}_{part}", frame.name, frame.steps[self.step]);
        let mut module = Module::new(name, &format!("{}: {doc}", frame.comments[self.step]));
        let bits = |width: u32| Type::vector(Expr::int(u64::from(width)));
        // The address module is combinational and has no clock.
        let clocked = part != "address";
        if clocked {
            module.ports.push(Port::input("clk_i", Type::Bit, "Clock."));
        }
        let word = frame.layout.word_bits();
        let mut parts: Vec<(Expr, Input)> = Vec::new();
        for &input in inputs {
            module.ports.push(match input {
                Input::State => {
                    Port::input("state_i", bits(frame.layout.state_bits), "The packet's state.")
                }
                Input::Info => Port::input(
                    "info_i",
                    bits(frame.layout.info_bits),
                    "The packet's constant information.",
                ),
                Input::Word(_) => {
                    parts.extend(
                        (0..self.reads()).map(Input::Word).map(|input| (self.input(input), input)),
                    );
                    Port::input(
                        "words_i",
                        bits(word * self.reads()),
                        "The words that were read, byte 0 of each most significant.",
                    )
                }
                _ => {
                    let replying =
                        self.calls.iter().filter(|call| frame.ports[call.port].reply_bits > 0);
                    let replies = replying.map(|call| Input::Reply(call.port as u32));
                    parts.extend(replies.map(|input| (self.input(input), input)));
                    Port::input("replies_i", bits(self.reply_bits()), "Replies of the offloads.")
                }
            });
            if matches!(input, Input::State | Input::Info) {
                parts.push((self.input(input), input));
            }
        }
        module.ports.extend(outputs.iter().map(|(name, width, doc, _)| {
            let ty =
                if *width == 1 && name.starts_with("clear") { Type::Bit } else { bits(*width) };
            Port::output(*name, ty, *doc)
        }));
        let mut scope = Scope::new();
        module.ports.iter().for_each(|port| scope.reserve(port.name.clone()));
        scope.reserve("unused");
        let input = |input| self.input(input);
        let place = |loc| short_place(frame.program, loc);
        let naming =
            Naming { steps: &frame.steps, comments: &frame.comments, input: &input, place: &place };
        let roots: Vec<Node> = outputs.iter().flat_map(|(.., nodes)| nodes).copied().collect();
        let mut emitter = Emitter::new(self.graph, schedule, &naming, scope, &roots);
        module.items = emitter.items();
        module.items.push(Item::Blank);
        for (name, width, _, nodes) in outputs {
            let value = emitter.stacked(nodes, *width);
            module.items.push(Item::assign(*name, value));
        }
        let idle: &[&str] = if clocked && schedule.last == 0 { &["clk_i"] } else { &[] };
        module.items.extend(emitter.unused(&parts, idle));
        module
    }
}
