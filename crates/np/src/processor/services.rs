//! Services in their places: the control bus with its targets, and the channels to memories outside
//! the chip.

use super::plan::{Channel, Plan, Service};
use super::wires::{bit, bit_in, bit_out, bits, element, input, output, vector};
use crate::description::{NpSpec, Place};
use wireloom_codegen_hardware::sv::short::{clocked, int, name};
use wireloom_codegen_hardware::sv::{Binary, Expr, Instance, Item, Port, Type, Unary};

/// Returns the bits of an index that can address every element.
pub(crate) fn index_bits(elements: usize) -> usize {
    bits(elements) as usize
}

/// Returns the number of a service's first control target, from the base of its place.
pub(crate) fn first_target(plan: &Plan, service: &Service, place: Place) -> usize {
    let before = plan.services.iter().take_while(|other| other.name != service.name);
    match place {
        Place::Pipe => before.map(|other| plan.targets_in_pipe(other)).sum(),
        _ => before
            .filter(|other| other.is_controlled_in_cluster())
            .map(|other| if other.rule.place == Place::Engine { plan.machine.engines } else { 1 })
            .sum(),
    }
}

/// Returns the number of a service's first control target, from the base of its pipe.
pub(crate) fn first_pipe_target(plan: &Plan, service: &Service) -> usize {
    first_target(plan, service, Place::Pipe)
}

/// Returns the control targets of a cluster, in order: the service, and the engine if each engine
/// has one.
pub(crate) fn cluster_targets(plan: &Plan) -> Vec<(&Service, Option<usize>)> {
    let inside = plan.services.iter().filter(|service| service.is_controlled_in_cluster());
    inside
        .flat_map(|service| {
            let engines =
                if service.rule.place == Place::Engine { plan.machine.engines } else { 0 };
            let each = (0..engines).map(move |engine| (service, Some(engine)));
            each.chain((engines == 0).then_some((service, None)))
        })
        .collect()
}

/// Returns a service of a cluster, or the part of a pipe's service that is in the cluster.
pub(crate) fn in_cluster(plan: &Plan, service: &Service) -> Vec<Item> {
    let realisation = service.rule.realisation;
    if service.leaves_cluster() {
        return realisation.cluster_part(plan, service);
    }
    realisation.items(
        plan,
        service,
        plan.cluster_tag_bits(),
        first_target(plan, service, Place::Cluster),
    )
}

/// Returns a service of a pipe.
pub(crate) fn in_pipe(plan: &Plan, service: &Service) -> Vec<Item> {
    let target = first_target(plan, service, Place::Pipe);
    service.rule.realisation.items(plan, service, plan.pipe_tag_bits(), target)
}

/// Returns the ports of the control bus, as a slave.
pub(super) fn control_ports(plan: &Plan) -> Vec<Port> {
    vec![
        bit_in("ctl_valid_i", "Control bus: an access, until it is done."),
        bit_in("ctl_write_i", "It writes."),
        input("ctl_target_i", 8, "To what."),
        input("ctl_address_i", 32, "Where there."),
        input("ctl_data_i", plan.control_bits, "What it writes."),
        bit_out("ctl_done_o", "It is done."),
        output("ctl_data_o", plan.control_bits, "What it read; zero unless done."),
    ]
}

/// Returns the part of the control bus that a cluster needs: to respond, or only to watch writes.
pub(super) fn cluster_control_ports(plan: &Plan) -> Vec<Port> {
    let answers = plan.cluster_targets() > 0;
    let watches = plan.watches_control_in_clusters();
    let mut ports = control_ports(plan);
    ports.retain(|port| match port.name.as_str() {
        "ctl_data_i" | "ctl_done_o" | "ctl_data_o" => answers,
        _ => answers || watches,
    });
    if watches {
        ports.push(bit_in(
            "ctl_finished_i",
            "What the control bus asks for is done, wherever it is.",
        ));
    }
    if answers {
        ports.push(input(
            "control_base_i",
            8,
            "Number of the first control target in this cluster.",
        ));
    }
    ports
}

/// Returns the nets that select the control targets of this place, and the combined control
/// response of all targets.
pub(crate) fn gather_control(plan: &Plan, place: Place) -> Vec<Item> {
    let inside = |service: &&Service| match place {
        Place::Pipe => plan.targets_in_pipe(service) > 0,
        _ => service.is_controlled_in_cluster(),
    };
    let targets = if place == Place::Pipe { plan.targets_a_pipe() } else { plan.cluster_targets() };
    if targets == 0 {
        let inputs = control_ports(plan).into_iter().filter(|port| port.name.ends_with("_i"));
        let inputs = inputs.map(|port| name(port.name)).chain([name("control_base_i")]).collect();
        return vec![
            Item::Blank,
            Item::comment("The control plane finds nothing here."),
            Item::assign("ctl_done_o", Expr::number(1, 0)),
            Item::assign("ctl_data_o", Expr::Zeros),
            Item::value("unused_control", Type::Bit, Expr::Concat(inputs).unary(Unary::Parity)),
        ];
    }
    let mut dones = Vec::new();
    let mut answers = Vec::new();
    let mut items = vec![
        Item::Blank,
        Item::comment(
            "Control targets count from the base of this place; what is meant for others is not seen.",
        ),
        Item::net("here_valid", Type::Bit),
        vector("here_target", 8),
        Item::assign("here_target", name("ctl_target_i").sub(name("control_base_i"))),
        Item::assign(
            "here_valid",
            name("ctl_valid_i").and(name("here_target").less(Expr::number(8, targets as u64))),
        ),
    ];
    for service in plan.services.iter().filter(inside) {
        let s = &service.name;
        if service.rule.place == Place::Engine {
            let engines = plan.machine.engines;
            items.extend([
                vector(format!("{s}_dones"), engines),
                vector(format!("{s}_answers"), engines * plan.control_bits),
            ]);
            dones.push(name(format!("{s}_dones")).unary(Unary::AnyOf));
            answers.extend(
                (0..engines).map(|e| element(format!("{s}_answers"), int(e), plan.control_bits)),
            );
        } else {
            dones.push(name(format!("{s}_done")));
            answers.push(name(format!("{s}_answer")));
        }
    }
    if place == Place::Pipe && plan.cluster_targets() > 0 {
        let clusters = plan.machine.clusters_a_pipe();
        items.extend([
            vector("cluster_done", clusters),
            vector("cluster_answer", clusters * plan.control_bits),
        ]);
        dones.push(name("cluster_done").unary(Unary::AnyOf));
        answers.extend((0..clusters).map(|c| element("cluster_answer", int(c), plan.control_bits)));
    }
    let any = |parts: Vec<Expr>| Expr::chain(Binary::Or, parts, Expr::Zeros);
    items
        .extend([Item::assign("ctl_done_o", any(dones)), Item::assign("ctl_data_o", any(answers))]);
    items
}

/// Returns the ports of a pipe for the memory side of a channel, as names and widths.
pub(crate) fn memory_port_names(channel: &Channel) -> Vec<(String, usize)> {
    let port = |what: &str, width: usize| (format!("{}_{what}", channel.name), width);
    vec![
        port("rd_cmd_o", 1),
        port("rd_addr_o", channel.address_bits()),
        port("rd_data_i", channel.data_bits()),
        port("wr_cmd_o", 1),
        port("wr_addr_o", channel.address_bits()),
        port("wr_data_o", channel.data_bits()),
    ]
}

/// Returns the memory signals as ports, for `pipes` pipes side by side.
pub(crate) fn memory_ports(channel: &Channel, pipes: usize) -> Vec<Port> {
    let port = |(name, width): (String, usize)| match name.ends_with("_i") {
        true => input(name, pipes * width, "QDR SRAM: user port of its controller."),
        false => output(name, pipes * width, "QDR SRAM: user port of its controller."),
    };
    memory_port_names(channel).into_iter().map(port).collect()
}

/// Returns a channel with its memory side connected. The caller connects the user side and the
/// control bus.
pub(crate) fn memory_side(plan: &Plan, channel: &Channel) -> Instance {
    let mut instance = clocked("wl_memory_channel", format!("i_{}_channel", channel.name))
        .parameter("Slots", int(channel.slots))
        .parameter("AddressBits", int(channel.address_bits()))
        .parameter("DataBits", int(channel.data_bits()))
        .parameter("MemoryLatency", int(plan.machine.memory.latency))
        .port("clk_mem_i", name("clk_mem_i"));
    for (port, _) in memory_port_names(channel) {
        let what = port
            .strip_prefix(&format!("{}_", channel.name))
            .expect("it begins with the name")
            .to_owned();
        let value = if port.contains("cmd") { bit(port, int(0)) } else { name(&port) };
        instance = instance.port(what, value);
    }
    instance
}

/// Returns the core cycles from a request on a memory channel to its response, if the memory itself
/// takes `memory_cycles` memory cycles. This is `adapter_latency` of hardware/wl_pkg.sv.
pub fn channel_latency(machine: &NpSpec, memory_cycles: usize) -> u32 {
    let ratio = machine.clock.memory_ratio;
    (1 + (ratio + 2 + memory_cycles).div_ceil(ratio)) as u32
}

/// Returns simulation models of one memory for all pipes.
pub(crate) fn model(plan: &Plan, channel: &Channel) -> Item {
    let i = || name("i");
    let mut model = Instance::new("wl_qdr_model", format!("i_{}", channel.name))
        .parameter("WordBits", int(channel.word_bits))
        .parameter("Words", int(channel.words))
        .parameter("AddressBits", int(channel.address_bits()))
        .parameter("Latency", int(plan.machine.memory.latency))
        .parameter("Image", Expr::Text(channel.name.clone()))
        .port("clk_mem_i", name("clk_mem_i"));
    for (port, width) in memory_port_names(channel) {
        let what =
            port.strip_prefix(&format!("{}_", channel.name)).expect("it begins with the name");
        // Outputs of the processor are inputs of the memory.
        let (stem, direction) = what.split_at(what.len() - 1);
        let there = format!("{stem}{}", if direction == "o" { "i" } else { "o" });
        let net = format!("{}_{}", channel.name, stem.trim_end_matches('_'));
        let value = if width == 1 { bit(net, i()) } else { element(net, i(), width) };
        model = model.port(there, value);
    }
    Item::For {
        label: format!("gen_{}", channel.name),
        variable: "i".into(),
        count: int(plan.machine.lanes()),
        items: vec![Item::Instance(model)],
    }
}
