//! Nets and modules that several realisations share: the ends of a service, the control bus and
//! memory channels.

use wireloom_bits::Bits;
use wireloom_codegen_hardware::core::PortMethod;
use wireloom_codegen_hardware::sv::short::{int, name};
use wireloom_codegen_hardware::sv::{Expr, Instance, Item, Type, Unary};

use crate::description::NpSpec;
use crate::processor::services::memory_side;
use crate::processor::wires::vector;
use crate::processor::{Channel, Plan, Service, Way};

/// The signals of a service's requests and replies in its place.
pub(super) struct Ends {
    pub(super) request_valid: Expr,
    pub(super) request_ready: Expr,
    pub(super) request_tag: Expr,
    pub(super) request_data: Expr,
    pub(super) reply_valid: Expr,
    pub(super) reply_tag: Expr,
    pub(super) reply_data: Expr,
}

impl Ends {
    /// Returns the nets at the end of a request tree.
    pub(super) fn behind_tree(service: &Service) -> Self {
        Self::with_prefix(&service.name)
    }

    /// Returns the nets at the end of the request tree of a way.
    pub(super) fn behind_way(way: &Way) -> Self {
        Self::with_prefix(&way.prefix)
    }

    fn with_prefix(prefix: &str) -> Self {
        let here = |what: &str| Expr::name(format!("{prefix}_{what}"));
        Self {
            request_valid: here("in_valid"),
            request_ready: here("in_ready"),
            request_tag: here("in_tag"),
            request_data: here("in_data"),
            reply_valid: here("out_valid"),
            reply_tag: here("out_tag"),
            reply_data: here("out_data"),
        }
    }

    /// Connects a service whose replies are not used.
    pub(super) fn requests(self, instance: Instance) -> Instance {
        instance
            .port("request_valid_i", self.request_valid)
            .port("request_ready_o", self.request_ready)
            .port("request_tag_i", self.request_tag)
            .port("request_data_i", self.request_data)
            .open("reply_valid_o")
            .open("reply_tag_o")
            .open("reply_data_o")
    }

    /// Connects a service that replies to every request.
    pub(super) fn whole(self, instance: Instance) -> Instance {
        instance
            .port("request_valid_i", self.request_valid)
            .port("request_ready_o", self.request_ready)
            .port("request_tag_i", self.request_tag)
            .port("request_data_i", self.request_data)
            .port("reply_valid_o", self.reply_valid)
            .port("reply_tag_o", self.reply_tag)
            .port("reply_data_o", self.reply_data)
    }
}

/// Connects a service with control targets, and its responses, to the control bus.
pub(super) fn on_bus(plan: &Plan, service: &Service, instance: Instance) -> Vec<Item> {
    let s = &service.name;
    let mut items = answer_nets(plan, s);
    if service.reply_bits > 0 && service.port.methods.iter().all(|method| method.reply == 0) {
        items.push(Item::assign(format!("{s}_out_data"), Expr::Zeros));
    }
    items.push(Item::Instance(controlled(instance, plan, s)));
    items
}

/// Connects a slave to the control bus inside a cluster or pipe. Targets count from the base of the
/// cluster or pipe.
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

/// Returns the nets of a slave's responses.
pub(super) fn answer_nets(plan: &Plan, answer: &str) -> Vec<Item> {
    vec![
        Item::net(format!("{answer}_done"), Type::Bit),
        vector(format!("{answer}_answer"), plan.control_bits),
    ]
}

/// Returns the numbers of the called methods within the kind, with `bits` bits each.
pub(super) fn methods(service: &Service, bits: u32) -> Expr {
    let number = |method: &PortMethod| Expr::number(bits, method.method as u64);
    Expr::Concat(service.port.methods.iter().rev().map(number).collect())
}

/// Returns the boundaries of an element's fields: a one at the lowest bit of each field.
pub(super) fn cuts(service: &Service) -> Bits {
    let width = service.value_bits() as u32;
    let mut cuts = Bits::zero(width);
    let fields = service.config.value.as_ref().map_or(&[][..], |layout| &layout.fields);
    let mut low = width;
    for (_, field) in fields {
        low -= field;
        cuts = cuts.or(&Bits::new(width, 1).shl(low));
    }
    cuts
}

/// Adds the parameters of both counter templates: the `counter` kind counts bytes in counter 0 and
/// packets in counter 1.
pub(super) fn counter_parameters(instance: Instance, service: &Service) -> Instance {
    let arguments = &service.port.methods[0].arguments;
    instance
        .parameter("Size", int(service.elements()))
        .parameter("Arguments", int(1))
        .parameter("ArgumentBits", int(arguments[1] as usize))
        .parameter("IndexBits", int(arguments[0] as usize))
}

/// Returns the channel of a service whose entries take `bursts` bursts of 72 bits each, in a part
/// of 36-bit words.
///
/// # Errors
/// If the memory is too slow or too small. The error is a sentence without a full stop.
pub(super) fn burst_channel(
    service: &Service,
    bursts: usize,
    machine: &NpSpec,
) -> Result<Vec<Channel>, String> {
    let slots = machine.clock.memory_ratio;
    let requests = service.rule.requests;
    if bursts * requests > slots {
        let several =
            if requests > 1 { format!("{requests} requests a cycle, and ") } else { String::new() };
        let s = if bursts == 1 { "" } else { "s" };
        return Err(format!(
            "{several}an entry takes {bursts} burst{s} of 72 bits, but the memory does {slots} in a core cycle"
        ));
    }
    let needs = service.elements() * bursts.next_power_of_two();
    channel_of_bursts(service, (bursts, needs), machine)
}

/// Returns the channel of a service that uses some slots of a part of 36-bit words, and needs some
/// bursts of 72 bits.
///
/// # Errors
/// If the memory is too small. The error is a sentence without a full stop.
pub(super) fn channel_of_bursts(
    service: &Service,
    (used, needs): (usize, usize),
    machine: &NpSpec,
) -> Result<Vec<Channel>, String> {
    // A part of 36-bit words has half as many bursts as words.
    let has = machine.memory.mega_words << 18;
    if needs > has {
        let parts = machine.memory.mega_words * needs.div_ceil(has);
        return Err(format!(
            "it needs {needs} bursts of 72 bits, but a part holds {has}: set `memory.mega_words` to {parts} or more"
        ));
    }
    Ok(vec![Channel {
        name: service.name.clone(),
        service: service.name.clone(),
        slots: machine.clock.memory_ratio,
        used,
        word_bits: 36,
        words: 2 * has,
    }])
}

/// Returns a service that uses slots of a memory channel, the channel, and the nets between them.
/// Each instance has its own slots, the first instance the lowest. Only the first instance is on
/// the control bus.
pub(super) fn off_chip(plan: &Plan, service: &Service, mut instances: Vec<Instance>) -> Vec<Item> {
    let s = &service.name;
    let channel = plan
        .channels
        .iter()
        .find(|c| &c.service == s)
        .expect("each service off the chip has a channel");
    let (used, slots) = (channel.used, channel.slots);
    let (ways, all) = (instances.len(), channel.used * instances.len());
    let net = |what: &str| format!("{}_{what}", channel.name);
    let user = |way: usize, what: &str| match ways {
        1 => format!("{}_user_{what}", channel.name),
        _ => format!("{}_user{way}_{what}", channel.name),
    };
    for (way, instance) in instances.iter_mut().enumerate() {
        let bare = instance.clone();
        let bare = match way {
            0 => controlled(bare, plan, s),
            _ => off_bus(bare.parameter("CtlBits", int(plan.control_bits))),
        };
        *instance = bare
            .parameter("DataBits", int(channel.data_bits()))
            .parameter("AddressBits", int(channel.address_bits()))
            .parameter("ReadLatency", read_latency(plan));
    }
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
        for way in 0..ways {
            items.push(vector(user(way, what), used * width));
        }
        let port = format!("{what}_{}", if is_output { "o" } else { "i" });
        for (way, instance) in instances.iter_mut().enumerate() {
            *instance = instance.clone().port(port.clone(), name(user(way, what)));
        }
        if is_output {
            let mut parts: Vec<Expr> = (0..ways).rev().map(|way| name(user(way, what))).collect();
            if all < slots {
                parts.insert(0, Expr::number(((slots - all) * width) as u32, 0));
            }
            let value = if parts.len() == 1 { parts.remove(0) } else { Expr::Concat(parts) };
            items.push(Item::assign(net(what), value));
            continue;
        }
        for way in 0..ways {
            let value = match used == slots {
                true => name(net(what)),
                false => name(net(what)).part(int(way * used * width), int(used * width)),
            };
            items.push(Item::assign(user(way, what), value));
        }
        if all < slots {
            items.push(unread(&net(what), all * width, (slots - all) * width));
        }
    }
    items.push(Item::net(net("hold"), Type::Bit));
    let held = |instance: Instance| Item::Instance(instance.port("hold_i", name(net("hold"))));
    items.extend(instances.into_iter().map(held));
    items.extend(own_channel(plan, channel));
    items
}

/// Leaves a slave off the control bus.
fn off_bus(instance: Instance) -> Instance {
    instance
        .port("ctl_valid_i", Expr::number(1, 0))
        .port("ctl_write_i", Expr::number(1, 0))
        .port("ctl_target_i", Expr::Zeros)
        .port("ctl_address_i", Expr::Zeros)
        .port("ctl_data_i", Expr::Zeros)
        .open("ctl_done_o")
        .open("ctl_data_o")
}

/// Marks as unused the bits of a channel's slots that its service does not use.
pub(super) fn unread(data: &str, low: usize, width: usize) -> Item {
    let rest = name(data).part(int(low), int(width)).unary(Unary::AnyOf);
    Item::value(format!("unused_{data}"), Type::Bit, rest)
}

/// Returns the latency of memory channels in core cycles, as the templates compute it.
pub(super) fn read_latency(plan: &Plan) -> Expr {
    let memory = &plan.machine.memory;
    Expr::call(
        "wl_pkg::adapter_latency",
        vec![int(plan.machine.clock.memory_ratio), int(memory.latency)],
    )
}

/// Returns the memory channel of a service that reads and writes its own entries for the control
/// plane.
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
    vec![
        Item::Instance(off_bus(instance)),
        Item::assign(format!("{}_reads_o", channel.name), net("read_valid")),
    ]
}
