//! The top module of the chip, its control registers, and the module that adds models of the
//! memories.

use super::lane::{self, BYTES, USER, net, sent};
use super::{Member, members};
use crate::processor::pipe::SENT_BITS;
use crate::processor::services;
use crate::processor::top::{EVENT, axil, axil_wide};
use crate::processor::wires::{bit, bit_in, element, elements, input, output, vector};
use wireloom_codegen_hardware::sv::short::{clocked, int, name};
use wireloom_codegen_hardware::sv::{Expr, Instance, Item, Module, Port, Type};

/// Name of the chip's top module.
pub(super) const TOP: &str = "virtual_top";
/// Name of the module that adds models of the memories.
pub(super) const SIMULATION: &str = "virtual_sim";
/// Name of the module with the control registers.
const CONTROL: &str = "virtual_control";
/// Bits in an address of the control registers. The chip and each processor have a block of 2^16
/// addresses.
const ADDRESS: usize = 24;
/// Bits of the data on the chip's own control bus.
pub(super) const CONTROL_BITS: usize = 64;

fn routers(lanes: &[Vec<Member>]) -> usize {
    lanes.iter().map(|members| lane::routers(members).count()).sum()
}

fn has_memories(lanes: &[Vec<Member>]) -> bool {
    members(lanes).any(|member| !member.processor.plan.channels.is_empty())
}

/// Returns the packet and control ports, which both modules have.
fn ports(lanes: &[Vec<Member>]) -> Vec<Port> {
    let count = lanes.len();
    let processors = members(lanes).count();
    let mut ports = vec![bit_in("clk_i", "Clock."), bit_in("rst_i", "Reset, active high.")];
    if has_memories(lanes) {
        ports.push(bit_in("clk_mem_i", "Clock of the memories, in phase with the other."));
    }
    ports.extend([
        input(
            "s_axis_tdata_i",
            count * 8 * BYTES,
            "AXI4-Stream lanes in; byte 0 of a beat in its lowest bits.",
        ),
        input("s_axis_tkeep_i", count * BYTES, ""),
        input("s_axis_tvalid_i", count, ""),
        output("s_axis_tready_o", count, "Always: what a router does not take is lost to it alone."),
        input("s_axis_tlast_i", count, ""),
        input("s_axis_tuser_i", count * USER, "Ingress port of a lane: the router's number, its own port."),
        output("lost_o", count, "The packet that begins on this lane is lost, or is of no router."),
        output("m_axis_tdata_o", count * 8 * BYTES, "AXI4-Stream lanes out."),
        output("m_axis_tkeep_o", count * BYTES, ""),
        output("m_axis_tvalid_o", count, ""),
        input("m_axis_tready_i", count, ""),
        output("m_axis_tlast_o", count, ""),
        output(
            "m_axis_tuser_o",
            count * SENT_BITS,
            "wl_pkg::sent_t of a lane; upper byte of the egress port: the router's number.",
        ),
        output(
            "event_valid_o",
            processors,
            "Packets that end without being sent, of each processor in order with those that it sends.",
        ),
        output("event_o", processors * SENT_BITS, "The same of them."),
    ]);
    ports.extend(axil_wide(
        "s_axil",
        "AXI4-Lite: the control plane, a block of 64 KiB for the chip and for each processor.",
        ADDRESS,
    ));
    ports
}

/// Returns the control port: the chip's own registers, with the counts of lost packets, and the
/// access to the processors.
pub(super) fn control(lanes: &[Vec<Member>]) -> Module {
    let processors = members(lanes).count();
    let slaves = processors + 1;
    let mut module = Module::new(
        CONTROL,
        "Control registers: block 0 is the chip's (packets lost by each router, of no router on each lane, cut on each lane), block 1 + p \
         processor p's.",
    );
    module.ports = vec![bit_in("clk_i", "Clock."), bit_in("rst_i", "Reset, active high.")];
    module.ports.extend(axil_wide("s_axil", "AXI4-Lite.", ADDRESS));
    module.ports.extend(to_slaves(processors));
    module.ports.extend([
        input("lost_i", routers(lanes), "Statistics: of each router, by its number;"),
        input("unknown_i", lanes.len(), "of each lane."),
        input("cut_i", lanes.len(), ""),
    ]);
    let mut split = clocked("wl_axil_split", "i_split").parameter("Slaves", int(slaves));
    for port in axil("s_axil", "") {
        split = split.port(port.name.clone(), name(port.name.clone()));
    }
    let mut own = clocked("wl_axil_control", "i_control")
        .parameter("CtlBits", int(CONTROL_BITS))
        .parameter("Config", Expr::number(32, (processors << 8 | lanes.len()) as u64));
    for port in to_slaves(slaves) {
        let stem = &port.name["m_axil_".len()..port.name.len() - 2];
        let all = format!("all_{stem}");
        split = split.port(port.name.clone(), name(all.clone()));
        // A signal that is the same for all slaves is not split.
        let is_shared = is_shared(stem);
        module.items.push(Item::net(&*all, port.ty.clone()));
        let end = if port.name.ends_with("_o") { "i" } else { "o" };
        let first = if is_shared { name(all.clone()) } else { bit(&*all, int(0)) };
        own = own.port(format!("s_axil_{stem}_{end}"), first);
        let rest = || name(all.clone()).part(int(1), int(processors));
        module.items.push(match (is_shared, end) {
            (true, _) => Item::assign(port.name.clone(), name(all.clone())),
            (false, "i") => Item::assign(port.name.clone(), rest()),
            (false, _) => {
                Item::Assign { target: rest(), value: name(port.name.clone()), comment: None }
            }
        });
    }
    let mut statistics = clocked("wl_statistics", "i_statistics")
        .parameter("Counters", int(routers(lanes) + 2 * lanes.len()))
        .parameter("CtlTarget", Expr::number(8, 0))
        .parameter("CtlBits", int(CONTROL_BITS))
        .port("add_i", Expr::Concat(vec![name("cut_i"), name("unknown_i"), name("lost_i")]));
    let bus = [
        ("ctl_valid", Type::Bit, 'o'),
        ("ctl_write", Type::Bit, 'o'),
        ("ctl_target", Type::bits(8), 'o'),
        ("ctl_address", Type::bits(32), 'o'),
        ("ctl_data", Type::bits(CONTROL_BITS as u32), 'o'),
        ("ctl_done", Type::Bit, 'i'),
        ("ctl_answer", Type::bits(CONTROL_BITS as u32), 'i'),
    ];
    for (signal, ty, direction) in bus {
        module.items.push(Item::net(signal, ty));
        let port = if signal == "ctl_answer" { "ctl_data" } else { signal };
        let (there, here) = if direction == 'o' { ('o', 'i') } else { ('i', 'o') };
        own = own.port(format!("{port}_{there}"), name(signal));
        statistics = statistics.port(format!("{port}_{here}"), name(signal));
    }
    module.items.extend([Item::Instance(split), Item::Instance(own), Item::Instance(statistics)]);
    module
}

/// Returns the width of an AXI4-Lite signal to one slave, in bits.
fn slave_width(stem: &str) -> usize {
    match stem {
        "awaddr" | "araddr" => 16,
        "wdata" | "rdata" => 32,
        "wstrb" => 4,
        "bresp" | "rresp" => 2,
        _ => 1,
    }
}

/// Returns whether an AXI4-Lite signal is the same for all slaves.
fn is_shared(stem: &str) -> bool {
    ["awaddr", "wdata", "wstrb", "araddr"].contains(&stem)
}

/// Returns the ports to `slaves` slaves, in the format of `wl_axil_split`.
fn to_slaves(slaves: usize) -> Vec<Port> {
    let port = |slave: Port| {
        let stem = &slave.name["s_".len()..slave.name.len() - 2];
        let signal = &stem["axil_".len()..];
        let width = slave_width(signal);
        match (slave.name.ends_with("_i"), is_shared(signal)) {
            (true, true) => output(format!("m_{stem}_o"), width, ""),
            (true, false) => Port::output(format!("m_{stem}_o"), elements(slaves, width), ""),
            (false, _) => Port::input(format!("m_{stem}_i"), elements(slaves, width), ""),
        }
    };
    axil("s_axil", "").into_iter().map(port).collect()
}

/// Returns the top module of the chip.
pub(super) fn top(lanes: &[Vec<Member>]) -> Module {
    let processors = members(lanes).count();
    let mut module = Module::new(
        TOP,
        &format!(
            "{} virtual routers: {processors} network processors on {} lanes.",
            routers(lanes),
            lanes.len()
        ),
    );
    module.ports = ports(lanes);
    for member in members(lanes) {
        for channel in &member.processor.plan.channels {
            module.ports.extend(services::memory_ports(channel, 1));
        }
    }
    module.items.extend([
        vector("unknown", lanes.len()),
        vector("cut", lanes.len()),
        Item::assign("s_axis_tready_o", Expr::number(1, 1).replicate(int(lanes.len()))),
    ]);
    let mut first = 0;
    for (number, members) in lanes.iter().enumerate() {
        module.items.push(Item::Blank);
        module.items.push(Item::comment(&format!("Lane {number}.")));
        module.items.extend(lane_of(number, members, first));
        first += members.len();
    }
    module.items.push(Item::Blank);
    module.items.push(Item::comment("Control plane."));
    // Lost packets, by router number.
    let mut lost: Vec<(u8, Expr)> = Vec::new();
    for (number, members) in lanes.iter().enumerate() {
        let own = lane::routers(members).enumerate();
        lost.extend(
            own.map(|(place, router)| {
                (router.number, bit(format!("lane{number}_lost"), int(place)))
            }),
        );
    }
    lost.sort_unstable_by_key(|(number, _)| std::cmp::Reverse(*number));
    let mut control = clocked(CONTROL, "i_control")
        .port("lost_i", Expr::Concat(lost.into_iter().map(|(_, bit)| bit).collect()))
        .port("unknown_i", name("unknown"))
        .port("cut_i", name("cut"));
    for port in axil("s_axil", "") {
        control = control.port(port.name.clone(), name(port.name.clone()));
    }
    for port in to_slaves(processors) {
        let stem = port.name["m_".len()..port.name.len() - 2].to_owned();
        module.items.push(Item::net(stem.clone(), port.ty));
        control = control.port(port.name, name(stem.clone()));
    }
    module.items.push(Item::Instance(control));
    module
}

/// Returns a lane with its processors, which are numbered from `first`.
fn lane_of(number: usize, members: &[Member], first: usize) -> Vec<Item> {
    let count = members.len();
    let own = |what: &str| format!("lane{number}_{what}");
    let at = || int(number);
    let mut items: Vec<Item> = [
        ("in_valid", elements(count, 1)),
        ("in_ready", elements(count, 1)),
        ("in_last", elements(count, 1)),
        ("in_data", elements(count, 8 * BYTES)),
        ("in_keep", elements(count, BYTES)),
        ("in_user", elements(count, USER)),
        ("out_valid", elements(count, 1)),
        ("out_ready", elements(count, 1)),
        ("out_last", elements(count, 1)),
        ("out_data", elements(count, 8 * BYTES)),
        ("out_keep", elements(count, BYTES)),
        ("out_user", sent(count)),
        ("event", elements(count, 1)),
        ("event_data", elements(count, EVENT)),
        ("place", elements(count, 8)),
        ("ends", elements(count, 1)),
        ("lost", elements(lane::routers(members).count(), 1)),
    ]
    .into_iter()
    .map(|(what, ty)| net(number, what, ty))
    .collect();
    let mut ingress = clocked(lane::ingress_module(number), format!("i_ingress{number}"))
        .port("tvalid_i", bit("s_axis_tvalid_i", at()))
        .port("tdata_i", element("s_axis_tdata_i", at(), 8 * BYTES))
        .port("tkeep_i", element("s_axis_tkeep_i", at(), BYTES))
        .port("tlast_i", bit("s_axis_tlast_i", at()))
        .port("tuser_i", element("s_axis_tuser_i", at(), USER));
    for (port, what) in [
        ("valid_o", "in_valid"),
        ("ready_i", "in_ready"),
        ("last_o", "in_last"),
        ("data_o", "in_data"),
        ("keep_o", "in_keep"),
        ("user_o", "in_user"),
        ("place_o", "place"),
        ("ends_i", "ends"),
        ("lost_o", "lost"),
    ] {
        ingress = ingress.port(port, name(own(what)));
    }
    items.push(Item::Instance(
        ingress.port("unknown_o", bit("unknown", at())).port("cut_o", bit("cut", at())),
    ));
    let lost = name(own("lost"))
        .unary(wireloom_codegen_hardware::sv::Unary::AnyOf)
        .or(bit("unknown", at()));
    items.push(Item::Assign { target: bit("lost_o", at()), value: lost, comment: None });
    for (place, member) in members.iter().enumerate() {
        items.push(processor(number, place, first + place, member));
    }
    let mut egress = clocked(lane::egress_module(number), format!("i_egress{number}"));
    for (port, what) in [
        ("valid_i", "out_valid"),
        ("ready_o", "out_ready"),
        ("last_i", "out_last"),
        ("data_i", "out_data"),
        ("keep_i", "out_keep"),
        ("user_i", "out_user"),
        ("event_i", "event"),
        ("event_data_i", "event_data"),
        ("place_i", "place"),
        ("ends_o", "ends"),
    ] {
        egress = egress.port(port, name(own(what)));
    }
    let events = |port: &str, width: usize| name(port).part(int(first * width), int(count * width));
    items.push(Item::Instance(
        egress
            .port("tvalid_o", bit("m_axis_tvalid_o", at()))
            .port("tready_i", bit("m_axis_tready_i", at()))
            .port("tdata_o", element("m_axis_tdata_o", at(), 8 * BYTES))
            .port("tkeep_o", element("m_axis_tkeep_o", at(), BYTES))
            .port("tlast_o", bit("m_axis_tlast_o", at()))
            .port("tuser_o", element("m_axis_tuser_o", at(), SENT_BITS))
            .port("event_valid_o", events("event_valid_o", 1))
            .port("event_o", events("event_o", SENT_BITS)),
    ));
    items
}

/// Returns the instance of a processor, with its place on its lane and its number on the chip.
fn processor(lane: usize, place: usize, number: usize, member: &Member) -> Item {
    let plan = &member.processor.plan;
    let at = || int(place);
    let mut instance = clocked(plan.top_module(), format!("i_processor{number}"));
    if !plan.channels.is_empty() {
        instance = instance.port("clk_mem_i", name("clk_mem_i"));
    }
    for (port, what) in [
        ("s_axis_tvalid_i", "in_valid"),
        ("s_axis_tready_o", "in_ready"),
        ("s_axis_tlast_i", "in_last"),
        ("s_axis_tdata_i", "in_data"),
        ("s_axis_tkeep_i", "in_keep"),
        ("s_axis_tuser_i", "in_user"),
        ("m_axis_tvalid_o", "out_valid"),
        ("m_axis_tready_i", "out_ready"),
        ("m_axis_tlast_o", "out_last"),
        ("m_axis_tdata_o", "out_data"),
        ("m_axis_tkeep_o", "out_keep"),
        ("m_axis_tuser_o", "out_user"),
        ("event_valid_o", "event"),
        ("event_o", "event_data"),
    ] {
        instance = instance.port(port, bit(format!("lane{lane}_{what}"), at()));
    }
    for port in axil("s_axil", "") {
        let stem = port.name["s_".len()..port.name.len() - 2].to_owned();
        let signal = &stem["axil_".len()..];
        let shared = is_shared(signal);
        let value = if shared { name(stem.clone()) } else { bit(stem.clone(), int(number)) };
        instance = instance.port(port.name, value);
    }
    for channel in &plan.channels {
        for (port, _) in services::memory_port_names(channel) {
            instance = instance.port(port.clone(), name(port.clone()));
        }
    }
    Item::Instance(instance.open("probe_o"))
}

/// Returns the chip with models of its memories, which load their contents from files
/// (`+wl_image_NAME=FILE`).
pub(super) fn simulation(lanes: &[Vec<Member>]) -> Module {
    let mut module = Module::new(SIMULATION, "The virtual routers with models of their memories.");
    module.ports = ports(lanes);
    let mut chip = Instance::new(TOP, "i_chip");
    for port in &module.ports {
        chip = chip.port(port.name.clone(), name(port.name.clone()));
    }
    let mut models = Vec::new();
    for member in members(lanes) {
        let plan = &member.processor.plan;
        for channel in &plan.channels {
            for (port, width) in services::memory_port_names(channel) {
                let net = port.trim_end_matches("_i").trim_end_matches("_o").to_owned();
                module.items.push(vector(net.clone(), width));
                chip = chip.port(port, name(net.clone()));
            }
            models.push(services::model(plan, channel));
        }
    }
    module.items.push(Item::Instance(chip));
    module.items.extend(models);
    module
}
