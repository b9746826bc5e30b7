//! Services that need no memory outside the chip: tables, counters, hash tables, meters, random numbers.

use super::plan::{Plan, Service};
use super::services::{METER_RATE_BITS, answer_nets, controlled, first_target};
use super::wires::{bit, bits, element};
use crate::core::offload::{Body, PLACE_BITS};
use crate::machine::{Place, Realisation};
use crate::sv::short::{clocked, int, name};
use crate::sv::{Expr, Instance, Item};

/// A service on the chip, behind the tree of its place.
pub(super) fn on_chip(plan: &Plan, service: &Service, tag_bits: usize, target: Expr) -> Vec<Item> {
    let s = &service.name;
    let ends = Ends::behind_tree(service);
    let instance = match service.rule.realisation {
        Realisation::Counters => {
            let counters = counter_parameters(clocked("wl_counter_table", format!("u_{s}")), service)
                .parameter("CtlTarget", target)
                .parameter("Image", plan.image(&service.offload));
            counters
                .port("request_valid_i", ends.request_valid)
                .port("request_ready_o", ends.request_ready)
                .port("request_data_i", ends.request_data)
        }
        Realisation::HashTable => {
            ends.whole(hash_table(service).parameter("TagBits", int(tag_bits)).parameter("CtlTarget", target))
        }
        Realisation::Meter => {
            ends.whole(meter(service).parameter("TagBits", int(tag_bits)).parameter("CtlTarget", target))
        }
        Realisation::Random => {
            let random = clocked("wl_random", format!("u_{s}"))
                .parameter("Seed", Expr::Number(service.config.param("seed").resize(64)))
                .parameter("TagBits", int(tag_bits));
            // It has nothing that the control plane could look at.
            return vec![Item::Instance(ends.whole(random))];
        }
        Realisation::Body | Realisation::Automaton => {
            let (ends, access) = if plan.shares_bodies() {
                let in_turn = |what: &str| name(format!("{s}_turn_{what}"));
                let ends = Ends { request_valid: in_turn("valid"), request_ready: in_turn("ready"), ..ends };
                (ends, format!("{s}_access"))
            } else {
                (ends, "access".to_owned())
            };
            let instance = ends.whole(body(plan, service, tag_bits, &access));
            if service.rule.realisation == Realisation::Body {
                return vec![Item::Instance(instance)];
            }
            instance.parameter("CtlTarget", target)
        }
        _ => table(plan, service, &format!("u_{s}"), tag_bits, target, &ends),
    };
    let mut items = answer_nets(plan, s);
    if service.reply_bits > 0 && service.port.methods.iter().all(|method| method.reply == 0) {
        items.push(Item::assign(format!("{s}_out_data"), Expr::Zeros));
    }
    items.push(Item::Instance(controlled(instance, plan, s)));
    items
}

/// The numbers of the methods that are called, in the kind, so many bits each.
fn methods(service: &Service, bits: u32) -> Expr {
    let number = |method: &crate::core::PortMethod| Expr::number(bits, method.method as u64);
    Expr::Concat(service.port.methods.iter().rev().map(number).collect())
}

/// A table of keys and values.
fn hash_table(service: &Service) -> Instance {
    clocked("wl_exact_table", format!("u_{}", service.name))
        .parameter("KeyBits", int(service.key_bits()))
        .parameter("ValueBits", int(service.value_bits()))
        .parameter("Size", int(service.elements()))
        .parameter("MethodCount", int(service.port.methods.len()))
        .parameter("Methods", methods(service, 3))
        .parameter("ArgumentBits", Expr::int(u64::from(service.port.argument_bits)))
        .parameter("ReplyBits", int(service.reply_bits))
        .parameter("HasTime", Expr::number(1, u64::from(service.port.arrival)))
        .parameter("Age", Expr::Number(service.config.param("age").resize(64)))
        .parameter("Cuts", Expr::Number(cuts(service)))
        .parameter("Chains", int(service.elements().next_power_of_two().max(2)))
}

/// What reaches bodies, beside the pipe's body buffer, by nets whose names begin so.
fn body(plan: &Plan, service: &Service, tag_bits: usize, access: &str) -> Instance {
    let s = &service.name;
    let net = |what: &str| name(format!("{access}_{what}"));
    let reads = |instance: Instance| {
        instance
            .parameter("AddressBits", Expr::int(u64::from(PLACE_BITS)))
            .parameter("TagBits", int(tag_bits))
            .port("access_read_o", net("read"))
            .port("access_address_o", net("address"))
            .port("access_data_i", name("access_data"))
    };
    match service.port.body {
        Some(Body::Chunks { bytes, reads: has_read, writes }) => {
            let chunks = reads(clocked("wl_payload", format!("u_{s}")))
                .parameter("ChunkBytes", int(bytes as usize))
                .parameter("HasRead", Expr::number(1, u64::from(has_read)))
                .parameter("HasWrite", Expr::number(1, u64::from(writes)));
            if !writes {
                return chunks
                    .open("access_write_o")
                    .open("access_write_address_o")
                    .open("access_write_data_o");
            }
            chunks
                .port("access_write_o", net("write"))
                .port("access_write_address_o", net("write_address"))
                .port("access_write_data_o", net("write_data"))
        }
        Some(Body::Search) => reads(clocked("wl_body_match", format!("u_{s}")))
            .parameter("DataBytes", int(plan.data_bytes))
            .parameter("Ahead", int(plan.beats_ahead()))
            .parameter("ValueBits", int(service.value_bits()))
            .parameter("States", int(service.rule.states))
            .parameter("Classes", int(service.rule.classes))
            .parameter("Image", plan.image(&service.offload)),
        _ => reads(clocked("wl_body_sum", format!("u_{s}"))),
    }
}

/// Meters.
fn meter(service: &Service) -> Instance {
    let rates = ["cir", "cbs", "ebs", "pir", "pbs"];
    let declared = rates.map(|name| Expr::Number(service.config.param(name).resize(METER_RATE_BITS as u32)));
    clocked("wl_meter", format!("u_{}", service.name))
        .parameter("Size", int(service.elements()))
        .parameter("TwoRates", Expr::number(1, u64::from(service.config.param("rates").low_u64() == 2)))
        .parameter("Declared", Expr::Concat(declared.to_vec()))
        .parameter("MethodCount", int(service.port.methods.len()))
        .parameter("Methods", methods(service, 1))
}

/// A service in each engine of a cluster, inside the loop over engines.
pub(super) fn in_engine(plan: &Plan, service: &Service) -> Vec<Item> {
    let s = &service.name;
    let i = || name("i");
    let thread_bits = bits(plan.machine.threads) as usize;
    let here = |what: &str| name(format!("{s}_{what}"));
    let ends = Ends {
        request_valid: here("ask_valid"),
        request_ready: here("ask_ready"),
        request_tag: here("ask_thread"),
        request_data: here("ask_data"),
        reply_valid: here("told_valid"),
        reply_tag: here("told_thread"),
        reply_data: here("told_data"),
    };
    let target = int(first_target(plan, service, Place::Cluster)).add(i()).cast(int(8));
    let mut items = answer_nets(plan, s);
    let table = table(plan, service, &format!("u_{s}"), thread_bits, target, &ends);
    items.push(Item::Instance(controlled(table, plan, s)));
    items.push(Item::Assign {
        target: bit(format!("{s}_dones"), i()),
        value: name(format!("{s}_done")),
        comment: None,
    });
    items.push(Item::Assign {
        target: element(format!("{s}_answers"), i(), plan.control_bits),
        value: name(format!("{s}_answer")),
        comment: None,
    });
    items
}

/// The numbers of `array`'s methods in `wl_pkg`.
fn table_method(method: &str) -> u64 {
    match method {
        "read" => 0,
        "write" => 1,
        "add" => 2,
        "fetch_add" => 3,
        "exchange" => 4,
        _ => 5,
    }
}

/// Where the fields of an element begin: a one at each lowest bit.
fn cuts(service: &Service) -> wireloom_bits::Bits {
    let width = service.value_bits() as u32;
    let mut cuts = wireloom_bits::Bits::zero(width);
    let fields = service.config.value.as_ref().map_or(&[][..], |layout| &layout.fields);
    let mut low = width;
    for (_, field) in fields {
        low -= field;
        cuts = cuts.or(&wireloom_bits::Bits::new(width, 1).shl(low));
    }
    cuts
}

/// A table in block RAM, between nets or ports of its requests and replies.
fn table(
    plan: &Plan,
    service: &Service,
    instance: &str,
    tag_bits: usize,
    target: Expr,
    ends: &Ends,
) -> Instance {
    let methods = &service.port.methods;
    let method = |m: &crate::core::PortMethod| Expr::number(3, table_method(&m.name));
    let table = clocked("wl_table", instance)
        .parameter("Width", int(service.value_bits()))
        .parameter("Size", int(service.elements()))
        .parameter("MethodCount", int(methods.len()))
        .parameter("Methods", Expr::Concat(methods.iter().rev().map(method).collect()))
        .parameter("Cuts", Expr::Number(cuts(service)))
        .parameter(
            "IndexBits",
            int(methods.first().and_then(|m| m.arguments.first()).map_or(32, |bits| *bits as usize)),
        )
        .parameter("TagBits", int(tag_bits))
        .parameter("CtlTarget", target)
        .parameter("Image", plan.image(&service.offload));
    let table = table
        .port("request_valid_i", ends.request_valid.clone())
        .port("request_ready_o", ends.request_ready.clone())
        .port("request_tag_i", ends.request_tag.clone())
        .port("request_data_i", ends.request_data.clone());
    let answers = methods.iter().any(|method| method.reply > 0);
    if service.reply_bits > 0 {
        let table =
            table.port("reply_valid_o", ends.reply_valid.clone()).port("reply_tag_o", ends.reply_tag.clone());
        // If no method answers, packets wait only until it is their turn.
        if answers { table.port("reply_data_o", ends.reply_data.clone()) } else { table.open("reply_data_o") }
    } else {
        table.open("reply_valid_o").open("reply_tag_o").open("reply_data_o")
    }
}

/// What both kinds of counters are told: the `counter` kind counts bytes in counter 0 and packets in counter 1.
pub(super) fn counter_parameters(instance: Instance, service: &Service) -> Instance {
    let arguments = &service.port.methods[0].arguments;
    instance
        .parameter("Size", int(service.elements()))
        .parameter("Arguments", int(1))
        .parameter("ArgumentBits", int(arguments[1] as usize))
        .parameter("IndexBits", int(arguments[0] as usize))
}

/// What the requests and replies of a service are called where it stands.
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
    /// The nets behind a tree.
    pub(super) fn behind_tree(service: &Service) -> Self {
        let here = |what: &str| Expr::name(format!("{}_{what}", service.name));
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

    /// Connects a service that answers every request.
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
