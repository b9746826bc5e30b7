//! The top module, and the module that adds models of the memories for simulation.

use super::pipe::{SENT, SENT_BITS};
use super::plan::Plan;
use super::ports as narrow;
use super::wires::{array, bit, bit_in, bit_out, element, input, output, vector};
use super::{memory_map, probes, reasons, services};
use wireloom_codegen_hardware::sv::short::{clocked, int, name};
use wireloom_codegen_hardware::sv::{Expr, Instance, Item, Module, Port, Type};

/// Bits of an event: the end of the packet, and its reason.
pub(super) const EVENT: usize = 27;
/// Bits in an address of the control registers.
pub(super) const REGISTER_BITS: usize = 16;

/// Returns the number of bits of `probe_o`.
pub(super) fn probe_bits(plan: &Plan) -> usize {
    plan.machine.lanes() * pipe_probe_bits(plan)
}

/// Returns the number of probe bits of a pipe.
pub(super) fn pipe_probe_bits(plan: &Plan) -> usize {
    probes::of_whole_pipe(plan).iter().map(|port| port.width).sum::<usize>() + 1
}

/// Returns the clock and reset ports.
pub(super) fn clocks(plan: &Plan) -> Vec<Port> {
    let mut ports = vec![bit_in("clk_i", "Clock."), bit_in("rst_i", "Reset, active high.")];
    if !plan.channels.is_empty() {
        let ratio = plan.machine.clock.memory_ratio;
        ports.push(bit_in(
            "clk_mem_i",
            &format!("Clock of the memories: {ratio} times the other, in phase with it."),
        ));
    }
    ports
}

/// Returns the packet and control ports, which both modules have.
pub(super) fn ports(plan: &Plan) -> Vec<Port> {
    let lanes = plan.machine.lanes();
    let mut ports = clocks(plan);
    if plan.machine.ports.are_narrow() {
        ports.extend(narrow::ports(plan));
    } else {
        ports.extend(lane_ports(plan));
    }
    ports.extend([
        output(
            "event_valid_o",
            lanes,
            "Packets that end without being sent, in order with those of the lane.",
        ),
        output("event_o", lanes * EVENT, "How and why: {kind, reason set, reason}."),
    ]);
    ports.extend(axil("s_axil", "AXI4-Lite: the control plane (the memory map is in README.md)."));
    ports.push(probe(plan));
    ports
}

/// Returns the ports of the wide lanes.
fn lane_ports(plan: &Plan) -> Vec<Port> {
    let lanes = plan.machine.lanes();
    let beat = 8 * plan.data_bytes;
    vec![
        input(
            "s_axis_tdata_i",
            lanes * beat,
            "AXI4-Stream lanes in; byte 0 of a beat in its lowest bits.",
        ),
        input("s_axis_tkeep_i", lanes * plan.data_bytes, ""),
        input("s_axis_tvalid_i", lanes, ""),
        output("s_axis_tready_o", lanes, ""),
        input("s_axis_tlast_i", lanes, ""),
        input(
            "s_axis_tuser_i",
            lanes * plan.user_bits,
            if plan.user_bits > 16 {
                "Ingress port in the lowest 16 bits of a lane; then the arrival time."
            } else {
                "Ingress port, 16 bits of a lane."
            },
        ),
        output("m_axis_tdata_o", lanes * beat, "AXI4-Stream lanes out."),
        output("m_axis_tkeep_o", lanes * plan.data_bytes, ""),
        output("m_axis_tvalid_o", lanes, ""),
        input("m_axis_tready_i", lanes, ""),
        output("m_axis_tlast_o", lanes, ""),
        output("m_axis_tuser_o", lanes * SENT_BITS, "wl_pkg::sent_t of a lane."),
    ]
}

/// Returns the statistics output.
pub(super) fn probe(plan: &Plan) -> Port {
    output("probe_o", probe_bits(plan), "What the pipes do in this cycle, for statistics.")
}

/// Returns the ports of an AXI4-Lite slave.
pub(super) fn axil(prefix: &str, doc: &str) -> Vec<Port> {
    axil_wide(prefix, doc, REGISTER_BITS)
}

/// Returns the AXI4-Lite ports with addresses of `address_bits` bits.
pub(super) fn axil_wide(prefix: &str, doc: &str, address_bits: usize) -> Vec<Port> {
    let port = |what: &str| format!("{prefix}_{what}");
    vec![
        bit_in(port("awvalid_i"), doc),
        bit_out(port("awready_o"), ""),
        input(port("awaddr_i"), address_bits, ""),
        bit_in(port("wvalid_i"), ""),
        bit_out(port("wready_o"), ""),
        input(port("wdata_i"), 32, ""),
        input(port("wstrb_i"), 4, ""),
        bit_out(port("bvalid_o"), ""),
        bit_in(port("bready_i"), ""),
        output(port("bresp_o"), 2, ""),
        bit_in(port("arvalid_i"), ""),
        bit_out(port("arready_o"), ""),
        input(port("araddr_i"), address_bits, ""),
        bit_out(port("rvalid_o"), ""),
        bit_in(port("rready_i"), ""),
        output(port("rdata_o"), 32, ""),
        output(port("rresp_o"), 2, ""),
    ]
}

/// Returns the top module of the network processor.
pub fn top(plan: &Plan) -> Module {
    let machine = &plan.machine;
    let doc = format!(
        "Network processor: engine `{}` on machine `{}`, {} clusters of {} engines of {} threads, {} lanes.",
        plan.engine,
        machine.name,
        machine.clusters,
        machine.engines,
        machine.threads,
        machine.lanes()
    );
    let mut module = Module::new(plan.top_module(), &doc);
    module.ports = ports(plan);
    for channel in &plan.channels {
        module.ports.extend(services::memory_ports(channel, machine.lanes()));
    }
    module.items = vec![sequencer(plan)];
    if plan.has_engine_time {
        module.items.extend(engine_time(plan));
    }
    module.items.push(pipes(plan));
    module.items.extend(exit(plan));
    if plan.machine.ports.are_narrow() {
        module.items.extend(narrow::items(plan));
    }
    module.items.extend(control(plan));
    module.items.extend(nets(plan));
    module
}

/// Returns the nets between the parts.
fn nets(plan: &Plan) -> Vec<Item> {
    let lanes = plan.machine.lanes();
    let beat = 8 * plan.data_bytes;
    let mut items: Vec<Item> = [
        ("pipe_valid", lanes),
        ("pipe_ready", lanes),
        ("pipe_data", lanes * beat),
        ("pipe_keep", lanes * plan.data_bytes),
        ("pipe_last", lanes),
        ("pipe_user", lanes * plan.user_bits),
        ("pipe_sequence", lanes * plan.sequence_bits.max(1)),
        ("sent_valid", lanes),
        ("sent_ready", lanes),
        ("sent_event", lanes),
        ("sent_more", lanes),
        ("sent_data", lanes * beat),
        ("sent_keep", lanes * plan.data_bytes),
        ("sent_last", lanes),
        ("event_kind", lanes * 3),
        ("event_reason", lanes * 24),
        ("stall", lanes),
        ("order_lanes", lanes),
        ("pipe_done", lanes),
        ("pipe_answer", lanes * plan.control_bits),
        ("ctl_target", 8),
        ("ctl_address", 32),
        ("ctl_data", plan.control_bits),
        ("ctl_answer", plan.control_bits),
        ("statistics_answer", plan.control_bits),
    ]
    .into_iter()
    .map(|(name, width)| vector(name, width))
    .collect();
    items.push(array("sent_user", SENT, lanes));
    if plan.machine.ports.are_narrow() {
        items.extend(narrow::nets(plan));
    }
    items.extend(
        ["order_valid", "order_ready", "ctl_valid", "ctl_write", "ctl_done", "statistics_done"]
            .map(|n| Item::net(n, Type::Bit)),
    );
    items
}

fn sequencer(plan: &Plan) -> Item {
    let mut sequencer = clocked("wl_sequencer", "i_sequencer")
        .parameter("Lanes", int(plan.machine.lanes()))
        .parameter("DataBytes", int(plan.data_bytes))
        .parameter("UserBits", int(plan.user_bits))
        .parameter("SequenceBits", int(plan.lane_number_bits()));
    if plan.is_fed_inside() {
        sequencer = sequencer.parameter("CutsLast", Expr::number(1, 0));
    }
    for port in ["tvalid_i", "tready_o", "tdata_i", "tkeep_i", "tlast_i", "tuser_i"] {
        sequencer =
            sequencer.port(format!("s_{port}"), narrow::lane(plan, &format!("s_axis_{port}")));
    }
    for (port, net) in [
        ("pipe_valid_o", "pipe_valid"),
        ("pipe_ready_i", "pipe_ready"),
        ("pipe_data_o", "pipe_data"),
        ("pipe_keep_o", "pipe_keep"),
        ("pipe_last_o", "pipe_last"),
        ("pipe_user_o", if plan.has_engine_time { "lane_user" } else { "pipe_user" }),
        ("pipe_sequence_o", if plan.has_engine_time { "lane_number" } else { "pipe_sequence" }),
        ("order_valid_o", "order_valid"),
        ("order_ready_i", "order_ready"),
        ("order_lanes_o", "order_lanes"),
        ("stall_o", "stall"),
    ] {
        sequencer = sequencer.port(port, name(net));
    }
    Item::Instance(sequencer)
}

/// Returns the part that gives the packets of the lane engine time.
fn engine_time(plan: &Plan) -> Vec<Item> {
    let bits = plan.lane_number_bits().max(1);
    let instance = clocked("wl_engine_time", "i_engine_time")
        .parameter("SequenceBits", int(bits))
        .parameter("Apart", Expr::number(1, u64::from(plan.numbers_apart)))
        .port("valid_i", name("pipe_valid"))
        .port("ready_i", name("pipe_ready"))
        .port("last_i", name("pipe_last"))
        .port("user_i", name("lane_user"))
        .port("sequence_i", name("lane_number"))
        .port("user_o", name("pipe_user"))
        .port("sequence_o", name("pipe_sequence"));
    vec![vector("lane_user", plan.user_bits), vector("lane_number", bits), Item::Instance(instance)]
}

fn pipes(plan: &Plan) -> Item {
    let i = || name("i");
    let beat = 8 * plan.data_bytes;
    let mut pipe = clocked(plan.pipe_module(), "i_pipe");
    if !plan.channels.is_empty() {
        pipe = pipe.port("clk_mem_i", name("clk_mem_i"));
    }
    pipe = pipe
        .port("valid_i", bit("pipe_valid", i()))
        .port("ready_o", bit("pipe_ready", i()))
        .port("data_i", element("pipe_data", i(), beat))
        .port("keep_i", element("pipe_keep", i(), plan.data_bytes))
        .port("last_i", bit("pipe_last", i()))
        .port("user_i", element("pipe_user", i(), plan.user_bits))
        .port("sequence_i", element("pipe_sequence", i(), plan.sequence_bits.max(1)))
        .port("valid_o", bit("sent_valid", i()))
        .port("ready_i", bit("sent_ready", i()))
        .port("event_o", bit("sent_event", i()))
        .port("more_o", bit("sent_more", i()))
        .port("data_o", element("sent_data", i(), beat))
        .port("keep_o", element("sent_keep", i(), plan.data_bytes))
        .port("last_o", bit("sent_last", i()))
        .port("user_o", bit("sent_user", i()))
        .port("ctl_valid_i", name("ctl_valid"))
        .port("ctl_write_i", name("ctl_write"))
        .port("ctl_target_i", name("ctl_target"))
        .port("ctl_address_i", name("ctl_address"))
        .port("ctl_data_i", name("ctl_data"))
        .port("ctl_done_o", bit("pipe_done", i()))
        .port("ctl_data_o", element("pipe_answer", i(), plan.control_bits))
        // Target 0 holds the statistics.
        .port("control_base_i", int(1).add(i().mul(int(plan.targets_a_pipe()))).cast(int(8)));
    for channel in &plan.channels {
        for (port, width) in services::memory_port_names(channel) {
            pipe = pipe.port(port.clone(), element(port, i(), width));
        }
    }
    let stride = pipe_probe_bits(plan);
    let mut at = 0;
    for port in probes::of_whole_pipe(plan) {
        pipe = pipe.port(port.name, probe_part(stride, at, port.width));
        at += port.width;
    }
    let stall =
        Item::Assign { target: probe_part(stride, at, 1), value: bit("stall", i()), comment: None };
    Item::For {
        label: "gen_pipe".into(),
        variable: "i".into(),
        count: int(plan.machine.lanes()),
        items: vec![Item::Instance(pipe), stall],
    }
}

/// Returns the bits from `at` in a pipe's part of `probe_o`.
fn probe_part(stride: usize, at: usize, width: usize) -> Expr {
    name("probe_o").part(name("i").mul(int(stride)).add(int(at)), int(width))
}

fn exit(plan: &Plan) -> Vec<Item> {
    let lanes = plan.machine.lanes();
    let mut merger = clocked("wl_merger", "i_merger")
        .parameter("Lanes", int(lanes))
        .parameter("DataBytes", int(plan.data_bytes))
        .port("order_valid_i", name("order_valid"))
        .port("order_ready_o", name("order_ready"))
        .port("order_lanes_i", name("order_lanes"));
    for (port, net) in [
        ("valid_i", "sent_valid"),
        ("ready_o", "sent_ready"),
        ("event_i", "sent_event"),
        ("more_i", "sent_more"),
        ("data_i", "sent_data"),
        ("keep_i", "sent_keep"),
        ("last_i", "sent_last"),
        ("user_i", "sent_user"),
    ] {
        merger = merger.port(format!("pipe_{port}"), name(net));
    }
    for port in ["tvalid_o", "tready_i", "tdata_o", "tkeep_o", "tlast_o", "tuser_o"] {
        merger = merger.port(format!("m_{port}"), narrow::lane(plan, &format!("m_axis_{port}")));
    }
    merger = merger
        .port("event_valid_o", name("event_valid_o"))
        .port("event_kind_o", name("event_kind"))
        .port("event_reason_o", name("event_reason"));
    let event = Item::Assign {
        target: element("event_o", name("i"), EVENT),
        value: Expr::Concat(vec![
            element("event_kind", name("i"), 3),
            element("event_reason", name("i"), 24),
        ]),
        comment: None,
    };
    vec![
        Item::Instance(merger),
        Item::For {
            label: "gen_event".into(),
            variable: "i".into(),
            count: int(lanes),
            items: vec![event],
        },
    ]
}

/// Returns the access of the control plane.
fn control(plan: &Plan) -> Vec<Item> {
    let machine = &plan.machine;
    let lanes = machine.lanes();
    let slave = axil_slave(plan, "s_axil", "ctl")
        .parameter("CtlBits", int(plan.control_bits))
        // The statistics, and the targets of each pipe.
        .parameter("Targets", int(1 + lanes * plan.targets_a_pipe()));
    // The counters are packets sent, events and stalls, each for all lanes. The counters of the
    // narrow ports and of the reasons follow.
    let lane = |port: &str| narrow::lane(plan, port);
    let sent = lane("m_axis_tvalid_o").and(lane("m_axis_tready_i")).and(lane("m_axis_tlast_o"));
    let counted =
        [narrow::counted(plan), vec![name("stall"), name("event_valid_o"), sent.clone()]].concat();
    let counters = reasons::counters_before(plan);
    let add = plan.increment_bits();
    let statistics = clocked("wl_statistics", "i_statistics")
        .parameter("Counters", int(counters + plan.reason_counters().len()))
        .parameter("AddBits", int(add))
        .parameter("CtlTarget", Expr::number(8, 0))
        .parameter("CtlBits", int(plan.control_bits))
        .port("add_i", Expr::Concat(vec![name("reason_add"), name("counted_add")]))
        .port("ctl_valid_i", name("ctl_valid"))
        .port("ctl_write_i", name("ctl_write"))
        .port("ctl_target_i", name("ctl_target"))
        .port("ctl_address_i", name("ctl_address"))
        .port("ctl_data_i", name("ctl_data"))
        .port("ctl_done_o", name("statistics_done"))
        .port("ctl_data_o", name("statistics_answer"));
    let answers = (0..lanes).map(|lane| element("pipe_answer", int(lane), plan.control_bits));
    let any = |parts: Vec<Expr>| {
        Expr::chain(wireloom_codegen_hardware::sv::Binary::Or, parts, Expr::Zeros)
    };
    let extended = Item::Assign {
        target: element("counted_add", name("i"), add),
        value: bit("counted", name("i")).cast(int(add)),
        comment: None,
    };
    let mut items = vec![
        Item::Blank,
        Item::comment("Counters: of packets, ports and cycles, and above them of reasons."),
        vector("counted", counters),
        vector("counted_add", counters * add),
        Item::assign("counted", Expr::Concat(counted)),
        Item::For {
            label: "gen_counted".into(),
            variable: "i".into(),
            count: int(counters),
            items: vec![extended],
        },
    ];
    items.extend(reasons::items(plan, sent, lane("m_axis_tuser_o")));
    items.extend([
        Item::Blank,
        Item::comment(
            "Control plane: one access at a time goes to everything; who is meant answers, the rest is silent.",
        ),
        Item::Instance(slave),
        Item::Instance(statistics),
        Item::assign(
            "ctl_done",
            any(vec![
                name("statistics_done"),
                name("pipe_done").unary(wireloom_codegen_hardware::sv::Unary::AnyOf),
            ]),
        ),
        Item::assign(
            "ctl_answer",
            any([vec![name("statistics_answer")], answers.collect()].concat()),
        ),
    ]);
    items
}

/// Returns the slave of the AXI4-Lite ports with the prefix `ports`. The slave is the master of a
/// control bus whose nets have the prefix `bus`.
pub(super) fn axil_slave(plan: &Plan, ports: &str, bus: &str) -> Instance {
    let machine = &plan.machine;
    let lanes = machine.lanes();
    let mut slave = clocked("wl_axil_control", "i_control")
        .parameter("Geometry", Expr::number(32, memory_map::geometry(machine).into()))
        .parameter("Config", Expr::number(32, (plan.targets_a_pipe() << 8 | lanes) as u64))
        .parameter("Timeout", int(plan.control_timeout()));
    for (port, outside) in axil("s_axil", "").into_iter().zip(axil(ports, "")) {
        slave = slave.port(port.name, name(&outside.name));
    }
    let net = |what: &str| name(format!("{bus}_{what}"));
    slave
        .port("ctl_valid_o", net("valid"))
        .port("ctl_write_o", net("write"))
        .port("ctl_target_o", net("target"))
        .port("ctl_address_o", net("address"))
        .port("ctl_data_o", net("data"))
        .port("ctl_done_i", net("done"))
        .port("ctl_data_i", net("answer"))
}

/// Returns the network processor with models of its memories, which load their contents from files
/// (`+wl_image_NAME=FILE`).
pub fn simulation(plan: &Plan) -> Module {
    let mut module = Module::new("np_sim", "The network processor with models of its memories.");
    module.ports = ports(plan);
    let mut processor = Instance::new("np_top", "i_np");
    for port in &module.ports {
        processor = processor.port(port.name.clone(), name(&port.name));
    }
    for channel in &plan.channels {
        for (port, width) in services::memory_port_names(channel) {
            let net = port.trim_end_matches("_i").trim_end_matches("_o").to_owned();
            module.items.push(vector(net.clone(), plan.machine.lanes() * width));
            processor = processor.port(port, name(&net));
        }
    }
    module.items.push(Item::Instance(processor));
    for channel in &plan.channels {
        module.items.push(services::model(plan, channel));
    }
    module
}
