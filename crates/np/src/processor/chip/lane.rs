//! The paths into and out of the processors of a lane.

use super::{BURST, INSIDE, MOST_BEATS, Member, QUEUE_BEATS, Resident};
use crate::processor::top::EVENT;
use crate::processor::wires::{array, bit, bit_in, bit_out, elements, input, output, vector};
use wireloom_codegen_hardware::sv::short::{clocked, int, name};
use wireloom_codegen_hardware::sv::{Expr, Field, Item, Module, Port, Type};

/// Bits of the `tuser` input of a lane: the ingress port.
pub(super) const USER: usize = 16;
/// The type of the sideband bits of a packet that leaves.
const SENT: &str = "wl_pkg::sent_t";
/// Bytes in a beat.
pub(super) const BYTES: usize = 64;
/// Bits of a router's number, and of a port number within a router.
const PORT: usize = 8;
/// Bits of a beat in a router's queue.
const QUEUED: usize = PORT + 9 * BYTES;

/// Returns the routers of a lane, grouped by processor.
pub(super) fn routers(members: &[Member]) -> impl Iterator<Item = &Resident> {
    members.iter().flat_map(|member| &member.routers)
}

/// Concatenates numbers of this width, with the first in the lowest bits.
fn list(width: u32, numbers: impl Iterator<Item = u64>) -> Expr {
    let mut parts: Vec<Expr> = numbers.map(|number| Expr::number(width, number)).collect();
    parts.reverse();
    Expr::Concat(parts)
}

/// Returns the assignment of routers to processors, as parameters of ingress and egress.
fn who(members: &[Member]) -> [(&'static str, Expr); 4] {
    [
        ("Routers", int(routers(members).count())),
        ("Processors", int(members.len())),
        ("Counts", list(9, members.iter().map(|member| member.routers.len() as u64))),
        ("Tags", list(8, routers(members).map(|router| u64::from(router.number)))),
    ]
}

/// Returns the clock and reset ports.
fn clocks() -> Vec<Port> {
    vec![bit_in("clk_i", "Clock."), bit_in("rst_i", "Reset, active high.")]
}

/// Returns the type of a beat in a router's queue.
fn queued() -> Item {
    let field = |name, width, doc| Field::new(name, Type::vector(int(width)), doc);
    Item::structure(
        "queued_t",
        vec![
            field("port", PORT, "The port within the router."),
            field("keep", BYTES, ""),
            field("data", 8 * BYTES, ""),
        ],
    )
}

/// Returns the name of the ingress module of a lane.
pub(super) fn ingress_module(lane: usize) -> String {
    format!("virtual_ingress{lane}")
}

/// Returns the name of the egress module of a lane.
pub(super) fn egress_module(lane: usize) -> String {
    format!("virtual_egress{lane}")
}

/// Returns the module from a lane to its processors.
pub(super) fn ingress(lane: usize, members: &[Member]) -> Module {
    let count = members.len();
    let mut module = Module::new(
        ingress_module(lane),
        &format!(
            "Ingress of lane {lane}: {} virtual routers, {count} processors.",
            routers(members).count()
        ),
    );
    module.ports = clocks();
    module.ports.extend([
        bit_in("tvalid_i", "The lane; a beat is taken every cycle."),
        input("tdata_i", 8 * BYTES, ""),
        input("tkeep_i", BYTES, ""),
        bit_in("tlast_i", ""),
        input("tuser_i", USER, "Ingress port: the router's number, its own port."),
        output("valid_o", count, "To the processors."),
        input("ready_i", count, ""),
        output("last_o", count, ""),
        Port::output("data_o", elements(count, 8 * BYTES), ""),
        Port::output("keep_o", elements(count, BYTES), ""),
        Port::output(
            "user_o",
            elements(count, USER),
            "Ingress port: the router's place in its processor, its own port.",
        ),
        Port::output("place_o", elements(count, PORT), "Whose the next packet is that leaves."),
        input("ends_i", count, "It has left."),
        output("lost_o", routers(members).count(), "A packet of this router is lost that begins."),
        bit_out("unknown_o", "One that begins is of no router."),
        bit_out("cut_o", "One is too long, and its rest is cut off."),
    ]);
    let mut ingress = clocked("wl_virtual_ingress", "i_ingress");
    for (parameter, value) in who(members) {
        ingress = ingress.parameter(parameter, value);
    }
    let ingress = ingress
        .parameter("Width", int(QUEUED))
        .parameter("Beats", int(QUEUE_BEATS))
        .parameter("MaxBeats", int(MOST_BEATS))
        .parameter("Burst", int(BURST))
        .parameter("Shares", list(17, routers(members).map(Resident::beats)))
        .port("valid_i", name("tvalid_i"))
        .port("tag_i", name("tuser_i").bits(PORT as u32, PORT as u32))
        .port("last_i", name("tlast_i"))
        .port(
            "data_i",
            Expr::Concat(vec![
                name("tuser_i").bits(0, PORT as u32),
                name("tkeep_i"),
                name("tdata_i"),
            ]),
        )
        .port("out_valid_o", name("open_valid"))
        .port("out_ready_i", name("open_ready"))
        .port("out_place_o", name("open_place"))
        .port("out_last_o", name("last_o"))
        .port("out_data_o", name("open_data"))
        .port("lost_o", name("lost_o"))
        .port("unknown_o", name("unknown_o"))
        .port("cut_o", name("cut_o"));
    module.items = vec![
        queued(),
        vector("open_valid", count),
        vector("open_ready", count),
        Item::net("open_place", elements(count, PORT)),
        array("open_data", "queued_t", count),
        Item::Instance(ingress),
    ];
    for (place, member) in members.iter().enumerate() {
        let at = || int(place);
        let owner = clocked("wl_virtual_owner", format!("i_owner{place}"))
            .parameter("Routers", int(member.routers.len()))
            .parameter("Packets", int(INSIDE))
            .port("in_valid_i", bit("open_valid", at()))
            .port("in_ready_o", bit("open_ready", at()))
            .port("in_last_i", bit("last_o", at()))
            .port("in_place_i", bit("open_place", at()))
            .port("out_valid_o", bit("valid_o", at()))
            .port("out_ready_i", bit("ready_i", at()))
            .port("place_o", bit("place_o", at()))
            .port("ends_i", bit("ends_i", at()));
        module.items.push(Item::Instance(owner));
    }
    let i = || name("i");
    let open = |field: &str| bit("open_data", i()).field(field);
    let assign = |target, value| Item::Assign { target, value, comment: None };
    module.items.push(Item::For {
        label: "gen_beat".into(),
        variable: "i".into(),
        count: int(count),
        items: vec![
            assign(bit("data_o", i()), open("data")),
            assign(bit("keep_o", i()), open("keep")),
            assign(bit("user_o", i()), Expr::Concat(vec![bit("open_place", i()), open("port")])),
        ],
    });
    module
}

/// Returns the module from the processors of a lane to the lane.
pub(super) fn egress(lane: usize, members: &[Member]) -> Module {
    let count = members.len();
    let doc = format!("Egress of lane {lane}: {count} processors.");
    let mut module = Module::new(egress_module(lane), &doc);
    module.ports = clocks();
    module.ports.extend([
        input("valid_i", count, "From the processors."),
        output("ready_o", count, ""),
        input("last_i", count, ""),
        Port::input("data_i", elements(count, 8 * BYTES), ""),
        Port::input("keep_i", elements(count, BYTES), ""),
        Port::input("user_i", sent(count), ""),
        input("event_i", count, ""),
        Port::input("event_data_i", elements(count, EVENT), ""),
        Port::input("place_i", elements(count, PORT), "Whose the next packet is that leaves."),
        output("ends_o", count, "It has left."),
        bit_out("tvalid_o", "The lane."),
        bit_in("tready_i", ""),
        output("tdata_o", 8 * BYTES, ""),
        output("tkeep_o", BYTES, ""),
        bit_out("tlast_o", ""),
        Port::output(
            "tuser_o",
            Type::Named(SENT.into()),
            "The egress port has the router's number in its upper byte.",
        ),
        output("event_valid_o", count, "Packets that end without being sent, by processor."),
        Port::output("event_o", sent(count), "The same of them."),
    ]);
    let mut egress = clocked("wl_virtual_egress", "i_egress");
    for (parameter, value) in who(members) {
        egress = egress.parameter(parameter, value);
    }
    egress = egress.parameter("DataBytes", int(BYTES));
    for (port, outside) in [
        ("in_valid_i", "valid_i"),
        ("in_ready_o", "ready_o"),
        ("in_last_i", "last_i"),
        ("in_data_i", "data_i"),
        ("in_keep_i", "keep_i"),
        ("in_user_i", "user_i"),
        ("in_event_i", "event_i"),
        ("in_event_data_i", "event_data_i"),
        ("place_i", "place_i"),
        ("ends_o", "ends_o"),
        ("m_tvalid_o", "tvalid_o"),
        ("m_tready_i", "tready_i"),
        ("m_tdata_o", "tdata_o"),
        ("m_tkeep_o", "tkeep_o"),
        ("m_tlast_o", "tlast_o"),
        ("m_tuser_o", "tuser_o"),
        ("event_valid_o", "event_valid_o"),
        ("event_o", "event_o"),
    ] {
        egress = egress.port(port, name(outside));
    }
    module.items = vec![Item::Instance(egress)];
    module
}

/// Returns the type of the sideband bits of `count` processors.
pub(super) fn sent(count: usize) -> Type {
    Type::array(SENT, int(count))
}

/// Declares a net between the parts of a lane.
pub(super) fn net(lane: usize, what: &str, ty: Type) -> Item {
    Item::net(format!("lane{lane}_{what}"), ty)
}
