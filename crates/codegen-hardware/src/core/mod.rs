//! The generated part of an engine: its steps as logic.
//!
//! [`build`] turns an engine in regions into two modules that a hand-written shell
//! (`hardware/engine`) runs for many threads: `ENGINE_address`, which is combinational and
//! determines the header words that a step reads, and `ENGINE_core`, which computes everything
//! else: requests, the next state, writes to the packet, and the exit of the step.
//!
//! - [`lower`] builds the logic of each step ([`step_logic`]), [`packet`] that of the current
//!   packet, and [`kinds`] that of offloads which need no service; all logic is in one [`graph`],
//!   so that steps share common parts;
//! - [`offload`] finds the ports ([`port`]) through which the engine calls all other offloads;
//! - [`assemble`] combines the steps; [`select`] selects between their values, and [`facts`]
//!   determines where no selection is needed;
//! - [`balance`] shortens the logic; [`schedule`] divides the graph into stages; [`emit`] prints
//!   it.
//!
//! The semantics match the golden model bit by bit, including the corner cases: fields partly
//! outside the window, refused resizes, runaway threads.

pub mod assemble;
pub mod balance;
pub mod calls;
pub mod emit;
pub mod facts;
pub mod graph;
pub mod kinds;
pub mod layout;
pub mod lower;
mod lowering;
pub mod offload;
pub mod packet;
pub mod port;
pub mod refusal;
pub mod schedule;
mod searches;
pub mod select;
pub mod step_logic;
#[cfg(test)]
mod tests;

use wireloom_bits::MAX_WIDTH;
use wireloom_ir::{Engine, EngineId, Program, Step};
use wireloom_net::packet as packets;

use crate::sv::names::{Scope, legal};
use crate::sv::{Expr, Item, Module, Port, Type};
use assemble::{Assembly, Outputs};
use emit::{Emitter, Naming};
use graph::{Graph, Input, Node};
use layout::Layout;
pub use lowering::Surroundings;
use offload::BodyChanges;
pub use port::{OffloadPort, PortMethod};
pub use refusal::Refusal;
use schedule::{Root, Schedule, schedule};
use wireloom_codegen::files::short_place;

/// The number of bytes of a row of the header memory (`wl_pkg::WordBytes`). Windows are loaded and
/// unloaded by rows.
pub const ROW_BYTES: u32 = 16;
/// The number of bytes that a header window can hold (`wl_pkg::WindowBytes`).
pub const WINDOW_BYTES: u32 = (packets::WINDOW + packets::HEADROOM) as u32;
/// The number of bytes of an arriving packet that are loaded into the window
/// (`wl_pkg::WindowLoaded`).
pub const WINDOW_LOADED: u32 = packets::WINDOW as u32;
/// The number of bytes of the longest packet.
pub const MAX_LENGTH: u32 = packets::MAX_LENGTH as u32;
/// The reason that the core outputs for a packet whose thread jumped back too often.
pub const RUNAWAY: u32 = 0xff_0000;

/// Options of the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The maximum number of LUT levels of a stage of the core, according to the model of
    /// `wireloom_compile::analysis::depth`.
    pub levels: u32,
    /// The number of bytes that a header port reads or writes at once: 4, 8 or 16. The program's
    /// steps must have been fitted to such ports.
    pub header_bytes: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self { levels: 11, header_bytes: 16 }
    }
}

/// The generated modules of an engine, and the properties that their surroundings need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Core {
    /// The engine's name as a legal identifier, which is the prefix of its modules.
    pub name: String,
    /// `NAME_address` and `NAME_core`.
    pub modules: Vec<Module>,
    /// The offload ports, in the order of the vectors' fields.
    pub ports: Vec<OffloadPort>,
    /// The layout of the vectors.
    pub layout: Layout,
    /// The number of words that a slot reads; at least 1.
    pub read_ports: u32,
    /// The number of words that a slot writes; at least 1.
    pub write_ports: u32,
    /// The number of register stages in the core.
    pub core_stages: u32,
    /// The number of levels of six-input LUTs of the core's deepest stage and of the address
    /// module, according to the model.
    pub depth: (u32, u32),
    /// Whether some step sends a copy and continues.
    pub emits: bool,
    /// Whether some copy may have only some of the packet's bytes.
    pub pieces: bool,
    /// Whether some step clears bytes of the window.
    pub clears: bool,
    pub bodies: BodyChanges,
    /// The names of the steps by number. The last one is `runaway` if threads can run away.
    pub steps: Vec<String>,
}

impl Core {
    /// Returns the name and the text of each file.
    pub fn files(&self) -> Vec<(String, String)> {
        self.modules.iter().map(|m| (m.file(), m.print())).collect()
    }

    /// Returns the number of the shell's offload ports; at least 1.
    pub fn offloads(&self) -> u32 {
        (self.ports.len() as u32).max(1)
    }
}

/// Builds the modules of an engine whose steps are in regions
/// (`wireloom_compile::pipeline::optimise`).
///
/// # Errors
/// If the hardware cannot execute the engine.
pub fn build(program: &Program, engine: EngineId, options: &Options) -> Result<Core, Refusal> {
    let body = &program.engines[engine.index()];
    let ports = offload::ports(program, engine);
    let layout = Layout::of(program, body, &ports, options.header_bytes);
    let word_bits = layout.word_bits();
    let refuse = |step: usize, reason: String| {
        let step = &body.steps[step];
        Refusal::at(program, body, step, step.loc, reason)
    };
    let bodies = BodyChanges::of(body).map_err(|(step, reason)| refuse(step, reason))?;
    searches::after_changes(body).map_or(Ok(()), |step| {
        let reason = "the packet has been changed before it is searched: this machine searches \
                      packets as they arrived, so search first";
        Err(refuse(step, reason.into()))
    })?;
    let mut graph = Graph::new();
    let around = Surroundings::new(program, body, &layout, &ports);
    let lowered = (0..body.steps.len()).map(|step| lower::step(&mut graph, &around, step));
    let steps = lowered.collect::<Result<Vec<_>, _>>()?;
    let emits = steps
        .iter()
        .flat_map(|step| &step.exits)
        .any(|exit| matches!(exit.kind, step_logic::ExitKind::Emit(..)));
    let clears = steps.iter().any(|step| step.hand.clear().is_some());
    let assembly = Assembly::new(&mut graph, body, &layout, &ports, &steps);
    let mut outputs =
        assembly.outputs(&mut graph).map_err(|step| refuse(step, LATE_OFFSET.into()))?;
    balance::balance(&mut graph, &mut outputs.all());
    if let Some(wide) = graph.nodes().find(|node| graph.width(*node) > MAX_WIDTH) {
        let reason = format!(
            "a thread's state and replies take {} bits, and this machine handles at most {MAX_WIDTH}: keep less context, or shorter arrays in it",
            graph.width(wide)
        );
        return Err(refuse(0, reason));
    }
    let name = module_prefix(body);
    let mut step_names: Vec<String> = body.steps.iter().map(|s| s.name.clone()).collect();
    let comments = step_comments(program, body);
    let mut scope = Scope::new();
    let legal_steps: Vec<String> = step_names.iter().map(|s| scope.unique(s)).collect();
    if layout.runaway_step.is_some() {
        step_names.push("runaway".into());
    }
    let read_ports = outputs.offsets.len().max(1) as u32;
    let write_ports = outputs.writes.len().max(1) as u32;
    let place = |loc| short_place(program, loc);
    let input = |input| match input {
        Input::Step => Expr::name("step_i"),
        Input::Phase => Expr::name("phase_i"),
        Input::State => Expr::name("state_i"),
        Input::Info => Expr::name("info_i"),
        Input::Word(port) => {
            part_of("words_i", port * word_bits, word_bits, read_ports * word_bits)
        }
        Input::Reply(port) => {
            let low = layout.replies[port as usize];
            part_of("replies_i", low, ports[port as usize].reply_bits, layout.reply_total)
        }
    };
    let naming = Naming { steps: &legal_steps, comments: &comments, input: &input, place: &place };
    let generator = Generator {
        graph: &graph,
        naming: &naming,
        layout: &layout,
        name: &name,
        read_ports,
        write_ports,
        source: &body.name,
    };
    let (address, address_depth) = generator.address(&outputs);
    let (core, schedule) = generator.core(&outputs, 2 * options.levels, ports.len());
    Ok(Core {
        modules: vec![address, core],
        name,
        read_ports,
        write_ports,
        core_stages: schedule.last,
        depth: (schedule.depth.div_ceil(2), address_depth.div_ceil(2)),
        steps: step_names,
        ports,
        layout,
        emits,
        pieces: outputs.piece.is_some(),
        clears,
        bodies,
    })
}

/// The reason for refusing a step if [`Assembly::outputs`] reports that its read offsets are known
/// too late.
pub const LATE_OFFSET: &str = "the header is read at an offset that depends on a read or a reply \
                               of the same step: this machine reads the header when a step begins";

/// Returns the prefix of the names of an engine's modules.
pub fn module_prefix(engine: &Engine) -> String {
    legal(&format!("{}_core", engine.name)).trim_end_matches("_core").to_owned()
}

/// Returns the comments above the logic of an engine's steps.
pub fn step_comments(program: &Program, engine: &Engine) -> Vec<String> {
    let comment = |step: &Step| match short_place(program, step.loc) {
        Some(place) => format!("Step `{}`, {place}", step.name),
        None => format!("Step `{}`", step.name),
    };
    engine.steps.iter().map(comment).collect()
}

/// Returns bits of a port, or the port itself if these are all its bits.
pub fn part_of(port: &str, low: u32, width: u32, total: u32) -> Expr {
    let port = Expr::name(port);
    match width == total {
        true => port,
        false if width == 1 => port.index(Expr::int(u64::from(low))),
        false => port.bits(low, width),
    }
}

struct Generator<'a> {
    graph: &'a Graph,
    naming: &'a Naming<'a>,
    layout: &'a Layout,
    name: &'a str,
    source: &'a str,
    read_ports: u32,
    write_ports: u32,
}

impl Generator<'_> {
    fn scope(&self, module: &Module) -> Scope {
        let mut scope = Scope::new();
        module.ports.iter().for_each(|p| scope.reserve(p.name.clone()));
        scope.reserve("unused");
        scope
    }

    fn step_type(&self) -> Type {
        Type::vector(Expr::int(u64::from(self.layout.step_bits)))
    }

    fn inputs(&self) -> [Port; 3] {
        let bits = |width: u32| Type::vector(Expr::int(u64::from(width)));
        [
            Port::input("step_i", self.step_type(), "Number of the step."),
            Port::input("state_i", bits(self.layout.state_bits), "The thread's state."),
            Port::input(
                "info_i",
                bits(self.layout.info_bits),
                "The packet's constant information.",
            ),
        ]
    }

    fn address(&self, outputs: &Outputs) -> (Module, u32) {
        let doc = format!(
            "The positions at which the steps of engine `{}` read their packets: the byte offset\n\
             of each word from the window's first byte. Combinational. Generated.",
            self.source
        );
        let mut module = Module::new(format!("{}_address", self.name), &doc);
        module.ports.extend(self.inputs());
        module.ports.push(Port::output(
            "offset_o",
            Type::vector(Expr::int(u64::from(17 * self.read_ports))),
            "17 bits for each port.",
        ));
        let all = Schedule { stages: vec![0; self.graph.nodes().count()], last: 0, depth: 0 };
        let mut emitter =
            Emitter::new(self.graph, &all, self.naming, self.scope(&module), &outputs.offsets);
        module.items = emitter.items();
        module.items.push(Item::Blank);
        let offsets = emitter.vector(&outputs.offsets, 17, self.read_ports);
        module.items.push(Item::assign("offset_o", offsets));
        let ports = [("step_i", Input::Step), ("state_i", Input::State), ("info_i", Input::Info)];
        let ports = ports.map(|(name, input)| (Expr::name(name), input));
        module.items.extend(emitter.unused(&ports, &[]));
        (module, schedule::depth(self.graph, &outputs.offsets))
    }

    fn core(&self, outputs: &Outputs, budget: u32, offloads: usize) -> (Module, Schedule) {
        let roots = outputs.roots(|port| self.layout.reply_bits_of(port as u32) > 0);
        let schedule = schedule(self.graph, &roots, budget);
        let roots: Vec<Node> = roots.iter().map(|root| root.node).collect();
        let doc = format!(
            "The logic of the steps of engine `{}`: requests, next state, writes to the packet, \
             exits.\nOutputs follow the inputs after {} cycles. Generated.",
            self.source, schedule.last
        );
        let mut module = Module::new(format!("{}_core", self.name), &doc);
        let bits = |width: u32| Type::vector(Expr::int(u64::from(width)));
        let (bytes, words) = (self.layout.header_bytes, self.layout.word_bits());
        module.ports.push(Port::input("clk_i", Type::Bit, "Clock."));
        module.ports.extend(self.inputs());
        let layout = self.layout;
        module.ports.extend([
            Port::input(
                "words_i",
                bits(words * self.read_ports),
                "The words that were read, byte 0 of each most significant.",
            ),
            Port::input("replies_i", bits(layout.reply_total.max(1)), "Replies of the offloads."),
            Port::input("phase_i", Type::Bit, "One: the replies have arrived."),
            Port::output(
                "request_valid_o",
                bits(offloads.max(1) as u32),
                "Whether each offload is called.",
            ),
            Port::output(
                "request_data_o",
                bits(layout.request_bits.max(1)),
                "The data of the requests.",
            ),
            Port::output("commit_o", Type::Bit, "The step ends: the outputs below are valid."),
            Port::output("step_o", self.step_type(), "The next step."),
            Port::output("state_o", bits(layout.state_bits), "The next state."),
            Port::output(
                "write_valid_o",
                bits(self.write_ports),
                "Whether each port writes to the packet.",
            ),
            Port::output(
                "write_address_o",
                bits(8 * self.write_ports),
                "Physical address of byte 0.",
            ),
            Port::output(
                "write_strobe_o",
                bits(bytes * self.write_ports),
                "Bit k: byte k is written.",
            ),
            Port::output(
                "write_data_o",
                bits(words * self.write_ports),
                "Byte 0 of each word most significant.",
            ),
            Port::output(
                "clear_valid_o",
                Type::Bit,
                "Whether bytes are cleared before the writes.",
            ),
            Port::output("clear_address_o", bits(8), "Physical address of the first cleared byte."),
            Port::output("clear_count_o", bits(9), "Number of cleared bytes."),
            Port::output("exit_o", bits(3), "wl_pkg::EXIT_*."),
            Port::output(
                "reason_o",
                bits(24),
                "Set and number of the reason, for a drop or the control processor.",
            ),
        ]);
        if outputs.piece.is_some() {
            let doc = "The bytes that leave, a wl_pkg::piece_t.";
            module.ports.push(Port::output("piece_o", bits(packet::PIECE_BITS), doc));
        }
        let mut emitter =
            Emitter::new(self.graph, &schedule, self.naming, self.scope(&module), &roots);
        module.items = emitter.items();
        module.items.push(Item::Blank);
        let last = schedule.last;
        let writes = &outputs.writes;
        let column =
            |f: fn(&assemble::WriteOutput) -> Node| writes.iter().map(f).collect::<Vec<_>>();
        let mut assign = |name: &str, value| module.items.push(Item::assign(name, value));
        assign(
            "request_valid_o",
            emitter.vector(&outputs.request_valid, 1, offloads.max(1) as u32),
        );
        assign(
            "request_data_o",
            emitter.stacked(&outputs.request_data, layout.request_bits.max(1)),
        );
        assign("commit_o", emitter.reference(outputs.commit, last));
        assign("step_o", emitter.reference(outputs.step, last));
        assign("state_o", emitter.reference(outputs.state, last));
        assign("write_valid_o", emitter.vector(&column(|w| w.valid), 1, self.write_ports));
        assign("write_address_o", emitter.vector(&column(|w| w.address), 8, self.write_ports));
        assign("write_strobe_o", emitter.vector(&column(|w| w.strobe), bytes, self.write_ports));
        assign("write_data_o", emitter.vector(&column(|w| w.data), words, self.write_ports));
        assign("clear_valid_o", emitter.reference(outputs.clear_valid, last));
        assign("clear_address_o", emitter.reference(outputs.clear_address, last));
        assign("clear_count_o", emitter.reference(outputs.clear_count, last));
        assign("exit_o", emitter.reference(outputs.exit, last));
        assign("reason_o", emitter.reference(outputs.reason, last));
        if let Some(piece) = outputs.piece {
            assign("piece_o", emitter.reference(piece, last));
        }
        let mut ports = vec![
            (Expr::name("step_i"), Input::Step),
            (Expr::name("state_i"), Input::State),
            (Expr::name("info_i"), Input::Info),
            (Expr::name("phase_i"), Input::Phase),
        ];
        ports.extend(
            (0..self.read_ports)
                .map(|port| ((self.naming.input)(Input::Word(port)), Input::Word(port))),
        );
        ports.extend(
            (0..offloads as u32)
                .filter(|port| self.layout.reply_bits_of(*port) > 0)
                .map(|port| ((self.naming.input)(Input::Reply(port)), Input::Reply(port))),
        );
        let mut others = Vec::new();
        if schedule.last == 0 {
            others.push("clk_i");
        }
        if layout.reply_total == 0 {
            others.push("replies_i");
        }
        module.items.extend(emitter.unused(&ports, &others));
        (module, schedule)
    }
}

impl Outputs {
    /// Returns mutable references to all nodes.
    pub fn all(&mut self) -> Vec<&mut Node> {
        let mut all = vec![
            &mut self.commit,
            &mut self.step,
            &mut self.state,
            &mut self.clear_valid,
            &mut self.clear_address,
            &mut self.clear_count,
            &mut self.exit,
            &mut self.reason,
        ];
        all.extend(
            self.offsets.iter_mut().chain(&mut self.request_valid).chain(&mut self.request_data),
        );
        all.extend(&mut self.piece);
        let words = self.writes.iter_mut();
        all.extend(words.flat_map(|w| [&mut w.valid, &mut w.address, &mut w.strobe, &mut w.data]));
        all
    }

    /// Returns all outputs of the core, with the half levels that the shells add to each:
    /// `wl_engine_commit` determines the outcome of the slot, from which `wl_engine_threads`
    /// determines the threads that can run. Only ports that do not reply can be full.
    fn roots(&self, replies: impl Fn(usize) -> bool) -> Vec<Root> {
        let behind = |behind: u32| move |node: &Node| Root { node: *node, behind };
        let mut roots = vec![
            behind(6)(&self.commit),
            behind(6)(&self.clear_valid),
            behind(10)(&self.clear_count),
            behind(1)(&self.clear_address),
            behind(4)(&self.exit),
            behind(1)(&self.reason),
            behind(1)(&self.step),
            behind(1)(&self.state),
        ];
        roots.extend(self.piece.iter().map(behind(1)));
        for (port, valid) in self.request_valid.iter().enumerate() {
            roots.push(behind(if replies(port) { 4 } else { 8 })(valid));
        }
        roots.extend(self.request_data.iter().map(behind(0)));
        for word in &self.writes {
            roots.extend([&word.valid, &word.address, &word.strobe, &word.data].map(behind(2)));
        }
        roots
    }
}
