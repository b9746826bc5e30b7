//! A pipe: all modules that one lane of packets passes through.

use super::bodies;
use super::cluster::RESULT;
use super::plan::{Plan, Service};
use super::probes;
use super::request_paths::Way;
use super::services::{self, cluster_control_ports, control_ports};
use super::wires::{array, bit, bit_in, bit_out, bits, element, input, output, typed, vector};
use crate::description::{Place, Policy};
use wireloom_codegen_hardware::core::port::{PLACE_BITS, TICKET_BITS};
use wireloom_codegen_hardware::sv::short::{clocked, int, name};
use wireloom_codegen_hardware::sv::{Binary, Expr, Instance, Item, Module, Port, Type};

/// The type of the sideband bits of a packet that leaves.
pub(super) const SENT: &str = "wl_pkg::sent_t";
/// Bits of `wl_pkg::sent_t`.
pub(super) const SENT_BITS: usize = 43;
/// Beats that the body buffer of a pipe holds: 128 KiB.
pub(super) const BODY_BEATS: usize = 1 << PLACE_BITS;

/// Returns the module of the pipe.
pub fn module(plan: &Plan) -> Module {
    let machine = &plan.machine;
    let clusters = machine.clusters_a_pipe();
    let beat = 8 * plan.data_bytes;
    let doc = format!(
        "Pipe: one lane of packets through {clusters} clusters, with lookups and tables of its own.\n\
         Made from the engine `{}` and the machine `{}`.",
        plan.engine, machine.name
    );
    let mut module = Module::new(plan.pipe_module(), &doc);
    module.ports = vec![bit_in("clk_i", "Clock."), bit_in("rst_i", "Reset, active high.")];
    if !plan.channels.is_empty() {
        module.ports.push(bit_in("clk_mem_i", "Clock of the memories, in phase with the other."));
    }
    module.ports.extend([
        bit_in("valid_i", "Packets: beats, byte 0 in the lowest bits."),
        bit_out("ready_o", ""),
        input("data_i", beat, ""),
        input("keep_i", plan.data_bytes, ""),
        bit_in("last_i", ""),
        input(
            "user_i",
            plan.user_bits,
            "Ingress port, and the arrival time if the program asks for it.",
        ),
        input(
            "sequence_i",
            plan.sequence_bits.max(1),
            "Number of the packet, if the program asks for it.",
        ),
        bit_out("valid_o", "Packets, and events: packets that end without being sent."),
        bit_in("ready_i", ""),
        bit_out("event_o", "It is an event."),
        bit_out("more_o", "The packet will send again."),
        output("data_o", beat, ""),
        output("keep_o", plan.data_bytes, ""),
        bit_out("last_o", ""),
        Port::output("user_o", Type::Named(SENT.into()), "What becomes of the packet."),
    ]);
    module.ports.extend(control_ports(plan));
    module.ports.push(input(
        "control_base_i",
        8,
        "Number of the first control target in this pipe.",
    ));
    for channel in &plan.channels {
        module.ports.extend(services::memory_ports(channel, 1));
    }
    module.ports.extend(
        probes::of_whole_pipe(plan).iter().map(|port| output(&port.name, port.width, port.doc)),
    );
    module.items = entrance(plan);
    module.items.push(clusters_of(plan));
    module.items.extend(exit(plan));
    for service in plan.services.iter().filter(|s| s.leaves_cluster()) {
        module.items.extend(service_of(plan, service));
    }
    module.items.extend(services::gather_control(plan, Place::Pipe));
    module
}

/// Splits packets into headers, each for a cluster, and bodies, which go to the body buffer.
fn entrance(plan: &Plan) -> Vec<Item> {
    let clusters = plan.machine.clusters_a_pipe();
    let beat = 8 * plan.data_bytes;
    let free_bits = plan.free_bits();
    let preprocessor = clocked("wl_preprocessor", "i_preprocessor")
        .parameter("DataBytes", int(plan.data_bytes))
        .parameter("UserBits", int(plan.user_bits))
        .parameter("SequenceBits", int(plan.sequence_bits))
        .parameter("PlaceBits", int(plan.place_bits))
        .parameter("KeepHeader", Expr::number(1, u64::from(plan.beats_ahead() > 0)))
        .port("valid_i", name("valid_i"))
        .port("ready_o", name("ready_o"))
        .port("data_i", name("data_i"))
        .port("keep_i", name("keep_i"))
        .port("last_i", name("last_i"))
        .port("user_i", name("user_i"))
        .port("sequence_i", name("sequence_i"))
        .port("header_valid_o", name("header_valid"))
        .port("header_ready_i", name("header_ready"))
        .port("header_data_o", name("header_data"))
        .port("header_first_o", name("header_first"))
        .port("header_last_o", name("header_last"))
        .port("header_info_o", name("header_info"))
        .port("body_ready_i", name("body_ready"))
        .port(
            "body_place_i",
            if plan.place_bits > 0 { name("body_place") } else { Expr::number(1, 0) },
        )
        .port("body_write_o", name("body_write"))
        .port("body_data_o", name("body_data"))
        .port("body_close_o", name("body_close"))
        .open("packet_o")
        .open("bytes_o")
        .port("malformed_o", bit("malformed_o", int(0)))
        .port("oversize_o", bit("oversize_o", int(0)));
    let distributor = clocked("wl_distributor", "i_distributor")
        .parameter("Clusters", int(clusters))
        .parameter("DataBytes", int(plan.data_bytes))
        .parameter("InfoBits", int(plan.info_bits))
        .parameter("FreeBits", int(free_bits))
        .parameter("Policy", int(plan.machine.balance.clusters.number() as usize))
        .port("header_valid_i", name("header_valid"))
        .port("header_ready_o", name("header_ready"))
        .port("header_data_i", name("header_data"))
        .port("header_first_i", name("header_first"))
        .port("header_last_i", name("header_last"))
        .port("header_info_i", name("header_info"))
        .port("cluster_valid_o", name("cluster_valid"))
        .port("cluster_ready_i", name("cluster_ready"))
        .port("cluster_data_o", name("cluster_data"))
        .port("cluster_first_o", name("cluster_first"))
        .port("cluster_last_o", name("cluster_last"))
        .port("cluster_info_o", name("cluster_info"))
        .port("free_i", name("cluster_free"))
        .port("order_valid_o", name("order_valid"))
        .port("order_ready_i", name("order_ready"))
        .port("order_cluster_o", name("order_cluster"));
    let single = |name: &str| Item::net(name, Type::Bit);
    vec![
        Item::comment("Headers go to the clusters; bodies wait for them."),
        single("header_valid"),
        single("header_ready"),
        vector("header_data", beat),
        single("header_first"),
        single("header_last"),
        vector("header_info", plan.info_bits),
        single("body_ready"),
        single("body_write"),
        vector("body_data", beat),
        single("body_close"),
        Item::Instance(preprocessor),
        vector("cluster_valid", clusters),
        vector("cluster_ready", clusters),
        vector("cluster_data", beat),
        single("cluster_first"),
        single("cluster_last"),
        vector("cluster_info", plan.info_bits),
        vector("cluster_free", clusters * free_bits),
        single("order_valid"),
        single("order_ready"),
        vector("order_cluster", bits(clusters) as usize),
        Item::Instance(distributor),
        Item::Blank,
    ]
}

fn clusters_of(plan: &Plan) -> Item {
    let i = || name("i");
    let machine = &plan.machine;
    let beat = 8 * plan.data_bytes;
    let free_bits = plan.free_bits();
    let mut cluster = clocked(plan.cluster_module(), "i_cluster")
        .port("header_valid_i", bit("cluster_valid", i()))
        .port("header_ready_o", bit("cluster_ready", i()))
        .port("header_data_i", name("cluster_data"))
        .port("header_first_i", name("cluster_first"))
        .port("header_last_i", name("cluster_last"))
        .port("header_info_i", name("cluster_info"))
        .port("free_o", element("cluster_free", i(), free_bits))
        .port("beat_valid_o", bit("beat_valid", i()))
        .port("beat_ready_i", bit("beat_ready", i()))
        .port("beat_data_o", element("beat_data", i(), beat))
        .port("beat_last_o", bit("beat_last", i()))
        .port("beat_result_o", bit("beat_result", i()));
    if plan.holds_copies {
        cluster = cluster.port("copy_left_i", name("body_rewind"));
    }
    for port in probes::of_cluster(plan) {
        cluster = cluster.port(port.name.clone(), element(port.name, i(), port.width));
    }
    // Targets count from the base of this pipe: first the pipe's own targets, then the targets of
    // each cluster.
    let base = int(plan.pipe_targets()).add(i().mul(int(plan.cluster_targets())));
    for port in cluster_control_ports(plan) {
        let value = match port.name.as_str() {
            "ctl_valid_i" => name("here_valid"),
            "ctl_target_i" => name("here_target"),
            "ctl_finished_i" => name("ctl_done_o"),
            "ctl_done_o" => bit("cluster_done", i()),
            "ctl_data_o" => element("cluster_answer", i(), plan.control_bits),
            "control_base_i" => base.clone().cast(int(8)),
            same => name(same),
        };
        cluster = cluster.port(port.name.clone(), value);
    }
    for service in plan.services.iter().filter(|s| s.leaves_cluster()) {
        let s = &service.name;
        let tag_bits = plan.cluster_tag_bits();
        cluster = cluster
            .port(format!("{s}_request_valid_o"), bit(format!("{s}_ask_valid"), i()))
            .port(format!("{s}_request_ready_i"), bit(format!("{s}_ask_ready"), i()))
            .port(format!("{s}_request_tag_o"), element(format!("{s}_ask_tag"), i(), tag_bits))
            .port(
                format!("{s}_request_data_o"),
                element(format!("{s}_ask_data"), i(), service.request_bits),
            );
        if service.reply_bits > 0 {
            // All clusters of a way see the same replies.
            let told = |what: &str, width: usize| match plan.ways(service).len() {
                1 => name(format!("{s}_told_{what}")),
                _ => element(format!("{s}_told_{what}"), i(), width),
            };
            cluster = cluster
                .port(format!("{s}_reply_valid_i"), bit(format!("{s}_told_valid"), i()))
                .port(format!("{s}_reply_tag_i"), told("tag", tag_bits))
                .port(format!("{s}_reply_data_i"), told("data", service.reply_bits));
        }
    }
    Item::For {
        label: "gen_cluster".into(),
        variable: "i".into(),
        count: int(machine.clusters_a_pipe()),
        items: vec![Item::Instance(cluster)],
    }
}

/// Combines the header windows from the clusters and the bodies into packets.
fn exit(plan: &Plan) -> Vec<Item> {
    let clusters = plan.machine.clusters_a_pipe();
    let beat = 8 * plan.data_bytes;
    // Enough for all packets in the clusters, and for some on the way to them.
    let packets = (clusters * plan.cluster_tags() + 16).next_power_of_two();
    let single = |name: &str| Item::net(name, Type::Bit);
    let gatherer = clocked("wl_gatherer", "i_gatherer")
        .parameter("Clusters", int(clusters))
        .parameter("DataBytes", int(plan.data_bytes))
        .parameter("Policy", int(plan.machine.balance.clusters.number() as usize))
        .parameter("OrderDepth", int(packets))
        .port("order_valid_i", name("order_valid"))
        .port("order_ready_o", name("order_ready"))
        .port("order_cluster_i", name("order_cluster"))
        .port("cluster_valid_i", name("beat_valid"))
        .port("cluster_ready_o", name("beat_ready"))
        .port("cluster_data_i", name("beat_data"))
        .port("cluster_last_i", name("beat_last"))
        .port("cluster_result_i", name("beat_result"))
        .port("beat_valid_o", name("window_valid"))
        .port("beat_ready_i", name("window_ready"))
        .port("beat_data_o", name("window_data"))
        .port("beat_last_o", name("window_last"))
        .port("beat_result_o", name("window_result"));
    let buffer = with_skip(plan, clocked("wl_body_buffer", "i_body_buffer"));
    let buffer = bodies::access(plan, buffer)
        .parameter("DataBytes", int(plan.data_bytes))
        .parameter("Beats", int(BODY_BEATS))
        .parameter("Packets", int(packets))
        .port("ready_o", name("body_ready"))
        .port("write_i", name("body_write"))
        .port("data_i", name("body_data"))
        .port("close_i", name("body_close"))
        .port("body_valid_o", name("body_valid"))
        .port("read_i", name("body_read"))
        .port("read_data_o", name("body_read_data"))
        .port("rewind_i", name("body_rewind"))
        .port("free_i", name("body_free"));
    let postprocessor = with_skip(plan, clocked("wl_postprocessor", "i_postprocessor"))
        .parameter("DataBytes", int(plan.data_bytes))
        .port("beat_valid_i", name("window_valid"))
        .port("beat_ready_o", name("window_ready"))
        .port("beat_data_i", name("window_data"))
        .port("beat_last_i", name("window_last"))
        .port("beat_result_i", name("window_result"))
        .port("body_valid_i", name("body_valid"))
        .port("body_read_o", name("body_read"))
        .port("body_data_i", name("body_read_data"))
        .port("body_rewind_o", name("body_rewind"))
        .port("body_free_o", name("body_free"))
        .port("valid_o", name("valid_o"))
        .port("ready_i", name("ready_i"))
        .port("event_o", name("event_o"))
        .port("more_o", name("more_o"))
        .port("data_o", name("data_o"))
        .port("keep_o", name("keep_o"))
        .port("last_o", name("last_o"))
        .port("user_o", name("user_o"));
    let mut items = vec![
        Item::Blank,
        Item::comment(
            "Windows come back in the order in which headers went, and get their bodies.",
        ),
        vector("beat_valid", clusters),
        vector("beat_ready", clusters),
        vector("beat_data", clusters * beat),
        vector("beat_last", clusters),
        array("beat_result", RESULT, clusters),
        single("window_valid"),
        single("window_ready"),
        vector("window_data", beat),
        single("window_last"),
        typed("window_result", RESULT),
        Item::Instance(gatherer),
        single("body_valid"),
        if plan.skip_bits > 0 { vector("body_read", plan.skip_bits) } else { single("body_read") },
        vector("body_read_data", beat),
        single("body_rewind"),
        single("body_free"),
        Item::Instance(buffer),
        Item::Instance(postprocessor),
    ];
    if plan.place_bits > 0 {
        let places = |name: &str| vector(name, plan.place_bits);
        items.extend([
            places("body_place"),
            single("access_read"),
            places("access_address"),
            vector("access_data", beat),
        ]);
        if plan.writes_bodies() {
            items.extend([
                single("access_write"),
                places("access_write_address"),
                vector("access_write_data", beat),
            ]);
        }
        if plan.shares_bodies() {
            items.extend(bodies::turns(plan));
        }
    }
    if plan.services.iter().any(|service| service.port.ordered) {
        let last = name("event_o").binary(Binary::Or, name("last_o"));
        items.extend([
            Item::Blank,
            Item::comment(
                "A packet has left, with all that it sends: those behind it need not wait for its calls.",
            ),
            single("packet_left"),
            Item::assign(
                "packet_left",
                name("valid_o").and(name("ready_i")).and(last).and(name("more_o").not()),
            ),
        ]);
    }
    items
}

/// Adds the parameter of a module that skips beats of bodies, if copies may begin in a body.
fn with_skip(plan: &Plan, module: Instance) -> Instance {
    match plan.skip_bits {
        0 => module,
        bits => module.parameter("SkipBits", int(bits)),
    }
}

/// Returns the connections from the clusters to a service of the pipe, and back.
fn service_of(plan: &Plan, service: &Service) -> Vec<Item> {
    let s = &service.name;
    let clusters = plan.machine.clusters_a_pipe();
    let mut items = vec![
        Item::Blank,
        Item::comment(&format!("`{}`: {}.", service.offload, service.describe())),
        vector(format!("{s}_ask_valid"), clusters),
        vector(format!("{s}_ask_ready"), clusters),
        vector(format!("{s}_ask_tag"), clusters * plan.cluster_tag_bits()),
        vector(format!("{s}_ask_data"), clusters * service.request_bits),
    ];
    let ways = plan.ways(service);
    for way in &ways {
        items.extend(requests(plan, service, way, ways.len()));
    }
    if service.port.ordered {
        items.extend(gate(plan, service));
    }
    if service.reply_bits > 0 {
        for way in &ways {
            items.extend(replies(plan, service, way, ways.len()));
        }
    }
    items.extend(services::in_pipe(plan, service));
    items
}

/// Returns the elements of a way's clusters from a net of all clusters, with `width` bits each.
fn of_way(net: String, way: &Way, ways: usize, width: usize) -> Expr {
    match ways {
        1 => name(net),
        _ => name(net).part(int(way.first * width), int(way.clusters * width)),
    }
}

/// Returns a way from the clusters to a service of the pipe.
fn requests(plan: &Plan, service: &Service, way: &Way, ways: usize) -> Vec<Item> {
    let cluster_tag = plan.cluster_tag_bits();
    let asked =
        |what: &str, width| of_way(format!("{}_ask_{what}", service.name), way, ways, width);
    let net = |what: &str| format!("{}_{what}", way.prefix);
    // The tree leads to the service, or to the order gate before it.
    let stage = if service.port.ordered { "any" } else { "in" };
    let end = |what: &str| name(net(&format!("{stage}_{what}")));
    let tree = clocked("wl_request_tree", format!("i_{}_requests", way.prefix))
        .parameter("Inputs", int(way.clusters))
        .parameter("TagBits", int(cluster_tag))
        .parameter("DataBits", int(service.request_bits))
        .parameter("Fair", int(usize::from(plan.machine.arbitration.pipe == Policy::Fair)))
        .port("in_valid_i", asked("valid", 1))
        .port("in_ready_o", asked("ready", 1))
        .port("in_tag_i", asked("tag", cluster_tag))
        .port("in_data_i", asked("data", service.request_bits))
        .port("out_valid_o", end("valid"))
        .port("out_ready_i", end("ready"))
        .port("out_data_o", end("data"));
    // A request without a reply needs no tag of its requester.
    let answers = service.reply_bits > 0;
    let tree = if answers { tree.port("out_tag_o", end("tag")) } else { tree.open("out_tag_o") };
    vec![
        Item::net(net("in_valid"), Type::Bit),
        Item::net(net("in_ready"), Type::Bit),
        vector(net("in_data"), service.own_bits().max(1)),
        Item::Instance(tree),
        Item::Assign {
            target: bit(format!("{}_used_o", service.name), int(way.number)),
            value: name(net("in_valid")).and(name(net("in_ready"))),
            comment: None,
        },
    ]
}

/// Returns a way back from a service of the pipe to the clusters.
fn replies(plan: &Plan, service: &Service, way: &Way, ways: usize) -> Vec<Item> {
    let s = &service.name;
    let clusters = plan.machine.clusters_a_pipe();
    let (tag_bits, reply_bits) = (plan.cluster_tag_bits(), service.reply_bits);
    let net = |what: &str| format!("{}_{what}", way.prefix);
    let spread = clocked("wl_reply_spread", format!("i_{}_replies", way.prefix))
        .parameter("Outputs", int(way.clusters))
        .parameter("TagBits", int(tag_bits))
        .parameter("DataBits", int(reply_bits))
        .port("in_valid_i", name(net("out_valid")))
        .port("in_tag_i", name(net("out_tag")))
        .port("in_data_i", name(net("out_data")))
        .port("out_valid_o", of_way(format!("{s}_told_valid"), way, ways, 1))
        .port("out_tag_o", name(net("told_tag")))
        .port("out_data_o", name(net("told_data")));
    let mut items = vec![vector(net("in_tag"), way.tag_bits)];
    if way.number == 0 {
        items.push(vector(format!("{s}_told_valid"), clusters));
        if ways > 1 {
            items.push(vector(format!("{s}_told_tag"), clusters * tag_bits));
            items.push(vector(format!("{s}_told_data"), clusters * reply_bits));
        }
    }
    items.extend([
        vector(net("told_tag"), tag_bits),
        vector(net("told_data"), reply_bits),
        Item::net(net("out_valid"), Type::Bit),
        vector(net("out_tag"), way.tag_bits),
        vector(net("out_data"), reply_bits),
        Item::Instance(spread),
    ]);
    if ways > 1 {
        for (what, width) in [("tag", tag_bits), ("data", reply_bits)] {
            items.push(Item::Assign {
                target: of_way(format!("{s}_told_{what}"), way, ways, width),
                value: Expr::Concat(vec![name(net(&format!("told_{what}"))); way.clusters]),
                comment: None,
            });
        }
    }
    items
}

/// Returns the gate that admits requests to a service in the order in which the packets arrived.
fn gate(plan: &Plan, service: &Service) -> Vec<Item> {
    let s = &service.name;
    let here = |what: &str| Expr::name(format!("{s}_{what}"));
    let pipe_tag = plan.pipe_tag_bits();
    let gate = clocked("wl_order_gate", format!("i_{s}_order"))
        .parameter("Slots", int(plan.order_slots()))
        .parameter("TicketBits", Expr::int(u64::from(TICKET_BITS)))
        .parameter("TagBits", int(pipe_tag))
        .parameter("DataBits", int(service.own_bits()))
        .port("request_valid_i", here("any_valid"))
        .port("request_ready_o", here("any_ready"))
        .port("request_tag_i", here("any_tag"))
        .port("request_data_i", here("any_data"))
        .port("out_valid_o", here("in_valid"))
        .port("out_ready_i", here("in_ready"))
        .port("out_tag_o", here("in_tag"))
        .port("out_data_o", here("in_data"))
        .port("left_i", name("packet_left"));
    vec![
        Item::net(format!("{s}_any_valid"), Type::Bit),
        Item::net(format!("{s}_any_ready"), Type::Bit),
        vector(format!("{s}_any_tag"), pipe_tag),
        vector(format!("{s}_any_data"), service.request_bits),
        Item::Instance(gate),
    ]
}
