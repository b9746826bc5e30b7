//! What stands behind the offloads: one template, or a few, for each realisation.

use super::NpError;
use super::on_chip::{Ends, counter_parameters, on_chip};
use super::plan::{Channel, Plan, Service};
use super::wires::{bit, bits, element, input, output, vector};
use crate::machine::{Machine, Place, Realisation};
use crate::pipelined::Lookup;
use crate::sv::short::{clocked, int, name};
use crate::sv::{Binary, Expr, Instance, Item, Port, Type, Unary};

/// Bits of a meter's rate or burst as the control plane writes it: up to 2^40.
pub(super) const METER_RATE_BITS: usize = 41;

/// Bits of an index that reaches every element.
pub(super) fn index_bits(elements: usize) -> usize {
    bits(elements) as usize
}

/// The widest entry that the control plane writes at once.
pub(super) fn control_bits(service: &Service) -> usize {
    match service.rule.realisation {
        Realisation::Counters | Realisation::FlowCounter => 128,
        Realisation::Trie => service.value_bits().max(72),
        Realisation::Table | Realisation::Cached | Realisation::Direct => service.value_bits(),
        Realisation::HashTable => 3 + service.key_bits() + service.value_bits(),
        Realisation::Meter => 5 * METER_RATE_BITS,
        Realisation::Random | Realisation::Body => 0,
        Realisation::Automaton => super::patterns::control_bits(service),
        Realisation::Pipeline => {
            let memories = service.called.iter().flat_map(|called| &called.pipeline.memories);
            memories.map(|memory| memory.data_bits as usize).max().unwrap_or(0)
        }
    }
}

/// Control targets of a service in a pipe, outside its clusters.
pub(super) fn pipe_targets(plan: &Plan, service: &Service) -> usize {
    match (service.rule.place, service.rule.realisation) {
        (Place::Engine | Place::Cluster, _) => 0,
        (_, Realisation::Trie) => super::lookup::targets(plan, service).len(),
        (_, Realisation::Pipeline) => service.called.as_ref().map_or(0, |called| called.tables.len()),
        (_, Realisation::Random | Realisation::Body) => 0,
        (_, Realisation::Automaton) => super::patterns::TARGETS,
        _ => 1,
    }
}

/// The number of a service's first control target, from the base of where it stands.
pub(super) fn first_target(plan: &Plan, service: &Service, place: Place) -> usize {
    let before = plan.services.iter().take_while(|other| other.name != service.name);
    match place {
        Place::Pipe => before.map(|other| pipe_targets(plan, other)).sum(),
        _ => before
            .filter(|other| other.is_controlled_in_cluster())
            .map(|other| if other.rule.place == Place::Engine { plan.machine.engines } else { 1 })
            .sum(),
    }
}

/// The number of a service's first control target, from the base of its pipe.
pub(super) fn first_pipe_target(plan: &Plan, service: &Service) -> usize {
    first_target(plan, service, Place::Pipe)
}

/// The control targets of a cluster, in order: service, and engine if there is one in each.
pub(super) fn cluster_targets(plan: &Plan) -> Vec<(&Service, Option<usize>)> {
    let inside = plan.services.iter().filter(|service| service.is_controlled_in_cluster());
    inside
        .flat_map(|service| {
            let engines = if service.rule.place == Place::Engine { plan.machine.engines } else { 0 };
            let each = (0..engines).map(move |engine| (service, Some(engine)));
            each.chain((engines == 0).then_some((service, None)))
        })
        .collect()
}

/// Connects a slave to the control bus as it is inside a cluster or pipe: targets count from its base.
pub(super) fn controlled(instance: Instance, plan: &Plan, answer: &str) -> Instance {
    instance
        .parameter("CtlBits", int(plan.control_bits))
        .port("ctl_valid_i", name("here_valid"))
        .port("ctl_write_i", name("ctl_write_i"))
        .port("ctl_target_i", name("here_target"))
        .port("ctl_address_i", name("ctl_address_i"))
        .port("ctl_data_i", name("ctl_data_i"))
        .port("ctl_done_o", name(format!("{answer}_done")))
        .port("ctl_data_o", name(format!("{answer}_answer")))
}

/// The nets on which a slave answers.
pub(super) fn answer_nets(plan: &Plan, answer: &str) -> Vec<Item> {
    vec![
        Item::net(format!("{answer}_done"), Type::Bit),
        vector(format!("{answer}_answer"), plan.control_bits),
    ]
}

/// A service of a cluster, or what stands in the cluster before a service of the pipe.
pub(super) fn in_cluster(plan: &Plan, service: &Service) -> Vec<Item> {
    if service.rule.realisation == Realisation::Cached {
        return vec![Item::Instance(cache(plan, service))];
    }
    let target = Expr::number(8, first_target(plan, service, Place::Cluster) as u64);
    on_chip(plan, service, plan.cluster_tag_bits(), target)
}

/// A service of a pipe.
pub(super) fn in_pipe(plan: &Plan, service: &Service) -> Vec<Item> {
    let target = Expr::number(8, first_target(plan, service, Place::Pipe) as u64);
    match service.rule.realisation {
        Realisation::Table
        | Realisation::Counters
        | Realisation::HashTable
        | Realisation::Meter
        | Realisation::Random
        | Realisation::Body
        | Realisation::Automaton => on_chip(plan, service, plan.pipe_tag_bits(), target),
        Realisation::Pipeline => {
            let called = service.called.as_ref().expect("only engines are pipelines");
            super::called::items(plan, service, called, first_pipe_target(plan, service))
        }
        Realisation::Cached | Realisation::Direct => {
            off_chip(plan, service, direct_table(plan, service, target))
        }
        Realisation::FlowCounter => off_chip(plan, service, flow_counter(service, target)),
        Realisation::Trie => super::lookup::items(plan, service, first_pipe_target(plan, service)),
    }
}

/// The cache of a cluster, between its tree and its ports.
fn cache(plan: &Plan, service: &Service) -> Instance {
    let here = |what: &str| Expr::name(format!("{}_{what}", service.name));
    let cache = clocked("wl_hash_cache", format!("u_{}", service.name))
        .parameter("KeyBits", int(index_bits(service.elements())))
        .parameter("Size", int(service.elements()))
        .parameter("ValueBits", int(service.value_bits()))
        .parameter("IndexBits", int(service.request_bits))
        .parameter("TagBits", int(plan.cluster_tag_bits()))
        .parameter("Bins", int(service.rule.bins))
        .parameter("Sets", int(service.rule.sets))
        .parameter("CtlTarget", Expr::number(8, first_target(plan, service, Place::Pipe) as u64));
    Ends::behind_tree(service)
        .whole(cache)
        .port("miss_valid_o", here("request_valid_o"))
        .port("miss_ready_i", here("request_ready_i"))
        .port("miss_tag_o", here("request_tag_o"))
        .port("miss_data_o", here("request_data_o"))
        .port("fill_valid_i", here("reply_valid_i"))
        .port("fill_tag_i", here("reply_tag_i"))
        .port("fill_data_i", here("reply_data_i"))
        .port("ctl_valid_i", name("ctl_valid_i"))
        .port("ctl_write_i", name("ctl_write_i"))
        .port("ctl_target_i", name("ctl_target_i"))
        .port("ctl_address_i", name("ctl_address_i"))
        .port("ctl_done_i", name("ctl_finished_i"))
        .port("hit_o", here("hits_o"))
        .port("miss_o", here("misses_o"))
}

/// A table in QDR SRAM.
fn direct_table(plan: &Plan, service: &Service, target: Expr) -> Instance {
    let table = clocked("wl_direct_table", format!("u_{}", service.name))
        .parameter("Width", int(service.value_bits()))
        .parameter("Size", int(service.elements()))
        .parameter("IndexBits", int(service.request_bits))
        .parameter("TagBits", int(plan.pipe_tag_bits()))
        .parameter("CtlTarget", target);
    Ends::behind_tree(service).whole(table)
}

/// Counters in QDR SRAM.
fn flow_counter(service: &Service, target: Expr) -> Instance {
    let ends = Ends::behind_tree(service);
    counter_parameters(clocked("wl_flow_counter", format!("u_{}", service.name)), service)
        .parameter("CtlTarget", target)
        .port("request_valid_i", ends.request_valid)
        .port("request_ready_o", ends.request_ready)
        .port("request_data_i", ends.request_data)
}

/// A service that has slots of a memory channel, and the nets between them.
fn off_chip(plan: &Plan, service: &Service, instance: Instance) -> Vec<Item> {
    let s = &service.name;
    let channel =
        plan.channels.iter().find(|c| &c.service == s).expect("each service off the chip has a channel");
    let (used, slots) = (channel.used, channel.slots);
    let net = |what: &str| format!("{}_{what}", channel.name);
    let user = |what: &str| format!("{}_user_{what}", channel.name);
    let mut instance = controlled(instance, plan, s)
        .parameter("DataBits", int(channel.data_bits()))
        .parameter("AddressBits", int(channel.address_bits()))
        .parameter("ReadLatency", read_latency(plan));
    let mut items = answer_nets(plan, s);
    for (what, width, is_output) in [
        ("read_valid", 1, true),
        ("read_address", channel.address_bits(), true),
        ("read_data", channel.data_bits(), false),
        ("write_valid", 1, true),
        ("write_address", channel.address_bits(), true),
        ("write_data", channel.data_bits(), true),
    ] {
        items.push(vector(net(what), slots * width));
        items.push(vector(user(what), used * width));
        let port = format!("{what}_{}", if is_output { "o" } else { "i" });
        instance = instance.port(port, name(user(what)));
        let value = match (is_output, used == slots) {
            (true, true) => name(user(what)),
            (true, false) => {
                Expr::Concat(vec![Expr::number(((slots - used) * width) as u32, 0), name(user(what))])
            }
            (false, true) => name(net(what)),
            (false, false) => name(net(what)).part(Expr::int(0), int(used * width)),
        };
        items.push(Item::assign(if is_output { net(what) } else { user(what) }, value));
        if !is_output && used < slots {
            items.push(unread(&net(what), used * width, (slots - used) * width));
        }
    }
    items.push(Item::net(net("hold"), Type::Bit));
    items.push(Item::Instance(instance.port("hold_i", name(net("hold")))));
    items.extend(own_channel(plan, channel));
    items
}

/// Says that nobody looks at what the slots of a channel bring that its service does not use.
pub(super) fn unread(data: &str, low: usize, width: usize) -> Item {
    let rest = name(data).part(int(low), int(width)).unary(Unary::AnyOf);
    Item::value(format!("unused_{data}"), Type::Bit, rest)
}

/// The latency of memory channels in core cycles, as the templates compute it.
pub(super) fn read_latency(plan: &Plan) -> Expr {
    let memory = &plan.machine.memory;
    Expr::call("wl_pkg::adapter_latency", vec![int(plan.machine.clock.memory_ratio), int(memory.latency)])
}

/// Which targets are meant here, and the answer of all that stands here.
pub(super) fn gather_control(plan: &Plan, place: Place) -> Vec<Item> {
    let inside = |service: &&Service| match place {
        Place::Pipe => pipe_targets(plan, service) > 0,
        _ => service.is_controlled_in_cluster(),
    };
    let targets = if place == Place::Pipe { plan.targets_a_pipe() } else { plan.cluster_targets() };
    if targets == 0 {
        let inputs = super::cluster::control_ports(plan).into_iter().filter(|port| port.name.ends_with("_i"));
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
            answers.extend((0..engines).map(|e| element(format!("{s}_answers"), int(e), plan.control_bits)));
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
    items.extend([Item::assign("ctl_done_o", any(dones)), Item::assign("ctl_data_o", any(answers))]);
    items
}

/// The memories of a pipe.
pub(super) fn channels(
    services: &[Service],
    lookups: &[Lookup],
    machine: &Machine,
) -> Result<Vec<Channel>, NpError> {
    let slots = machine.clock.memory_ratio;
    let mut channels = Vec::new();
    for service in services {
        let bursts = match service.rule.realisation {
            Realisation::Cached | Realisation::Direct => service.value_bits().div_ceil(72),
            Realisation::FlowCounter => 2,
            Realisation::Trie => {
                let key_bits = service.request_bits as u32;
                let lookup =
                    lookups.iter().find(|l| l.shape.key_bits == key_bits).expect("each trie has a lookup");
                channels.extend(super::lookup::channels(service, lookup, machine)?);
                continue;
            }
            Realisation::Table
            | Realisation::Counters
            | Realisation::HashTable
            | Realisation::Meter
            | Realisation::Random
            | Realisation::Pipeline
            | Realisation::Automaton
            | Realisation::Body => continue,
        };
        let refuse = |why: String| NpError::Offload {
            offload: service.offload.clone(),
            machine: machine.name.clone(),
            why,
        };
        if bursts > slots {
            let why = format!(
                "an entry takes {bursts} bursts of 72 bits, but the memory does {slots} in a core cycle"
            );
            return Err(refuse(why));
        }
        // Parts of 36-bit words have half as many words.
        let (has, needs) = (machine.memory.mega_words << 18, service.elements() * bursts.next_power_of_two());
        if needs > has {
            let parts = machine.memory.mega_words * needs.div_ceil(has);
            let why = format!(
                "it needs {needs} bursts of 72 bits, but a part holds {has}: set `memory.mega_words` to {parts} or more"
            );
            return Err(refuse(why));
        }
        channels.push(Channel {
            name: service.name.clone(),
            service: service.name.clone(),
            slots,
            used: bursts,
            word_bits: 36,
            words: 2 * has,
        });
    }
    Ok(channels)
}

/// The memory side of a channel, as ports of a pipe: name and width.
pub(super) fn memory_port_names(channel: &Channel) -> Vec<(String, usize)> {
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

/// The same as ports, of so many pipes side by side.
pub(super) fn memory_ports(channel: &Channel, pipes: usize) -> Vec<Port> {
    let port = |(name, width): (String, usize)| match name.ends_with("_i") {
        true => input(name, pipes * width, "QDR SRAM: user port of its controller."),
        false => output(name, pipes * width, "QDR SRAM: user port of its controller."),
    };
    memory_port_names(channel).into_iter().map(port).collect()
}

/// A channel with its memory side connected; the users' and the control bus' are to come.
pub(super) fn memory_side(plan: &Plan, channel: &Channel) -> Instance {
    let mut instance = clocked("wl_memory_channel", format!("u_{}_channel", channel.name))
        .parameter("Slots", int(channel.slots))
        .parameter("AddressBits", int(channel.address_bits()))
        .parameter("DataBits", int(channel.data_bits()))
        .parameter("MemoryLatency", int(plan.machine.memory.latency))
        .port("clk_mem_i", name("clk_mem_i"));
    for (port, _) in memory_port_names(channel) {
        let what =
            port.strip_prefix(&format!("{}_", channel.name)).expect("it begins with the name").to_owned();
        let value = if port.contains("cmd") { bit(port, int(0)) } else { name(&port) };
        instance = instance.port(what, value);
    }
    instance
}

/// The channel to the memory of a service that reads and writes its entries for the control plane itself.
fn own_channel(plan: &Plan, channel: &Channel) -> Vec<Item> {
    let net = |what: &str| name(format!("{}_{what}", channel.name));
    let mut instance = memory_side(plan, channel).parameter("CtlBits", int(plan.control_bits));
    for port in [
        "read_valid_i",
        "read_address_i",
        "read_data_o",
        "write_valid_i",
        "write_address_i",
        "write_data_i",
        "hold_o",
    ] {
        instance = instance.port(port, net(port.trim_end_matches("_i").trim_end_matches("_o")));
    }
    instance = instance
        .port("ctl_valid_i", Expr::number(1, 0))
        .port("ctl_write_i", Expr::number(1, 0))
        .port("ctl_target_i", Expr::Zeros)
        .port("ctl_address_i", Expr::Zeros)
        .port("ctl_data_i", Expr::Zeros)
        .open("ctl_done_o")
        .open("ctl_data_o");
    vec![Item::Instance(instance), Item::assign(format!("{}_reads_o", channel.name), net("read_valid"))]
}

/// Models of a memory for all pipes, for simulation.
pub(super) fn model(plan: &Plan, channel: &Channel) -> Item {
    let i = || name("i");
    let mut model = Instance::new("wl_qdr_model", format!("u_{}", channel.name))
        .parameter("WordBits", int(channel.word_bits))
        .parameter("Words", int(channel.words))
        .parameter("AddressBits", int(channel.address_bits()))
        .parameter("Latency", int(plan.machine.memory.latency))
        .parameter("Image", Expr::Text(channel.name.clone()))
        .port("clk_mem_i", name("clk_mem_i"));
    for (port, width) in memory_port_names(channel) {
        let what = port.strip_prefix(&format!("{}_", channel.name)).expect("it begins with the name");
        // What goes out of the processor goes into the memory.
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
