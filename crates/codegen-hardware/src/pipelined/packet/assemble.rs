//! Inserts the steps of a packet engine into their templates and chains them.

mod calls;

use super::logic::{Frame, Logic};
use crate::core::{ROW_BYTES, WINDOW_LOADED};
use crate::engine::offload_ports;
use crate::sv::short::{clocked, int, name, vector};
use crate::sv::{Binary, Expr, Instance, Item, Module, Parameter, Port, Type, Unary};

/// The number of bytes of a header that are loaded.
const LOADED: u64 = WINDOW_LOADED as u64;
/// The number of bytes of a beat.
const BEAT: u64 = 64;

/// Returns the number of bytes before the header in the windows, for this maximum of pushed bytes,
/// or `None` if there are too many.
pub(super) fn headroom(pushed: u64) -> Option<u64> {
    let headroom = pushed.next_multiple_of(u64::from(ROW_BYTES));
    (headroom <= LOADED).then_some(headroom)
}

/// Builds the module `NAME_engine`.
pub(super) fn module(frame: &Frame<'_>, steps: &[Logic], headroom: u64) -> Module {
    let assembly = Assembly { frame, steps, headroom: headroom as u32 };
    let doc = format!(
        "Engine `{}` as a pipeline of {} steps with {} bits of state for each packet; one packet \
         can enter in each cycle.\nIts logic has {} register stages; the deepest has about {} LUT \
         levels. Generated.",
        frame.engine.name,
        steps.len(),
        frame.layout.state_bits,
        steps.iter().map(|step| step.stages.0 + step.stages.1).sum::<u32>(),
        steps.iter().map(|step| step.depth).max().unwrap_or(0),
    );
    let mut module = Module::new(format!("{}_engine", frame.name), &doc);
    module.parameters = vec![Parameter::number("Threads", 64, "Packets in the engine at a time.")];
    module.ports = assembly.ports();
    module.items = assembly.items();
    module
}

struct Assembly<'a> {
    frame: &'a Frame<'a>,
    steps: &'a [Logic],
    headroom: u32,
}

impl Assembly<'_> {
    fn window_bits(&self) -> u32 {
        8 * (self.headroom + LOADED as u32)
    }

    /// The number of bits of a record below the window and the information.
    fn record_bits(&self) -> u32 {
        let layout = &self.frame.layout;
        self.window_bits() + layout.info_bits + layout.step_bits + 3 + 24 + layout.state_bits
    }

    fn ports(&self) -> Vec<Port> {
        let beat = || Type::vector(Expr::int(8 * BEAT));
        let mut ports = vec![
            Port::input("clk_i", Type::Bit, "Clock."),
            Port::input("rst_i", Type::Bit, "Reset, active high."),
            Port::input(
                "header_valid_i",
                Type::Bit,
                "Headers in: beats, byte 0 in the lowest bits.",
            ),
            Port::output("header_ready_o", Type::Bit, ""),
            Port::input("header_data_i", beat(), ""),
            Port::input("header_first_i", Type::Bit, ""),
            Port::input("header_last_i", Type::Bit, ""),
            Port::input(
                "header_info_i",
                vector(self.frame.layout.info_bits),
                "On every beat: what is constant for the packet.",
            ),
            Port::output(
                "beat_valid_o",
                Type::Bit,
                "Windows out, in order: beats of the rows that they touch.",
            ),
            Port::input("beat_ready_i", Type::Bit, ""),
            Port::output("beat_data_o", beat(), ""),
            Port::output("beat_last_o", Type::Bit, ""),
            Port::output(
                "beat_result_o",
                Type::Named("wl_pkg::result_t".into()),
                "What becomes of the packet.",
            ),
            Port::output(
                "idle_o",
                Type::vector(Expr::call("wl_pkg::bits", vec![name("Threads").add(int(1))])),
                "Number of packets for which there is room.",
            ),
            Port::output("slot_valid_o", Type::Bit, "A packet begins the first step."),
            Port::output("wait_o", Type::Bit, "No packet does, and there are packets inside."),
        ];
        ports.extend(offload_ports(
            &self.frame.ports,
            "From which of its places.",
            "Replies, in the order of the requests.",
        ));
        ports
    }

    fn items(&self) -> Vec<Item> {
        let mut items = self.entrance();
        let mut fixed = true;
        for (index, step) in self.steps.iter().enumerate() {
            items.extend(self.step(index, step, fixed));
            fixed &= !step.moves;
        }
        for (index, port) in self.frame.ports.iter().enumerate() {
            items.extend([Item::Blank, Item::comment(&format!("Offload `{}`.", port.name))]);
            items.extend(self.offload(index, port));
        }
        items.extend(self.exit());
        let is_net = |item: &Item| {
            matches!(item, Item::Net { value: None, .. } | Item::LocalParameter { .. })
        };
        let (mut nets, rest): (Vec<Item>, Vec<Item>) = items.into_iter().partition(is_net);
        nets.push(Item::Blank);
        nets.extend(rest);
        nets
    }

    fn entrance(&self) -> Vec<Item> {
        let layout = &self.frame.layout;
        let load = clocked("wl_pipeline_load", "i_load")
            .parameter("Packets", name("Threads"))
            .parameter("Headroom", int(self.headroom))
            .parameter("DataBytes", Expr::int(BEAT))
            .parameter("InfoBits", int(layout.info_bits));
        let load = ["valid_i", "ready_o", "data_i", "first_i", "last_i", "info_i"]
            .into_iter()
            .map(|port| format!("header_{port}"))
            .fold(load, |load, port| load.port(port.clone(), Expr::name(port)))
            .port("room_i", name("room"))
            .port("left_i", name("left"))
            .port("valid_o", name("valid_0"))
            .port("window_o", name("loaded_window"))
            .port("info_o", name("loaded_info"))
            .port("free_o", name("idle_o"));
        let rooms = self.sites().filter(|site| self.frame.ports[site.1.port].reply_bits == 0);
        let rooms: Vec<Expr> = rooms.map(|(step, call)| self.wire(step, call, "room")).collect();
        // The step's number, exit and reason of a new packet are zero, as is its state except the
        // packet's own part.
        let layout_zeros = Expr::number(layout.step_bits + 3 + 24 + layout.state_bits - 33, 0);
        vec![
            Item::net("valid_0", Type::Bit),
            Item::net("record_0", vector(self.record_bits())),
            Item::net("loaded_window", vector(self.window_bits())),
            Item::net("loaded_info", vector(layout.info_bits)),
            Item::net("loaded_length", vector(16)),
            Item::net("loaded_part", vector(9)),
            Item::net("room", Type::Bit),
            Item::net("left", Type::Bit),
            Item::Instance(load),
            Item::assign("room", Expr::chain(Binary::And, rooms, Expr::number(1, 1))),
            Item::assign("loaded_length", part(name("loaded_info"), 0, 16, layout.info_bits)),
            Item::assign(
                "loaded_part",
                name("loaded_length")
                    .greater(Expr::number(16, LOADED))
                    .choose(Expr::number(9, LOADED), name("loaded_length").bits(0, 9)),
            ),
            Item::assign(
                "record_0",
                Expr::Concat(vec![
                    name("loaded_window"),
                    name("loaded_info"),
                    layout_zeros,
                    name("loaded_length"),
                    name("loaded_part"),
                    name("wl_pkg::WindowFront").cast(int(8)),
                ]),
            ),
            Item::assign("slot_valid_o", name("valid_0")),
            Item::assign(
                "wait_o",
                name("valid_0").not().and(
                    name("idle_o").unequal(
                        name("Threads")
                            .cast(Expr::call("wl_pkg::bits", vec![name("Threads").add(int(1))])),
                    ),
                ),
            ),
        ]
    }

    fn step(&self, index: usize, step: &Logic, fixed: bool) -> Vec<Item> {
        let frame = self.frame;
        let layout = &frame.layout;
        let x = &frame.steps[step.step];
        let own = |what: &str| format!("{x}_{what}");
        let own_wire = |what: &str| Expr::name(own(what));
        let word = layout.word_bits();
        let (reads, writes) = (step.reads.max(1), step.writes.max(1));
        let calls = (step.calls.len() as u32).max(1);
        let reply_bits = step.reply_bits(frame).max(1);
        let state = layout.state_bits;
        let mut items = vec![
            Item::Blank,
            Item::comment(&format!("Step `{}`.", frame.engine.steps[step.step].name)),
        ];
        // The nets between the template and the logic, with their widths in bits; 0 is a scalar.
        let wires = [
            ("address_state", state),
            ("address_info", layout.info_bits),
            ("address_offset", 17 * reads),
            ("request_state", state),
            ("request_info", layout.info_bits),
            ("request_words", word * reads),
            ("request_valid", calls),
            ("request_data", step.request_bits(frame).max(1)),
            ("issue_valid", calls),
            ("reply_valid", calls),
            ("reply_take", calls),
            ("replies", calls),
            ("reply_data", reply_bits),
            ("edit_state", state),
            ("edit_info", layout.info_bits),
            ("edit_words", word * reads),
            ("edit_replies", reply_bits),
            ("edit_step", layout.step_bits),
            ("edit_next", state),
            ("edit_exit", 3),
            ("edit_reason", 24),
            ("edit_write_valid", writes),
            ("edit_write_address", 8 * writes),
            ("edit_write_strobe", layout.header_bytes * writes),
            ("edit_write_data", word * writes),
            ("edit_clear_valid", 0),
            ("edit_clear_address", 8),
            ("edit_clear_count", 9),
        ];
        items.extend(wires.iter().map(|(wire, bits)| {
            Item::net(own(wire), if *bits == 0 { Type::Bit } else { vector(*bits) })
        }));
        items.extend([
            Item::net(format!("valid_{}", index + 1), Type::Bit),
            Item::net(format!("record_{}", index + 1), vector(self.record_bits())),
        ]);
        let mut template = clocked("wl_pipeline_step", format!("i_{x}"))
            .parameter("Packets", name("Threads"))
            .parameter("Headroom", int(self.headroom))
            .parameter("StateBits", int(state))
            .parameter("InfoBits", int(layout.info_bits))
            .parameter("StepBits", int(layout.step_bits))
            .parameter("Step", int(step.step as u32))
            .parameter("ReadPorts", int(step.reads))
            .parameter("WritePorts", int(step.writes))
            .parameter("HeaderBytes", int(layout.header_bytes))
            .parameter("Clears", Expr::number(1, u64::from(step.clears)))
            .parameter("FrontFixed", Expr::number(1, u64::from(fixed)))
            .parameter("Calls", int(step.calls.len() as u32))
            .parameter("Waits", Expr::number(1, u64::from(step.waits(frame))))
            .parameter("ReplyBits", int(reply_bits))
            .parameter("RequestStages", int(step.stages.0))
            .parameter("EditStages", int(step.stages.1))
            .port("valid_i", Expr::name(format!("valid_{index}")))
            .port("record_i", Expr::name(format!("record_{index}")))
            .port("valid_o", Expr::name(format!("valid_{}", index + 1)))
            .port("record_o", Expr::name(format!("record_{}", index + 1)));
        for wire in [
            "address_state",
            "address_info",
            "request_state",
            "request_info",
            "request_words",
            "issue_valid",
        ] {
            template = template.port(format!("{wire}_o"), own_wire(wire));
        }
        for wire in ["reply_take", "edit_state", "edit_info", "edit_words", "edit_replies"] {
            template = template.port(format!("{wire}_o"), own_wire(wire));
        }
        for wire in
            ["address_offset", "request_valid", "reply_valid", "replies", "reply_data", "edit_step"]
        {
            template = template.port(format!("{wire}_i"), own_wire(wire));
        }
        template = template.port("edit_state_i", own_wire("edit_next"));
        for wire in ["exit", "reason", "write_valid", "write_address", "write_strobe", "write_data"]
        {
            template = template.port(format!("edit_{wire}_i"), own_wire(&format!("edit_{wire}")));
        }
        for wire in ["clear_valid", "clear_address", "clear_count"] {
            template = template.port(format!("edit_{wire}_i"), own_wire(&format!("edit_{wire}")));
        }
        items.push(Item::Instance(template));
        let mut idle = Vec::new();
        match &step.address {
            Some(module) => items.push(Item::Instance(
                Instance::new(&module.name, format!("i_{x}_address"))
                    .port("state_i", own_wire("address_state"))
                    .port("info_i", own_wire("address_info"))
                    .port("offset_o", own_wire("address_offset")),
            )),
            None => {
                items.push(Item::assign(own("address_offset"), Expr::Zeros));
                idle.extend([own_wire("address_state"), own_wire("address_info")]);
            }
        }
        items.extend(self.request(step, &mut idle));
        items.push(Item::Instance(self.edit(step, &mut idle)));
        if step.writes == 0 {
            for wire in ["write_valid", "write_address", "write_strobe", "write_data"] {
                items.push(Item::assign(own(&format!("edit_{wire}")), Expr::Zeros));
            }
        }
        if !idle.is_empty() {
            items.push(Item::value(
                own("unused"),
                Type::Bit,
                Expr::Concat(idle).unary(Unary::Parity),
            ));
        }
        items
    }

    fn edit(&self, step: &Logic, idle: &mut Vec<Expr>) -> Instance {
        let x = &self.frame.steps[step.step];
        let own_wire = |what: &str| Expr::name(format!("{x}_{what}"));
        let mut logic = Instance::new(&step.edit.name, format!("i_{x}_edit"))
            .port("clk_i", name("clk_i"))
            .port("state_i", own_wire("edit_state"))
            .port("info_i", own_wire("edit_info"));
        if step.reads > 0 {
            logic = logic.port("words_i", own_wire("edit_words"));
        } else {
            idle.push(own_wire("edit_words"));
        }
        if step.waits(self.frame) {
            logic = logic.port("replies_i", own_wire("edit_replies"));
        } else {
            idle.push(own_wire("edit_replies"));
        }
        logic = logic.port("step_o", own_wire("edit_step")).port("state_o", own_wire("edit_next"));
        let mut outputs = vec!["exit", "reason", "clear_valid", "clear_address", "clear_count"];
        if step.writes > 0 {
            outputs.extend(["write_valid", "write_address", "write_strobe", "write_data"]);
        }
        outputs.into_iter().fold(logic, |logic, wire| {
            logic.port(format!("{wire}_o"), own_wire(&format!("edit_{wire}")))
        })
    }

    fn exit(&self) -> Vec<Item> {
        let layout = &self.frame.layout;
        let last = format!("record_{}", self.steps.len());
        let field = |low: u32, width: u32| Expr::name(last.clone()).bits(low, width);
        let above = layout.state_bits;
        let unload = clocked("wl_pipeline_unload", "i_unload")
            .parameter("Packets", name("Threads"))
            .parameter("Headroom", int(self.headroom))
            .parameter("DataBytes", Expr::int(BEAT))
            .port("valid_i", Expr::name(format!("valid_{}", self.steps.len())))
            .port("window_i", field(self.record_bits() - self.window_bits(), self.window_bits()))
            .port("front_i", field(0, 8))
            .port("length_i", field(8, 9))
            .port("packet_i", field(17, 16))
            .port("egress_i", field(33, 16))
            .port("exit_i", field(above + 24, 3))
            .port("reason_i", field(above, 24))
            .port("left_o", name("left"));
        let unload = ["valid_o", "ready_i", "data_o", "last_o", "result_o"]
            .into_iter()
            .map(|port| format!("beat_{port}"))
            .fold(unload, |unload, port| unload.port(port.clone(), Expr::name(port)));
        let end = Expr::name(last).unary(Unary::Parity);
        vec![
            Item::Blank,
            Item::Instance(unload),
            Item::comment("The rest of the packet's information is not used."),
            Item::value("unused", Type::Bit, end),
        ]
    }
}

/// Returns bits of a net, or the net itself if these are all its bits.
fn part(net: Expr, low: u32, width: u32, total: u32) -> Expr {
    if width == total { net } else { net.part(int(low), int(width)) }
}
