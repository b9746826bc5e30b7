//! An engine: its core in a shell, with a port for each offload.
//!
//! [`build`] makes the module `NAME_engine`. It contains the hand-written shell
//! (`hardware/engine`), the generated modules `NAME_address` and `NAME_core`
//! ([`crate::core`]), and for each offload a queue of requests and a store of replies.
//! The instance chooses the number of threads, the scheduler and the storage.

mod instances;

use wireloom_ir::{EngineId, EngineKind, Program};

use crate::core::packet::PIECE_BITS;
use crate::core::{self, Core, OffloadPort, Options, Refusal};
use crate::sv::short::{int, name, vector};
use crate::sv::{Binary, Expr, Item, Module, Parameter, Port, Type};

/// The template that contains the core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Shell {
    /// Many threads share one pipeline.
    #[default]
    Multithreaded,
    /// One thread at a time, with its state in registers.
    StateMachine,
    /// All steps in sequence, each with a packet of its own
    /// ([`crate::pipelined::packet`]).
    Pipelined,
}

impl Shell {
    fn module(self) -> &'static str {
        match self {
            Self::Multithreaded => "wl_engine_mt",
            Self::StateMachine => "wl_engine_fsm",
            Self::Pipelined => unreachable!("a pipeline has no shell around its core"),
        }
    }
}

/// An engine as modules.
///
/// The ports of the module `name`, after clock and reset, are `load_*` and `unload_*` (the
/// shell's), `order_*`, `idle_o`, `busy_o`, `slot_valid_o` and `wait_o`, and for each offload port
/// `X`: `X_request_valid_o`, `X_request_ready_i`, `X_request_thread_o`, `X_request_data_o` and, if
/// it replies, `X_reply_valid_i`, `X_reply_thread_i`, `X_reply_data_i`. A called engine receives
/// its arguments on `load_arguments_i`, packed like a structure, and replies on `unload_reply_o`.
/// The parameters are `Threads`, `TagBits`, `Scheduler`, `Storage` and `WindowStorage`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EngineModule {
    /// The module's name: `NAME_engine`.
    pub name: String,
    /// A module follows the modules that it contains.
    pub modules: Vec<Module>,
    /// The core, which describes its offload ports, steps, stages and state. The constant data of a
    /// packet (`load_info_i`) are the length and the ingress port and, if the layout includes them,
    /// the arrival time and the sequence number.
    pub core: Core,
    /// The steps of a pipelined engine in their order; empty for other shells.
    pub chain: Vec<ChainedStep>,
}

/// A step of a pipelined engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainedStep {
    /// The prefix of the step's nets in the engine's module.
    pub prefix: String,
    /// The index of the step in the engine.
    pub step: usize,
    /// The number of register stages of the request logic.
    pub request_stages: u32,
    /// The indices of the offload ports that the step calls, in the order of its requests.
    pub calls: Vec<usize>,
}

impl EngineModule {
    /// Returns the name and the text of each file.
    pub fn files(&self) -> Vec<(String, String)> {
        self.modules.iter().map(|m| (m.file(), m.print())).collect()
    }
}

/// Builds an engine whose steps are in regions (`wireloom_compile::pipeline::optimise`).
///
/// # Errors
/// If the hardware cannot execute the engine.
pub fn build(
    program: &Program,
    engine: EngineId,
    options: &Options,
    shell: Shell,
) -> Result<EngineModule, Refusal> {
    if shell == Shell::Pipelined {
        return crate::pipelined::packet::build(program, engine, options);
    }
    let core = core::build(program, engine, options)?;
    let body = &program.engines[engine.index()];
    let wrapper = Wrapper { core: &core, shell, arguments: arguments(program, engine, &core) };
    let module = wrapper.module(&body.name);
    let mut modules = core.modules.clone();
    let name = module.name.clone();
    modules.push(module);
    Ok(EngineModule { name, modules, core, chain: Vec::new() })
}

/// Returns the lowest bit in the state and the width of each argument of a called engine.
fn arguments(program: &Program, engine: EngineId, core: &Core) -> Vec<(u32, u32)> {
    let body = &program.engines[engine.index()];
    match &body.kind {
        EngineKind::Packet => Vec::new(),
        EngineKind::Call { params, .. } => params
            .iter()
            .map(|p| (core.layout.context[p.index()], body.context[p.index()].width))
            .collect(),
    }
}

struct Wrapper<'a> {
    core: &'a Core,
    shell: Shell,
    arguments: Vec<(u32, u32)>,
}

/// Returns `wl_pkg::bits(Threads)`.
fn thread_bits() -> Expr {
    Expr::call("wl_pkg::bits", vec![name("Threads")])
}

/// Returns the ports for requests and replies of each offload, with descriptions of the request's
/// thread and of replies.
pub fn offload_ports(offloads: &[OffloadPort], thread: &str, replies: &str) -> Vec<Port> {
    let mut ports = Vec::new();
    for port in offloads {
        let x = &port.name;
        let methods: Vec<&str> = port.methods.iter().map(|m| m.name.as_str()).collect();
        ports.extend([
            Port::output(
                format!("{x}_request_valid_o"),
                Type::Bit,
                format!("Calls of `{x}`: {}.", methods.join(", ")),
            ),
            Port::input(format!("{x}_request_ready_i"), Type::Bit, ""),
            Port::output(format!("{x}_request_thread_o"), Type::vector(thread_bits()), thread),
            Port::output(format!("{x}_request_data_o"), vector(port.request_bits.max(1)), ""),
        ]);
        if port.reply_bits > 0 {
            ports.extend([
                Port::input(format!("{x}_reply_valid_i"), Type::Bit, replies),
                Port::input(format!("{x}_reply_thread_i"), Type::vector(thread_bits()), ""),
                Port::input(format!("{x}_reply_data_i"), vector(port.reply_bits), ""),
            ]);
        }
    }
    ports
}

impl Wrapper<'_> {
    fn module(&self, source: &str) -> Module {
        let core = self.core;
        let doc = format!(
            "Engine `{source}`: {} steps; {} words read and {} written in each slot; {} bits of \
             state for each thread.\nIts core has {} register stages; the deepest has about {} \
             LUT levels. Generated.",
            core.steps.len(),
            core.read_ports,
            core.write_ports,
            core.layout.state_bits,
            core.core_stages,
            core.depth.0
        );
        let mut module = Module::new(format!("{}_engine", core.name), &doc);
        module.parameters = vec![
            Parameter::number("Threads", 4, "Packets in the engine at a time."),
            Parameter::number("TagBits", 8, "Bits of a packet's tag."),
            Parameter::number("Scheduler", 1, "0: strict round robin; 1: ready to execute."),
            Parameter::number("Storage", 0, "States and replies: 0: LUT RAM; 1: block RAM."),
            Parameter::number("WindowStorage", 0, "Header windows: as `Storage`."),
        ];
        module.ports = self.ports();
        module.items = self.items();
        module
    }

    fn ports(&self) -> Vec<Port> {
        let layout = &self.core.layout;
        let tag = || Type::vector(name("TagBits"));
        let word = || Type::vector(name("wl_pkg::WordBits"));
        let mut ports = vec![
            Port::input("clk_i", Type::Bit, "Clock."),
            Port::input("rst_i", Type::Bit, "Reset, active high."),
            Port::input("load_valid_i", Type::Bit, "Packets in, by rows of 16 bytes."),
            Port::output("load_ready_o", Type::Bit, ""),
            Port::input("load_first_i", Type::Bit, "The row is its packet's first."),
            Port::input("load_last_i", Type::Bit, "The row is its packet's last."),
            Port::input("load_data_i", word(), "Byte 0 most significant."),
            Port::input("load_tag_i", tag(), "The packet's tag, with the first row."),
            Port::input(
                "load_info_i",
                vector(layout.info_bits),
                "With the first row: the packet's constant information.",
            ),
        ];
        if !layout.has_packet {
            ports.push(Port::input(
                "load_arguments_i",
                vector(self.argument_bits()),
                "With the first row: the arguments of the call.",
            ));
        }
        ports.extend([
            Port::output(
                "unload_valid_o",
                Type::Bit,
                "Packets out: the rows that the window touches.",
            ),
            Port::input("unload_ready_i", Type::Bit, ""),
            Port::output("unload_first_o", Type::Bit, ""),
            Port::output("unload_last_o", Type::Bit, ""),
            Port::output("unload_data_o", word(), ""),
            Port::output("unload_tag_o", tag(), ""),
            Port::output(
                "unload_result_o",
                Type::Named("wl_pkg::result_t".into()),
                "What becomes of the packet.",
            ),
        ]);
        if !layout.has_packet {
            ports.push(Port::output(
                "unload_reply_o",
                vector(layout.reply_bits),
                "The reply to the call.",
            ));
        }
        ports.extend([
            Port::input("order_head_i", tag(), "The oldest packet that is under way,"),
            Port::input("order_drained_i", Type::Bit, "and whether all before it have gone."),
            Port::output(
                "idle_o",
                Type::vector(Expr::call("wl_pkg::bits", vec![name("Threads").add(int(1))])),
                "Threads without packet.",
            ),
            Port::output(
                "busy_o",
                Type::vector(name("Threads")),
                "In simulation: this thread has a packet.",
            ),
            Port::output("slot_valid_o", Type::Bit, "A slot begins."),
            Port::output("wait_o", Type::Bit, "No slot begins, and a thread waits for replies."),
        ]);
        ports.extend(offload_ports(&self.core.ports, "", ""));
        ports
    }

    fn argument_bits(&self) -> u32 {
        self.arguments.iter().map(|(_, width)| width).sum::<u32>().max(1)
    }

    /// Returns the vectors between shell, address module and core, with their widths in bits.
    fn wires(&self) -> Vec<(&'static str, u32)> {
        let core = self.core;
        let layout = &core.layout;
        let word = layout.word_bits();
        let mut wires = vec![
            ("address_step", layout.step_bits),
            ("address_state", layout.state_bits),
            ("address_info", layout.info_bits),
            ("address_offset", 17 * core.read_ports),
            ("core_step", layout.step_bits),
            ("core_state", layout.state_bits),
            ("core_info", layout.info_bits),
            ("core_words", word * core.read_ports),
            ("core_replies", layout.reply_total.max(1)),
            ("core_phase", 0),
            ("asked_valid", core.offloads()),
            ("asked_data", layout.request_bits.max(1)),
            ("commit", 0),
            ("next_step", layout.step_bits),
            ("next_state", layout.state_bits),
            ("write_valid", core.write_ports),
            ("write_address", 8 * core.write_ports),
            ("write_strobe", layout.header_bytes * core.write_ports),
            ("write_data", word * core.write_ports),
            ("clear_valid", 0),
            ("clear_address", 8),
            ("clear_count", 9),
            ("exit", 3),
            ("reason", 24),
            ("request_valid", core.offloads()),
            ("request_ready", core.offloads()),
            ("replied_valid", core.offloads()),
        ];
        if core.pieces {
            wires.push(("piece", PIECE_BITS));
        }
        wires
    }

    fn items(&self) -> Vec<Item> {
        let mut items = vec![Item::constant("ThreadBits", thread_bits()), Item::Blank];
        for (wire, width) in self.wires() {
            items.push(Item::net(wire, if width == 0 { Type::Bit } else { vector(width) }));
        }
        items.push(Item::net("request_thread", Type::vector(name("ThreadBits"))));
        items.push(Item::net("replies_thread", Type::vector(name("ThreadBits"))));
        items.push(Item::net(
            "replied_thread",
            Type::vector(int(self.core.offloads()).binary(Binary::Multiply, name("ThreadBits"))),
        ));
        if self.core.layout.has_packet {
            items.push(Item::net("unused_reply", Type::vector(int(1))));
        } else {
            items.push(Item::Blank);
            items.extend(self.called_state());
        }
        items.extend([Item::Blank, Item::Instance(self.shell()), Item::Blank]);
        items.extend([Item::Instance(self.address()), Item::Blank, Item::Instance(self.steps())]);
        for (index, port) in self.core.ports.iter().enumerate() {
            items.push(Item::Blank);
            items.push(Item::comment(&format!("Offload `{}`.", port.name)));
            items.extend(self.offload(index as u32, port));
        }
        if self.core.ports.is_empty() {
            items.extend([
                Item::Blank,
                Item::comment("The engine has no offloads."),
                Item::assign("request_ready", Expr::Zeros),
                Item::assign("replied_valid", Expr::Zeros),
                Item::assign("replied_thread", Expr::Zeros),
                Item::assign("core_replies", Expr::Zeros),
                Item::value(
                    "unused",
                    Type::Bit,
                    Expr::Concat(
                        ["request_valid", "request_thread", "replies_thread", "asked_data"]
                            .map(name)
                            .to_vec(),
                    )
                    .unary(crate::sv::Unary::Parity),
                ),
            ]);
        } else if self.core.layout.reply_total == 0 {
            items.extend([
                Item::Blank,
                Item::comment("No offload replies."),
                Item::assign("core_replies", Expr::Zeros),
                Item::value(
                    "unused",
                    Type::Bit,
                    name("replies_thread").unary(crate::sv::Unary::Parity),
                ),
            ]);
        }
        items
    }

    /// Returns the initial state of a called engine, with the arguments in their positions.
    fn called_state(&self) -> Vec<Item> {
        let bits = self.core.layout.state_bits;
        let mut places = Vec::new();
        let mut top = self.argument_bits();
        for (low, width) in &self.arguments {
            top -= width;
            places.push((*low, *width, top));
        }
        places.sort_unstable();
        let (mut parts, mut end) = (Vec::new(), 0);
        for (low, width, from) in places {
            if low > end {
                parts.push(Expr::Number(wireloom_bits::Bits::zero(low - end)));
            }
            let arguments = name("load_arguments_i");
            parts.push(if self.argument_bits() == width {
                arguments
            } else {
                arguments.bits(from, width)
            });
            end = low + width;
        }
        if end < bits {
            parts.push(Expr::Number(wireloom_bits::Bits::zero(bits - end)));
        }
        parts.reverse();
        vec![Item::value("load_state", vector(bits), Expr::Concat(parts))]
    }
}
