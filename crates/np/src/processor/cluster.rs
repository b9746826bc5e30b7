//! A cluster: engines that share a stream of packets, a reorder queue and the connections to the
//! offloads.

use super::plan::{Plan, Service};
use super::wires::{array, bit, bit_in, bit_out, bits, element, input, output, typed, vector};
use super::{probes, services};
use crate::description::{Place, Policy};
use wireloom_codegen_hardware::sv::short::{self, clocked, int, name};
use wireloom_codegen_hardware::sv::{Binary, Expr, Field, Instance, Item, Module, Port, Type};

/// Rows of 16 bytes of the longest window, 256 bytes.
pub(super) const WINDOW_ROWS: u64 = 16;
/// Header beats that wait before a cluster's engines: two headers of full length.
const WAITING_BEATS: usize = 4;
/// Bits in a row.
const ROW: usize = 128;
/// The type of an engine's result for a packet.
pub(super) const RESULT: &str = "wl_pkg::result_t";
/// The type of a row on its way to an engine.
const LOAD: &str = "load_t";
/// The type of a row that an engine has finished.
const FINISHED: &str = "finished_t";

impl Plan {
    /// Returns the parameters of a cluster's reorder queue, `wl_reorder`.
    pub fn reorder_parameters(&self) -> Vec<(String, usize)> {
        [("Tags", self.cluster_tags()), ("Rows", WINDOW_ROWS as usize)]
            .map(|(name, value)| (name.to_owned(), value))
            .to_vec()
    }
}

/// Returns the module of the cluster.
pub fn module(plan: &Plan) -> Module {
    let machine = &plan.machine;
    let (engines, threads) = (machine.engines, machine.threads);
    let tag_bits = bits(plan.cluster_tags()) as usize;
    let beat = 8 * plan.data_bytes;
    let doc = format!(
        "Cluster of {engines} engines of {threads} threads: shares out headers, keeps the order of packets, leads to the offloads.\n\
         Made from the engine `{}` and the machine `{}`.",
        plan.engine, machine.name
    );
    let mut module = Module::new(plan.cluster_module(), &doc);
    module.ports = vec![
        bit_in("clk_i", "Clock."),
        bit_in("rst_i", "Reset, active high."),
        bit_in("header_valid_i", "Headers: beats, byte 0 in the lowest bits."),
        bit_out("header_ready_o", ""),
        input("header_data_i", beat, ""),
        bit_in("header_first_i", ""),
        bit_in("header_last_i", ""),
        input(
            "header_info_i",
            plan.info_bits,
            "Length, ingress port and what the program asks for.",
        ),
        output("free_o", plan.free_bits(), "Packets that an engine would take at once."),
        bit_out("beat_valid_o", "Windows in order: beats, byte 0 in the lowest bits."),
        bit_in("beat_ready_i", ""),
        output("beat_data_o", beat, ""),
        bit_out("beat_last_o", ""),
        Port::output("beat_result_o", Type::Named(RESULT.into()), "What becomes of the packet."),
    ];
    if plan.holds_copies {
        module.ports.push(bit_in("copy_left_i", "The body of a copy has been read."));
    }
    module.ports.extend(
        probes::of_cluster(plan).iter().map(|port| output(&port.name, port.width, port.doc)),
    );
    module.ports.extend(services::cluster_control_ports(plan));
    for service in plan.services.iter().filter(|s| s.leaves_cluster()) {
        module.ports.extend(request_ports(service, plan.cluster_tag_bits()));
    }
    if plan.is_pipelined() {
        module.doc[0] = format!(
            "In the place of clusters: an engine as a pipeline with room for {threads} packets."
        );
        module.items = pipelined(plan);
    } else {
        module.items = headers(plan, tag_bits);
        module.items.push(engines_of(plan, engine(plan)));
        module.items.extend(reordering(plan, tag_bits));
    }
    for service in plan.services.iter().filter(|s| s.rule.place != Place::Engine) {
        module.items.extend(service_of(plan, service));
    }
    if plan.cluster_targets() > 0 {
        module.items.extend(services::gather_control(plan, Place::Cluster));
    }
    module
}

/// Returns the ports to a service outside the module.
pub(super) fn request_ports(service: &Service, tag_bits: usize) -> Vec<Port> {
    let s = &service.name;
    let mut ports = vec![
        bit_out(format!("{s}_request_valid_o"), &format!("Requests to `{}`.", service.offload)),
        bit_in(format!("{s}_request_ready_i"), ""),
        output(format!("{s}_request_tag_o"), tag_bits, "Whose it is."),
        output(format!("{s}_request_data_o"), service.request_bits, ""),
    ];
    if service.reply_bits > 0 {
        ports.extend([
            bit_in(format!("{s}_reply_valid_i"), "Replies."),
            input(format!("{s}_reply_tag_i"), tag_bits, ""),
            input(format!("{s}_reply_data_i"), service.reply_bits, ""),
        ]);
    }
    ports
}

/// Converts header beats to rows, and assigns each packet a tag and an engine.
fn headers(plan: &Plan, tag_bits: usize) -> Vec<Item> {
    let engines = plan.machine.engines;
    let idle_bits = bits(plan.machine.threads + 1) as usize;
    let serializer = clocked("wl_header_serializer", "i_serializer")
        .parameter("DataBytes", int(plan.data_bytes))
        .parameter("InfoBits", int(plan.info_bits))
        .parameter("Beats", int(WAITING_BEATS))
        .port("valid_i", name("header_valid_i"))
        .port("ready_o", name("header_ready_o"))
        .port("data_i", name("header_data_i"))
        .port("first_i", name("header_first_i"))
        .port("last_i", name("header_last_i"))
        .port("info_i", name("header_info_i"))
        .port("fill_o", name("waiting"))
        .port("row_valid_o", name("row_valid"))
        .port("row_ready_i", name("row_ready"))
        .port("row_data_o", name("row_data"))
        .port("row_first_o", name("row_first"))
        .port("row_last_o", name("row_last"))
        .port("row_info_o", name("row_info"));
    let balancer = clocked("wl_balancer", "i_balancer")
        .parameter("Targets", int(engines))
        .parameter("Width", Expr::call("$bits", vec![name(LOAD)]))
        .parameter("FreeBits", int(idle_bits))
        .parameter("Policy", int(plan.machine.balance.engines.number() as usize))
        .port("in_valid_i", name("offered"))
        .port("in_ready_o", name("taken"))
        .port("in_last_i", name("row_last"))
        .port("in_data_i", name("entering"))
        .port("free_i", name("idle"))
        .port("out_valid_o", name("load_valid"))
        .port("out_ready_i", name("load_ready"))
        .port("out_last_o", name("load_last"))
        .port("out_data_o", name("load"))
        .open("target_o");
    vec![
        Item::comment(
            "Headers come in beats and go to an engine in rows; the first row takes a tag, which keeps the packet's place.",
        ),
        Item::net("row_valid", Type::Bit),
        Item::net("row_ready", Type::Bit),
        Item::net("row_first", Type::Bit),
        Item::net("row_last", Type::Bit),
        vector("row_data", ROW),
        vector("row_info", plan.info_bits),
        vector("waiting", bits(WAITING_BEATS + 1) as usize),
        Item::Instance(serializer),
        Item::Blank,
        Item::net("tag_free", Type::Bit),
        Item::net("offered", Type::Bit),
        Item::net("taken", Type::Bit),
        vector("tag", tag_bits),
        Item::assign(
            "offered",
            name("row_valid").and(name("row_first").not().binary(Binary::Or, name("tag_free"))),
        ),
        Item::assign("row_ready", name("offered").and(name("taken"))),
        Item::Blank,
        Item::structure(
            LOAD,
            vec![
                Field::new("first", Type::Bit, ""),
                Field::new("row", short::vector(ROW), ""),
                Field::new("info", short::vector(plan.info_bits), ""),
                Field::new("tag", short::vector(tag_bits), ""),
            ],
        ),
        typed("entering", LOAD),
        typed("load", LOAD),
        set("entering", "first", name("row_first")),
        set("entering", "row", name("row_data")),
        set("entering", "info", name("row_info")),
        set("entering", "tag", name("tag")),
        vector("load_valid", engines),
        vector("load_ready", engines),
        Item::net("load_last", Type::Bit),
        vector("idle", engines * idle_bits),
        Item::Instance(balancer),
        Item::Blank,
    ]
}

/// Assigns a field of a net of a structure type.
fn set(net: &str, field: &str, value: Expr) -> Item {
    Item::Assign { target: name(net).field(field), value, comment: None }
}

/// Returns an engine, in a loop over `i`.
fn engine(plan: &Plan) -> Instance {
    let i = || name("i");
    let idle_bits = bits(plan.machine.threads + 1) as usize;
    clocked(&plan.engine_module, "i_engine")
        .port("load_valid_i", bit("load_valid", i()))
        .port("load_ready_o", bit("load_ready", i()))
        .port("load_first_i", name("load").field("first"))
        .port("load_last_i", name("load_last"))
        .port("load_data_i", name("load").field("row"))
        .port("load_tag_i", name("load").field("tag"))
        .port("load_info_i", name("load").field("info"))
        .port("unload_valid_o", bit("unload_valid", i()))
        .port("unload_ready_i", bit("unload_ready", i()))
        .port("unload_first_o", bit("unload_first", i()))
        .port("unload_last_o", bit("unload_last", i()))
        .port("unload_data_o", element("unload_data", i(), ROW))
        .port("unload_tag_o", element("unload_tag", i(), bits(plan.cluster_tags()) as usize))
        .port("unload_result_o", bit("unload_result", i()))
        .port("order_head_i", name("order_head"))
        .port("order_drained_i", name("order_drained"))
        .port("idle_o", element("idle", i(), idle_bits))
        .port("busy_o", element("threads_o", i(), plan.machine.threads))
}

/// Returns a pipelined engine, which receives headers in order of arrival and returns them in the
/// same order.
fn pipelined(plan: &Plan) -> Vec<Item> {
    let mut engine = clocked(&plan.engine_module, "i_engine").port("idle_o", name("free_o"));
    for port in ["valid_i", "ready_o", "data_i", "first_i", "last_i", "info_i"] {
        let port = format!("header_{port}");
        engine = engine.port(port.clone(), Expr::name(port));
    }
    for port in ["valid_o", "ready_i", "data_o", "last_o", "result_o"] {
        let port = format!("beat_{port}");
        engine = engine.port(port.clone(), Expr::name(port));
    }
    vec![engines_of(plan, engine)]
}

/// Returns the engines with the services that they call, and the signals of each engine.
fn engines_of(plan: &Plan, mut engine: Instance) -> Item {
    let machine = &plan.machine;
    let i = || name("i");
    let thread_bits = bits(machine.threads) as usize;
    engine = engine.port("slot_valid_o", bit("slots_o", i())).port("wait_o", bit("waits_o", i()));
    for (parameter, value) in plan.engine_parameters() {
        engine = engine.parameter(parameter, int(value));
    }
    let mut items = Vec::new();
    let mut nets = Vec::new();
    for service in &plan.services {
        let s = &service.name;
        let in_engine = service.rule.place == Place::Engine;
        // The nets of a service inside an engine are declared in the loop over engines.
        let single = |what: &str| {
            let net = format!("{s}_{what}");
            if in_engine { name(net) } else { bit(net, i()) }
        };
        let several = |what: &str, width| {
            let net = format!("{s}_{what}");
            if in_engine { name(net) } else { element(net, i(), width) }
        };
        engine = engine
            .port(format!("{s}_request_valid_o"), single("ask_valid"))
            .port(format!("{s}_request_ready_i"), single("ask_ready"))
            .port(format!("{s}_request_thread_o"), several("ask_thread", thread_bits))
            .port(format!("{s}_request_data_o"), several("ask_data", service.request_bits));
        if service.reply_bits > 0 {
            engine = engine
                .port(format!("{s}_reply_valid_i"), single("told_valid"))
                .port(format!("{s}_reply_thread_i"), name(format!("{s}_told_thread")))
                .port(format!("{s}_reply_data_i"), name(format!("{s}_told_data")));
        }
        if in_engine {
            nets.extend(ask_nets(service, 1, thread_bits));
            items.extend(service.rule.realisation.in_engine(plan, service));
        }
    }
    items.insert(0, Item::Instance(engine));
    items.splice(0..0, nets);
    Item::For {
        label: "gen_engine".into(),
        variable: "i".into(),
        count: int(machine.engines),
        items,
    }
}

/// Converts finished packets, which arrive in any order, to beats in order of arrival.
fn reordering(plan: &Plan, tag_bits: usize) -> Vec<Item> {
    let machine = &plan.machine;
    let engines = machine.engines;
    let source_bits = bits(engines) as usize;
    let mut items = vec![
        Item::Blank,
        Item::comment(
            "What engines finish goes to the reorder queue row by row, and leaves it in the order of the tags.",
        ),
        vector("unload_valid", engines),
        vector("unload_ready", engines),
        vector("unload_first", engines),
        vector("unload_last", engines),
        vector("unload_data", engines * ROW),
        vector("unload_tag", engines * tag_bits),
        array("unload_result", RESULT, engines),
        Item::structure(
            FINISHED,
            vec![
                Field::new("source", short::vector(source_bits), "Number of the engine."),
                Field::new("first", Type::Bit, ""),
                Field::new("last", Type::Bit, ""),
                Field::new("row", short::vector(ROW), ""),
                Field::new("tag", short::vector(tag_bits), ""),
                Field::new("result", Type::Named(RESULT.into()), ""),
            ],
        ),
        array("unloaded", FINISHED, engines),
        typed("finished", FINISHED),
    ];
    let i = || name("i");
    items.push(Item::For {
        label: "gen_unload".into(),
        variable: "i".into(),
        count: int(engines),
        items: vec![
            typed("one", FINISHED),
            set("one", "source", i().cast(int(source_bits))),
            set("one", "first", bit("unload_first", i())),
            set("one", "last", bit("unload_last", i())),
            set("one", "row", element("unload_data", i(), ROW)),
            set("one", "tag", element("unload_tag", i(), tag_bits)),
            set("one", "result", bit("unload_result", i())),
            Item::Assign { target: bit("unloaded", i()), value: name("one"), comment: None },
        ],
    });
    let merge = clocked("wl_merge", "i_finish")
        .parameter("Inputs", int(engines))
        .parameter("Width", Expr::call("$bits", vec![name(FINISHED)]))
        .parameter("Fair", int(usize::from(machine.arbitration.cluster == Policy::Fair)))
        .parameter("Register", int(1))
        .port("in_valid_i", name("unload_valid"))
        .port("in_ready_o", name("unload_ready"))
        .port("in_last_i", Expr::Zeros.not())
        .port("in_data_i", name("unloaded"))
        .port("out_valid_o", name("finish_valid"))
        .port("out_ready_i", name("finish_ready"))
        .open("out_last_o")
        .port("out_data_o", name("finished"));
    for single in ["finish_valid", "finish_ready", "finish_last"] {
        items.push(Item::net(single, Type::Bit));
    }
    items.extend([
        vector("finish_tag", tag_bits),
        Item::assign("finish_last", name("finished").field("last")),
        Item::assign("finish_tag", name("finished").field("tag")),
        Item::Instance(merge),
        Item::Blank,
        vector("order_head", tag_bits),
        Item::net("order_drained", Type::Bit),
        Item::net("out_valid", Type::Bit),
        Item::net("out_ready", Type::Bit),
        Item::net("out_last", Type::Bit),
        vector("out_data", ROW),
        typed("out_result", RESULT),
    ]);
    if plan.holds_copies {
        items.push(Item::net("queue_drained", Type::Bit));
    }
    let reorder = clocked("wl_reorder", "i_reorder")
        .parameter("Tags", int(plan.cluster_tags()))
        .parameter("Rows", Expr::int(WINDOW_ROWS))
        .parameter("Sources", int(engines))
        .port("alloc_valid_i", name("row_valid").and(name("row_first")).and(name("taken")))
        .port("alloc_ready_o", name("tag_free"))
        .port("alloc_tag_o", name("tag"))
        .open("free_o")
        .port("finish_valid_i", name("finish_valid"))
        .port("finish_ready_o", name("finish_ready"))
        .port("finish_first_i", name("finished").field("first"))
        .port("finish_last_i", name("finish_last"))
        .port("finish_source_i", name("finished").field("source"))
        .port("finish_data_i", name("finished").field("row"))
        .port("finish_tag_i", name("finish_tag"))
        .port("finish_result_i", name("finished").field("result"))
        .port("order_head_o", name("order_head"))
        .port(
            "order_drained_o",
            name(if plan.holds_copies { "queue_drained" } else { "order_drained" }),
        )
        .port("row_valid_o", name("out_valid"))
        .port("row_ready_i", name("out_ready"))
        .open("row_first_o")
        .port("row_last_o", name("out_last"))
        .port("row_data_o", name("out_data"))
        .port("row_result_o", name("out_result"));
    let deserializer = clocked("wl_header_deserializer", "i_deserializer")
        .parameter("DataBytes", int(plan.data_bytes))
        .port("row_valid_i", name("out_valid"))
        .port("row_ready_o", name("out_ready"))
        .port("row_data_i", name("out_data"))
        .port("row_last_i", name("out_last"))
        .port("row_result_i", name("out_result"))
        .port("beat_valid_o", name("beat_valid_o"))
        .port("beat_ready_i", name("beat_ready_i"))
        .port("beat_data_o", name("beat_data_o"))
        .port("beat_last_o", name("beat_last_o"))
        .port("beat_result_o", name("beat_result_o"));
    items.extend([Item::Instance(reorder), Item::Instance(deserializer)]);
    if plan.holds_copies {
        items.extend(copy_gate());
    }
    items.extend(free_places(plan));
    items
}

/// Returns the gate that lets threads continue after a copy only when it has left.
fn copy_gate() -> [Item; 3] {
    let gate = clocked("wl_copy_gate", "i_copy_gate")
        .port("drained_i", name("queue_drained"))
        .port("drained_o", name("order_drained"))
        .port("row_valid_i", name("out_valid"))
        .port("row_ready_i", name("out_ready"))
        .port("row_result_i", name("out_result"))
        .port("beat_valid_i", name("beat_valid_o"))
        .port("beat_ready_i", name("beat_ready_i"))
        .port("beat_last_i", name("beat_last_o"))
        .port("beat_result_i", name("beat_result_o"))
        .port("left_i", name("copy_left_i"));
    let comment = "A thread changes the packet's body only when its copies have left.";
    [Item::Blank, Item::comment(comment), Item::Instance(gate)]
}

/// Computes the number of packets that the cluster could start: its idle threads, less the header
/// beats that wait for them. Finished packets that wait for earlier ones to leave do not count.
/// Otherwise a cluster that waits for another cluster would look as busy as a cluster of slow
/// packets.
fn free_places(plan: &Plan) -> Vec<Item> {
    let idle_bits = bits(plan.machine.threads + 1) as usize;
    let waiting_bits = bits(WAITING_BEATS + 1) as usize;
    let width = plan.free_bits().max(waiting_bits);
    let wide = |part: Expr| part.cast(int(width));
    let idle = (0..plan.machine.engines).map(|i| wide(element("idle", int(i), idle_bits)));
    let idle = Expr::chain(Binary::Add, idle, int(0));
    let free = name("idle_threads").binary(Binary::Subtract, wide(name("waiting")));
    let some = name("idle_threads").binary(Binary::Greater, wide(name("waiting")));
    vec![
        Item::Blank,
        Item::comment(
            "For the choice between clusters: idle threads for which no header waits, none while no tag is free.",
        ),
        vector("idle_threads", width),
        Item::assign("idle_threads", idle),
        Item::assign(
            "free_o",
            name("tag_free")
                .and(some)
                .choose(free.cast(int(plan.free_bits())), Expr::number(plan.free_bits() as u32, 0)),
        ),
    ]
}

/// Returns the nets between a number of engines and a service.
fn ask_nets(service: &Service, engines: usize, thread_bits: usize) -> Vec<Item> {
    let s = &service.name;
    let mut nets = vec![
        vector(format!("{s}_ask_valid"), engines),
        vector(format!("{s}_ask_ready"), engines),
        vector(format!("{s}_ask_thread"), engines * thread_bits),
        vector(format!("{s}_ask_data"), engines * service.request_bits),
    ];
    if service.reply_bits > 0 {
        nets.extend([
            vector(format!("{s}_told_valid"), engines),
            vector(format!("{s}_told_thread"), thread_bits),
            vector(format!("{s}_told_data"), service.reply_bits),
        ]);
    }
    nets
}

/// Returns the connections from the engines to a service that they share, and back.
fn service_of(plan: &Plan, service: &Service) -> Vec<Item> {
    let s = &service.name;
    let machine = &plan.machine;
    let thread_bits = bits(machine.threads) as usize;
    let engines = machine.engines;
    let here = |what: &str| Expr::name(format!("{s}_{what}"));
    let mut items = vec![
        Item::Blank,
        Item::comment(&format!("`{}`: {}.", service.offload, service.describe())),
    ];
    items.extend(ask_nets(service, engines, thread_bits));
    // The tree ends at the ports of the cluster, or at nets that lead to something in the cluster.
    let leads_out = service.is_direct_outside();
    let end = |outer: &str, inner: &str| if leads_out { here(outer) } else { here(inner) };
    if !leads_out {
        let tag_bits = plan.cluster_tag_bits();
        items.extend([
            Item::net(format!("{s}_in_valid"), Type::Bit),
            Item::net(format!("{s}_in_ready"), Type::Bit),
            vector(format!("{s}_in_tag"), tag_bits),
            vector(format!("{s}_in_data"), service.request_bits),
        ]);
        if service.reply_bits > 0 {
            items.extend([
                Item::net(format!("{s}_out_valid"), Type::Bit),
                vector(format!("{s}_out_tag"), tag_bits),
                vector(format!("{s}_out_data"), service.reply_bits),
            ]);
        }
    }
    let tree = clocked("wl_request_tree", format!("i_{s}_requests"))
        .parameter("Inputs", int(engines))
        .parameter("TagBits", int(thread_bits))
        .parameter("DataBits", int(service.request_bits))
        .parameter("Fair", int(usize::from(machine.arbitration.cluster == Policy::Fair)))
        .port("in_valid_i", here("ask_valid"))
        .port("in_ready_o", here("ask_ready"))
        .port("in_tag_i", here("ask_thread"))
        .port("in_data_i", here("ask_data"))
        .port("out_valid_o", end("request_valid_o", "in_valid"))
        .port("out_ready_i", end("request_ready_i", "in_ready"))
        .port("out_tag_o", end("request_tag_o", "in_tag"))
        .port("out_data_o", end("request_data_o", "in_data"));
    items.push(Item::Instance(tree));
    if service.reply_bits > 0 {
        let spread = clocked("wl_reply_spread", format!("i_{s}_replies"))
            .parameter("Outputs", int(engines))
            .parameter("TagBits", int(thread_bits))
            .parameter("DataBits", int(service.reply_bits))
            .port("in_valid_i", end("reply_valid_i", "out_valid"))
            .port("in_tag_i", end("reply_tag_i", "out_tag"))
            .port("in_data_i", end("reply_data_i", "out_data"))
            .port("out_valid_o", here("told_valid"))
            .port("out_tag_o", here("told_thread"))
            .port("out_data_o", here("told_data"));
        items.push(Item::Instance(spread));
    }
    if probes::is_in_cluster(service) {
        items.push(Item::assign(format!("{s}_used_o"), here("in_valid").and(here("in_ready"))));
    }
    if !leads_out {
        items.extend(services::in_cluster(plan, service));
    }
    items
}
