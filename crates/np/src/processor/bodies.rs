//! The body buffer of a pipe, and the services that access bodies in it.

use super::plan::{Plan, Service};
use super::wires::vector;
use wireloom_codegen_hardware::sv::short::{clocked, int, name};
use wireloom_codegen_hardware::sv::{Expr, Instance, Item, Type};

/// Connects the body buffer to the services that access bodies, if there are any.
pub(super) fn access(plan: &Plan, buffer: Instance) -> Instance {
    if plan.place_bits == 0 {
        return buffer
            .open("place_o")
            .port("access_read_i", Expr::number(1, 0))
            .port("access_address_i", Expr::Zeros)
            .open("access_data_o")
            .port("access_write_i", Expr::number(1, 0))
            .port("access_write_address_i", Expr::Zeros)
            .port("access_write_data_i", Expr::Zeros);
    }
    let writes = |net: &str| if plan.writes_bodies() { name(net) } else { Expr::Zeros };
    buffer
        .parameter("HasAccess", Expr::number(1, 1))
        .parameter("Spare", int(plan.appended.div_ceil(plan.data_bytes)))
        .parameter("Ahead", int(plan.beats_ahead()))
        .port("place_o", name("body_place"))
        .port("access_read_i", name("access_read"))
        .port("access_address_i", name("access_address"))
        .port("access_data_o", name("access_data"))
        .port("access_write_i", writes("access_write"))
        .port("access_write_address_i", writes("access_write_address"))
        .port("access_write_data_i", writes("access_write_data"))
}

/// Returns the module that lets several services access the body buffer in turn.
pub(super) fn turns(plan: &Plan) -> Vec<Item> {
    let beat = 8 * plan.data_bytes;
    let services: Vec<&Service> = plan.body_services().collect();
    // Concatenates one signal of all services, with the first service in the lowest bits.
    let all = |what: &str| {
        Expr::Concat(services.iter().rev().map(|s| name(format!("{}_{what}", s.name))).collect())
    };
    let written = |what: &str, width: usize| {
        let of = |s: &&Service| match s.writes_bodies() {
            true => name(format!("{}_access_{what}", s.name)),
            false => Expr::number(1, 0).replicate(int(width)),
        };
        Expr::Concat(services.iter().rev().map(of).collect())
    };
    let mut turns = clocked("wl_body_turns", "i_body_turns")
        .parameter("Services", int(services.len()))
        .parameter("DataBytes", int(plan.data_bytes))
        .parameter("AddressBits", int(plan.place_bits))
        .port("request_valid_i", all("in_valid"))
        .port("request_ready_o", all("in_ready"))
        .port("service_valid_o", all("turn_valid"))
        .port("service_ready_i", all("turn_ready"))
        .port("reply_valid_i", all("out_valid"))
        .port("read_i", all("access_read"))
        .port("address_i", all("access_address"))
        .port("write_i", written("write", 1))
        .port("write_address_i", written("write_address", plan.place_bits))
        .port("write_data_i", written("write_data", beat))
        .port("access_read_o", name("access_read"))
        .port("access_address_o", name("access_address"));
    for what in ["write", "write_address", "write_data"] {
        let port = format!("access_{what}_o");
        turns = if plan.writes_bodies() {
            turns.port(port, name(format!("access_{what}")))
        } else {
            turns.open(port)
        };
    }
    let mut items = Vec::new();
    for service in &services {
        let net = |what: &str| format!("{}_{what}", service.name);
        let bits = ["turn_valid", "turn_ready", "access_read"];
        items.extend(bits.map(|what| Item::net(net(what), Type::Bit)));
        items.push(vector(net("access_address"), plan.place_bits));
        if service.writes_bodies() {
            items.push(Item::net(net("access_write"), Type::Bit));
            items.push(vector(net("access_write_address"), plan.place_bits));
            items.push(vector(net("access_write_data"), beat));
        }
    }
    items.push(Item::Instance(turns));
    items
}
